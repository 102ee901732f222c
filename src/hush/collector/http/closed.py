"""The handler for a relay's question whether a plan is closed.

A relay that hears this deletes what waits, for ever. So the answer is a proof: the collector opens a random text that
the relay has sealed for its key. Nobody on the way can do that, and nobody can use an earlier answer again.
"""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import requests
from hush.collector.http.documents import ClosedDocument
from hush.collector.http.endpoints import Parameter, endpoint
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.responses import SECRET, encoded
from hush.collector.keys import Keys
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.core.plan import Plan
from hush.core.sealing import KEY_SIZE, QUESTION_SIZE, CollectorKey
from hush.errors import ReportError

OCTETS = "application/octet-stream"
KEY = Parameter(
    "Hush-Key",
    "string",
    "the public key of the collector for which the question is sealed",
    None,
    place="header",
    required=True,
    limits={"pattern": "^[0-9a-f]{64}$"},
)


class ClosedHandlers:
    """The endpoint that a relay asks on its own schedule."""

    def __init__(self, store: Store, settings: Settings, find: Finder) -> None:
        self._store, self._settings, self._find = store, settings, find
        self._keys = Keys.of(settings)

    @endpoint(
        "POST",
        "/plans/{plan}/closed",
        "Ask for a proof that a plan is closed",
        role="submit-batch",
        answers=ClosedDocument,
        reads=(OCTETS,),
        parameters=(KEY,),
    )
    async def closed(self, request: Request) -> Response:
        """Answer whether a plan is closed; if so, with the text of the question, which only the key's owner reads."""
        plan = await self._find.plan(request)
        if self._keys is None:
            raise Refused("not-found", "this collector has no key that opens sealed reports")
        if requests.content_type(request) != OCTETS:
            raise Refused("wrong-type", f"a question comes as {OCTETS}")
        named = requests.hexadecimal(request, KEY.name.lower(), KEY_SIZE)
        question = await requests.body(request, QUESTION_SIZE, self._settings)
        try:
            key = CollectorKey(named)
            if key not in self._keys:
                raise Refused("other-key", "give the relay the key that `hush serve` prints")
            proof = self._keys.prove(plan, question, key)
        except ReportError as error:
            raise Refused("bad-request", str(error)) from None
        closed = not await asyncio.to_thread(self._is_open, plan)
        return encoded(ClosedDocument(closed, proof.hex() if closed else None), headers=SECRET)

    def _is_open(self, plan: Plan) -> bool:
        return any(held.open for held in self._store.plans() if held.plan.id == plan.id)
