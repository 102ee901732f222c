"""Days and weeks, for collectors that count by them (`hush serve --by day`).

A store's tables have no times unless its operator asks for periods. Then a report counts in the period in which
**readers first see it**, not in the one in which it arrived: a period is the difference of two tallies that were shown
(`hush.collector.reveals`). So periods reveal nothing that a reader who asked all the time had not seen before, every
period has at least `reveal_least` reports, and together they are exactly the tally that is shown. Reports that are too
few to be shown wait for others, and count in a later period together with them.

Days and weeks are those of UTC, and a week begins on Monday. A period is shown when it is over. One without any reports
is joined to the next: nobody can say in which of them those came.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Literal, NamedTuple, TypeVar

Unit = Literal["day", "week"]
UNITS: dict[Unit, int] = {"day": 1, "week": 7}
DAY = 86400
_MONDAY = 4  # 1 January 1970 was a Thursday: this many days later came a Monday

T = TypeVar("T")


class Period(NamedTuple):
    """Some days from `start`, a number of days since 1970."""

    start: int
    days: int

    @property
    def end(self) -> int:
        """The first day behind it."""
        return self.start + self.days

    @property
    def first(self) -> str:
        """Its first day, as 2026-03-30."""
        return _written(self.start)

    @property
    def last(self) -> str:
        """Its last day."""
        return _written(self.end - 1)


def period_at(unit: Unit, now: float) -> Period:
    """Return the period of a moment, in seconds since 1970."""
    day, days = int(now // DAY), UNITS[unit]
    return Period(day - (day - _MONDAY) % days if days > 1 else day, days)


def is_over(period: Period, now: float) -> bool:
    """Return whether a period has ended."""
    return period.end * DAY <= now


def latest(held: Iterable[Period], period: Period) -> Period:
    """Return the period in which to count: this one, unless one that is held ends later. Time never runs back here."""
    return max({period, *held}, key=lambda one: (one.end, one == period))


def joined(rows: Iterable[tuple[Period, T]]) -> list[tuple[Period, list[T]]]:
    """Return periods without gaps between them, each with all that belongs to it, in order.

    A gap is part of the period behind it. Periods that overlap, as after a change from days to weeks, are one.
    """
    found: list[tuple[Period, list[T]]] = []
    for period, content in sorted(rows, key=lambda row: (row[0].end, row[0].start)):
        start = period.start
        held = [content]
        while found and start < found[-1][0].end:
            last, before = found.pop()
            start, held = min(start, last.start), before + held
        if found:
            start = found[-1][0].end
        found.append((Period(start, period.end - start), held))
    return found


def _written(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=day)).isoformat()
