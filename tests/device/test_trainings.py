"""Which stage or round of a training a device answers, and where its answer goes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.core.design.rounds import check_of, loss_plan
from hush.core.training.courses import Course
from hush.core.training.rounds import Round
from hush.core.training.stages import Stage
from hush.core.training.training import Training
from hush.device import trainings
from hush.device.answered import Person
from hush.device.trainings import answer_phase, check_cost, choose_phase, fetch_check, fetch_phase, place
from hush.errors import BudgetError, CollectorError, PlanError
from hush.server.course import begin
from hush.server.step import first_round
from tests.device.clients import Scripted

POINT = hush.Schema([hush.Numeric("a", -1, 1), hush.Numeric("b", -1, 1)])
RECORD = {"a": 0.5, "b": -0.25}
BOUGHT = hush.Categorical("bought", [0, 1])
TRAINING = Training("one of/two?", "logistic", POINT, BOUGHT, 4.0, 3, 1.0)
ROUND = first_round(TRAINING)
CHECK = check_of(ROUND)


def designed(**named: Any) -> Course:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Training.design(POINT, epsilon=4.0, **named)


STAGED = begin(designed(label=BOUGHT, people=900, pilot=5 / 9, rounds=4, title="staged", seed="s"))
COLOURS = designed(
    label=hush.Categorical("colour", ["red", "green", "blue"]), people=3000, pilot=0.5, rounds=2, title="c", seed="s"
)
BRANCHES = {own.name: begin(own) for own in COLOURS.branches()}


def last(phase: Round) -> Round:
    """The round after the last one."""
    number = phase.training.rounds + 1
    plan = replace(phase.plan, title=phase.training.round_title(number))
    return replace(phase, number=number, plan=plan)


def test_a_name_is_quoted_and_a_round_or_stage_is_read() -> None:
    assert isinstance(STAGED, Stage)
    server = Scripted(ROUND.to_json().encode(), STAGED.to_json().encode())
    assert fetch_phase(server, "one of/two?") == ROUND
    assert fetch_phase(server, "staged") == STAGED
    assert [path for path, *_ in server.calls] == ["/trainings/one%20of%2Ftwo%3F/round", "/trainings/staged/round"]


def test_a_check_is_read_where_it_is_asked_for_and_nowhere_else() -> None:
    server = Scripted(*(text.encode() for text in (CHECK.to_json(), CHECK.to_json(), ROUND.to_json())))
    assert fetch_check(server, "one of/two?") == CHECK
    for fetch in (fetch_phase, fetch_check):
        with pytest.raises(PlanError):
            fetch(server, "one of/two?")
    paths = [path.rpartition("/")[2] for path, *_ in server.calls]
    assert paths == ["check", "round", "check"]


def test_where_answers_go() -> None:
    path = "/trainings/one%20of%2Ftwo%3F"
    assert place(ROUND) == place(ROUND, losses=False) == f"{path}/gradients?round=1"
    assert place(last(ROUND), losses=True) == f"{path}/losses?round=4"
    assert place(CHECK) == f"{path}/losses?round=1"
    for losses in (True, False):
        assert place(STAGED, losses=losses) == "/trainings/staged/pilot?stage=means"


def test_a_training_is_asked_for_by_its_name_or_as_it_is() -> None:
    asked: list[str] = []

    def fetch(name: str) -> Round:
        asked.append(name)
        return ROUND

    assert choose_phase(fetch, "one of/two?", None) is ROUND
    assert choose_phase(fetch, TRAINING, None) is ROUND
    assert asked == [TRAINING.name] * 2
    for other in ("another", replace(TRAINING, epsilon=8.0)):
        with pytest.raises(CollectorError, match="another training"):
            choose_phase(fetch, other, None)


def test_of_several_classes_one_that_goes_on_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    names, drawn = list(BRANCHES), list[int]()

    def randbelow(count: int) -> int:
        drawn.append(count)
        return count - 1

    monkeypatch.setattr(trainings, "randbelow", randbelow)
    assert choose_phase(BRANCHES.__getitem__, COLOURS, None) is BRANCHES[names[2]]
    assert drawn == [3]
    monkeypatch.setattr(Stage, "done", False, raising=False)
    over = {name: last(first_round(stage.training)) for name, stage in BRANCHES.items()}
    assert all(one.done for one in over.values())
    assert choose_phase((BRANCHES | {names[2]: over[names[2]]}).__getitem__, COLOURS, None) is BRANCHES[names[1]]
    assert choose_phase((over | {names[0]: BRANCHES[names[0]]}).__getitem__, COLOURS, None) is BRANCHES[names[0]]
    assert choose_phase(over.__getitem__, COLOURS, None) is over[names[2]]  # what it says of that is the caller's
    assert drawn == [3, 2, 1, 3]


def test_who_has_answered_one_class_gets_it_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trainings, "randbelow", lambda count: 0)
    names, ledger = list(BRANCHES), hush.Ledger(tmp_path / "ledger", cap=8.0)
    assert choose_phase(BRANCHES.__getitem__, COLOURS, ledger) is BRANCHES[names[0]]
    answer_phase(BRANCHES[names[1]], RECORD, "red", ledger)
    assert choose_phase(BRANCHES.__getitem__, COLOURS, ledger) is BRANCHES[names[1]]
    assert choose_phase(BRANCHES.__getitem__, COLOURS, None) is BRANCHES[names[0]]


def test_a_class_of_another_course_is_refused() -> None:
    names = list(BRANCHES)
    wrong = BRANCHES | {names[1]: BRANCHES[names[0]]}
    with pytest.raises(CollectorError, match="another training"):
        choose_phase(wrong.__getitem__, COLOURS, Person("nobody"))


def test_what_a_round_may_cost() -> None:
    for most in (None, 4.0, 5.0):
        check_cost(ROUND, most)
    for most in (0.0, 3.999):
        with pytest.raises(BudgetError, match="more epsilon"):
            check_cost(ROUND, most)


def test_what_is_answered() -> None:
    assert answer_phase(ROUND, RECORD, 1, None).plan == ROUND.plan
    assert answer_phase(CHECK, RECORD, 1, None).plan == CHECK.plan == loss_plan(TRAINING, 1)
    assert answer_phase(STAGED, RECORD, 1, None).plan == STAGED.plan
    for over in (last(ROUND), check_of(last(ROUND))):
        with pytest.raises(PlanError, match="over"):
            answer_phase(over, RECORD, 1, None)


def test_answers_are_kept_in_the_book(tmp_path: Path) -> None:
    for number, phase in enumerate((ROUND, CHECK, STAGED)):
        ledger = hush.Ledger(tmp_path / f"{number}", cap=8.0)
        first = answer_phase(phase, RECORD, 1, ledger)
        assert answer_phase(phase, RECORD, 1, ledger) == first
        assert ledger.spent == 4
