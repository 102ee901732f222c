"""The options of `hush plan` for reports that a relay shuffles, and plans with an epsilon or such a promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hush.cli import completing, progress
from hush.cli.groups import grouped
from hush.cli.numbers import NUMBER, WHOLE
from hush.cli.program import Refused

if TYPE_CHECKING:
    from hush.core.plan import Plan
    from hush.core.schema import Schema
    from hush.planning.shuffle import Shuffled

LOCAL = 6.0  # as in `hush.planning.shuffle.designs`, which would have to be loaded for the help; a test compares


@dataclass(frozen=True)
class Promise:
    """The promise of a plan whose reports a relay shuffles. Without `central` there is none."""

    central: float | None
    delta: float | None
    crowd: int | None
    own: int | None
    local: float | None
    attribute: str | None

    def check(self, epsilon: float | None, margin: float | None) -> None:
        """Refuse options that do not go together."""
        if self.central is None:
            if margin is not None:
                raise Refused("--margin without a name is for --central; with --people it is written NAME=MARGIN")
            given = [f"--{name}" for name, value in vars(self).items() if value is not None]
            if given:
                raise Refused(f"{given[0]} is for reports that a relay shuffles: give --central too")
            if epsilon is None:
                raise Refused("--epsilon is missing, such as --epsilon 1.0")
            return
        if epsilon is not None:
            raise Refused("give either --epsilon or --central: with --central, --local is the most that epsilon may be")
        if self.delta is None:
            raise Refused(
                "--delta is missing: --central is for reports that a relay shuffles, such as with --delta 1e-6"
            )
        if self.attribute is not None and margin is None:
            raise Refused("--attribute is for --margin: give it too")
        if margin is not None and self.crowd is not None:
            raise Refused("give either --crowd, or --margin to learn how many people are needed")


options = grouped(
    "promise",
    Promise,
    click.option(
        "--central",
        type=NUMBER,
        metavar="EPSILON",
        help="In place of --epsilon, if a relay shuffles the reports: find the largest epsilon for which "
        "shuffled batches keep this central one. It needs --delta, and --crowd or --own.",
    ),
    click.option("--delta", type=NUMBER, help="With --central: the probability with which this promise may fail."),
    click.option(
        "--crowd",
        type=WHOLE,
        metavar="N",
        help="With --central: how many people answer honestly in a batch, at least.",
    ),
    click.option(
        "--own",
        type=WHOLE,
        metavar="N",
        help="With --central: how many reports the relay adds to a batch, if all others may lie.",
    ),
    click.option("--local", type=NUMBER, help=f"With --central: the most that epsilon may be [{LOCAL:g}]."),
    click.option(
        "--attribute",
        metavar="NAME",
        shell_complete=completing.attributes,
        help="With --margin: of this attribute alone.",
    ),
)


class Designed(NamedTuple):
    """A plan; what of its wishes it lacks; and if its reports are shuffled, its promises, and whom a margin needs."""

    plan: Plan
    notes: tuple[str, ...]
    shuffled: Shuffled | None = None
    needed: str | None = None


def designed(
    schema: Schema, epsilon: float | None, promise: Promise, margin: float | None, wishes: dict[str, Any]
) -> Designed:
    """Design a plan for an epsilon, or for a promise. `margin` finds the smallest crowd of one."""
    from hush.planning.designs import made

    promise.check(epsilon, margin)
    if promise.central is None:
        with progress.bar("designing"):
            return Designed(*made(schema, epsilon, {}, wishes))
    from hush.planning.shuffle import shuffle
    from hush.show.tables import number

    assert promise.delta is not None
    crowd, own, needed = promise.crowd, promise.own, None
    kept: dict[str, Any] = {"central": promise.central, "delta": promise.delta, "local": promise.local}
    with progress.bar("searching for the largest epsilon"):
        if margin is not None:
            people = _people(schema, promise, margin, kept, wishes)
            of = promise.attribute or "every attribute"
            needed = f"{people:,} people are needed for a margin of ±{number(margin, 12)} of {of}, all in one batch."
            crowd = people if own is None else None
        plan, notes = made(schema, None, {**kept, "crowd": crowd, "own": own}, wishes)
    return Designed(plan, notes, shuffle(plan, delta=promise.delta, crowd=crowd, own=own), needed)


def _people(schema: Schema, promise: Promise, margin: float, kept: dict[str, Any], wishes: dict[str, Any]) -> int:
    """Return the smallest crowd with a margin."""
    from hush.planning.designs import made
    from hush.planning.needed import people_needed

    return people_needed(
        schema,
        margin,
        attribute=promise.attribute,
        own=promise.own or 0,
        make=lambda schema, least: made(schema, least, {}, wishes).plan,
        **kept,
    )
