"""The pilot: a few people report privately how the features are spread, and take part in nothing else.

Training is faster and needs less noise if features are centred and of similar size, and if gradients are clipped to
their typical length. All that may be learnt only through private reports. So a small share of the people is asked
first, and each of them answers one plan with the whole epsilon:

1. the features and the target, as a record of numbers and categories: their means become the centre;
2. how far each number, and the target, is from that centre: the mean is the scale (for a category with share p it is
   sqrt(p(1-p)));
3. the length of all features, centred and scaled, as a histogram: its median decides the step;
4. for the squared loss, the length of the first gradient, as a histogram. For the others that is a known multiple of 3.

The answers of a few people are noisy, so they are trusted only as far as their standard errors allow: centres are
shrunk towards 0, scales are never below their own error, and a histogram that is mostly noise is replaced by lengths
that follow from 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hush import batch, design
from hush.batch.columns import Encoded
from hush.core.plan import Plan
from hush.core.schema import Categorical, Numeric, Schema
from hush.core.training.features import Part
from hush.core.training.losses import Loss
from hush.core.training.training import Training
from hush.learn.simulation import SLOPES, People, View, source_for
from hush.server.estimates import Estimate, Estimates, estimate

Array = np.ndarray[Any, Any]

LEAST_SCALE = 0.1  # features that are rarer or narrower than this are not scaled up further
GAUSSIAN = math.sqrt(math.pi / 2)  # standard deviation over mean absolute deviation
BINS = 16  # of a histogram of lengths, each twice as long as the one before
TRUSTED = 0.1  # the largest standard error of a share in a histogram that is used
SHARES = {"features": 0.5, "deviations": 0.2, "lengths": 0.15, "gradients": 0.15}


@dataclass(frozen=True)
class Pilot:
    """The results of the pilot. They come from private reports, so they may be used freely. `asked`: its people."""

    centre: tuple[float, ...]
    scale: tuple[float, ...]
    target: float
    length: float
    gradient: float
    asked: int


# -- plans, and the records that answer them


def features_plan(parts: Sequence[Part], epsilon: float, family: str) -> Plan:
    """Return the plan that asks for the features as a record, and for the target."""
    attributes: list[Numeric | Categorical] = [Numeric("target", -1, 1)]
    for part in parts:
        if part.number:
            attributes.append(Numeric(f"x{part.start}", -1, 1))
        else:
            attributes.append(Categorical(f"x{part.start}", list(range(part.end - part.start + 1))))
    return design(Schema(attributes), epsilon, title=f"{family}features")


def deviations_plan(numbers: Sequence[int], epsilon: float, family: str) -> Plan:
    """Return the plan that asks for the distances of the numbers and the target from their centres."""
    schema = Schema([Numeric("target", 0, 2), *(Numeric(f"x{j}", 0, 2) for j in numbers)])
    return design(schema, epsilon, title=f"{family}deviations")


def lengths_plan(epsilon: float, family: str, what: str) -> Plan:
    """Return the plan that asks for the bin of a length."""
    return design(Schema([Categorical("length", list(range(BINS)))]), epsilon, title=f"{family}{what}")


def length_bins(lengths: Array, bound: float) -> Array:
    """Return the bin of each length: bin i ends at bound / 2^(BINS - 1 - i), and the first begins at 0."""
    with np.errstate(divide="ignore"):
        below = np.floor(-np.log2(np.minimum(lengths / bound, 1.0)))
    return np.asarray(BINS - 1 - np.clip(below, 0, BINS - 1), dtype=np.int16)


def median_of(rows: Sequence[Estimate], schema: Schema, bound: float) -> float | None:
    """Return the median of lengths from the shares of their bins, evenly spread (in logarithms) within a bin.

    Return None if the shares are mostly noise.
    """
    if not all(row.stderr <= TRUSTED for row in rows):
        return None
    done = 0.0
    for i, row in enumerate(Estimates(rows, schema=schema).project()):
        if done + row.point >= 0.5 and row.point > 0:
            return float(bound * 2 ** (i - BINS + (0.5 - done) / row.point))
        done += row.point
    return bound


# -- the simulated pilot


class _Questioner:
    """Asks one group of people after the other, and never the same twice."""

    def __init__(self, people: People, seed: str | None, threads: int) -> None:
        self._people, self._seed, self._threads = people, seed, threads
        self.asked = 0

    def group(self, count: int) -> People:
        """Return the next people."""
        start = self.asked
        self.asked = min(start + count, len(self._people))
        return self._people.some(start, self.asked)

    def answers(self, plan: Plan, columns: Sequence[Array]) -> list[Estimate]:
        """Return the estimates from a group."""
        source = source_for(None if self._seed is None else f"{self._seed}/{plan.title}")
        return estimate(batch._collect_from(source, plan, Encoded.of(plan.schema, columns), self._threads))  # noqa: SLF001 - no public function takes words

    def median(self, plan: Plan, lengths: Array, bound: float) -> float | None:
        """Return the median length in a group."""
        return median_of(self.answers(plan, [length_bins(lengths, bound)]), plan.schema, bound)


def ask(
    people: People, parts: Sequence[Part], loss: Loss, training: Training, *, seed: str | None, threads: int
) -> Pilot:
    """Ask all these people. `training` gives epsilon, title and whether there is an intercept."""
    questioner = _Questioner(people, seed, threads)
    epsilon, family = training.epsilon, training.family
    counts = {name: max(1, int(share * len(people))) for name, share in SHARES.items()}

    group = questioner.group(counts["features"])
    rows = questioner.answers(features_plan(parts, epsilon, family), _feature_columns(group, parts))
    target, centre, variance = _read_features(rows, parts, training.dimensions)

    numbers = [part.start for part in parts if part.number]
    group = questioner.group(counts["deviations"])
    columns = [np.abs(group.y.astype(np.float64) - target)]
    columns += [np.abs(group.x[:, j].astype(np.float64) - centre[j]) for j in numbers]
    rows = questioner.answers(deviations_plan(numbers, epsilon, family), columns)
    deviation = math.hypot(*_finite(rows[0]))
    for j, row in zip(numbers, rows[1:], strict=True):
        point, error = _finite(row)
        variance[j] = (GAUSSIAN * max(point, 0.0)) ** 2 + error**2
    scale = np.clip(np.sqrt(variance), LEAST_SCALE, 1.0)

    view = View.of(_prepared(training, centre, scale))
    bound = 2.0 / LEAST_SCALE * math.sqrt(training.dimensions + 1)
    group = questioner.group(counts["lengths"])
    length = questioner.median(lengths_plan(epsilon, family, "lengths"), view.lengths(group), bound)
    if length is None:
        length = math.sqrt(float(np.sum(np.minimum(variance / scale**2, 1.0))) + 1)
    gradient = loss.slope_at_zero * length
    if loss.bound is None:
        group = questioner.group(counts["gradients"])
        slopes = SLOPES[loss.name](np.full(len(group), target, dtype=np.float32), group.y)
        lengths = np.abs(slopes) * view.lengths(group)
        median = questioner.median(lengths_plan(epsilon, family, "gradients"), lengths, 4 * bound)
        gradient = gradient * deviation if median is None else median
    return Pilot(tuple(centre.tolist()), tuple(scale.tolist()), target, length, gradient, questioner.asked)


def _prepared(training: Training, centre: Array, scale: Array) -> Training:
    return replace(training, centre=tuple(centre.tolist()), scale=tuple(scale.tolist()), projection=None, start=None)


def _feature_columns(people: People, parts: Sequence[Part]) -> list[Array]:
    """Return the features as the columns of `features_plan`."""
    columns = [people.y.astype(np.float64)]
    for start, end, number in parts:
        if number:
            columns.append(np.clip(people.x[:, start].astype(np.float64), -1.0, 1.0))
        else:
            block = people.x[:, start:end] > 0.5
            columns.append(np.where(block.any(axis=1), block.argmax(axis=1), end - start).astype(np.int16))
    return columns


def _read_features(rows: list[Estimate], parts: Sequence[Part], d: int) -> tuple[float, Array, Array]:
    """Return the mean target, the centres, and the variances of the features that are categories."""
    centre, variance = np.zeros(d), np.ones(d)
    waiting = iter(rows)
    target = _shrunk(*_finite(next(waiting)))
    for start, end, number in parts:
        for j in range(start, end):
            point, error = _finite(next(waiting))
            centre[j] = _shrunk(point, error) if number else max(_shrunk(point, error), 0.0)
            share = min(max(point, 0.0), 1.0)
            variance[j] = share * (1 - share) + error**2
        if not number:
            next(waiting)  # the last category has no feature
    return min(max(target, -1.0), 1.0), np.clip(centre, -1.0, 1.0), variance


def _finite(row: Estimate) -> tuple[float, float]:
    """Return point and standard error of an estimate; 0 and 1 where nobody answered."""
    if math.isnan(row.point) or math.isnan(row.stderr):
        return 0.0, 1.0
    return row.point, min(row.stderr, 1.0)


def _shrunk(point: float, error: float) -> float:
    """Return a point, moved towards 0 by the share of it that is probably noise."""
    return point * max(0.0, 1 - error**2 / point**2) if point else 0.0
