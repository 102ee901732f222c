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
WAYS = "--number age=18..100, --category system=linux,mac,other, or --schema FILE"


def is_terminal() -> bool:
    """Say whether somebody can be asked."""
    return sys.stdin.isatty()


@program.command()
@click.argument("folder", metavar="FOLDER", shell_complete=completing.folders)
@click.option("--title", help="What the survey is called.")
@click.option("--epsilon", type=float, help="The cost of answering for each person. [default: 1.0]")
@click.option("--host-name", "host", metavar="NAME", help=f"Where people will reach the collector. [default: {HOST}]")
@click.option("--number", "ranges", multiple=True, metavar="NAME=LOW..HIGH", help="Ask for a number (repeatable).")
@click.option("--category", "lists", multiple=True, metavar="NAME=A,B,C", help="Ask for a category (repeatable).")
@click.option("--optional", multiple=True, metavar="NAME", help="An answer that may be missing (repeatable).")
@click.option("--schema", metavar="FILE", shell_complete=completing.files, help="Take the questions from a schema.")
@RESULT
def init(
    folder: str,
    title: str | None,
    epsilon: float | None,
    host: str | None,
    ranges: tuple[str, ...],
    lists: tuple[str, ...],
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
    if ranges or lists:
        given = [*map(_number, ranges), *map(_category, lists)]
    if schema is not None and given is not None:
        raise Refused("give either --schema, or --number and --category")
    if schema is None and given is None and not asking:
        raise Refused(f"name the questions: {WAYS}")
    if title is None:
        title = click.prompt("Title of the survey", default="", show_default=False) if asking else ""
    if schema is not None:
        fields = files.read_schema(schema)
    else:
        fields = files.friendly(_with_optional(_asked() if given is None else given, optional))
    if epsilon is None:
        words = "Epsilon: the privacy that answering costs each person (0.5 is strict, 4 is loose)"
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


def _number(text: str) -> dict[str, Any]:
    name, equals, bounds = text.rpartition("=")
    low, dots, high = bounds.partition("..")
    if not (equals and dots):
        raise Refused("--number is written NAME=LOW..HIGH, such as age=18..100")
    return {"name": name.strip(), "low": number(low, "--number"), "high": number(high, "--number")}


def _category(text: str) -> dict[str, Any]:
    name, equals, values = text.partition("=")
    if not equals:
        raise Refused("--category is written NAME=A,B,C, such as system=linux,mac,other")
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
        kind = click.prompt("Is it a number or a category", type=click.Choice(["number", "category"]), default="number")
        if kind == "number":
            low = click.prompt("Its lowest value, which everybody may know", type=float)
            high = click.prompt("Its highest value", type=float)
            item: dict[str, Any] = {"name": name, "low": low, "high": high}
        else:
            item = {"name": name, "values": listed(click.prompt("Its categories, with commas between them"))}
        if click.confirm("May the answer be missing?", default=False):
            item["optional"] = True
        found.append(item)
