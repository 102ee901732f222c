"""The handler that shows the texts that many people hold. It only reads.

It sees the tallies that `hush.collector.reveals` shows, as all readers do. To find the texts takes seconds, so one
search at a time is done, and its result is kept for all levels and formats (`single_flight.Spaced`).
"""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import requests
from hush.collector.http.documents import finite
from hush.collector.http.endpoints import Parameter, endpoint
from hush.collector.http.frequent_documents import FrequentDocument, frequent_row, texts_as_csv
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.requests import FORMAT, LEVEL
from hush.collector.http.responses import SECRET, as_json
from hush.collector.http.visible import Visible
from hush.core.plan import Plan
from hush.core.texts import Text
from hush.core.word_views import Among
from hush.errors import EstimateError, SchemaError
from hush.server.frequent import KEPT, Search
from hush.server.tally import Tally

TEXT = Parameter("attribute", "string", "the name of a text", None, required=True)
TOP = Parameter("top", "integer", "how many texts to show at most", 32, limits={"minimum": 1, "maximum": KEPT})
SECOND = Parameter("second", "string", "the id of a second round about the same texts, on this collector", None)


class FrequentViews:
    """The endpoint of frequent texts."""

    def __init__(self, find: Finder, visible: Visible) -> None:
        self._find, self._visible = find, visible

    @endpoint(
        "GET",
        "/plans/{plan}/frequent",
        "The texts that many people hold, with intervals",
        role="read",
        answers=FrequentDocument,
        parameters=(TEXT, TOP, LEVEL, SECOND, FORMAT),
        also=("text/csv",),
    )
    async def frequent(self, request: Request) -> Response:
        """Answer with frequent texts. They may be slightly old, and give their number of reports."""
        name, top, level = requests.named(request, TEXT), _top(request), requests.level(request)
        format_, other = requests.choice(request, FORMAT), request.query_params.get(SECOND.name)
        plan = await self._find.plan(request)
        text = _text(plan, name)
        following = None if other is None else await self._find.named(other)
        if following is not None:
            _check_second(plan, following, text)
        tally = await self._visible.tally(request)
        second = None
        if following is not None:
            second = await asyncio.to_thread(self._visible.reveals.tally, following)
        found = await self._visible.spaced.get(
            ("frequent", plan.id, name, other),
            (tally.people, None if second is None else second.people),
            lambda: _searched(tally, name, second),
        )

        def make() -> bytes:
            document = _document(plan.id, other, name, found, top, level)
            return texts_as_csv(document.rows).encode() if format_ == "csv" else msgspec.json.encode(document)

        key = ("frequent", plan.id, name, other, top, level, format_)
        made = await self._visible.shared.get(key, found.reports, make)
        if format_ == "csv":
            return Response(made, headers=SECRET, media_type="text/csv")
        return as_json(made, headers=SECRET)


class _Refusal:
    """Why there is nothing to find in a plan whose questions are of another kind."""

    def __init__(self, why: str, *reports: int) -> None:
        self.why, self.reports = why, reports


def _top(request: Request) -> int:
    found = requests.natural(request.query_params.get(TOP.name, str(TOP.default)), TOP.name)
    if not 1 <= found <= KEPT:
        raise Refused("bad-request", f"top must be a number from 1 to {KEPT}")
    return found


def _text(plan: Plan, name: str) -> Text:
    try:
        found = plan.schema[name]
    except SchemaError as error:
        raise Refused("not-found", str(error)) from None
    if not isinstance(found, Text):
        raise Refused("not-found", f"attribute {name!r}: is not a text; /estimates has its shares or its mean")
    return found


def _check_second(first: Plan, second: Plan, text: Text) -> None:
    """Refuse a plan that is no second round after this one about these texts."""
    about = [view for question in second.questions for view in question.views if view.of == (text.name,)]
    same = text in second.schema.attributes and any(isinstance(view, Among) for view in about)
    if second.after != first.id or not same:
        raise Refused("not-found", f"attribute {text.name!r}: the second plan is no second round about these texts")


def _searched(tally: Tally, name: str, second: Tally | None) -> Search | _Refusal:
    try:
        return Search(tally, name, second)
    except EstimateError as error:
        return _Refusal(str(error), tally.people, *([] if second is None else [second.people]))


def _document(
    plan: str, second: str | None, name: str, found: Search | _Refusal, top: int, level: float
) -> FrequentDocument:
    about = (plan, second, name, found.reports[0], found.reports[1] if second else None, level)
    if isinstance(found, _Refusal):
        return FrequentDocument(*about, None, None, None, 0, [], found.why)
    told = found.told(top, level=level)
    rows = [frequent_row(row) for row in told]
    return FrequentDocument(*about, finite(told.others), told.missing, finite(told.floor), told.liars, rows, None)
