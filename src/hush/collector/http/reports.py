"""Handlers for the reports of a plan: sending them, their tickets, and the end of the collection.

Reports arrive in two ways: through the application (`ReportHandlers.reports`), or on the short way of
`hush.collector.http.direct` (`take` and `taken`). Both ways use the same checks.
"""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hush.collector import formats, tickets
from hush.collector.http import requests
from hush.collector.http.desk import Desk
from hush.collector.http.documents import PlanEntry, Receipt, TicketDocument
from hush.collector.http.endpoints import Parameter, declared, endpoint
from hush.collector.http.gate import Gate
from hush.collector.http.lookup import Finder
from hush.collector.http.preparing import Preparing
from hush.collector.http.problems import Refused
from hush.collector.http.responses import SECRET, Ready, encoded
from hush.collector.http.security import check_role
from hush.collector.http.visible import Visible
from hush.collector.intake import Done
from hush.collector.queues import Full, Stopped
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.submissions import Batch, Result, Single, Submission
from hush.core.dealing import SIGNATURE_SIZE, questions_of
from hush.core.plan import Plan
from hush.core.report import ID_SIZE

DIGITS = {"pattern": "^[0-9a-fA-F]{32}$"}
BATCH = Parameter("Hush-Batch", "string", "the id of a batch", None, place="header", limits=DIGITS)
TICKET = Parameter("Hush-Ticket", "string", "the signature of a ticket", None, place="header", limits=DIGITS)


class ReportHandlers:
    """The endpoints of a plan's reports."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        find: Finder,
        visible: Visible,
        gate: Gate,
        desk: Desk,
        preparing: Preparing,
    ) -> None:
        self._store, self._settings, self._find, self._visible = store, settings, find, visible
        self._gate, self._desk, self._preparing = gate, desk, preparing
        self._endpoint = next(found for found in declared(self) if found.handler == self.reports)

    @endpoint(
        "POST",
        "/plans/{plan}/reports",
        "Send a report, or with the role submit-batch a batch",
        role="submit",
        answers=Receipt,
        reads=(*formats.SINGLES, *formats.BATCHES),
        parameters=(BATCH, TICKET),
        status=202,
    )
    async def reports(self, request: Request) -> Response:
        """Count a report or a batch."""
        plan = await self._find.plan(request)
        kind = requests.content_type(request)
        self._check_kind(request, kind)
        most = self._settings.max_body
        if kind in formats.SINGLES:
            most = max(self._settings.max_single, formats.longest(plan, kind))
        body = await requests.body(request, most, self._settings)
        quick = len(body) <= requests.LARGE and (kind in formats.SINGLES or self._preparing.is_prepared(plan))
        found = await requests.decoded(quick, self._read, request, plan, kind, body)
        return await self._desk.submit(request, found, plan.id, _kind(found))

    def _check_kind(self, request: Request, kind: str) -> None:
        """Refuse unknown content types, and batches from senders without the role for them."""
        requests.check_plain(self._settings)
        if kind in formats.SINGLES:
            return
        if kind not in formats.BATCHES:
            raise Refused("wrong-type", f"reports come as {', '.join((*formats.SINGLES, *formats.BATCHES))}")
        if self._settings.tickets:
            raise Refused("wrong-type", "this collector deals questions by tickets, and takes single reports only")
        check_role(self._settings, request, "submit-batch")

    def _read(self, request: Request, plan: Plan, kind: str, body: bytes) -> Single | Batch:
        """Read a report, with its ticket if this collector deals tickets, or a batch."""
        if kind in formats.SINGLES:
            one = formats.single(plan, kind, body)
            if self._settings.tickets:
                if "hush-ticket" not in request.headers:
                    raise Refused("bad-request", "this collector deals the questions: take a ticket first")
                signature = requests.hexadecimal(request, "hush-ticket", SIGNATURE_SIZE)
                tickets.check(plan, self._settings.ticket_key, one.report, signature)
            return one
        given = request.headers.get("hush-batch")
        id_ = None if given is None else requests.hexadecimal(request, "hush-batch", ID_SIZE)
        return formats.batch(plan, kind, body, id_, self._settings.check_ids)

    # -- the short way (`hush.collector.http.direct`)

    def take(
        self, request: Request, plan: Plan, kind: str, body: bytes, fault: str, done: Done, *, known: bool = False
    ) -> Response | None:
        """Take reports. Return a refusal; or None, and `done` will be called and `taken` writes the answer.

        `fault`: the kind of problem for which the protocol has broken off the body. `known`: a request with the same
        head was taken before, so its host, role and content type are right.
        """
        intake = self._desk.intake
        assert intake is not None
        try:
            if known:
                self._gate.limit.check(requests.address(request))
            else:
                self._gate.allow(self._endpoint, request)
                self._check_kind(request, kind)
            if fault:
                raise requests.broken_off(fault, self._settings)
            found = self._read(request, plan, kind, body)
            if found.reports > 1:
                self._gate.limit.charge(requests.address(request), found.reports)
            try:
                intake.put(found, done)
            except (Full, Stopped) as error:
                self._desk.receipt(request, found, error, plan.id, _kind(found))
        except Exception as error:  # noqa: BLE001 - `_refused` answers it
            return self._refused(request, error)
        return None

    def taken(self, request: Request, submission: Submission, outcome: Result | Exception) -> Ready | Response:
        """Answer reports that were taken, now that they are durable."""
        plan_id = request.path_params["plan"]
        try:
            receipt = self._desk.receipt(request, submission, outcome, plan_id, _kind(submission))
        except Exception as error:  # noqa: BLE001 - `_refused` answers it
            return self._refused(request, error)
        if self._settings.origins or self._endpoint.role not in self._settings.open:  # more headers are needed
            response = self._gate.confined(self._endpoint, encoded(receipt, 202))
            return self._gate.finished(request, response, plan_id)
        self._gate.metrics.responses[202] += 1
        return Ready(202, msgspec.json.encode(receipt))

    def _refused(self, request: Request, error: Exception) -> Response:
        """Return the answer to a request that was refused."""
        refused = error if isinstance(error, Refused) else self._gate.refusal(self._endpoint, error)
        return self._gate.finished(request, refused.response(), request.path_params["plan"])

    # -- tickets, and the end

    @endpoint(
        "GET", "/plans/{plan}/ticket", "The questions of one report, dealt", role="submit", answers=TicketDocument
    )
    async def ticket(self, request: Request) -> Response:
        """Deal the questions of one report."""
        plan = await self._find.plan(request)
        if not self._settings.tickets:
            return Response(status_code=204)  # not a 404: pages ask, and browsers would show that as an error
        id_, signature = tickets.issue(plan, self._settings.ticket_key)
        return encoded(TicketDocument(id_.hex(), questions_of(plan, id_), signature.hex()), headers=SECRET)

    @endpoint("POST", "/plans/{plan}/close", "Take no more reports", role="admin", answers=PlanEntry)
    async def close_plan(self, request: Request) -> Response:
        """Take no more reports of a plan."""
        plan = await self._find.plan(request)
        await asyncio.to_thread(self._store.close_plan, plan.id)
        # An admin may know the true number; readers still see the revealed one.
        reports = (await asyncio.to_thread(self._store.tally, plan)).people
        held = await asyncio.to_thread(self._store.plans)
        found = next(one for one in held if one.plan.id == plan.id)
        return encoded(await asyncio.to_thread(self._visible.entry, found, reports))


def _kind(submission: Submission) -> str:
    """Return the name of a submission's kind in the metrics."""
    return "report" if isinstance(submission, Single) else "batch"
