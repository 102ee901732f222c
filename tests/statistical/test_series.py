"""Estimates of a series: each week's points are unbiased, and its intervals hold, though numbers are dithered.

The coverage tests have the error rates of `test_coverage`. The twin rounds to the nearest level, without a dither.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from experiments.crowds import Target

from hush import Categorical, Numeric, Schema, Tally, design, estimate
from hush.core.channels import Channel, Reading
from hush.core.exact import WORD
from hush.core.report import Report
from hush.device.memory import ask, level, recall
from hush.testing import SeededCoins
from tests.device.test_memory import Notes
from tests.statistical.test_coverage import exact


def law_of(channel: Channel, positions: Sequence[float], levels: int, dithers: Sequence[int]) -> Any:
    """What a device in this population reports in one week: a number, a dither, and the answer of its level."""
    laws = [np.array(channel.likelihood(j / (levels - 1))) for j in range(levels)]
    found = [level(float(x), levels, dither) for x in positions for dither in dithers]
    return sum(found.count(j) / len(found) * laws[j] for j in range(levels))


def skewed(rng: np.random.Generator) -> Any:
    """Incomes: most people near the lower end of the domain, a few far up."""
    return (rng.lognormal(-3.2, 0.9, 300)).clip(0, 1)


def covered(channel: Channel, law: Any, mean: float, runs: int) -> float:
    """Return how often the interval of 3000 people covers a mean in [0, 1]."""
    reading = channel.readings([0] * channel.alphabet.size, 0)[0]
    assert isinstance(reading, Reading)
    target = Target.of(reading, 2 * mean - 1)
    return float(target.covers(np.random.default_rng(2019).multinomial(3000, law, size=runs), 0.95).mean())


DITHERED = [WORD * (2 * i + 1) // 128 for i in range(64)]  # evenly spread: exact for multiples of 1/64
UNDITHERED = [WORD // 2]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("levels", [2, 3, 9])
def test_intervals_hold_in_every_week(epsilon: float, levels: int) -> None:
    plan = design(Schema([Numeric("income", 0, 1)]), epsilon)
    positions = np.floor(skewed(np.random.default_rng(1)) * 64) / 64  # for which these dithers are exact
    law = law_of(plan.channel("income"), positions, levels, DITHERED)
    assert exact(covered(plan.channel("income"), law, float(positions.mean()), 5000), 5000)


def test_rounding_without_a_dither_is_caught() -> None:
    plan = design(Schema([Numeric("income", 0, 1)]), 2.0)
    positions = skewed(np.random.default_rng(1))
    law = law_of(plan.channel("income"), positions, 2, UNDITHERED)
    assert covered(plan.channel("income"), law, float(positions.mean()), 1000) < 0.5


def test_weeks_of_twenty_thousand_devices() -> None:
    """Moods that change and steps that drift, by the code of the device.

    Intervals are at the level 1 - 5e-8; there are twelve, so that a false alarm has probability 6e-7. Words are seeded.
    """
    schema = Schema([Categorical("mood", ["good", "fair", "bad"]), Numeric("steps", 0, 1)])
    plan = design(schema, 2.0, k=1)
    coins, world = SeededCoins(6), random.Random(6)
    people = [[world.randrange(2), world.random() ** 2] for _ in range(20_000)]
    memories = [Notes() for _ in people]
    points = []
    for _ in range(3):
        tally, truth = Tally(plan), {"good": 0.0, "fair": 0.0, "bad": 0.0, None: 0.0}
        for person, memory in zip(people, memories, strict=True):
            asked = ask(coins, plan, person, ((None,), (3,)), memory)
            tally.add(Report(plan, bytes(16), recall(coins, plan, asked, memory)))
            truth[schema.attributes[0].labels[int(person[0])]] += 1 / len(people)  # type: ignore[union-attr, index]
            truth[None] += person[1] / len(people)
            if world.random() < 0.3:
                person[0] = world.randrange(3)
            person[1] = min(max(person[1] + world.gauss(0.05, 0.05), 0), 1)
        for row in estimate(tally, level=1 - 5e-8):
            assert row.low <= truth[row.category] <= row.high  # type: ignore[index]
            points.append(row)
    assert len(points) == 12
    assert max(row.high - row.low for row in points) < 0.2  # narrow enough to mean something
    states = sum(kind == "answer" for memory in memories for kind, _, _ in memory.kept)
    assert Fraction(states, len(people)) < 2  # three weeks of fresh reports would have been 3
