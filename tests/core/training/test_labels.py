"""Labels: what may be one, the target that it becomes, how it travels; in a simulation as on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hush import Categorical, DesignError, HushError, Numeric, RecordError, Schema
from hush.core.training.labels import check_label, from_json, target, to_json
from hush.core.training.losses import loss_named
from hush.learn import simulation
from hush.learn.simulate import LinearRegression, LinearSVC, LogisticRegression
from hush.learn.simulation import People
from tests.learn.cases import LOSSES, numbers, person

CLASSES: list[list[Any]] = [["no", "yes"], ["yes", "no"], [0, 1], [1, 0], [-1, 1], [1, 2], [7, -7]]


@pytest.mark.parametrize("values", CLASSES)
def test_the_first_class_is_minus_one_and_the_second_is_one(values: list[Any]) -> None:
    label = Categorical("bought", values)
    assert [target(label, value) for value in values] == [-1.0, 1.0]
    assert type(target(label, values[0])) is float


def test_a_number_is_scaled_from_its_bounds() -> None:
    label = Numeric("income", 0, 5000)
    assert [target(label, value) for value in (0, 1250, 2500.0, 5000)] == [-1.0, -0.5, 0.0, 1.0]
    assert target(Numeric("income", 0, 10, out_of_range="clip"), 11) == 1.0
    assert target(Numeric("y", -1, 1), 0.25) == 0.25


@pytest.mark.parametrize("values", CLASSES)
def test_a_label_that_is_no_class_is_refused(values: list[Any]) -> None:
    label = Categorical("bought", values)
    wrong = [0.3, 0.5, True, False, None, "0", "1", "maybe", 1.0, 0.0, float("nan"), [1], 731, np.True_, np.float64(1)]
    if isinstance(values[0], int):
        assert target(label, np.int64(values[1])) == 1.0  # as in every schema: an integer of numpy is that integer
    for value in wrong:
        with pytest.raises(
            RecordError, match=r"^attribute 'bought': must be|^attribute 'bought': is missing"
        ) as caught:
            target(label, value)
        assert "731" not in str(caught.value)


def test_a_label_that_is_no_number_in_its_range_is_refused() -> None:
    label = Numeric("income", 0, 5000)
    for value in (-0.001, 7312, True, np.True_, "731", None, float("nan"), float("inf"), 10**400, 731j, [731]):
        with pytest.raises(RecordError, match="attribute 'income'") as caught:
            target(label, value)
        assert "731" not in str(caught.value)


FITTING: dict[str, list[Any]] = {
    "squared": [Numeric("y", 0, 1), Numeric("y", -1e300, 5, "clip")],
    "logistic": [Categorical("y", values) for values in CLASSES],
}
FITTING["hinge"] = FITTING["logistic"]


@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_has_its_kind_of_label(loss: str) -> None:
    for label in FITTING[loss]:
        check_label(label, numbers(2), loss_named(loss))
        again = from_json(to_json(label))
        assert again == label
        assert to_json(label)["targets"] == [-1, 1]
    others = FITTING["logistic" if loss == "squared" else "squared"]
    wrong: list[Any] = [*others, Categorical("y", [1, 2, 3]), Categorical("y", [1], True), [0, 1], "y", None]
    for label in wrong:
        with pytest.raises(DesignError, match=f"the label of a training with the {loss} loss must be"):
            check_label(label, numbers(2), loss_named(loss))


def test_a_label_is_there_and_is_no_feature() -> None:
    with pytest.raises(DesignError, match="'y' must not be optional"):
        check_label(Numeric("y", 0, 1, optional=True), numbers(2), loss_named("squared"))
    with pytest.raises(DesignError, match="'y' must not be optional"):
        check_label(Categorical("y", ["a", "b"], optional=True), numbers(2), loss_named("hinge"))
    with pytest.raises(DesignError, match="'x1' must not be one of the features"):
        check_label(Numeric("x1", 0, 1), numbers(2), loss_named("squared"))


def test_a_label_that_is_written_otherwise_is_not_read() -> None:
    good = to_json(Categorical("bought", ["no", "yes"]))
    for wrong in (
        good | {"targets": [1, -1]},
        good | {"targets": [-1, 1.0]},
        good | {"targets": "-1, 1"},
        good | {"more": 1},
        {"attribute": good["attribute"]},
        good["attribute"],
        good | {"attribute": good["attribute"] | {"more": 1}},
        good | {"attribute": good["attribute"] | {"kind": "label"}},
        [good],
        None,
    ):
        with pytest.raises(HushError):
            from_json(wrong)


# -- the same rules in a simulation


def seen(model: Any, x: Any, y: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[People, Any]:
    """The people that a fit simulates, in their order, and the training that they are in."""
    kept: list[People] = []
    genuine = simulation.people_of

    def keep(*arguments: Any) -> People:
        kept.append(genuine(*arguments))
        return kept[-1]

    monkeypatch.setattr(simulation, "people_of", keep)
    monkeypatch.setattr(type(model), "_deal", lambda self, x, y, seed: (x, y))
    training = model.fit(x, y).outcomes_[0].training
    return kept[0], training


@pytest.mark.parametrize("model", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("classes", [[0, 1], [-1, 1], [3, 8], ["no", "yes"], [False, True], [0.0, 1.0]])
def test_classes_are_those_of_a_device(model: Any, classes: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulated person has the target and the features that a device makes of the same row."""
    rng = np.random.default_rng(1)
    x, codes = rng.uniform(0, 10, (200, 3)), rng.integers(0, 2, 200)
    fitted = model(4.0, rounds=2, feature_range=[(0, 10), (2, 11), (-5, 5)], random_state=1)
    with pytest.warns(UserWarning, match="outside feature_range"):
        people, training = seen(fitted, x, np.array(classes)[codes], monkeypatch)
    assert people.y.tolist() == [target(training.label, code) for code in codes.tolist()]
    assert set(people.y.tolist()) == {-1.0, 1.0}
    devices = np.array([training.features(person(row)) for row in x.tolist()])
    np.testing.assert_allclose(people.x, devices, atol=1e-6)


def test_numbers_are_those_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    schema = Schema([Numeric("target", 0, 10), Categorical("os", ["linux", "mac"])])
    table = {"target": rng.uniform(0, 10, 200), "os": rng.choice(["linux", "mac"], 200)}
    y = rng.uniform(-10, 210, 200)
    fitted = LinearRegression(4.0, rounds=2, schema=schema, target_range=(0, 200), method="gradients", random_state=1)
    with pytest.warns(UserWarning, match="outside target_range"):
        people, training = seen(fitted, table, y, monkeypatch)
    assert training.label.name == "target_"
    np.testing.assert_allclose(people.y, [target(training.label, value) for value in y.tolist()], atol=1e-6)
    rows = zip(table["target"].tolist(), table["os"].tolist(), strict=True)
    devices = np.array([training.features({"target": a, "os": b}) for a, b in rows])
    np.testing.assert_allclose(people.x, devices, atol=1e-6)
