"""The description of a training: how it travels, and that a device holds a server to the first that it has seen."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from hush import (
    BudgetError,
    Categorical,
    HushError,
    Ledger,
    LedgerError,
    Numeric,
    PlanError,
    RecordError,
    Round,
    Schema,
    Training,
    gradient,
    held_out,
)
from hush.core.design.numeric import BLOCK, NUMERIC
from hush.core.training import descriptions
from hush.core.training import training as training_module
from hush.device.coins import SystemCoins
from tests.learn.cases import first, no_word, training

AGE = Schema([Numeric("age", 0, 120)])
BOUGHT = Categorical("bought", [0, 1])


class Unread(Mapping[str, Any]):
    """A record that nobody may look at."""

    def __getitem__(self, name: str) -> Any:
        raise AssertionError("the record was read")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("the record was read")

    def __len__(self) -> int:
        raise AssertionError("the record was read")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger", cap=1000.0)


def test_a_description_travels_exactly_and_says_everything() -> None:
    own = training(schema=AGE, label=BOUGHT, centre=(0.5,), selection=(1, 2, 0.5))
    value = descriptions.to_json(own)
    assert set(value) == {field.name for field in fields(Training)} - {"map"}
    assert value["schema"] == AGE.to_json()
    assert value["label"] == {
        "attribute": {"kind": "categorical", "name": "bought", "values": [0, 1], "optional": False},
        "targets": [-1, 1],
    }
    assert descriptions.from_json(value | {"centre": [0.5], "selection": [1, 2, 0.5]}) == own
    for wrong in ({**value, "more": 1}, {name: value[name] for name in value if name != "label"}, [value], None):
        with pytest.raises(PlanError, match="a training must be an object with exactly the fields"):
            descriptions.from_json(wrong)


OTHERS: dict[str, dict[str, Any]] = {
    "bounds": {"schema": Schema([Numeric("age", 0, 60)])},
    "another feature": {"schema": Schema([Numeric("age", 0, 120), Numeric("income", 0, 1)])},
    "clipping": {"schema": Schema([Numeric("age", 0, 120, out_of_range="clip")])},
    "the other way round": {"label": Categorical("bought", [1, 0])},
    "other classes": {"label": Categorical("bought", ["no", "yes"])},
    "another name": {"label": Categorical("sold", [0, 1])},
    "a number": {"label": Numeric("bought", 0, 1), "loss": "squared"},
}


@pytest.mark.parametrize("answer", [gradient, held_out])
@pytest.mark.parametrize("other", OTHERS)
def test_another_description_under_the_same_title_is_refused_unread(
    other: str, answer: Any, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the first was answered or not, and whatever else changes with it: nothing is read, drawn or spent."""
    monkeypatch.setattr(SystemCoins, "word", no_word)
    given: dict[str, Any] = {"schema": AGE, "label": BOUGHT}
    with pytest.raises(RecordError):
        answer(first(**given), {"age": 130}, 1, ledger)
    for changes in ({}, {"seed": "another", "epsilon": 1.0}):
        with pytest.raises(LedgerError, match="'test' had other features or another label") as caught:
            answer(first(**(given | OTHERS[other] | changes)), Unread(), 1, ledger)
        assert not isinstance(caught.value, BudgetError)
    assert ledger.spent == 0
    monkeypatch.undo()
    answer(first(**given), {"age": 41}, 1, ledger)
    with pytest.raises(LedgerError, match="other features"):
        answer(first(**(given | OTHERS[other] | {"seed": "another"})), Unread(), 1, ledger)
    assert ledger.spent == 4


def test_another_title_is_another_training_and_another_seed_is_none(ledger: Ledger) -> None:
    """Another title may ask for anything; the cap holds for all of it. A seed is chosen by the server."""
    gradient(first(schema=AGE, label=BOUGHT), {"age": 41}, 1, ledger)
    with pytest.raises(BudgetError, match="answers one only"):
        gradient(first(schema=AGE, label=BOUGHT, seed="another", rounds=9), {"age": 41}, 1, ledger)
    other = OTHERS["bounds"] | {"label": BOUGHT, "title": "another"}
    gradient(first(**other), {"age": 41}, 1, ledger)
    assert ledger.spent == 8
    with pytest.raises(LedgerError, match="'another' had other features"):
        gradient(first(**(other | {"schema": AGE})), {"age": 41}, 1, ledger)


def test_what_a_ledger_keeps_does_not_depend_on_the_record(tmp_path: Path) -> None:
    """A refusal leaves the description and nothing else: the same as an answer leaves beside its report."""
    found = {}
    for name, record in {"fits": {"age": 41}, "does not": {"age": 130}, "empty": {}}.items():
        ledger = Ledger(tmp_path / name, cap=4.0)
        try:
            gradient(first(schema=AGE, label=BOUGHT), record, 1, ledger)
        except RecordError:
            assert name != "fits"
        connection = sqlite3.connect(ledger.path)
        found[name] = [connection.execute(f"select * from {table}").fetchall() for table in ("trainings", "answers")]  # noqa: S608
        connection.close()
        found[name][1] = [row[1] for row in found[name][1]]
    ((title, description),) = found["fits"][0]
    assert (title, len(description)) == ("test", 64)
    assert found["fits"] == [[("test", description)], ["test [seed]: round 1"]]
    assert found["does not"] == found["empty"] == [[("test", description)], []]


# -- a server that learns from silence


def hears(round_: Round, age: float, ledger: Ledger) -> bool:
    """Whether a device with this age answers."""
    try:
        gradient(round_, {"age": age}, 1, ledger)
    except HushError:
        return False
    return True


def halved(age: float, ledger: Ledger) -> float:
    """The age that a server finds which describes the training anew in each round, for the half that it is not sure of.

    A device that answers is silent in all later rounds, so each has a seed of its own. (That helps only against a
    device which takes another seed for another training.)
    """
    low, high = 0.0, 128.0
    for step in range(10):
        middle = (low + high) / 2
        schema = Schema([Numeric("age", low, middle)])
        asked = first(schema=schema, label=BOUGHT, seed=str(step), epsilon=1.0)
        if hears(asked, age, ledger):
            high = middle
        else:
            low = middle
    return low


def test_a_server_that_varies_the_description_learns_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its second description on, all devices are silent. The twin, which goes by seeds, gives the age away."""
    ages = (3.3, 41.7, 73.2, 119.0)
    found = {age: halved(age, Ledger(tmp_path / f"{age}", cap=1000.0)) for age in ages}
    assert len({found[age] for age in ages if age <= 64}) == 1, "those who fit the first description are alike"
    assert len({found[age] for age in ages if age > 64}) == 1, "and so are those who do not"
    monkeypatch.setattr("hush.device.gradient.keep", lambda training, ledger: None)
    monkeypatch.setattr("hush.device.gradient.plans_under", lambda name: None)
    for age in ages:
        assert abs(halved(age, Ledger(tmp_path / f"{age} again", cap=1000.0)) - age) < 0.2


def test_the_names_of_mechanisms_are_those_of_the_designs() -> None:
    """A device reads a training without loading the designs, so the names are written there once more."""
    assert sorted(training_module.MECHANISMS) == sorted((*NUMERIC, *BLOCK))
