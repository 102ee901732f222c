"""The pilot of a training: up to three stages, in which people report how features are spread, and nothing else.

1. **means**: a person reports numbers from -1 to 1, and the target if it is a number or there are no categories.
2. **spreads**: another person reports how far each of them is from the mean that the first stage has found.
3. **shares**: others report their categories, and the class.

Each person answers one plan, with the whole epsilon. A `Stage` is the message to the people of one stage, as a `Round`
is in a training; `hush.device.pilot` answers it, and `hush.server.pilot` reads the answers. The plans have the same
beginning of their titles as those of the rounds: a ledger lets a person answer one of them all.

A number that is missing counts as 0 here, as it does in the features; whether it is missing is a category.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hush.core import codec
from hush.core.plan import Plan
from hush.core.schema import Attribute, Categorical, Numeric, Schema
from hush.core.training import descriptions
from hush.core.training.features import Part
from hush.core.training.maps import zeroed
from hush.core.training.rounds import VERSION, Round
from hush.core.training.training import Training, cost_of, is_number
from hush.errors import DesignError, PlanError

MEANS, SPREADS, SHARES = "means", "spreads", "shares"
TARGET = "target"

Known = tuple[tuple[float, float], ...]
"""The estimates of one stage: points and their standard errors, in the order of the questions."""


def numbers_of(training: Training) -> list[int]:
    """Return the features that are numbers."""
    return [part.start for part in training.parts if part.number]


def categories_of(training: Training) -> list[Part]:
    """Return the features that belong to categories."""
    return [part for part in training.parts if not part.number]


def asks_target(training: Training) -> bool:
    """Return whether the target is asked for as a number. Otherwise the class is asked for among the categories."""
    return not training.loss_function.classes or not categories_of(training)


def indicators(part: Part) -> int:
    """Return how many indicators a category has."""
    return part.end - part.start - part.ordered


def stage_names(training: Training) -> tuple[str, ...]:
    """Return the stages of a pilot, in their order."""
    first = (MEANS, SPREADS) if numbers_of(training) or asks_target(training) else ()
    return (*first, SHARES) if categories_of(training) else first


def stage_schema(training: Training, name: str) -> Schema:
    """Return what people are asked in a stage."""
    attributes: list[Attribute]
    if name == SHARES:
        attributes = [Categorical(TARGET, [0, 1])] if not asks_target(training) else []
        for part in categories_of(training):
            attributes.append(Categorical(f"x{part.start}", list(range(indicators(part) + 1))))
        return Schema(attributes)
    names = [f"x{j}" for j in numbers_of(training)] + [TARGET] * asks_target(training)
    return Schema([Numeric(one, 0 if name == SPREADS else -1, 1) for one in names])


def stage_title(training: Training, name: str) -> str:
    """Return the title of the plan of a stage."""
    return f"{training.family}{training.branch}{name}"


def finite(point: float, error: float) -> tuple[float, float]:
    """Return a point and its standard error; 0 and 1 if nobody answered."""
    if math.isnan(point) or math.isnan(error):
        return 0.0, 1.0
    return point, min(error, 1.0)


def shrunk(point: float, error: float) -> float:
    """Return a point, moved towards 0 by the share of it that is probably noise."""
    ratio = error / point if point else 0.0
    return point * max(0.0, 1 - ratio * ratio)  # a product may overflow to infinity; a power would raise an error


def clipped(value: float, low: float, high: float) -> float:
    """Return the nearest number from low to high."""
    return min(max(value, low), high)


@dataclass(frozen=True)
class Stage:
    """One stage of a pilot, as it is sent to people.

    `training` is all that is known before the pilot. `known` has the estimates of the earlier stages, which came from
    private reports. `hush.begin` makes the first stage, and `hush.advance` the others and the first round.
    """

    training: Training
    name: str
    known: tuple[Known, ...]
    plan: Plan

    def __post_init__(self) -> None:
        training = self.training
        names = stage_names(training)
        if self.name not in names:
            raise DesignError("the pilot of this training has no stage of this name")
        earlier = names[: names.index(self.name)]
        if len(self.known) != len(earlier):
            raise DesignError("a stage has the estimates of all earlier ones")
        for stage, rows in zip(earlier, self.known, strict=True):
            if len(rows) != len(_rows(stage_schema(training, stage))):
                raise DesignError("a stage has an estimate for each question of the earlier ones")
            for row in rows:
                if type(row) is not tuple or len(row) != 2 or not all(is_number(value) for value in row):
                    raise DesignError("the estimates of a stage are pairs of finite numbers")
        right = self.plan.title == stage_title(training, self.name) and self.plan.cost == cost_of(training.epsilon)
        if not right or self.plan.after is not None or self.plan.schema != stage_schema(training, self.name):
            raise PlanError(
                "the plan of a stage has the questions, the title and the epsilon of its training, and follows no other"
            )

    @property
    def number(self) -> int:
        """The place of this stage before the first round, which has number 1: the last stage has number 0."""
        names = stage_names(self.training)
        return names.index(self.name) + 1 - len(names)

    @property
    def done(self) -> bool:
        """Whether the training is over. It is not, in a stage of its pilot."""
        return False

    @property
    def result(self) -> tuple[float, ...]:
        """The outcome so far: nothing has been learnt."""
        return (0.0,) * self.training.width

    @cached_property
    def middle(self) -> tuple[float, ...]:
        """The means of the numbers, as far as they are known: from them people report their distance."""
        rows = self.known[0] if self.known else ((0.0, 0.0),) * len(self.plan.schema)
        return middle_of(rows)

    # -- how it travels

    def to_json(self) -> str:
        """Return the stage as JSON text: all that a device needs."""
        return codec.dump(
            {
                "hush": VERSION,
                "training": descriptions.to_json(self.training),
                "stage": self.name,
                "known": self.known,
                "plan": json.loads(self.plan.to_json()),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Stage:
        """Read a stage back, strictly. The plan is checked again, including its privacy."""
        names = ("hush", "training", "stage", "known", "plan")
        version, training, name, known, plan = codec.fields(codec.load(text, PlanError), names, PlanError, "a stage")
        if type(version) is not int or version != VERSION:
            raise PlanError(f"this is not a stage of version {VERSION}")
        return cls(descriptions.from_json(training), name, known_from(known), Plan.from_json(codec.dump(plan)))


Phase = Stage | Round
"""What a collector sends to the people of a training: a stage of its pilot, or a round."""


def phase_from_json(text: str | bytes) -> Phase:
    """Read a stage or a round."""
    value = codec.load(text, PlanError)
    return Stage.from_json(text) if isinstance(value, dict) and "stage" in value else Round.from_json(text)


def middle_of(rows: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Return the means that people measure their distance from: estimates, shrunk by their noise."""
    return tuple(zeroed(clipped(shrunk(*finite(*row)), -1.0, 1.0)) for row in rows)


def known_from(value: Any) -> tuple[Known, ...]:
    """Read the estimates of stages; the constructor of a stage checks them further."""
    stages = codec.listed(value, PlanError, "the estimates of stages")
    found = []
    for rows in stages:
        pairs = [codec.listed(row, PlanError, "an estimate") for row in codec.listed(rows, PlanError, "a stage")]
        found.append(tuple(tuple(pair) for pair in pairs))
    return tuple(found)


def _rows(schema: Schema) -> list[str]:
    """Return a name for every row of the estimates of a plan: one for a number, one for each value of a category."""
    found: list[str] = []
    for attribute in schema.attributes:
        found += [attribute.name] * (len(attribute.labels) if isinstance(attribute, Categorical) else 1)
    return found
