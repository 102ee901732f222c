"""Live trainings over HTTP: labels as people have them, and records that do not fit, which never leave a device."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hush.device.randomise
from hush import Categorical, Ledger, LedgerError, Numeric, RecordError, Round, Schema, Training
from hush.device import gradient
from hush.device.client import Client
from hush.device.coins import SystemCoins
from hush.errors import CollectorError
from hush.server.step import first_round
from hush.testing import SeededCoins
from tests.collector.served import POINT, Served, serving
from tests.learn.cases import no_word

ROUNDS, PEOPLE = 5, 20
EPSILON = 16.0
CLASSES: dict[str, list[Any]] = {"signs": [-1, 1], "bits": [0, 1]}


def described(title: str, values: Sequence[Any]) -> Training:
    label = Categorical("bought", values)
    return Training(title, "logistic", POINT, label, EPSILON, ROUNDS, 6.0, gradient="minimax", bound=0.6, seed="test")


def population(seed: int, n: int) -> list[tuple[dict[str, float], bool]]:
    world = random.Random(seed)
    points = [{"a": world.uniform(-1, 1), "b": world.uniform(-1, 1)} for _ in range(n)]
    return [(point, 2 * point["a"] - point["b"] > 0) for point in points]


def play(served: Served, training: Training, values: Sequence[Any], monkeypatch: pytest.MonkeyPatch) -> Round:
    """Train from end to end, everybody with a client of their own; return what the collector then has."""
    coins = SeededCoins(7)
    with monkeypatch.context() as patch:
        patch.setattr(hush.device.randomise, "SystemCoins", lambda: coins)
        for record, bought in population(1, ROUNDS * PEOPLE):
            assert Client(served.url).train(training, record, values[bought], epsilon=EPSILON, fresh=True).new
    last: Round = Client(served.url).round(training.title)
    assert last.done
    return last


def accuracy(last: Round) -> float:
    (a, b), intercept = last.training.model(last.result)
    people = population(2, 2000)
    return sum((a * x["a"] + b * x["b"] + intercept > 0) == bought for x, bought in people) / len(people)


def test_labels_as_people_have_them_train_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes 0 and 1 reach exactly the weights of -1 and 1, and so their accuracy. Words are seeded: no false alarms.

    With other seeds (300 were tried) the accuracy is 0.953 with a standard deviation of 0.013. So it would be below
    0.85, which is 7 of those away, with a probability of about 1e-12. The twin, a device that takes 0 and 1 for targets
    as they are, learns from one class alone: it predicts that class for everybody, which is right for half of them.
    """
    trainings = {described(title, values): PEOPLE for title, values in CLASSES.items()}
    broken = described("broken", [0, 1])
    with serving(tmp_path, plans=(), trainings=trainings | {broken: PEOPLE}) as served:
        signs, bits = [play(served, own, CLASSES[own.title], monkeypatch) for own in trainings]
        monkeypatch.setattr(gradient, "target", lambda label, value, against: float(value))
        twin = play(served, broken, [0, 1], monkeypatch)
    assert accuracy(signs) > 0.85
    assert bits.result == signs.result
    assert accuracy(bits) == accuracy(signs)
    assert accuracy(twin) < 0.6


def test_what_does_not_fit_never_leaves_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No word is drawn, nothing is spent, nobody is counted; and the device may still answer, once."""
    own = described("bits", [0, 1])
    point = {"a": 0.5, "b": -0.5}
    with serving(tmp_path, plans=(), trainings={own: 3}) as served:
        ledger = Ledger(tmp_path / "ledger", cap=EPSILON)
        device = Client(served.url, ledger=ledger)
        with monkeypatch.context() as patch:
            patch.setattr(SystemCoins, "word", no_word)
            for record, label, rule in (
                (point, -1, "'bought': must be one of the 2 values declared: 0, 1"),
                (point, 0.3, "'bought': must be an integer"),
                (point, True, "'bought': must be an integer"),
                (point | {"a": 1e6}, 1, "'a': must be from"),
                (point | {"b": float("nan")}, 1, "'b': must not be NaN"),
                ({"a": 0.5}, 1, "'b': is missing"),
            ):
                with pytest.raises(RecordError, match=rule):
                    device.train("bits", record, label)
        assert ledger.spent == 0
        assert served.client.get("/trainings").json()["trainings"][0]["received"] == 0
        assert device.train("bits", point, 0).new
        assert served.client.get("/trainings").json()["trainings"][0]["received"] == 1
        assert ledger.spent == 16


def test_a_server_cannot_change_what_it_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that knows the training takes no other; one that has a ledger takes none but the first of a name."""
    own = described("bits", [0, 1])
    wider = replace(own, schema=Schema([Numeric("a", -1, 1), Numeric("b", -5, 5)]))
    turned = replace(own, label=Categorical("bought", [1, 0]))
    for other in (wider, turned):
        device = Client("http://127.0.0.1:9", ledger=Ledger(tmp_path / f"{other.label}", cap=EPSILON))
        for current in (own, other):
            monkeypatch.setattr(device, "round", lambda name, current=current: first_round(current))
            with pytest.raises(CollectorError if current is other else RecordError):
                device.train(own, {}, 1)
        with pytest.raises(LedgerError, match="other features or another label"):
            device.train("bits", {}, 1)
