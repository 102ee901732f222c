"""The protocol of training: a round goes out, gradients come back as private reports, and the weights move.

`Round` is what the people of one group are sent: the weights so far and a plan whose records are gradients.
`gradient(round, record, label)` runs on the device of one person and returns a report, with the whole epsilon of that
person; `step(round, tally)` runs on the server and returns the next round. `held_out(round, record, label)` is for
people who take part in no round but tell how well its weights do. The same objects serve a simulation and a collector.

**Each person answers once.** With a ledger a second report for the same training is refused, whatever its round; asking
again for the same round returns the report that was sent.

**What is refused.** A record must fit the training's schema, and a label its declaration, before anything is drawn or
spent. Nothing else that a server sends (weights, coordinates, centre, scale, radius) decides whether a person answers,
and a ledger holds a server to the schema and the label that it first showed (`hush.learn.descriptions`).

**Gradients.** With `gradient="vector"` (the default) a gradient g is clipped to length R and rotated in public to Qg.
The record holds |g|/R times the sign of every coordinate of Qg, and the cube channel reports some of the signs with
the whole epsilon. As E[Q^T sign(Qg)] = kappa g/|g|, the mean over people, rotated back and multiplied by R/kappa, is
that of the clipped gradients, on average over rotations: every round has its own. With the name of a mechanism
(hybrid, piecewise, duchi, laplace, minimax, duchi-multi, ...) coordinates are clipped to [-bound, bound] and reported
as the numbers of a record, as in Wang et al. (ICDE 2019). Whatever is done before the channel only decides which
record goes in: privacy is that of the plan.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hush import codec
from hush.answered import Person
from hush.client import randomise
from hush.errors import DesignError, PlanError, TallyError
from hush.estimates import points
from hush.learn import descriptions
from hush.learn.labels import target
from hush.learn.rotations import kappa, rotate, rotate_back
from hush.learn.training import LARGEST, VECTOR, Training, dot, flushed, is_number
from hush.ledger import Ledger
from hush.plan import Plan
from hush.report import Report
from hush.schema import Record
from hush.tally import Tally

VERSION = 2


@dataclass(frozen=True)
class Round:
    """One round of a training: what its people are sent.

    `coordinates` are those that the gradients of this round have. `average` is the mean of the weights over the
    rounds of the tail so far, `averaged` how many they are. Make the first with `Round.first(training)` and the
    others with `step`.
    """

    training: Training
    number: int
    weights: tuple[float, ...]
    coordinates: tuple[int, ...]
    average: tuple[float, ...]
    averaged: int
    plan: Plan

    def __post_init__(self) -> None:
        training = self.training
        codec.integer(self.number, 1, training.rounds + 1, DesignError, "the number of a round")
        codec.integer(self.averaged, 0, training.rounds, DesignError, "the number of averaged rounds")
        for values in (self.weights, self.average):
            if len(values) != training.width or not all(is_number(value) and abs(value) <= LARGEST for value in values):
                raise DesignError(f"a round has one weight of at most {LARGEST:g} for each dimension")
        chosen = self.coordinates
        if not chosen or any(type(j) is not int for j in chosen) or list(chosen) != sorted(set(chosen)):
            raise DesignError("the coordinates of a round are different integers, in order")
        if chosen[0] < 0 or chosen[-1] >= training.width:
            raise DesignError("the coordinates of a round are among its weights")
        if not training.fits(self.plan, self.number, len(chosen)):
            raise PlanError("the plan of a round has the gradients, the title and the epsilon of its training")

    @classmethod
    def first(cls, training: Training) -> Round:
        """Return the first round of a training."""
        every = tuple(range(training.width))
        start = (0.0,) * training.width if training.start is None else training.start
        return cls(training, 1, start, every, start, 0, training.round_plan(1, len(every)))

    @property
    def done(self) -> bool:
        """Whether there are no more rounds: `result` is the outcome."""
        return self.number > self.training.rounds

    @property
    def result(self) -> tuple[float, ...]:
        """The outcome so far: the weights, averaged over the tail once it has begun."""
        return self.average if self.averaged else self.weights

    @property
    def rotation(self) -> str:
        """The seed of the public rotation of this round."""
        return f"{self.training.seed}/{self.number}"

    # -- the device

    def record(self, record: Record, label: object) -> dict[str, float]:
        """Return the record that stands for one person's clipped gradient."""
        training = self.training
        inputs, y = training.features(record), target(training.label, label)
        score = dot(inputs, [flushed(weight) for weight in self.weights])
        slope = training.loss_function.slope(score, y)
        vector = [flushed(slope * inputs[j]) for j in self.coordinates]
        if training.gradient != VECTOR:
            return {f"g{j}": _clipped(value / training.bound) for j, value in enumerate(vector)}
        size = min(math.sqrt(dot(vector, vector)) / training.radius, 1.0)
        turned = rotate(vector, self.rotation)
        return {f"g{j}": size * ((value > 0) - (value < 0)) for j, value in enumerate(turned)}

    def loss_record(self, record: Record, label: object) -> dict[str, float]:
        """Return the record that stands for the loss of the weights so far, for one person."""
        training = self.training
        inputs, y = training.features(record), target(training.label, label)
        score = dot(inputs, [flushed(weight) for weight in self.result])
        return {"loss": min(training.loss_function.value(score, y), float(training.cap))}

    # -- the server

    def mean_gradient(self, tally: Tally) -> list[float]:
        """Return the mean of the clipped gradients behind a tally. What nobody reported counts as 0."""
        if tally.plan.id != self.plan.id:
            raise TallyError("this tally belongs to another round")
        return self.decode([0.0 if math.isnan(point) else point for point in points(tally)])

    def decode(self, means: Sequence[float]) -> list[float]:
        """Return the mean gradient from the means of a record's numbers: 0 where the round does not ask."""
        training = self.training
        if training.gradient == VECTOR:
            scale = training.radius / kappa(len(means))
            found = [scale * value for value in rotate_back(means, self.rotation, len(self.coordinates))]
        else:
            found = [training.bound * mean for mean in means]
        gradient = [0.0] * training.width
        for j, value in zip(self.coordinates, found, strict=True):
            gradient[j] = value
        return gradient

    def moved(self, gradient: Sequence[float]) -> Round:
        """Return the next round, after a step against the mean gradient and that of the penalty."""
        training = self.training
        size = training.step / math.sqrt(self.number) if training.decay else training.step
        box = LARGEST if training.box is None else min(training.box, LARGEST)  # who diverges still ends
        weights = tuple(
            _clipped(w - size * (g + training.penalty * w), box) for w, g in zip(self.weights, gradient, strict=True)
        )
        average, averaged = self.average, self.averaged
        if self.number > training.rounds - round(training.tail * training.rounds):
            averaged += 1
            average = tuple(a + (w - a) / averaged for a, w in zip(average, weights, strict=True))
        chosen = self._next_coordinates(gradient)
        if len(chosen) == len(self.coordinates):  # nothing is designed anew: a collector has no time for that
            plan = replace(self.plan, title=training.round_title(self.number + 1))
        else:
            plan = training.round_plan(self.number + 1, len(chosen))
        return Round(training, self.number + 1, weights, chosen, average, averaged, plan)

    def _next_coordinates(self, gradient: Sequence[float]) -> tuple[int, ...]:
        training = self.training
        if training.selection is None or training.is_wide(self.number + 1):
            return tuple(range(training.width))
        if not training.is_wide(self.number):
            return self.coordinates
        large = tuple(j for j, value in enumerate(gradient) if abs(value) > training.selection[2])
        return large or (max(range(training.width), key=lambda j: abs(gradient[j])),)

    # -- how it travels

    def to_json(self) -> str:
        """Return the round as JSON text: all that a device needs."""
        return codec.dump(
            {
                "hush": VERSION,
                "training": descriptions.to_json(self.training),
                "number": self.number,
                "weights": self.weights,
                "coordinates": self.coordinates,
                "average": self.average,
                "averaged": self.averaged,
                "plan": json.loads(self.plan.to_json()),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Round:
        """Read a round back, strictly. The plan is checked again, its privacy included."""
        names = ("hush", "training", "number", "weights", "coordinates", "average", "averaged", "plan")
        version, training, number, weights, coordinates, average, averaged, plan = codec.fields(
            codec.load(text, PlanError), names, PlanError, "a round"
        )
        if type(version) is not int or version != VERSION:
            raise PlanError(f"this is not a round of version {VERSION}")
        lists = (
            _listed(weights, "the weights"),
            _listed(coordinates, "the coordinates"),
            _listed(average, "the average"),
        )
        return cls(descriptions.from_json(training), number, *lists, averaged, Plan.from_json(codec.dump(plan)))


def gradient(
    round: Round,  # noqa: A002
    record: Record,
    label: object,
    ledger: Ledger | Person | None = None,
) -> Report:
    """Return one person's private gradient: on the device.

    `record` and `label` are as the training describes them (`Training.schema`, `Training.label`), or are refused before
    anything is drawn. With a ledger the person answers once in a training, never spends more than the ledger's cap, and
    takes no other schema or label under the same title. Without one every call draws anew and costs the epsilon of the
    training again: `Collector.train` remembers what it has sent.
    """
    _check_open(round)
    return _answer(round, round.plan, lambda: round.record(record, label), ledger)


def held_out(
    round: Round,  # noqa: A002
    record: Record,
    label: object,
    ledger: Ledger | Person | None = None,
) -> Report:
    """Return how large the loss of the weights so far is for one person, privately: on the device.

    Whoever answers this takes part in no round. The plan is `round.training.loss_plan(round.number)`. For `ledger` see
    `gradient`.
    """
    plan = round.training.loss_plan(round.number)
    return _answer(round, plan, lambda: round.loss_record(record, label), ledger)


def step(round: Round, tally: Tally) -> Round:  # noqa: A002
    """Return the next round: on the server."""
    _check_open(round)
    return round.moved(round.mean_gradient(tally))


def _answer(
    round: Round,  # noqa: A002
    plan: Plan,
    record: Callable[[], Record],
    ledger: Ledger | Person | None,
) -> Report:
    if ledger is None:
        return randomise(plan, record())
    descriptions.keep(round.training, ledger)  # before the record is looked at
    return ledger.randomise(plan, record(), once=round.training.family)


def _check_open(round: Round) -> None:  # noqa: A002
    if round.done:
        raise PlanError("this training is over")


def _clipped(value: float, bound: float = 1.0) -> float:
    return min(max(value, -bound), bound)


def _listed(value: Any, what: str) -> tuple[Any, ...]:
    return tuple(codec.listed(value, PlanError, what))
