"""Joint randomised response: its sampler, its margins, what it has in common with others."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import pytest

from hush import Categorical, DesignError, Numeric, Plan, PlanError, Schema, Tally, estimate
from hush.core.channels import Cells, Output, Summed
from hush.core.design.categorical import grr
from hush.core.design.joint import cells
from hush.core.design.numeric import duchi
from hush.core.exact import WORD, exp_bounds, largest_threshold
from hush.core.plan import Question
from hush.testing import ListedCoins
from tests.cases import branches, joint_plan

SIZES: list[tuple[int | None, ...]] = [(2,), (None,), (2, 2, 2), (4, 3), (None, 3), (2, None, None)]
FEW: list[tuple[int | None, ...]] = [(2, 3), (None, 3), (None, None)]


@pytest.mark.parametrize("sizes", SIZES)
def test_the_sampler_has_the_law_exactly(sizes: tuple[int | None, ...]) -> None:
    """Every path is followed, for every weight."""
    for channel in weighted(Fraction(2), sizes):
        for state in channel.states():
            found = branches(lambda coins, state=state, channel=channel: channel.draw(state, coins))  # type: ignore[misc]
            assert found == channel.law(state)


@pytest.mark.parametrize("sizes", SIZES)
def test_margins_have_the_probabilities_of_the_derivation(sizes: tuple[int | None, ...]) -> None:
    """The number of a value's cells in the report, on average; and the mean square of what it decodes to."""
    for channel in weighted(Fraction(2), sizes):
        p = Fraction(channel.threshold, WORD)
        q = (channel.weight - p) / (channel.cells - 1)
        for state in channel.states():
            assert isinstance(state, int)
            law = channel.law(state)
            for j, (size, values) in enumerate(zip(channel.sizes, channel.values, strict=True)):
                c = channel.cells // values
                for value in range(values):
                    true = channel.position(state)[j] == value
                    found = [
                        (chance, sum(channel.position(cell)[j] == value for cell in members(output)))
                        for output, chance in law.items()
                    ]
                    assert sum(chance * count for chance, count in found) == c * q + true * (p - q)
                    if size is None and value == 0:
                        continue
                    square = sum(chance * channel._value(size, count) ** 2 for chance, count in found)
                    assert square == channel.squares[j][true]


@pytest.mark.parametrize("sizes", FEW)
def test_sums_have_the_averages_and_the_bounds_of_the_law(sizes: tuple[int | None, ...]) -> None:
    """One report at a time: what is read from its cells averages to the truth and to the mean square, exactly known."""
    for channel in weighted(Fraction(2), sizes)[1:]:
        none = channel.readings([0] * channel.cells, 0)
        owners = [j for j, size in enumerate(sizes) for _ in range(size or 1)]
        names = [None if size is None else i for size in sizes for i in range(size or 1)]
        for state in channel.states():
            law, truth = channel.law(state), channel.truth(state)
            read = {output: channel.readings(counted(channel, output), 1) for output in law}
            for i, empty in enumerate(none):
                assert isinstance(empty, Summed)
                values = {output: channel.decode(output)[i] for output in law}
                square = sum((chance * values[output] ** 2 for output, chance in law.items()), Fraction(0))
                assert (empty.attribute, empty.symbol, empty.n) == (owners[i], names[i], 0)
                assert empty.mean is empty.square is None
                assert empty.smallest == float(min(values.values()))
                assert empty.largest == float(max(values.values()))
                assert empty.squares.ends == (-1.0 if names[i] is None else 0.0, 1.0)
                spread = float(square - truth[i] ** 2)
                assert [*empty.squares.variances(float(truth[i]))] == pytest.approx([spread] * 2)
                averaged = 0.0
                for output, chance in law.items():
                    one = read[output][i]
                    assert isinstance(one, Summed)
                    assert one.square is not None
                    assert one.mean == float(values[output])
                    assert (one.attribute, one.symbol, one.n) == (owners[i], names[i], 1)
                    assert (one.smallest, one.largest) == (empty.smallest, empty.largest)
                    assert one.squares.upper == empty.squares.upper
                    averaged += float(chance) * one.square
                assert averaged == pytest.approx(float(square))


def counted(channel: Cells, output: Output) -> list[int]:
    """The tally of one report."""
    return [int(cell in members(output)) for cell in range(channel.cells)]


def test_sums_are_averages_over_all_reports() -> None:
    channel = weighted(Fraction(2), (None, 3))[1]
    outputs = [(0, 1), (0, 5), (2, 4), (3, 4), (3, 5)]
    counts = [sum(cell in output for output in outputs) for cell in range(6)]
    for i, one in enumerate(channel.readings(counts, 5)):
        assert isinstance(one, Summed)
        mean = sum(channel.decode(output)[i] for output in outputs) / 5
        without, within = channel.squares[one.attribute]
        assert (one.n, one.mean, one.square) == (5, float(mean), float(without + mean * (within - without)))


def weighted(epsilon: Fraction, sizes: tuple[int | None, ...]) -> list[Cells]:
    """The channel of every weight at this epsilon, as far as its law can be listed."""
    count = prod(2 if size is None else size for size in sizes)
    weights = range(1, count if count < 9 else 4)
    return [Cells(sizes, w, largest_threshold(exp_bounds(epsilon)[0], w, count - w)) for w in weights]


def members(output: Output) -> tuple[int, ...]:
    return (output,) if isinstance(output, int) else output


def test_the_first_attribute_changes_slowest() -> None:
    channel = cells(Fraction(1), (2, None, 3))
    order = [*product(range(2), range(2), range(3))]
    assert [channel.position(cell) for cell in range(12)] == order
    assert [channel.cell(values) for values in order] == [*range(12)]
    for cell, (a, sign, b) in enumerate(order):
        assert channel.state([a, float(sign), b], ListedCoins([WORD // 2])) == cell


def test_rounding_is_known_exactly() -> None:
    channel = cells(Fraction(1), (2, None, None))
    n = 64
    words = [(2 * i + 1) * WORD // (2 * n) for i in range(n)]
    for u, w in ((0.3, 0.8), (0.0, 1.0), (1.0, 0.5)):
        exact = channel.rounding([1, u, w])
        assert sum(exact.values()) == 1
        found = Counter(channel.state([1, u, w], ListedCoins([a, b])) for a in words for b in words)
        assert set(found) <= set(exact)
        for state, probability in exact.items():
            assert abs(found[state] / n**2 - probability) <= 2 / n
            means = channel.truth(state)[2:]
            assert set(means) <= {-1, 1}


def test_whatever_the_float_the_state_is_a_cell() -> None:
    channel = cells(Fraction(1), (None, 3))
    states = set(channel.states())
    for u in (-1e300, -1.0, -0.0, 5e-324, 0.5, 1.0, 2.0, 1e300):
        for word in (0, 1 << 63, WORD - 1):
            assert channel.state([u, 2], ListedCoins([word])) in states


def test_alone_an_attribute_has_the_channel_that_it_always_had() -> None:
    epsilon = Fraction(3, 2)
    one, other = cells(epsilon, (5,)), grr(epsilon, 5)
    assert one.ratio == other.ratio
    assert [one.variance(t) for t in (0, 0.25, 1)] == [other.variance(t) for t in (0, 0.25, 1)]
    assert cells(epsilon, (None,)).worst_variance == pytest.approx(duchi(epsilon).worst_variance)


def test_variance_of_each_attribute() -> None:
    channel = cells(Fraction(2), (None, 3))
    for state in channel.states():
        truth = channel.truth(state)
        for target, attribute in enumerate((0, 1, 1, 1)):
            spread = sum(
                (p * (channel.decode(cell)[target] - truth[target]) ** 2 for cell, p in channel.law(state).items()),
                Fraction(0),
            )
            assert spread == channel.variance_of(attribute, truth[target]) <= channel.worst_variance
    with pytest.raises(ValueError, match="t must be"):
        cells(Fraction(2), (2, 3)).variance(-0.5)


def test_estimates_of_a_mixed_block() -> None:
    """Counts in proportion to the law of a mix of cells: an average crowd."""
    plan = joint_plan()
    channel = plan.questions[0].channel
    assert isinstance(channel, Cells)
    n = 10**15
    mix: dict[Any, Fraction] = {1: Fraction(1, 2), 9: Fraction(1, 4), 17: Fraction(1, 4)}
    laws = {state: channel.law(state) for state in mix}
    counts = [round(n * sum(mix[state] * laws[state][cell] for state in mix)) for cell in range(18)]
    counts[-1] = n - sum(counts[:-1])
    rows = estimate(Tally(plan, n, [n, 0], [counts, [0, 0]]))
    found = {(row.attribute, row.category): row.point for row in rows}
    assert found["x", None] == pytest.approx(5)  # half of all at either end
    for category, share in (("a", 0.75), ("b", 0), ("c", 0.25)):
        assert found["c", category] == pytest.approx(share, abs=1e-9)
    for label, share in (("yes", 0.25), ("no", 0.5), ("(missing)", 0.25)):
        assert found["s", label] == pytest.approx(share, abs=1e-9)
    assert [row.answers for row in rows] == [n] * 7 + [0] * 2


@pytest.mark.parametrize(
    "attribute", [Numeric("x", 0, 1), Numeric("x", 0, 1, optional=True), Categorical("x", [*"abcd"])]
)
def test_attributes_that_do_not_fit_are_refused(attribute: Any) -> None:
    sizes = (2, 3) if isinstance(attribute, Categorical) or not attribute.optional else (2, None)
    schema = Schema([Categorical("b", [0, 1]), attribute])
    with pytest.raises(PlanError, match="'x'"):
        Plan(schema, Fraction(2), 1, (Question(("b", "x"), cells(Fraction(2), sizes)),))
    with pytest.raises(PlanError, match="for 2 attributes"):
        Plan(Schema([attribute]), Fraction(2), 1, (Question(("x",), cells(Fraction(2), sizes)),))


def test_tables_that_are_too_large_are_refused() -> None:
    with pytest.raises(DesignError, match="4096 cells"):
        cells(Fraction(2), (64, 65))
    assert cells(Fraction(2), (None,) * 12).cells == 4096
