"""What `hush init` makes is served, answered, exported, counted and estimated: every kind of question, and together.

All in one process: the commands are called, and the collector runs in a thread.
"""

from __future__ import annotations

import json
import random
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hush
from hush.cli import folders, rounds
from hush.cli.commands import program
from hush.core.calendar import Counted
from hush.device.client import Client
from tests.cli.test_commands import refused, run
from tests.collector.served import anybody, serving

PEOPLE = 12
PAGES = [f"page {i}" for i in range(700)]  # more than a set is made of: a point in a geometry
ONES = {
    "number": ("--number", "age=18..100"),
    "wide": ("--wide", "income=0..1e7", "--clip", "income", "--unit", "income=10"),
    "integer": ("--integer", "mood=1..10", "--optional", "mood"),
    "yes-no": ("--yes-no", "smokes", "--optional", "smokes"),
    "category": ("--category", "system=linux,mac", "--other", "system", "--optional", "system"),
    "choices": ("--choices", "uses=tv,radio,web,paper", "--most", "uses=2", "--optional", "uses"),
    "list": ("--list", "page=pages.txt", "--optional", "page"),
    "text": ("--text", "job=8", "--alphabet", "job=abcdefgh"),
    "optional text": ("--text", "job=6,english", "--optional", "job"),
    "date": ("--date", "born=1920-01-01..2020-12-31", "--clip", "born"),
    "time": ("--time", "bed=18:00..06:00", "--step", "bed=900", "--time", "wake"),
}
TOGETHER = {
    "all kinds": (
        *(word for name, words in ONES.items() if name != "optional text" for word in words),
        *("--epsilon", "3.25"),
    ),
    "a table": (*ONES["category"], *ONES["yes-no"], "--relation", "system,smokes"),
    "means": (*ONES["integer"], *ONES["category"], "--relation", "mood,system", "--singles", "0.5"),
    "means by dates": (
        *(*ONES["wide"], *ONES["date"], "--number", "age=18..100"),
        *("--bands", "born=1949-12-31,1969-12-31", "--relation", "age,born,means", "--range", "born=16"),
    ),
    "an association": (*ONES["number"], *ONES["integer"], "--relation", "age,mood", "--relation", "age,mood,moments"),
    "a range of times": (*ONES["time"], "--range", "wake=8", "--range", "bed=4"),
    "all pairs": (*ONES["number"], *ONES["category"], *ONES["yes-no"], "--relation", "all", "--bands", "age=40"),
    "beside a text": (*ONES["text"], *ONES["number"], *ONES["category"], "--relation", "age,system", "--range", "age"),
    "beside a list": (*ONES["list"], *ONES["choices"], *ONES["number"], "--range", "age=8"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pages.txt").write_text("".join(f"{page}\n" for page in PAGES))


def answer(field: Any, world: random.Random) -> Any:
    """What somebody may answer, as a program has it from JSON."""
    if field.optional and world.random() < 0.3:
        return None
    if isinstance(field, hush.Text):
        return world.choice(["bad", "cab", "Nurse", "日本", ""])
    if isinstance(field, hush.Choices):
        return world.sample(field.values, world.randrange(field.most + 1))
    if isinstance(field, hush.Boolean):
        return world.random() < 0.5
    if isinstance(field, hush.Categorical):
        return "plan 9" if field.other and world.random() < 0.3 else world.choice(list(field.values))
    low, _, high = field.examples
    if isinstance(field, Counted):
        return world.choice(field.examples)
    if field.whole:
        return world.randint(int(low), int(high))
    return world.uniform(low, high)


def answered(plan: hush.Plan, url: str) -> None:
    """Let some people answer, as programs do."""
    world, client = random.Random(7), Client(url)
    for number in range(PEOPLE):
        record = {field.name: answer(field, world) for field in plan.schema.attributes}
        client.answer(plan.id, record, person=f"person {number}")


def steps(text: str) -> list[list[str]]:
    """The commands of hush in the list of next steps."""
    return [shlex.split(line)[1:] for line in re.findall(r"^ {7}(hush .*)$", text, re.M)]


@pytest.mark.parametrize("options", [*ONES.values(), *TOGETHER.values()], ids=[*ONES, *TOGETHER])
def test_it_is_served_answered_counted_and_estimated(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init", "survey", *options, "--title", "it's spring")
    plan = hush.Plan.from_json(Path("survey/plan.json").read_bytes())
    with serving(tmp_path, anybody(), plans=(plan,), trainings={}) as served:
        answered(plan, served.url)
        for what in ("estimates", "margins", "statement", "manipulation", "timeline"):
            assert served.client.get(served.path(what, plan)).status_code == 200, what
        Path("survey/tally.json").write_text(served.client.get(served.path("tally", plan)).text)
    # The steps of its own list, in its folder; those that reach a server are others.
    monkeypatch.chdir("survey")
    for command, *arguments in steps(Path("README.md").read_text()):
        if command == "plan":
            before = Path("plan.json").read_bytes()
            run(command, *arguments, "--json")
            assert Path("plan.json").read_bytes() == before
        elif command not in ("serve", "close", "predict"):
            found = CliRunner().invoke(program, [command, *arguments])
            check_output(found.output)
            if found.exit_code:  # a dozen people may leave a question without an answer, or all be on one side
                assert found.exit_code == 2
                words = "nobody has answered|seem to lie|seem to be missing|too few people have answered"
                assert re.match(f"hush: .*({words})", found.output)
                continue
            check_output(run(command, *arguments, "--csv").output, numbers=False)
            json.loads(run(command, *arguments, "--json").output)
    # Exported and counted by itself, it is the same.
    run("export", "--store", f"sqlite://{tmp_path / 'hush.db'}", "-o", "reports")
    run("tally", "plan.json", "reports", "-o", "counted.json")
    assert hush.Tally.from_json(Path("counted.json").read_bytes()) == hush.Tally.from_json(
        Path("tally.json").read_bytes()
    )


STRANGE = re.compile(r"\bnan\b|\binf\b|NaN|Traceback|(?<![\d.])-0(\.0+)?(?![\d.])|\d\.\d*e[+-]?\d+ %")


def check_output(text: str, *, numbers: bool = True) -> None:
    assert text.strip()
    if numbers:
        assert not STRANGE.search(text), text


# -- what the collector was given


FORM: dict[str, Any] = {
    "title": "A day in town",
    "language": "it",
    "logo": {"file": "sub/logo.png", "alt": "The town"},
    "attributes": {"mood": {"question": "How was it?", "image": {"file": "sub/logo.png", "alt": "A face"}}},
}
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db0"
    "0000000049454e44ae426082"
)


def given() -> tuple[str, ...]:
    """Files of somebody's own, and the options that name them."""
    from hush.collector.http.pages import english

    Path("sub").mkdir()
    Path("sub/logo.png").write_bytes(PIXEL)
    Path("mine.json").write_text(json.dumps(FORM))
    Path("italian.json").write_text(json.dumps(english()))
    return ("--presentation", "mine.json", "--words", "it=italian.json")


def test_the_compose_file_keeps_what_the_collector_was_given() -> None:
    yaml: Any = pytest.importorskip("yaml")
    more = ("--embed", "https://www.example.org", "--embed", "https://example.net", "--by", "week")
    run("init", "survey", *ONES["integer"], *ONES["list"], *given(), *more)
    found = yaml.safe_load(Path("survey/compose.yaml").read_text())["services"]["collector"]
    command, *arguments = found["command"]
    context = program.commands[command].make_context(command, list(arguments))
    assert context.params["presentation"] == ("/survey/plan.json=/survey/form.json",)
    assert context.params["words"] == ("it=/survey/words-it.json",)
    assert set(context.params["embed"]) == {"https://www.example.org", "https://example.net"}
    assert context.params["by"] == "week"
    mounted = dict(volume.removesuffix(":ro").split(":") for volume in found["volumes"])
    here = {path.name for path in Path("survey").iterdir()}
    pictures = {name for name in here if name.startswith("image-")}
    assert len(pictures) == 1
    extra = {"form.json", "words-it.json", "pages.txt", *pictures}
    assert here == {*folders.NAMES, *extra}
    assert mounted == {f"./{name}": f"/survey/{name}" for name in ("plan.json", "tokens", *extra)}
    for name in extra:
        assert Path("survey", name).stat().st_mode & 0o777 == 0o644
        assert f"| `{name}` |" in Path("survey/README.md").read_text()
    # In that folder alone it is the same presentation, with its pictures.
    spoken = rounds.words(("it=survey/words-it.json",))
    shown = rounds.presentations(("survey/plan.json=survey/form.json",), spoken)
    (presentation,) = shown.plans.values()
    assert (presentation.title, presentation.language) == ("A day in town", "it")
    assert set(shown.images) == pictures
    (serve,) = [line for line in steps(Path("survey/README.md").read_text()) if line[0] == "serve"]
    assert serve[1:] == [
        *("plan.json", "--embed", "https://www.example.org", "--embed", "https://example.net", "--by", "week"),
        *("--words", "it=words-it.json", "--presentation", "plan.json=form.json"),
    ]


def test_what_does_not_fit_is_refused_before_anything_is_written() -> None:
    options = given()
    Path("mine.json").write_text(json.dumps(FORM | {"attributes": {"none": {}}}))
    assert "attribute 'none': is not in the plan" in refused("init", "survey", *ONES["integer"], *options)
    Path("sub/logo.png").unlink()
    Path("mine.json").write_text(json.dumps(FORM))
    assert "logo: the file cannot be read" in refused("init", "survey", *ONES["integer"], *options)
    Path("plan.json").write_text("a\nb\n")
    assert "is a file of `hush init` itself" in refused("init", "survey", "--list", "page=plan.json")
    assert "page" in refused("init", "survey", "--list", "page=nothing.txt")
    assert not Path("survey").exists()
    Path("survey").mkdir()
    Path("survey/pages.txt").write_text("mine")
    assert "survey/pages.txt: exists already" in refused("init", "survey", *ONES["list"])
    assert [path.name for path in Path("survey").iterdir()] == ["pages.txt"]
