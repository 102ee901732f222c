"""The tree of a range: nested questions about bands of one number, and the shares that fit all of them best.

A range is asked by a tree: several questions with 4, 16, 64, ... bands, where each band is divided by the next
question. All shares of one question add up to 1, and their noise is otherwise independent and alike. So the least
squares estimate of all bands together follows from the tree in two passes (Hay et al. 2010): upwards, every band
combines its own estimate with the sum of its children's by inverse variance; downwards, what the children lack of their
parent is shared among them by their variances. The root is known: 1.

The passes are linear. The share below a cut is a fixed combination of all questions' estimates, so it is unbiased, and
its variance is exact (`hush.server.relations.sets`). The interval is Wilson's for such sums, but never with less than
the variance at the point itself (`rows.score`), and the shares in it have one person more for each band.

**Missing values.** The shares of bands are divided by that of the present, which is an estimate too. So the interval
has all x with (sum - x*present)^2 <= z^2 * variance of that difference (Fieller 1954): few answers can say that far
more than all are present, and a divisor taken as known would make such an interval narrow.

**Questions that nobody has answered** are left out, with the cuts that only they have. Between two cuts that are known
every share in between is plausible: the interval goes from the low end of one to the high end of the other.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from hush.core.channels import Subset, Unary
from hush.core.schema import Numeric
from hush.core.views import Bands
from hush.errors import EstimateError
from hush.server.binomial import normal
from hush.server.intervals import Interval
from hush.server.relations.rows import score
from hush.server.relations.sets import Counted, Sums, counted, fuller
from hush.server.simplex import simplex
from hush.server.tally import Tally

MAX_WORK = 1 << 21
"""The most pairs of a cut and a band: each cut's variance is a sum over the bands of all questions of the tree."""


@dataclass(frozen=True)
class Tree:
    """The questions of a range, from the coarsest to the finest, and the places of each one's cuts among the finest.

    Missing values have a share of their own, which every question estimates; shares are those among the present.
    `cuts` are all that the plan asks about, and `known` those of questions that somebody has answered.
    """

    number: Numeric
    levels: tuple[Counted, ...]
    places: tuple[tuple[int, ...], ...]
    known: list[float]
    cuts: list[float]

    @cached_property
    def _all(self) -> float:
        """The number of people who answered its questions."""
        return math.fsum(level.n for level in self.levels)

    @property
    def answers(self) -> int:
        """The number of answers to all its questions."""
        return round(self._all)

    @cached_property
    def edges(self) -> list[float]:
        """The known cuts, and the ends of the domain."""
        return [self.number.low, *self.known, self.number.high]

    @cached_property
    def _missing(self) -> int:
        return int(self.number.optional)

    @cached_property
    def _noise(self) -> list[float]:
        """The variance of one band's estimate in each question, if all bands have equal shares."""
        found = []
        for level in self.levels:
            share = 1 / len(level.counts)
            found.append(level.law.variance(Sums(1.0, 1.0, share, share)) / level.n if level.n else math.inf)
        return found

    @cached_property
    def _children(self) -> list[list[range]]:
        """The bands of the next question in each band, for every question but the last."""
        found = []
        for coarse, fine in pairwise(self.places):
            ends = [fine.index(place) + 1 for place in coarse]
            starts = [0, *ends]
            found.append([range(a, b) for a, b in zip(starts, [*ends, len(fine) + 1], strict=True)])
        return found

    @cached_property
    def _variances(self) -> list[list[float]]:
        """The variance of every band from its own question and all below: the upward pass."""
        found = [[self._noise[-1]] * (len(self.places[-1]) + 1)]
        for level in range(len(self.levels) - 2, -1, -1):
            below, noise = found[0], self._noise[level]
            combined = []
            for children in self._children[level]:
                sums = math.fsum(below[child] for child in children)
                combined.append(_inverse(noise, sums))
            found.insert(0, combined)
        return found

    def _fit(self, levels: Sequence[Sequence[float]], whole: float) -> list[float]:
        """Return the finest bands that fit the estimates of all questions best, and add up to the whole."""
        up = [list(levels[-1])]
        for level in range(len(levels) - 2, -1, -1):
            noise, combined = self._noise[level], []
            for band, children in enumerate(self._children[level]):
                sums = math.fsum(self._variances[level + 1][child] for child in children)
                lower = math.fsum(up[0][child] for child in children)
                combined.append(_average(levels[level][band], noise, lower, sums))
            up.insert(0, combined)
        found = _shared(up[0], self._variances[0], whole)
        for level in range(1, len(levels)):
            fine = [0.0] * len(up[level])
            for band, children in enumerate(self._children[level - 1]):
                values = [up[level][child] for child in children]
                spread = [self._variances[level][child] for child in children]
                for child, value in zip(children, _shared(values, spread, found[band]), strict=True):
                    fine[child] = value
            found = fine
        return found

    @cached_property
    def _gone(self) -> float:
        """The share of missing values, averaged over the questions by their answers."""
        if not self._missing:
            return 0.0
        return math.fsum(level.points[-1] * level.n for level in self.levels if level.n) / self._all

    @cached_property
    def bands(self) -> list[float]:
        """The shares of the finest bands (of all people, present or not)."""
        points = [
            level.points[: len(places) + 1] if level.n else [0.0] * (len(places) + 1)
            for level, places in zip(self.levels, self.places, strict=True)
        ]
        return self._fit(points, 1 - self._gone)

    @cached_property
    def _masses(self) -> list[list[float]]:
        """The shares of the bands of every question that variances use."""
        finest = [*self.bands, *[self._gone] * self._missing]
        whole = simplex(finest)
        found = []
        for places in self.places:
            edges = [0, *(place + 1 for place in places), len(self.known) + 1]
            sums = [math.fsum(whole[a:b]) for a, b in pairwise(edges)]
            found.append([*sums, *whole[len(self.known) + 1 :]])
        return found

    @cached_property
    def _fuller(self) -> list[list[float]]:
        """The same shares with one person more for each band."""
        return [fuller(shares, one.n) for one, shares in zip(self.levels, self._masses, strict=True)]

    @cached_property
    def _owns(self) -> list[list[float]]:
        """The weight of every band's own estimate in the upward pass; the rest is for its children."""
        found = []
        for level, bands in enumerate(self._children):
            below = self._variances[level + 1]
            sums = [math.fsum(below[child] for child in children) for children in bands]
            found.append([_average(1.0, self._noise[level], 0.0, one) for one in sums])
        return [*found, [1.0] * (len(self.known) + 1)]

    @cached_property
    def _shares(self) -> list[list[float]]:
        """The part that each band takes of what it and its siblings lack of their parent."""
        found = [_shared([0.0] * len(self._variances[0]), self._variances[0], 1.0)]
        for level, bands in enumerate(self._children, start=1):
            parts: list[float] = []
            for children in bands:
                parts += _shared([0.0] * len(children), self._variances[level][children.start : children.stop], 1.0)
            found.append(parts)
        return found

    @cached_property
    def _parents(self) -> list[list[int]]:
        """The band of the question before in which each band lies, for every question but the first."""
        return [[band for band, children in enumerate(bands) for _ in children] for bands in self._children]

    def _form(self, cut: int) -> list[list[float]]:
        """Return for each question the weights by which its bands enter the share below a cut.

        It is the transpose of both passes. Bands that a cut does not divide pass their shares on whole, so downwards
        only the siblings of divided bands count.
        """
        last = len(self.levels) - 1
        path = [cut]
        for parents in reversed(self._parents):
            path.insert(0, parents[path[0]])
        wanted: list[list[float]] = []  # from the finest: the weights of the siblings of the divided band
        part = 1.0  # how much of the divided band lies below the cut
        for level in range(last, -1, -1):
            siblings = self._siblings(level, path)
            own = [1.0] * (path[level] - siblings.start) + [part] + [0.0] * (siblings.stop - path[level] - 1)
            part = math.fsum(
                w * s for w, s in zip(own, self._shares[level][siblings.start : siblings.stop], strict=True)
            )
            wanted.insert(0, [w - part for w in own])
        found, up = [], wanted[0]
        for level in range(last + 1):
            if level:
                rest = [(1 - own) * one for own, one in zip(self._owns[level - 1], up, strict=True)]
                up = [rest[parent] for parent in self._parents[level - 1]]
                siblings = self._siblings(level, path)
                for band, weight in zip(siblings, wanted[level], strict=True):
                    up[band] += weight
            found.append([own * one for own, one in zip(self._owns[level], up, strict=True)])
        return found

    def _siblings(self, level: int, path: Sequence[int]) -> range:
        """Return the bands of a question with the same parent as the one on the path."""
        return self._children[level - 1][path[level - 1]] if level else range(len(self.places[0]) + 1)

    @cached_property
    def _wholes(self) -> list[float]:
        """How the share below each cut grows with the whole."""
        zero = [[0.0] * (len(places) + 1) for places in self.places]
        return list(accumulate(self._fit(zero, 1.0)[:-1]))

    def below(self, cut: float, level: float) -> tuple[float, float, Interval]:
        """Return the share below a cut among the present, its standard error and its uncut interval."""
        place = bisect_left(self.known, cut)
        if place < len(self.known) and self.known[place] == cut:
            return self._at(place, level)
        below = self._at(place - 1, level) if place else (0.0, 0.0, (0.0, 0.0))
        above = self._at(place, level) if place < len(self.known) else (1.0, 0.0, (1.0, 1.0))
        low, high = self.edges[place], self.edges[place + 1]
        point = below[0] + (above[0] - below[0]) * (cut - low) / (high - low)
        ends = min(below[2][0], above[2][0]), max(below[2][1], above[2][1])
        return point, (ends[1] - ends[0]) / (2 * normal(level)), ends

    def _at(self, cut: int, level: float) -> tuple[float, float, Interval]:
        """Return the share below a known cut, by its place."""
        present = 1 - self._gone
        if not present > 0:
            return math.nan, math.inf, (-math.inf, math.inf)
        point, forms = math.fsum(self.bands[: cut + 1]) / present, self._form(cut)
        curves = self._curves(forms, self._wholes[cut])
        inside, sampled = min(max(point, 0.0), 1.0), self._sampled(forms)

        def doubt(x: float) -> float:
            return max(fixed + x * (slope + x * bend) for fixed, slope, bend in curves)

        base = max(doubt(inside), 0.0)

        def variance(x: float) -> float:
            # The variance changes with the share below the cut as that of a sample of people does, if little else.
            return max(doubt(x) + (x * (1 - x) - inside * (1 - inside)) * sampled, 0.05 * base) / present**2

        step = self._step(forms) / present
        return point, math.sqrt(base) / present, score(point, variance, level, (0.0, 1.0), step)

    def _curves(self, forms: Sequence[Sequence[float]], whole: float) -> list[tuple[float, float, float]]:
        """Return the variance of (sum of the bands below a cut) - x*present, as coefficients of 1, x and x^2.

        There is one for either sort of shares. The sum grows by `whole` with all people present, and the divisor by 1:
        so a missing value counts x - `whole`.
        """

        def at(x: float, masses: Sequence[Sequence[float]]) -> float:
            return self._variance(forms, [(x - whole) * one.n / self._all for one in self.levels], masses)

        curves = []
        for masses in (self._masses, self._fuller):
            low = at(0.0, masses)
            middle, high = (at(0.5, masses), at(1.0, masses)) if self._missing else (low, low)
            bend = 2 * (low + high - 2 * middle)
            curves.append((low, high - low - bend, bend))
        return curves

    def _step(self, forms: Sequence[Sequence[float]]) -> float:
        """Return how far one report of a person can move the share below a cut, without the noise of its channel."""
        moved = (
            (max(form) - min(form)) / one.n / (one.law.p - one.law.q)
            for one, form in zip(self.levels, forms, strict=True)
            if one.n
        )
        return max(moved, default=0.0)

    def _sampled(self, forms: Sequence[Sequence[float]]) -> float:
        """Return the factor of x*(1-x) in the variance: that of questions that ask this very cut."""
        found = 0.0
        for one, form in zip(self.levels, forms, strict=True):
            if one.n:
                found += max(abs(weight) for weight in form) ** 2 / one.n
        return found

    def _variance(
        self, forms: Sequence[Sequence[float]], gone: Sequence[float], masses: Sequence[Sequence[float]]
    ) -> float:
        total = 0.0
        for one, form, missing, shares in zip(self.levels, forms, gone, masses, strict=True):
            if one.n:
                weights = [*form, *[missing] * self._missing]
                total += one.variance(
                    Sums(
                        math.fsum(weights),
                        math.fsum(w * w for w in weights),
                        math.fsum(w * f for w, f in zip(weights, shares, strict=True)),
                        math.fsum(w * w * f for w, f in zip(weights, shares, strict=True)),
                    )
                )
        return total

    @cached_property
    def rising(self) -> list[float]:
        """The shares below all cuts among the present, and 1: the nearest numbers that do not decrease.

        Pools of neighbours that decrease get their average (Ayer et al. 1955).
        """
        present = 1 - self._gone
        blocks: list[tuple[float, int]] = []
        for total in accumulate(self.bands[:-1]):
            value, size = total / present, 1
            while blocks and blocks[-1][0] >= value:
                before, count = blocks.pop()
                value, size = (before * count + value * size) / (count + size), count + size
            blocks.append((value, size))
        return [*(min(max(value, 0.0), 1.0) for value, size in blocks for _ in range(size)), 1.0]

    def quantile(self, q: float) -> float:
        """Return the value that a share q of the present lie below."""
        edges = self.edges
        band = bisect_left(self.rising, q)
        before = self.rising[band - 1] if band else 0.0
        share = self.rising[band] - before
        inside = min(max((q - before) / share, 0.0), 1.0) if share > 0 else 0.0
        return edges[band] + (edges[band + 1] - edges[band]) * inside


def _inverse(a: float, b: float) -> float:
    """Return the variance of the best average of two estimates with these variances."""
    if math.isinf(a) or math.isinf(b):
        return min(a, b)
    return a * b / (a + b)


def _average(one: float, a: float, other: float, b: float) -> float:
    """Return the best average of two estimates with variances a and b."""
    if math.isinf(a):
        return other
    if math.isinf(b):
        return one
    return (one * b + other * a) / (a + b)


def _shared(values: Sequence[float], variances: Sequence[float], total: float) -> list[float]:
    """Return the values moved so that they add up to the total, each in proportion to its variance."""
    lack = total - math.fsum(values)
    if any(map(math.isinf, variances)):
        return [value + lack / len(values) for value in values]
    whole = math.fsum(variances)
    return [value + lack * variance / whole for value, variance in zip(values, variances, strict=True)]


def fitted(tally: Tally, attribute: str) -> Tree:
    """Return the tree of a range, from all nested questions about bands of a number alone."""
    if not isinstance(tally, Tally):
        raise EstimateError("quantiles(tally, attribute) needs a Tally")
    plan = tally.plan
    field = plan.schema[attribute]
    if not isinstance(field, Numeric):
        raise EstimateError(f"attribute {attribute!r}: a range is of a number")
    asked: list[tuple[Bands, Counted]] = []
    for index, question in enumerate(plan.questions):
        view = question.views[0]
        alone = len(question.views) == 1 and isinstance(question.channel, Subset | Unary)
        if alone and isinstance(view, Bands) and view.attribute == attribute:
            asked.append((view, counted(tally, index)))
    if not asked:
        raise EstimateError(
            f"attribute {attribute!r}: the plan does not ask for its range; design it with ranges=[{attribute!r}]"
        )
    asked.sort(key=lambda one: len(one[0].cuts))
    finest = asked[-1][0].cuts
    nested: list[tuple[Bands, Counted]] = []
    for view, shares in reversed(asked):  # from the finest: a question joins the tree if its cuts are among them
        if set(view.cuts) <= set(nested[-1][0].cuts if nested else finest):
            nested.append((view, shares))
    nested.reverse()
    if plan.k > 1:  # the same people answer several questions: their answers are not independent
        nested = nested[-1:]
    if not any(shares.n > 0 for _, shares in nested):
        raise EstimateError(f"attribute {attribute!r}: nobody has answered a question about its range yet")
    work = len(finest) * sum(len(view.cuts) + 1 for view, _ in nested)
    if work > MAX_WORK:  # before a reader keeps a server busy for minutes
        raise EstimateError(
            f"attribute {attribute!r}: its range has too many bands: {work} pairs of a cut and a band of a question, "
            f"and at most {MAX_WORK} are estimated, as for 1024 bands that a design asks about"
        )
    answered = [(view, shares) for view, shares in nested if shares.n > 0]
    known = list(answered[-1][0].cuts)
    at = {cut: place for place, cut in enumerate(known)}
    places = tuple(tuple(at[cut] for cut in view.cuts) for view, _ in answered)
    return Tree(field, tuple(shares for _, shares in answered), places, known, list(finest))
