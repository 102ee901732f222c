"""Dates and times of day at the ends: which bins and bands they get, how they are written, and what is refused."""

from __future__ import annotations

import math
from datetime import date, time
from typing import Any

import pytest

from hush.core.calendar import Date, Time
from hush.core.schema import KINDS
from hush.errors import SchemaError

EVER = Date("day", "0001-01-01", "9999-12-31")
CENTURY = Date("day", "2000-01-15", "2099-12-31")
MINUTES, SECONDS = Time("clock"), Time("clock", step=1)


def days(text: str) -> float:
    return EVER.cut(text)


# -- bins


@pytest.mark.parametrize(
    ("attribute", "bins", "second"),
    [
        *((CENTURY, 1200, "2000-02-01"), (CENTURY, 1199, "2000-04-01"), (CENTURY, 400, "2000-04-01")),
        *((CENTURY, 399, "2000-07-01"), (CENTURY, 200, "2000-07-01"), (CENTURY, 199, "2001-01-01")),
        *((CENTURY, 100, "2001-01-01"), (CENTURY, 99, "2002-01-01"), (CENTURY, 50, "2002-01-01")),
        *((CENTURY, 49, "2005-01-01"), (CENTURY, 20, "2005-01-01"), (CENTURY, 19, "2010-01-01")),
        *((CENTURY, 10, "2010-01-01"), (CENTURY, 9, "2020-01-01"), (CENTURY, 5, "2020-01-01")),
        *((CENTURY, 4, "2050-01-01"), (CENTURY, 2, "2050-01-01"), (EVER, 200, "0050-01-01")),
        *((EVER, 199, "0100-01-01"), (EVER, 100, "0100-01-01"), (EVER, 99, "0200-01-01"), (EVER, 50, "0200-01-01")),
    ],
)
def test_dates_have_bins_of_whole_months(attribute: Date, bins: int, second: str) -> None:
    """As many as there may be, and no more."""
    starts = attribute.starts(bins)
    assert starts[0] == attribute.low
    assert attribute.named(starts[1]) == second
    later = attribute.named(starts[2]) if len(starts) > 2 else None
    first, following = (int(text[:4]) * 12 + int(text[5:7]) for text in (second, later or second))
    size = following - first
    assert later is None or (later[8:] == "01" and (first - 1) % size == 0)
    assert len(starts) <= bins


def test_dates_have_bins_of_days_or_weeks_or_one() -> None:
    short = Date("day", "2000-01-01", "2000-04-10")  # 101 days
    low, high = int(short.low), int(short.high)
    assert list(short.starts(101)) == list(range(low, high + 1))
    for bins in (100, 15):
        assert list(short.starts(bins)) == list(range(low, high + 1, 7))
    assert [short.named(start) for start in short.starts(14)] == [
        "2000-01-01",
        "2000-02-01",
        "2000-03-01",
        "2000-04-01",
    ]
    assert EVER.starts(49) == [EVER.low]


@pytest.mark.parametrize(
    "size", [1, 5, 10, 15, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200, 86_400]
)
def test_times_have_bins_of_handy_parts_of_the_day(size: int) -> None:
    assert SECONDS.starts(86_400 // size) == list(range(0, 86_400, size))
    if size % 60 == 0:
        assert MINUTES.starts(86_400 // size) == list(range(0, 1440, size // 60))


def test_times_whose_steps_fit_no_handy_part() -> None:
    odd = Time("clock", step=128)
    assert len(odd.starts(675)) == 675
    assert odd.starts(674) == odd.starts(400) == [0]
    assert Time("clock", "00:00", "12:00", step=3600).starts(3) == [0, 6, 12]


# -- bands


@pytest.mark.parametrize(
    ("cut", "width", "near"),
    [
        ("2000-05-20", 1464, "1999-12-31"),
        ("2000-09-20", 1464, "2000-12-31"),
        ("2000-05-20", 1463, "2000-05-31"),
        ("2000-05-20", 124, "2000-05-31"),
        ("2000-05-10", 124, "2000-04-30"),
        ("2000-05-20", 123, "2000-05-20"),
        ("9999-12-10", 124, "9999-11-30"),
        ("9999-12-20", 124, "9999-12-30"),
        ("9999-11-20", 124, "9999-11-30"),
    ],
)
def test_bands_of_dates_end_with_years_or_months(cut: str, width: float, near: str) -> None:
    assert EVER.near(days(cut), width) == days(near)


def test_bands_of_times_end_with_handy_parts() -> None:
    for cut, width, near in (
        *((449.0, 240, 479.0), (448.0, 240, 419.0), (450.0, 240, 479.0)),
        *((448.0, 239, 449.0), (448.0, 4, 448.0), (448.25, 4, 448.0), (448.25, 3, 448.25), (448.25, 20, 449.0)),
    ):
        assert MINUTES.near(cut, width) == near
    quarters = Time("clock", step=900)
    assert [quarters.near(10.25, width) for width in (3, 4, 8, 16)] == [10.25, 10.0, 11.0, 11.0]
    assert SECONDS.near(100.0, 4 * 43_200) == -1.0
    assert [SECONDS.near(10.25, width) for width in (3, 4, 8, 20)] == [10.25, 10.0, 10.0, 9.0]


# -- words


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        (None, "2000-05-31", "up to 2000-05"),
        (None, "2000-12-31", "up to 2000"),
        (None, "2000-05-30", "up to 2000-05-30"),
        ("2000-05-01", None, "from 2000-05"),
        ("2000-01-01", None, "from 2000"),
        ("2000-05-02", None, "from 2000-05-02"),
        ("2000-01-01", "2000-12-31", "2000"),
        ("2000-05-01", "2000-05-31", "2000-05"),
        ("2000-05-01", "2001-12-31", "2000-05 to 2001-12"),
    ],
)
def test_dates_in_words(first: str | None, last: str | None, words: str) -> None:
    assert EVER.spanned(*(None if end is None else days(end) for end in (first, last))) == words


def test_times_in_words() -> None:
    assert SECONDS.spanned(1, 3) == "00:00:01 to 00:00:03"
    assert SECONDS.spanned(None, 3) == "up to 00:00:03"
    assert SECONDS.spanned(3, 3) == "00:00:03"
    assert MINUTES.spanned(61, None) == "from 01:01"
    assert MINUTES.spanned(60, 119) == "01:00 to 01:59"
    assert [SECONDS.named(number) for number in (1, 86_399)] == ["00:00:01", "23:59:59"]
    assert [MINUTES.named(number) for number in (0, 1439)] == ["00:00", "23:59"]
    assert SECONDS.value(86_398.5) == time(23, 59, 59)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        *((59, "59 seconds"), (60, "1 minute"), (3599, "60 minutes"), (3600, "1 hour"), (5400, "1.5 hours")),
        *((1, "1 second"), (-3600, "-1 hours"), (36_000, "10 hours")),
    ],
)
def test_lengths_of_times(seconds: float, words: str) -> None:
    assert SECONDS.length(seconds) == words


def test_lengths_of_dates() -> None:
    assert [EVER.length(size) for size in (1, 99.5, 99.94, 1234.4)] == ["1 day", "99.5 days", "99.9 days", "1,234 days"]


# -- values


def test_examples_and_cuts() -> None:
    short = Date("day", "2000-01-01", "2000-01-12")
    assert short.examples == ("2000-01-01", "2000-01-06", "2000-01-12")
    assert Time("clock", "07:00", "07:05").examples == ("07:00", "07:02", "07:05")
    assert short._absent == "2000-01-01"
    assert [short.cut(value) for value in (3, 2.5, "1970-01-02", date(1970, 1, 3))] == [3.0, 2.5, 1.0, 2.0]
    assert math.copysign(1, short.cut(-0.0)) == 1
    for wrong in (True, "x", None):
        with pytest.raises(SchemaError, match="a cut must be a date"):
            short.cut(wrong)


def test_the_ends_of_the_calendar() -> None:
    assert [EVER.value(number) for number in (-1e9, 1e9)] == [date.min, date.max]
    assert Date("day", "1969-01-01", "1970-01-01").high == 0
    assert Date("day", "1970-01-01", "1970-01-02").low == 0


class OwnDate(date):
    def isoformat(self) -> str:
        return "2020-02-02"


class OwnTime(time):
    def isoformat(self, timespec: str = "auto") -> str:
        return "11:11"


def test_subclasses_are_read_as_what_they_are() -> None:
    assert EVER.number(OwnDate(1970, 1, 3)) == 2
    assert MINUTES.number(OwnTime(0, 5, 59)) == 5


def test_counts_are_integers() -> None:
    late = Time("clock", "18:00", "06:00", step=900)
    assert (late.low, late.high) == (72, 96 + 24)
    assert [late.count(3600 * hour) for hour in (18, 23, 0, 6)] == [72, 92, 96, 120]
    assert late.count(12 * 3600 - 900) == 96 + 47  # nearer to 06:00 than to 18:00
    assert late.count(12 * 3600 + 900) == 49
    assert all(type(late.count(second)) is int for second in (0, 43_200, 64_800))


# -- declarations


@pytest.mark.parametrize(
    ("declare", "rule"),
    [
        (lambda: Date("d", "2000-01-01", "2000-01-01"), "low must be before high"),
        (lambda: Date("d", "2000-01-02", "2000-01-01"), "low must be before high"),
        (lambda: Time("t", step=86_400), "step must be a number of seconds that divides the day"),
        (lambda: Time("t", "00:00:30", "12:00"), "must be whole numbers of steps"),
        (lambda: Time("t", "00:00", "12:00:30"), "must be whole numbers of steps"),
        (lambda: Time("t", "07:00", "07:00"), "low and high must differ"),
    ],
)
def test_bounds_that_are_refused(declare: Any, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        declare()


def test_how_they_travel() -> None:
    assert (KINDS["date"], KINDS["time"]) == (Date, Time)
    assert not Time("t").optional
    assert len(Time("t", step=43_200).starts(5)) == 2
    assert Time("t", "00:00:01", "00:00:03", step=1, optional=True).to_json() == {
        "kind": "time",
        "name": "t",
        "low": "00:00:01",
        "high": "00:00:03",
        "step": 1,
        "out_of_range": "error",
        "optional": True,
    }
    day = EVER.to_json()
    assert (day["kind"], day["low"], day["high"]) == ("date", "0001-01-01", "9999-12-31")
    for name in ("low", "high"):
        with pytest.raises(SchemaError, match="bounds of dates must be written as text"):
            Date.from_json(day | {name: 3})
    clock = MINUTES.to_json()
    for name, bound in (("low", "00:00"), ("high", "23:59"), ("low", 3), ("high", ["00:00:00"] * 8)):
        with pytest.raises(SchemaError, match="bounds of times must be written as text with seconds"):
            Time.from_json(clock | {name: bound})
