"""The second plan of a pilot, as a device checks it: it asks for nothing that the pilot did not ask for.

A collector names the second plan (`hush serve --narrow`), and a device that was given the pilot's id need not trust it.
The plan must name the pilot, cost as much, and have the same attributes. Only a wide number may have changed, to a
narrower range in which numbers beyond are clipped. So whether a record fits is decided by the pilot's schema alone: a
collector that chooses the range learns nothing from a refusal, as there is none.
"""

from __future__ import annotations

from hush.core.plan import Plan
from hush.core.schema import Attribute, Numeric
from hush.errors import PlanError


def check_follows(plan: Plan, pilot: Plan) -> None:
    """Refuse a plan that is not the pilot's, narrowed."""
    if plan.after != pilot.id or pilot.after is not None:
        raise PlanError("this plan does not follow the pilot")
    if plan.cost != pilot.cost:
        raise PlanError("a plan that follows a pilot must cost the same epsilon")
    if plan.schema.names != pilot.schema.names:
        raise PlanError("a plan that follows a pilot must have the same attributes")
    for before, now in zip(pilot.schema.attributes, plan.schema.attributes, strict=True):
        if now != before and not _narrows(now, before):
            raise PlanError(f"attribute {now.name!r}: may only be narrowed, with numbers beyond clipped")


def _narrows(now: Attribute, before: Attribute) -> bool:
    """Return whether a number is a wide one on a part of its range."""
    if not isinstance(now, Numeric) or not isinstance(before, Numeric) or before.scale != "log":
        return False
    if type(now) is not type(before):  # another rule for values
        return False
    return (
        now.out_of_range == "clip"
        and now.optional == before.optional
        and before.low <= now.low
        and now.high <= before.high
    )
