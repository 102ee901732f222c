"""The mixture chooses a part by one word, and then is that part."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hush.core.channels import Mixture, Output
from hush.core.channels.contrast import compared
from hush.core.channels.squares import Squares
from hush.core.design.numeric import hybrid
from hush.core.exact import WORD
from hush.testing import ListedCoins
from tests.cases import SMALL, small_mixture


@pytest.mark.parametrize("name", ["mixture", "mixture-optional"])
def test_the_sampler_has_the_law_exactly(name: str) -> None:
    """At both ends of each part's interval of words, the output is the part's; the parts are tested beside."""
    channel = SMALL[name](Fraction(1))
    assert isinstance(channel, Mixture)
    edge = channel.shares[0]
    first, second = channel.parts
    for state in channel.states():
        assert isinstance(state, tuple)
        for word in (0, 12345 << 40, WORD // 2, WORD - 1):
            for choice, part, inner, start in (
                (0, first, state[0], 0),
                (edge - 1, first, state[0], 0),
                (edge, second, state[1], first.alphabet.size),
                (WORD - 1, second, state[1], first.alphabet.size),
            ):
                expected = part.draw(inner, ListedCoins([word]))
                assert isinstance(expected, int)
                assert channel.draw(state, ListedCoins([choice, word])) == start + expected
                assert channel.decode(start + expected) == part.decode(expected)


def test_the_variance_is_the_average_of_the_parts() -> None:
    channel = SMALL["mixture"](Fraction(3))
    assert isinstance(channel, Mixture)
    for t in (Fraction(-1), Fraction(-1, 3), Fraction(0), Fraction(9, 10)):
        parts = zip(channel.shares, channel.parts, strict=True)
        assert channel.variance(t) == sum(share * part.variance(t) for share, part in parts) / WORD


def test_likelihood_is_the_average_of_the_parts() -> None:
    channel = SMALL["mixture-optional"](Fraction(2))
    assert isinstance(channel, Mixture)
    for u in (0.0, 0.37, 1.0, None):
        law = channel.likelihood(u)
        assert law is not None
        assert len(law) == channel.alphabet.size
        assert sum(law) == pytest.approx(1, rel=1e-12)
    missing = channel.law((None, None))
    assert channel.likelihood(None) == pytest.approx([float(p) for p in missing.values()], rel=1e-12)


@pytest.mark.parametrize("optional", [False, True])
def test_bounds_of_the_variance_are_exact_enough_and_need_no_fractions(optional: bool) -> None:
    """A collector that reads a plan waits for them: exact mean squares of a thousand states take half a second."""
    channel = Mixture.from_json(hybrid(Fraction(4), optional).to_json())
    squares = channel._squares
    assert "_knots" not in vars(channel)
    exact = Squares.of([(float(t), float(square)) for t, square in channel._knots])
    for x in range(-20, 21):
        bounds = Squares(squares.lower, squares.upper).variances(x / 20)
        assert bounds == pytest.approx(exact.variances(x / 20), abs=1e-12)


def test_crowds_compare_the_ends_and_missing_among_people_at_either_or_in_the_middle() -> None:
    for optional in (False, True):
        channel = small_mixture(Fraction(1), optional)
        ends: list[float | None] = [0.0, 1.0, None] if optional else [0.0, 1.0]
        laws = {u: law_of(channel, u) for u in [*ends, 0.5]}
        assert channel.crowds() == [compared(laws[0.0], laws[z], law) for z in ends[1:] for law in laws.values()]


def law_of(channel: Mixture, u: float | None) -> dict[Output, Fraction]:
    """The law of an input, rounding included, from its parts."""
    found: dict[Output, Fraction] = {}
    for state, share in channel.rounding([u]).items():
        for output, probability in channel.law(state).items():
            found[output] = found.get(output, Fraction(0)) + share * probability
    return found


def test_the_ends_are_farthest_apart_in_every_part_unless_values_may_be_missing() -> None:
    assert [small_mixture(Fraction(1), optional).tight for optional in (False, True)] == [True, False]
