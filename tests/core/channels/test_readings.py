"""What the server reads from the counts of every channel: readings, rounding and likelihoods.

Written with a mutation tester at hand (docs/mutants.md): each of these tests fails for a change that no other noticed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from hush.core.channels import (
    Additive,
    Cells,
    Channel,
    Corners,
    Cube,
    Geometry,
    Picks,
    Reading,
    Rows,
    Signs,
    Subset,
    Summed,
    Unary,
)
from hush.core.exact import WORD
from tests.cases import SMALL


def exact_counts(channel: Channel, state: Any) -> tuple[int, list[int]]:
    """The smallest crowd, all in one state, whose reports are in proportion to the law, exactly."""
    law = channel.law(state)
    n = math.lcm(*(p.denominator for p in law.values()))
    counts = [0] * channel.alphabet.size
    for output, p in law.items():
        for symbol in output if isinstance(output, tuple) else (output,):
            counts[symbol] += int(p * n)
    return n, counts


def average(reading: Reading, values: Any) -> Fraction:
    total = sum((count * Fraction(value) for count, value in zip(reading.counts, values, strict=True)), Fraction(0))
    return total / sum(reading.counts)


@pytest.mark.parametrize("epsilon", [Fraction("0.5"), Fraction(4)])
@pytest.mark.parametrize("name", [name for name in SMALL if name != "subset-12" and not name.startswith("ladder")])
def test_readings_of_a_typical_crowd_are_the_truth(name: str, epsilon: Fraction) -> None:
    """Values are floats and counts exact, so that the average is off by rounding alone; every target has its place.

    Ladders have no readings: `hush.server.ladders` reads their counts.
    """
    channel = SMALL[name](epsilon)
    if isinstance(channel, Additive):
        # No tails to speak of, and short fractions.
        channel = Additive(channel.runs, (WORD >> 8, WORD >> 16, WORD >> 32, WORD >> 54), 7 * channel.steps)
    states = [*channel.states()]
    for state in {states[0], states[len(states) // 3], states[-1]}:
        n, counts = exact_counts(channel, state)
        readings = channel.readings(counts, n)
        truth = targets(channel, state)
        assert len(readings) == len(truth)
        assert [(r.attribute, r.symbol) for r in readings] == places(channel, name)
        for reading, expected in zip(readings, truth, strict=True):
            if isinstance(reading, Summed):
                assert reading.n == n
                loose = 1e-12 * abs(reading.largest)
                assert reading.mean == pytest.approx(float(expected), abs=loose)
                if reading.presence is not None:
                    assert reading.presence.mean == pytest.approx(float(1 - truth[-1]), abs=loose)
                continue
            assert len(reading.counts) == len(reading.values)
            assert sum(reading.counts) == n * reading.share
            loose = 1e-12 * max(map(abs, reading.values))
            if reading.presence is None:
                assert abs(float(average(reading, reading.values) - expected)) <= loose
            else:
                here = 1 - truth[1]
                assert abs(float(average(reading, reading.presence) - here)) <= loose
                assert abs(float(average(reading, reading.values) - expected * here)) <= loose
            assert reading.squares is not None or len(reading.values) == 2


def targets(channel: Channel, state: Any) -> tuple[Fraction, ...]:
    """The true value of every reading."""
    truth = channel.truth(state)
    if not isinstance(channel, Rows):
        return truth
    shares, values, here = (truth[i * channel.rows : (i + 1) * channel.rows] for i in range(3))
    total = sum(values, Fraction(0))
    return (*shares, total, 1 - sum(here, Fraction(0))) if channel.optional else (*shares, total)


def places(channel: Channel, name: str) -> list[tuple[int, int | None]]:
    """Attribute and symbol of every target."""
    if isinstance(channel, Subset | Unary | Picks | Geometry):
        return [(0, category) for category in range(channel.size)]
    if isinstance(channel, Cells):
        symbols = [[None] if size is None else range(size) for size in channel.sizes]
        return [(j, symbol) for j, each in enumerate(symbols) for symbol in each]
    if isinstance(channel, Rows):
        shares: list[tuple[int, int | None]] = [(0, j) for j in range(channel.rows)]
        return [*shares, (1, None), *[(1, 0)] * channel.optional]
    if isinstance(channel, Signs | Cube | Corners):
        return [(j, None) for j in range(channel.size)]
    return [(0, None), (0, 0)] if name.endswith("optional") else [(0, None)]


NUMBERS = ["duchi-optional", "window-5-2", "window-uneven", "mixture", "mixture-optional", "laplace", "staircase"]


@pytest.mark.parametrize("name", NUMBERS)
def test_rounding_keeps_the_mean_exactly_as_it_says(name: str) -> None:
    channel = SMALL[name](Fraction(2))
    loose = Fraction(1, 1 << (50 if isinstance(channel, Additive) else 23))
    for u in (0.0, 0.1, 0.25, 0.7, 0.875, 1.0):
        rounding = channel.rounding([u])
        assert sum(rounding.values()) == 1
        assert all(0 < p <= 1 for p in rounding.values())
        mean = sum((p * channel.truth(state)[0] for state, p in rounding.items()), Fraction(0))
        assert abs(mean - (2 * Fraction(u) - 1)) <= loose


@pytest.mark.parametrize("name", [*NUMBERS, "ladder-6-3", "ladder-two-sided", "ladder-5-2-optional"])
def test_a_likelihood_is_the_law_after_rounding(name: str) -> None:
    channel = SMALL[name](Fraction(3))
    inputs: list[Any] = [0.0, 0.2, 0.5, 0.9, 1.0]
    for u in [*inputs, None] if name.endswith("optional") else inputs:
        expected = dict.fromkeys(range(channel.alphabet.size), Fraction(0))
        for state, chance in channel.rounding([u]).items():
            for output, p in channel.law(state).items():
                assert isinstance(output, int)
                expected[output] += chance * p
        found = channel.likelihood(u)
        assert found is not None
        inner = slice(1, -1) if isinstance(channel, Additive) else slice(None)  # without the far tails
        # The rounding of windows is to 2^-24.
        assert found[inner] == pytest.approx([float(p) for p in expected.values()][inner], abs=1e-7)
        assert len(found) == len(expected)


def test_only_channels_of_one_number_have_likelihoods() -> None:
    for name in ("grr-5", "oue-6", "signs-5", "cube-4-3-2", "corners-4-2", "cells-4-3", "rows-3-1-5-2"):
        assert SMALL[name](Fraction(1)).likelihood(0.5) is None
