"""Two rounds for wide numbers, without an operator: after a pilot, the others answer on narrower ranges.

`hush serve --narrow PLAN.json=PILOT+OTHERS` serves a plan as a pilot. When readers see PILOT reports of it or more,
every wide number is narrowed (`hush.narrow`) for OTHERS further people. A second plan is designed with the pilot's
epsilon and wishes, `after` the pilot. From then on the collector names it to everybody who has not answered.

**What the range shows.** It is computed from the tally that readers see (`hush.collector.reveals`), never from the one
that grows. So it shows nothing new to readers, who can compute it. People without the role to read learn the range, and
that the pilot is over.

**Once.** The decision is one transaction of the store (`Store.narrowed`): it adds the second plan and records it as the
pilot's, if nobody has. Before that nobody has seen the plan; afterwards it never changes. So a kill at any moment, or
several collectors on one database, lead to one second plan. The end of a training's round is part of a commit; this
decision is not, as a design takes seconds, and the tally that grows must not decide.

**The way back.** If the pilot saw too little of a wide number, the number stays as it is in the second plan. If that
holds for all of them there is no second plan, the pilot goes on, and the next try comes when there are twice as many
reports.

**The pilot stays open.** A device may have drawn its report, paid for it and lost the connection: its report counts
whenever it comes. An admin who closes the pilot before its end also ends the waiting for a second plan.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from hush.collector.stores.base import Narrowing, Store
from hush.core.channels import Ladder
from hush.core.design import design
from hush.core.design.wishes import wishes_of
from hush.core.plan import Plan
from hush.core.schema import Numeric, Schema
from hush.errors import DesignError, EstimateError, InputError
from hush.server.narrowing import narrow
from hush.server.tally import Tally

logger = logging.getLogger("hush.collector")


class Narrower:
    """Looks at the pilots of a store, and decides about those whose time has come. One thread at a time calls it.

    `revealed` returns the tally of a plan that readers see.
    """

    def __init__(self, store: Store, revealed: Callable[[Plan], Tally]) -> None:
        self._store, self._revealed = store, revealed

    def look(self) -> None:
        """Try each pilot that is open, has no second plan, and has as many revealed reports as wanted."""
        waiting = {found.pilot: found for found in self._store.narrowings() if found.second is None}
        if not waiting:
            return
        for held in self._store.plans():
            if held.open and held.plan.id in waiting:
                self._try(held.plan, waiting[held.plan.id])

    def _try(self, pilot: Plan, state: Narrowing) -> None:
        tally = self._revealed(pilot)
        if tally.people < state.wanted:
            return
        try:
            second = second_plan(tally, state.people)
        except InputError:  # checked at the start; but this hush may be another one
            logger.exception("the second plan of %s could not be designed", pilot.id)
            second = None
        self._store.narrowed(pilot, state.wanted, second, 2 * tally.people)


def second_plan(tally: Tally, people: int) -> Plan | None:
    """Return the plan that follows a pilot; None if its tally narrows no number."""
    pilot = tally.plan
    narrowed: dict[str, Numeric] = {}
    for number in wide(pilot):
        with suppress(EstimateError):
            narrowed[number.name] = narrow(tally, number.name, people=people)
    return _designed(pilot, narrowed) if narrowed else None


def check(pilot: Plan) -> None:
    """Refuse a plan that cannot be a pilot, before anybody is asked. The second plan is designed once, for trial."""
    if pilot.after is not None:
        raise InputError(
            "a plan that follows another is no pilot: people who answered the first could answer the third"
        )
    found = wide(pilot)
    if not found:
        raise InputError('there is nothing to narrow: no number with scale="log" is asked alone')
    trial = {number.name: replace(number, out_of_range="clip", scale="linear", unit=None) for number in found}
    try:
        _designed(pilot, trial)
    except DesignError as error:
        raise InputError(f"{error}; narrow it by hand, with hush.narrow") from None


def wide(pilot: Plan) -> list[Numeric]:
    """Return the numbers that can be narrowed: those that a question asks alone, on a ladder."""
    alone = {
        question.attributes[0]
        for question in pilot.questions
        if len(question.views) == 1 and question.plain is not None and isinstance(question.channel, Ladder)
    }
    return [item for item in pilot.schema.attributes if isinstance(item, Numeric) and item.name in alone]


def _designed(pilot: Plan, narrowed: dict[str, Numeric]) -> Plan:
    schema = Schema([narrowed.get(item.name, item) for item in pilot.schema.attributes])
    return design(schema, pilot.epsilon, title=pilot.title, after=pilot, **wishes_of(pilot))
