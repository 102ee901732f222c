"""Pairs of choices: the share of people who hold both of two values, and the share of those who hold none.

**Pairs.** A report of the picks channel is a set of w items (`hush.core.channels.picks`). It has h of the s held items
and w - h of the L others. Two given items are both in the set with probability

- a_2 = E[h(h-1)]/(s(s-1)) if both are held,
- a_1 = E[h(w-h)]/(s*L) if one of them is,
- a_0 = E[(w-h)(w-h-1)]/(L(L-1)) if neither is.

So E[both in the set] = a_0 + (a_1 - a_0)*(f + g) + (a_2 - 2*a_1 + a_0)*x, where f and g are the shares of the two
values and x is that of the people who hold both. Each single share has an unbiased estimate from a report,
((1 if in the set) - q)/(p - q). Put in its place, it leaves an unbiased estimate of x. This has one of three values, by
how many of the two are in the set, and its mean has an interval like that of any other mean.

A tally counts how often each item was reported, and not which ones together. So pairs need the reports.

**None.** A list is filled up with blanks, the first ones first. The last blank is held by those who hold nothing else.
So its share, which the tally has, is that of the people who hold no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, NamedTuple

from hush.core.channels import Picks
from hush.core.channels.squares import Squares
from hush.core.exact import WORD
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Choices
from hush.errors import EstimateError
from hush.server.estimates import Estimate, Estimates, shown
from hush.server.intervals import Sample, bounds, people_of, summarise
from hush.server.own import MANY, Among, among
from hush.server.relations.rows import Related, Relations, checked_level, related
from hush.server.sources import last_of_all
from hush.server.tally import Tally

NONE = "(none)"
"""The category of the people who hold no value of choices, in rows of `nothing`."""


class Pairs(Relations):
    """The shares of people who hold both of two values of choices. A row's `category` and `group` are the values."""

    _note: ClassVar[str] = "Each is the share of the people who hold both values."

    def _heading(self) -> str:
        return f"both of {self[0].attribute}" if self else "both"

    def _what(self, row: Related) -> str:
        return f"{row.category} and {row.group}"


def pairs(
    plan: Plan,
    reports: Iterable[Report],
    attribute: str,
    *,
    values: Sequence[str] | None = None,
    level: float = 0.95,
    simultaneous: bool = True,
    own: int = 0,
) -> Pairs:
    """Return the share of people who hold both of two values of choices, for all pairs of `values` (by default all).

    It needs the reports themselves, each once, and a plan that asks about all values in one question
    (`choices="pairs"`). Points are unbiased, and may be negative; intervals are cut to 0..1. By default all intervals
    hold together with probability `level`, as pairs are many. `own` of the reports are a relay's own.
    """
    found = Together(plan, attribute, values, own)
    for report in reports:
        if report.plan is not plan and report.plan != plan:
            raise EstimateError("a report is of another plan")
        for question, output in report.answers:
            if question == found.question:
                found.add((output,) if isinstance(output, int) else output)
    return found.pairs(level, simultaneous=simultaneous)


class Together:
    """Counts of the answers about choices: how many there are, with each of some values, and with each pair of them."""

    def __init__(self, plan: Plan, attribute: str, values: Sequence[str] | None = None, own: int = 0) -> None:
        choices, self.question, channel = _asked(plan, attribute)
        self._support = _support(channel, attribute)
        wanted = list(choices.values if values is None else values)
        for value in wanted:
            if value not in choices.values:
                raise EstimateError(f"attribute {attribute!r}: no value is called {value!r}")
        if len(set(wanted)) != len(wanted) or len(wanted) < 2:
            raise EstimateError(f"attribute {attribute!r}: pairs are of two values or more, each named once")
        self._attribute = attribute
        self.places = {choices.values.index(value): value for value in wanted}
        self.answers, self.alone, self.both = 0, Counter[int](), Counter[tuple[int, int]]()
        if type(own) is not int or own < 0:
            raise EstimateError("own must be a whole number, 0 or more: how many of the reports are a relay's own")
        self._own = among(plan, self.question, own)

    def add(self, members: Iterable[int]) -> None:
        """Count one answer, whose members are in order."""
        held = [place for place in members if place in self.places]
        self.answers += 1
        self.alone.update(held)
        self.both.update(combinations(held, 2))

    def pairs(self, level: float = 0.95, *, simultaneous: bool = True) -> Pairs:
        """Return the estimates of all pairs."""
        n, name, values = self.answers, self._attribute, tuple(map(float, self._support.values))
        found = list(combinations(sorted(self.places), 2))
        each = checked_level(level, len(found), simultaneous)
        rows, people = [], n if self._own is None else max(0, round(n - self._own.number))
        for one, other in found:
            two = self.both[one, other]
            single = self.alone[one] + self.alone[other] - 2 * two
            sample = summarise((n - single - two, single, two), values, self._support.squares)
            if self._own is not None:
                law = summarise(_counts(self._own, one, other), values, self._support.squares)
                left = people_of(sample, law, self._own.number, self._own.loose)
                assert isinstance(left, Sample)
                sample = left
            names = name, self.places[one], name, self.places[other]
            rows.append(related(names, sample.mean, sample.stderr, bounds(sample, each), (0.0, 1.0), people))
        return Pairs(rows, level=level, simultaneous=simultaneous)


def nothing(tally: Tally, attribute: str, *, level: float = 0.95) -> Estimates:
    """Return the share of people who hold no value of choices, which is not the same as a missing answer.

    It needs a plan that asks about all values in one question (`choices="picks"`).
    """
    _, index, channel = _asked(tally.plan, attribute)
    checked_level(level)
    without, within = map(float, channel.supports)
    sample = last_of_all(tally, index, (without, within))
    row = Estimate(attribute, NONE, sample.mean, sample.stderr, *bounds(sample, level), tally.answers(index))
    return Estimates([shown(row, tally.plan.schema)], level=level, schema=tally.plan.schema)


def _counts(own: Among, one: int, other: int) -> tuple[int, int, int]:
    """Return how many of `MANY` own reports have none of two items, one of them, or both."""
    found = [0.0, 0.0, 0.0]
    for output, chance in own.blanket.law.items():
        members = (output,) if isinstance(output, int) else output
        found[(one in members) + (other in members)] += chance
    single, both = round(MANY * found[1]), round(MANY * found[2])
    return MANY - single - both, single, both


def _asked(plan: Plan, attribute: str) -> tuple[Choices, int, Picks]:
    choices = plan.schema[attribute]
    if not isinstance(choices, Choices):
        raise EstimateError(f"attribute {attribute!r}: has no pairs of values, as a person has one; use hush.crosstab")
    for index, question in enumerate(plan.questions):
        if isinstance(question.channel, Picks) and question.attributes == (attribute,):
            return choices, index, question.channel
    raise EstimateError(
        f"attribute {attribute!r}: its plan asks about each value apart, so no report says which are held together; "
        'design it with choices="pairs", or declare a Boolean for each value, with relations'
    )


class Support(NamedTuple):
    """What a report adds to the estimate of a pair, if none, one or both of the two are in its set; and mean squares.

    People who hold none of the two and people who hold one have the same mean, 0, and other mean squares.
    """

    values: tuple[Fraction, Fraction, Fraction]
    squares: Squares


def _support(channel: Picks, attribute: str) -> Support:
    """Return what a report adds to the estimate of a pair."""
    s, others, w = channel.held, channel.size, channel.weight
    if s == 1:
        raise EstimateError(f"attribute {attribute!r}: nobody may hold two values, as most is 1")

    def mean(count: Callable[[int], int]) -> Fraction:
        return Fraction(sum(share * count(h) for h, share in enumerate(channel.shares)), WORD)

    both = mean(lambda h: h * (h - 1)) / (s * (s - 1))
    one = mean(lambda h: h * (w - h)) / (s * others)
    neither = mean(lambda h: (w - h) * (w - h - 1)) / (others * (others - 1))
    bend = both - 2 * one + neither
    if w == 1 or bend == 0:
        raise EstimateError(
            f"attribute {attribute!r}: its reports have one value each, so they say nothing about pairs; "
            'design it with choices="pairs"'
        )
    p, q = channel.p, channel.q
    slope = (one - neither) / (p - q)
    values = [(Fraction(count == 2) - neither - slope * (count - 2 * q)) / bend for count in range(3)]
    squares = []
    for in_set, ones in ((neither, 2 * q), (one, p + q), (both, 2 * p)):
        law = (1 - ones + in_set, ones - 2 * in_set, in_set)
        squares.append(float(sum(chance * value**2 for chance, value in zip(law, values, strict=True))))
    ends = [((0.0, least), (1.0, squares[2])) for least in (min(squares[:2]), max(squares[:2]))]
    return Support((values[0], values[1], values[2]), Squares(ends[0], ends[1]))
