"""What all channels share, by itself: averages of counts, the limits of a search, and what is not said."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hush.core.channels import Reading
from hush.core.channels.base import Summed, exact_t, searchable
from hush.core.channels.contrast import compared
from hush.core.channels.squares import Squares
from hush.core.channels.subset import Subset
from hush.core.channels.unary import Unary
from hush.core.channels.window import Window
from hush.core.design.numeric import duchi
from hush.core.exact import WORD


def test_the_average_of_the_counts_of_one_report() -> None:
    """Three quarters keep their category; a set of two has the true one with 3/4, and one or two of the others."""
    keeps, pairs = Subset(3, 1, 3 * WORD // 4), Subset(4, 2, 3 * WORD // 4)
    assert keeps.expected([1]) == [Fraction(1, 8), Fraction(3, 4), Fraction(1, 8)]
    assert pairs.expected([2]) == [Fraction(5, 12), Fraction(5, 12), Fraction(3, 4), Fraction(5, 12)]
    bits = Unary(2, WORD // 2, WORD // 4)
    assert bits.expected([0]) == [Fraction(1, 2), Fraction(1, 4)]


def test_the_average_counts_the_rounding_of_a_number() -> None:
    """At a quarter of the way a coin decides between both ends, and the report between its two values."""
    channel = duchi(Fraction(1))
    assert isinstance(channel, Window)
    low, high = channel.chances(0), channel.chances(1)
    assert channel.expected([0.25]) == [a * Fraction(3, 4) + b * Fraction(1, 4) for a, b in zip(low, high, strict=True)]
    assert sum(channel.expected([0.25])) == 1


def test_two_inputs_have_the_contrast_of_the_blanket_unless_a_channel_says_otherwise() -> None:
    channel = Subset(2, 1, 3 * WORD // 4)
    assert channel.tight is True
    laws = [channel.law(state) for state in (0, 1)]
    least = {output: min(law[output] for law in laws) for output in laws[0]}
    assert sorted(channel.blanket()) == sorted(compared(laws[0], laws[1], least))


@pytest.mark.parametrize(("size", "filled"), [(0, 0), (1, 1), (2, 3), (3, 3), (4, 7), (7, 7), (8, 15)])
def test_limits_are_filled_up_to_one_less_than_a_power_of_two(size: int, filled: int) -> None:
    assert searchable(range(size), 99) == [*range(size), *[99] * (filled - size)]


def test_inputs_are_from_minus_1_unless_it_is_said() -> None:
    assert exact_t(-1) == -1
    assert exact_t(0.5, 0) == Fraction(1, 2)
    for t, low in ((-1.25, -1), (1.25, -1), (-0.25, 0)):
        with pytest.raises(ValueError, match=f"t must be from {low} to 1"):
            exact_t(t, low)
    with pytest.raises(ValueError, match="t must be from -1 to 1"):
        exact_t(Fraction(-5, 4))


def test_all_who_answer_report_a_target_unless_it_is_said() -> None:
    squares = Squares(((0.0, 0.25), (1.0, 1.0)), ((0.0, 0.25), (1.0, 1.0)))
    assert Reading(0, None, [1], [1.0]).share == 1
    assert Summed(0, None, 1, 0.5, 0.25, 0.0, 1.0, squares).share == 1
