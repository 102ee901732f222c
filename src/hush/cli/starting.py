"""The command `hush init`: a folder with everything that a new survey needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hush.cli import completing
from hush.cli.program import RESULT, Refused, as_json, listed, number, program

HOST = "reports.example.org"
WAYS = (
    "--number age=18..100, --integer, --yes-no, --category system=linux,mac,other, --choices, --date, --time, "
    "or --schema FILE"
)
KINDS = ("number", "integer", "yes/no", "category", "choices", "date", "time")


def is_terminal() -> bool:
    """Say whether somebody can be asked."""
    return sys.stdin.isatty()


@program.command()
@click.argument("folder", metavar="FOLDER", shell_complete=completing.folders)
@click.option("--title", help="What the survey is called.")
@click.option("--epsilon", type=float, help="The cost of answering for each person. [default: 1.0]")
@click.option("--host-name", "host", metavar="NAME", help=f"Where people will reach the collector. [default: {HOST}]")
@click.option("--number", "ranges", multiple=True, metavar="NAME=LOW..HIGH", help="Ask for a number (repeatable).")
@click.option(
    "--integer", "wholes", multiple=True, metavar="NAME=LOW..HIGH", help="Ask for a whole number (repeatable)."
)
@click.option("--yes-no", "booleans", multiple=True, metavar="NAME", help="Ask for yes or no (repeatable).")
@click.option("--category", "lists", multiple=True, metavar="NAME=A,B,C", help="Ask for a category (repeatable).")
@click.option("--choices", multiple=True, metavar="NAME=A,B,C", help="Ask which of these (repeatable).")
@click.option(
    "--date",
    "dates",
    multiple=True,
    metavar="NAME=FROM..TO",
    help="Ask for a date, such as birthday=1920-01-01..2020-12-31 (repeatable).",
)
@click.option(
    "--time",
    "times",
    multiple=True,
    metavar="NAME[=FROM..TO]",
    help="Ask for a time of day, such as bed_time=18:00..06:00 (repeatable).",
)
@click.option("--optional", multiple=True, metavar="NAME", help="An answer that may be missing (repeatable).")
@click.option("--schema", metavar="FILE", shell_complete=completing.files, help="Take the questions from a schema.")
@RESULT
def init(
    folder: str,
    title: str | None,
    epsilon: float | None,
    host: str | None,
    ranges: tuple[str, ...],
    wholes: tuple[str, ...],
    booleans: tuple[str, ...],
    lists: tuple[str, ...],
    choices: tuple[str, ...],
    dates: tuple[str, ...],
    times: tuple[str, ...],
    optional: tuple[str, ...],
    schema: str | None,
    machine: bool,
) -> None:
    """Begin a survey: write a schema, a plan, files for a server and a list of next steps into a folder.

    On a terminal it asks for whatever no option gives. It never overwrites a file.

    \b
    Example:
      hush init survey
      hush init survey --title "spring survey" --number age=18..100 --category system=linux,mac,other
    """
    from hush.cli import access, files, folders
    from hush.core.design import design

    target = Path(folder)
    folders.check(target)
    asking = is_terminal() and not machine
    given: list[dict[str, Any]] | None = None
    if ranges or wholes or booleans or lists or choices or dates or times:
        given = [
            *(_number(text, "--number") for text in ranges),
            *({"kind": "integer"} | _number(text, "--integer") for text in wholes),
            *({"kind": "boolean", "name": name.strip()} for name in booleans),
            *(_category(text, "--category") for text in lists),
            *({"kind": "choices"} | _category(text, "--choices") for text in choices),
            *({"kind": "date"} | _ends(text, "--date", "birthday=1920-01-01..2020-12-31") for text in dates),
            *(
                {"kind": "time"}
                | (_ends(text, "--time", "bed_time=18:00..06:00") if "=" in text else {"name": text.strip()})
                for text in times
            ),
        ]
    if schema is not None and given is not None:
        raise Refused("give either --schema, or --number, --category and the like")
    if schema is None and given is None and not asking:
        raise Refused(f"name the questions: {WAYS}")
    if title is None:
        title = click.prompt("Title of the survey", default="", show_default=False) if asking else ""
    if schema is not None:
        fields = files.read_schema(schema)
    else:
        fields = files.friendly(_with_optional(_asked() if given is None else given, optional))
    if epsilon is None:
        from hush.planning.strength import rule

        words = f"Epsilon: the privacy that answering costs each person ({rule()})"
        epsilon = click.prompt(words, default=1.0, type=float) if asking else 1.0
    if host is None:
        host = click.prompt("Host name of the collector", default=HOST) if asking else HOST
    name = access.host_name(host)
    plan = design(fields, epsilon, title=title)
    written = folders.write(target, plan, name)
    if machine:
        as_json({"plan": plan.id, "folder": folder, "files": written})
        return
    from hush.cli import printing

    printing.show(plan.table())
    printing.say(f"Written to {folder}: {', '.join(written)}.", f"Continue with {target / 'README.md'}.")


def _number(text: str, option: str) -> dict[str, Any]:
    found = _ends(text, option, "age=18..100", "LOW..HIGH")
    return found | {end: number(found[end], option) for end in ("low", "high")}


def _ends(text: str, option: str, example: str, form: str = "FROM..TO") -> dict[str, Any]:
    name, equals, bounds = text.rpartition("=")
    low, dots, high = bounds.partition("..")
    if not (equals and dots):
        raise Refused(f"{option} is written NAME={form}, such as {example}")
    return {"name": name.strip(), "low": low.strip(), "high": high.strip()}


def _category(text: str, option: str) -> dict[str, Any]:
    name, equals, values = text.partition("=")
    if not equals:
        raise Refused(f"{option} is written NAME=A,B,C, such as system=linux,mac,other")
    return {"name": name.strip(), "values": listed(values)}


def _with_optional(attributes: list[dict[str, Any]], optional: Sequence[str]) -> list[dict[str, Any]]:
    names = [attribute["name"] for attribute in attributes]
    for name in optional:
        if name not in names:
            raise Refused(f"--optional: no question is called {name!r}; there are: {', '.join(map(repr, names))}")
    return [item | ({"optional": True} if item["name"] in optional else {}) for item in attributes]


def _asked() -> list[dict[str, Any]]:
    """Ask for questions, until there is an empty name."""
    found: list[dict[str, Any]] = []
    while True:
        more = "Name of another question (or nothing)" if found else "Name of the first question, such as age"
        name = click.prompt(more, default="" if found else None, show_default=False).strip()
        if not name:
            return found
        kind = click.prompt("What is it", type=click.Choice(KINDS), default="number")
        if kind in ("number", "integer"):
            low = click.prompt("Its lowest value, which everybody may know", type=float)
            high = click.prompt("Its highest value", type=float)
            item: dict[str, Any] = {"name": name, "low": low, "high": high}
        elif kind == "date":
            first = click.prompt("The first date, which everybody may know, such as 1920-01-01")
            item = {"name": name, "low": first, "high": click.prompt("The last date")}
        elif kind == "time":
            item = {"name": name}
        elif kind == "yes/no":
            item = {"kind": "boolean", "name": name}
        else:
            item = {"name": name, "values": listed(click.prompt("Its categories, with commas between them"))}
        if kind in ("integer", "choices", "date", "time"):
            item["kind"] = kind
        if click.confirm("May the answer be missing?", default=False):
            item["optional"] = True
        found.append(item)
