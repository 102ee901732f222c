"""Handlers that show change: a plan by day or week, and two plans side by side. They only read.

Both are made of tallies that readers have seen (`hush.collector.reveals`), so they show nothing more than those did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import requests
from hush.collector.http.documents import (
    ChangeRow,
    ChangesDocument,
    PeriodEntry,
    PeriodsDocument,
    as_csv,
    change_row,
    estimate_row,
)
from hush.collector.http.endpoints import endpoint
from hush.collector.http.lookup import Finder
from hush.collector.http.requests import AGAINST, FORMAT, INTERVALS, LAST, LEVEL, SEARCH, TOP
from hush.collector.http.responses import SECRET, as_json
from hush.collector.http.visible import Visible
from hush.collector.periods import Period
from hush.server.changes import Change, Changes, Counted, comparable, compare
from hush.server.estimates import Wanted, chosen

MOST_ROWS = 20_000  # estimates in one answer: with many categories it has fewer periods
SHOWN = 50  # shares of a very long list, in each period or plan


class PeriodViews:
    """The endpoints that show change."""

    def __init__(self, find: Finder, visible: Visible) -> None:
        self._find, self._visible = find, visible

    @endpoint(
        "GET",
        "/plans/{plan}/periods",
        "Estimates by day or week, and the change from each to the next",
        role="read",
        answers=PeriodsDocument,
        parameters=(LEVEL, INTERVALS, LAST, TOP, SEARCH, FORMAT),
        also=("text/csv",),
    )
    async def periods(self, request: Request) -> Response:
        """Answer with the latest periods that are over, as JSON or CSV."""
        level, last = requests.level(request), requests.last(request)
        requests.choice(request, INTERVALS)  # refused before anything is computed
        top, search, format_ = requests.top(request), requests.search(request), requests.choice(request, FORMAT)
        tally = await self._visible.tally(request)
        intervals = requests.intervals(request, tally.plan)
        found = await asyncio.to_thread(self._visible.reveals.periods, tally.plan)
        others = max(0, tally.people - sum(part.people for _, part in found))
        counted = await self._visible.counted_periods(found)

        def make() -> bytes:
            wanted = Wanted(level, simultaneous=intervals == "together", top=top, search=search, most=SHOWN)
            entries = _entries(counted, len(found), last, wanted)
            if format_ == "csv":
                rows = [(entry, row) for entry in entries for row in entry.estimates]
                spans = [(entry.first, entry.last) for entry, _ in rows]
                return as_csv([row for _, row in rows], tally.plan.schema, spans=spans).encode()
            by = self._visible.reveals.by
            return msgspec.json.encode(PeriodsDocument(tally.plan.id, by, level, intervals, others, entries))

        key = ("periods", tally.plan.id, level, intervals, last, top, search, format_)
        version = (others, len(found), *((period, part.tally.people) for period, part in counted))
        return _answer(await self._visible.shared.get(key, version, make), format_)

    @endpoint(
        "GET",
        "/plans/{plan}/changes",
        "The change from another plan to this one, of all attributes that both ask alike",
        role="read",
        answers=ChangesDocument,
        parameters=(AGAINST, LEVEL, INTERVALS, TOP, SEARCH, FORMAT),
        also=("text/csv",),
    )
    async def changes(self, request: Request) -> Response:
        """Answer with the change from another plan to this one, as JSON or CSV."""
        level, format_ = requests.level(request), requests.choice(request, FORMAT)
        requests.choice(request, INTERVALS)  # refused before anything is computed
        top, search = requests.top(request), requests.search(request)
        after = await self._visible.tally(request)
        other = await self._find.named(requests.against(request))
        intervals = requests.intervals(request, after.plan, other)
        before = await asyncio.to_thread(self._visible.reveals.tally, other)
        counted_before, counted_after = await self._visible.counted(before), await self._visible.counted(after)
        before, after = counted_before.tally, counted_after.tally

        def make() -> bytes:
            names, why = comparable(before.plan, after.plan)
            rows: list[ChangeRow] = []
            if names and before.plan.id != after.plan.id:
                wanted = Wanted(level, simultaneous=intervals == "together", top=top, search=search, most=SHOWN)
                found = _compared(counted_before, counted_after, names, wanted)
                rows, why = [change_row(row) for row in found], [*why, *found.left_out]
            if format_ == "csv":
                return as_csv(rows, after.plan.schema, ChangeRow).encode()
            counts = after.people, before.people
            return msgspec.json.encode(
                ChangesDocument(after.plan.id, before.plan.id, *counts, level, intervals, rows, why)
            )

        key = ("changes", after.plan.id, before.plan.id, level, intervals, top, search, format_)
        return _answer(await self._visible.shared.get(key, (after.people, before.people), make), format_)


def _answer(made: bytes, format_: str) -> Response:
    if format_ == "csv":
        return Response(made, headers=SECRET, media_type="text/csv")
    return as_json(made, headers=SECRET)


def _compared(before: Counted, after: Counted, names: Sequence[str], wanted: Wanted) -> Changes:
    """Return the changes that are wanted: of long lists those of the largest shares, as estimates have them."""
    most = wanted.top or wanted.most or SHOWN
    found = compare(before, after, names, wanted.level, together=wanted.simultaneous, top=most, search=wanted.search)
    kept: Iterable[Change] = found
    if wanted.search is not None:
        text = wanted.search.casefold()
        kept = [row for row in found if row.category is not None and text in str(row.category).casefold()]
    return Changes(kept, left_out=found.left_out)


def _entries(found: list[tuple[Period, Counted]], periods: int, last: int, wanted: Wanted) -> list[PeriodEntry]:
    """Return the latest periods with their estimates; each but the first of all with its change from the one before."""
    if not found:
        return []
    latest = found[-1][1]
    names = comparable(latest.tally.plan, latest.tally.plan)[0]
    each = len(chosen(latest.tally, wanted, latest.totals))
    complete = len(found) - (len(found) < periods)  # the first that was read may only be there to compare with
    number = min(last, max(2, MOST_ROWS // max(each, 1)), complete)
    first = len(found) - number
    before = found[first - 1][1] if first and names else None
    entries = []
    for period, counted in found[first:]:
        rows = [estimate_row(row) for row in chosen(counted.tally, wanted, counted.totals)]
        moved = [change_row(row) for row in _compared(before, counted, names, wanted)] if before is not None else []
        entries.append(PeriodEntry(period.first, period.last, counted.tally.people, rows, moved))
        before = counted if names else None
    return entries
