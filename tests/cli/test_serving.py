"""The commands of a collector, as processes: serve, export, compact and token."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pyarrow import parquet as pq

import hush
from hush import batch
from hush.cli import access
from hush.cli.program import program
from hush.cli.serving import _settings
from hush.collector import serve as service
from hush.collector.http.security import hashed
from hush.collector.settings import Settings
from hush.collector.stores.opening import STORES
from hush.collector.stores.sqlite import SqliteStore
from hush.core.training.training import Training
from hush.device.client import Client
from hush.device.randomise import randomise
from hush.errors import CollectorError
from hush.server.step import first_round
from tests.cli.test_commands import refused, run
from tests.collector.served import BOUGHT, POINT

SCHEMA = hush.Schema([hush.Numeric("age", 0, 120), hush.Categorical("os", ["linux", "mac", "other"])])
PLAN = hush.design(SCHEMA, 1.0, title="spring")
OTHER = hush.design(SCHEMA, 1.0, title="autumn")
RECORD = {"age": 41, "os": "mac"}
AT_ONCE = ("--reveal-every", "0s", "--reveal-least", "0")
HUSH = [sys.executable, "-m", "hush"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(hush.__file__).parent.parent))
    Path("plan.json").write_text(PLAN.to_json())
    Path("other.json").write_text(OTHER.to_json())
    return tmp_path


class Running:
    """A process of `hush serve`."""

    def __init__(self, process: subprocess.Popen[str], lines: list[str]) -> None:
        self.process, self.lines = process, lines
        self.url = lines[0].removeprefix("hush: listening on ")

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@contextlib.contextmanager
def serve(*arguments: str, lines: int = 2) -> Iterator[Running]:
    process = subprocess.Popen(  # noqa: S603
        [*HUSH, "serve", *arguments, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Running(process, [process.stdout.readline().rstrip("\n") for _ in range(lines)])
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def held(*plans: hush.Plan) -> None:
    """Make a store with plans."""
    store = SqliteStore("hush.db")
    for plan in plans or (PLAN,):
        store.add_plan(plan)
    store.close()


def refused_by(*arguments: str, code: int = 2) -> str:
    """Return the one line that a process says before it ends."""
    result = subprocess.run([*HUSH, *arguments], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert (result.returncode, result.stdout) == (code, "")
    assert re.fullmatch(r"hush: [^\n]+\n", result.stderr), result.stderr
    return result.stderr


# -- serve


def test_notice_is_long_enough_for_the_proxy_of_the_documents() -> None:
    """HAProxy asks every two seconds and believes the third answer; where no proxy can stand, nobody waits."""
    assert access.notice(None, private=False) == service.NOTICE >= 3 * 2 + 1
    assert access.notice(None, private=True) == 0
    assert access.notice("0s", private=False) == 0
    assert access.notice("2m", private=True) == 120
    words = (Path(__file__).parent.parent.parent / "docs" / "operate.md").read_text()
    assert f"for {service.NOTICE:g} seconds (`--notice`)" in words


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_from_start_to_end(number: int) -> None:
    with serve("plan.json", "other.json", lines=8) as running:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", running.url)
        assert running.lines.pop(1) == "hush: open without a token: read, submit"
        assert running.lines[1::3] == [f"hush: {running.url}/plans/{plan.id}" for plan in (PLAN, OTHER)]
        for plan, words in ((PLAN, running.lines[2:4]), (OTHER, running.lines[5:7])):
            pages = (f"form {running.url}/?plan={plan.id}", f"dashboard {running.url}/dashboard?plan={plan.id}")
            assert words == [f"hush: {page}" for page in pages]
        report = randomise(PLAN, RECORD)
        assert Client(running.url).submit(report).new
        assert running.stop(number) == (0, "", "")
    if number == signal.SIGINT:
        return
    with serve(*AT_ONCE, lines=8) as running:  # the store knows its plans, and what was counted
        assert not Client(running.url).submit(report).new
        assert httpx.get(f"{running.url}/plans").json()["plans"][0]["reports"] == 1
        assert running.stop() == (0, "", "")


def test_a_preview_takes_nothing_and_keeps_nothing() -> None:
    Path("form.json").write_text('{"title": "Spring"}')
    with serve("plan.json", "--preview", "--presentation", "plan.json=form.json", lines=6) as running:
        assert running.lines[0] == "hush: a preview: no report is taken, and nothing is kept"
        url = running.lines[1].removeprefix("hush: listening on ")
        assert httpx.get(f"{url}/plans/{PLAN.id}/presentation").json()["title"] == "Spring"
        assert 'data-preview="yes"' in httpx.get(f"{url}/").text
        with pytest.raises(CollectorError, match="This collector is a preview: it counts nothing"):
            Client(url).submit(randomise(PLAN, RECORD))
        assert running.stop() == (0, "", "")
    assert not list(Path().glob("*.db*"))
    assert "keeps nothing: leave out --store" in refused("serve", "plan.json", "--preview", "--store", "sqlite://x.db")


def test_serve_answers_what_is_in_flight_when_it_is_stopped() -> None:
    body = randomise(PLAN, RECORD).encode()
    with serve("plan.json", lines=5) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), 20) as connection:
            head = f"POST /plans/{PLAN.id}/reports HTTP/1.1\r\nHost: localhost\r\n"
            head += "Content-Type: application/vnd.hush.report\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:5])
            time.sleep(0.3)
            running.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            connection.sendall(body[5:])
            assert b"202 Accepted" in connection.recv(65536)
        assert running.process.communicate(timeout=20) == ("", "")
        assert running.process.returncode == 0
    with serve(*AT_ONCE, lines=5) as running:
        assert httpx.get(f"{running.url}/plans").json()["plans"][0]["reports"] == 1


def test_serve_with_everything() -> None:
    token, line = run("token", "submit").stdout.splitlines()
    Path("tokens").write_text(f"# devices\n{line}  # spring\n\n")
    training = Training("a name", "logistic", POINT, BOUGHT, 4.0, 3, 1.0)
    Path("round.json").write_text(first_round(training).to_json())
    options = ["--tokens", "tokens", "--origin", f"{PLAN.id}=https://a.example", "--origin", "https://b.example"]
    options += ["--training", "round.json=5", "--tickets", "key", "--keep", "tallies", "--rate", "100", "--check-ids"]
    with serve("plan.json", *options, "--store", "sqlite://a.db", lines=6) as running:
        assert running.lines[4] == f"hush: {running.url}/trainings/a%20name/round"
        assert running.lines[5] == f"hush: form {running.url}/train?training=a%20name"
        assert httpx.get(running.lines[5].removeprefix("hush: form ")).status_code == 200
        assert httpx.get(f"{running.url}/plans/{PLAN.id}").status_code == 401
        collector = Client(running.url, token=token)
        assert collector.answer_ticket(PLAN.id, RECORD).new
        assert collector.train("a name", {"a": 0.1, "b": 0.2}, "no", epsilon=4.0).new
        for origin, wanted in (("https://a.example", "https://a.example"), ("https://b.example", None)):
            answer = httpx.get(f"{running.url}/plans/{PLAN.id}", headers={"origin": origin})
            assert answer.headers.get("access-control-allow-origin") == wanted
        key = Path("key").read_text()
        assert Path("key").stat().st_mode & 0o777 == 0o600
        assert refused_by("serve", "plan.json", "--store", "sqlite://a.db", code=4) == (
            "hush: another process has this store open; SQLite serves one collector, PostgreSQL many. "
            "Stop it first, or use a copy (sqlite3 FILE \"VACUUM INTO 'COPY'\")\n"
        )
        running.stop()
    with serve("--tickets", "key", "--store", "sqlite://a.db", lines=6):
        assert Path("key").read_text() == key


def test_what_is_open_is_named() -> None:
    """A role without tokens is closed: nothing is open for everybody because a line is missing in a file."""
    _, line = run("token", "admin").stdout.splitlines()
    Path("tokens").write_text(f"{line}\n")
    for options, names in (
        (["--tokens", "tokens"], []),
        (["--tokens", "tokens", "--open", "read"], ["read"]),
        (["--open", "submit-batch, submit"], ["submit", "submit-batch"]),
        (["--host", "0.0.0.0", "--open", "submit"], ["submit"]),  # noqa: S104
        (["--host", "0.0.0.0", "--tokens", "tokens"], []),  # noqa: S104
        (["--host", "localhost"], ["read", "submit"]),
        ([], ["read", "submit"]),
    ):
        with serve("plan.json", *options, "--json", lines=1) as running:
            said = json.loads(running.lines[0])
            url = said["address"].replace("0.0.0.0", "127.0.0.1")  # noqa: S104
            assert said["open"] == names
            assert httpx.get(f"{url}/plans").status_code == (200 if "read" in names else 401)
            assert httpx.get(f"{url}/plans/{PLAN.id}").status_code == (200 if "submit" in names else 401)
            assert running.stop()[0] == 0


def test_a_door_that_nobody_meant_to_open_is_refused() -> None:
    for options in (["--host", "0.0.0.0"], ["--host", "::"], ["--host", "192.0.2.1"], ["--forwarded", "127.0.0.1"]):  # noqa: S104
        line = refused("serve", "plan.json", *options)
        assert "--tokens FILE" in line
        assert "--open submit,read" in line
    for text in ("", "\n\n", "# submit 0123\n"):
        Path("tokens").write_text(text)
        for more in ([], ["--open", "read"]):
            assert "the file of tokens has none" in refused("serve", "plan.json", "--tokens", "tokens", *more)
    Path("tokens").write_text(f"# all\nking {'0' * 64}\n")
    assert "line 2 of the tokens" in refused("serve", "plan.json", "--tokens", "tokens")
    assert "never open" in refused("serve", "plan.json", "--open", "read,admin")
    for names in ("", "reading", "read;submit", "read,"):
        assert "--open takes roles" in refused("serve", "plan.json", "--open", names)
    assert not Path("hush.db").exists()


def test_when_readers_see_something() -> None:
    for options, every, least in (
        ([], 60.0, 20),
        (["--reveal-every", "2m", "--reveal-least", "50"], 120.0, 50),
        (["--reveal-every", "0s", "--reveal-least", "0"], 0.0, 0),
    ):
        with serve("plan.json", *options, "--json", lines=1) as running:
            url = json.loads(running.lines[0])["address"]
            assert Client(url).submit(randomise(PLAN, RECORD)).new
            found = httpx.get(f"{url}/plans").json()["plans"][0]
            assert (found["shown"]["every"], found["shown"]["least"]) == (every, least)
            assert (found["reports"] > 0) is (least == 0)
    for time_ in ("", "60", "s", "-1s", "1d", "infs", "1e3s"):
        assert "--reveal-every is a time" in refused("serve", "plan.json", "--reveal-every", time_)


def test_bounds_of_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given, and without it what `Settings` has."""
    seen: list[Settings] = []
    monkeypatch.setattr(service, "run", lambda store, settings, **_: seen.append(settings))
    program(["serve", "plan.json"], standalone_mode=False)
    given = ["--connections", "100", "--connections-each", "7", "--held", "32", "--body-timeout", "1.5m"]
    program(["serve", "plan.json", *given], standalone_mode=False)
    names = ("connections", "connections_each", "held_bytes", "body_timeout")
    assert [getattr(seen[0], name) for name in names] == [getattr(Settings(), name) for name in names]
    assert [getattr(seen[1], name) for name in names] == [100, 7, 32 << 20, 90.0]
    for time_ in ("", "30", "0s", "-1s"):
        assert "--body-timeout is a time" in refused("serve", "plan.json", "--body-timeout", time_)
    for option, number in (("--connections", "0"), ("--connections-each", "0"), ("--held", "15")):
        assert option in run("serve", "plan.json", option, number, code=2).stderr


def test_names_of_a_collector() -> None:
    found = _settings(
        None, (), 0.0, None, False, names=("Reports.Example.org.", "[2001:DB8::1]"), local=False, open_="read"
    )
    assert found.hosts == {"localhost", "127.0.0.1", "[::1]", "reports.example.org", "[2001:db8::1]"}
    assert found.addresses
    assert not _settings(None, (), 0.0, None, False).addresses
    for name in ("https://a.example", "a.example:80", "a.example/b", "", "a b"):
        assert "--host-name is a name alone" in refused("serve", "plan.json", "--open", "read", "--host-name", name)
    assert "--open submit,read" in refused("serve", "plan.json", "--host-name", "a.example"), "it has a public name"
    with serve("plan.json", "--host-name", "a.example", "--open", "read", "--json", lines=1) as running:
        url = json.loads(running.lines[0])["address"]
        for name, status in (("a.example", 200), ("127.0.0.1", 200), ("b.example", 421), ("192.0.2.1", 421)):
            assert httpx.get(f"{url}/plans", headers={"host": name}).status_code == status


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("http://127.0.0.1:8010/", "http://127.0.0.1:8010"),
        ("http://127.0.0.1:8010", "http://127.0.0.1:8010"),
        ("HTTPS://WWW.Example.org:443/", "https://www.example.org"),
        ("http://example.org:80", "http://example.org"),
        ("https://example.org:80", "https://example.org:80"),
        ("http://[::1]:8010/", "http://[::1]:8010"),
        ("http://[::80]/", "http://[::80]"),
        ("*", "*"),
    ],
)
def test_an_origin_is_taken_as_browsers_send_it(written: str, sent: str) -> None:
    """Otherwise it would never match, and the page would hear that the collector cannot be reached."""
    for item, plan in ((written, "*"), (f"{PLAN.id}={written}", PLAN.id)):
        assert _settings(None, (item,), 0.0, None, False).origins == {plan: frozenset([sent])}


def test_a_title_belongs_to_one_training() -> None:
    """A second one under it was ignored, without a word."""
    training = Training("a name", "logistic", POINT, BOUGHT, 4.0, 3, 1.0)
    other = Training("a name", "logistic", POINT, BOUGHT, 2.0, 3, 1.0)
    for name, made in (("round", training), ("other", other)):
        Path(f"{name}.json").write_text(first_round(made).to_json())
    with serve("--training", "round.json=2", lines=4) as running:
        for number in range(3):
            Client(running.url).train("a name", {"a": 0.1, "b": 0.2}, "no", epsilon=4.0, person=str(number))
        assert running.stop() == (0, "", "")
    for wrong in ("other.json=2", "round.json=3"):
        line = refused("serve", "--training", wrong)
        assert "another training with the title a name" in line
    with serve("--training", "round.json=2", lines=4) as running:
        assert running.stop()[2] == "hush: the training a name is in the store, and goes on in round 2\n"


@pytest.mark.parametrize(
    "written",
    [
        *("127.0.0.1:8010", "localhost:8010", "www.example.org", "", "null", "//example.org", "http://", "https:///"),
        *("https://example.org/page.html", "https://example.org//", "https://example.org?a", "https://example.org#a"),
        *(
            "https://me@example.org",
            "https://*.example.org",
            "https://a b",
            "https://a:",
            "https://a:port",
            "https://a\n",
        ),
    ],
)
def test_what_is_no_origin_is_refused(written: str) -> None:
    line = refused("serve", "plan.json", "--store", "sqlite://a.db", "--origin", written)
    assert "--origin is scheme://host or scheme://host:port, without a path" in line


def test_serve_refuses() -> None:
    """What is refused is said in one line, before anything listens."""
    Path("bad.json").write_text("{}")
    Path("tokens").write_text("submit nohash\n")
    Path("key").write_text("short")
    Path("round.json").write_text(first_round(Training("a/b", "logistic", POINT, BOUGHT, 4.0, 3, 1.0)).to_json())
    cases: dict[str, list[str]] = {
        "no plan": [],
        "absent.json": ["absent.json"],
        "bad.json": ["bad.json"],
        "--keep must be": ["plan.json", "--keep", "nothing"],
        f"the store must be {STORES}": ["plan.json", "--store", "mysql://x"],
        "ROLE HASH": ["plan.json", "--tokens", "tokens"],
        "tokens cannot be read": ["plan.json", "--tokens", "absent"],
        "64 hexadecimal": ["plan.json", "--tickets", "key"],
        "--training takes": ["plan.json", "--training", "round.json"],
        "people per round": ["plan.json", "--training", "round.json=0"],
        "fewer people": ["plan.json", "--training", "round.json=" + "9" * 20],
        "round cannot be read": ["plan.json", "--training", "absent.json=5"],
        "slash": ["plan.json", "--training", "round.json=5"],
        "--rate must be": ["plan.json", "--rate", "nan"],
    }
    for place, (why, arguments) in enumerate(cases.items()):
        store = [] if "--store" in arguments else ["--store", f"sqlite://{place}.db"]
        assert why in refused("serve", *arguments, *store), why
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        line = refused_by("serve", "plan.json", "--port", str(taken.getsockname()[1]))
        assert line == f"hush: port {taken.getsockname()[1]} cannot be used: address already in use; try --port 0\n"
    assert "the address 203.0.113.1 cannot be used" in refused_by(
        "serve", "plan.json", "--host", "203.0.113.1", "--open", "read"
    )


def test_a_store_that_fails_has_a_code_of_its_own() -> None:
    """A script may try again after that: nothing is wrong with the command."""
    Path("text.db").write_text("this is no database" * 100)
    for store in ("sqlite://nowhere/hush.db", "sqlite://text.db", "postgresql://nobody@127.0.0.1:1/none"):
        for command in (["serve", "plan.json"], ["export", "-o", "out"], ["compact", "--segments", "segments"]):
            assert "the store cannot be opened" in refused(*command, "--store", store, code=4)


def test_a_store_keeps_what_it_kept() -> None:
    held()
    assert "keeps reports" in refused("serve", "plan.json", "--keep", "tallies")


# -- token


def test_token() -> None:
    lines = run("token", "admin").stdout.splitlines()
    assert lines[1] == f"admin {hashed(lines[0])}"
    assert len(lines[0]) >= 40
    assert run("token", "admin").stdout.splitlines()[0] != lines[0]
    assert "submit, submit-batch, read, admin" in refused("token", "king")


# -- export and compact


def collected(url: str) -> hush.Tally:
    reports = [randomise(PLAN, RECORD) for _ in range(20)]
    collector = Client(url)
    for report in reports:
        collector.submit(report)
    from hush.collector import formats

    table = batch.randomise(PLAN, {"age": [41.0] * 300, "os": ["mac"] * 300})
    collector.submit_batch(PLAN, formats.pack(PLAN, table, b"0123456789abcdef"), b"0123456789abcdef", formats.COLUMNS)
    tally = batch.tally(PLAN, table)
    tally.update(reports)
    return tally


def test_export_and_compact() -> None:
    with serve("plan.json", "--open", "submit,submit-batch,read", lines=5) as running:
        wanted = collected(running.url)
        assert "another process" in refused("export", "-o", "out", code=4)
        running.stop()
    result = run("export", "-o", "out")
    assert result.output == f"320 reports of plan {PLAN.id[:12]} written to out\n"
    assert json.loads(run("export", "-o", "out2", "--json").output) == {
        "plan": PLAN.id,
        "reports": 320,
        "own": 0,
        "in_tallies": 0,
    }
    assert run("tally", "plan.json", "out").exit_code == 0
    assert tally_of("out") == wanted
    lines = run("compact").output.splitlines()
    assert sorted(line.split(": ")[1] for line in lines) == ["20 reports", "300 reports"]
    assert sorted(path.name for path in Path("hush.db.segments").iterdir()) == sorted(
        line.split(":")[0] for line in lines
    )
    assert run("compact").output == "nothing to compact\n"
    run("export", "-o", "after")
    assert tally_of("after") == wanted
    with_ids = [path for path in Path("after").iterdir() if "report" in pq.read_schema(path).names]
    assert len(with_ids) == 1
    with serve(*AT_ONCE, lines=5) as running:  # and what was compacted is still counted, once
        tally = hush.Tally.from_json(httpx.get(f"{running.url}/plans/{PLAN.id}/tally").content, PLAN)
        assert tally == wanted
        running.stop()
    segment = next(Path("hush.db.segments").iterdir())
    segment.write_bytes(segment.read_bytes()[:-1])
    assert "is damaged" in refused("export", "-o", "damaged")


def tally_of(folder: str) -> hush.Tally:
    from hush.batch.files import tally_files

    return tally_files(PLAN, folder)


def test_export_and_compact_refuse() -> None:
    SqliteStore("empty.db").close()
    for command in (["export", "-o", "out"], ["compact"]):
        assert "--plan" in refused(*command, "--store", "sqlite://empty.db")
        assert "no such file" in refused(*command, "--store", "sqlite://typo.db", code=4)
        assert STORES in refused(*command, "--store", "mysql://x")
    held(PLAN, OTHER)
    assert "--plan" in refused("export", "-o", "out")
    assert "0 reports" in run("export", "-o", "out", "--plan", PLAN.id[:8]).output
    assert "--plan" in refused("compact", "--plan", "x")


# -- help


def test_help_is_quick_and_lists_them() -> None:
    code = "import sys; sys.argv[1:] = ['--help']\nfrom hush.cli import main\n"
    code += "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    for name in ("serve", "export", "compact", "token"):
        assert re.search(rf"^  {name} ", result.stdout, re.M)
    assert not {"starlette", "httptools", "msgspec", "numpy", "pyarrow", "hush.collector"} & set(result.stderr.split())


@pytest.mark.parametrize("library", ["starlette", "msgspec"])
def test_a_missing_library_says_what_to_install(library: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None; sys.argv[1:] = ['serve', 'plan.json']\n"
    code += "from hush.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert result.returncode == 2
    assert "pip install 'hush-ldp[collector]'" in result.stderr
