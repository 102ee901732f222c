"""`hush plan`: from a schema and its options to a plan that is shown and kept.

The options lie in groups, each beside the code that reads it: `channels`, `wishes` (relations and ranges) and
`promises` (reports that a relay shuffles).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hush.cli import channels as channel_options
from hush.cli import completing, promises
from hush.cli import wishes as wish_options
from hush.cli.groups import grouped
from hush.cli.numbers import NUMBER
from hush.cli.program import OVERWRITE, as_it_is, program

if TYPE_CHECKING:
    from hush.cli.channels import Channels
    from hush.cli.promises import Designed, Promise
    from hush.cli.wishes import Wishes


@dataclass(frozen=True)
class Target:
    """The file that the plan is written to, if any."""

    output: str | None
    overwrite: bool

    def keep(self, text: bytes, schema: str) -> None:
        """Write a plan, unless the file has the same one: a plan in use must not be replaced silently."""
        from hush.files import atomic

        if not self.output:
            return
        path = Path(self.output)
        if path.is_file() and path.stat().st_size == len(text) and path.read_bytes() == text:
            return
        atomic.check_target(path, overwrite=self.overwrite, inputs=[schema], what="the plan")
        with atomic.replacing(path, overwrite=self.overwrite) as file:
            file.write(text)


target_options = grouped(
    "target",
    Target,
    click.option(
        "-o",
        "--output",
        metavar="FILE",
        shell_complete=completing.files,
        help="Write the plan here, as canonical JSON.",
    ),
    OVERWRITE,
)


@program.command()
@click.argument("schema", metavar="SCHEMA.json", shell_complete=completing.files)
@click.option("--epsilon", type=NUMBER, help="The cost of answering for each person, 0.001 to 16.")
@channel_options.options
@wish_options.options
@promises.options
@click.option("--title", default="", help="Part of the plan: another title is another collection.")
@target_options
@click.option("--json", "machine", is_flag=True, help="Print the plan itself, as canonical JSON.")
def plan(
    schema: str,
    epsilon: float | None,
    channels: Channels,
    wishes: Wishes,
    promise: Promise,
    title: str,
    target: Target,
    machine: bool,
) -> None:
    """Design a plan for a schema, and show its cost.

    The schema is {"attributes": [...]}, or the array alone. A number has low and high, and may have "out_of_range":
    "clip"; a category has values, and with "most" a person holds several of them; all may have "optional": true. Other
    kinds are named: "kind": "boolean" or "integer".

    \b
    Example:
      hush plan schema.json --epsilon 1.0 --title "spring survey" -o plan.json
      hush plan schema.json --epsilon 1.0 --relation education,region --relation income,education --range income
      hush plan schema.json --epsilon 1.0 --relation education,region --people 5000 --margin education=0.05
      hush plan schema.json --central 1.0 --delta 1e-6 --crowd 10000
    """
    from hush.cli import files

    fields = files.read_schema(schema)
    with wish_options.designing():
        asked = {**channels.read(fields.names), **wishes.read(fields), "title": title}
        made = promises.designed(fields, epsilon, promise, wishes.found, asked)
    text = made.plan.to_json()
    target.keep(text.encode(), schema)  # its SHA-256 is the plan's id
    if machine:
        for note in made.notes:
            click.echo(note, err=True)
        as_it_is(text)
    else:
        _show(made, wishes, target)


def _show(made: Designed, wishes: Wishes, target: Target) -> None:
    """Print what a plan costs, what it promises, and what its questions will be worth."""
    from hush.cli import printing

    printing.show(made.plan.table())
    if made.shuffled is not None:
        printing.say("")
        printing.show(made.shuffled.table())
    if made.needed is not None:
        printing.say(made.needed)
    if wishes.people is not None:
        from hush.cli import progress
        from hush.planning.worth import worth

        with progress.bar("predicting what each question will be worth"):
            found = worth(made.plan, wishes.people)
        printing.say("")
        printing.show(found)
    elif wishes.relation or wishes.range_:
        from hush.planning.relations import needs

        printing.say("", *needs(made.plan))
    printing.say(*made.notes)
    if target.output:
        printing.say(f"Written to {target.output}.")
