"""Handlers for tallies: the one that readers see, those that other collectors hand on, and the end of a store's name.

A collector hands its whole tally on as often as it likes. The tally carries the name of its store (`hush.core.stores`),
and takes the place of that store's earlier one. So nobody counts twice, whatever is sent again, late or by two at once.
"""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from hush.collector import formats
from hush.collector.http import requests
from hush.collector.http.desk import Desk
from hush.collector.http.documents import Receipt
from hush.collector.http.endpoints import TALLY_SCHEMA, Parameter, endpoint
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.responses import SECRET
from hush.collector.http.visible import Visible
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.submissions import Batch, Handed, Withdrawal
from hush.core import stores
from hush.core.plan import Plan
from hush.core.report import ID_SIZE
from hush.server.tally import Tally, of_store

DIGITS = {"pattern": "^[0-9a-fA-F]{32}$"}
ID = Parameter(
    "Hush-Batch",
    "string",
    "the id of a tally that has no name; otherwise absent, or the name",
    None,
    place="header",
    limits=DIGITS,
)


class TallyHandlers:
    """The endpoints of tallies."""

    def __init__(self, store: Store, settings: Settings, find: Finder, visible: Visible, desk: Desk) -> None:
        self._store, self._settings, self._find, self._visible, self._desk = store, settings, find, visible, desk

    @endpoint("GET", "/plans/{plan}/tally", "The tally", role="read", answers=dict, also=(formats.TALLY,))
    async def get_tally(self, request: Request) -> Response:
        """Answer with a tally and the names of its store, as JSON or in its binary form."""
        binary = formats.TALLY in request.headers.get("accept", "")
        tally = await self._visible.tally(request)
        names = await asyncio.to_thread(self._store.names)

        def make() -> bytes:
            named = of_store(tally, names)
            return named.encode() if binary else named.to_json().encode()

        text = await self._visible.shared.get(("tally text", tally.plan.id, binary), (tally.people, names), make)
        kind = formats.TALLY if binary else formats.JSON
        return Response(text, headers=SECRET | {"Vary": "Accept"}, media_type=kind)

    @endpoint(
        "POST",
        "/plans/{plan}/tally",
        "Take the tally of another collector, in place of its earlier one",
        role="submit-batch",
        answers=Receipt,
        reads=(formats.JSON, formats.TALLY),
        parameters=(ID,),
        status=202,
        body=TALLY_SCHEMA,
    )
    async def post_tally(self, request: Request) -> Response:
        """Count the tally of another collector."""
        plan = await self._find.plan(request)
        requests.check_plain(self._settings)
        kind = requests.content_type(request)
        if kind not in (formats.JSON, formats.TALLY):
            raise Refused("wrong-type", f"tallies come as {formats.JSON} or {formats.TALLY}")
        id_ = None if "hush-batch" not in request.headers else requests.hexadecimal(request, "hush-batch", ID_SIZE)
        body = await requests.body(request, self._settings.max_body, self._settings)
        found = await requests.decoded(len(body) <= requests.LARGE, formats.tally, plan, kind, body)
        if not found.stores and id_ is None:
            raise Refused("bad-request", "a tally without the name of a store needs an id, in the header Hush-Batch")
        return await self._desk.submit(request, await self._submission(plan, found, id_), plan.id, "tally")

    async def _submission(self, plan: Plan, found: Tally, id_: bytes | None) -> Batch | Handed:
        """Return a tally as it is counted: by its name, or by its id if it has none."""
        if not found.stores:
            return formats.tally_batch(plan, found, id_ or b"")
        if len(found.stores) > 1:
            raise Refused("bad-report", "this is a sum of several stores: hand on the tally of each by itself")
        names = found.stores[0]
        if id_ not in (None, names[0]):
            raise Refused("bad-report", "this tally has the name of its store: leave out the header Hush-Batch")
        if stores.common((names,), (await asyncio.to_thread(self._store.names),)):
            raise Refused("bad-report", "this is the tally of this very store, or of a copy: its reports count here")
        return formats.handed(plan, found)

    @endpoint(
        "POST",
        "/plans/{plan}/withdraw/{name}",
        "Take out what was handed on under the name of a store, and take it no more",
        role="admin",
        answers=Receipt,
        status=202,
    )
    async def withdraw(self, request: Request) -> Response:
        """Take out the reports of another store."""
        plan = await self._find.plan(request)
        text = str(request.path_params["name"])
        try:
            name = bytes.fromhex(text)
        except ValueError:
            name = b""
        if name.hex() != text.lower() or len(name) != stores.NAME_SIZE:
            raise Refused("not-found", f"the name of a store has {2 * stores.NAME_SIZE} hexadecimal digits")
        return await self._desk.submit(request, Withdrawal(plan, name), plan.id, "withdrawal")
