"""`hush shuffle`, and the options of `hush plan` for reports that a relay shuffles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hush.cli import progress
from hush.cli.program import JSON, PLAN, Refused, as_json, program

if TYPE_CHECKING:
    from hush.core.plan import Plan
    from hush.core.schema import Schema
    from hush.planning.shuffle import Shuffled

F = TypeVar("F", bound=Callable[..., None])

PEOPLE = click.option(
    "--people", type=int, metavar="N", help="Shuffled: how many people answer honestly in a batch, at least."
)
OWN = click.option(
    "--own", type=int, metavar="N", help="Shuffled: how many reports the relay adds to a batch, if all others may lie."
)
DELTA = click.option("--delta", type=float, help="Shuffled: the probability with which the promise may fail.")
LOCAL = 6.0  # as in `hush.planning.shuffle.designs`, which would have to be loaded for the help; a test compares


def options(command: F) -> F:
    """Add the options of a plan whose reports a relay shuffles."""
    central = click.option(
        "--central",
        type=float,
        metavar="EPSILON",
        help="Design for reports that a relay shuffles: the largest local epsilon whose batches keep this one, with "
        f"--delta and --people or --own. --epsilon is then the most that the local one may be [{LOCAL:g}].",
    )
    for option in reversed((central, DELTA, PEOPLE, OWN)):
        command = option(command)
    return command


def designed(
    schema: Schema,
    epsilon: float | None,
    central: float | None,
    delta: float | None,
    people: int | None,
    own: int | None,
    wishes: dict[str, Any],
) -> tuple[Plan, Shuffled | None]:
    """Return a plan as asked, and its promise if its reports are shuffled."""
    if central is None:
        if epsilon is None:
            raise Refused("--epsilon is missing, such as --epsilon 1.0")
        if (delta, people, own) != (None, None, None):
            raise Refused("--delta, --people and --own are for reports that a relay shuffles: give --central too")
        from hush.core.design import design

        return design(schema, epsilon, **wishes), None
    from hush.planning.shuffle import design_shuffled, shuffle

    if delta is None:
        raise Refused("--delta is missing: --central is for reports that a relay shuffles, such as with --delta 1e-6")
    local = LOCAL if epsilon is None else epsilon
    with progress.bar("searching for the largest epsilon"):
        plan = design_shuffled(schema, central, delta=delta, people=people, own=own, local=local, **wishes)
    return plan, shuffle(plan, delta=delta, people=people, own=own)


@program.command("shuffle")
@PLAN
@click.option("--delta", type=float, required=True, help="The probability with which the promise may fail: 1e-6.")
@click.option("--people", type=int, metavar="N", help="How many people answer honestly in a batch, at least.")
@click.option("--own", type=int, metavar="N", help="How many reports the relay adds to a batch, if all others may lie.")
@click.option("--batches", type=int, default=1, show_default=True, help="In how many batches a person takes part.")
@JSON
def command(plan: str, delta: float, people: int | None, own: int | None, batches: int, machine: bool) -> None:
    """Say what a collector learns at most about one person from shuffled batches of reports.

    Both promises are printed: the local one, which holds whatever anybody does, and the central one, which holds if the
    relay that shuffles and the collector do not work together.

    \b
    Example:
      hush shuffle plan.json --people 10000 --delta 1e-6
      hush shuffle plan.json --own 150 --delta 1e-6 --batches 52
    """
    from hush.cli import files, printing
    from hush.planning.shuffle import shuffle

    found = shuffle(files.read_plan(plan), delta=delta, people=people, own=own, batches=batches)
    if machine:
        names = ("epsilon", "lower", "delta", "local", "people", "own", "batches")
        as_json({"plan": found.plan.id} | {name: getattr(found, name) for name in names})
        return
    printing.show(found.table())
