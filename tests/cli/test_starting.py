"""`hush init`: by options, by questions, and never over somebody's files."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import hush
from hush.cli import access, files, folders, starting
from hush.cli.commands import program
from hush.collector.http.security import hashed
from hush.files import atomic
from tests.cli.test_commands import refused, run

OPTIONS = ("--number", "age=18..100", "--number", "temperature=-10..40.5", "--category", "system=linux, mac,other")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plan() -> hush.Plan:
    return hush.Plan.from_json(Path("survey/plan.json").read_bytes())


def test_options_make_a_whole_folder() -> None:
    said = run("init", "survey", *OPTIONS, "--optional", "age", "--title", "spring", "--epsilon", "2").output
    assert "Continue with survey/README.md" in said
    assert sorted(path.name for path in Path("survey").iterdir()) == sorted(folders.NAMES)
    schema = hush.Schema(
        [
            hush.Numeric("age", 18, 100, optional=True),
            hush.Numeric("temperature", -10, 40.5),
            hush.Categorical("system", ["linux", "mac", "other"]),
        ]
    )
    assert plan() == hush.design(schema, 2.0, title="spring")
    assert files.read_schema("survey/schema.json") == schema


def test_the_next_steps_are_commands_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    title = "it's PLAN $HOME `x` EPSILON"
    run("init", "survey", *OPTIONS, "--title", title, "--host-name", "Reports.Acme.org")
    text = Path("survey/README.md").read_text()
    assert "reports.example.org" not in text
    assert "https://reports.acme.org" in text
    for line in re.findall(r"^ {7}(.*curl .*)$", text, re.M):
        assert "secret" not in line.partition("curl ")[2], "others can read a command line"
        assert "curl -H @- https://reports.acme.org" in line
    lines = [shlex.split(line) for line in re.findall(r"^ {7}(hush .*)$", text, re.M)]
    assert {line[1] for line in lines} == {"predict", "plan", "serve", "close", "estimate"}
    for _, command, *arguments in lines:
        program.commands[command].make_context(command, list(arguments))
    monkeypatch.chdir("survey")
    again = next(line for line in lines if line[1] == "plan")
    before = Path("plan.json").read_bytes()
    run(*again[1:])
    assert Path("plan.json").read_bytes() == before  # the same title, however odd


def test_tokens_are_those_of_the_secrets() -> None:
    before = os.umask(0)
    try:
        run("init", "survey", *OPTIONS)
    finally:
        os.umask(before)
    assert Path("survey").stat().st_mode & 0o022 == 0, "nobody else may put another secret there"
    held = access.read_tokens("survey/tokens")
    for role in ("read", "admin"):
        secret = Path(f"survey/{role}.secret").read_text().strip()
        assert held[role] == {hashed(secret)}
    for name in folders.NAMES:
        mode = Path("survey", name).stat().st_mode & 0o777
        assert mode == (0o600 if name in folders.SECRET else 0o644), name


def test_secrets_are_on_disk_when_the_command_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file after a power cut would lock its owner out."""
    real, seen = os.fsync, set[tuple[int, int]]()

    def watched(handle: int) -> None:
        found = os.fstat(handle)
        seen.add((found.st_ino, found.st_size))
        real(handle)

    monkeypatch.setattr(os, "fsync", watched)
    run("init", "survey", *OPTIONS)
    for name in folders.NAMES:
        found = Path("survey", name).stat()
        assert (found.st_ino, found.st_size) in seen, name
    assert Path("survey").stat().st_ino in {number for number, _ in seen}
    assert Path().stat().st_ino in {number for number, _ in seen}


def test_two_surveys_share_no_secret() -> None:
    run("init", "one", *OPTIONS)
    run("init", "two", *OPTIONS)
    for name in (*folders.SECRET, "tokens"):
        assert Path("one", name).read_text() != Path("two", name).read_text()


@pytest.mark.parametrize("name", folders.NAMES)
def test_nothing_is_ever_overwritten(name: str) -> None:
    Path("survey").mkdir()
    Path("survey", name).write_text("mine")
    assert f"survey/{name}: exists already, and is never overwritten" in refused("init", "survey", *OPTIONS)
    assert [path.name for path in Path("survey").iterdir()] == [name]
    assert Path("survey", name).read_text() == "mine"


def test_an_error_leaves_no_half_of_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    real = atomic.write_once

    def full(path: Path, data: bytes, *, mode: int) -> bool:
        if path.name == "tokens":
            raise OSError(28, "No space left on device", str(path))
        return real(path, data, mode=mode)

    monkeypatch.setattr(atomic, "write_once", full)
    assert "no space left" in refused("init", "survey", *OPTIONS)
    assert list(Path("survey").iterdir()) == []


def asked(monkeypatch: pytest.MonkeyPatch, *answers: str) -> str:
    """Answer the questions of a terminal."""
    runner = CliRunner()
    with monkeypatch.context() as patch:
        patch.setattr(starting, "is_terminal", lambda: True)
        result = runner.invoke(program, ["init", "survey"], input="".join(f"{answer}\n" for answer in answers))
    assert result.exit_code == 0, result.output
    return result.output


def test_questions_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = ("age", "number", "18", "100", "", "y")
    words = ("system", "category", "linux, mac", "", "")
    said = asked(monkeypatch, "spring", *numbers, *words, "", "", "", "2", "reports.acme.org")
    assert "which everybody may know" in said
    assert plan() == hush.design(
        hush.Schema([hush.Numeric("age", 18, 100, optional=True), hush.Categorical("system", ["linux", "mac"])]),
        2.0,
        title="spring",
    )
    assert "reports.acme.org" in Path("survey/Caddyfile").read_text()


KINDS = hush.Schema(
    [
        hush.Integer("mood", 1, 10),
        hush.Boolean("smokes", optional=True),
        hush.Choices("uses", ["tv", "radio", "web"]),
    ]
)


def test_every_kind_of_question() -> None:
    options = ("--integer", "mood=1..10", "--yes-no", "smokes", "--choices", "uses=tv, radio,web")
    run("init", "survey", *options, "--optional", "smokes")
    assert plan().schema == KINDS
    assert files.read_schema("survey/schema.json") == KINDS


def test_every_kind_of_question_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    mood, smokes = ("mood", "integer", "1", "10", "", ""), ("smokes", "yes/no", "y")
    asked(monkeypatch, "spring", *mood, *smokes, "uses", "choices", "tv,radio,web", "", "", "", "", "", "", "")
    assert plan().schema == KINDS


def test_an_answer_that_is_no_number_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ("young", "18", "1.000.000", "100")
    said = asked(monkeypatch, "", "age", "", *answers, "", "", "", "", "")
    assert "'young' is not a number" in said
    assert "write 1000000; a number has no separators between thousands" in said
    assert plan() == hush.design(hush.Schema([hush.Numeric("age", 18, 100)]), 1.0)


def test_every_other_kind_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pages.txt").write_text("home\nnews\nshop\n")
    answers = (
        *("income", "wide number", "100", "0", "10000000", "y", "y"),
        *("page", "list", "pages.txt", ""),
        *("job", "text", "12", "y", ""),
        *("born", "date", "1920-01-01", "2020-12-31", "", ""),
        *("bed", "time", "18:00", "06:00", "", ""),
        *("wake", "time", "", ""),
        *("system", "category", "linux,mac", "y", ""),
        *("uses", "choices", "a,b,c", "2", ""),
    )
    asked(monkeypatch, "all", *answers, "", "", "", "", "")
    assert plan().schema == hush.Schema(
        [
            hush.Numeric("income", 0, 1e7, "clip", optional=True, scale="log", unit=100),
            hush.Categorical("page", hush.Listed("pages.txt")),
            hush.Text("job", 12, "english"),
            hush.Date("born", "1920-01-01", "2020-12-31"),
            hush.Time("bed", "18:00", "06:00"),
            hush.Time("wake"),
            hush.Categorical("system", ["linux", "mac"], other=True),
            hush.Choices("uses", ["a", "b", "c"], 2),
        ]
    )
    assert Path("survey/pages.txt").read_bytes() == Path("pages.txt").read_bytes()


def test_what_cannot_be_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question, a relation and an epsilon: nothing of what was said before is lost."""
    age, system = ("age", "", "0", "100", "", ""), ("system", "category", "linux,mac", "", "")
    wrong = ("mood", "integer", "1.5", "3", "", "")
    twice = ("age", "", "0", "1", "", "")
    nothing = ("no,system", "", "")
    relations = ("age,system,means", "30,60", "", "age")
    answers = (*age, *wrong, *twice, *system, "", *nothing, *relations, "99", "2", "")
    said = asked(monkeypatch, "again", *answers)
    assert said.count("Not like this:") == 4
    for words in ("attribute 'mood': low and high", "attribute 'age': declared more than once", "'no'", "epsilon"):
        assert words in said, words
    schema = hush.Schema([hush.Numeric("age", 0, 100), hush.Categorical("system", ["linux", "mac"])])
    assert plan() == hush.design(
        schema,
        2.0,
        title="again",
        relations=[("age", "system", "means")],
        bands={"age": [30, 60]},
        ranges={"age": 256},
    )


def test_a_schema_of_ones_own() -> None:
    Path("mine.json").write_text(json.dumps([{"name": "x", "low": 0, "high": 1e7, "scale": "log"}]))
    found = json.loads(run("init", "survey", "--schema", "mine.json", "--json").stdout)
    assert found == {"plan": plan().id, "folder": "survey", "files": list(folders.NAMES)}
    assert files.read_schema("survey/schema.json") == files.read_schema("mine.json")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "name the questions: --number"),
        (["--number", "age"], "NAME=LOW..HIGH"),
        (["--number", "age=18-100"], "NAME=LOW..HIGH"),
        (["--number", "age=a..b"], "--number: 'a' is not a number"),
        (["--number", "age=9..1"], "attribute 'age': low must be less than high"),
        (["--category", "system"], "NAME=A,B,C"),
        (["--choices", "uses"], "--choices is written NAME=A,B,C"),
        (["--integer", "mood"], "--integer is written NAME=LOW..HIGH"),
        (["--integer", "mood=1.5..3"], "attribute 'mood'"),
        (["--category", "system=mac"], "attribute 'system'"),
        ([*OPTIONS, "--optional", "shoe"], "no question is called 'shoe'"),
        ([*OPTIONS, "--schema", "mine.json"], "either --schema"),
        ([*OPTIONS, "--epsilon", "99"], "epsilon"),
        ([*OPTIONS, "--host-name", "https://x/"], "a name alone"),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(options: list[str], words: str) -> None:
    assert words in refused("init", "survey", *options)
    assert not Path("survey").exists()
