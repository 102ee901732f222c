"""The floating-point attack: outputs of one input that another can never produce.

A textbook Piecewise Mechanism computes its output in floating point, so the low bits of a report depend on the input:
Mironov (2012) showed it for the Laplace mechanism. hush reports integers whose law is positive for every state, and
the input decides nothing but the state.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from experiments.textbook import TextbookPiecewise

from hush import Plan
from hush.core.schema import Numeric
from hush.device.randomise import randomise_from
from hush.testing import SeededCoins
from tests.cases import SMALL, any_record, plans


@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 0.05), (2.0, 0.2), (4.0, 0.5)])
def test_the_textbook_mechanism_is_caught(epsilon: float, share: float) -> None:
    """The share of reports for t = 0 that t = 1 can never produce: about 10 %, 34 %, 77 %."""
    mechanism, rng = TextbookPiecewise(epsilon), random.Random(1)
    outputs = [mechanism.draw(0.0, rng) for _ in range(3000)]
    assert all(mechanism.possible(y, 0.0) for y in outputs)
    impossible = sum(not mechanism.possible(y, 1.0) for y in outputs) / len(outputs)
    assert impossible > share


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(4), Fraction(10)])
@pytest.mark.parametrize("name", SMALL)
def test_no_output_of_hush_is_impossible_for_any_input(name: str, epsilon: Fraction) -> None:
    channel = SMALL[name](epsilon)
    supports = [{y for y, p in channel.law(state).items() if p > 0} for state in channel.states()]
    assert all(support == supports[0] for support in supports)


def neighbours(plan: Plan, record: dict[str, object]) -> dict[str, object]:
    """The same record with every number moved by one unit in the last place."""
    moved = dict(record)
    for attribute in plan.schema.attributes:
        value = moved.get(attribute.name)
        if isinstance(attribute, Numeric) and isinstance(value, float):
            moved[attribute.name] = math.nextafter(value, attribute.high if value < attribute.high else attribute.low)
    return moved


@pytest.mark.parametrize("name", [name for name in plans() if name != "wide"])
def test_no_report_depends_on_the_low_bits_of_the_input(name: str) -> None:
    """The same words give the same report. A word for which the rounding differs has probability below 2^-40."""
    plan = plans()[name]
    for seed in range(400):
        pick = SeededCoins(seed + 10**6)
        record = any_record(plan, pick.below)
        report = randomise_from(SeededCoins(seed), plan, record)
        assert randomise_from(SeededCoins(seed), plan, neighbours(plan, record)) == report
