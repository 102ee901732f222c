"""Means of a number by group, and the differences between groups.

The rows channel gives, for each group j, an unbiased average X_j of the numbers of its members (0 for all others) and
F_j of membership. The mean of the group is the quotient m = X_j/F_j.

**Better known shares.** Other questions may say more of the share of a group (`hush.server.relations.margins`). With
G_j, the pooled share from other questions, m = X_j/(theta*F_j + (1-theta)*G_j) has the least error for

    theta = (f*(F_1 - f)/n + v)/(V/n + v),

where f is the share, F_1 the value of F_j in a report that names row j, V the variance of F_j in one report, and v that
of G_j: the covariance of X_j and F_j is m*f*(F_1 - f), so m cancels. Theta follows from the laws of the channels, the
numbers of answers and the estimated shares.

**Intervals** have every m for which the data are plausible, as for all quotients (Fieller 1954): if a group may be
empty, its mean may be anything in the domain. Weights and variances are computed from shares with one person more for
each group, (n*share + 1)/(n + groups): with few people and a large epsilon a group that seems to be empty would
otherwise have no variance at all.

**Differences** take the distances of both intervals from their points (`hush.server.intervals.difference`). The
covariance of two groups of one question is exact: given a person of group i, the number reported for row j has mean 0
whatever else is reported, so only memberships and the own row's number contribute. It counts where it widens the
interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from hush.core.channels import Rows
from hush.core.looking import View
from hush.core.schema import Categorical, Numeric
from hush.core.views import Value
from hush.errors import EstimateError
from hush.server.intervals import Interval, Ratio, beyond, difference, people_of, ratio, ratio_interval, tester
from hush.server.own import MANY, Among
from hush.server.relations.margins import Margin, margin
from hush.server.relations.rows import Related, Relations, checked_level, related
from hush.server.simplex import simplex
from hush.server.sources import Scale
from hush.server.tally import Tally

if TYPE_CHECKING:
    import altair as alt


class Means(Relations):
    """The means of a number in the groups by another attribute."""

    _scaled: ClassVar = ("point", "low", "high")

    def __init__(
        self,
        rows: Iterable[Related] = (),
        *,
        level: float | None = None,
        simultaneous: bool = False,
        grouped: Grouped | None = None,
    ) -> None:
        named = None if grouped is None else grouped.number.named
        super().__init__(rows, level=level, simultaneous=simultaneous, named=named)
        self._grouped = grouped
        self.number = None if grouped is None else grouped.number

    def _heading(self) -> str:
        return f"mean of {self[0].attribute} by {self[0].by}" if self else "mean"

    def _what(self, row: Related) -> str:
        return str(row.group)

    def plot(self) -> alt.LayerChart:
        """Draw the means with their intervals, as an Altair chart. Needs `pip install 'hush-ldp[plot]'`."""
        from hush import plots

        return plots.means(self)

    def differences(self, versus: str | int | None = None) -> Differences:
        """Return how far the means of groups lie above the mean of one group (or each above each before it).

        An interval that does not contain 0 says that the groups differ.
        """
        if self._grouped is None or self.level is None:
            raise EstimateError("these rows do not know their tally: use those that hush.means returned")
        labels = [row.group for row in self]
        if versus is not None and versus not in labels:
            raise EstimateError(f"no group is called {versus!r}; there are: {', '.join(map(repr, labels))}")
        pairs = [
            (i, j)
            for j in range(len(labels))
            for i in range(len(labels))
            if (i > j if versus is None else labels[j] == versus and i != j)
        ]
        each = checked_level(self.level, len(pairs), self.simultaneous)
        number, found = self._grouped.number, []
        width = number.high - number.low
        for i, j in pairs:
            point, stderr, ends = self._grouped.difference(i, j, each)
            row = self[i]
            names = row.attribute, None, row.by, f"{labels[i]} - {labels[j]}"
            found.append(related(names, point, stderr, ends, (-width, width), row.answers))
        return Differences(found, level=self.level, simultaneous=self.simultaneous, named=number.length)


class Differences(Relations):
    """Differences between the means of two groups."""

    def plot(self) -> alt.LayerChart:
        """Draw the differences with their intervals, as an Altair chart. Needs `pip install 'hush-ldp[plot]'`."""
        from hush import plots

        return plots.differences(self)

    def _heading(self) -> str:
        return f"difference of {self[0].attribute} by {self[0].by}" if self else "difference"

    def _what(self, row: Related) -> str:
        return str(row.group)


def means(
    tally: Tally, attribute: str, *, by: str, level: float = 0.95, pooled: bool = True, simultaneous: bool = False
) -> Means:
    """Return the mean of a number in every group by a category or by bands, with intervals.

    For an optional number they are the means of the present. `pooled` uses what other questions say of the groups'
    shares. A group of few people gets a wide interval, at most the whole domain.
    """
    if not isinstance(tally, Tally):
        raise EstimateError("means(tally, attribute, by=...) needs a Tally")
    found = grouped(tally, attribute, by, pooled)
    labels = found.labels
    each = checked_level(level, len(labels), simultaneous)
    scale = Scale(found.number, None)
    rows = []
    for j, label in enumerate(labels):
        point, stderr, bounds = found.mean(j, each)
        value = scale.value(point)
        ends = scale.around(bounds, value, cut=False)
        names = attribute, None, by, label
        rows.append(related(names, value, scale.half * stderr, ends, (scale.low, scale.high), found.answers))
    return Means(rows, level=level, simultaneous=simultaneous, grouped=found)


@dataclass(frozen=True)
class Grouped:
    """The counts of a rows question, and the shares of its groups from other questions."""

    channel: Rows
    counts: tuple[int, ...]
    whole: int
    number: Numeric
    labels: tuple[str | int, ...]
    beside: Margin | None
    own: Among | None = None

    @cached_property
    def n(self) -> float:
        """The number of people who answered this question."""
        return self.whole if self.own is None else self.whole - self.own.number

    @property
    def answers(self) -> int:
        """The number of answers to all questions that it comes from."""
        return round(self.n) + (self.beside.answers if self.beside else 0)

    @cached_property
    def ratios(self) -> list[Ratio]:
        """The numerators and denominators of all groups, from this question alone."""
        found = _ratios(self.channel, self.counts, self.whole)
        if self.own is None:
            return found
        laws = _ratios(self.channel, self.own.counts, MANY)
        left = [people_of(one, law, self.own.number, self.own.loose) for one, law in zip(found, laws, strict=True)]
        return [one for one in left if isinstance(one, Ratio)]

    @cached_property
    def _known(self) -> list[tuple[float, float]] | None:
        """The share of every group from other questions, and its variance."""
        if self.beside is None:
            return None
        size = len(self.labels)
        return [
            (point, self.beside.variance([float(i == j) for i in range(size)]))
            for j, point in enumerate(self.beside.points)
        ]

    @cached_property
    def _masses(self) -> list[float]:
        """The shares of the groups' (present) members that variances use."""
        if self._known is not None:
            found = simplex([share for share, _ in self._known])
        else:
            here = [max(one.denominator.mean, 0.0) for one in self.ratios]
            found = [share / max(math.fsum(here), 1.0) for share in here]
        return [(self.n * share + 1) / (self.n + len(found)) for share in found]

    @cached_property
    def _thetas(self) -> list[float]:
        """The weight of this question's own membership in the denominator of every group."""
        if self._known is None:
            return [1.0] * len(self.labels)
        here = float(self.channel.presences[1])
        found = []
        for one, f, (_, variance) in zip(self.ratios, self._masses, self._known, strict=True):
            spread = one.denominator.variance
            if one.own is not None and isinstance(one.own.law, Ratio):
                spread += one.own.per * one.own.law.denominator.variance
            # Of a group that nobody was seen in, the spread is that of its share with one person more.
            spread = max(spread, f * (here - f))
            found.append((f * (here - f) / self.n + variance) / (spread / self.n + variance))
        return found

    def _share(self, j: int) -> float:
        """Return the share of a group: from this question and from others."""
        own = self.ratios[j].denominator.mean
        if self._known is None:
            return own
        return self._thetas[j] * own + (1 - self._thetas[j]) * self._known[j][0]

    def mean(self, j: int, level: float) -> tuple[float, float, Interval]:
        """Return the mean of a group on the scale [-1, 1], its standard error and its interval."""
        one = self.ratios[j]
        if self._known is None or self.n < 2:
            return one.point, one.stderr, ratio_interval(one, level)
        share, theta, (_, variance) = self._share(j), self._thetas[j], self._known[j]
        if not share > 0:
            return math.nan, math.inf, (-math.inf, math.inf)
        top = one.numerator.mean

        known = one.numerator.squares
        assert known is not None
        test = tester(self.n, level, one.freedom)

        def spread(x: float) -> float:
            found = one.spread(x * theta) + self.n * (x * (1 - theta)) ** 2 * variance
            if one.own is not None:  # of the members x*(1 - theta) is left, as their share is known from elsewhere too
                found += one.own.at(x * theta, x * (1 - theta) * share) - one.own.at(x * theta)
            return found

        def plausible(x: float) -> bool:
            away, inside = top - x * share, min(max(x, -1.0), 1.0)
            room = 1 - x - away if away < 0 else away + 1 + x
            return test(away, spread(x), 0.0, known.variances(inside)[1] + one.added(inside), room)

        point = top / share
        stderr = math.sqrt(spread(point) / self.n) / share
        return point, stderr, beyond(plausible, point, 2.0)

    def shift(self, j: int, reports: int) -> float:
        """Return how far malicious reports can have moved the mean of a group, on the scale [-1, 1]."""
        one, theta, share = self.ratios[j], self._thetas[j], self._share(j)
        point = self.mean(j, 0.95)[0]
        if math.isnan(point):
            return math.inf
        reading = self.channel.groups(self.counts, self.whole)[j]
        assert reading.presence is not None
        mixed = [v - point * theta * g for v, g in zip(reading.values, reading.presence, strict=True)]
        moved = reports * (max(mixed) - min(mixed)) / self.n
        less = theta * reports * (one.denominator.largest - one.denominator.smallest) / self.n
        if self.beside is not None:
            # A report to another question moves the share that the sum is divided by.
            law = min(
                part.shares.n * (part.shares.law.p - part.shares.law.q) / part.weight for part in self.beside.parts
            )
            aside = reports * (1 - theta) / law
            moved, less = max(moved, abs(point) * aside), max(less, aside)
        return moved / (share - less) if share > less else math.inf

    def difference(self, i: int, j: int, level: float) -> tuple[float, float, Interval]:
        """Return the difference of the means of two groups, its standard error and interval, on the number's scale."""
        scale = Scale(self.number, None)
        (x, a, one), (y, b, other) = self.mean(i, level), self.mean(j, level)
        if math.isnan(x) or math.isnan(y):
            return math.nan, math.inf, (-math.inf, math.inf)
        covariance = self._covariance(i, j, x, y)
        correlation = covariance / (a * b) if a > 0 and b > 0 else 0.0
        point, (low, high) = difference((x, one), (y, other), correlation, (-1.0, 1.0))
        stderr = scale.half * math.sqrt(max(a * a + b * b - 2 * covariance, 0.0))
        return scale.half * point, stderr, (scale.half * low, scale.half * high)

    def _covariance(self, i: int, j: int, x: float, y: float) -> float:
        """Return the covariance of the estimated means of two groups."""
        one, other = self._thetas[i], self._thetas[j]
        total = self._within(i, j, one * x, other * y, x, y) / self.n
        if self.beside is not None:
            total += (1 - one) * x * (1 - other) * y * _covariance_of(self.beside, i, j)
        return total / (self._share(i) * self._share(j))

    def _within(self, i: int, j: int, b: float, c: float, x: float, y: float) -> float:
        """Return the covariance of X_i - b*F_i and X_j - c*F_j in one report, for groups with means x and y."""
        channel = self.channel
        absent, here = float(channel.presences[0]), float(channel.presences[1])
        p, q, (together, apart) = float(channel.p), float(channel.q), map(float, channel.pairs)
        f, g = self._masses[i], self._masses[j]
        gap = here - absent

        def products(pair: float, first: float, second: float) -> float:
            """E[F_i*F_j], if the two rows are named with these probabilities, and together with `pair`."""
            return absent * absent + absent * gap * (first + second) + gap * gap * pair

        both = f * products(together, p, q) + g * products(together, q, p) + (1 - f - g) * products(apart, q, q)
        # A number of the own row is not 0 on average; given that the own row is named, another is with this chance.
        other = absent + gap * together / p
        cross = -c * f * x * other - b * g * y * other
        means = (f * x - b * f, g * y - c * g)
        return b * c * both + cross - means[0] * means[1] + self._added(i, j, b, c)

    def _added(self, i: int, j: int, b: float, c: float) -> float:
        """Return what own reports add to that covariance."""
        if self.own is None:
            return 0.0
        one, other = self.ratios[i], self.ratios[j]
        assert one.own is not None
        assert other.own is not None
        assert isinstance(one.own.law, Ratio)
        assert isinstance(other.own.law, Ratio)
        means = one.own.law.away(b), other.own.law.away(c)
        values, mixed, presences = self._blanket
        inside = values - (b + c) * mixed + b * c * presences - means[0] * means[1]
        return one.own.per * (inside + one.own.loose * (means[0] - one.away(b)) * (means[1] - other.away(c)))

    @cached_property
    def _blanket(self) -> tuple[float, float, float]:
        """The averages of X_i*X_j, X_i*F_j and F_i*F_j in an own report: the same for any two groups."""
        assert self.own is not None
        reading = self.channel.groups(self.counts, self.whole)[0]
        assert reading.presence is not None
        found = [0.0, 0.0, 0.0]
        for output, chance in self.own.blanket.law.items():
            named = {}
            for member in (output,) if isinstance(output, int) else output:
                named[member // self.channel.group] = 1 + member % self.channel.group
            first, second = named.get(0, 0), named.get(1, 0)
            x, y = reading.values[first], reading.values[second]
            f, g = reading.presence[first], reading.presence[second]
            for place, product in enumerate((x * y, (x * g + f * y) / 2, f * g)):
                found[place] += chance * product
        return found[0], found[1], found[2]


def _ratios(channel: Rows, counts: Sequence[int], n: int) -> list[Ratio]:
    """Return the numerators and denominators of all groups."""
    found = []
    for one in channel.groups(counts, n):
        assert one.presence is not None
        found.append(ratio(one.counts, one.values, one.presence, one.squares))
    return found


def _covariance_of(beside: Margin, i: int, j: int) -> float:
    """Return the covariance of two pooled shares, by the variances of their sum and their difference."""
    size = len(beside.labels)
    plus = beside.variance([float(k in (i, j)) for k in range(size)])
    minus = beside.variance([float(k == i) - float(k == j) for k in range(size)])
    return (plus - minus) / 4


def grouped(tally: Tally, attribute: str, by: str, pooled: bool = True) -> Grouped:
    """Return the counts for the means of a number by groups."""
    plan = tally.plan
    number = plan.schema[attribute]
    plan.schema[by]  # raises an error that lists the names, if there is no such attribute
    if not isinstance(number, Numeric):
        raise EstimateError(f"attribute {attribute!r}: is categorical; use hush.crosstab")
    asking = [
        index
        for index, question in enumerate(plan.questions)
        if isinstance(question.channel, Rows)
        and question.views[0].of == (by,)
        and question.views[1] == Value(attribute)
    ]
    if not asking:
        raise EstimateError(
            f"attribute {attribute!r}: the plan does not ask it by {by!r}; design it with "
            f'relations=[({attribute!r}, {by!r}, "means")]'
        )
    index = asking[0]
    channel, groups = plan.questions[index].channel, plan.questions[index].views[0]
    seen = groups.seen(plan.schema)
    assert isinstance(channel, Rows)
    assert isinstance(seen, Categorical)
    if not tally.answers(index):
        raise EstimateError(f"attribute {attribute!r}: nobody has answered the question by {by!r} yet")
    beside = _others(tally, groups, index) if pooled and plan.k == 1 and not number.optional else None
    counts, whole, own = tuple(tally.counts[index]), tally.answered[index], tally.among(index)
    return Grouped(channel, counts, whole, number, tuple(seen.labels), beside, own)


def _others(tally: Tally, view: View, index: int) -> Margin | None:
    """Return the shares of groups from all questions but one, or None if there are none."""
    try:
        found = margin(tally, view)
    except EstimateError:
        return None
    parts = [part for part in found.parts if part.question != index]
    total = sum(part.weight for part in parts)
    if not parts:
        return None
    made = tuple(type(part)(part.question, part.shares, part.cells, part.first, part.weight / total) for part in parts)
    return Margin(view, found.labels, made)
