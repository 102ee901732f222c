"""The files of deploy/: every option in them exists, every step works, and `hush init` writes the same."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.request
import venv
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import pytest

import hush
from hush.cli import folders
from hush.cli.commands import program
from tests.cli.test_serving import HUSH, PLAN, Running
from tests.collector import postgres
from tests.sessions import ROOT, blocks_of

DEPLOY = ROOT / "deploy"
IMAGE = (DEPLOY / "Containerfile").read_text()


def steps(text: str = IMAGE) -> list[tuple[str, str]]:
    """Return the instructions of a container file, lines joined and comments left out."""
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def composed() -> Any:
    yaml: Any = pytest.importorskip("yaml")
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def options(command: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in command if word.startswith("--") and "=" in word)


# -- the compose file


def test_deploy_has_the_files_that_hush_init_writes() -> None:
    texts = folders.made(PLAN, folders.EXAMPLE)
    for name in ("compose.yaml", "Caddyfile"):
        assert (DEPLOY / name).read_text() == texts[name]
        assert files("hush.cli").joinpath("templates", name).read_text() == texts[name]
        assert "reports.acme.org" in folders.made(PLAN, "reports.acme.org")[name]


def test_the_command_of_the_collector_is_one_that_exists() -> None:
    command, *arguments = composed()["services"]["collector"]["command"]
    program.commands[command].make_context(command, list(arguments))
    with pytest.raises(click.UsageError):
        program.commands[command].make_context(command, [*arguments, "--no-such-option=1"])


def test_the_parts_fit_together() -> None:
    found = composed()
    parts = found["services"]
    given = options(parts["collector"]["command"])
    (network,) = found["networks"]["front"]["ipam"]["config"]
    assert given["--forwarded"] == network["subnet"]
    assert [name for name, part in parts.items() if "front" in part["networks"]] == ["collector", "proxy"]
    assert given["--store"] == "postgresql://hush@database/hush"
    database = parts["database"]
    assert (database["environment"]["POSTGRES_USER"], database["environment"]["POSTGRES_DB"]) == ("hush", "hush")
    assert database["environment"]["POSTGRES_PASSWORD"] == parts["collector"]["environment"]["PGPASSWORD"]
    assert "DATABASE_PASSWORD" in database["environment"]["POSTGRES_PASSWORD"]
    assert folders.made(PLAN, "x")[".env"].startswith("DATABASE_PASSWORD=")
    mounted = [volume.split(":")[0] for part in parts.values() for volume in part["volumes"]]
    beside = {name.removeprefix("./") for name in mounted if name.startswith("./")}
    assert beside <= set(folders.NAMES)
    assert set(mounted) - {f"./{name}" for name in beside} == found["volumes"].keys()
    assert "ports" not in parts["collector"]  # everybody comes through the proxy
    assert "ports" not in database
    proxy = (DEPLOY / "Caddyfile").read_text()
    assert f"\n{given['--host-name']} {{\n" in proxy
    assert "reverse_proxy collector:8000\n" in proxy
    (port,) = (option.default for option in program.commands["serve"].params if option.name == "port")
    assert port == 8000


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.running() as found:
        if found is None:
            pytest.skip("there is no PostgreSQL here")
        yield found


def test_the_collector_of_the_compose_file_answers(tmp_path: Path, server: postgres.Server) -> None:
    """Its very command, with the places of this machine, on a real database; and the check of its health."""
    folders.write(tmp_path / "survey", PLAN, folders.EXAMPLE)
    here = {"/survey": str(tmp_path / "survey"), "postgresql://hush@database/hush": server.database()}
    command = composed()["services"]["collector"]["command"]
    for place, ours in here.items():
        command = [word.replace(place, ours) for word in command]
    environment = {**os.environ, "PYTHONPATH": str(Path(hush.__file__).parent.parent)}
    process = subprocess.Popen(  # noqa: S603
        [*HUSH, *command, "--port", "0", "--json"], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert [plan["id"] for plan in said["plans"]] == [PLAN.id]
        assert said["open"] == ["submit"]
        port = said["address"].rpartition(":")[2]
        (health,) = (rest for word, rest in steps() if word == "HEALTHCHECK")
        check = json.loads(health.partition("CMD ")[2])
        check[0] = sys.executable
        subprocess.run([word.replace("8000", port) for word in check], check=True, timeout=60)  # noqa: S603
        head = {"Authorization": f"Bearer {(tmp_path / 'survey' / 'read.secret').read_text().strip()}"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/plans/{PLAN.id}/tally", headers=head)
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            assert hush.Tally.from_json(answer.read()).reports == 0
    finally:
        Running(process, [""]).stop()


# -- the image


def test_the_image_has_extras_that_exist_and_runs_as_nobody_special() -> None:
    found = steps()
    assert {word for word, _ in found} == {
        *("FROM", "COPY", "RUN", "USER", "WORKDIR", "ENV", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
    }
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (named,) = re.findall(r"\.whl\)\[([a-z,]+)\]", IMAGE)
    assert set(named.split(",")) <= extras.keys()
    assert [rest for word, rest in found if word == "USER"] == ["hush"]
    words = [word for word, _ in found]
    assert words.index("USER") < words.index("ENTRYPOINT")
    entry, command = (json.loads(dict(found)[word]) for word in ("ENTRYPOINT", "CMD"))
    assert entry == ["hush"]
    with pytest.raises(click.exceptions.Exit):  # the help was shown
        program.commands[command[0]].make_context(command[0], command[1:])


def test_the_steps_of_the_image_work_in_an_empty_environment(tmp_path: Path) -> None:
    """Each RUN, with the places of this machine; a user is not made."""
    home = tmp_path / "home"
    home.mkdir()
    venv.create(tmp_path / "empty", with_pip=True)
    places = {"/wheels": tmp_path / "wheels", "/src": ROOT, "/var/lib/hush": home}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PATH": f"{tmp_path / 'empty' / 'bin'}{os.pathsep}{environment['PATH']}", "HOME": str(home)}
    ran = []
    for word, rest in steps():
        for place, here in places.items():
            rest = rest.replace(place, str(here))
        if word == "ENV":
            name, _, value = rest.partition("=")
            environment[name] = value
        if word != "RUN" or rest.startswith("useradd "):
            continue
        done = subprocess.run(  # noqa: S602
            rest, shell=True, cwd=home, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode and rest.startswith("pip ") and "No matching distribution" in done.stderr + done.stdout:
            pytest.skip("there is no package index here")
        assert done.returncode == 0, (rest, done.stdout[-2000:], done.stderr[-2000:])
        ran.append(rest.split()[0])
    assert ran == ["pip", "pip", "hush"]
    assert list((home / "kernels").rglob("*.nbi")), "doctor leaves compiled kernels for later containers"
    entry = shutil.which("hush", path=environment["PATH"])
    assert entry == str(tmp_path / "empty" / "bin" / "hush")
    (command,) = (json.loads(rest) for word, rest in steps() if word == "CMD")
    shown = subprocess.run([entry, *command], capture_output=True, text=True, check=True, env=environment)  # noqa: S603
    assert "Run a collector" in shown.stdout


# -- the unit of systemd


def test_the_unit_is_that_of_the_page() -> None:
    (unit,) = (block.text for block in blocks_of(ROOT / "docs" / "operate.md") if block.kind == "ini")
    assert (DEPLOY / "hush.service").read_text() == unit


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("there is no systemd here")
    unit = (DEPLOY / "hush.service").read_text().replace("/opt/hush/bin/hush", shlex.quote(sys.executable))

    def complaints(text: str) -> str:
        path = tmp_path / "hush.service"
        path.write_text(text)
        done = subprocess.run(  # noqa: S603
            [tool, "verify", str(path)], capture_output=True, text=True, check=False, timeout=60
        )
        return done.stderr

    assert complaints(unit) == ""
    assert "Unknown key" in complaints(unit.replace("Restart=", "Restrat="))  # the twin
