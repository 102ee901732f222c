"""What a held-out person is asked: the loss of the model so far, and nothing else.

A collector sends a check with the plan that its people answer, so a device designs nothing. The title of that plan
belongs to the family of the training: whoever answers a check takes part in no round.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from hush.core import codec
from hush.core.plan import Plan
from hush.core.schema import Numeric, Schema
from hush.core.training import descriptions
from hush.core.training.rounds import VERSION, Round
from hush.core.training.stages import Phase, Stage
from hush.core.training.training import LARGEST, Training, cost_of, is_number
from hush.errors import DesignError, PlanError


def check_title(training: Training, number: int) -> str:
    """Return the title of the plan by which people report the loss of the weights of a round."""
    return f"{training.family}{training.branch}loss {number}"


def check_schema(cap: float) -> Schema:
    """Return what held-out people are asked: their loss, up to a cap."""
    return Schema([Numeric("loss", 0, cap)])


@dataclass(frozen=True)
class Check:
    """What a held-out person is asked: the loss of these weights, which are the outcome of a training so far.

    `number` is that of the round that goes on meanwhile.
    """

    training: Training
    number: int
    weights: tuple[float, ...]
    plan: Plan

    def __post_init__(self) -> None:
        training = self.training
        codec.integer(self.number, 1, training.rounds + 1, DesignError, "the number of a check")
        right = len(self.weights) == training.width
        if not right or not all(is_number(value) and abs(value) <= LARGEST for value in self.weights):
            raise DesignError(f"a check has one weight of at most {LARGEST:g} for each dimension")
        right = self.plan.title == check_title(training, self.number) and self.plan.cost == cost_of(training.epsilon)
        if not right or self.plan.after is not None or self.plan.schema != check_schema(training.cap):
            raise PlanError(
                "the plan of a check has the loss, the title and the epsilon of its training, and follows no other"
            )

    @property
    def done(self) -> bool:
        """Whether all rounds are over, so that no loss is taken any more."""
        return self.number > self.training.rounds

    @property
    def result(self) -> tuple[float, ...]:
        """The weights whose loss is asked for."""
        return self.weights

    def to_json(self) -> str:
        """Return the check as JSON text: all that a device needs."""
        return codec.dump(
            {
                "hush": VERSION,
                "training": descriptions.to_json(self.training),
                "check": self.number,
                "weights": self.weights,
                "plan": json.loads(self.plan.to_json()),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Check:
        """Read a check back, strictly. The plan is checked again, including its privacy."""
        names = ("hush", "training", "check", "weights", "plan")
        version, training, number, weights, plan = codec.fields(
            codec.load(text, PlanError), names, PlanError, "a check"
        )
        if type(version) is not int or version != VERSION:
            raise PlanError(f"this is not a check of version {VERSION}")
        held = tuple(codec.listed(weights, PlanError, "the weights"))
        return cls(descriptions.from_json(training), number, held, Plan.from_json(codec.dump(plan)))


Asked = Phase | Check
"""All that a person of a training can be asked."""


def asked_from_json(text: str | bytes) -> Asked:
    """Read a stage, a check or a round."""
    value = codec.load(text, PlanError)
    if isinstance(value, dict) and "stage" in value:
        return Stage.from_json(text)
    return Check.from_json(text) if isinstance(value, dict) and "check" in value else Round.from_json(text)
