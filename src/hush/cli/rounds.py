"""What a collector begins with besides plans: pilots of wide numbers, presentations, and trainings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from hush.cli.program import Refused
from hush.cli.streams import visible

if TYPE_CHECKING:
    from hush.collector.presentation import Presentation
    from hush.collector.stores.base import Store
    from hush.core.plan import Plan
    from hush.core.training.rounds import Round

MOST_DIGITS = 12  # of a number of people  # of a number of people


class Pilot(NamedTuple):
    """A plan whose wide numbers are narrowed after this many reports, for this many people who come later."""

    plan: Plan
    first: int
    people: int


def pilot_of(spec: str) -> Pilot:
    """Read and check a pilot, before the store and the port are opened."""
    from hush.cli import files
    from hush.collector.narrowing import check
    from hush.errors import InputError

    name, _, numbers = spec.rpartition("=")
    counts = numbers.split("+")
    if not name or len(counts) != 2 or not all(_is_count(text) for text in counts):
        raise Refused(
            "--narrow is the file of a plan, the people of the pilot and those expected after it: PLAN.json=20000+80000"
        )
    if max(map(len, counts)) > MOST_DIGITS:
        raise Refused("--narrow: fewer people than that exist")
    plan = files.read_plan(name)
    try:
        check(plan)
    except InputError as error:
        raise Refused(f"--narrow: {error}") from None
    return Pilot(plan, int(counts[0]), int(counts[1]))


def add_pilot(store: Store, pilot: Pilot, keep: str) -> None:
    """Add a pilot to a store, or go on with it."""
    from hush.errors import InputError

    store.add_plan(pilot.plan, keep)  # type: ignore[arg-type]
    try:
        store.add_narrowing(pilot.plan, pilot.first, pilot.people)
    except InputError as error:
        raise Refused(f"--narrow: {error}") from None
    held = next(one for one in store.plans() if one.plan.id == pilot.plan.id)
    state = next(one for one in store.narrowings() if one.pilot == pilot.plan.id)
    if state.second is not None:
        click.echo(f"hush: the pilot {pilot.plan.id[:12]} is over: plan {state.second[:12]} follows it", err=True)
    elif not held.open:
        raise Refused("--narrow: this plan is closed, so it cannot be a pilot")


def presentations(specs: tuple[str, ...]) -> dict[str, Presentation]:
    """Read the presentations of plans, and check them, before the store and the port are opened."""
    from hush.cli import files
    from hush.collector.presentation import read
    from hush.errors import InputError

    found: dict[str, Presentation] = {}
    for spec in specs:
        name, _, file = spec.rpartition("=")
        if not name or not file:
            raise Refused("--presentation is the file of a plan and that of its presentation: PLAN.json=FILE.json")
        plan = files.read_plan(name)
        if plan.id in found:
            raise Refused("--presentation: a plan has one presentation, and this one has two")
        try:
            found[plan.id] = read(Path(file).read_bytes(), plan)
        except OSError as error:
            raise Refused(f"--presentation: the file cannot be read: {error.strerror}") from None
        except InputError as error:
            raise Refused(f"--presentation: {error}") from None
    return found


def add_training(store: Store, spec: str) -> None:
    """Add a training to a store, or go on with it."""
    from hush.core.training.rounds import Round

    name, _, people = spec.rpartition("=")
    if not name or not _is_count(people):
        raise Refused("--training is the file of a first round and the people per round: ROUND.json=10000")
    if len(people) > MOST_DIGITS:
        raise Refused("--training: fewer people than that exist")
    try:
        first = Round.from_json(Path(name).read_bytes())
    except OSError as error:
        raise Refused(f"the round cannot be read: {error.strerror}") from None
    title = first.training.title
    if "/" in title or title in (".", ".."):
        raise Refused("the title of a training becomes a part of its address, and must not have a slash")
    if title in store.trainings():
        _check_same(store, title, first, int(people))
        return
    store.add_training(title, first, int(people))


def _check_same(store: Store, title: str, first: Round, people: int) -> None:
    """Refuse a training whose title is taken by another; print that it goes on if it is the same."""
    live, past = store.live(title), store.history(title)
    begun = past[0].weights if past else live.round.weights
    if (live.round.training, live.wanted, begun) != (first.training, people, first.weights):
        raise Refused(
            f"--training: the store has another training with the title {visible(title)}: other settings, people per "
            "round or first weights; give this one a title of its own"
        )
    how = "is over" if live.round.done else f"goes on in round {live.round.number}"
    click.echo(f"hush: the training {visible(title)} is in the store, and {how}", err=True)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and bool(text.strip("0"))
