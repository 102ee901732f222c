"""`hush shuffle`, and the options of `hush plan` for reports that a relay shuffles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hush.cli import completing, progress
from hush.cli.program import JSON, PLAN, Refused, as_json, program

if TYPE_CHECKING:
    from hush.core.plan import Plan
    from hush.core.schema import Schema
    from hush.planning.shuffle import Shuffled

F = TypeVar("F", bound=Callable[..., None])

LOCAL = 6.0  # as in `hush.planning.shuffle.designs`, which would have to be loaded for the help; a test compares


@dataclass(frozen=True)
class Promise:
    """The options of a plan whose reports a relay shuffles."""

    central: float | None
    delta: float | None
    crowd: int | None
    own: int | None
    local: float | None
    margin: float | None
    attribute: str | None


def options(command: F) -> F:
    """Add the options of a plan whose reports a relay shuffles."""
    for option in reversed(
        (
            click.option(
                "--central",
                type=float,
                metavar="EPSILON",
                help="In place of --epsilon, for reports that a relay shuffles: the largest local epsilon whose "
                "batches keep this one, with --delta, and --crowd or --own.",
            ),
            click.option("--delta", type=float, help="With --central: the probability with which it may fail."),
            click.option(
                "--crowd",
                type=int,
                metavar="N",
                help="With --central: how many people answer honestly in a batch, at least.",
            ),
            click.option(
                "--own",
                type=int,
                metavar="N",
                help="With --central: how many reports the relay adds to a batch, if all others may lie.",
            ),
            click.option("--local", type=float, help=f"With --central: the most that epsilon may be [{LOCAL:g}]."),
            click.option(
                "--margin",
                type=float,
                help="With --central, in place of --crowd: find the smallest crowd with this margin.",
            ),
            click.option(
                "--attribute",
                metavar="NAME",
                shell_complete=completing.attributes,
                help="With --margin: of this attribute alone.",
            ),
        )
    ):
        command = option(command)
    return command


def designed(
    schema: Schema, epsilon: float | None, promise: Promise, wishes: dict[str, Any]
) -> tuple[Plan, Shuffled | None, str | None]:
    """Return a plan as asked; and if its reports are shuffled, its promises, and how many people a margin needs."""
    from hush.planning.designs import design

    given = [f"--{name}" for name, value in vars(promise).items() if value is not None]
    if promise.central is None:
        if given:
            raise Refused(f"{given[0]} is for reports that a relay shuffles: give --central too")
        if epsilon is None:
            raise Refused("--epsilon is missing, such as --epsilon 1.0")
        return design(schema, epsilon, **wishes), None, None
    if epsilon is not None:
        raise Refused("give either --epsilon or --central: with --central, --local is the most that epsilon may be")
    if promise.delta is None:
        raise Refused("--delta is missing: --central is for reports that a relay shuffles, such as with --delta 1e-6")
    if promise.attribute is not None and promise.margin is None:
        raise Refused("--attribute is for --margin: give it too")
    if promise.margin is not None and promise.crowd is not None:
        raise Refused("give either --crowd, or --margin to learn how many people are needed")
    from hush.planning.predictions import people_needed
    from hush.planning.shuffle import shuffle

    crowd, own, needed = promise.crowd, promise.own, None
    kept: dict[str, Any] = {"central": promise.central, "delta": promise.delta, "local": promise.local}
    with progress.bar("searching for the largest epsilon"):
        if promise.margin is not None:
            people = people_needed(
                schema,
                promise.margin,
                attribute=promise.attribute,
                own=own or 0,
                make=lambda schema, least: design(schema, least, **wishes),
                **kept,
            )
            of = promise.attribute or "every attribute"
            needed = f"{people:,} people are needed for a margin of ±{promise.margin:g} of {of}, all in one batch."
            crowd = people if own is None else None
        plan = design(schema, crowd=crowd, own=own, **kept, **wishes)
    return plan, shuffle(plan, delta=promise.delta, crowd=crowd, own=own), needed


@program.command("shuffle")
@PLAN
@click.option("--delta", type=float, required=True, help="The probability with which the promise may fail: 1e-6.")
@click.option("--crowd", type=int, metavar="N", help="How many people answer honestly in a batch, at least.")
@click.option("--own", type=int, metavar="N", help="How many reports the relay adds to a batch, if all others may lie.")
@click.option("--batches", type=int, default=1, show_default=True, help="In how many batches a person takes part.")
@JSON
def command(plan: str, delta: float, crowd: int | None, own: int | None, batches: int, machine: bool) -> None:
    """Say what a collector learns at most about one person from shuffled batches of reports.

    Both promises are printed: the local one, which holds whatever anybody does, and the central one, which holds if the
    relay that shuffles and the collector do not work together.

    \b
    Example:
      hush shuffle plan.json --crowd 10000 --delta 1e-6
      hush shuffle plan.json --own 150 --delta 1e-6 --batches 52
    """
    from hush.cli import files, printing
    from hush.planning.shuffle import shuffle

    found = shuffle(files.read_plan(plan), delta=delta, crowd=crowd, own=own, batches=batches)
    if machine:
        names = ("epsilon", "lower", "delta", "local", "crowd", "own", "batches")
        as_json({"plan": found.plan.id} | {name: getattr(found, name) for name in names})
        return
    printing.show(found.table())
