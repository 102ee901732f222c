"""Dates and times of day: their numbers, their refusals, and that estimates are shown as dates and times."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec.refused_reports import NO_DATES, NO_TIMES

import hush
from hush.core.views import Bands, Sides, labels
from hush.device.randomise import randomise_from
from hush.testing import ListedCoins

BIRTHDAY = hush.Date("birthday", "1920-01-01", "2020-12-31")
BED = hush.Time("bed", "18:00", "06:00", out_of_range="clip", optional=True)
SCHEMA = hush.Schema([BIRTHDAY, BED])
PLAN = hush.design(SCHEMA, 4.0)


def refused(record: Mapping[str, Any], rule: str, private: str = "") -> None:
    """Check that a record is refused by a rule, before a word is drawn, and that its value stays unsaid."""
    with pytest.raises(hush.RecordError, match=rule) as caught:
        randomise_from(ListedCoins([]), PLAN, record)
    assert not private or private not in str(caught.value)


# -- values


@given(st.dates())
def test_a_date_counts_the_days_since_1970(day: datetime.date) -> None:
    ever = hush.Date("x", datetime.date.min, datetime.date.max)
    number = ever.number(day)
    assert number == ever.number(day.isoformat()) == (day - datetime.date(1970, 1, 1)).days
    assert ever.value(number) == day
    assert ever.named(number + 0.49) == ever.named(number - 0.49) == day.isoformat()


@given(st.times(), st.sampled_from([1, 60, 900, 3600, 43200]))
def test_a_time_counts_the_steps_since_midnight(time: datetime.time, step: int) -> None:
    clock = hush.Time("x", step=step)
    seconds = time.hour * 3600 + time.minute * 60 + time.second
    assert clock.number(time) == seconds // step
    assert clock.number(time.isoformat("seconds")) == seconds // step
    found = clock.value(clock.number(time))
    assert 0 <= seconds - (found.hour * 3600 + found.minute * 60 + found.second) < step


@pytest.mark.parametrize("value", [v for v in NO_DATES if isinstance(v, str)] + [0, 1.5, b"2000-01-01", ["2000-01-01"]])
def test_nothing_else_is_a_date(value: object) -> None:
    refused(
        {"birthday": value},
        "attribute 'birthday': must be a date, such as 2020-12-31",
        str(value) if len(str(value)) > 5 else "",
    )


@pytest.mark.parametrize("value", [v for v in NO_TIMES if isinstance(v, str)] + [0, 7.5, b"07:30"])
def test_nothing_else_is_a_time(value: object) -> None:
    refused({"birthday": "2000-01-01", "bed": value}, "attribute 'bed': must be a time of day, such as 07:30")


def test_midnight_stands_for_its_date_and_no_other_moment_does() -> None:
    midnight = datetime.datetime(2000, 1, 1)
    assert BIRTHDAY.number(midnight) == BIRTHDAY.number(pandas.Timestamp("2000-01-01")) == 10957
    for moment in (midnight.replace(second=1), midnight.replace(tzinfo=datetime.UTC)):
        refused({"birthday": moment}, "must be a date")
    refused({"birthday": "2000-01-01", "bed": datetime.time(7, tzinfo=datetime.UTC)}, "without a zone")


class Odd(str):
    """A text with a comparison and a form of its own."""

    def __str__(self) -> str:
        return "2020-01-01"


def test_a_text_is_read_as_it_is() -> None:
    assert BIRTHDAY.number(Odd("2000-01-01")) == 10957


def test_dates_outside_are_refused_or_clipped() -> None:
    for day in ("1919-12-31", "2021-01-01"):
        refused({"birthday": day}, "must be from 1920-01-01 to 2020-12-31", day)
    clipped = hush.Date("x", "1970-01-01", "1970-01-03", out_of_range="clip")
    assert [clipped.encode(day) for day in ("0001-01-01", "1970-01-02", "9999-12-31")] == [0.0, 0.5, 1.0]


def test_a_range_of_times_may_go_past_midnight() -> None:
    times = ("18:00", "00:00", "06:00", "06:00:59", "06:01", "12:00", "12:01", "17:59")
    assert [BED.encode(time) for time in times] == [0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    strict = hush.Time("x", "18:00", "06:00")
    with pytest.raises(hush.RecordError, match="must be from 18:00 to 06:00"):
        strict.encode("06:01")
    every = hush.Time("x", step=3600)
    assert [every.encode(f"{hour:02d}:59") for hour in range(24)] == [hour / 23 for hour in range(24)]


@pytest.mark.parametrize("step", [1, 60, 900, 7200])
def test_every_time_outside_counts_as_the_nearer_bound(step: int) -> None:
    """By trying all times of the day, on both ways around the clock."""
    clock = hush.Time("x", "22:00", "04:00", step=step, out_of_range="clip")
    steps = 86400 // step
    low, high = 22 * 3600 // step, 4 * 3600 // step
    for number in range(0, steps, max(1, steps // 500)):
        named = datetime.time(number * step // 3600, number * step // 60 % 60, number * step % 60)
        found = clock.encode(named)
        if (number - low) % steps <= (high - low) % steps:
            assert found == (number - low) % steps / ((high - low) % steps)
        else:
            assert found == float((number - high) % steps <= (low - number) % steps)


@pytest.mark.parametrize(
    ("low", "high"),
    [("2020-01-01", "2020-01-01"), ("2020-01-02", "2020-01-01"), ("2020-02-30", "2021-01-01"), (0, 10), ("", "x")],
)
def test_bounds_of_dates(low: Any, high: Any) -> None:
    with pytest.raises(hush.SchemaError, match="attribute 'x': low"):
        hush.Date("x", low, high)


@pytest.mark.parametrize(
    "fields",
    [
        {"step": 7},
        {"step": 0},
        {"step": 86400},
        {"step": True},
        {"step": 60.0},
        {"low": "07:00", "high": "07:00"},
        {"low": "00:10", "step": 900},
        {"low": "25:00"},
        {"high": 12},
    ],
)
def test_bounds_and_steps_of_times(fields: dict[str, Any]) -> None:
    with pytest.raises(hush.SchemaError, match="attribute 'x': "):
        hush.Time("x", **fields)


def test_plans_have_dates_as_text() -> None:
    again = hush.Plan.from_json(PLAN.to_json())
    assert again == PLAN
    first, second = json.loads(PLAN.to_json())["schema"]
    assert (first["low"], first["high"]) == ("1920-01-01", "2020-12-31")
    assert (second["low"], second["high"], second["step"]) == ("18:00:00", "06:00:00", 60)
    assert repr(again.schema["bed"]).startswith("Time(name='bed', low='18:00', high='06:00', step=60, ")
    assert repr(BIRTHDAY).startswith("Date(name='birthday', low='1920-01-01', high='2020-12-31', ")
    assert hush.Time("x", step=60) != hush.Time("x", step=900)


# -- words


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("1980-01-01", "1989-12-31", "1980 to 1989"),
        ("1980-01-01", "1980-12-31", "1980"),
        ("1980-02-01", "1980-02-29", "1980-02"),
        ("1980-02-01", "1981-01-31", "1980-02 to 1981-01"),
        ("1980-02-01", "1980-02-28", "1980-02-01 to 1980-02-28"),
        ("1980-02-01", "1980-02-01", "1980-02-01"),
        (None, "1949-12-31", "up to 1949"),
        ("1990-01-01", None, "from 1990"),
        ("1990-03-15", None, "from 1990-03-15"),
    ],
)
def test_bands_of_dates_are_named_by_years_and_months(first: str | None, last: str | None, words: str) -> None:
    ends = [None if end is None else BIRTHDAY.number(end) for end in (first, last)]
    assert BIRTHDAY.spanned(*ends) == words


def test_bands_of_times_are_named_by_their_ends() -> None:
    assert labels([BED.number("22:29"), BED.number("00:59")], BED) == ["up to 22:29", "22:30 to 00:59", "from 01:00"]
    quarter = hush.Time("x", step=900)
    assert labels([quarter.number("07:45")], quarter) == ["up to 07:59", "from 08:00"]


def test_lengths() -> None:
    assert [BIRTHDAY.length(size) for size in (1, -2.5, 4000)] == ["1 day", "-2.5 days", "4,000 days"]
    quarter = hush.Time("x", step=900)
    assert [quarter.length(size) for size in (0.01, 1, 10)] == ["9 seconds", "15 minutes", "2.5 hours"]


@pytest.mark.parametrize(
    ("low", "high", "bins", "named"),
    [
        ("1920-01-01", "2020-12-31", 32, ("1920 to 1924", "2020")),
        ("2020-01-01", "2020-12-31", 32, ("2020-01", "2020-12")),
        ("2020-01-15", "2020-12-31", 32, ("2020-01", "2020-12")),
        ("2020-03-01", "2020-03-31", 32, ("2020-03-01", "2020-03-31")),
        ("0001-01-01", "9999-12-31", 2, ("0001 to 9999", "0001 to 9999")),
    ],
)
def test_bins_are_parts_of_the_calendar(low: str, high: str, bins: int, named: tuple[str, str]) -> None:
    attribute = hush.Date("x", low, high)
    starts = [*attribute.starts(bins), int(attribute.high) + 1]
    assert len(starts) - 1 <= bins
    assert starts[0] == attribute.low
    assert all(a < b for a, b in pairwise(starts))
    words = [attribute.spanned(a, b - 1) for a, b in pairwise(starts)]
    assert (words[0], words[-1]) == named


@pytest.mark.parametrize("step", [1, 7, 60, 900, 3600, 21600, 43200])
@pytest.mark.parametrize("bins", [2, 8, 24, 32, 1024])
def test_bins_of_the_day(step: int, bins: int) -> None:
    if 86400 % step:
        pytest.skip("no step of the day")
    for clock in (hush.Time("x", step=step), hush.Time("x", "12:00", "00:00", step=step)):
        starts = [*clock.starts(bins), int(clock.high) + 1]
        assert len(starts) - 1 <= bins
        assert starts[0] == clock.low
        assert all(a < b for a, b in pairwise(starts))


@given(st.dates(), st.dates(), st.sampled_from([2, 16, 64, 256]))
def test_the_cuts_of_a_range_are_nested_and_within(one: datetime.date, other: datetime.date, leaves: int) -> None:
    if one == other:
        return
    attribute = hush.Date("x", min(one, other), max(one, other))
    plan = hush.design(hush.Schema([attribute]), 1.0, ranges={"x": leaves})
    cuts = [view.cuts for question in plan.questions for view in question.views if isinstance(view, Bands)]
    assert all(set(few) <= set(more) for few, more in pairwise(cuts))
    assert all(cut.is_integer() and attribute.low <= cut < attribute.high for cut in cuts[-1])


def test_cuts_are_dates() -> None:
    bands: dict[str, list[float | str | datetime.date]] = {"birthday": ["1949-12-31", datetime.date(1969, 12, 31)]}
    schema = hush.Schema([BIRTHDAY, hush.Categorical("c", ["a", "b"])])
    plan = hush.design(schema, 1.0, relations=[("birthday", "c", "table")], bands=bands)
    seen = next(view for question in plan.questions for view in question.views if isinstance(view, Bands)).seen(schema)
    assert seen.labels == ("up to 1949", "1950 to 1969", "from 1970")  # type: ignore[union-attr]
    with pytest.raises(hush.DesignError, match="a cut must be a date"):
        hush.design(schema, 1.0, relations=[("birthday", "c", "table")], bands={"birthday": ["soon"]})
    sides = Sides(("birthday", "bed"), (0.0, BED.number("23:00")))
    assert sides.told(SCHEMA) == "birthday and bed: same side of 1970-01-01 and 23:00?"


# -- estimates


def tallied(plan: hush.Plan, count: int = 600) -> hush.Tally:
    tally = hush.Tally(plan)
    for i in range(count):
        day = datetime.date(1960, 1, 1) + datetime.timedelta(days=20 * (i % 500))
        values = {"birthday": day, "bed": datetime.time(22 + i % 2, 7), "c": "ab"[i % 2]}
        tally.add(hush.randomise(plan, {name: values[name] for name in plan.schema.names}))
    return tally


def test_estimates_are_dates_and_times() -> None:
    found = hush.estimate(tallied(PLAN))
    text = str(found)
    assert "birthday    mean" in text
    day, time = found.of("birthday")[0], found.of("bed")[0]
    assert BIRTHDAY.named(day.point) in text
    assert BED.named(time.low) in text
    assert f"{day.point:.0f}" not in text
    rows = found.worded(SCHEMA)
    assert rows[0]["point"] == BIRTHDAY.named(day.point)
    assert rows[0]["stderr"] == day.stderr  # in days
    assert rows[-1]["category"] == hush.MISSING
    assert isinstance(rows[-1]["point"], float)
    assert "too few answers" in str(hush.estimate(hush.Tally(PLAN)))


def test_distributions_have_bins_of_the_calendar() -> None:
    tally = tallied(PLAN)
    found = hush.distribution(tally, "birthday")
    assert found.bins[0] == "1920 to 1924"
    assert found.bins[-1] == "2020"
    assert found.edges[1] == BIRTHDAY.number("1925-01-01")
    assert hush.distribution(tally, "bed").bins[8] == "22:00 to 22:29"


def test_ranges_groups_and_changes_are_dates() -> None:
    schema = hush.Schema([BIRTHDAY, hush.Categorical("c", ["a", "b"])])
    plan = hush.design(schema, 4.0, ranges={"birthday": 16}, relations=[("birthday", "c", "means")])
    tally = tallied(plan, 3000)
    cut = next(view for question in plan.questions for view in question.views if isinstance(view, Bands)).cuts[0]
    shares = hush.below(tally, "birthday", [BIRTHDAY.named(cut)])
    assert BIRTHDAY.spanned(None, cut) in str(shares)
    assert shares.worded(schema)[0]["cut"] == BIRTHDAY.named(cut)
    with pytest.raises(hush.EstimateError, match=r"the plan has no cut at 1999-01-01, the nearest is at [0-9]{4}-"):
        hush.below(tally, "birthday", ["1999-01-01"])
    middle = hush.quantiles(tally, "birthday", [0.5])
    assert BIRTHDAY.named(middle[0].low) in str(middle)
    means = hush.means(tally, "birthday", by="c")
    assert BIRTHDAY.named(means[0].point) in str(means)
    assert " days" in str(means.differences())
    changed = hush.change(tally, tallied(plan, 3000))
    assert " days" in str(changed)
    assert BIRTHDAY.named(changed[0].before) in str(changed)
