"""Contrasts, against the whole law of every small channel, in rational arithmetic."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest

from hush.core.channels import Channel
from hush.core.channels.contrast import Contrast, compared, merged, widest
from hush.core.channels.two_level import TwoLevel
from tests.cases import DESIGNED, SMALL

CASES = [(name, Fraction(text)) for name in SMALL for text in ("0.5", "4")]
FACTORS = [Fraction(1), Fraction(11, 10), Fraction(2), Fraction(20)]


def excess(contrast: Contrast, e: Fraction, rest: Fraction, threshold: Fraction) -> Fraction:
    """E (G - threshold)_+ for the value G = a - e*b, which is 0 with the probability that is left."""
    found = sum((w * max(a - e * b - threshold, Fraction(0)) for w, a, b in contrast), Fraction(0))
    return found + rest * max(-threshold, Fraction(0))


def covers(wide: Contrast, other: Contrast, e: Fraction) -> bool:
    """Say whether the values of one contrast are those of the other, spread: by the integrals of the tails."""
    total = sum((w for w, _, _ in wide), Fraction(0))
    if total != sum((w for w, _, _ in other), Fraction(0)):
        return False
    rest = 1 - total
    values = {a - e * b for _, a, b in (*wide, *other)} | {Fraction(0)}
    return all(excess(wide, e, rest, value) >= excess(other, e, rest, value) for value in values)


def pairs_of(channel: Channel, most: int = 30) -> list[tuple[object, object]]:
    """All pairs of states, or some of many, the extreme ones among them."""
    states = list(channel.states())
    every = [(x, z) for x, z in product(states, repeat=2) if x != z]
    if len(every) <= most:
        return every
    return [(states[0], states[-1]), (states[-1], states[0]), *random.Random(5).sample(every, most)]


@pytest.mark.parametrize(("name", "epsilon"), CASES)
def test_the_blanket_covers_every_pair_of_states(name: str, epsilon: Fraction) -> None:
    channel = SMALL[name](epsilon)
    laws = {state: channel.law(state) for state in channel.states()}
    least = {y: min(law[y] for law in laws.values()) for y in next(iter(laws.values()))}
    wide = channel.blanket()
    for side in (1, 2):
        assert sum(part[0] * part[side] for part in wide) == 1
    met = False
    for x, z in pairs_of(channel):
        other = compared(laws[x], laws[z], least)
        assert all(covers(wide, other, e) for e in FACTORS)
        met |= sorted(wide) == sorted(other)
    assert met >= channel.tight


def test_a_narrower_contrast_does_not_cover() -> None:
    """The twin: two windows that share a cell instead of two that share none."""
    channel = SMALL["window-5-2"](Fraction(1))
    assert isinstance(channel, TwoLevel)
    laws = {state: channel.law(state) for state in channel.states()}
    least = {y: min(law[y] for law in laws.values()) for y in laws[0]}
    narrow, wide = compared(laws[0], laws[1], least), compared(laws[0], laws[3], least)
    assert covers(wide, narrow, Fraction(11, 10))
    assert not covers(narrow, wide, Fraction(11, 10))


@pytest.mark.parametrize(("name", "epsilon"), CASES)
def test_the_others_have_a_law(name: str, epsilon: Fraction) -> None:
    channel = SMALL[name](epsilon)
    found = channel.crowds()
    assert found
    for crowd in found:
        assert sum(w for w, _, _ in crowd) == 1
        for side in (1, 2):
            assert sum(part[0] * part[side] for part in crowd) == 1
    if isinstance(channel, TwoLevel):
        triples = [(*pair, s) for pair in channel.opposites() for s in (*pair, *channel.bystanders())]
        for (x, z, s), crowd in zip(triples, found, strict=True):
            assert sorted(crowd) == sorted(compared(channel.law(x), channel.law(z), channel.law(s)))


@pytest.mark.parametrize("name", list(SMALL))
def test_sorts_of_any_states(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    if not isinstance(channel, TwoLevel):
        return
    states = list(channel.states())
    source = random.Random(7)
    for _ in range(20):
        chosen = [source.choice(states) for _ in range(source.choice((1, 2, 3)))]
        laws = [channel.law(state) for state in chosen]
        sorts = channel.sorts(chosen)
        for i in range(len(chosen)):
            likely = sum((w for sort, w in sorts.items() if sort[i]), Fraction(0)) * channel.ratio
            assert likely + sum((w for sort, w in sorts.items() if not sort[i]), Fraction(0)) == 1
        for i, j in product(range(len(chosen)), repeat=2):
            same = sum((min(laws[i][y], laws[j][y]) for y in laws[i]), Fraction(0))
            parts = ((w, sort[i], sort[j]) for sort, w in sorts.items())
            assert same == sum((w * (channel.ratio if a and b else 1) for w, a, b in parts), Fraction(0))


@pytest.mark.parametrize("name", DESIGNED)
def test_real_sizes_are_quick_enough(name: str) -> None:
    channel = DESIGNED[name](Fraction(1))
    for side in (1, 2):
        assert sum(part[0] * part[side] for part in channel.blanket()) == 1
    for crowd in channel.crowds():
        assert sum(w for w, _, _ in crowd) == 1


def test_the_widest_contrast_covers_any_table() -> None:
    """Whatever the channel: random tables of three states and four outputs."""
    source = random.Random(11)
    for _ in range(20):
        table = []
        for _ in range(3):
            row = [source.randint(1, 9) for _ in range(4)]
            table.append({y: Fraction(v, sum(row)) for y, v in enumerate(row)})
        least = {y: min(law[y] for law in table) for y in range(4)}
        ratio = max(law[y] / least[y] for law in table for y in range(4))
        if ratio == 1:
            continue
        wide = widest(ratio, sum(least.values(), Fraction(0)))
        for x, z in product(range(3), repeat=2):
            assert all(covers(wide, compared(table[x], table[z], least), e) for e in FACTORS)


def test_the_widest_contrast_separates_as_much_as_there_is() -> None:
    """If less than half of w is high, all of that is apart; if more, the rest of it is high for both."""
    one, three, five = Fraction(1), Fraction(3), Fraction(5)
    eighth, tenth = Fraction(1, 8), Fraction(1, 10)
    assert widest(five, Fraction(1, 2)) == ((eighth, five, one), (eighth, one, five), (2 * eighth, one, one))
    assert widest(three, Fraction(2, 5)) == ((tenth, three, one), (tenth, one, three), (2 * tenth, three, three))


def test_equal_pairs_are_merged() -> None:
    one, two = Fraction(1), Fraction(2)
    assert merged([(one, two, one), (two, two, one), (Fraction(0), one, one)]) == ((Fraction(3), two, one),)
