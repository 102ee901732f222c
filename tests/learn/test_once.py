"""Each person answers once in a training: with a ledger there is no second report, whatever the round."""

from __future__ import annotations

from pathlib import Path

import pytest

from hush import BudgetError, Ledger, RecordError, Round, gradient, held_out
from hush.device.coins import SystemCoins
from hush.server.step import moved
from tests.learn.cases import first, no_word, person

PERSON = person([0.8, -0.5, 0.3])


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger", cap=10.0)


def later(round_: Round) -> Round:
    return moved(round_, [0.1, 0.2, -0.3, 0.4])


def test_the_same_round_gets_the_same_report(ledger: Ledger) -> None:
    report = gradient(first(), PERSON, 1, ledger)
    assert gradient(first(), PERSON, 1, ledger) == report
    assert gradient(Round.from_json(first().to_json()), person([0.0, 0.0, 1.0]), -1, ledger) == report
    assert ledger.spent == 4


@pytest.mark.parametrize("mechanism", ["vector", "hybrid"])
def test_another_round_of_the_same_training_is_refused(
    mechanism: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the cap has room for it. Nothing is drawn, and the first answer is still there."""
    round_ = first(gradient=mechanism)
    report = gradient(round_, PERSON, 1, ledger)
    monkeypatch.setattr(SystemCoins, "word", no_word)
    for other in (later(round_), later(later(round_))):
        with pytest.raises(BudgetError, match="answers one only"):
            gradient(other, PERSON, 1, ledger)
    assert ledger.spent == 4
    assert gradient(round_, PERSON, 1, ledger) == report


def test_a_later_round_excludes_an_earlier_one_too(ledger: Ledger) -> None:
    gradient(later(first()), PERSON, 1, ledger)
    with pytest.raises(BudgetError):
        gradient(first(), PERSON, 1, ledger)


def test_whoever_checks_takes_part_in_no_round(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    report = held_out(first(), PERSON, 1, ledger)
    assert held_out(first(), PERSON, 1, ledger) == report
    monkeypatch.setattr(SystemCoins, "word", no_word)
    for other in (first(), later(first())):
        with pytest.raises(BudgetError, match="answers one only"):
            gradient(other, PERSON, 1, ledger)
    with pytest.raises(BudgetError, match="answers one only"):
        held_out(later(first()), PERSON, 1, ledger)
    assert ledger.spent == 4


def test_whoever_takes_part_does_not_check(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient(first(), PERSON, 1, ledger)
    monkeypatch.setattr(SystemCoins, "word", no_word)
    with pytest.raises(BudgetError, match="answers one only"):
        held_out(later(first()), PERSON, 1, ledger)


@pytest.mark.parametrize("title", ["another", "tes", "tests", "test ", "test [", "a test"])
def test_another_training_is_answered_within_the_cap(title: str, ledger: Ledger) -> None:
    gradient(first(), PERSON, 1, ledger)
    gradient(first(title=title), PERSON, 1, ledger)
    assert ledger.spent == 8
    with pytest.raises(BudgetError, match="answers one only"):
        gradient(later(first(title=title)), PERSON, 1, ledger)


@pytest.mark.parametrize("seed", ["another", "seed]: ", "["])
def test_another_seed_makes_no_other_training(seed: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server chooses the seed. If each had a report of its own, it would have as many as it likes."""
    gradient(first(), PERSON, 1, ledger)
    monkeypatch.setattr(SystemCoins, "word", no_word)
    for other in (first(seed=seed), later(first(seed=seed))):
        for take in (gradient, held_out):
            with pytest.raises(BudgetError, match="answers one only"):
                take(other, PERSON, 1, ledger)
    assert ledger.spent == 4


def test_the_cap_holds_over_trainings(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient(first(), PERSON, 1, ledger)
    gradient(first(title="b"), PERSON, 1, ledger)
    monkeypatch.setattr(SystemCoins, "word", no_word)
    with pytest.raises(BudgetError, match=r"costs 4\.0; of a cap of 10\.0 this device has spent 8\.0"):
        gradient(first(title="c"), PERSON, 1, ledger)
    assert ledger.spent == 8


def test_a_bad_record_does_not_use_up_the_answer(ledger: Ledger) -> None:
    with pytest.raises(RecordError):
        gradient(first(), person([1.0]), 1, ledger)
    assert ledger.spent == 0
    gradient(later(first()), PERSON, 1, ledger)


def test_without_a_ledger_nothing_is_remembered() -> None:
    """The twin: every call is a fresh report, and costs its epsilon again."""
    assert gradient(first(), PERSON, 1) != gradient(first(), PERSON, 1)
