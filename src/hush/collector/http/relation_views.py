"""Handlers that show relations: tables, means by group, associations and ranges. They only read.

They see the tally that `hush.collector.reveals` shows, as all readers do. So two answers that differ do so by at least
`reveal_least` people, and nothing is shown before that many have answered. Each relation is computed once for all
readers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import requests
from hush.collector.http.documents import (
    BelowRow,
    QuantileRow,
    RangeDocument,
    RelatedRow,
    RelationDocument,
    as_csv,
    finite,
    related_row,
)
from hush.collector.http.endpoints import endpoint
from hush.collector.http.lookup import Finder
from hush.collector.http.problems import Refused
from hush.collector.http.requests import ATTRIBUTE, BY, EITHER, FORMAT, INTERVALS, LEVEL, METHOD, PARTS, WHAT
from hush.collector.http.responses import SECRET, as_json
from hush.collector.http.visible import Visible
from hush.core.plan import Plan
from hush.errors import EstimateError, SchemaError
from hush.server.relations.associations import association
from hush.server.relations.crosstabs import crosstab
from hush.server.relations.groups import means
from hush.server.relations.ranges import below, quantiles
from hush.server.relations.related import related
from hush.server.relations.rows import Related
from hush.server.tally import Tally

Make = Callable[[Tally, str, str, float], Sequence[Related]]
NOT_ASKED = {
    "table": "the plan does not ask for the table of these attributes",
    "means": "the plan does not ask for the means of this number by that attribute",
    "association": "the plan does not ask for the association of these numbers",
    "moments": "the plan does not ask for the moments of these numbers",
    "range": "the plan does not ask for the range of this number",
}


class RelationViews:
    """The endpoints that show relations."""

    def __init__(self, find: Finder, visible: Visible) -> None:
        self._find, self._visible = find, visible

    @endpoint(
        "GET",
        "/plans/{plan}/crosstab",
        "The shares of a table of two attributes, with intervals",
        role="read",
        answers=RelationDocument,
        parameters=(EITHER, BY, PARTS, LEVEL, INTERVALS, FORMAT),
        also=("text/csv",),
    )
    async def crosstab(self, request: Request) -> Response:
        """Answer with a table."""
        of, together = requests.choice(request, PARTS), requests.choice(request, INTERVALS) == "together"

        def make(tally: Tally, attribute: str, by: str, level: float) -> Sequence[Related]:
            return crosstab(tally, attribute, by, shares=of, level=level, simultaneous=together)  # type: ignore[arg-type]

        return await self._related(request, "table", of, make)

    @endpoint(
        "GET",
        "/plans/{plan}/means",
        "The means of a number by group, or their differences, with intervals",
        role="read",
        answers=RelationDocument,
        parameters=(EITHER, BY, WHAT, LEVEL, INTERVALS, FORMAT),
        also=("text/csv",),
    )
    async def means(self, request: Request) -> Response:
        """Answer with means by group."""
        what, together = requests.choice(request, WHAT), requests.choice(request, INTERVALS) == "together"

        def make(tally: Tally, attribute: str, by: str, level: float) -> Sequence[Related]:
            found = means(tally, attribute, by=by, level=level, simultaneous=together)
            return found if what == "means" else found.differences()

        return await self._related(request, "means", what, make)

    @endpoint(
        "GET",
        "/plans/{plan}/association",
        "The association of two numbers, with an interval",
        role="read",
        answers=RelationDocument,
        parameters=(EITHER, BY, METHOD, LEVEL, FORMAT),
        also=("text/csv",),
    )
    async def association(self, request: Request) -> Response:
        """Answer with an association."""
        method = requests.choice(request, METHOD)

        def make(tally: Tally, attribute: str, by: str, level: float) -> Sequence[Related]:
            return association(tally, attribute, by, method=method, level=level)  # type: ignore[arg-type]

        return await self._related(request, "association" if method == "copula" else "moments", method, make)

    async def _related(self, request: Request, kind: str, what: str, make: Make) -> Response:
        """Answer with rows about two attributes, or with why there are none yet."""
        attribute, by = requests.named(request, EITHER), requests.named(request, BY)
        level, format_ = requests.level(request), requests.choice(request, FORMAT)
        intervals = requests.choice(request, INTERVALS) if kind in ("table", "means") else "each"
        _check(await self._find.plan(request), kind, attribute, by)
        tally = await self._visible.tally(request)

        def document() -> RelationDocument:
            about = (tally.plan.id, attribute, by, what, tally.people, level)
            try:
                rows = [related_row(row) for row in make(tally, attribute, by, level)]
            except EstimateError as error:
                return RelationDocument(*about, [], str(error), intervals)
            return RelationDocument(*about, rows, None, intervals)

        def text() -> bytes:
            found = document()
            if format_ == "csv":
                return as_csv(found.rows, tally.plan.schema, RelatedRow).encode()
            return msgspec.json.encode(found)

        key = ("related", tally.plan.id, kind, what, attribute, by, level, intervals, format_)
        made = await self._visible.shared.get(key, tally.people, text)
        if format_ == "csv":
            return Response(made, headers=SECRET, media_type="text/csv")
        return as_json(made, headers=SECRET)

    @endpoint(
        "GET",
        "/plans/{plan}/quantiles",
        "Quantiles of a number, and the shares below its cuts, with intervals",
        role="read",
        answers=RangeDocument,
        parameters=(ATTRIBUTE, LEVEL),
    )
    async def quantiles(self, request: Request) -> Response:
        """Answer with quantiles of a number. They may be slightly old, and give their number of reports."""
        name, level = requests.named(request, ATTRIBUTE), requests.level(request)
        _check(await self._find.plan(request), "range", name, None)
        tally = await self._visible.tally(request)
        made = await self._visible.spaced.get(
            ("range", tally.plan.id, name, level),
            tally.people,
            lambda: msgspec.json.encode(_range(tally, name, level)),
        )
        return as_json(made, headers=SECRET)


def _check(plan: Plan, kind: str, attribute: str, by: str | None) -> None:
    """Refuse a relation that the plan does not ask about. A table and an association may be turned."""
    try:
        for name in (attribute, by):
            if name is not None:
                plan.schema[name]
    except SchemaError as error:
        raise Refused("not-found", str(error)) from None
    asked = {(one.attribute, one.by) for one in related(plan) if one.kind == kind}
    turned = (by, attribute) in asked and kind != "means"
    if (attribute, by) not in asked and not turned:
        raise Refused("not-found", NOT_ASKED[kind])


def _range(tally: Tally, name: str, level: float) -> RangeDocument:
    about = (tally.plan.id, name, tally.people, level)
    try:
        shares = below(tally, name, level=level)
        found = quantiles(tally, name, level=level)
    except EstimateError as error:
        return RangeDocument(*about, 0, [], [], str(error))
    return RangeDocument(
        *about,
        shares[0].answers,
        [QuantileRow(row.share, finite(row.point), row.low, row.high, row.needed) for row in found],
        [BelowRow(row.cut, finite(row.point), finite(row.stderr), row.low, row.high, row.needed) for row in shares],
        None,
    )
