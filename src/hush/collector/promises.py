"""The second promise of a plan whose reports come through a relay: what the collector learns if both do not collude.

The accountant (`hush.planning.shuffle`) takes a second for most plans, and several for plans with many answers in a
report. So each promise is computed once in a process, and never while a request waits in the loop.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from hush.collector.settings import RelayNamed
from hush.core.blanket import blanket_of
from hush.core.plan import Plan
from hush.errors import DesignError, PlanError

if TYPE_CHECKING:
    from hush.planning.shuffle import Shuffled


def central(plan: Plan, relay: RelayNamed) -> tuple[Shuffled, ...]:
    """Return the promises of a plan through a relay: by its own reports, and by people, as far as they are stated.

    A plan is refused if the relay could not draw own reports for it, or if the relay adds nothing to its promise:
    a page that names a second number must not name the first one again.
    """
    found = []
    if relay.own is not None:
        found.append(_by_own(plan, relay.delta, relay.own))
    if relay.crowd is not None:
        found.append(_by_crowd(plan, relay.delta, relay.crowd))
    for one in found:
        if one.epsilon >= one.local:
            what = f"{one.own:,} own reports" if one.own is not None else f"{one.crowd:,} people"
            raise DesignError(
                f"plan {plan.id[:12]}: batches with {what} add nothing to epsilon {plan.epsilon:g}, at delta "
                f"{relay.delta:g}: larger batches, or more own reports, are needed"
            )
    return tuple(found)


@cache
def _by_own(plan: Plan, delta: float, own: int) -> Shuffled:
    from hush.planning.shuffle import shuffle  # what it comes with takes a while to load

    try:
        blanket_of(plan)
    except PlanError as error:
        why = f"the relay cannot draw own reports: {error}; state a crowd instead of own"
        raise PlanError(f"plan {plan.id[:12]}: {why}") from None
    return shuffle(plan, delta=delta, own=own)


@cache
def _by_crowd(plan: Plan, delta: float, crowd: int) -> Shuffled:
    from hush.planning.shuffle import shuffle

    return shuffle(plan, delta=delta, crowd=crowd)
