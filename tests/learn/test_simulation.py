"""The simulation against the devices that it stands for: the same records go in, and reports have the same law.

Statistical tests compare with the exact expectation of what devices would report. Each has a false-alarm rate below
1e-6, seeded words, and a twin that is wrong and must be noticed.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from hush import Round, Tally, Training, batch
from hush.batch import keystream
from hush.batch.columns import Encoded
from hush.core.channels import Corners, Cube
from hush.core.training.courses import groups
from hush.device.gradient import gradient_record, loss_record
from hush.learn import pilot as pilots
from hush.learn import simulation
from hush.learn.simulate import LinearRegression, LinearSVC, LogisticRegression
from hush.learn.simulation import (
    SLOPES,
    VALUES,
    People,
    View,
    collect_round,
    held_out_loss,
    people_of,
    source_for,
    train,
)
from hush.server.estimates import points
from hush.server.step import decode, first_round, mean_gradient, moved
from tests.cases import small_cube
from tests.learn.cases import LOSSES, Array, crowd, first, person, training
from tests.learn.cases import people as persons

Z = 6.0
"""A normal variable is further than this from its mean with probability 2e-9: 4e-7 for the 200 numbers of a test."""

SPREAD: dict[str, Any] = {"centre": (0.2, -0.1, 0.0, 0.05, 0.3), "scale": (0.5, 0.25, 1.0, 0.8, 0.1)}
WEIGHTS = (0.5, -0.25, 1.0, 0.125, 0.0, -0.3)


def five(**changes: Any) -> Training:
    given: dict[str, Any] = {"start": WEIGHTS, "radius": 1.5} | changes
    return training(dimensions=5, **given)


def simulated(own: Training, n: int = 500, seed: int = 1) -> tuple[Array, Array, People]:
    """Some people as a device sees them, and as the simulation does."""
    x, y = crowd(n, own.dimensions, seed, own.loss)
    return x, y, people_of(own, x, y)


# -- the argument: drawing the coordinates first changes nothing


@pytest.mark.parametrize("shape", [(4, 1, 1), (4, 2, 2), (5, 3, 2), (5, 3, 3), (4, 4, 3), (6, 2, 2)])
def test_given_the_coordinates_a_cube_is_the_cube_of_those(shape: tuple[int, int, int]) -> None:
    """For every state, every set of k coordinates and every corner: the law of a device is the product of a uniform
    set and the law of Cube(k, k) at the signs in that set. In Fractions."""
    channel = small_cube(Fraction(2), *shape)
    size, k, _ = shape
    slots = Cube(k, k, channel.agree, channel.threshold)
    for state in range(0, 1 << size, 3):
        law = channel.law(state)
        for chosen in combinations(range(size), k):
            inner = sum((state >> j & 1) << slot for slot, j in enumerate(chosen))
            for output, chance in slots.law(inner).items():
                assert isinstance(output, tuple)
                outer = tuple(2 * chosen[member >> 1] + (member & 1) for member in output)
                assert law[outer] == chance / math.comb(size, k)
    assert slots.bound == channel.bound


def test_rounding_only_the_drawn_coordinates_changes_nothing() -> None:
    """The signs of coordinates that are not drawn are rounded by a device too, and then forgotten: they sum out."""
    channel = small_cube(Fraction(2), 4, 2, 2)
    slots = Cube(2, 2, 2, channel.threshold)
    inputs = [0.1, 0.9, 0.35, 0.5]
    whole: dict[Any, Fraction] = {}
    for state, weight in channel.rounding(inputs).items():
        for output, chance in channel.law(state).items():
            whole[output] = whole.get(output, Fraction(0)) + weight * chance
    for chosen in combinations(range(4), 2):
        parts: dict[Any, Fraction] = {}
        for state, weight in slots.rounding([inputs[j] for j in chosen]).items():
            for output, chance in slots.law(state).items():
                assert isinstance(output, tuple)
                outer = tuple(2 * chosen[member >> 1] + (member & 1) for member in output)
                parts[outer] = parts.get(outer, Fraction(0)) + weight * chance / 6
        for outer, chance in parts.items():
            assert whole[outer] == chance


# -- what goes in


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_and_losses_of_groups_are_those_of_people(loss: str) -> None:
    own = training(loss=loss)
    scores = np.array([-50.0, -3.0, -0.5, 0.0, 0.4, 2.0, 50.0])
    for y in (-1.0, 1.0):
        targets = np.full(len(scores), y)
        slopes, values = SLOPES[loss](scores, targets), VALUES[loss](scores, targets)
        assert slopes == pytest.approx([own.loss_function.slope(score, y) for score in scores.tolist()])
        assert values == pytest.approx([own.loss_function.value(score, y) for score in scores.tolist()])


@pytest.mark.parametrize(
    "changes", [{}, SPREAD, {"intercept": False, "start": WEIGHTS[:5]}, {**SPREAD, "projection": 3}]
)
def test_scores_and_lengths_are_those_of_the_features(changes: dict[str, Any]) -> None:
    own = five(**({"start": WEIGHTS[:3]} if "projection" in changes else {}), **changes)
    x, _, people = simulated(own, 40)
    view, weights = View.of(own), np.array(own.start)
    features = np.array([own.features(person(row)) for row in x.tolist()])
    np.testing.assert_allclose(view.scores(people, weights), features @ weights, atol=2e-5)
    np.testing.assert_allclose(view.lengths(people), np.linalg.norm(features, axis=1), rtol=2e-5)
    some = np.array([0, 2])
    np.testing.assert_allclose(view.lengths(people, some), np.linalg.norm(features[:, some], axis=1), rtol=2e-5)


def rounds_of(gradient: str, loss: str) -> list[Round]:
    """A first round, one with centre and scale, and one that asks about some coordinates."""
    plain = first(dimensions=5, start=WEIGHTS, radius=1.5, loss=loss, gradient=gradient, bound=0.8)
    spread = first_round(replace(plain.training, **SPREAD))
    chosen = moved(first_round(replace(spread.training, selection=(1, 2, 0.5))), [0.0, 0.9, 0.0, -0.6, 0.0, 0.7])
    assert chosen.coordinates == (1, 3, 5)
    return [plain, spread, chosen]


@pytest.mark.parametrize("loss", LOSSES)
def test_coordinates_go_in_as_on_a_device(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for round_ in rounds_of("hybrid", loss):
        x, y, people = simulated(round_.training, 150)
        seen: list[Array] = []

        def keep(source: Any, plan: Any, held: Encoded, threads: int, seen: list[Array] = seen) -> Tally:
            seen.append(np.array(held.batches[0].arrays))
            return Tally(plan)

        monkeypatch.setattr(batch, "_collect_from", keep)
        collect_round(round_, people, source_for("x"), 1)
        expected = [list(gradient_record(round_, a, b).values()) for a, b in persons(x, y, round_.training.loss)]
        np.testing.assert_allclose(seen[0].T, expected, atol=1e-5)
        assert np.abs(seen[0]).max() <= 1.0


@pytest.mark.parametrize("epsilon", [16.0])  # where the cube is the better channel
@pytest.mark.parametrize("loss", LOSSES)
def test_signs_go_in_as_on_a_device(loss: str, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes agree everywhere. So do signs, but where the rotated gradient is so near 0 that floats cannot tell."""
    for round_ in rounds_of("vector", loss):
        if round_.number > 1:
            continue
        round_ = first_round(replace(round_.training, epsilon=epsilon))
        x, y, people = simulated(round_.training, 150)
        seen: list[tuple[Array, Array]] = []
        genuine = simulation.sampled_signs

        def keep(
            x: Array, sizes: Array, rotation: Array, shifts: Array, asked: Array, k: int, columns: Array,
            seen: list[tuple[Array, Array]] = seen, genuine: Any = genuine,
        ) -> None:  # fmt: skip
            genuine(x, sizes, rotation, shifts, asked, k, columns)
            seen.append((asked.reshape(len(x), k).copy(), columns.T.copy()))

        with monkeypatch.context() as patch:
            patch.setattr(simulation, "sampled_signs", keep)
            collect_round(round_, people, source_for("x"), 1)
        ((asked, values),) = seen
        records = [list(gradient_record(round_, a, b).values()) for a, b in persons(x, y, round_.training.loss)]
        expected = np.take_along_axis(np.array(records), asked.astype(np.int64), axis=1)
        assert [len(set(row)) for row in asked.tolist()] == [asked.shape[1]] * len(x)
        clear = (np.abs(values - expected) <= 1e-5) | (np.abs(expected) < 1e-12)
        # A rotated coordinate is below 1e-6 of the length about once in 10^5 times; where weights are few, ties happen.
        assert np.mean(clear) > (0.99 if len(round_.coordinates) > 3 else 0.85)
        sized = np.isclose(np.abs(values), np.abs(expected), atol=1e-5) | (expected == 0.0) | (values == 0.0)
        assert sized.all()


# -- what comes out


KINDS = 3


def repeated(own: Training, n: int) -> tuple[Array, Array, People]:
    """A few different people, each equally often: then it is seen where each of their signs should be."""
    x, y, _ = simulated(own, KINDS, seed=4)
    many = n // KINDS
    return x, y, people_of(own, np.repeat(x, many, axis=0), np.repeat(y, many))


def mean_record(round_: Round, x: Array, y: Array) -> Array:
    """What devices of these people put in, on average."""
    records = [list(gradient_record(round_, a, b).values()) for a, b in persons(x, y, round_.training.loss)]
    return np.asarray(np.mean(records, axis=0))


def sign_statistics(round_: Round, tally: Tally, x: Array, y: Array) -> tuple[float, float]:
    """The largest z of the counts of each coordinate, and of the differences of its signs, against devices.

    A person is asked about a coordinate with probability k/D, and then reports a plus minus a minus of mean t/B. So
    the sum over people has mean (k/D) sum t/B and a variance of at most n k/D. With corners the sum has mean sum t/B,
    and its variance is at most the largest probability of a coordinate; how often each is reported is not compared.
    """
    channel = round_.plan.questions[0].channel
    if isinstance(channel, Corners):
        means = tally.reports * mean_record(round_, x, y) / float(channel.bound)
        minus, plus = np.array(tally.counts[0][::2]), np.array(tally.counts[0][1::2])
        most = float(channel.worst_variance / channel.bound**2)
        return 0.0, float(np.max(np.abs(plus - minus - means)) / math.sqrt(tally.reports * most))
    assert isinstance(channel, Cube)
    share = float(channel.share)
    means = tally.reports * mean_record(round_, x, y) * share / float(channel.bound)
    minus, plus = np.array(tally.counts[0][::2]), np.array(tally.counts[0][1::2])
    n = tally.reports
    asked = np.abs(minus + plus - n * share) / math.sqrt(n * share * (1 - share) + 1e-9)
    signs = np.abs(plus - minus - means) / math.sqrt(n * share)
    return float(asked.max()), float(signs.max())


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 7.0, 16.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_tallies_of_vectors_are_those_of_devices(loss: str, epsilon: float) -> None:
    """128 numbers, each within Z of its exact mean: false alarms below 1e-6. Beyond epsilon 5 more than 32 signs are
    reported, which take two rows of output each."""
    round_ = first(**SPREAD, dimensions=5, loss=loss, epsilon=epsilon, radius=2.0)
    x, y, people = repeated(round_.training, 60_000)
    tally = collect_round(round_, people, source_for("a"), 2)
    channel = round_.plan.questions[0].channel
    assert isinstance(channel, Corners | Cube)
    assert tally.reports == 60_000
    assert sum(tally.counts[0]) == 60_000 * (channel.sample if isinstance(channel, Cube) else 1)
    asked, signs = sign_statistics(round_, tally, x, y)
    assert asked < Z
    assert signs < Z


@pytest.mark.parametrize("broken", ["radius", "rotation", "weights", "centre"])
def test_a_simulation_of_something_else_is_noticed(broken: str) -> None:
    """The twins: what is simulated is a round with another radius, rotation, weights or centre than it says."""
    round_ = first(**SPREAD, dimensions=5, radius=6.0)
    twins: dict[str, dict[str, Any]] = {
        "radius": {"radius": 7.5},
        "rotation": {"seed": "other"},
        "weights": {"start": (1.0, 1.0, -1.0, 0.5, 0.0, 0.0)},
        "centre": {"centre": (0.0, 0.0, 0.0, 0.0, 0.0)},
    }
    x, y, people = repeated(round_.training, 300_000)
    good = collect_round(round_, people, source_for("a"), 2)
    other = collect_round(first_round(replace(round_.training, **twins[broken])), people, source_for("a"), 2)
    assert sign_statistics(round_, good, x, y)[1] < Z
    assert sign_statistics(round_, other, x, y)[1] > Z


@pytest.mark.parametrize("mechanism", ["hybrid", "duchi", "laplace", "duchi-multi", "cube"])
def test_tallies_of_coordinates_are_those_of_devices(mechanism: str) -> None:
    """The mean of every coordinate within Z standard errors of the mean of all records; and the twin, of another."""
    round_ = first(**SPREAD, dimensions=5, gradient=mechanism, bound=2.0)
    x, y, people = repeated(round_.training, 30_000)
    tally = collect_round(round_, people, source_for("a"), 2)
    assert tally.reports == 30_000
    other = first_round(replace(round_.training, start=WEIGHTS))

    def furthest(said: Round) -> float:
        means, points = mean_record(said, x, y), np.array(mean_gradient(round_, tally)) / 2.0
        plan = tally.plan
        per_person = [
            float(plan.channel(name).worst_variance) / float(plan.inclusions[plan.question(name)]) + 1.0
            for name in plan.schema.names
        ]
        if mechanism == "cube":
            per_person = [value * 6 for value in per_person]  # each report is about one of six or more
        return float(np.max(np.abs(points - means) / np.sqrt(np.array(per_person) / tally.reports)))

    assert furthest(round_) < Z
    assert furthest(other) > Z


# -- on average over rotations the gradient is that of the people


ROTATIONS = 250


@cache
def collected() -> tuple[Training, Array, list[list[float]]]:
    """A training, the mean of its people's clipped gradients, and the means that they report in many rotations."""
    own = five(epsilon=4.0, loss="logistic", start=None, radius=0.8, **SPREAD)
    x, y, people = simulated(own, 1500, seed=9)
    features = np.array([own.features(person(row)) for row in x.tolist()])
    gradients = -0.5 * y[:, None] * features
    clipped = gradients * np.minimum(1.0, 0.8 / np.linalg.norm(gradients, axis=1))[:, None]
    found = []
    for index in range(ROTATIONS):
        round_ = first_round(replace(own, seed=f"s{index}"))
        found.append(points(collect_round(round_, people, source_for(f"w{index}"), 1)))
    return own, clipped.mean(axis=0), found


def mean_over_rotations(radius_said: float, rotation_said: str) -> tuple[Array, Array, Array]:
    """The truth, and mean and standard error over rotations of what is decoded."""
    own, truth, means = collected()
    rounds = (first_round(replace(own, seed=rotation_said.format(i), radius=radius_said)) for i in range(ROTATIONS))
    found = [decode(round_, row) for round_, row in zip(rounds, means, strict=True)]
    return truth, np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(ROTATIONS)


def off(truth: Array, mean: Array, error: Array) -> bool:
    """A z-test of six numbers: false alarms below 2e-8. The bias of the rotation, 1/D of the length, is allowed for."""
    return bool((np.abs(mean - truth) > Z * error + 0.8 / 64).any())


def test_the_decoded_gradient_is_unbiased_over_rotations() -> None:
    """And the twins, decoded with another radius or by another rotation, are noticed."""
    truth, mean, error = mean_over_rotations(0.8, "s{}")
    assert np.linalg.norm(truth) > 0.15
    assert error.max() < 0.003
    assert not off(truth, mean, error)
    assert off(*mean_over_rotations(1.3, "s{}"))
    assert off(*mean_over_rotations(0.8, "t{}"))


# -- whole trainings


@pytest.mark.parametrize("people", [0, 1, 5, 1000, 12_345])
@pytest.mark.parametrize("selection", [None, (5, 2, 0.1)])
def test_everybody_is_in_one_group(people: int, selection: tuple[int, int, float] | None) -> None:
    own = training(rounds=11, selection=selection)
    found = list(groups(people, own))
    assert len(found) == 11
    assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == people
    units = [own.units(number) for number in range(1, 12)]
    for (start, end), unit in zip(found, units, strict=True):
        assert abs(end - start - people * unit / sum(units)) <= 1


@pytest.mark.parametrize("mechanism", ["vector", "hybrid"])
def test_threads_change_nothing_and_a_seed_everything(mechanism: str) -> None:
    own = training(dimensions=5, gradient=mechanism, rounds=2, epsilon=2.0)
    people = simulated(own, 300_000)[2]
    one, three, again = (train(own, people, seed="a", threads=threads) for threads in (1, 3, 3))
    assert one == three == again
    assert one.number == 3
    assert train(own, people, seed="b", threads=2).weights != one.weights
    assert train(own, people, threads=2).weights != train(own, people, threads=2).weights


def test_fewer_people_than_rounds_are_enough() -> None:
    own = training(rounds=10)
    for n in (0, 3):
        assert train(own, simulated(own, n)[2], seed="a", threads=1).done


def test_a_training_may_be_stopped() -> None:
    own = training(rounds=10)
    seen: list[int] = []

    def watch(round_: Round) -> bool:
        seen.append(round_.number)
        return round_.number == 4

    last = train(own, simulated(own, 1000)[2], seed="a", threads=1, watch=watch)
    assert seen == [2, 3, 4]
    assert last.number == 4


def test_the_simulated_loss_is_that_of_the_people() -> None:
    """Within Z standard errors; the twin, at other weights, is not."""
    own = five(**SPREAD)
    x, y, people = simulated(own, 100_000)
    round_ = first_round(own)
    point, error = held_out_loss(round_, people, source_for("a"), 2)
    values = np.minimum(np.logaddexp(0.0, -y * View.of(own).scores(people, np.array(WEIGHTS))), own.cap)
    some = [loss_record(round_, a, b)["loss"] for a, b in persons(x[:50], y[:50], own.loss)]
    np.testing.assert_allclose(values[:50], some, atol=1e-4)
    assert abs(point - values.mean()) < Z * error
    other, error = held_out_loss(first_round(five(**SPREAD, loss="hinge")), people, source_for("a"), 2)
    assert abs(other - values.mean()) > Z * error


# -- everybody answers once


def numbered(n: int) -> Array:
    """Features of which the first is a different number for everybody."""
    x = crowd(n, 4, 3)[0]
    x[:, 0] = np.linspace(-1, 1, n, dtype=np.float32)
    assert len(np.unique(x[:, 0])) == n
    return x


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(2.0, early_stopping=True, random_state=1, rounds=12),
        LinearSVC(2.0, random_state=1, selection=(3, 2)),
        LinearRegression(2.0, random_state=1, method="gradients", early_stopping=True),
        LogisticRegression(2.0, random_state=1, gradient="hybrid"),
    ],
)
def test_nobody_is_asked_twice(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the pilot, in a round, or about the loss: a counter stands before all of them."""
    n = 30_000
    asked: Counter[float] = Counter()
    sizes: list[int] = []
    genuine = simulation.collect_round, simulation.held_out_loss, pilots.answers

    def note(people: People) -> People:
        asked.update(people.x[:, 0].tolist())
        sizes.append(len(people))
        return people

    monkeypatch.setattr(simulation, "collect_round", lambda r, p, *rest: genuine[0](r, note(p), *rest))
    monkeypatch.setattr(simulation, "held_out_loss", lambda r, p, *rest: genuine[1](r, note(p), *rest))
    monkeypatch.setattr(pilots, "answers", lambda stage, p: genuine[2](stage, note(p)))
    x = numbered(n)
    y = np.where(x[:, 1] > 0, 1.0, -1.0)
    model.fit(x, y * 0.5 if isinstance(model, LinearRegression) else y)
    assert set(asked.values()) == {1}
    assert set(asked) <= set(x[:, 0].tolist())
    assert (0.4 if model.early_stopping else 0.99) * n < sum(sizes) <= n


def test_a_seed_gives_the_same_words_whichever_stream_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    def words() -> list[int]:
        room = np.zeros(10 + keystream.SPARE, dtype=np.uint64)
        source_for("a").stream(3).fill(room, 10)
        return [int(word) for word in room[:10]]

    found = []
    for kind in (keystream.CounterStream, keystream.SealedStream):
        monkeypatch.setattr(keystream, "fastest", lambda kind=kind: kind)
        monkeypatch.setattr(simulation, "fastest", lambda kind=kind: kind, raising=False)
        found.append(words())
    assert found[0] == found[1]
