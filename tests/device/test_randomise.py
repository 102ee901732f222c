"""The device: sampling of questions, and fixed words to fixed reports."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest

import hush.device.client
import hush.device.randomise
from hush.core.channels import draw_subset
from hush.device.randomise import randomise_from
from hush.testing import RecordedCoins, SeededCoins
from tests.cases import MIXED, RECORD, branches, plans


@pytest.mark.parametrize(("n", "size"), [(1, 1), (5, 1), (5, 2), (6, 3), (4, 4), (5, 4)])
def test_subsets_are_exactly_uniform(n: int, size: int) -> None:
    law = branches(lambda coins: tuple(draw_subset(coins, n, size)))
    expected = [*combinations(range(n), size)]
    assert law == dict.fromkeys(expected, Fraction(1, len(expected)))


@pytest.mark.parametrize("name", ["default", "k=3", "split", "multi", "cube"])
def test_k_questions_are_answered(name: str) -> None:
    plan = plans()[name]
    record = RECORD if plan.schema == MIXED else dict.fromkeys("abcde", 0.25)
    for seed in range(50):
        report = randomise_from(SeededCoins(seed), plan, record)
        assert len(report.answers) == plan.k


def test_words_decide_the_report_and_the_id_comes_last() -> None:
    plan = hush.design(MIXED, 1.0)
    coins = RecordedCoins(SeededCoins(3))
    report = randomise_from(coins, plan, RECORD)
    assert randomise_from(SeededCoins(3), plan, RECORD) == report
    assert report.id == b"".join(word.to_bytes(8, "big") for word in coins.words[-2:])


def test_reports_differ_from_call_to_call() -> None:
    plan = hush.design(MIXED, 1.0)
    assert len({hush.randomise(plan, RECORD).id for _ in range(1000)}) == 1000


def test_every_question_is_asked() -> None:
    """600 draws of 1 in 6: a question missing has probability 6*(5/6)^600 < 1e-46."""
    plan = hush.design(MIXED, 1.0)
    asked = Counter(hush.randomise(plan, RECORD).answers[0][0] for _ in range(600))
    assert set(asked) == set(range(6))


def test_a_record_of_another_schema_is_refused() -> None:
    plan = hush.design(MIXED, 1.0)
    with pytest.raises(hush.RecordError):
        hush.randomise(plan, {"age": 3})
    with pytest.raises(hush.PlanError, match="needs a Plan"):
        hush.randomise(MIXED, RECORD)  # type: ignore[arg-type]
