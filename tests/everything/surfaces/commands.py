"""The command line, in one process: every command that a plan or a tally may be given to."""

from __future__ import annotations

import csv
import io
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

import hush
from hush.cli import files
from hush.cli.commands import program
from hush.server.relations.related import related
from tests.everything.plans import Case
from tests.everything.surfaces.lives import Life, strict
from tests.everything.surfaces.saying import amiss

ELSEWHERE = {
    "close": "needs a collector: tests/cli",
    "compact": "needs a collector's store: tests/cli",
    "completion": "is about no plan",
    "demo": "is about no plan",
    "doctor": "is about no plan",
    "export": "needs a collector's store: surfaces.served",
    "relay": "is a server",
    "rename": "needs a collector's store: tests/cli",
    "serve": "is a server: surfaces.served",
    "token": "is about no plan",
    "training": "is about a training",
    "withdraw": "needs a collector: tests/cli",
    "compare": "designs plans of its own: tests/cli",
}
"""The commands that are not tried here, and why."""
WORDS = (
    "seem to be missing",
    "can be an attribute",
    "reported together",
    "through other views only",
    "people are needed",
    "too few",
    "nobody",
    "no answers",
    "not enough",
    "too little",
    "one of very many points",
    "asks for texts alone",
    "a cut near the middle",
)
"""A command may end with exit code 2 and a line that has one of these: nobody could say it, or too few answered."""


class Commands:
    """The commands of a life. Each is a finding if it fails, or says what no command may say.

    `share`: the part of them that is tried, drawn from the seed of the life.
    """

    def __init__(self, life: Life, share: float = 1.0) -> None:
        self.life, self.share = life, share
        self.tried: set[str] = set()
        self._world = random.Random(f"commands {life.seed}")

    def __call__(self) -> Iterator[str]:
        """Yield findings."""
        self.life.lay_out()
        yield from self._designing()
        yield from self._planning()
        yield from self._counting()
        yield from self._estimating()
        yield from self._relating()

    def run(self, *arguments: str, few: bool = False, kind: str = "text") -> Iterator[str]:
        """Run a command. `few`: it may refuse to say anything, in words."""
        if arguments[0] not in ("randomise", "tally") and self._world.random() >= self.share:
            return
        told = "hush " + " ".join(arguments)
        self.tried.add(arguments[0])
        placed = [str(self.life.folder / word) if word.endswith(ENDINGS) else word for word in arguments]
        result: Result = CliRunner().invoke(program, placed, env={"COLUMNS": "200"})
        if result.exit_code == 2 and few and any(word in result.stderr for word in WORDS):
            yield from (f"{told}: {wrong}" for wrong in amiss(result.stderr))
            return
        if result.exit_code:
            why = result.stderr.strip() or repr(result.exception)
            yield f"{told}: exit code {result.exit_code}: {why[-300:]}"
            return
        try:
            yield from (f"{told}: {wrong}" for wrong in _wrong(result.stdout, kind))
        except ValueError as error:
            yield f"{told}: {error}"
        yield from (f"{told}, aside: {wrong}" for wrong in amiss(result.stderr))

    def pictured(self, *arguments: str, few: bool = False) -> Iterator[str]:
        """Run a command that draws a picture, which must have something in it."""
        path = self.life.folder / "picture.svg"
        path.unlink(missing_ok=True)
        found = list(self.run(*arguments, "--picture", "picture.svg", few=few))
        yield from found
        if not found and path.exists():
            text = path.read_text(encoding="utf-8")
            marks = text.count("<path") + text.count("<rect") + text.count("<circle")
            if marks < 3:
                yield f"hush {' '.join(arguments)}: an empty picture"
            for bad in ("NaN", "undefined", "Infinity", ">null<"):
                if bad in text:
                    yield f"hush {' '.join(arguments)}: {bad} in its picture"

    # -- designs

    def _designing(self) -> Iterator[str]:
        """Design the plan again, by options: it must be the same."""
        case, path = self.life.case, self.life.folder / "again.json"
        path.unlink(missing_ok=True)
        words = ["plan", "schema.json", "--epsilon", repr(case.epsilon), "--title", f"case {case.seed}"]
        yield from self.run(*words, *written(case), "-o", "again.json")
        if path.exists() and hush.Plan.from_json(path.read_text(encoding="utf-8")).id != self.life.plan.id:
            yield "hush plan: another plan than hush.design"
        survey = self.life.folder / "survey"
        shutil.rmtree(survey, ignore_errors=True)
        words = ["init", str(survey), "--schema", "schema.json", "--title", "everything", "--host-name", "x.example"]
        yield from self.run(*words, "--epsilon", repr(case.epsilon))

    def _planning(self) -> Iterator[str]:
        number, world = self.life.case.people, random.Random(self.life.seed)
        yield from self.pictured("predict", "plan.json", "--people", str(number))
        yield from self.run("predict", "plan.json", "--people", str(number), "--json", kind="json")
        asked = [item for item in self.life.plan.schema.attributes if not isinstance(item, hush.Text)]
        if asked:
            one = world.choice(asked)
            margin = (one.high / 2 - one.low / 2) / 5 if isinstance(one, hush.Numeric) else 0.1
            yield from self.run("predict", "plan.json", "--margin", repr(margin), "--attribute", one.name, few=True)
        for item in self.life.plan.schema.attributes[:3]:
            given = [word for value in values_of(item, self.life) for word in ("--value", value)]
            if given:
                yield from self.pictured("law", "plan.json", item.name, *given, few=True)
                yield from self.run("law", "plan.json", item.name, *given, "--json", few=True, kind="json")
        yield from self.run("audit", "plan.json", "--draws", "400")
        yield from self.run("audit", "plan.json", "--draws", "400", "--json", kind="json")
        if self.life.own:
            yield from self.run("predict", "plan.json", "--people", str(number), "--own", str(self.life.own))
            yield from self.run("shuffle", "plan.json", "--own", str(self.life.own), "--delta", "1e-6")

    # -- people, reports, tallies

    def _counting(self) -> Iterator[str]:
        for name in ("reports.parquet", "counted.json", "guess.json", "people.csv"):
            (self.life.folder / name).unlink(missing_ok=True)
        yield from self.run("schema", "people.parquet", "-o", "guess.json", "--json", few=True, kind="json")
        yield from self.run("randomise", "plan.json", "people.parquet", "-o", "reports.parquet", "--ids")
        yield from self.run("tally", "plan.json", "reports.parquet", "-o", "counted.json")
        if not (self.life.folder / "counted.json").exists():
            return
        counted = files.read_tally(str(self.life.folder / "counted.json"))
        if counted.people != self.life.answering:
            yield f"hush tally: {counted.people} people of {self.life.answering}"
        yield from self.run("tally", "plan.json", "tally.json", "counted.json", kind="json")

    # -- estimates

    def _estimating(self) -> Iterator[str]:
        yield from self.pictured("estimate", "tally.json", few=True)
        yield from self.run("estimate", "tally.json", "--csv", few=True, kind="csv")
        yield from self.run("estimate", "tally.json", "--json", few=True, kind="json")
        yield from self.run("estimate", "tally.json", "--top", "3", "--together", few=True)
        yield from self.run("estimate", "tally.json", "--remedy", "project", few=True)
        yield from self.run("estimate", "tally.json", "--estimator", "paper", few=True)
        yield from self.run("estimate", "nobody.json", few=True)
        yield from self.run("change", "other.json", "tally.json", few=True)
        yield from self.run("change", "tally.json", "other.json", "--together", "--csv", few=True, kind="csv")
        for item in self.life.plan.schema.attributes:
            if isinstance(item, hush.Text):
                yield from self.run("frequent", "tally.json", "--attribute", item.name, few=True)
                yield from self.run("frequent", "tally.json", "--attribute", item.name, "--csv", few=True, kind="csv")
            if isinstance(item, hush.Choices) and self.life.case.options.get("choices") == "pairs":
                yield from self.run("pairs", "plan.json", item.name, "reports.parquet", few=True)

    def _relating(self) -> Iterator[str]:
        for relation in related(self.life.plan):
            one, by = relation.attribute, str(relation.by)
            for tally in ("tally.json", "nobody.json"):
                if relation.kind == "table":
                    yield from self.pictured("crosstab", tally, one, by, few=True)
                    yield from self.run("crosstab", tally, one, by, "--csv", "--shares", "rows", few=True, kind="csv")
                if relation.kind == "means":
                    yield from self.pictured("means", tally, one, "--by", by, few=True)
                    yield from self.run(
                        "means", tally, one, "--by", by, "--differences", "--json", few=True, kind="json"
                    )
                if relation.kind == "association":
                    yield from self.run("association", tally, one, by, few=True)
                if relation.kind == "moments":
                    yield from self.run("association", tally, one, by, "--method", "moments", few=True)
                if relation.kind == "range":
                    yield from self.pictured("below", tally, one, few=True)
                    yield from self.pictured("quantiles", tally, one, few=True)
                    yield from self.run("quantiles", tally, one, "--at", ".01,.5", "--json", few=True, kind="json")


ENDINGS = (".json", ".parquet", ".svg", ".csv")


def written(case: Case) -> list[str]:
    """Return the options of a design, as words of a command line."""
    found: list[str] = []
    for name, value in case.options.items():
        if name == "relations":
            found += [word for relation in value for word in ("--relation", ",".join(relation))]
        elif name == "bands":
            for key, cuts in value.items():
                number = case.schema[key]
                assert isinstance(number, hush.Numeric)
                typed = ",".join(number.named(cut) or repr(cut) for cut in cuts)
                found += ["--bands", f"{key}={typed}"]
        elif name == "ranges":
            found += [word for key, bands in value.items() for word in ("--range", f"{key}={bands}")]
        elif name == "importance":
            found += [word for key, weight in value.items() for word in ("--importance", f"{key}={weight}")]
        else:
            found += [f"-{name}" if name == "k" else f"--{name}", str(value)]
    return found


def values_of(item: Any, life: Life) -> list[str]:
    """Return two values of an attribute, as somebody types them."""
    if isinstance(item, hush.Choices):
        return []
    found = [record[item.name] for record in life.records(20) if record[item.name] is not None]
    if isinstance(item, hush.Numeric) and not item.whole:
        found = [item.low, item.high]
    listed = [str(value)[:5] if isinstance(item, hush.Time) else str(value) for value in found[:2]]
    return listed + ["(missing)"] * item.optional


def _wrong(text: str, kind: str) -> Iterator[str]:
    if kind == "json":
        strict(text)
    elif kind == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        if len({len(row) for row in rows}) > 1:
            yield "rows of different lengths"
        for row in rows:
            for cell in row:
                if cell.lower() in ("nan", "inf", "-inf", "none"):
                    yield f"a cell is {cell!r}"
                    return
    else:
        if not text.strip():
            yield "says nothing"
        yield from amiss(text)


def all_commands() -> set[str]:
    """Return the names of all commands."""
    return set(program.commands)


__all__ = ["ELSEWHERE", "Commands", "Path", "all_commands", "values_of", "written"]
