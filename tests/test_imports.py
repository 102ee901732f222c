"""What is loaded, and when: the trust boundary is an import boundary."""

from __future__ import annotations

import math
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import hush

SOURCE = Path(hush.__file__).parent.parent


def isolated(code: str) -> str:
    """Run code without site-packages: an import of anything but hush and the standard library fails."""
    program = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {code}"
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


SESSION = """
import hush
schema = hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"])])
plan = hush.Plan.from_json(hush.design(schema, 1.0).to_json())
tally = hush.Tally(plan)
for _ in range(200):
    tally.add(hush.Report.decode(plan, hush.randomise(plan, {"x": 0.5, "c": "a"}).encode()))
rows = hush.estimate(hush.Tally.from_json(tally.to_json(), plan))
print(len(rows))
"""


def test_the_whole_flow_needs_the_standard_library_alone() -> None:
    assert isolated(f"exec({SESSION!r})").strip() == "3"


LEARNING = """
import hush
from hush import Features, Round, Training, first_round, gradient, held_out, step
schema = hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b", "c"])])
assert Features(schema).names == ("x", "c=a", "c=b")
label = hush.Categorical("bought", ["no", "yes"])
training = Training("t", "logistic", schema, label, 8.0, 2, 0.5, centre=(0.1, 0.2, 0.3), selection=(1, 1, 0.1))
round = first_round(training)
for _ in range(2):
    round = Round.from_json(round.to_json())
    tally = hush.Tally(round.plan)
    for _ in range(20):
        tally.add(gradient(round, {"x": 0.5, "c": "a"}, "yes"))
    round = step(round, tally)
held_out(round, {"x": 0.5, "c": "b"}, "no")
print(round.done, *training.model(round.result)[0], "numpy" in sys.modules, "random" in sys.modules)
"""


def test_a_device_and_a_server_train_with_the_standard_library_alone() -> None:
    done, *coefficients, numpy, _ = isolated(f"exec({LEARNING!r})").split()
    assert (done, numpy) == ("True", "False")
    assert len(coefficients) == 3
    assert all(math.isfinite(float(value)) for value in coefficients)  # by chance all of them may be 0


def test_every_public_name_loads() -> None:
    for name in hush.__all__:
        assert getattr(hush, name) is not None
    assert {*hush.__all__, *hush._MODULES} <= set(dir(hush))
    with pytest.raises(AttributeError, match="no attribute 'nowhere'"):
        hush.nowhere  # noqa: B018


PAGES = [
    *SOURCE.parent.glob("*.md"),
    *(page for page in (SOURCE.parent / "docs").rglob("*.md") if page.parent.name != "api"),  # docstrings name modules
    *(SOURCE.parent / "docs").glob("*.ipynb"),
]
ROOMS = ("collector", "core", "device", "planning", "server", "show")  # modules of these are imported by name
REACHED = """
import sys
from operator import attrgetter
first = ""
for name in sys.argv[1:]:
    if name.partition(".")[0] != first:
        first = name.partition(".")[0]
        for module in [module for module in sys.modules if module.partition(".")[0] == "hush"]:
            del sys.modules[module]
        import hush
    try:
        attrgetter(name)(hush)
    except ModuleNotFoundError as error:
        if (error.name or "hush").partition(".")[0] == "hush":
            raise
"""


def test_every_name_in_the_documents_is_reached_from_hush() -> None:
    """`import hush` is enough, whatever else was imported before; a library that is not here may be missing."""
    names: set[str] = set()
    for page in PAGES:
        found = re.findall(r"(?<![\w.])hush\.([A-Za-z]\w*(?:\.[A-Za-z]\w*)*)", page.read_text())
        names |= {name for name in found if _exists(name) and name.partition(".")[0] not in ROOMS}
    assert {"Client", "CollectorError", "plots.save", "batch.files.randomise_file"} <= names
    command = [sys.executable, "-c", REACHED, *sorted(names)]
    env = os.environ | {"PYTHONPATH": str(SOURCE)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=env)  # noqa: S603
    assert result.returncode == 0, result.stderr


def _exists(name: str) -> bool:
    """Say whether hush has something of this name; other things are files (`hush.db`) and content types."""
    try:
        pkgutil.resolve_name(f"hush.{name}")
    except AttributeError:
        return False
    except ModuleNotFoundError as error:
        return (error.name or "hush").partition(".")[0] != "hush"
    return True


def test_the_public_names_are_listed_once() -> None:
    """The facade lists names for type checkers, for people and for loading: the lists agree."""
    assert sorted(hush._HOME) == sorted(hush.__all__)
    text = Path(hush.__file__).read_text()
    block = text.split("if TYPE_CHECKING:")[1].split("__version__")[0]
    for name in hush.__all__:
        assert name in block


TRAINS = """
import hush
schema, label = hush.Schema([hush.Numeric("x", 0, 1)]), hush.Categorical("bought", ["no", "yes"])
print(hush.first_round(hush.Training("t", "logistic", schema, label, 8.0, 2, 0.5)).to_json())
"""
ANSWERS = """
import hush
hush.Ledger(FILE, cap=2.0).randomise(hush.Plan.from_json(PLAN), {"x": 0.5})
print(*sys.modules)
"""
GRADIENT = """
import hush
hush.gradient(hush.Round.from_json(ROUND), {"x": 0.5}, "yes")
print(*sys.modules)
"""
SERVES = ("hush.server", "hush.show", "hush.planning", "hush.plots", "hush.core.design", "hush.batch", "hush.collector")


def loaded(code: str, **values: str) -> set[str]:
    """Return the modules that a process without any library has loaded after some code."""
    given = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    return set(isolated(f"exec({given + code!r})").split())


def within(modules: set[str], *rooms: str) -> set[str]:
    return {module for module in modules if any(module == room or module.startswith(f"{room}.") for room in rooms)}


def test_a_device_that_answers_loads_neither_design_nor_server_nor_tables(tmp_path: Path) -> None:
    plan = isolated("import hush; print(hush.design(hush.Schema([hush.Numeric('x', 0, 1)]), 1.0).to_json(), end='')")
    found = loaded(ANSWERS, PLAN=plan, FILE=str(tmp_path / "ledger.db"))
    assert "hush.device.ledger" in found
    assert not within(found, *SERVES, "hush.testing", "random", "numpy")
    found = loaded(GRADIENT, ROUND=isolated(f"exec({TRAINS!r})"))
    assert "hush.device.gradient" in found
    assert not within(found, *SERVES, "hush.testing", "random", "numpy")


@pytest.mark.parametrize(
    ("use", "absent"),
    [
        ("hush.Plan, hush.randomise, hush.Ledger, hush.gradient", [*SERVES, "random", "numpy"]),
        ("hush.Client", [*SERVES, "numpy"]),
        ("hush.Tally, hush.estimate, hush.step", ["hush.device.randomise", "hush.device.coins", "hush.device.ledger"]),
        ("hush.__version__", ["hush.core", "hush.server", "fractions"]),
    ],
)
def test_a_role_loads_only_its_own_code(use: str, absent: list[str]) -> None:
    found = loaded(f"import hush; {use}; print(*sys.modules)")
    assert not within(found, *absent, "hush.testing")
    if "hush.Client" not in use:  # the standard library's HTTP client and normal quantile load it
        assert "random" not in found or "statistics" in found


# -- the contracts

CONTRACTS: list[dict[str, Any]] = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]
LAYERED = [item for item in CONTRACTS if item["type"] == "layers"]


def test_every_room_is_under_the_contracts() -> None:
    """Layers are exhaustive, so that a new file says where it belongs; other contracts list the rooms by name."""
    rooms = {path.parent.name for path in (SOURCE / "hush").glob("*/__init__.py")} | {"errors"}
    seeded = next(item for item in CONTRACTS if item.get("forbidden_modules") == ["hush.testing"])
    assert {name.removeprefix("hush.") for name in seeded["source_modules"]} == rooms
    assert all(item.get("exhaustive") for item in LAYERED)
    assert {container for item in LAYERED for container in item["containers"]} == {
        ".".join(path.parent.relative_to(SOURCE).parts) for path in (SOURCE / "hush").rglob("__init__.py")
    }
    adapters = next(item for item in CONTRACTS if "torch" in item.get("forbidden_modules", ()))
    learn = {f"hush.learn.{path.stem}" for path in (SOURCE / "hush/learn").glob("*.py") if path.stem != "__init__"}
    rooms = {f"hush.{room}" for room in rooms if room != "learn"}
    assert {*adapters["source_modules"]} == rooms | learn - {"hush.learn.flower", "hush.learn.torch"}


def test_no_import_hides_from_the_contracts() -> None:
    """`import_module` is for the public names of `hush`, and for libraries of others."""
    allowed = {"__init__.py", "show/rows.py", "cli/installed.py"}
    found = {
        path.relative_to(SOURCE / "hush").as_posix()
        for path in (SOURCE / "hush").rglob("*.py")
        if re.search(r"import_module|__import__", path.read_text())
    }
    assert found <= allowed


PLANTED = {
    "upwards": ("core/schema.py", "from hush.server import tally", "Rooms import downwards only"),
    "device to server": ("device/ledger.py", "from hush.server import tally", "Rooms import downwards only"),
    "server to device": ("server/tally.py", "from hush.device import coins", "Rooms import downwards only"),
    "server to plots": ("server/binomial.py", "from hush import plots", "Rooms import downwards only"),
    "device to plots": ("device/coins.py", "from hush import plots", "A device loads no design"),
    "device to design": ("device/ledger.py", "from hush.core import design", "A device loads no design"),
    "late": ("device/coins.py", "def late():\n    from hush.show import tables", "A device loads no design"),
    "collector to device": ("collector/formats.py", "from hush.device import coins", "A server loads nothing"),
    "collector to relay": ("collector/formats.py", "from hush.relay import store", "Rooms import downwards only"),
    "relay that opens": ("relay/app.py", "from hush.collector.opening import Opener", "A relay opens nothing"),
    "within relay": ("relay/store.py", "from hush.relay import forwarding", "Relay: from a server"),
    "within core": ("core/codec.py", "from hush.core import schema", "Core: what both"),
    "within server": ("server/binomial.py", "from hush.server import tally", "Server: from steps"),
    "within device": ("device/coins.py", "from hush.device import ledger", "Device: from a client"),
    "within planning": ("planning/laws.py", "from hush.planning import audits", "Planning: audits"),
    "within shuffle": (
        "planning/shuffle/fixed.py",
        "from hush.planning.shuffle import crowds",
        "Shuffle: from plans",
    ),
    "store to http": ("collector/stores/ids.py", "from hush.collector.http import problems", "Collector: HTTP above"),
    "between handlers": (
        "collector/http/views.py",
        "from hush.collector.http import reports",
        "HTTP: the application",
    ),
    "between stores": ("collector/stores/base.py", "from hush.collector.stores import opening", "Stores: opened above"),
    "circle": ("batch/native.py", "from hush.batch import engine", "No circles"),
    "seeded words": ("batch/keystream.py", "from hush import testing", "Nothing in production"),
    "flower": ("learn/live.py", "import flwr", "Flower and PyTorch"),
    "pytorch": ("batch/native.py", "def late():\n    import torch", "Flower and PyTorch"),
    "adapter": ("learn/models.py", "from hush.learn import torch", "Flower and PyTorch"),
    "generator": ("core/coins.py", "import random", "Devices and servers need"),
    "new room": ("extra/__init__.py", '"""A room that has no place."""', "Rooms import downwards only"),
    "new file": ("core/extra.py", '"""A file that has no place."""', "Core: what both"),
}


def lint(folder: Path, *planted: tuple[str, str]) -> subprocess.CompletedProcess[str]:
    """Check the contracts on a copy of the source, with a line added to each of these files."""
    copy = folder / "src" / "hush"
    shutil.copytree(SOURCE / "hush", copy, ignore=shutil.ignore_patterns("__pycache__", "static"))
    shutil.copy(SOURCE.parent / "pyproject.toml", folder)
    for file, line in planted:
        (copy / file).parent.mkdir(exist_ok=True)
        with (copy / file).open("a") as out:
            out.write(f"\n{line}\n")
    env = os.environ | {"PYTHONPATH": str(folder / "src")}
    code = "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports(no_cache=True))"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)  # noqa: S603


def broken(result: subprocess.CompletedProcess[str]) -> set[str]:
    """Return the names of the contracts that are broken."""
    text = " ".join(result.stdout.split())
    return {item["name"] for item in CONTRACTS if re.search(rf"{re.escape(item['name'])} ?BROKEN", text)}


@pytest.mark.parametrize("kind", ["nothing", *PLANTED])
def test_a_wrong_import_breaks_a_contract(kind: str, tmp_path: Path) -> None:
    """Each kind is planted into a copy of the source; without one all contracts are kept."""
    if kind == "nothing":
        result = lint(tmp_path)
        assert result.returncode == 0, result.stdout
        return
    file, line, name = PLANTED[kind]
    result = lint(tmp_path, (file, line))
    assert result.returncode == 1, result.stdout + result.stderr
    assert any(contract.startswith(name) for contract in broken(result)), result.stdout


def test_a_wrong_import_of_a_new_file_breaks_a_contract_in_every_room(tmp_path: Path) -> None:
    """No room takes a file that has no place there."""
    files = [f"{item['containers'][0].replace('.', '/')}/extra.py".removeprefix("hush/") for item in LAYERED]
    result = lint(tmp_path, *((file, '"""A file that has no place."""') for file in files))
    assert broken(result) == {item["name"] for item in LAYERED}, result.stdout


def test_a_wrong_import_from_the_lowest_floor_breaks_a_contract_in_every_room(tmp_path: Path) -> None:
    """The lowest file of each room imports the highest; the contract of the room lists that import."""
    planted, wrong = [], {}
    for item in LAYERED:
        room, top, low = item["containers"][0], item["layers"][0].split(" ")[0], item["layers"][-1].split(" ")[-1]
        if room != "hush":  # planted above; here every other chain would go through it
            file = f"{room}.{low}".removeprefix("hush.").replace(".", "/") + ".py"
            planted.append((file, f"from {room} import {top}"))
            wrong[item["name"]] = f"{room}.{low} -> {room}.{top} (l."
    result = lint(tmp_path, *planted)
    sections = re.split(r"\n([^\n]+)\n-{4,}\n", result.stdout)
    found = {name: " ".join(text.split()) for name, text in zip(sections[1::2], sections[2::2], strict=True)}
    assert [name for name, chain in wrong.items() if chain not in found.get(name, "")] == [], result.stdout
