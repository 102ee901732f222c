"""The precision of a collection, before anybody is asked: standard errors and margins from the exact channels.

A prediction puts the average moments of a population's reports into the same formulas as real ones. The interval is the
one that `hush.estimate` would give for these moments. Nothing is simulated. `hush.planning.assumed` has the population:
every prediction says whether it is for the worst people, for typical ones, or for those that `guesses` describes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from hush.core.calendar import Counted
from hush.core.channels import Ladder, Reading, Summed
from hush.core.channels.squares import between
from hush.core.plan import Plan
from hush.core.schema import MISSING, Attribute, Choices, Numeric, Schema
from hush.errors import DesignError
from hush.planning import own as relay
from hush.planning.assumed import (
    MANY,
    Assumed,
    Guess,
    Guesses,
    checked,
    missing_of,
    places,
)
from hush.planning.own import Part
from hush.planning.wide import USUAL, precision
from hush.server.intervals import Ratio, Sample, bounds, moments
from hush.server.sources import Scale, Source, Target, any_of, category_of, long_lists, repeated, sources
from hush.show.rows import R, Rows
from hush.show.tables import Table, number, percent

_bounds = lru_cache(maxsize=256)(bounds)  # categories with the same guess have the same bounds
_GRID = 64
_LISTED = 4  # categories that a row names


@dataclass(frozen=True)
class Prediction:
    """The standard error of a mean (category None) or share, and the margin of its interval, for this many answers.

    `assumed` says of which people: "worst", "typical" or "guessed", as in `hush.planning.assumed`.
    """

    attribute: str
    category: str | int | None
    stderr: float
    margin: float
    answers: float
    assumed: Assumed = "worst"


class Predictions(Rows[Prediction]):
    """A list of predictions, with the number of people, a relay's own reports and the level of the intervals."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "stderr": float,
        "margin": float,
        "answers": float,
        "assumed": str,
    }

    def __init__(
        self,
        rows: Iterable[Prediction] = (),
        *,
        people: int | None = None,
        level: float | None = None,
        own: int = 0,
        schema: Schema | None = None,
    ) -> None:
        super().__init__(rows)
        self.schema = schema
        self.people = people
        self.own = own
        self.level = level

    def table(self) -> Table:
        """Return them as a table; categories with the same numbers share a row."""
        groups: dict[tuple[str, bool, float], list[Prediction]] = {}
        for row in self:
            groups.setdefault((row.attribute, row.category is None, row.margin), []).append(row)
        sizes = Counter(row.attribute for row in self if row.category is not None)
        two = self._two_means()
        shown = []
        for (attribute, mean, margin), group in groups.items():
            what = "mean" if mean else f"share of {group[0].category}"
            if mean and two[attribute] and group[-1] is two[attribute][-1]:
                what = "clipped mean"
            if len(group) > 1:
                what = f"each of {len(group)} shares"
            if 1 < len(group) < sizes[attribute]:  # others have a row of their own: say which these are
                what += f": {listed([str(row.category) for row in group])}"
            field = self.schema[attribute] if mean and self.schema is not None else None
            error, wide = sized(field, group[0].stderr), sized(field, margin)
            shown.append((attribute, what, error, f"±{wide}", f"{group[0].answers:,.0f}", group[0].assumed))
        columns = ("attribute", "estimate", "standard error", percent(self.level, "margin"), "answers", "people")
        own = f" and {self.own:,} reports of a relay" if self.own else ""
        asked = () if self.people is None else (f"From {self.people:,} people{own}, before any is asked.",)
        return Table(columns, shown, texts=2, notes=(*asked, *self.whom()))

    def _two_means(self) -> dict[str, list[Prediction]]:
        """Return the means of numbers that have two: wide ones that relations tell of. The clipped one is the last."""
        means: dict[str, list[Prediction]] = {row.attribute: [] for row in self}
        for row in self:
            if row.category is None:
                means[row.attribute].append(row)
        return {name: rows if len(rows) > 1 else [] for name, rows in means.items()}

    def whom(self) -> Iterator[str]:
        """Yield sentences about which people are assumed."""
        if any(row.assumed == "worst" for row in self):
            yield "worst: half of the people at either end of a range, or half of them holding a category."
        typical = {row.attribute: row for row in self if row.assumed == "typical"}
        if self.schema is None or not typical:
            return
        fields = [self.schema[name] for name in typical]
        wide = [one.name for one in fields if _is_wide(one)]
        left = [one.name for one in fields if one.optional and isinstance(one, Numeric)]
        long = [one.name for one in fields if not isinstance(one, Numeric)]
        if left:
            yield (
                f"typical: half of the people leave out {listed(left)}. If more do, the margin of the mean is wider: "
                "give a guess."
            )
        if wide:
            yield f"typical: the mean of {listed(wide)} is a {USUAL}th of the range, and so is the standard deviation."
        if long:
            yield (
                f"typical: the values of {listed(long)} are equally frequent. Those that many people hold have wider "
                "margins: give a guess."
            )


def _is_wide(attribute: Attribute) -> bool:
    return isinstance(attribute, Numeric) and attribute.scale == "log"


def sized(field: Attribute | None, size: float) -> str:
    """Return a standard error or a margin in words: a date is off by days, and not by a number."""
    return (field.length(size) if isinstance(field, Counted) else None) or number(size)


def listed(names: Sequence[str]) -> str:
    """Name some categories, and count the others."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def by_target(rows: Iterable[R]) -> dict[tuple[str, str], list[R]]:
    """Return rows by attribute and target: "mean", the "missing" of a number, or all "shares" of a category."""
    found: dict[tuple[str, str], list[R]] = {}
    for row in rows:
        what = "shares"
        if row.category is None:
            what = "mean"
        elif row.category == MISSING and (row.attribute, "mean") in found:
            what = "missing"
        found.setdefault((row.attribute, what), []).append(row)
    return found


@dataclass(frozen=True)
class Prospect:
    """The expected reports about one target, before any data. A share `inclusion` of the people answer.

    `report` has the moments of one report's value in the assumed population, and `deviation` is its standard deviation.
    For the mean of an optional attribute, they are those of a ratio and of its linear part.
    """

    attribute: Attribute
    symbol: int | None
    inclusion: float
    report: Sample | Ratio
    deviation: float
    parts: tuple[Part, ...]
    own_parts: tuple[Part, ...] = ()
    assumed: Assumed = "worst"

    @property
    def key(self) -> tuple[object, ...]:
        """The same for targets of an attribute that are predicted alike, as its categories are without guesses."""
        parts = [
            (part.inclusion, part.noise, part.variance, part.report.point) for part in (*self.parts, *self.own_parts)
        ]
        return self.attribute.name, self.symbol is None, self.assumed, *parts

    def prediction(self, people: int, level: float, own: int = 0) -> Prediction:
        """Return the prediction for this many people, and this many reports of a relay's own."""
        scale = Scale(self.attribute, self.symbol)
        answers = people * self.inclusion
        report, variance = self.report, self.deviation**2
        if own:
            report, variance = relay.beside(self.parts, self.own_parts, people, own)
        low, high = scale.bounds(_bounds(_times(report, answers), level))
        stderr = scale.half * math.sqrt(variance / answers)
        category = category_of(self.attribute, self.symbol)
        margin = min(high / 2 - low / 2, scale.high / 2 - scale.low / 2)  # the interval is cut to the domain
        return Prediction(self.attribute.name, category, stderr, margin, answers, self.assumed)


def predict(
    plan: Plan, people: int, *, own: int = 0, level: float = 0.95, guesses: Guesses | None = None
) -> Predictions:
    """Return the precision to expect from this many people: the rows of `hush.estimate`, before any data.

    The margin is half of the width of the interval that `hush.estimate` would give if it were not cut at one end of the
    domain: with many people that of a normal interval, with few somewhat more, and half of the domain at most. So it is
    not always in proportion to `stderr`. The number of answers about an attribute is `people` times the probability
    that its question is asked. The prediction assumes the ratio estimator.

    Every row says which people it assumes: the worst ones, typical ones (`hush.planning.assumed` has both) or those of
    `guesses`.

    own: how many reports a relay adds to those of the people, in all batches together. The collector subtracts their
    average; their noise remains, and is predicted too.
    """
    if type(people) is not int or people < 1:
        raise DesignError("people must be a whole number, 1 or more")
    check_level(level)
    relay.check(own)
    known = checked(guesses, plan.schema)
    made: dict[tuple[object, ...], Prediction] = {}
    rows = []
    for one in prospects(plan, guesses, own=own > 0):
        if one.key not in made:
            made[one.key] = one.prediction(people, level, own)
        rows.append(replace(made[one.key], category=category_of(one.attribute, one.symbol)))
    rows += wide_rows(plan, people, own, level, known, range(len(plan.questions)))
    rows = repeated(rows, plan, _alike(plan, known, own=own > 0))
    return Predictions(rows, people=people, level=level, own=own, schema=plan.schema)


def wide_rows(
    plan: Plan, people: int, own: int, level: float, guesses: Mapping[str, Any], indexes: Sequence[int]
) -> list[Prediction]:
    """Return the precision of the clipped means of wide numbers, among these questions."""
    found = []
    for index in indexes:
        channel, number, inclusion = plan.questions[index].channel, plan.attributes[index][0], plan.inclusions[index]
        if not isinstance(channel, Ladder) or not isinstance(number, Numeric):
            continue
        guess = guesses.get(number.name)
        assumed: Assumed = "typical" if guess is None else "guessed"
        n = max(round(people * float(inclusion)), 2)
        missing = missing_of(number, guess)
        mean, width = (None, 0.0) if guess is None else (guess.mean, guess.spread)
        added = relay.beside_of(plan, index, own) if own else None
        error, margin = precision(channel, number, n, level, mean, width, missing, added)
        margin = min(margin, number.high / 2 - number.low / 2)
        found.append(Prediction(number.name, None, error, margin, people * float(inclusion), assumed))
        if number.optional:
            known = None if guess is None else guess.missing
            found.append(_absent(channel, number, known, people * float(inclusion), level))
    return found


def _absent(channel: Ladder, number: Numeric, guess: float | None, answers: float, level: float) -> Prediction:
    """Return the precision of the share of missing of a wide number: by the output "missing", as in estimates."""
    here, gone = float(channel.table[0][-1]), float(channel.table[-1][-1])
    low, high = -here / (gone - here), (1 - here) / (gone - here)
    share = min(max(low / 2 + high / 2, 0.0), 1.0) if guess is None else guess  # the least certain one, or the guess
    up = (share - low) / (high - low)
    ends = Scale(number, 1).bounds(_bounds(_times(moments([1 - up, up], (low, high)), answers), level))
    stderr = math.sqrt((high - share) * (share - low) / answers)
    assumed: Assumed = "worst" if guess is None else "guessed"
    return Prediction(number.name, MISSING, stderr, min(ends[1] / 2 - ends[0] / 2, 0.5), answers, assumed)


def _alike(plan: Plan, guesses: Mapping[str, Any], *, own: bool) -> list[int]:
    """Return the questions about long lists whose categories are all predicted alike: nothing is guessed of them."""
    return [] if own else [index for index in long_lists(plan) if plan.attributes[index][0].name not in guesses]


def prospects(plan: Plan, guesses: Guesses | None = None, *, own: bool = False) -> list[Prospect]:
    """Return the prospect of every target, which does not depend on the number of people; with own reports if asked.

    All categories of a long list have the same one, which is there once (`_alike`).
    """
    known = checked(guesses, plan.schema)
    found = []
    apart = _alike(plan, known, own=own)
    targets = [*sources(plan, apart=apart), *(any_of(plan, index) for index in apart)]
    added: Sequence[Sequence[Part]] = relay.own_parts(plan) if own else [()] * len(targets)
    for target, others in zip(targets, added, strict=True):
        guess = known.get(target.attribute.name)
        reports = [_report(source, target, guess) for source in target.sources]
        parts = [
            Part(float(source.inclusion), source.noise, report, 1 - _missing(target, guess))
            for source, (report, _) in zip(target.sources, reports, strict=True)
        ]
        asked = sum(part.inclusion for part in parts)
        report, variance = reports[0]
        if len(parts) > 1:
            variance = relay.pooled(parts)
            report = relay.normal(report, variance)
        prospect = Prospect(
            target.attribute,
            target.symbol,
            asked,
            report,
            math.sqrt(variance),
            tuple(parts),
            tuple(others),
            _assumed(target, guess),
        )
        found.append(prospect)
    return found


def _assumed(target: Target, guess: Any) -> Assumed:
    """Return for which people a target is predicted."""
    attribute = target.attribute
    if guess is not None and not (target.symbol is not None and isinstance(guess, Guess) and guess.missing is None):
        return "guessed"
    if isinstance(attribute, Numeric):
        return "typical" if attribute.optional and target.symbol is None else "worst"
    return "typical" if len(attribute.labels) >= MANY else "worst"


Report = tuple[Sample | Ratio, float]
"""The moments of one report's value, and its variance (for a ratio, that of its linear part)."""


def _times(report: Sample | Ratio, n: float) -> Sample | Ratio:
    """Return the expected sample of n reports."""
    if isinstance(report, Sample):
        return replace(report, n=n)
    return replace(report, numerator=replace(report.numerator, n=n), denominator=replace(report.denominator, n=n))


def _report(source: Source, target: Target, guess: Any) -> Report:
    """Return the moments of one report, for the guess or the worst population."""
    attribute, reading = target.attribute, source.reading
    if isinstance(attribute, Numeric):
        populations, missing = _populations(attribute, guess)
        if isinstance(reading, Summed):
            return max((_of_sums(reading, people, missing) for people in populations), key=itemgetter(1))
        return max((_of_numbers(source, reading, people, missing) for people in populations), key=itemgetter(1))
    if guess is None:
        if len(attribute.labels) >= MANY:
            held = attribute.most / 2 if isinstance(attribute, Choices) else 1  # as `hush.core.design.sets` assumes
            return _of_share(reading, held / len(attribute.labels))
        return max((_of_share(reading, f / _GRID) for f in range(_GRID + 1)), key=itemgetter(1))
    return _of_share(reading, float(guess.get(category_of(attribute, target.symbol), 0.0)))


def _of_share(reading: Reading | Summed, share: float) -> Report:
    """Return the moments of a report about a category that a share of the people hold."""
    if isinstance(reading, Summed):
        variance = reading.squares.variances(share)[1]
        return Sample(1.0, share, variance, reading.smallest, reading.largest, False, reading.squares), variance
    return _of_two(reading, share)


def _of_sums(reading: Summed, people: Two, missing: float) -> Report:
    """Return the moments of a report about a number or its absence, for a channel that gives sums."""
    if reading.symbol is not None:
        return _of_share(reading, missing)
    squares, mean = reading.squares, people.mean
    present = people.average(squares.upper) + squares.bend * mean * mean
    if reading.presence is None:
        return Sample(1.0, mean, present, reading.smallest, reading.largest, False, squares), present
    ((value, presence),) = squares.absent
    absent = value + mean * mean * presence
    variance = ((1 - missing) * present + missing * absent) / (1 - missing) ** 2
    return relay.normal(Sample(1.0, mean, variance, -1.0, 1.0, False, squares), variance), variance


class Two(NamedTuple):
    """People at two positions of a number on the scale [-1, 1], a share `part` of the present at the lower one."""

    low: float
    high: float
    part: float = 0.5

    @property
    def mean(self) -> float:
        """Their mean."""
        return self.part * self.low + (1 - self.part) * self.high

    def average(self, points: Sequence[tuple[float, float]]) -> float:
        """Return the average of a function that is linear between points."""
        return self.part * between(points, self.low) + (1 - self.part) * between(points, self.high)


def _populations(attribute: Numeric, guess: Guess | None) -> tuple[list[Two], float]:
    """Return the possible positions of the present people, and the share of missing."""
    missing = missing_of(attribute, guess)
    if guess is None or guess.mean is None:
        return [Two(-t / _GRID, t / _GRID) for t in range(_GRID + 1)], missing
    centre, spread = places(attribute, guess)
    low, high = centre - spread, centre + spread
    if low < -1 or high > 1:  # one of them is the end of the range, with fewer or more people
        side = -1.0 if low < -1 else 1.0
        room = max(abs(side - centre), 1e-12)
        other = centre - math.copysign(min(spread * spread / room, 2.0), side)
        part = spread * spread / (spread * spread + room * room)
        found = (side, other, part) if side < 0 else (other, side, 1 - part)
        return [Two(max(found[0], -1.0), min(found[1], 1.0), found[2])], missing
    return [Two(low, high)], missing


def _missing(target: Target, guess: Any) -> float:
    """Return the assumed share of people without the number whose mean is the target."""
    if target.symbol is None and isinstance(target.attribute, Numeric):
        return _populations(target.attribute, guess)[1]
    return 0.0


def _of_two(reading: Reading, mean: float) -> Report:
    """Return the moments of a report with one of two values: the mean determines the law of two values."""
    low, high = reading.values
    up = (mean - low) / (high - low)
    return moments([1 - up, up], reading.values), (high - mean) * (mean - low)


def _of_numbers(source: Source, reading: Reading, people: Two, missing: float) -> Report:
    """Return the moments of a report if the present people are at two positions."""
    channel = source.channel
    if len(reading.values) == 2:
        return _of_two(reading, missing if reading.symbol is not None else people.mean)
    if reading.squares is not None and channel.likelihood(0.5) is None:  # an output depends on other numbers too
        mean, squares = people.mean, reading.squares
        variance = people.average(squares.upper) + squares.bend * mean * mean
        return Sample(1.0, mean, variance, min(reading.values), max(reading.values), False, squares), variance
    laws = [channel.likelihood((t + 1) / 2) or [] for t in (people.low, people.high)]
    part = people.part
    law = [(1 - missing) * (part * a + (1 - part) * b) for a, b in zip(*laws, strict=True)]
    if missing:
        law = [a + missing * b for a, b in zip(law, channel.likelihood(None) or [], strict=True)]
    top = moments(law, reading.values, reading.squares)
    if reading.presence is None:
        return top, top.variance
    bottom = moments(law, reading.presence)
    products = (
        p * (v - top.mean) * (g - bottom.mean) for p, v, g in zip(law, reading.values, reading.presence, strict=True)
    )
    found = Ratio(top, bottom, math.fsum(products))
    return found, found.spread(found.point) / bottom.mean**2


def check_level(level: float) -> None:
    """Refuse a level that is no probability."""
    if not 0 < level < 1:
        raise DesignError("level must be a number between 0 and 1, such as 0.95")
