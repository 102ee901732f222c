"""The reports that a relay draws are those that the accountant counts on."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product

import pytest

from hush import Categorical, PlanError, Schema, design
from hush.core.blanket import blanket_of
from hush.core.channels import Output
from hush.planning.shuffle import contrasts
from hush.planning.shuffle.profiles import above
from tests.cases import plans
from tests.planning.shuffle.brute import batch_of, hockey_stick


@pytest.mark.parametrize("name", plans())
def test_the_relay_draws_from_the_blanket_of_the_accountant(name: str) -> None:
    """Channel by channel, the probability of the blanket is the same; and so is that of whole reports."""
    plan = plans()[name]
    try:
        blanket = blanket_of(plan)
    except PlanError as error:
        pytest.skip(f"no own reports: {error}")
    for question, found in zip(plan.questions, blanket.channels, strict=True):
        assert found.size == sum((w for w, _, _ in question.channel.blanket()), Fraction(0))
        assert sum(found.least.values()) == found.size
    whole = sum((w for w, _, _ in contrasts.blanket_of(plan)), Fraction(0))
    if plan.k == 1:
        wanted = sum(share * found.size for share, found in zip(plan.inclusions, blanket.channels, strict=True))
        assert whole == wanted
        for share, found, drawn in zip(plan.inclusions, blanket.channels, blanket.answered, strict=True):
            assert drawn == share * found.size / whole


# -- the collector sends all other reports of a batch itself

TWO = design(Schema([Categorical("a", ["no", "yes"]), Categorical("b", ["x", "y", "z"])]), 2.0, k=1)
Law = dict[tuple[int, Output], Fraction]
FACTORS = (Fraction(1), Fraction(3, 2), Fraction(3))


def person(*states: int) -> Law:
    """The exact law of the report of a record."""
    found: Law = {}
    for index, (question, share) in enumerate(zip(TWO.questions, TWO.inclusions, strict=True)):
        found |= {(index, y): share * p for y, p in question.channel.law(states[index]).items()}
    return found


def relay() -> Law:
    """The exact law of an own report, as the relay's code has it."""
    blanket = blanket_of(TWO)
    found: Law = {}
    for index, (channel, share) in enumerate(zip(blanket.channels, blanket.answered, strict=True)):
        found |= {(index, y): share * p / channel.size for y, p in channel.least.items()}
    return found


def like_people() -> Law:
    """A careless relay draws the question as people do, and the answer from its channel's blanket."""
    found = relay()
    totals = [sum(p for (index, _), p in found.items() if index == one) for one in range(2)]
    return {(index, y): TWO.inclusions[index] * p / totals[index] for (index, y), p in found.items()}


def revealed(own: Law, m: int, e: Fraction) -> Fraction:
    """What is left of a batch when the collector has removed the n - 1 fakes that it sent: one person, and m own.

    Return the largest delta for e^epsilon = e over all pairs of records: all batches are listed.
    """
    outputs = sorted(relay(), key=repr)
    laws = [[law.get(y, Fraction(0)) for y in outputs] for law in (own, *(person(a, b) for a, b in RECORDS))]
    batches = [batch_of([*[laws[0]] * m, law]) for law in laws[1:]]
    return max(hockey_stick(one, other, e) for one, other in permutations(batches, 2))


RECORDS = tuple(product(range(2), range(3)))


@pytest.mark.parametrize("m", [1, 2])
def test_own_reports_hide_the_one_person_among_fakes(m: int) -> None:
    """The promise for own reports is true, and the least that is: exactly, whatever n is."""
    for e in FACTORS:
        truth = revealed(relay(), m, e)
        proved = above(contrasts.only(contrasts.blanket_of(TWO)), m + 1, e, 1e-4)
        assert truth <= proved <= truth * Fraction(101, 100) + Fraction(1, 10**9)


TWINS: dict[str, Callable[[], Law]] = {
    "questions as people draw them": like_people,
    "the report of somebody": lambda: person(0, 0),
    "always the same": lambda: {(0, 0): Fraction(1)},
}


@pytest.mark.parametrize("name", TWINS)
def test_a_relay_with_another_law_breaks_the_promise(name: str) -> None:
    found = [
        revealed(TWINS[name](), m, e) > above(contrasts.only(contrasts.blanket_of(TWO)), m + 1, e, 1e-4)
        for m, e in product((1, 2), FACTORS)
    ]
    assert any(found)
