"""Reading a ladder, in numbers: each step against its definition, for a few reports of a small ladder."""

from __future__ import annotations

import math
from itertools import combinations
from operator import mul
from random import Random
from typing import Any

import pytest

from hush import Numeric
from hush.core.channels import Ladder
from hush.server.binomial import student
from hush.server.ladders import Fitted, Side, _nonnegative, _solve, clipped, reach, unclipped

REST = 720_720 << 24  # which any number of cells up to 16 divides
THRESHOLD = (1 << 64) - (1 << 62) // REST * REST
BOTH = Numeric("x", -4, 12, scale="log")
PLACES = [-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0, 12.0]
KNOTS = (0, 2, 3, 4, 5, 6, 8, 12, 16)
COUNTS = (3, 9, 31, 120, 180, 90, 60, 25, 14, 8)
ONE = Numeric("x", 0, 16, scale="log")
UP, DOWN = Side((3, 4, 5, 6, 7, 8)), Side((3, 2, 1, 0))
Matrix = list[list[float]]


def fitted(**known: Any) -> Fitted:
    """Two sides; with some of what is computed given."""
    fit = Fitted(Ladder(KNOTS, 2, THRESHOLD), BOTH, COUNTS)
    vars(fit).update(known)
    return fit


def single(**known: Any) -> Fitted:
    counts = (100, 80, 60, 30, 5, 3)
    fit = Fitted(Ladder((0, 1, 2, 4, 8, 16), 1, THRESHOLD), ONE, counts)
    vars(fit).update(known)
    return fit


def absent(**known: Any) -> Fitted:
    """One side, and missing values."""
    number = Numeric("x", 0, 16, scale="log", optional=True)
    counts = (100, 80, 60, 30, 5, 3, 40)
    fit = Fitted(Ladder((0, 1, 2, 4, 8, 16), 1, THRESHOLD, True), number, counts)
    vars(fit).update(known)
    return fit


def times(one: Matrix, other: Matrix) -> Matrix:
    return [[sum(map(mul, row, column)) for column in zip(*other, strict=True)] for row in one]


def transposed(one: Matrix) -> Matrix:
    return [list(row) for row in zip(*one, strict=True)]


FITS = [fitted, single, absent]


@pytest.mark.parametrize("make", FITS)
def test_the_law_of_the_reports_is_fitted_in_thirty_steps(make: Any) -> None:
    fit = make()
    law = [[float(p) for p in row] for row in fit.channel.table]
    states, outputs = range(len(law)), range(len(law[0]))
    weights = [1 / len(law)] * len(law)
    for _ in range(30):
        mixed = [sum(weights[s] * law[s][y] for s in states) for y in outputs]
        weights = [weights[s] * sum(law[s][y] * fit.counts[y] / fit.n / mixed[y] for y in outputs) for s in states]
    mixed = [0.98 * sum(weights[s] * law[s][y] for s in states) + 0.02 / len(law[0]) for y in outputs]
    assert fit._mixed == pytest.approx(mixed, rel=1e-12)


@pytest.mark.parametrize("make", FITS)
def test_shares_are_those_of_the_weighted_inverse(make: Any) -> None:
    fit = make()
    law = [[float(p) for p in row] for row in fit.channel.table]
    weighted = [[p / r for p, r in zip(row, fit._mixed, strict=True)] for row in law]
    square, inverse = times(weighted, transposed(law)), fit._inverse
    for found, right in zip(times(square, inverse), weighted, strict=True):
        assert found == pytest.approx(right, rel=1e-9)
    seen = [count / fit.n for count in fit.counts]
    shares = [sum(map(mul, row, seen)) for row in inverse]
    assert fit.shares == pytest.approx(shares, rel=1e-12)
    assert sum(fit.shares) == pytest.approx(1)
    weights = [float(3 * s % 7) for s in range(len(law))]
    values = [sum(weight * row[y] for weight, row in zip(weights, inverse, strict=True)) for y in range(len(seen))]
    assert fit.values(weights) == pytest.approx(values, rel=1e-9)
    assert fit.value(weights) == pytest.approx(sum(map(mul, weights, shares)), rel=1e-9)
    mean = sum(map(mul, values, fit._mixed))  # both moments are of one law: of two, the variance could be negative
    variance = (sum(r * v * v for r, v in zip(fit._mixed, values, strict=True)) - mean * mean) / fit.n
    assert fit.variance(weights) == pytest.approx(variance, rel=1e-9)
    assert fit.variance([1.0] * len(law)) == pytest.approx(0, abs=1e-4 / fit.n)
    # The best nonnegative ones: no share can rise, or fall, and fit better; then they add up to 1.
    right = [sum(map(mul, row, seen)) for row in weighted]
    best = _nonnegative(square, right)
    for share, slope in zip(
        best, (b - sum(map(mul, row, best)) for b, row in zip(right, square, strict=True)), strict=True
    ):
        assert share >= 0
        assert slope == pytest.approx(0, abs=1e-9) if share else slope <= 1e-9
    assert fit.best == pytest.approx([share / sum(best) for share in best])


def test_equations_are_solved() -> None:
    square = [[4.0, 2.0, -1.0], [2.0, 5.0, 0.5], [-1.0, 0.5, 3.0]]
    rights = [[1.0, 2.0, 3.0], [-4.0, 0.0, 0.25], [0.0, 0.0, 0.0]]
    for right, found in zip(rights, _solve(square, rights), strict=True):
        assert [sum(map(mul, row, found)) for row in square] == pytest.approx(right, abs=1e-12)
    assert _solve([[9.0]], [[18.0]]) == [[2.0]]
    # The last row is the first one but for what rounding leaves: a head of 10^-18 of it stands for 0.
    (found,) = _solve([[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0]])
    assert found == [1.0, 0.0]
    (found,) = _solve([[4.0, 4.0], [4.0, 4.0]], [[0.0, 4.0]])
    assert found == pytest.approx([-1e18, 1e18])


def test_nonnegative_shares_are_the_best_of_all() -> None:
    """By trying all sets of shares that are not 0."""
    pick = Random(5)
    for _ in range(60):
        n = 4
        root = [[pick.gauss(0, 1) for _ in range(n)] for _ in range(n)]
        square = times(root, transposed(root))
        right = [pick.gauss(0, 1) for _ in range(n)]
        best, least = [0.0] * n, 0.0
        for size in range(1, n + 1):
            for chosen in combinations(range(n), size):
                (x,) = _solve([[square[i][j] for j in chosen] for i in chosen], [[right[i] for i in chosen]])
                cost = -sum(right[i] * value for i, value in zip(chosen, x, strict=True))
                if min(x) >= 0 and cost < least:
                    least, best = cost, [dict(zip(chosen, x, strict=True)).get(i, 0.0) for i in range(n)]
        assert _nonnegative(square, right) == pytest.approx(best, rel=1e-6, abs=1e-9)


def test_nonnegative_shares_of_many_states_can_neither_rise_nor_fall() -> None:
    """Where many shares become 0 on the way: at the best ones no slope is above 0, and that of a share is 0."""
    pick = Random(7)
    for _ in range(60):
        n = 9
        root = [[pick.gauss(0, 1) + 1 for _ in range(n)] for _ in range(n)]
        square = times(root, transposed(root))
        right = [pick.gauss(0.5, 1) for _ in range(n)]
        best = _nonnegative(square, right)
        for i, share in enumerate(best):
            slope = right[i] - sum(map(mul, square[i], best))
            assert share >= 0
            assert slope == pytest.approx(0, abs=1e-6) if share else slope <= 1e-6


# -- intervals


def plain(fit: Fitted, weights: list[float], x: float, level: float, present: bool = False) -> bool:
    """Whether x is plausible for a mean, by the definition: slow, and with the envelope of every pair of states."""
    law = [[float(p) for p in row] for row in fit.channel.table]
    outputs, n = range(len(fit.counts)), sum(fit.counts)
    here = [1.0] * len(law) if not present else [*[1.0] * (len(law) - 1), 0.0]
    value = [sum(w * row[y] for w, row in zip(weights, fit._inverse, strict=True)) for y in outputs]
    count = [sum(w * row[y] for w, row in zip(here, fit._inverse, strict=True)) if present else 1.0 for y in outputs]
    away = [v - x * c for v, c in zip(value, count, strict=True)]
    mean = sum(k * a for k, a in zip(fit.counts, away, strict=True)) / n
    variance = sum(k * (a - mean) ** 2 for k, a in zip(fit.counts, away, strict=True)) / (n - 1)
    means = [sum(map(mul, row, away)) for row in law]
    squares = [sum(p * a * a for p, a in zip(row, away, strict=True)) for row in law]
    chords = [
        (squares[i] * means[j] - squares[j] * means[i]) / (means[j] - means[i])
        for i in range(len(law))
        for j in range(len(law))
        if means[i] <= 0 < means[j]
    ]
    alone = [square for mean, square in zip(means, squares, strict=True) if abs(mean) < 1e-9]
    least, most = min([*chords, *alone]), max([*chords, *alone])
    room = max(means) - mean if mean < 0 else mean - min(means)
    t2, unmet = student(level, n - 1) ** 2, -math.log1p(-level)
    doubt = t2 * max(variance, least) + unmet * abs(mean) * max(room, 0.0)
    return bool(n * mean * mean <= min(doubt, t2 * max(variance, most)))


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("make", FITS)
def test_an_interval_ends_where_plausibility_does(make: Any, level: float) -> None:
    fit = make()
    low, high = fit.places[0] - fit.places[fit.origin], fit.places[-1] - fit.places[fit.origin]
    weights = [min(max(place - fit.places[fit.origin], low / 4), high / 4) for place in fit.places]
    weights += [0.0] * fit.channel.optional
    for present in (False, True) if fit.channel.optional else (False,):
        point, (first, last) = fit.score(weights, level, present=present)
        shares = sum(fit.shares[: len(fit.places)]) if present else 1.0
        assert point == pytest.approx(fit.value(weights) / shares)
        assert min(weights) < first < point < last < max(weights)
        near = 1e-6 * (high - low)
        assert plain(fit, weights, point, level, present)
        assert plain(fit, weights, first + near, level, present)
        assert not plain(fit, weights, first - near, level, present)
        assert plain(fit, weights, last - near, level, present)
        assert not plain(fit, weights, last + near, level, present)


# -- rungs


def test_knots_are_on_the_scale_of_the_number() -> None:
    fit = fitted()
    assert fit.places == PLACES
    assert fit.origin == 3
    assert fit.sides == [UP, DOWN]
    assert (single().places, single().origin) == ([0.0, 1.0, 2.0, 4.0, 8.0, 16.0], 0)
    assert single().sides == [Side((0, 1, 2, 3, 4, 5))]
    below = Fitted(Ladder((0, 8, 12, 14, 16), 1, THRESHOLD), Numeric("x", -20, -4, scale="log"), (1,) * 5)
    assert (below.places, below.origin) == ([-20.0, -12.0, -8.0, -6.0, -4.0], 4)
    assert below.sides == [Side((4, 3, 2, 1, 0))]
    above = Fitted(Ladder((0, 2, 16), 1, THRESHOLD), Numeric("x", 4, 20, scale="log"), (1,) * 3)
    assert (above.places, above.origin) == ([4.0, 6.0, 20.0], 0)


@pytest.mark.parametrize(("miss", "place"), [(1000, 0.0), (-1000, 0.0), (5000, 5000 / 2**40), (-5000, -5000 / 2**40)])
def test_a_knot_that_misses_the_origin_by_rounding_is_there(miss: int, place: float) -> None:
    channel = Ladder((0, 2**40 + miss, 2**41), 1, THRESHOLD)
    fit = Fitted(channel, Numeric("x", -1, 1, scale="log"), (1, 1, 1))
    assert fit.places == [-1.0, pytest.approx(place, rel=1e-3, abs=0), 1.0]
    assert (fit.places[1] == 0.0) == (place == 0.0)


def test_survival_in_a_rung_is_what_lies_beyond_it() -> None:
    fit = fitted()
    assert fit.survival(UP, 0) == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert fit.survival(UP, 2) == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    assert fit.survival(DOWN, 0) == [1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert fit.survival(DOWN, 2) == [1, 0, 0, 0, 0, 0, 0, 0, 0]
    assert absent().survival(Side((0, 1, 2, 3, 4, 5)), 3) == [0, 0, 0, 0, 1, 1, 0]
    for rung, (share, error) in enumerate(fit.rungs(DOWN)):
        assert share == pytest.approx(sum(fit.best[: 3 - rung]))
        assert error == pytest.approx(math.sqrt(fit.variance(fit.survival(DOWN, rung))))
    assert len(fit.rungs(DOWN)) == 3
    for rung, (share, _) in enumerate(fit.rungs(UP)):
        assert share == pytest.approx(sum(fit.best[4 + rung :]))
    narrow = Fitted(Ladder((0, 1, 2, 4, 8, 16), 1, THRESHOLD), Numeric("x", 0, 1, scale="log"), (1,) * 6)
    assert narrow.survival(narrow.sides[0], 2) == [0, 0, 0, 1, 1, 1]


def test_the_end_of_a_range_is_where_it_is_said_to_be() -> None:
    """By rounding, -0.7 + (-0.1 + 0.7) is not -0.1."""
    assert -0.7 + (-0.1 + 0.7) != -0.1
    fit = Fitted(Ladder((0, 8, 12, 16), 1, THRESHOLD), Numeric("x", -0.7, -0.1, scale="log"), (1,) * 4)
    assert (fit.places[-1], fit.origin) == (-0.1, 3)


def one_rung(counts: tuple[int, ...] = (60, 90, 80, 40, 30), **known: Any) -> Fitted:
    """A side of one rung below 0, and three above."""
    fit = Fitted(Ladder((0, 1, 2, 4, 16), 1, THRESHOLD), Numeric("x", -1, 15, scale="log"), counts)
    vars(fit).update(known)
    return fit


def test_a_side_may_have_one_rung() -> None:
    fit = one_rung()
    up, down = Side((1, 2, 3, 4)), Side((1, 0))
    assert fit.places == [-1.0, 0.0, 1.0, 3.0, 15.0]
    assert fit.sides == [up, down]
    fit = one_rung(_rungs={up: [(1.0, 0.1)] * 2 + [(0.0, 0.1)], down: [(1.0, 0.1)]})
    found = clipped(fit, 0.9)
    assert (found.low, found.high) == (-1.0, 3.0)
    assert found.point == pytest.approx(sum(map(mul, [-1.0, 0.0, 1.0, 3.0, 3.0], fit.best)))
    factor = (1 - 3 / 15) / (2 - 1)  # of a tail with the index 2; nobody is below -1
    weights = [-1.0, 0.0, 1.0, 3.0 + 1.5 * factor, 3.0 + 1.5 * factor]
    assert unclipped(fit, 0.9, 2.0).interval[1] == pytest.approx(widened(fit, weights, 0.9)[1])


def widened(fit: Fitted, weights: list[float], level: float) -> tuple[float, float]:
    """The interval of a mean of the values in `weights`, which is in the range, as for a clip that was found."""
    point, (low, high) = fit.score(weights, level)
    return point - 2.3 / 1.96 * (point - low), point + 2.3 / 1.96 * (high - point)


def test_of_few_reports_the_interval_is_as_wide_as_the_range() -> None:
    found = unclipped(one_rung((3, 3, 3, 3, 9)), 0.999, 1.1)
    assert found.point < 9
    assert found.interval[1] > 15.0
    assert unclipped(one_rung((1, 1, 1, 1, 3)), 0.999, 1.1).interval[0] < -1.0


def test_places_are_measured_from_an_origin_that_is_not_0() -> None:
    number = Numeric("x", 4, 20, scale="log")
    fit = Fitted(Ladder((0, 1, 2, 4, 8, 16), 1, THRESHOLD), number, (100, 80, 60, 30, 5, 3))
    (side,) = fit.sides
    vars(fit)["_rungs"] = {side: [(1.0, 0.1)] * 3 + [(0.0, 0.1)] * 2}
    assert fit.places == [4.0, 5.0, 6.0, 8.0, 12.0, 20.0]
    weights = [4.0, 5.0, 6.0, 8.0, 8.0, 8.0]
    found = clipped(fit, 0.9)
    assert (found.low, found.high) == (4.0, 8.0)
    assert found.point == pytest.approx(sum(map(mul, weights, fit.best)))
    factor = (1 - 4 / 16) / (2 - 1)
    more = [0.0, 1.0, 2.0, *[4.0 + 2 * factor] * 3]  # above 4
    tailed = unclipped(fit, 0.9, 2.0)
    assert tailed.interval[1] == pytest.approx(max(4 + widened(fit, more, 0.9)[1], tailed.point))


def test_rungs_are_in_use_up_to_the_first_that_may_be_empty() -> None:
    rungs = {UP: [(0.5, 0.1), (0.3, 0.1), (0.2, 0.1), (0.9, 0.1), (0.9, 0.1)], DOWN: [(0.1, 0.1)] * 3}
    fit = fitted(_rungs=rungs)
    assert [fit.used(UP), fit.used(DOWN)] == [2, 0]
    assert fitted(_rungs={**rungs, UP: [(0.21, 0.1)] * 5}).used(UP) == 5
    (side,) = single().sides
    assert single(_rungs={side: [(0.1, 0.1)] * 5}).used(side) == 1
    assert single(_rungs={side: [(0.3, 0.1), (0.3, 0.1), *[(0.1, 0.1)] * 3]}).used(side) == 2


# -- means


def used(up: int, down: int) -> dict[str, Any]:
    """Rungs of which so many are in use."""
    return {
        "_rungs": {
            UP: [(1.0, 0.1)] * up + [(0.0, 0.1)] * (5 - up),
            DOWN: [(1.0, 0.1)] * down + [(0.0, 0.1)] * (3 - down),
        }
    }


@pytest.mark.parametrize(
    ("up", "down", "low", "high"),
    [(3, 2, -2.0, 4.0), (5, 3, -4.0, 12.0), (1, 0, 0.0, 1.0), (0, 1, -1.0, 0.0), (0, 0, 0.0, 0.0)],
)
def test_the_clipped_mean_is_that_of_clipped_places(up: int, down: int, low: float, high: float) -> None:
    fit = fitted(**used(up, down))
    found = clipped(fit, 0.9)
    assert (found.low, found.high) == (low, high)
    weights = [min(max(place, low), high) for place in PLACES]
    assert found.point == pytest.approx(sum(map(mul, weights, fit.best)), abs=1e-12)
    assert found.stderr == pytest.approx(math.sqrt(fit.variance(weights)), abs=1e-12)
    if low < high:
        point, inside = fit.value(weights), min(max(fit.value(weights), low), high)
        ends = [end + inside - point for end in widened(fit, weights, 0.9)]
        assert found.interval == pytest.approx((min(ends[0], found.point), max(ends[1], found.point)))
        assert found.laid == (max(found.interval[0], low), min(found.interval[1], high))
        assert found.refused == (found.laid[1] - found.laid[0] > 0.75 * (high - low))
    values = fit.values(weights)
    assert reach(fit) == pytest.approx(max(values) - min(values))
    # People beyond: at most the survival in the rung before the clip; at the end of the range nobody is.
    beyond = [0.0] * 9
    for count, last, survivals in (
        (up, 5, [range(s, 9) for s in range(4, 9)]),
        (down, 3, [range(s) for s in (3, 2, 1)]),
    ):
        for state in survivals[max(count - 1, 0)] if count < last else ():
            beyond[state] += 1.0
    share = fit.value(beyond)
    end = min(max(share, 0.0), 1.0) + fit.score(beyond, 0.9)[1][1] - share
    assert found.beyond == pytest.approx(min(end, 1.0) if any(beyond) else 0.0)


def test_an_interval_never_leaves_its_point_out() -> None:
    """Shares that were given do not add up to the point of the clip: it may lie beyond the ends."""
    fit = fitted(**used(1, 1), best=[0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0])
    found = clipped(fit, 0.9)
    assert (found.point, found.high, found.interval[1]) == (3.0, 1.0, 3.0)
    fit = fitted(**used(1, 1), best=[0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert clipped(fit, 0.9).interval[0] == -3.0


def test_where_all_are_at_one_place_an_interval_has_a_width() -> None:
    """Of 2,000 people at a knot at a large epsilon, some crowds have a point beyond the end, and all an interval."""
    fit, world = single(), Random(8)
    law = [[float(p) for p in row] for row in fit.channel.table]
    for state in range(len(law)):
        for n in (2, 5, 200, 2000):
            for _ in range(10):
                drawn = world.choices(range(len(law[state])), law[state], k=n)
                counts = tuple(drawn.count(y) for y in range(len(law[state])))
                found = clipped(Fitted(fit.channel, ONE, counts), 0.95)
                assert found.low <= found.laid[0] < found.laid[1] <= found.high


def test_the_share_beyond_is_at_most_all() -> None:
    fit = fitted(**used(1, 0))
    assert clipped(fit, 0.9).beyond < 1.0
    assert clipped(Fitted(fit.channel, BOTH, (0, 0, 0, 1, 1, 1, 1, 0, 0, 0)), 0.9).beyond == 1.0


def test_the_mean_among_the_present_moves_with_the_missing() -> None:
    (side,) = absent().sides
    fit = absent(_rungs={side: [(1.0, 0.1)] * 3 + [(0.0, 0.1)] * 2})
    gone = fit.best[-1]
    assert fit.missing == gone > 0.05
    assert single().missing == 0.0
    places = [0.0, 1.0, 2.0, 4.0, 4.0, 4.0]
    total = sum(map(mul, places, fit.best))
    found = clipped(fit, 0.9)
    assert found.point == pytest.approx(total / (1 - gone))
    weights = [*(place / (1 - gone) for place in places), total / (1 - gone) ** 2]
    assert found.stderr == pytest.approx(math.sqrt(fit.variance(weights)))
    values = fit.values([*places, 0.0])
    assert reach(fit) == pytest.approx((max(values) - min(values)) / (1 - gone))


def test_the_weights_of_a_tail() -> None:
    """What lies between c/2 and c counts some more: of rungs that hold c/2, the part beyond it."""
    (side,) = single().sides
    for count, factors in ((3, [1, 1, 2.5]), (4, [1, 1, 2, 5]), (1, [1.125]), (2, [1, 1.25])):
        fit = single(_rungs={side: [(1.0, 0.1)] * count + [(0.0, 0.1)] * (5 - count)})
        tail, clip = 3.0, 2.0 ** (count - 1)
        factor = (1 - (clip / 16) ** 2) / 3
        found = unclipped(fit, 0.9, tail)
        sums = {}
        for name, more in (("point", min(factor, 1 / 3)), ("most", factor), ("least", 0.0)):
            outer = [factors[i] - [1, 1, 2, 4][i] for i in range(count)]  # a quarter of the part beyond c/2
            steps = [[1, 1, 2, 4][i] + 4 * outer[i] * more for i in range(count)]
            sums[name] = [sum(steps[:s]) for s in range(6)]
        mean = {name: sum(map(mul, weights, fit.best)) for name, weights in sums.items()}
        assert found.point == pytest.approx(mean["point"])
        assert found.stderr == pytest.approx(math.sqrt(fit.variance(sums["point"])))
        low, high = widened(fit, sums["least"], 0.9)[0], widened(fit, sums["most"], 0.9)[1]
        assert found.interval == pytest.approx((min(low, found.point), max(high, found.point)))


def test_tails_on_both_sides() -> None:
    """A side without a rung in use has a tail all the same. What is beyond the lower end can only take away."""
    fit = fitted(**used(4, 0))
    factor = {"up": (1 - (8 / 12) ** 0.5) / (2**0.5 - 1), "down": (1 - (1 / 4) ** 0.5) / (2**0.5 - 1)}
    assert factor["up"] > 1 / 3 < factor["down"]

    def weights(up: float, down: float) -> list[float]:
        """Clipped at -1 and at 8. What is from 4 to 8 counts more, and so does what is from -1/2 to -1."""
        found = [min(max(place, -1.0), 8.0) for place in PLACES]
        return [w + up * 4 * (place >= 8) - down * 0.5 * (place <= -1) for w, place in zip(found, PLACES, strict=True)]

    found = unclipped(fit, 0.9, 1.5)
    point = weights(1 / 3, 1 / 3)
    assert found.point == pytest.approx(sum(map(mul, point, fit.best)))
    assert found.stderr == pytest.approx(math.sqrt(fit.variance(point)))
    most, least = weights(factor["up"], 0.0), weights(0.0, factor["down"])
    assert found.interval == pytest.approx((widened(fit, least, 0.9)[0], widened(fit, most, 0.9)[1]))
    # A point that is given may lie outside: the interval reaches it.
    far = fitted(**used(4, 0), best=[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0])
    assert unclipped(far, 0.9, 1.5).interval[1] == unclipped(far, 0.9, 1.5).point > 12
    far = fitted(**used(4, 0), best=[9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert unclipped(far, 0.9, 1.5).interval[0] == unclipped(far, 0.9, 1.5).point < -4
