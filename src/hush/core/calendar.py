"""Dates and times of day: whole numbers of days since 1970-01-01, or of steps since midnight.

A device turns a date or a time into such a number before any randomness is drawn, and everything behind the schema
treats it as one. Estimates are turned back. There are no time zones: a date is that of the person's calendar, a time
that of the person's clock.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from operator import methodcaller
from typing import Any, ClassVar, Literal

from hush.core import codec
from hush.core.schema import KINDS, Numeric
from hush.errors import RecordError, SchemaError

DAY = 86_400  # seconds
_EPOCH = date(1970, 1, 1).toordinal()
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?")
NOT_A_DATE = "must be a date, such as 2020-12-31 (a text, or a datetime.date)"
NOT_A_TIME = "must be a time of day, such as 07:30 or 07:30:00 (a text, or a datetime.time without a zone)"
_DAYS = (1, 7)  # of bins, where months are too long
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400)
_SECONDS = (1, 5, 10, 15, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 43_200)

Rule = Literal["error", "clip"]


class Counted(Numeric):
    """A value that is counted in whole numbers, and written as a text. `rule`: what a value must be."""

    whole: ClassVar[bool] = True
    rule: ClassVar[str]

    def _declare(self, name: str, low: float, high: float, out_of_range: Rule, optional: bool) -> None:
        """Check the bounds as those of a number."""
        if not low < high:
            raise SchemaError(f"attribute {name!r}: low must be before high")
        Numeric.__init__(self, name, low, high, out_of_range, optional)
        object.__setattr__(self, "_absent", self.named(self.low))

    @property
    def outside(self) -> str:
        """The rule for a value outside the bounds."""
        ends = f"from {self.named(self.low)} to {self.named(self.high)}"
        return f'must be {ends} (or declare it with out_of_range="clip")'

    @property
    def examples(self) -> tuple[object, object, object]:
        """The lowest value, one in the middle, and the highest, as records have them."""
        low, high = int(self.low), int(self.high)
        one, middle, last = (self.named(number) for number in (low, (low + high) // 2, high))
        return one, middle, last

    def number(self, value: object) -> float:
        """Return the number of a value, which may lie outside the bounds; NaN if it is none at all."""
        try:
            return self._number(value)
        except RecordError:
            return math.nan

    def cut(self, value: object) -> float:
        """Return the number of a value, or a number as it is."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) + 0.0
        number = self.number(value) + 0.0
        if math.isnan(number):
            raise SchemaError(f"attribute {self.name!r}: a cut {self.rule}")
        return number


@dataclass(frozen=True, init=False, repr=False)
class Date(Counted):
    """A date from low to high, both included: `Date("birthday", "1920-01-01", "2020-12-31")`.

    Bounds and records are `datetime.date`, or ISO text such as "1984-05-03". A `datetime` is taken if it is midnight
    and has no zone. A date outside is an error, or with `out_of_range="clip"` counts as the nearer bound. `optional` is
    as for `Numeric`. Tables, CSV and pictures show dates. In rows of estimates a date is the number of days since
    1970-01-01, and `value` gives the date of such a number; standard errors are in days. Dates are those of the
    calendar in use today, in the years 1 to 9999.
    """

    kind: ClassVar[str] = "date"
    rule: ClassVar[str] = NOT_A_DATE

    def __init__(
        self, name: str, low: str | date, high: str | date, out_of_range: Rule = "error", optional: bool = False
    ) -> None:
        days = [_days(bound) for bound in (low, high)]
        if None in days:
            raise SchemaError(f"attribute {name!r}: low and high must be dates, such as 2020-12-31")
        self._declare(name, days[0] or 0, days[1] or 0, out_of_range, optional)

    def __repr__(self) -> str:
        fields = f"name={self.name!r}, low={self.named(self.low)!r}, high={self.named(self.high)!r}"
        return f"Date({fields}, out_of_range={self.out_of_range!r}, optional={self.optional!r})"

    def value(self, number: float) -> date:
        """Return the date of a number of days since 1970-01-01, the nearest one if it has a fraction."""
        return date.fromordinal(min(max(_EPOCH + math.floor(number + 0.5), 1), date.max.toordinal()))

    def named(self, number: float) -> str:
        """Return a number as a date, in ISO form."""
        return self.value(number).isoformat()

    def length(self, size: float) -> str:
        """Return a difference in days."""
        return _counted(size, "day")

    def spanned(self, first: float | None, last: float | None) -> str:
        """Return the days from a first to a last one in words, as years or months if they are whole ones."""
        one, other = (None if end is None else self.value(end) for end in (first, last))
        # An end of the domain is as good as that of the year or month.
        begins = [_begins(one, part) or first == self.low for part in (12, 1)] if one else [True, True]
        ends = [_ends(other, part) or last == self.high for part in (12, 1)] if other else [True, True]
        whole = begins[0] and ends[0], begins[1] and ends[1]
        digits = 4 if whole[0] else 7 if whole[1] else 10
        texts = ["" if end is None else end.isoformat()[:digits] for end in (one, other)]
        if one is None or other is None:
            return f"up to {texts[1]}" if one is None else f"from {texts[0]}"
        return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"

    def starts(self, bins: int) -> Sequence[int]:
        """Return the first days of bins: whole years or months, weeks or days, as few as there may be."""
        low, high = int(self.low), int(self.high)
        for size in _DAYS:
            if (high - low) // size < bins:
                return range(low, high + 1, size)
        first, last = self.value(low), self.value(high)
        months = [first.year * 12 + first.month - 1, last.year * 12 + last.month - 1]
        for size in (*_MONTHS, 120_000):
            begun = range(months[0] // size + 1, months[1] // size + 1)
            if len(begun) < bins:
                break
        return [
            low,
            *(date(month // 12, month % 12 + 1, 1).toordinal() - _EPOCH for month in (n * size for n in begun)),
        ]

    def near(self, cut: float, width: float) -> float:
        """Return the nearest end of a year or month, if bands are at least four of these wide."""
        part = 12 if width >= 4 * 366 else 1 if width >= 4 * 31 else 0
        if not part:
            return cut
        day = self.value(cut)
        month = (day.year * 12 + day.month - 1) // part * part
        ends = (_last_before(month), _last_before(month + part))
        return float(min(ends, key=lambda end: abs(end - cut)))

    def _number(self, value: object) -> float:
        days = _days(value)
        if days is None:
            raise RecordError(f"attribute {self.name!r}: {NOT_A_DATE}")
        return days

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "low": self.named(self.low),
            "high": self.named(self.high),
            "out_of_range": self.out_of_range,
            "optional": self.optional,
        }

    @classmethod
    def from_json(cls, value: Any) -> Date:
        """Read an attribute back, strictly."""
        names = ("kind", "name", "low", "high", "out_of_range", "optional")
        _, name, low, high, rule, optional = codec.fields(value, names, SchemaError, "an attribute of dates")
        if type(low) is not str or type(high) is not str:
            raise SchemaError("bounds of dates must be written as text")
        return cls(name, low, high, rule, optional)


@dataclass(frozen=True, init=False, repr=False)
class Time(Counted):
    """A time of day, counted in steps of so many seconds: `Time("wake_up", step=900)`, in quarters of an hour.

    A time counts as the last step before it, as on a clock that shows no more: with the step of a minute, 07:30:59 is
    07:30. `step` divides the day. Without bounds it is any time of the day. With bounds the range runs from low to high
    (the last step in it) and may go past midnight: `Time("bed_time", "18:00", "06:00")`. A time outside is an error, or
    with `out_of_range="clip"` counts as the bound that is nearer on the clock. `optional` is as for `Numeric`.

    Bounds and records are `datetime.time`, or text such as "07:30" or "07:30:00". In rows of estimates a time is the
    number of steps since midnight; `value` gives the time of such a number. A mean of times depends on where the range
    begins (`docs/kinds.md`): look at the distribution.
    """

    step: int = 60

    kind: ClassVar[str] = "time"
    rule: ClassVar[str] = NOT_A_TIME

    def __init__(
        self,
        name: str,
        low: str | time = "00:00",
        high: str | time | None = None,
        step: int = 60,
        out_of_range: Rule = "error",
        optional: bool = False,
    ) -> None:
        if type(step) is not int or not 1 <= step <= DAY // 2 or DAY % step:
            raise SchemaError(
                f"attribute {name!r}: step must be a number of seconds that divides the day, such as 60 or 900"
            )
        first = _seconds(low)
        last = (None if first is None else (first - step) % DAY) if high is None else _seconds(high)
        if first is None or last is None:
            raise SchemaError(f"attribute {name!r}: low and high must be times of day, such as 07:30")
        if first % step or last % step:
            raise SchemaError(f"attribute {name!r}: low and high must be whole numbers of steps of {step} seconds")
        if first == last:
            raise SchemaError(f"attribute {name!r}: low and high must differ")
        object.__setattr__(self, "step", step)
        start, steps = first // step, DAY // step
        end = start + (last // step - start) % steps
        self._declare(name, start, end, out_of_range, optional)
        # Times before low are counted from here on: half of those outside, which are nearer to low than to high.
        object.__setattr__(self, "_first", start - (steps - (end - start) - 1) // 2)

    def __repr__(self) -> str:
        fields = f"name={self.name!r}, low={self.named(self.low)!r}, high={self.named(self.high)!r}, step={self.step}"
        return f"Time({fields}, out_of_range={self.out_of_range!r}, optional={self.optional!r})"

    def value(self, number: float) -> time:
        """Return the time of a number of steps since midnight, the nearest second if it has a fraction."""
        seconds = math.floor(number * self.step + 0.5) % DAY
        return time(seconds // 3600, seconds // 60 % 60, seconds % 60)

    def named(self, number: float) -> str:
        """Return a number as a time, in ISO form: with seconds if steps have them."""
        return self._written(number * self.step, 1 if self.step % 60 else 60)

    def length(self, size: float) -> str:
        """Return a difference in hours, minutes or seconds."""
        seconds = size * self.step
        for unit, name in ((3600, "hour"), (60, "minute")):
            if abs(seconds) >= unit:
                return _counted(seconds / unit, name)
        return _counted(seconds, "second")

    def spanned(self, first: float | None, last: float | None) -> str:
        """Return the times from a first to a last step in words. The last one is named by its end: 07:00 to 07:59."""
        unit = 1 if self.step % 60 else 60
        start = "" if first is None else self._written(first * self.step, unit)
        end = "" if last is None else self._written((last + 1) * self.step - unit, unit)
        if first is None or last is None:
            return f"up to {end}" if first is None else f"from {start}"
        return start if start == end else f"{start} to {end}"

    def starts(self, bins: int) -> Sequence[int]:
        """Return the first steps of bins that are handy parts of the day, as few as there may be."""
        low, high = int(self.low), int(self.high)
        handy = [second // self.step for second in _SECONDS if second % self.step == 0] or [1]
        for size in (1, *handy, DAY // self.step):
            begun = range((low // size + 1) * size, high + 1, size)
            if len(begun) < bins:
                break
        return [low, *begun]

    def near(self, cut: float, width: float) -> float:
        """Return the nearest end of a handy part of the day, if bands are at least four of these wide."""
        for second in reversed(_SECONDS):
            size = second // self.step
            if second % self.step == 0 and 4 * size <= width:
                return float(math.floor((cut + 1) / size + 0.5) * size - 1)
        return cut

    def _written(self, seconds: float, unit: int) -> str:
        whole = math.floor(seconds / unit + 0.5) * unit % DAY
        return time(whole // 3600, whole // 60 % 60, whole % 60).isoformat("minutes" if unit == 60 else "seconds")

    def _number(self, value: object) -> float:
        seconds = _seconds(value)
        if seconds is None:
            raise RecordError(f"attribute {self.name!r}: {NOT_A_TIME}")
        return float(self.count(seconds))

    def count(self, seconds: Any) -> Any:
        """Return seconds since midnight (one number, or a column) in steps, from the first one on that is counted."""
        first = self._first  # type: ignore[attr-defined]
        return first + (seconds // self.step - first) % (DAY // self.step)

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "low": self._written(self.low * self.step, 1),
            "high": self._written(self.high * self.step, 1),
            "step": self.step,
            "out_of_range": self.out_of_range,
            "optional": self.optional,
        }

    @classmethod
    def from_json(cls, value: Any) -> Time:
        """Read an attribute back, strictly."""
        names = ("kind", "name", "low", "high", "step", "out_of_range", "optional")
        _, name, low, high, step, rule, optional = codec.fields(value, names, SchemaError, "an attribute of times")
        if not all(type(bound) is str and len(bound) == len("00:00:00") for bound in (low, high)):
            raise SchemaError("bounds of times must be written as text with seconds, such as 07:30:00")
        return cls(name, low, high, step, rule, optional)


# How the usual types are written, and an example of each.
_WRITTEN: dict[type, tuple[Callable[[Any], str], Any]] = {
    date: (methodcaller("isoformat"), date(2000, 1, 1)),
    time: (methodcaller("isoformat", "seconds"), time()),
}


def _text(value: object, kind: type[date] | type[time]) -> str:
    """Return a date or a time as text, and another value as an empty one. A text is returned as it is.

    With a text the example is written as well, so that it takes as long: what stands in for a missing value is a text.
    """
    write, example = _WRITTEN[kind]
    usual = type(value) is kind
    some = value if usual else example
    written, zone = write(some), getattr(some, "tzinfo", None)
    plain = written if usual else value if type(value) is str else _unusual(value, kind)
    return plain if zone is None else ""


def _unusual(value: object, kind: type[date] | type[time]) -> str:
    """Return the text of a subclass, which may have a form of its own. Midnight stands for its date."""
    if isinstance(value, str):
        return str.__str__(value)
    if not isinstance(value, kind) or getattr(value, "tzinfo", None) is not None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else ""
    return date.isoformat(value) if isinstance(value, date) else time.isoformat(value, "seconds")


def _days(value: object) -> float | None:
    """Return the number of days from 1970-01-01 to a date, or None if it is none."""
    text = _text(value, date)
    if not _DATE.fullmatch(text):
        return None
    try:
        return float(date.fromisoformat(text).toordinal() - _EPOCH)
    except ValueError:
        return None


def _seconds(value: object) -> int | None:
    """Return the number of whole seconds from midnight to a time of day, or None if it is none."""
    text = _text(value, time)
    if not _TIME.fullmatch(text):
        return None
    padded = f"{text}:00"
    return 3600 * int(padded[:2]) + 60 * int(padded[3:5]) + int(padded[6:8])


def _counted(size: float, unit: str) -> str:
    """Return a size with its unit."""
    text = f"{size:,.0f}" if abs(size) >= 100 else f"{size:.3g}"
    return f"{text} {unit}{'' if text == '1' else 's'}"


def _begins(day: date, months: int) -> bool:
    return day.day == 1 and (months == 1 or day.month == 1)


def _ends(day: date, months: int) -> bool:
    return day == date.max or _begins(date.fromordinal(day.toordinal() + 1), months)


def _last_before(month: int) -> int:
    """Return the last day before a month, counted from the year 0."""
    after = date(month // 12, month % 12 + 1, 1) if 12 <= month < 120_000 else date.max if month > 12 else date.min
    return after.toordinal() - _EPOCH - 1


KINDS |= {kind.kind: kind for kind in (Date, Time)}
