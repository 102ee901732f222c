"""The command `hush init`: a folder with everything that a new survey needs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hush.cli import completing
from hush.cli import questions as question_options
from hush.cli import wishes as wish_options
from hush.cli.numbers import NUMBER
from hush.cli.program import RESULT, Refused, as_json, listed, program

if TYPE_CHECKING:
    from hush.cli.folders import Beside
    from hush.cli.questions import Questions
    from hush.cli.wishes import Wishes
    from hush.core.plan import Plan
    from hush.core.schema import Schema

HOST = "reports.example.org"


def is_terminal() -> bool:
    """Say whether somebody can be asked."""
    return sys.stdin.isatty()


@program.command()
@click.argument("folder", metavar="FOLDER", shell_complete=completing.folders)
@click.option("--title", help="What the survey is called.")
@click.option("--epsilon", type=NUMBER, help="The cost of answering for each person. [default: 1.0]")
@click.option("--host-name", "host", metavar="NAME", help=f"Where people will reach the collector. [default: {HOST}]")
@question_options.options
@wish_options.options
@click.option("--schema", metavar="FILE", shell_complete=completing.files, help="Take the questions from a schema.")
@click.option(
    "--presentation",
    metavar="FILE",
    shell_complete=completing.files,
    help="How the form presents the questions: words, order, widgets, colour and pictures. It is copied.",
)
@click.option("--words", multiple=True, metavar="LANGUAGE=FILE.json", help="As of `hush serve`. They are copied.")
@click.option("--embed", multiple=True, metavar="ORIGIN", help="As of `hush serve`.")
@click.option("--by", type=click.Choice(["day", "week"]), help="As of `hush serve`.")
@RESULT
def init(
    folder: str,
    title: str | None,
    epsilon: float | None,
    host: str | None,
    questions: Questions,
    wishes: Wishes,
    schema: str | None,
    presentation: str | None,
    words: tuple[str, ...],
    embed: tuple[str, ...],
    by: str | None,
    machine: bool,
) -> None:
    """Begin a survey: write a schema, a plan, files for a server and a list of next steps into a folder.

    On a terminal it asks for whatever no option gives. It never overwrites a file.

    \b
    Example:
      hush init survey
      hush init survey --title "spring survey" --number age=18..100 --category system=linux,mac,other
      hush init survey --wide income=0..1e7 --clip income --category region=north,south --relation income,region
    """
    from hush.cli import access, files, folders, schemas

    target = Path(folder)
    folders.check(target)
    asking = is_terminal() and not machine
    given = questions.read()
    if schema is not None and given is not None:
        raise Refused("give either --schema, or --number, --category and the like")
    if schema is None and given is None and not asking:
        raise Refused(f"name the questions: {question_options.WAYS}")
    if title is None:
        title = click.prompt("Title of the survey", default="", show_default=False) if asking else ""
    if schema is not None:
        fields = files.read_schema(schema)
    else:
        fields = schemas.friendly(question_options.ask(schemas.friendly) if given is None else given)
    plan, wishes = _planned(fields, epsilon, title, wishes, asking=asking)
    if host is None:
        host = click.prompt("Host name of the collector", default=HOST) if asking else HOST
    name = access.host_name(host)
    beside = _beside(plan, wishes, presentation, words, embed, by)
    written = folders.write(target, plan, name, beside)
    if machine:
        as_json({"plan": plan.id, "folder": folder, "files": written})
        return
    from hush.cli import printing

    printing.show(plan.table())
    printing.say(f"Written to {folder}: {', '.join(written)}.", f"Continue with {target / 'README.md'}.")


def _planned(fields: Schema, epsilon: float | None, title: str, wishes: Wishes, *, asking: bool) -> tuple[Plan, Wishes]:
    """Design the plan. On a terminal, ask what is left open, and once more what makes no plan."""
    from hush.planning.designs import made as designed
    from hush.planning.strength import rule

    def made(epsilon: float, wishes: Wishes) -> Plan:
        if wishes.found is not None:
            raise Refused("--margin: name what it is a margin of, as in --margin age=0.5")
        with wish_options.designing():
            plan, notes = designed(fields, epsilon, {}, {"title": title, **wishes.read(fields)})
        for note in notes:
            click.echo(note, err=True)
        return plan

    if asking and len(fields) > 1 and not (wishes.relation or wishes.range_):
        wishes = _again(lambda: _wished(fields, wishes, made))
    if epsilon is not None or not asking:
        return made(1.0 if epsilon is None else epsilon, wishes), wishes
    text = f"Epsilon: the privacy that answering costs each person ({rule()})"
    return _again(lambda: made(click.prompt(text, default=1.0, type=NUMBER), wishes)), wishes


def _again(act: Callable[[], Any]) -> Any:
    """Ask until it is no longer refused."""
    while True:
        try:
            return act()
        except (ValueError, Refused) as error:
            click.echo(f"Not like this: {error.message if isinstance(error, Refused) else error}", err=True)


def _wished(fields: Schema, wishes: Wishes, made: Callable[[float, Wishes], Plan]) -> Wishes:
    """Ask for relations and ranges, and try them."""
    relations: list[str] = []
    bands: dict[str, str] = {}
    while text := _or_nothing("Another two" if relations else "Two questions to relate, such as age,system"):
        relations.append(text)
        for name in listed(text, fields.names):
            if name in fields.names and fields[name].kind in BANDED and name not in bands:
                bands[name] = _or_nothing(f"Cuts between bands of {name}, such as 30,60")
    range_ = _or_nothing("A number whose quantiles you want")
    cuts = tuple(f"{name}={text}" for name, text in bands.items() if text)
    found = replace(wishes, relation=tuple(relations), bands=cuts, range_=(range_,) if range_ else ())
    made(1.0, found)
    return found


def _or_nothing(text: str) -> str:
    found: str = click.prompt(f"{text} (or nothing)", default="", show_default=False)
    return found.strip()


BANDED = ("numeric", "integer", "date", "time")


def _beside(
    plan: Plan,
    wishes: Wishes,
    presentation: str | None,
    words: tuple[str, ...],
    embed: tuple[str, ...],
    by: str | None,
) -> Beside:
    """Return what the collector needs besides the plan: copies of files, and its options."""
    from hush.cli import listening
    from hush.cli.folders import Beside
    from hush.core.lists import listed_in

    files: dict[str, bytes] = {found.name: found.text() for found in listed_in(plan.schema.attributes)}
    serving: list[tuple[str, str]] = [("--embed", listening.origin_of(site, "--embed")) for site in embed]
    if by is not None:
        serving.append(("--by", by))
    if words or presentation is not None:
        from hush.cli import rounds

        spoken = rounds.words(words)
        for spec in words:
            tag, _, file = spec.partition("=")
            files[f"words-{tag}.json"] = Path(file).read_bytes()
            serving.append(("--words", f"{tag}=words-{tag}.json"))
        if presentation is not None:
            files |= rounds.copied(plan, Path(presentation), spoken)
            serving.append(("--presentation", "plan.json=form.json"))
    return Beside(files, serving, wishes.written())
