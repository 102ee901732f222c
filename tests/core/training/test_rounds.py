"""Rounds: what goes out, what comes back, and the plans of each mechanism."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import hush.device.randomise
from hush import PlanError, Round, Tally, TallyError, estimate, gradient, held_out, step
from hush.core.design import NUMERIC
from hush.core.design.rounds import loss_plan, round_plan
from hush.core.training.directions import kept, pointed, top_sum
from hush.core.training.rotations import rotate, rotate_back
from hush.core.training.training import GRADIENTS
from hush.device.gradient import gradient_record, loss_record
from hush.server.step import decode, mean_gradient, moved
from hush.testing import SeededCoins
from tests.core.training.people import PERSON, RECORD, clipped_gradient
from tests.learn.cases import LOSSES, MECHANISMS, first, person

Z = 6.0
"""A normal variable is further than this from its mean with probability 2e-9: 2e-7 for the 100 numbers of a test."""


# -- what a person reports


@pytest.mark.parametrize("loss", LOSSES)
def test_the_record_of_a_vector_is_its_length_and_the_signs_of_its_rotation(loss: str) -> None:
    round_ = first(loss=loss, radius=6.0, start=(0.5, -0.25, 1.0, 0.125))
    g = clipped_gradient(round_, PERSON, -1)
    record = gradient_record(round_, RECORD, -1)
    assert list(record) == [f"g{j}" for j in range(64)]
    size = math.hypot(*g) / 6.0
    assert 0 < size < 1
    signs = [(turned > 1e-9) - (turned < -1e-9) for turned in rotate(g, "seed/1")]
    assert signs.count(1) + signs.count(-1) > 50
    sizes = [abs(turned) for turned in rotate(g, "seed/1")]
    near = kept(round_.plan)
    cut = sorted(sizes)[-near]
    assert sum(value != 0 for value in record.values()) == near < 64
    for value, sign, own in zip(record.values(), signs, sizes, strict=True):
        assert value == 0 or value == pytest.approx(sign * size)
        assert own > cut - 1e-6 if value else own < cut + 1e-6
    longer = gradient_record(first(loss=loss, radius=0.1, start=round_.weights), RECORD, -1)
    assert {abs(value) for value in longer.values()} <= {0.0, 1.0}


def test_a_gradient_of_nothing_is_reported_as_nothing() -> None:
    round_ = first(loss="hinge", start=(0.0, 0.0, 0.0, 2.0))
    assert set(gradient_record(round_, RECORD, 1).values()) == {0.0}


@pytest.mark.parametrize("loss", LOSSES)
def test_the_record_of_coordinates_is_clipped(loss: str) -> None:
    round_ = first(loss=loss, gradient="hybrid", bound=0.4, start=(0.5, -0.25, 1.0, 0.125))
    g = clipped_gradient(round_, PERSON, -1)
    record = gradient_record(round_, RECORD, -1)
    assert list(record.values()) == pytest.approx([min(max(value / 0.4, -1), 1) for value in g])
    assert max(map(abs, record.values())) == 1.0


def test_the_record_of_a_loss_is_capped() -> None:
    round_ = first(loss="squared", cap=0.5, start=(0.5, 0.0, 0.0, 0.0))
    assert loss_record(round_, person([0.5, 0.0, 0.0]), 0.0) == {"loss": 0.0625}
    assert loss_record(round_, person([1.0, 0.0, 0.0]), -1.0) == {"loss": 0.5}


# -- the whole protocol, with real reports


def session(round_: Round, people: int, monkeypatch: pytest.MonkeyPatch) -> Tally:
    """The tally of so many people who are all the same, with seeded words."""
    coins = SeededCoins(11)
    monkeypatch.setattr(hush.device.randomise, "SystemCoins", lambda: coins)
    tally = Tally(round_.plan)
    for _ in range(people):
        tally.add(gradient(round_, RECORD, 1))
    return tally


def disagreement(tally: Tally, record: dict[str, float]) -> float:
    """The largest z of all means against a record: at most Z, but for a probability of 1e-6."""
    worst = 0.0
    for row in estimate(tally):
        error = math.sqrt(float(tally.plan.channel(row.attribute).worst_variance) / row.answers)
        worst = max(worst, abs(row.point - record[row.attribute]) / error)
    return worst


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_gradients_come_back_and_the_weights_move(mechanism: str, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round as it travels: out as JSON, back as reports, then a step. A false alarm has a probability of 1e-6."""
    start = (0.25, -0.5, 0.0, 0.125)
    round_ = first(loss=loss, gradient=mechanism, epsilon=8.0, radius=3.0, start=start, penalty=0.25)
    tally = session(Round.from_json(round_.to_json()), 200, monkeypatch)
    assert tally.reports == 200
    assert disagreement(tally, gradient_record(round_, RECORD, 1)) < Z
    after = step(round_, tally)
    g = mean_gradient(round_, tally)
    assert after.number == 2
    assert after.weights == pytest.approx([w - 0.5 * (v + 0.25 * w) for w, v in zip(start, g, strict=True)])
    assert after.plan.title == "test [seed]: round 2"
    assert after.plan.cost == 8
    assert gradient(after, RECORD, 1).plan.id == after.plan.id != round_.plan.id
    with pytest.raises(TallyError, match="another round"):
        step(after, tally)


@pytest.mark.parametrize("mechanism", ["vector", "minimax"])
def test_people_who_answer_for_another_round_are_noticed(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: the rotation, or the weights, of another round."""
    round_ = first(gradient=mechanism, epsilon=8.0, radius=0.5)
    other = replace(round_, number=2, weights=(-3.0,) * 4, plan=round_plan(round_.training, 2, len(round_.coordinates)))
    tally = session(round_, 400, monkeypatch)
    assert disagreement(tally, gradient_record(round_, RECORD, 1)) < Z
    assert disagreement(tally, gradient_record(other, RECORD, 1)) > 2 * Z


@pytest.mark.parametrize("loss", LOSSES)
def test_held_out_people_tell_their_loss(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    coins = SeededCoins(5)
    monkeypatch.setattr(hush.device.randomise, "SystemCoins", lambda: coins)
    round_ = first(loss=loss, start=(0.25, 0.5, 0.0, -0.25))
    plan = loss_plan(round_.training, 1)
    tally = Tally(plan)
    for _ in range(400):
        tally.add(held_out(round_, RECORD, -1))
    (row,) = estimate(tally)
    variance = float(plan.channel("loss").worst_variance) * (round_.training.cap / 2) ** 2
    assert abs(row.point - loss_record(round_, RECORD, -1)["loss"]) < Z * math.sqrt(variance / 400)
    assert row.stderr < 0.05


def test_a_training_that_is_over_takes_no_more_reports() -> None:
    round_ = first(rounds=2)
    for _ in range(2):
        assert not round_.done
        round_ = moved(round_, [1.0, 0.0, 0.0, 0.0])
    assert round_.done
    with pytest.raises(PlanError, match="over"):
        gradient(round_, RECORD, 1)
    with pytest.raises(PlanError, match="over"):
        step(round_, Tally(round_.plan))
    held_out(round_, RECORD, 1)  # how well it came out may still be asked


def test_what_nobody_reported_counts_as_nothing() -> None:
    round_ = first(start=(1.0, 2.0, 3.0, 4.0), penalty=0.0)
    assert step(round_, Tally(round_.plan)).weights == round_.weights


def test_decoding_a_record_gives_back_the_gradient_up_to_its_signs() -> None:
    round_ = first(radius=2.0)
    g = clipped_gradient(round_, PERSON, 1)
    near = kept(round_.plan)
    signs = pointed(rotate(g, "seed/1"), 1.0, near)
    expected = [math.hypot(*g) / top_sum(64, near) * value for value in rotate_back(signs, "seed/1", 4)]
    assert decode(round_, list(gradient_record(round_, RECORD, 1).values())) == pytest.approx(expected)
    flat = first(gradient="hybrid", bound=4.0)
    assert decode(flat, [0.25, -0.5, 0.0, 1.0]) == [1.0, -2.0, 0.0, 4.0]


# -- plans


def test_every_mechanism_has_the_whole_epsilon() -> None:
    for mechanism in GRADIENTS:
        for epsilon in (0.5, 4.0):
            plan = first(gradient=mechanism, epsilon=epsilon).plan
            assert plan.epsilon == epsilon
            assert plan.title == "test [seed]: round 1"
    assert set(NUMERIC) < set(GRADIENTS)


def test_k_is_that_of_the_plan() -> None:
    assert first(gradient="hybrid", k=3).plan.k == 3
    assert first(gradient="hybrid", k=100).plan.k == 4
    assert first(gradient="hybrid", k="paper", epsilon=8.0).plan.k == 3
    assert first(gradient="laplace").plan.k == 4  # the earlier way: everything, with a part of epsilon each
    assert first(gradient="laplace", k=2).plan.k == 2
    assert first(gradient="duchi-multi").plan.k == 1
