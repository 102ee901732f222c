"""The course of a training, from its pilot to its result: everything that is public before the first person answers.

A `Course` has the description of a training as far as it is known beforehand, how many people take part, the plans of
the pilot's stages and of the rounds, and the wishes of the operator (most often none). What the pilot decides (centres,
scales, clipping, the start, rounds and steps) follows from its estimates by the rules of `hush.server.rules`, and from
nothing else. So anybody who sees the estimates can compute the rest.

**Who takes part.** The first people answer the stages of the pilot, the others the rounds, in order of arrival. A label
with more than two classes has one training for each class, with its own pilot; each person takes part in one of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from hush.core import codec
from hush.core.plan import Plan
from hush.core.schema import Categorical
from hush.core.training import descriptions
from hush.core.training.rounds import VERSION
from hush.core.training.stages import SHARES, Phase, Stage, categories_of, stage_names
from hush.core.training.training import MAX_ROUNDS, VECTOR, Training, is_number
from hush.errors import DesignError, PlanError

PILOT = 0.1  # the share of people who are asked first
LARGE, LARGE_PILOT = 500_000, 0.05  # of more people, a smaller share
LEAST_PILOT = 500  # people; the answers of fewer would be mostly noise
NUMBERS = 0.5  # the share of them who are asked about numbers, if there are categories too
MAX_PEOPLE = 10**12
THEOREM = "theorem"


@dataclass(frozen=True)
class Wishes:
    """Settings that the rules would choose, if the operator insists on others; None leaves them to the rules."""

    rounds: int | None = None
    step: float | str | None = None
    radius: float | None = None
    tail: float | None = None

    def __post_init__(self) -> None:
        if self.rounds is not None:
            codec.integer(self.rounds, 1, MAX_ROUNDS, DesignError, "the number of rounds")
        for name in ("step", "radius"):
            value = getattr(self, name)
            known = value is None or (name == "step" and value == THEOREM)
            if not known and (not is_number(value) or value <= 0):
                raise DesignError(f"{name} must be a finite number above 0")
        if self.tail is not None and (not is_number(self.tail) or not 0 <= self.tail <= 1):
            raise DesignError("tail must be a number from 0 to 1")


def pilot_people(people: int, gradient: str = VECTOR, share: float | None = None) -> int:
    """Return how many people are asked first. None are, where their answers would be mostly noise."""
    if share is None:
        share = (PILOT if people <= LARGE else LARGE_PILOT) if gradient == VECTOR else 0.0
    count = int(share * people)
    return count if count >= LEAST_PILOT else 0


def stage_people(training: Training, pilot: int) -> tuple[int, ...]:
    """Return how many of the people of a pilot are asked in each of its stages."""
    names = stage_names(training)
    if names == (SHARES,):
        return (pilot,)
    few = int(pilot * (NUMBERS if categories_of(training) else 1.0) / 2)
    return (few, few, pilot - 2 * few) if SHARES in names else (few, pilot - few)


def groups(people: int, training: Training) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each round's group, in proportion to the number of groups that the round needs."""
    units = [training.units(number) for number in range(1, training.rounds + 1)]
    total, done = sum(units), 0
    for unit in units:
        yield people * done // total, people * (done + unit) // total
        done += unit


@dataclass(frozen=True)
class Course:
    """A training from its pilot to its result, as it is published before anybody answers.

    Make it with `Training.design`. `training` is what is known beforehand; its rounds, step and radius, centre, scale
    and start stand for nothing until the pilot is over. `people` take part, `pilot` of them in the pilot. `plans` are
    those of its stages, and `channel` is that of the first round. `wishes` are settings that were chosen by hand.
    For a label with more than two classes, `branches` has a course for each.
    """

    training: Training
    people: int
    pilot: int
    plans: tuple[Plan, ...]
    channel: Plan
    wishes: Wishes = Wishes()

    def __post_init__(self) -> None:
        codec.integer(self.people, 1, MAX_PEOPLE, DesignError, "the number of people")
        codec.integer(self.pilot, 0, self.people - 1, DesignError, "the number of people in the pilot")
        training = self.training
        if any(value is not None for value in (training.centre, training.scale, training.start)):
            raise DesignError("the pilot of a course chooses centre, scale and start: leave them out")
        if not isinstance(self.wishes, Wishes):
            raise DesignError("the wishes of a course must be hush.core.training.courses.Wishes")
        names = stage_names(training) if self.pilot else ()
        if len(self.plans) != len(names):
            raise DesignError("a course has a plan for each stage of its pilot")
        self._first_known()
        if not training.fits(self.channel, 1, training.width):
            raise PlanError("the channel of a course is the plan of its first round")

    def _first_known(self) -> None:
        """Check the plans of all stages: as those of stages whose earlier estimates are still to come."""
        empty: tuple[Any, ...] = ()
        for name, plan in zip(stage_names(self.training), self.plans, strict=False):
            Stage(self.training, name, empty, plan)
            rows = sum(len(one.labels) if isinstance(one, Categorical) else 1 for one in plan.schema.attributes)
            empty = (*empty, ((0.0, 1.0),) * rows)

    @property
    def name(self) -> str:
        """Its name in a collector."""
        return self.training.name

    @property
    def trained(self) -> int:
        """How many people take part in the rounds."""
        return self.people - self.pilot

    def wanted(self, phase: Phase) -> int:
        """Return how many people take part in a stage or round; at least one."""
        if isinstance(phase, Stage):
            names = stage_names(self.training)
            return max(stage_people(self.training, self.pilot)[names.index(phase.name)], 1)
        for number, (start, end) in enumerate(groups(self.trained, phase.training), 1):
            if number == phase.number:
                return max(end - start, 1)
        return 1  # it is over

    def leads_to(self, training: Training) -> bool:
        """Return whether a training is this one, with settings that only its pilot decides.

        A device that holds the course from its app accepts the rounds of such trainings, and no others. None of those
        settings decides whether a person answers.
        """
        own = self.training
        decided = {
            name: getattr(own, name)
            for name in ("rounds", "step", "radius", "centre", "scale", "start", "decay", "box", "tail", "rising")
        }
        return replace(training, **decided) == own

    def branches(self) -> list[Course]:
        """Return a course for each class of a label with more than two, or this one alone."""
        return [self] if self.training.against is None else [self._branch(i) for i in range(self.classes)]

    @property
    def classes(self) -> int:
        """How many classes have a training of their own; 1 if one training tells two apart, or predicts a number."""
        label = self.training.label
        return 1 if self.training.against is None or not isinstance(label, Categorical) else len(label.values)

    def _branch(self, index: int) -> Course:
        training = replace(self.training, against=index)
        plans = tuple(replace(plan, title=_moved(self.training, training, plan.title)) for plan in self.plans)
        channel = replace(self.channel, title=training.round_title(1))
        return replace(self, training=training, plans=plans, channel=channel)

    # -- how it travels

    def to_json(self) -> str:
        """Return the course as JSON text."""
        return codec.dump(
            {
                "hush": VERSION,
                "training": descriptions.to_json(self.training),
                "people": self.people,
                "pilot": self.pilot,
                "plans": [json.loads(plan.to_json()) for plan in self.plans],
                "channel": json.loads(self.channel.to_json()),
                "wishes": {field.name: getattr(self.wishes, field.name) for field in fields(Wishes)},
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Course:
        """Read a course back, strictly. Its plans are checked again, including their privacy."""
        names = ("hush", "training", "people", "pilot", "plans", "channel", "wishes")
        version, training, people, pilot, plans, channel, wishes = codec.fields(
            codec.load(text, PlanError), names, PlanError, "a course"
        )
        if type(version) is not int or version != VERSION:
            raise PlanError(f"this is not a course of version {VERSION}")
        listed = codec.listed(plans, PlanError, "the plans of a course")
        known = tuple(field.name for field in fields(Wishes))
        return cls(
            descriptions.from_json(training),
            people,
            pilot,
            tuple(Plan.from_json(codec.dump(plan)) for plan in listed),
            Plan.from_json(codec.dump(channel)),
            Wishes(*codec.fields(wishes, known, PlanError, "the wishes of a course")),
        )


def _moved(old: Training, new: Training, title: str) -> str:
    """Return the title of a plan of one class as that of another."""
    return f"{new.family}{new.branch}{title.removeprefix(f'{old.family}{old.branch}')}"


def is_course(text: str | bytes) -> bool:
    """Return whether a JSON text claims to be a course, and not a round."""
    value = codec.load(text, PlanError)
    return isinstance(value, dict) and "wishes" in value
