"""The length of a reported direction: exact sums of order statistics, how far the rotation is off, and the design.

A uniform rotation makes the mean report S(D, m) long exactly. Ours is made of two rounds of signs and Hadamard
transforms. The bias is measured over 2000 seeds for vectors of several shapes, and found within 1/D and six standard
errors, except for a vector with two entries, whose direction is off by up to 0.08. One round of signs, the twin, is far
off for a vector with one entry.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from hush.core.channels import Corners, Cube
from hush.core.design.directions import corners, direction
from hush.core.design.joint import cube
from hush.core.training.directions import gain, kept, noise, pointed, top_sum, top_sums
from hush.core.training.rotations import hadamard, kappa, rotate, rotate_back, seeded_signs
from hush.server.step import first_round
from tests.core.training.test_rotations import VECTORS
from tests.learn.cases import Array, training

SEEDS, Z = 2000, 6.0
ALLOWED = {"two": 0.08}


@pytest.mark.parametrize("size", [1, 2, 3, 64, 200])
def test_the_sum_of_all_coordinates_is_kappa(size: int) -> None:
    assert top_sums(size)[-1] == pytest.approx(kappa(size), rel=1e-12)
    assert all(a < b for a, b in zip(top_sums(size), top_sums(size)[1:], strict=False))


def test_the_largest_of_two_and_three_coordinates() -> None:
    """Of two: the mean of max(|cos|, |sin|). Of three: an integral over the sphere, by a fine grid."""
    assert top_sum(2, 1) == pytest.approx(2 * math.sqrt(2) / math.pi, rel=1e-13)
    heights = (np.arange(2000) + 0.5) / 2000
    angles = (np.arange(2000) + 0.5) * (math.pi / 2 / 2000)
    radius = np.sqrt(1 - heights**2)[:, None]
    u = np.stack(np.broadcast_arrays(heights[:, None], radius * np.cos(angles), radius * np.sin(angles)))
    ordered = np.sort(u, axis=0)
    assert top_sum(3, 1) == pytest.approx(float(ordered[2].mean()), rel=1e-6)
    assert top_sum(3, 2) == pytest.approx(float(ordered[1:].sum(axis=0).mean()), rel=1e-6)


@pytest.mark.parametrize("m", [1, 9, 45])
def test_sums_agree_with_random_directions(m: int) -> None:
    """20,000 directions, seeded. A false alarm would have a probability of 1e-8 (six standard errors)."""
    z = np.abs(np.random.default_rng(m).standard_normal((20_000, 64)))
    sums = np.sort(z / np.sqrt(np.square(z).sum(axis=1, keepdims=True)), axis=1)[:, -m:].sum(axis=1)
    assert abs(sums.mean() - top_sum(64, m)) < Z * sums.std() / math.sqrt(len(sums))
    assert abs(sums.mean() - top_sum(64, m + 1)) > Z * sums.std() / math.sqrt(len(sums))  # the twin: another m


# -- the rotation


def reported(name: str, m: int, once: bool) -> tuple[Array, Array]:
    """The unit vector, and Q^T s/S for every seed, with the numbers of `pointed` and `rotate` (compared below)."""
    unit = np.zeros(64)
    unit[: len(VECTORS[name])] = np.array(VECTORS[name]) / math.hypot(*VECTORS[name])
    transform = np.array([hadamard([float(i == j) for j in range(64)]) for i in range(64)])
    signs = np.array([seeded_signs("rotation", str(seed), 128) for seed in range(SEEDS)])
    first, second = signs[:, :64], signs[:, 64:]
    turned = (unit * first) @ transform
    if not once:
        turned = (turned * second) @ transform
    whole = np.floor(np.abs(turned) * 2**30 + 1e-6)
    kept = np.argsort(np.argsort(-whole, axis=1, kind="stable"), axis=1, kind="stable") < m
    back = (kept * np.sign(np.where(np.abs(turned) < 1e-12, 0.0, turned))) @ transform
    if not once:
        back = (back * second) @ transform
    return unit, back * first / top_sum(64, m)


def off(name: str, m: int, once: bool) -> list[str]:
    """What a z-test says of the mean over seeds: the length along v, and every coordinate."""
    unit, means = reported(name, m, once)
    allowed = ALLOWED.get(name, 1 / 64)
    along = means @ unit
    errors = ["length"] * bool(abs(along.mean() - 1) > allowed + Z * along.std() / math.sqrt(SEEDS))
    far = np.abs(means.mean(axis=0) - unit) > allowed + Z * means.std(axis=0) / math.sqrt(SEEDS)
    return errors + ["direction"] * bool(far.any())


def test_the_arrays_are_what_a_device_computes() -> None:
    unit, found = reported("dense", 5, once=False)
    back = rotate_back(pointed(rotate(unit.tolist(), "7"), 1.0, 5), "7", 64)
    assert found[7] * top_sum(64, 5) == pytest.approx(back, abs=1e-9)


@pytest.mark.parametrize("m", [5, 45])
@pytest.mark.parametrize("name", VECTORS)
def test_the_largest_coordinates_point_along_the_vector(name: str, m: int) -> None:
    assert off(name, m, once=False) == []


def test_one_round_of_signs_would_be_far_off() -> None:
    assert "length" in off("one", 5, once=True)


# -- what a device keeps


def test_the_largest_keep_their_signs() -> None:
    generator = random.Random(2)
    for _ in range(50):
        turned = [generator.choice([0.0, 1.0, generator.gauss(0, 1)]) * generator.choice([-1, 1]) for _ in range(16)]
        for m in (1, 5, 16):
            found = pointed(turned, 0.5, m)
            order = sorted(range(16), key=lambda j: (-int(abs(turned[j]) / math.hypot(*turned) * 2**30), j))
            expected = [0.5 * ((v > 0) - (v < 0)) if j in order[:m] else 0.0 for j, v in enumerate(turned)]
            assert found == expected
    assert pointed([0.0] * 8, 0.0, 3) == [0.0] * 8
    assert pointed([1e-150, 0.0, -1e-149], 1.0, 1) == [0.0, 0.0, -1.0]
    assert pointed([1e123, -1e122], 1.0, 1) == [1.0, 0.0]


# -- design


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4), Fraction(8)])
def test_the_design_has_the_largest_gain(epsilon: Fraction) -> None:
    from tests.cases import small_corners

    best = corners(epsilon, 16)
    assert gain(best) == max(gain(small_corners(epsilon, 16, m)) for m in range(1, 17))
    assert noise(best) == pytest.approx(float(best.bound) ** 2 / top_sum(16, best.near) ** 2 / 16)


def test_corners_win_up_to_epsilon_8_and_the_cube_at_16() -> None:
    for size in (64, 128):
        for epsilon in (Fraction(1, 10), Fraction(1), Fraction(4), Fraction(8)):
            assert isinstance(direction(epsilon, size), Corners)
            assert noise(corners(epsilon, size)) < noise(cube(epsilon, size))
        assert isinstance(direction(Fraction(16), size), Cube)


@pytest.mark.parametrize(("epsilon", "above"), [(0.5, 1.005), (1.0, 1.006), (2.0, 1.008), (4.0, 1.011)])
def test_it_is_close_to_privunit(epsilon: float, above: float) -> None:
    from experiments import privunit

    limit = 1 / (privunit.best(64, epsilon).m ** 2 * 64)
    assert limit < noise(corners(Fraction(epsilon), 64)) < above * limit


def test_a_training_takes_the_better_and_keeps_what_it_needs() -> None:
    near = first_round(training(dimensions=5, epsilon=1.0)).plan
    assert isinstance(near.questions[0].channel, Corners)
    assert kept(near) == near.questions[0].channel.near
    assert kept(first_round(training(dimensions=5, epsilon=16.0)).plan) == 64
