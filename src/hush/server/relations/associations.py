"""The association of two numbers: a correlation as if they were normal, or Pearson's from their moments.

**Association** (the usual kind). Each number has a public cut. One question asks a single bit: do both numbers lie on
the same side of their cuts? Other questions give the shares below each cut. With a = P(x <= cut), b = P(y <= cut) and
s, the share on the same side, both lie below with probability (s - 1 + a + b)/2. The association is the correlation of
two normal numbers for which that is so. It is Pearson's correlation if the numbers are normal, up to any increasing
scale: income and its logarithm have the same association. If they are not, it still says how much more often than by
chance both are large or both small. It is *not* Pearson's correlation of skewed numbers.

**Moments.** `method="moments"` is Pearson's correlation, from the averages of products and squares, as unbiased windows
report them. It needs 5 to 30 times more people.

An interval has every r for which the answers are plausible; the variances are those of the channels' exact laws.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal, NamedTuple

from hush.core.schema import MISSING, Numeric
from hush.core.views import Bands, Product, Sides, Value
from hush.errors import EstimateError
from hush.server.binomial import normal
from hush.server.estimates import unbounded
from hush.server.intervals import edge
from hush.server.relations.bivariate import both_below, given
from hush.server.relations.margins import margin
from hush.server.relations.rows import Related, Relations, checked_level, related
from hush.server.sources import asked
from hush.server.tally import Tally
from hush.show.tables import number as digits

Method = Literal["copula", "moments"]
_LEAST = 1e-6  # a share below a cut closer to 0 or 1 than this says nothing


class Associations(Relations):
    """Associations of pairs of numbers, from -1 to 1."""

    def _heading(self) -> str:
        return "association"

    def _what(self, row: Related) -> str:
        return f"{row.attribute} and {row.by}"


def association(
    tally: Tally, attribute: str, by: str, *, method: Method = "copula", level: float = 0.95
) -> Associations:
    """Return the association of two numbers, from -1 to 1, with an interval. The module says what it is and is not."""
    if not isinstance(tally, Tally):
        raise EstimateError("association(tally, attribute, by) needs a Tally")
    if method not in ("copula", "moments"):
        raise EstimateError('method must be "copula" or "moments"')
    checked_level(level)
    for name in (attribute, by):
        if not isinstance(tally.plan.schema[name], Numeric):
            raise EstimateError(
                f"attribute {name!r}: an association is of two numbers; use hush.crosstab or hush.means"
            )
    row = _copula(tally, attribute, by, level) if method == "copula" else _moments(tally, attribute, by, level)
    return Associations([row], level=level)


class _Share(NamedTuple):
    """A share among the present, its variance, and the number of answers."""

    point: float
    variance: float
    answers: int


def _copula(tally: Tally, attribute: str, by: str, level: float) -> Related:
    view = _sides(tally, attribute, by)
    cuts = dict(zip(view.attributes, view.cuts, strict=True))
    same = _among(tally, view)
    first, second = (_among(tally, Bands(name, (cuts[name],))) for name in (attribute, by))
    for name, share in ((attribute, first), (by, second)):
        if not _LEAST < share.point < 1 - _LEAST:
            field = tally.plan.schema[name]
            cut = (field.named(cuts[name]) if isinstance(field, Numeric) else None) or digits(cuts[name], 12)
            raise EstimateError(
                f"attribute {name!r}: about all people seem to lie on one side of the cut {cut}: an "
                "association needs a cut near the middle of the people"
            )
    z = [NormalDist().inv_cdf(share.point) for share in (first, second)]
    below = (same.point - 1 + first.point + second.point) / 2

    def away(r: float) -> float:
        return below - both_below(z[0], z[1], r)

    def variance(r: float) -> float:
        parts = [(0.5 - given(z[0], z[1], r), first), (0.5 - given(z[1], z[0], r), second), (0.5, same)]
        return math.fsum(factor**2 * share.variance for factor, share in parts)

    def rising(r: float) -> bool:
        return away(r) > 0

    point = edge(rising, -1.0, 1.0) if rising(-1.0) else -1.0
    z2 = normal(level) ** 2

    def plausible(r: float) -> bool:
        return away(r) ** 2 <= z2 * variance(r)

    low, high = edge(plausible, point, -1.0), edge(plausible, point, 1.0)
    stderr = _slope_error(z[0], z[1], point, math.sqrt(variance(point)))
    stderr = min(stderr, (high - low) / (2 * normal(level)))  # near an end the slope says nothing
    answers = same.answers + first.answers + second.answers
    return related((attribute, None, by, None), point, stderr, (low, high), (-1.0, 1.0), answers)


def moved(tally: Tally, attribute: str, by: str, reports: int) -> float:
    """Return how far malicious reports can have moved an association: all of them in the question of its one bit.

    A bit about one cut alone moves the share below both by no more than that, if the cuts have as many answers. An
    association that cannot be told, or only with more answers, can have been moved from one end to the other.
    """
    if not reports:
        return 0.0
    view = _sides(tally, attribute, by)
    cuts = dict(zip(view.attributes, view.cuts, strict=True))
    try:
        point = _copula(tally, attribute, by, 0.95).point
        shares = [_among(tally, Bands(name, (cuts[name],))) for name in (attribute, by)]
    except EstimateError:
        point = math.nan
    if math.isnan(point):
        return 2.0
    found = margin(tally, view)
    reach = max(part.weight / (part.shares.law.p - part.shares.law.q) / part.shares.n for part in found.parts)
    z = [NormalDist().inv_cdf(share.point) for share in shares]
    at = both_below(z[0], z[1], point)
    changes = []
    for sign in (-1, 1):
        wanted = at + sign * reports * reach / 2

        def lower(r: float, wanted: float = wanted) -> bool:
            return both_below(z[0], z[1], r) < wanted

        changes.append(abs((edge(lower, -1.0, 1.0) if lower(-1.0) else -1.0) - point))
    return max(changes)


def _slope_error(a: float, b: float, r: float, error: float) -> float:
    """Return the standard error of r from that of the share below both cuts."""
    step = 1e-4
    low, high = max(r - step, -1.0), min(r + step, 1.0)
    gradient = (both_below(a, b, high) - both_below(a, b, low)) / (high - low)
    return error / gradient if gradient > 0 else math.inf


def _sides(tally: Tally, attribute: str, by: str) -> Sides:
    for question in tally.plan.questions:
        view = question.views[0]
        if isinstance(view, Sides) and set(view.attributes) == {attribute, by}:
            return view
    raise EstimateError(
        f"attributes {attribute!r}, {by!r}: the plan does not ask for their association; design it with "
        f"relations=[({attribute!r}, {by!r})]"
    )


def _among(tally: Tally, view: Sides | Bands) -> _Share:
    """Return the share of the first item of a view among the present."""
    found = margin(tally, view)
    points = found.points
    first = [1.0, *[0.0] * (len(points) - 1)]
    if found.labels[-1] != MISSING:
        return _Share(points[0], found.variance(first), found.answers)
    present = 1 - points[-1]
    if not present > 0:
        raise EstimateError(f"{' and '.join(view.of)}: all values seem to be missing")
    share = points[0] / present
    # To first order the quotient varies as (first - share*present)/present does, and present is 1 - missing.
    linear = [1 / present, *[0.0] * (len(points) - 2), share / present]
    return _Share(share, found.variance(linear), found.answers)


def _moments(tally: Tally, attribute: str, by: str, level: float) -> Related:
    """Return Pearson's correlation from the averages of products and squares, with the delta method."""
    views = {
        frozenset(view.attributes): (index, view)
        for index, question in enumerate(tally.plan.questions)
        if isinstance(view := question.views[0], Product)
    }
    wanted = [frozenset({attribute, by}), frozenset({attribute}), frozenset({by})]
    if any(key not in views for key in wanted):
        raise EstimateError(
            f"attributes {attribute!r}, {by!r}: the plan does not ask for their moments; design it with "
            f'relations=[({attribute!r}, {by!r}, "moments")]'
        )
    second = [_product(tally, *views[key]) for key in wanted]
    first = [_position(tally, name, views[wanted[0]][1]) for name in (attribute, by)]
    (xy, xy_error, n), (xx, xx_error, m), (yy, yy_error, k) = second
    (x, x_error, i), (y, y_error, j) = first
    a, b, c = xx - x * x, yy - y * y, xy - x * y
    answers, names = n + m + k + i + j, (attribute, None, by, None)
    errors = [xy_error, xx_error, yy_error, x_error, y_error]
    if not (a > 0 and b > 0 and all(map(math.isfinite, errors))):
        return related(names, math.nan, math.inf, (-math.inf, math.inf), (-1.0, 1.0), answers)
    root = math.sqrt(a * b)
    r = c / root
    # The derivatives of r by the five averages.
    slopes = [1 / root, -r / (2 * a), -r / (2 * b), -y / root + r * x / a, -x / root + r * y / b]
    stderr = math.hypot(*(slope * error for slope, error in zip(slopes, errors, strict=True)))
    half = normal(level) * stderr
    return related(names, r, stderr, (r - half, r + half), (-1.0, 1.0), answers)


def _product(tally: Tally, index: int, view: Product) -> tuple[float, float, int]:
    """Return the average product of two positions, its standard error, and the number of answers."""
    n = tally.answers(index)
    if n < 2:
        raise EstimateError(f"{' and '.join(view.attributes)}: too few people have answered the question about them")
    sample = asked(tally, index)
    return sample.point * view.reach, sample.stderr * view.reach, n


def _position(tally: Tally, name: str, view: Product) -> tuple[float, float, int]:
    """Return the mean of a number as a position measured from its centre, its standard error and the answers."""
    number = tally.plan.schema[name]
    assert isinstance(number, Numeric)
    centre = dict(zip(view.attributes, view.centres, strict=True))[name]
    span = number.high - number.low
    if not any(Value(name) in question.views for question in tally.plan.questions):
        raise EstimateError(f"attribute {name!r}: moments need its mean too: give singles a share")
    row = next(row for row in unbounded(tally) if row.attribute == name and row.category is None)
    return (row.point - centre) / span, row.stderr / span, row.answers
