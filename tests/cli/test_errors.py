"""No traceback, whatever is given: odd files, odd options, streams that are closed or full, signals, JSON."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import hush
from hush.cli import files, schemas, streams
from hush.cli.commands import program
from tests.cli.test_commands import ATTRIBUTES, refused, run

HUSH = [sys.executable, "-m", "hush"]
PLAN = hush.design(schemas.friendly(ATTRIBUTES), 1.0)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(hush.__file__).parents[1]))
    Path("schema.json").write_text(json.dumps({"attributes": ATTRIBUTES}))
    Path("plan.json").write_text(PLAN.to_json())
    Path("tally.json").write_text(hush.Tally(PLAN).to_json())
    Path("people.csv").write_text("age,os\n41,mac\n17,\n")
    Path("folder").mkdir()


def shell(command: str, timeout: float = 60) -> tuple[int, str, str]:
    """Run a line in a shell, where `hush` is this one."""
    line = command.replace("hush ", f"{sys.executable} -m hush ", 1)
    result = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=timeout, check=False)  # noqa: S602
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr
    return result.returncode, result.stdout, result.stderr


# -- JSON for machines


def test_every_command_has_json_or_a_reason() -> None:
    """Completion prints a script, and that is all it is for."""
    without = {name for name, command in program.commands.items() if "--json" not in flags(command)}
    assert without == {"completion"}


def flags(command: click.Command) -> set[str]:
    return {word for parameter in command.params if isinstance(parameter, click.Option) for word in parameter.opts}


def test_json_of_what_is_written() -> None:
    found = json.loads(run("randomise", "plan.json", "people.csv", "-o", "r.parquet", "--json").stdout)
    assert found == {"plan": PLAN.id, "people": 2, "bytes": Path("r.parquet").stat().st_size, "output": "r.parquet"}
    found = json.loads(run("tally", "plan.json", "r.parquet", "-o", "t.json", "--json").stdout)
    assert found == {"plan": PLAN.id, "reports": 2, "own": 0, "output": "t.json"}
    assert json.loads(run("tally", "plan.json", "r.parquet", "--json").stdout)["tally"]


def test_json_of_a_token() -> None:
    from hush.collector.http.security import hashed

    found = json.loads(run("token", "read", "--json").stdout)
    assert found["hash"] == hashed(found["token"])
    assert found["role"] == "read"


def test_json_of_compact() -> None:
    from hush.collector.stores.sqlite import SqliteStore

    store = SqliteStore("hush.db")
    store.add_plan(PLAN)
    store.close()
    assert json.loads(run("compact", "--json").stdout) == {"plan": PLAN.id, "segments": []}


def test_json_of_the_demo() -> None:
    result = run("demo", "--people", "2000", "--port", "0", "--json")
    found = json.loads(result.stdout)
    assert found["people"] == 2000
    assert len(found["rows"]) == 57
    assert all((row["low"] <= row["truth"] <= row["high"]) == row["covered"] for row in found["rows"])


def test_json_of_a_collector() -> None:
    command = [*HUSH, "serve", "plan.json", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0
    (page,) = found["plans"]
    assert page["url"] == f"{found['address']}/plans/{PLAN.id}"
    assert page["dashboard"].startswith(found["address"])
    assert found["trainings"] == {}


# -- plans are not replaced in silence


def test_another_plan_is_not_replaced_unless_asked() -> None:
    before = Path("plan.json").read_bytes()
    assert "not overwritten" in refused("plan", "schema.json", "--epsilon", "2", "-o", "plan.json")
    assert Path("plan.json").read_bytes() == before
    run("plan", "schema.json", "--epsilon", "1", "-o", "plan.json")  # the very same
    assert Path("plan.json").read_bytes() == before
    run("plan", "schema.json", "--epsilon", "2", "-o", "plan.json", "--overwrite")
    assert files.read_plan("plan.json").epsilon == 2
    assert "is read" in refused("plan", "schema.json", "--epsilon", "2", "-o", "schema.json", "--overwrite")
    assert "directory" in refused("plan", "schema.json", "--epsilon", "2", "-o", "folder", "--overwrite")
    assert sorted(path.suffix for path in Path().iterdir() if path.is_file()) == [".csv", ".json", ".json", ".json"]


# -- streams


LAW = "hush law plan.json age --value 20"
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")


@needs_full
@pytest.mark.parametrize("command", [LAW, f"{LAW} --json", "hush --help", "hush plan --help", "hush token read"])
def test_a_full_disk_is_said(command: str) -> None:
    code, _, err = shell(f"{command} > /dev/full")
    assert (code, err) == (2, "hush: standard output: no space left on device\n")


@needs_full
def test_a_full_disk_for_a_file_is_said() -> None:
    for words in (["plan", "schema.json", "--epsilon", "1"], ["tally", "plan.json", "tally.json"]):
        assert "no plain file" in refused(*words, "-o", "/dev/full")
        assert "no plain file" in refused(*words, "-o", "/dev/full", "--overwrite")


def test_a_disk_that_fills_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for words in (["plan", "schema.json", "--epsilon", "2"], ["tally", "plan.json", "tally.json"]):
        assert "no space left on device" in refused(*words, "-o", "new.json")
        assert not list(Path().glob(".*part"))
        assert not Path("new.json").exists()


@pytest.mark.parametrize("command", [LAW, f"{LAW} --json", "hush predict plan.json --people 9", "hush --help"])
def test_a_reader_that_leaves_is_no_error(command: str) -> None:
    """The reader is gone before anything is written, so it does not depend on who is quicker."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        words = [*HUSH, *command.split()[1:]]
        result = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)  # noqa: S603
    finally:
        os.close(writer)
    assert (result.returncode, result.stderr) == (141, "")


def test_a_pipe_that_is_read_in_part() -> None:
    code, out, err = shell(f"{LAW} --json | head -1")
    assert (code, out, err) == (0, "{\n", "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str) -> None:
    assert shell(f"{LAW} {closed}")[0] == 0
    assert shell(f"hush plan schema.json --epsilon 1 -o new.json {closed}")[0] == 0
    assert files.read_plan("new.json").id == PLAN.id  # nothing else was written into it
    assert shell(f"hush plan absent.json --epsilon 1 {closed}")[0] == 2
    assert shell(f"hush audit - {closed}")[0] == 2 or closed in (">&-", "2>&-")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_terminals_that_lack_letters(encoding: str) -> None:
    schema = hush.Schema([hush.Numeric("größe 🙂", 0, 1)])
    plan = hush.design(schema, 1.0)
    Path("plan.json").write_text(plan.to_json(), encoding="utf-8")
    Path("schema.json").write_text(json.dumps({"attributes": schema.to_json()}))
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}

    def out(*words: str) -> bytes:
        result = subprocess.run([*HUSH, *words], capture_output=True, timeout=60, check=False, env=env)  # noqa: S603
        assert (result.returncode, result.stderr) == (0, b"")
        return result.stdout

    assert b"mean" in out("predict", "plan.json", "--people", "99")
    found = json.loads(out("predict", "plan.json", "--people", "99", "--json").decode(encoding))
    assert found["rows"][0]["attribute"] == "größe 🙂"
    assert hush.Plan.from_json(out("plan", "schema.json", "--epsilon", "1", "--json")) == plan  # by its bytes


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes on Linux")
def test_names_that_are_no_text() -> None:
    name = os.fsdecode(b"\xff.json")
    code, _, err = shell("hush audit $(printf '\\377.json')")
    assert (code, err) == (2, "hush: \\udcff.json: no such file or directory\n")
    Path(name).write_text(PLAN.to_json())
    assert shell("hush plan schema.json --epsilon 1 -o $(printf '\\377.json')")[0] == 0


ACTING = "no\x1b]0;pwn\x07ne\x9b2J\u202e.json"
TOLD = r"no\x1b]0;pwn\x07ne\x9b2J\u202e.json"


@pytest.mark.skipif(sys.platform == "win32", reason="such names are refused by Windows")
def test_names_do_nothing_to_a_terminal() -> None:
    """Names of files that are not there, of files that are refused, of files that were written; and of options."""
    for words in (
        ["audit", ACTING],
        ["tally", "plan.json", ACTING],
        ["plan", "schema.json", "--epsilon", "1", "-o", f"{ACTING}/x"],
    ):
        assert TOLD in refused(*words)
    Path(ACTING).write_text("[]")
    for words in (
        ["audit", ACTING],
        ["estimate", ACTING],
        ["plan", ACTING, "--epsilon", "1"],
        ["tally", "plan.json", ACTING],
    ):
        assert TOLD in refused(*words)
    Path(ACTING).unlink()
    for words, end in (
        (["plan", "schema.json", "--epsilon", "1"], ""),
        (["randomise", "plan.json", "people.csv"], ".parquet"),
        (["tally", "plan.json", f"{ACTING}.parquet"], ".tally.json"),
    ):
        result = run(*words, "-o", f"{ACTING}{end}")
        assert unseen(result.output) == set()
        assert Path(f"{ACTING}{end}").exists()
    for odd in ([f"--{ACTING}"], [ACTING], ["predict", "plan.json", "--people", ACTING], ["audit", f"--{ACTING}"]):
        result = CliRunner().invoke(program, odd)
        assert (result.exit_code, unseen(result.output)) == (2, set())
    assert streams.visible("größe 🙂 ─ \udcff") == "größe 🙂 ─ \\udcff"


def unseen(text: str) -> set[str]:
    """Return the letters that a terminal does not show."""
    return {letter for letter in text if not letter.isprintable()} - {"\n"}


def test_streams_that_are_no_files() -> None:
    """Inside of another program the streams may be anything."""
    assert streams.is_unicode() in (True, False)
    assert streams.abandon() is False


# -- signals and faults


@contextmanager
def auditing(**handlers: signal.Handlers) -> Iterator[subprocess.Popen[str]]:
    """Run an audit that takes hours, with these handlers of signals, and not with those of the test run.

    Under nohup SIGHUP is ignored, and SIGINT in a background job: children inherit that.
    """

    def prepare() -> None:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            signal.signal(getattr(signal, name), handlers.get(name, signal.SIG_DFL))

    command = [*HUSH, "audit", "plan.json", "--draws", "100000000"]
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=prepare
    ) as process:
        try:
            while not catches(process.pid, signal.SIGTERM):  # it does once the command runs
                assert process.poll() is None
                time.sleep(0.02)
            yield process
        finally:
            process.kill()  # or the end of this block would wait for hours


def catches(pid: int, number: int) -> bool:
    """Say whether a process has a handler for a signal."""
    (mask,) = re.findall(r"^SigCgt:\s*([0-9a-f]+)$", Path(f"/proc/{pid}/status").read_text(), re.M)
    return bool(int(mask, 16) >> (number - 1) & 1)


linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc shows the handlers of a process")


@linux
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals(number: int, code: int) -> None:
    with auditing() as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert err.strip() in ("", "hush: stopped")


def test_an_interrupt_inside_compiled_text_has_the_code_of_an_interrupt(tmp_path: Path) -> None:
    """Python ends by the signal if a plain KeyboardInterrupt left `exec`, as one in the middle of a dataclass does."""
    (tmp_path / "interrupted.py").write_text(
        "import signal\n"
        "from hush.cli import files, main\n"
        "files.read_plan = lambda path: exec('signal.raise_signal(signal.SIGINT)')\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it\n"
        "main()\n"
    )
    result = subprocess.run(
        [sys.executable, "-m", "interrupted", "audit", "plan.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "\nhush: stopped\n")


@linux
def test_a_signal_that_is_ignored_stays_so() -> None:
    """As under nohup, where the end of a session must not end the command."""
    with auditing(SIGHUP=signal.SIG_IGN) as process:
        assert not catches(process.pid, signal.SIGHUP)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143


@linux
def test_these_tests_end_under_nohup(tmp_path: Path) -> None:
    """SIGHUP is ignored there, so a test that waits for its effect would wait for ever."""
    tests = f"{Path(__file__)}::test_signals"
    command = ["nohup", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
    root = Path(__file__).parent.parent.parent
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=root)  # noqa: S603
    assert result.returncode == 0, result.stdout
    assert "3 passed" in result.stdout


WRAPPED = """
class Named:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.{name})

def read_plan(path):
    class Owner:
        field = Named()
"""
DROPPED = """
import gc, time, weakref

class Held:
    pass

def read_plan(path):
    held = Held()
    kept = weakref.ref(held, lambda _: signal.raise_signal(signal.{name}))
    del held
    gc.collect()
    time.sleep(50)
"""


@linux
@pytest.mark.parametrize("place", [WRAPPED, DROPPED], ids=["wrapped", "dropped"])
@pytest.mark.parametrize(("name", "code", "said"), [("SIGTERM", 143, ""), ("SIGINT", 130, "\nhush: stopped\n")])
def test_a_signal_that_python_wraps_or_drops_still_stops(
    tmp_path: Path, place: str, name: str, code: int, said: str
) -> None:
    """In the middle of a class Python 3.11 makes a RuntimeError of it; in a weak reference's callback it is dropped."""
    (tmp_path / "interrupted.py").write_text(
        "import signal\nfrom hush.cli import files, main\n"
        + place.format(name=name)
        + "signal.signal(signal.SIGINT, signal.default_int_handler)\nfiles.read_plan = read_plan\nmain()\n"
    )
    command = [sys.executable, "-m", "interrupted", "audit", "plan.json"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=40, check=False)  # noqa: S603
    assert (result.returncode, result.stdout, result.stderr) == (code, "", said)


def test_an_unforeseen_error_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: str) -> Any:
        raise KeyError("income of Ann: 12345")

    monkeypatch.setattr(files, "read_plan", broken)
    result = run("audit", "plan.json", code=3)
    assert result.stderr.startswith("hush: a fault of hush itself, KeyError;")
    assert "Ann" not in result.output
    monkeypatch.setenv("HUSH_TRACEBACK", "1")
    assert isinstance(CliRunner().invoke(program, ["audit", "plan.json"]).exception, KeyError)


def test_no_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def large(path: str) -> Any:
        raise MemoryError

    monkeypatch.setattr(files, "read_plan", large)
    assert "memory" in refused("audit", "plan.json")


def test_a_library_that_hush_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(path: str) -> Any:
        raise ModuleNotFoundError(name="nowhere.at.all")

    monkeypatch.setattr(files, "read_plan", lacking)
    assert refused("audit", "plan.json") == "hush: this needs the library nowhere\n"


def test_what_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As nobody is kept from reading as root, the refusal is made up."""

    def kept_from(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", kept_from)
    assert refused("audit", "plan.json") == "hush: plan.json: permission denied\n"


def test_a_folder_that_may_not_be_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "no files can be written" in refused("plan", "schema.json", "--epsilon", "1", "-o", "new.json")


# -- many odd things


ODD: dict[str, bytes] = {
    "empty": b"",
    "zeros": bytes(300),
    "garbage": bytes(random.Random(1).randbytes(3000)),
    "not UTF-8": b'{"attributes": "\xff\xfe"}',
    "UTF-16": '{"attributes": []}'.encode("utf-16"),
    "mark": b"\xef\xbb\xbf{}",
    "half": PLAN.to_json().encode()[:200],
    "deep": b"[" * 100_000,
    "nested": b'{"a":' * 3000 + b"1" + b"}" * 3000,
    "number": b"1",
    "huge number": b"9" * 5000,
    "infinite": b"[1e999]",
    "nan": b"[NaN]",
    "null": b"null",
    "text": b'"x"',
    "list": b"[]",
    "object": b"{}",
    "lone surrogate": b'[{"name": "\\ud800", "low": 0, "high": 1}]',
    "nul": b'[{"name": "a\\u0000b", "low": 0, "high": 1}]',
    "schema": json.dumps(ATTRIBUTES).encode(),
    "plan": PLAN.to_json().encode(),
    "spoilt plan": PLAN.to_json().replace('"k":1', '"k":7').encode(),
    "collection": hush.Tally(PLAN).to_json().encode(),
    "odd collection": b'{"hush":2,"plan":[],"tally":{}}',
    "parquet": b"PAR1" + bytes(40) + b"PAR1",
    "arrow": b"ARROW1\0\0" + bytes(64),
    "table": b"age,os\n41,mac\n",
    "odd table": b'age,os\n"41,mac\n',
    "gzip": gzip.compress(b"age,os\n41,mac\n", mtime=0)[:20],
    "sqlite": b"SQLite format 3\0" + bytes(100),
}
SUFFIXES = [".json", ".parquet", ".arrow", ".arrows", ".csv", ".csv.gz", ".svg", ""]
WORDS = [
    *("-1", "0", "1", "2", "3.5", "1e400", "nan", "inf", "-inf", "9" * 30, "9" * 5000, "0x10", "1,2", "1,", ",", "="),
    *("", " ", "-", "--", "*", "[", "**", ".", "..", "/", "/dev/null", "folder", "absent", "folder/absent.json"),
    *("age", "os", "age=1", "=1", "age=nan", "mac", "(missing)", "best", "paper", "split", "weighted", "minimax"),
    *("oue", "cube", "age,os", "é\u202e", "\udcff", "x" * 5000, "sqlite://", "sqlite://folder", "postgresql://"),
    *(
        "sqlite://people.csv",
        "postgresql://nobody@127.0.0.1:1/x",
        "mysql://",
        "submit",
        "duckdb",
        "memory",
        "../x.json",
    ),
]
ROUNDS = int(os.environ.get("HUSH_FUZZ", "60"))


def cases(command: str) -> list[list[str]]:
    """Return some dozens of command lines, the same every time."""
    generator = random.Random(f"hush {command}")
    found: list[list[str]] = []
    parameters = [item for item in program.commands[command].params if "--json" not in item.opts]
    names = [f"odd {name}{suffix}" for name in ODD for suffix in SUFFIXES]
    good = {"plan": "plan.json", "tally": "tally.json", "schema": "schema.json", "epsilon": "1", "people": "people.csv"}
    good |= {"attribute": "age", "texts": "20", "reports": "tally.json", "draws": "200", "shell": "bash"}
    for _ in range(ROUNDS):
        line: list[str] = []
        for item in parameters:
            given = [generator.choice([*WORDS, *generator.sample(names, 12)])]
            if item.name in good and generator.random() < 0.75:
                given = [good[item.name]] if (command, item.name) != ("predict", "people") else ["50"]
            if isinstance(item, click.Argument):
                line += given * (1 if item.nargs == 1 or generator.random() < 0.8 else 2)
            elif item.required or item.name == "draws" or generator.random() < 0.25:  # the default takes seconds
                line += [generator.choice(item.opts), *([] if getattr(item, "is_flag", False) else given)]
        found.append([*line, "--json"] if generator.random() < 0.3 else line)
    return found


@pytest.mark.parametrize("command", sorted(program.commands))
def test_nothing_makes_a_traceback(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in ODD.items():
        for suffix in SUFFIXES:
            Path(f"odd {name}{suffix}").write_bytes(content)
    _cut_short(command, monkeypatch)
    seen = set()
    for line in cases(command):
        result = CliRunner().invoke(program, [command, *line], input=b"\xff{")
        assert result.exit_code in (0, 1, 2, 4), (line, result.output, result.exception)
        assert result.exception is None or isinstance(result.exception, SystemExit), (line, result.exception)
        assert "Traceback" not in result.output
        assert result.exit_code in (0, 1) or result.stderr, line
        seen.add(result.exit_code)
    assert seen & {2, 4} or command == "doctor"  # it reads nothing; 4: a store that is not there


def _cut_short(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace what would listen or work for an hour by nothing: what reads options and files is real."""
    if command == "serve":
        monkeypatch.setattr("hush.collector.serve.run", lambda *_, **__: None)
    elif command == "demo":
        monkeypatch.setattr("hush.demo.run.run", lambda options: None)
    elif command == "doctor":
        monkeypatch.setattr("hush.cli.doctor.findings", lambda: iter(()))
    elif command == "reproduce":
        monkeypatch.setattr("experiments.reproduce.runner.reproduce", lambda *_: {})


def test_the_program_itself() -> None:
    for line in ([], ["nothing"], ["--nothing"], [""], ["\udcff"], ["plan"], ["plan", "--epsilon"], ["-h", "x"]):
        result = CliRunner().invoke(program, line)
        assert result.exit_code in (0, 2)
        assert "Traceback" not in result.output
