"""The handler for batches of sealed reports, which a relay sends.

A sealed report that does not open is dropped and counted as refused: anybody can send one to a relay, and nobody may
spoil a batch for the others. The same holds for a report whose id is there twice, or was counted before. So a batch is
refused as a whole only for the relay's own mistakes: another key, another plan, or bytes that are no batch.
"""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import requests
from hush.collector.http.desk import Desk
from hush.collector.http.documents import SealedReceipt
from hush.collector.http.endpoints import Parameter, endpoint
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.keys import Keys
from hush.collector.settings import Settings
from hush.collector.submissions import Opened
from hush.collector.vectors import layout_of
from hush.core.blanket import blanket_of
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.sealing import BATCH_ID_SIZE, SealedBatch, batch_id
from hush.errors import ReportError

logger = logging.getLogger("hush.collector")

SEALED = "application/vnd.hush.sealed"
BATCH = Parameter(
    "Hush-Batch",
    "string",
    "the first 16 bytes of the SHA-256 of the body",
    None,
    place="header",
    required=True,
    limits={"pattern": "^[0-9a-fA-F]{32}$"},
)


class SealedHandlers:
    """The endpoint of a relay."""

    def __init__(self, settings: Settings, find: Finder, desk: Desk) -> None:
        self._settings, self._find, self._desk = settings, find, desk
        self._keys = Keys.of(settings)

    @endpoint(
        "POST",
        "/plans/{plan}/sealed",
        "Send a batch of sealed reports",
        role="submit-batch",
        answers=SealedReceipt,
        reads=(SEALED,),
        parameters=(BATCH,),
        status=202,
    )
    async def sealed(self, request: Request) -> Response:
        """Open a batch, and count the reports in it."""
        plan = await self._find.plan(request)
        if self._keys is None:
            raise Refused("not-found", "this collector has no key that opens sealed reports")
        if requests.content_type(request) != SEALED:
            raise Refused("wrong-type", f"sealed batches come as {SEALED}")
        id_ = requests.hexadecimal(request, "hush-batch", BATCH_ID_SIZE)
        body = await requests.body(request, self._settings.max_body, self._settings)
        found = await requests.decoded(False, opened, self._keys, plan, body, id_)
        self._compare(found)
        if found.refused:
            logger.warning("%d sealed reports of a batch did not open, or came twice in it", found.refused)
        return await self._desk.submit(request, found, plan.id, "sealed")

    def _compare(self, batch: Opened) -> None:
        """Warn of a batch that does not keep the relay's word. It is counted: its people have sent their reports.

        Nobody can count honest people from here, but reports: those that did not open are no own ones.
        """
        relay = self._settings.relay
        people = batch.reports + batch.refused - batch.own
        if relay is not None and (batch.own < (relay.own or 0) or people < (relay.crowd or 0)):
            logger.warning(
                "a batch came with %d reports of people and %d of the relay's own: that is less than the pages promise",
                people,
                batch.own,
            )


def opened(keys: Keys, plan: Plan, body: bytes, id_: bytes) -> Opened:
    """Open a batch: return the reports of it that are reports of the plan, each id once."""
    if batch_id(body) != id_:
        raise ReportError("the header Hush-Batch is not the hash of the body")
    batch = SealedBatch.decode(plan, body)
    if batch.key not in keys:
        raise Refused("other-key", "give the relay the key that `hush serve` prints")
    if batch.own:
        blanket_of(plan)  # refuses a plan for which nobody could subtract them
    found: dict[bytes, Report] = {}
    layout = layout_of(plan)
    vector = layout.zero()
    for sealed in batch.reports:
        try:
            report = keys.open(plan, sealed, batch.key)
        except ReportError:
            continue
        if report.id not in found:
            found[report.id] = report
            layout.add(vector, report)
    return Opened(plan, id_, vector, tuple(found.values()), batch.own, len(batch.reports) - len(found))
