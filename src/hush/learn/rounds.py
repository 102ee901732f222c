"""The protocol of training: a round goes out, gradients come back as private reports, and the weights move.

A `Training` is what is fixed and public from the start. It makes `Round`s: the weights so far, a plan whose records are
gradients, and how to make such a record. `gradient(round, x, y)` runs on the device of one person and returns a
report, with the whole epsilon of that person; `step(round, tally)` runs on the server and returns the next round. The
same objects serve a simulation and a collector.

**Each person takes part in one round.** With a ledger a second gradient for the same training is refused; asking again
for the same round returns the report that was sent.

**Gradients.** With `gradient="vector"` (the default) the gradient g is clipped to length R and rotated in public; with
probability (1 + |g|/R)/2 its direction is taken as it is, else reversed, so that the average is g/R; its signs are reported
by the cube channel with the whole epsilon. With the name of a mechanism (hybrid, piecewise, duchi, laplace, minimax,
duchi-multi, ...) coordinates are clipped to [-bound, bound] and reported as the numbers of a record: the way of Wang et al.
(ICDE 2019). Whatever is done before the channel only decides which record goes in: privacy is that of the plan.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hush import codec
from hush.client import randomise
from hush.coins import SystemCoins
from hush.design.joint import cube
from hush.design.numeric import duchi
from hush.errors import DesignError, PlanError, RecordError, TallyError
from hush.estimates import estimate
from hush.learn.losses import Loss, loss_named
from hush.learn.rotations import kappa, padded, rotate, rotate_back
from hush.ledger import Ledger
from hush.plan import Plan, Question
from hush.report import Report
from hush.schema import MAX_ATTRIBUTES, Numeric, Schema
from hush.tally import Tally

VERSION = 1
VECTOR = "vector"


@dataclass(frozen=True)
class Training:
    """What is fixed before anybody is asked, and public.

    `dimensions` counts the features, a constant 1 included if there is an intercept. `radius` clips a gradient's length
    (for "vector"), `bound` its coordinates (otherwise). The step of round t is `step`, divided by sqrt(t) if `decay`. `box`
    keeps the weights in [-box, box]. Weights are averaged over the last `tail` share of the rounds. `seed` is for the
    public rotations. `centre` is subtracted from the features by every device.
    """

    title: str
    loss: str
    dimensions: int
    epsilon: float
    rounds: int
    step: float
    gradient: str = VECTOR
    radius: float = 1.0
    bound: float = 1.0
    k: int | str = "best"
    penalty: float = 1e-4
    decay: bool = False
    box: float | None = None
    tail: float = 0.5
    centre: tuple[float, ...] | None = None
    seed: str = "0"

    def __post_init__(self) -> None:
        loss_named(self.loss)
        codec.integer(self.dimensions, 1, MAX_ATTRIBUTES, DesignError, "the number of dimensions")
        codec.integer(self.rounds, 1, 1 << 20, DesignError, "the number of rounds")
        for name in ("step", "radius", "bound"):
            _positive(getattr(self, name), name)
        if self.box is not None:
            _positive(self.box, "box")
        if not 0 <= self.penalty < math.inf:
            raise DesignError("the penalty must be a number of at least 0")
        if not 0 < self.tail <= 1:
            raise DesignError("tail must be above 0 and at most 1")
        if self.centre is not None and len(self.centre) != self.dimensions:
            raise DesignError("the centre has one number for each dimension")

    def first(self) -> Round:
        """Return the first round, with weights of 0."""
        zero = (0.0,) * self.dimensions
        return Round(self, 1, zero, zero, 0, self._plan())

    def title_of(self, number: int) -> str:
        """Return the title of a round's plan: reports of two rounds never mix, as their plans differ."""
        return f"{self.title}: round {number}"

    def _plan(self) -> Plan:
        title = self.title_of(1)
        if self.gradient == VECTOR:
            return vector_plan(self.epsilon, padded(self.dimensions), title)
        schema = gradient_schema(self.dimensions)
        split = self.gradient in ("laplace", "scdf", "staircase") and self.k == "best"
        if split:  # as Wang et al. compose the earlier mechanisms: everything with epsilon/d
            return Plan.design(schema, self.epsilon, numeric=self.gradient, budget="split", title=title)
        return Plan.design(schema, self.epsilon, numeric=self.gradient, k=self.k, title=title)  # type: ignore[arg-type]


@lru_cache(maxsize=64)
def gradient_schema(size: int) -> Schema:
    """Return the schema of gradients: so many numbers from -1 to 1."""
    return Schema([Numeric(f"g{j}", -1, 1) for j in range(size)])


def vector_plan(epsilon: float, size: int, title: str) -> Plan:
    """Return the plan for the signs of a rotated gradient: the best cube channel over all of them.

    Where that reports one sign only, it is the same to draw the dimension first, and cheaper: a question for each.
    """
    cost = Fraction(repr(float(epsilon)))
    schema = gradient_schema(size)
    best = cube(cost, size)
    if best.sample > 1:
        return Plan(schema, cost, 1, (Question(schema.names, best),), title)
    return Plan(schema, cost, 1, tuple(Question((name,), duchi(cost)) for name in schema.names), title)


@dataclass(frozen=True)
class Round:
    """One round of a training: what its people are sent.

    `average` is the mean of the weights over the rounds of the tail so far, `averaged` how many they are.
    """

    training: Training
    number: int
    weights: tuple[float, ...]
    average: tuple[float, ...]
    averaged: int
    plan: Plan

    def __post_init__(self) -> None:
        self._check_plan()
        codec.integer(self.number, 1, self.training.rounds + 1, DesignError, "the number of a round")
        for values in (self.weights, self.average):
            if len(values) != self.training.dimensions or not all(math.isfinite(value) for value in values):
                raise DesignError("a round has one finite weight for each dimension")

    def _check_plan(self) -> None:
        """Refuse a plan whose records are not gradients of this training, or whose price is another."""
        training, plan = self.training, self.plan
        size = padded(training.dimensions) if training.gradient == VECTOR else training.dimensions
        if plan.schema != gradient_schema(size):
            raise PlanError("the plan of a round is about the numbers of a gradient")
        if plan.title != training.title_of(self.number) or plan.epsilon != training.epsilon:
            raise PlanError("the plan of a round has the title and the epsilon of its training")

    @property
    def loss(self) -> Loss:
        """The loss."""
        return loss_named(self.training.loss)

    @property
    def done(self) -> bool:
        """Whether there are no more rounds: `result` is the outcome."""
        return self.number > self.training.rounds

    @property
    def result(self) -> tuple[float, ...]:
        """The weights so far: averaged over the tail, once it has begun."""
        return self.average if self.averaged else self.weights

    @property
    def rotation(self) -> str:
        """The seed of the public rotation of this round."""
        return f"{self.training.seed}/{self.training.title}/{self.number}"

    def record(self, gradient: Sequence[float], coin: float) -> dict[str, float]:
        """Return the record that stands for a gradient. `coin` in [0, 1) decides whether its direction is reversed."""
        training = self.training
        if training.gradient != VECTOR:
            return {f"g{j}": min(max(value / training.bound, -1.0), 1.0) for j, value in enumerate(gradient)}
        length = math.sqrt(math.fsum(value * value for value in gradient))
        forward = coin < (1 + min(length / training.radius, 1.0)) / 2
        rotated = rotate([value if forward else -value for value in gradient], self.rotation)
        return {f"g{j}": float((value > 0) - (value < 0)) for j, value in enumerate(rotated)}

    def mean_gradient(self, tally: Tally) -> list[float]:
        """Return the unbiased mean of the clipped gradients behind a tally. What nobody reported counts as 0."""
        if tally.plan.id != self.plan.id:
            raise TallyError("this tally belongs to another round")
        points = [0.0 if math.isnan(row.point) else row.point for row in estimate(tally)]
        return self.decode(points)

    def decode(self, points: Sequence[float]) -> list[float]:
        """Return the mean gradient from the means of a record's numbers."""
        training = self.training
        if training.gradient != VECTOR:
            return [training.bound * point for point in points]
        scale = training.radius / kappa(len(points))
        return [scale * value for value in rotate_back(points, self.rotation, training.dimensions)]

    def moved(self, mean: Sequence[float]) -> Round:
        """Return the next round, after a step against the mean gradient and the penalty's."""
        training = self.training
        size = training.step / math.sqrt(self.number) if training.decay else training.step
        box = math.inf if training.box is None else training.box
        weights = tuple(
            min(max(w - size * (g + training.penalty * w), -box), box) for w, g in zip(self.weights, mean, strict=True)
        )
        average, count = self.average, self.averaged
        if self.number > training.rounds - max(1, round(training.tail * training.rounds)):
            count += 1
            average = tuple(a + (w - a) / count for a, w in zip(average, weights, strict=True))
        plan = replace(self.plan, title=training.title_of(self.number + 1))
        return Round(training, self.number + 1, weights, average, count, plan)

    # -- how it travels

    def to_json(self) -> str:
        """Return the round as JSON text: all that a device needs."""
        training = {
            name: list(value) if isinstance(value, tuple) else value for name, value in vars(self.training).items()
        }
        return codec.dump(
            {
                "hush": VERSION,
                "training": training,
                "number": self.number,
                "weights": list(self.weights),
                "average": list(self.average),
                "averaged": self.averaged,
                "plan": json.loads(self.plan.to_json()),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Round:
        """Read a round back, strictly. The plan is checked again, its privacy included."""
        names = ("hush", "training", "number", "weights", "average", "averaged", "plan")
        version, training, number, weights, average, averaged, plan = codec.fields(
            codec.load(text, PlanError), names, PlanError, "a round"
        )
        if type(version) is not int or version != VERSION:
            raise PlanError(f"this is not a round of version {VERSION}")
        fields = codec.fields(training, tuple(Training.__dataclass_fields__), PlanError, "a training")
        values: dict[str, Any] = dict(zip(Training.__dataclass_fields__, fields, strict=True))
        if values["centre"] is not None:
            values["centre"] = tuple(codec.listed(values["centre"], PlanError, "the centre"))
        codec.integer(averaged, 0, 1 << 20, PlanError, "the number of averaged rounds")
        return cls(
            Training(**values),
            number,
            tuple(codec.listed(weights, PlanError, "the weights")),
            tuple(codec.listed(average, PlanError, "the average")),
            averaged,
            Plan.from_json(codec.dump(plan)),
        )


def features(training: Training, x: Sequence[float]) -> list[float]:
    """Check one person's features, and subtract the centre."""
    if len(x) != training.dimensions:
        raise RecordError(f"a record of this training has {training.dimensions} features")
    values = [float(value) for value in x]
    if not all(math.isfinite(value) for value in values):
        raise RecordError("features must be finite")
    return values if training.centre is None else [a - b for a, b in zip(values, training.centre, strict=True)]


def gradient(round: Round, x: Sequence[float], y: float, ledger: Ledger | None = None) -> Report:  # noqa: A002
    """Return one person's private gradient: on the device.

    `x` are the features, `y` the target: -1 or 1, or a number in [-1, 1] for the squared loss. With a ledger the person takes
    part in one round of a training only, and in the end spends no more than the ledger's cap.
    """
    if round.done:
        raise PlanError("this training is over")
    values = features(round.training, x)
    if not -1 <= y <= 1 or (round.training.loss != "squared" and y not in (-1, 1)):
        raise RecordError("the target must be -1 or 1 (for the squared loss, from -1 to 1)")
    score = math.fsum(a * b for a, b in zip(values, round.weights, strict=True))
    slope = round.loss.slope(score, float(y))
    coin = (SystemCoins().word() >> 11) / 2**53
    record = round.record([slope * value for value in values], coin)
    if ledger is None:
        return randomise(round.plan, record)
    return ledger.randomise(round.plan, record, once=f"{round.training.title}: round ")


def step(round: Round, tally: Tally) -> Round:  # noqa: A002
    """Return the next round: on the server."""
    if round.done:
        raise PlanError("this training is over")
    return round.moved(round.mean_gradient(tally))


def _positive(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise DesignError(f"{name} must be a positive number")


__all__ = ["Round", "Training", "features", "gradient", "gradient_schema", "step", "vector_plan"]
