"""One round of a training, as the server sends it and a device reads it.

`hush.device.gradient` computes the gradients, and `hush.server.step` the step that follows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from hush.core import codec
from hush.core.plan import Plan
from hush.core.training import descriptions
from hush.core.training.training import LARGEST, Training, is_number
from hush.errors import DesignError, PlanError

VERSION = 4


@dataclass(frozen=True)
class Round:
    """One round of a training, as it is sent to people.

    `coordinates` are the coordinates of this round's gradients. `average` is the mean of the weights over the rounds
    of the tail so far (a rising one, if the training says so), and `averaged` the number of those rounds. Make the
    first round with `first_round(training)`, and the others with `step`.
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

    @property
    def done(self) -> bool:
        """Whether all rounds are over, so that `result` is the outcome."""
        return self.number > self.training.rounds

    @property
    def result(self) -> tuple[float, ...]:
        """The outcome so far: the weights, averaged over the tail once it has begun."""
        return self.average if self.averaged else self.weights

    @property
    def rotation(self) -> str:
        """The seed of the public rotation of this round."""
        return f"{self.training.seed}/{self.training.branch}{self.number}"

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
        """Read a round back, strictly. The plan is checked again, including its privacy."""
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


class _Ending(Protocol):
    @property
    def done(self) -> bool: ...


def check_open(asked: _Ending) -> None:
    """Refuse a round, or a check of its model, after the last one."""
    if asked.done:
        raise PlanError("this training is over")


def _listed(value: Any, what: str) -> tuple[Any, ...]:
    return tuple(codec.listed(value, PlanError, what))
