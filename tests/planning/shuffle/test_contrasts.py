"""Contrasts of whole plans, against brute force over whole reports."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest

import hush
from hush.core.plan import Plan
from hush.planning.shuffle import contrasts
from hush.planning.shuffle.contrasts import blanket_of, chi_square, crowd_of, only
from hush.planning.shuffle.profiles import above, below
from tests.planning.shuffle.brute import batch_of, hockey_stick, true_delta


def table_of(plan: Plan) -> list[list[Fraction]]:
    """The law of whole reports under every combination of the questions' states."""
    channels = [question.channel for question in plan.questions]
    sets = list(combinations(range(len(channels)), plan.k))
    shares = [Fraction(1, len(sets))] * len(sets) if plan.weights is None else list(plan.inclusions)
    table = []
    for states in product(*(channel.states() for channel in channels)):
        laws = [channel.law(state) for channel, state in zip(channels, states, strict=True)]
        row = []
        for chosen, share in zip(sets, shares, strict=True):
            for answers in product(*(laws[i].values() for i in chosen)):
                probability = share
                for answer in answers:
                    probability *= answer
                row.append(probability)
        table.append(row)
    return table


def plan_of(sizes: tuple[int, ...], k: Any, epsilon: float = 2.0) -> Plan:
    attributes = [hush.Categorical(f"a{i}", [str(c) for c in range(size)]) for i, size in enumerate(sizes)]
    return hush.design(hush.Schema(attributes), epsilon, categorical="grr", k=k)


@pytest.mark.parametrize(
    ("sizes", "k"), [((2, 2), 1), ((2, 2), 2), ((2, 3), 1), ((2, 3), 2), ((2, 2, 2), 2), ((2, 3), "weighted")]
)
def test_k_of_d_questions(sizes: tuple[int, ...], k: Any) -> None:
    plan = plan_of(sizes, k)
    table = table_of(plan)
    assert all(sum(row) == 1 for row in table)
    assert max(max(column) / min(column) for column in zip(*table, strict=True)) == plan.ratio
    for e in (Fraction(1), Fraction(5, 4), Fraction(3)):
        truth = true_delta(table, 2, e)[0]
        assert below(crowd_of(plan), 2, e, 1e-2) <= truth <= above(blanket_of(plan), 2, e, 1e-2)


def test_too_many_values_give_a_wider_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of((2, 3), 2)
    exact = blanket_of(plan)
    monkeypatch.setattr(contrasts, "MOST", 2)
    wide = blanket_of(plan)
    assert sum(w for w, _, _ in wide) == sum(w for w, _, _ in exact)
    assert len(wide) <= 4
    truth = true_delta(table_of(plan), 2, Fraction(3, 2))[0]
    assert truth <= above(exact, 2, Fraction(3, 2), 1e-2) < above(wide, 2, Fraction(3, 2), 1e-2)
    assert below(crowd_of(plan), 2, Fraction(3, 2), 1e-2) <= truth


def test_reports_of_the_relay_hide_a_person_whatever_the_others_are() -> None:
    """The person and two reports from the blanket, as all that the others say is known: the bound is the truth."""
    plan = plan_of((3,), 1)
    table = table_of(plan)
    least = [min(column) for column in zip(*table, strict=True)]
    law = [w / sum(least) for w in least]
    batches = [batch_of([law, law, table[s]]) for s in (0, 1)]
    for e in (Fraction(1), Fraction(2)):
        truth = hockey_stick(batches[0], batches[1], e)
        contrast = only(blanket_of(plan))
        assert below(contrast, 3, e, 1e-4) <= truth <= above(contrast, 3, e, 1e-4)
        assert above(contrast, 3, e, 1e-4) - below(contrast, 3, e, 1e-4) < truth / 100


def test_a_relay_that_adds_nothing_hides_nobody() -> None:
    """The twin: without the relay's reports, delta is that of the report itself."""
    plan = plan_of((3,), 1)
    table = table_of(plan)
    alone = hockey_stick(batch_of([table[0]]), batch_of([table[1]]), Fraction(2))
    assert alone > above(only(blanket_of(plan)), 3, Fraction(2), 1e-3)


def test_questions_that_share_attributes() -> None:
    """The lower bound looks at questions that share no attribute, so that its data sets exist."""
    schema = hush.Schema([hush.Numeric("a", 0, 1), hush.Categorical("c", ["x", "y", "z"])])
    plan = hush.design(schema, 4.0, relations=[("a", "c")], bands={"a": [0.5]})
    alone = hush.design(schema, 4.0, k=1)
    assert len(plan.questions) > len(schema)
    assert sum(w for w, _, _ in crowd_of(plan)) == 1
    assert 0 < chi_square(crowd_of(plan)) < chi_square(blanket_of(plan))
    assert chi_square(crowd_of(alone)) <= chi_square(blanket_of(alone))
