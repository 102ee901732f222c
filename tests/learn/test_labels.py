"""Private labels: the likelihood of reports is exact, the truth minimises the loss, and models learn."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor

import hush
from hush import batch
from hush.core.report import Report
from hush.errors import DesignError, PlanError, ReportError
from hush.learn.labels import PrivateLabel, PrivateLabelClassifier

CHANNELS = [(name, size) for name in ("subset", "grr", "oue", "sue") for size in (2, 3, 6)]


def plan_of(size: int = 2, epsilon: float = 1.0, channel: str = "subset") -> hush.Plan:
    return hush.design(hush.Schema([hush.Categorical("label", list(range(size)))]), epsilon, categorical=channel)


def report_of(plan: hush.Plan, output: Any) -> Report:
    return Report(plan, bytes(16), ((0, output),))


def off_by(label: PrivateLabel, ratio: Fraction) -> bool:
    """Say whether some report is not `ratio` times as likely under a class that it supports as under another."""
    channel = label.plan.questions[0].channel
    laws = [channel.law(state) for state in range(len(label.classes))]
    for output in laws[0]:
        supports = label.supports([report_of(label.plan, output)])[0]
        least = {law[output] / ratio ** int(yes) for law, yes in zip(laws, supports, strict=True)}
        if len(least) > 1:
            return True
    return False


@pytest.mark.parametrize(("name", "size"), CHANNELS)
def test_the_likelihood_is_that_of_the_channel_exactly(name: str, size: int) -> None:
    label = PrivateLabel(plan_of(size, channel=name))
    assert not off_by(label, label.ratio)
    assert off_by(label, label.ratio * Fraction(1001, 1000))  # a twin
    assert math.log(label.ratio) <= 1.0


@pytest.mark.parametrize(("name", "size"), CHANNELS)
def test_values_have_the_mean_of_the_truth(name: str, size: int) -> None:
    label = PrivateLabel(plan_of(size, channel=name))
    channel = label.plan.questions[0].channel
    for state in range(size):
        law = channel.law(state)
        values = label.values([report_of(label.plan, output) for output in law])
        mean = np.array([float(chance) for chance in law.values()]) @ values
        assert mean == pytest.approx(np.eye(size)[state], abs=1e-9)


@pytest.mark.parametrize(("name", "size"), CHANNELS)
def test_the_truth_minimises_the_loss(name: str, size: int) -> None:
    label = PrivateLabel(plan_of(size, channel=name))
    channel, generator = label.plan.questions[0].channel, np.random.default_rng(1)
    laws = [channel.law(state) for state in range(size)]
    reports = [report_of(label.plan, output) for output in laws[0]]
    supports = label.supports(reports)

    def expected(truth: Any, said: Any) -> float:
        chances = [
            sum(float(law[report.answers[0][1]]) * t for law, t in zip(laws, truth, strict=True)) for report in reports
        ]
        losses = [label.log_loss(said[None], supports[i : i + 1]) for i in range(len(reports))]
        return float(np.dot(chances, losses))

    for _ in range(10):
        truth = generator.dirichlet(np.ones(size))
        best = expected(truth, truth)
        for _ in range(10):
            assert expected(truth, generator.dirichlet(np.ones(size))) > best


@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (5, 3.0), (9, 0.5), (64, 1.0), (70, 1.0), (200, 2.0)])
def test_reports_come_one_by_one_or_as_a_table(size: int, epsilon: float) -> None:
    plan = plan_of(size, epsilon)
    label = PrivateLabel(plan)
    truth = np.arange(400) % size
    table = batch.randomise(plan, {"label": truth})
    supports = label.supports(table)
    assert supports.shape == (400, size)
    assert label.supports(supports) is supports
    reports = [hush.randomise(plan, {"label": int(value)}) for value in truth[:20]]
    single = label.supports(reports)
    for row, report in zip(single, reports, strict=True):
        output = report.answers[0][1]
        assert np.flatnonzero(row).tolist() == list(output if isinstance(output, tuple) else [output])


def test_the_order_of_a_table_is_kept() -> None:
    """At epsilon 16 nearly every report supports the truth: a table in another order would not."""
    plan = plan_of(3, 16.0)
    truth = np.random.default_rng(2).integers(0, 3, 200_000)
    supports = PrivateLabel(plan).supports(batch.randomise(plan, {"label": truth}))
    assert np.mean(supports[np.arange(len(truth)), truth]) > 0.99999
    assert np.mean(supports[np.arange(len(truth)), truth[::-1]]) < 0.5


def people(n: int, seed: int) -> tuple[Any, Any]:
    """Make up people whose label no linear model predicts."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (n, 4))
    chance = np.where(x[:, 0] * x[:, 1] > 0, 0.9, 0.1)
    return x, (generator.random(n) < chance).astype(int)


def test_a_model_learns_what_no_line_can() -> None:
    """Products of features are right for about 90 %; 84 % would be off by more than ten standard errors."""
    plan = plan_of(2, 1.0)
    x, y = people(40_000, 1)
    model = PrivateLabelClassifier(plan, make_pipeline(PolynomialFeatures(2), Ridge()))
    model.fit(x, batch.randomise(plan, {"label": y}))
    others, truth = people(20_000, 2)
    right = np.mean(model.predict(others) == truth)
    assert right > 0.84
    linear = PrivateLabelClassifier(plan, Ridge()).fit(x, batch.randomise(plan, {"label": y}))
    assert np.mean(linear.predict(others) == truth) < 0.6
    # Held-out people need no labels in the clear either. Five standard errors miss once in two million.
    held = batch.randomise(plan, {"label": truth})
    found = PrivateLabel(plan).accuracy(model.predict(others), held, level=1 - 6e-7)
    assert found.low < right < found.high
    assert model.score(others, held) == found.value
    assert "from 20,000 reports" in str(found)
    wrong = PrivateLabel(plan).accuracy(1 - model.predict(others), held, level=1 - 6e-7)
    assert not wrong.low < right < wrong.high  # a twin


def test_three_classes_and_their_probabilities() -> None:
    plan = plan_of(3, 2.0)
    generator = np.random.default_rng(3)
    x = generator.integers(0, 3, (30_000, 1)).astype(float)
    y = np.where(generator.random(30_000) < 0.7, x[:, 0], 2 - x[:, 0]).astype(int)
    model = PrivateLabelClassifier(plan, DecisionTreeRegressor(random_state=1))
    model.fit(x, batch.randomise(plan, {"label": y}))
    chances = model.predict_proba(np.array([[0.0], [1.0], [2.0]]))
    # Each group has 10,000 people, and a share of it a standard error below .012: six of them.
    assert np.abs(chances - [[0.7, 0, 0.3], [0, 1, 0], [0.3, 0, 0.7]]).max() < 0.075
    assert chances.sum(axis=1) == pytest.approx(np.ones(3))
    assert model.predict(np.array([[1.0], [2.0]])).tolist() == [1, 2]


def test_a_plan_must_be_about_one_label() -> None:
    two = hush.design(hush.Schema([hush.Categorical("a", [0, 1]), hush.Categorical("b", [0, 1])]), 1.0)
    number = hush.design(hush.Schema([hush.Numeric("a", 0, 1)]), 1.0)
    for plan in (two, number):
        with pytest.raises(PlanError, match="one categorical attribute"):
            PrivateLabel(plan)
    optional = hush.design(hush.Schema([hush.Categorical("a", [0, 1], optional=True)]), 1.0)
    with pytest.raises(PlanError, match=r"'a'.*must not be optional"):
        PrivateLabel(optional)
    with pytest.raises(PlanError, match="need a Plan"):
        PrivateLabel("plan")  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused() -> None:
    plan, other = plan_of(2), plan_of(2, 2.0)
    label = PrivateLabel(plan)
    with pytest.raises(ReportError, match="another plan"):
        label.supports([hush.randomise(other, {"label": 1})])
    with pytest.raises(ReportError, match="another plan"):
        label.supports(batch.randomise(other, {"label": [0, 1]}))
    with pytest.raises(ReportError, match="must be an Arrow table"):
        label.supports([1, 0])
    for wrong in (np.zeros((2, 3), np.uint8), np.zeros(2, np.uint8), np.zeros((2, 2))):
        with pytest.raises(ReportError, match="array of bytes with 2 columns"):
            label.supports(wrong)
    with pytest.raises(ReportError, match="0 or 1"):
        label.supports(np.full((2, 2), 2, np.uint8))
    supports = label.supports(batch.randomise(plan, {"label": [0, 1]}))
    with pytest.raises(DesignError, match="2 rows and 2 columns"):
        label.log_loss([[0.5, 0.5]], supports)
    with pytest.raises(DesignError, match="one prediction for each report"):
        label.accuracy([1], supports)
    with pytest.raises(DesignError, match="classes of 'label'"):
        label.accuracy([1, 7], supports)
    with pytest.raises(DesignError, match="level must be"):
        label.accuracy([1, 0], supports, level=1.0)
    with pytest.raises(DesignError, match="one report for each row"):
        PrivateLabelClassifier(plan).fit(np.zeros((3, 1)), supports)
    with pytest.raises(DesignError, match="must be a regressor"):
        PrivateLabelClassifier(plan, LogisticRegression()).fit(np.zeros((2, 1)), supports)
    model = PrivateLabelClassifier(plan, Ridge()).fit(np.zeros((2, 1)), supports)
    with pytest.raises(DesignError, match="no weights"):
        model.score(np.zeros((2, 1)), supports, sample_weight=[1, 1])


@pytest.mark.parametrize(("name", "size"), [("subset", 5), ("grr", 2), ("oue", 3)])
def test_the_loss_in_torch_is_the_same(name: str, size: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
    from hush.learn.torch import ReportLoss

    plan = plan_of(size, channel=name)
    label = PrivateLabel(plan)
    supports = label.supports(batch.randomise(plan, {"label": np.arange(100) % size}))
    logits = torch.tensor(np.random.default_rng(1).normal(size=(100, size)), requires_grad=True)
    loss = ReportLoss(plan)(logits, torch.from_numpy(supports.copy()))
    chances = torch.softmax(logits, dim=1).detach().numpy()
    assert float(loss.detach()) == pytest.approx(label.log_loss(chances, supports))
    loss.backward()
    assert bool(torch.isfinite(logits.grad).all())
    with pytest.raises(DesignError, match="columns"):
        ReportLoss(plan)(logits[:, 1:], torch.from_numpy(supports))
