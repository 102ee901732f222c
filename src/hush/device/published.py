"""What a server publishes: plans, the long lists that they name, and the plan that follows a pilot.

The device trusts none of it. The id of a plan is the hash of its text, a list has a hash too, and a plan that follows
another must fit it.
"""

from __future__ import annotations

import re

from hush.core import codec
from hush.core.following import check_follows
from hush.core.lists import MAX_BYTES, fetched, listed_in
from hush.core.plan import Plan
from hush.device.network import Server
from hush.errors import CollectorError, PlanError

ID_OF_PLAN = 32  # bytes
LIST_SECONDS = 600.0  # for a long list to arrive


class Published:
    """The plans of a server, each fetched and checked once. A relay has no lists (`lists=False`)."""

    def __init__(self, server: Server, *, lists: bool) -> None:
        self._server, self._lists = server, lists
        self._plans: dict[str, Plan] = {}

    def plan(self, plan_id: str) -> Plan:
        """Return a plan, after checking that it has this id and is as private as it claims."""
        if re.fullmatch("[0-9a-f]{64}", plan_id) is None:
            raise PlanError("the id of a plan is 64 hexadecimal digits")
        if plan_id not in self._plans:
            found = Plan.from_json(self._server.get(f"/plans/{plan_id}"), plan_id)
            if self._lists:
                self._fetch_lists(found)
            self._plans[plan_id] = found
        return self._plans[plan_id]

    def current(self, pilot: Plan) -> Plan:
        """Return the plan that follows this one, if the collector names one that may follow it, or else this one."""
        if pilot.after is not None:
            return pilot
        answer = codec.load(self._server.get(f"/plans/{pilot.id}/current"), CollectorError)
        (id_,) = codec.fields(answer, ("plan",), CollectorError, "the current plan")
        codec.hexadecimal(id_, ID_OF_PLAN, CollectorError, "the id of the current plan")
        if id_ == pilot.id:
            return pilot
        found = self.plan(id_)
        check_follows(found, pilot)
        return found

    def _fetch_lists(self, plan: Plan) -> None:
        """Get the long lists that a plan names, and check that they are the very ones."""
        for listed in listed_in(plan.schema.attributes):
            if not listed.here:
                fetched(listed, self._server.get(f"/lists/{listed.sha256}", MAX_BYTES, LIST_SECONDS))
