"""The distribution of a number, from the same reports as its mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from operator import mul
from typing import TYPE_CHECKING

from hush.core.channels import Ladder
from hush.core.schema import Numeric
from hush.errors import EstimateError
from hush.server.intervals import Interval, bounds, needed, says_nothing
from hush.server.ladders import Fitted, clipped, fitted
from hush.server.sources import asked
from hush.server.tally import Tally
from hush.show.tables import number as digits

if TYPE_CHECKING:
    import altair as alt

_POINTS_PER_BIN = 8
_PARTS = 8  # bins between two points of a ladder's distribution
_MAX_ITERATIONS = 2000
_GAIN = 0.1
_LEVEL = 0.95  # of the interval of the mean, which says whether there are enough answers
_TINY = 1e-300  # probabilities of far tails may underflow


@dataclass(frozen=True)
class Distribution:
    """The shares of a numeric attribute's present values in bins between edges, uniform within each.

    A bin of whole numbers holds those from its first edge to below the second: the bin from 3 to 4 is that of 3.
    It has no intervals, so it does not show its uncertainty.
    """

    attribute: str
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    number: Numeric | None = field(default=None, repr=False, compare=False)

    def quantile(self, q: float) -> float:
        """Return the value that a share q of the values lies below; of whole numbers, up to which it lies."""
        if not 0 <= q <= 1:
            raise EstimateError("a quantile is for a share from 0 to 1")
        below = 0.0
        for low, high, share in zip(self.edges, self.edges[1:], self.shares, strict=False):
            if share > 0 and below + share >= q:
                found = low + (high - low) * min((q - below) / share, 1.0)
                return min(float(math.floor(found)), high - 1) if self._whole else found
            below += share
        return self.edges[-1] - self._whole

    @property
    def _whole(self) -> bool:
        return self.number is not None and self.number.whole

    @property
    def bins(self) -> tuple[str, ...]:
        """The values of each bin, in words: "2.5 to 5", and of whole numbers "3" or "3 to 5"."""
        return tuple(_bin(a, b, self.number) for a, b in pairwise(self.edges))

    def plot(self) -> alt.Chart:
        """Draw it, as an Altair chart. Needs `pip install 'hush-ldp[plot]'`."""
        from hush import plots

        return plots.distribution(self)


def distribution(tally: Tally, attribute: str, *, bins: int = 32) -> Distribution:
    """Return the likeliest distribution of a numeric attribute, from the same reports as its mean.

    It uses expectation maximisation with the exactly known channel, from a uniform start. It stops when a step gains
    less than 0.1 in log-likelihood: further steps would fit noise, not people. The mean of the result is biased; for
    means use `estimate`. Channels with two outputs, such as Duchi et al.'s, report nothing but the mean. A relay's own
    reports are one more part of the law, with a known share. Where the mean is refused, so is the distribution.
    """
    number = tally.plan.schema[attribute]
    if not isinstance(number, Numeric):
        raise EstimateError(f"attribute {attribute!r}: is categorical; its distribution is in its estimates")
    if type(bins) is not int or not 2 <= bins <= 1024:
        raise EstimateError("bins must be a whole number from 2 to 1024")
    index = tally.plan.question(attribute)
    channel, counts, n = tally.plan.questions[index].channel, tally.counts[index], tally.answers(index)
    if n == 0:
        raise EstimateError(f"attribute {attribute!r}: nobody has answered it yet")
    if isinstance(channel, Ladder):
        fit = fitted(tally, index)
        if fit is None or (mean := clipped(fit, _LEVEL)).refused:
            takes = 2 * n if fit is None or mean.low == mean.high else needed(n, mean.interval, (mean.low, mean.high))
            raise _too_few(attribute, n, takes)
        return _of_ladder(fit)
    if channel.likelihood(0.5) is None or len(list(islice(channel.states(), 4))) < 3 + number.optional:
        raise EstimateError(f"attribute {attribute!r}: its channel reports too little for a distribution")
    sample = asked(tally, index)
    ends = bounds(sample, _LEVEL)
    if math.isnan(sample.point) or says_nothing(_inside(ends), (-1.0, 1.0)):
        raise _too_few(attribute, n, needed(n, ends, (-1.0, 1.0)))
    edges, places = _wholes(number, bins) if number.whole else _even(number, bins)
    rows = []
    for points in places:
        laws = [channel.likelihood(point) or [] for point in points]
        rows.append([sum(column) / len(points) for column in zip(*laws, strict=True)])
    if number.optional:
        rows.append(channel.likelihood(None) or [])
    beside, own = None, tally.among(index)
    if own is not None:
        beside = [float(chance) for chance in own.blanket.chances], own.number / tally.answered[index]
    shares = _maximise(rows, counts, beside)[: len(places)]
    total = sum(shares)
    if not total > 0:
        raise _too_few(attribute, n, 2 * n)
    return Distribution(attribute, edges, tuple(share / total for share in shares), number)


def _inside(ends: Interval) -> Interval:
    return max(ends[0], -1.0), min(ends[1], 1.0)


def _too_few(attribute: str, answers: int, takes: int) -> EstimateError:
    return EstimateError(f"attribute {attribute!r}: too few answers ({answers:,}); about {takes:,} are needed")


Bins = tuple[tuple[float, ...], list[list[float]]]
"""The edges of bins, and some points of each, as positions in the domain."""


def _even(number: Numeric, bins: int) -> Bins:
    """Return bins of equal width."""
    width = number.high / bins - number.low / bins
    edges = (*(number.low + b * width for b in range(bins)), number.high)
    return edges, [[(b + (i + 0.5) / _POINTS_PER_BIN) / bins for i in range(_POINTS_PER_BIN)] for b in range(bins)]


def _wholes(number: Numeric, bins: int) -> Bins:
    """Return bins of equally many whole numbers, or as many as there are in months or hours."""
    low, span = int(number.low), int(number.high) - int(number.low)
    edges = [*number.starts(bins), low + span + 1]
    places = []
    for start, end in pairwise(edges):
        held = end - start
        chosen = min(held, _POINTS_PER_BIN)
        places.append([(start - low + (2 * i + 1) * held // (2 * chosen)) / span for i in range(chosen)])
    return tuple(map(float, edges)), places


def _bin(start: float, end: float, number: Numeric | None) -> str:
    """Return the values of a bin in words."""
    if number is not None and number.named(start) is not None:
        return number.spanned(start, end - 1)
    whole = number is not None and number.whole
    ends = (start, end - 1) if whole else (start, end)
    words = [f"{end:,.0f}" if whole else digits(end, 6) for end in ends]
    return words[0] if whole and ends[0] == ends[1] else " to ".join(words)


def _of_ladder(fit: Fitted) -> Distribution:
    """Return the distribution of a ladder's number, from the best shares of its knots.

    The shares of the knots up to one end of a rung are the average share of people below a point of the rung. That is
    taken as the share below the rung's logarithmic mean, where it would be exact for a tail like 1/x. In between it
    rises along a monotone cubic.
    """
    places, origin = fit.places, fit.places[fit.origin]
    shares = fit.best[: len(places)]
    total = math.fsum(shares)  # there is somebody, as there is a mean
    points = [origin + _middle(a - origin, b - origin) for a, b in pairwise(places)]
    below = [min(share / total, 1.0) for share in accumulate(shares[:-1])]
    edges, heights = _smooth((places[0], *points, places[-1]), (0.0, *below, 1.0))
    return Distribution(fit.number.name, edges, tuple(b - a for a, b in pairwise(heights)), None)


def _middle(a: float, b: float) -> float:
    """Return the logarithmic mean of two numbers of one sign, or half of the other if one of them is 0."""
    return (b - a) / math.log(b / a) if a * b > 0 else a / 2 + b / 2


def _smooth(x: Sequence[float], y: Sequence[float]) -> tuple[tuple[float, ...], list[float]]:
    """Return points between rising ones, on cubics that never fall (Fritsch and Butland 1984)."""
    widths = [b - a for a, b in pairwise(x)]
    rises = [(b - a) / width for (a, b), width in zip(pairwise(y), widths, strict=True)]
    slopes = [rises[0]]
    for (h, k), (d, e) in zip(pairwise(widths), pairwise(rises), strict=True):
        slopes.append(3 * (h + k) / ((2 * k + h) / d + (k + 2 * h) / e) if d > 0 and e > 0 else 0.0)
    slopes.append(rises[-1])
    across, heights = [x[0]], [y[0]]
    for i, (width, rise) in enumerate(zip(widths, rises, strict=True)):
        for step in range(1, _PARTS + 1):
            t = step / _PARTS
            bend = t * (1 - t) * ((slopes[i] - rise) * (1 - t) - (slopes[i + 1] - rise) * t)
            across.append(x[i] + width * t if step < _PARTS else x[i + 1])
            heights.append(y[i] + width * (rise * t + bend) if step < _PARTS else y[i + 1])
    return tuple(across), heights


def _maximise(
    rows: list[list[float]], counts: Sequence[int], beside: tuple[list[float], float] | None = None
) -> list[float]:
    """Return weights of the rows that make the counts likeliest, or nearly so.

    `beside` has the law of other reports among those counted, and their share.
    """
    seen = [y for y, count in enumerate(counts) if count]
    rows = [[row[y] for y in seen] for row in rows]
    columns = list(zip(*rows, strict=True))
    observed = [counts[y] for y in seen]
    n = sum(observed)
    other, share = ([0.0] * len(seen), 0.0) if beside is None else ([beside[0][y] for y in seen], beside[1])
    fixed = [share * value for value in other]
    weights = [1 / len(rows)] * len(rows)
    previous = -math.inf
    for _ in range(_MAX_ITERATIONS):
        mixed = [
            (1 - share) * sum(map(mul, column, weights)) + more for column, more in zip(columns, fixed, strict=True)
        ]
        likelihood = sum(count * math.log(max(value, _TINY)) for count, value in zip(observed, mixed, strict=True))
        if likelihood - previous < _GAIN:
            break
        previous = likelihood
        quotients = [count / (n * max(value, _TINY)) for count, value in zip(observed, mixed, strict=True)]
        weights = [weight * sum(map(mul, row, quotients)) for weight, row in zip(weights, rows, strict=True)]
        if share:  # the rest of the likelihood is that of the other reports
            total = sum(weights)
            weights = [weight / total for weight in weights]
    return weights
