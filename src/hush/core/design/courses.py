"""Designs the course of a training: its pilot, its channel, and who takes part in what."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

from hush.core import codec
from hush.core.design.directions import people_needed
from hush.core.design.plans import design
from hush.core.design.rounds import round_plan
from hush.core.plan import Plan
from hush.core.schema import Categorical, Schema
from hush.core.training.courses import MAX_PEOPLE, Course, Wishes, pilot_people
from hush.core.training.labels import Label
from hush.core.training.losses import LOSSES
from hush.core.training.stages import SHARES, TARGET, stage_names, stage_schema, stage_title
from hush.core.training.training import Training, is_number
from hush.errors import DesignError

BETWEEN = 1  # rounds and step of a training whose pilot has not decided about them


def stage_plan(training: Training, name: str) -> Plan:
    """Return the plan of a stage of a training's pilot.

    A target that is a number decides about the radius, and so about the noise of everything: half of the people who are
    asked about numbers are asked about it. (The chance of a question is in proportion to the root of its importance.)
    """
    schema = stage_schema(training, name)
    alike = name == SHARES or training.loss_function.classes
    weight = 1.0 if alike else float(max(len(schema) - 1, 1) ** 2)
    return _stage_plan(schema, training.epsilon, stage_title(training, name), weight)


@lru_cache(maxsize=256)
def _stage_plan(schema: Schema, epsilon: float, title: str, weight: float) -> Plan:
    if weight == 1.0:
        return design(schema, epsilon, title=title)
    return design(schema, epsilon, title=title, k="weighted", importance={TARGET: weight})


def course_of(draft: Training, people: int, *, pilot: float | None = None, wishes: Wishes = Wishes()) -> Course:  # noqa: B008 - it is frozen
    """Return the course of a training that is described as far as it is known before its pilot."""
    count = pilot_people(people, draft.gradient, pilot)
    plans = tuple(stage_plan(draft, name) for name in stage_names(draft)) if count else ()
    return Course(draft, people, count, plans, round_plan(draft, 1, draft.width), wishes)


def designed(
    schema: Schema,
    label: Label,
    loss: str | None,
    epsilon: float,
    people: int,
    title: str,
    pilot: float | None,
    wishes: dict[str, Any],
    settings: dict[str, Any],
) -> Course:
    """Return the course that `Training.design` describes, and warn if there are too few people for it."""
    codec.integer(people, 1, MAX_PEOPLE, DesignError, "the number of people")
    if pilot is not None and (not is_number(pilot) or not 0 <= pilot < 1):
        raise DesignError("pilot must be a number from 0 to below 1, or None")
    if loss is None:
        loss = "logistic" if isinstance(label, Categorical) else "squared"
    many = isinstance(label, Categorical) and len(label.values) > 2 and loss in LOSSES and LOSSES[loss].classes
    classes = len(label.values) if many and isinstance(label, Categorical) else 1
    if people < classes:
        raise DesignError(f"each of the {classes} classes has a training of its own, and needs people of its own")
    usual = {"cap": 1.0} if loss == "squared" else {}
    draft = Training(
        title,
        loss,
        schema,
        label,
        epsilon,
        BETWEEN,
        float(BETWEEN),
        against=0 if many else None,
        **(usual | settings),
    )
    course = course_of(draft, people // classes, pilot=pilot, wishes=Wishes(**wishes))
    warn_of_few(course)
    return course


def few(course: Course) -> str:
    """Return a sentence that says how many people a course needs, if it has fewer; else nothing."""
    training = course.training
    needed = people_needed(training.epsilon, training.width) * course.classes
    people = course.people * course.classes
    if people >= needed:
        return ""
    return (
        f"{people} people are few for {training.width} weights at epsilon {training.epsilon:g}"
        f"{f' and {course.classes} classes' if course.classes > 1 else ''}: in about {needed} people, a gradient is as "
        "long as its noise (1500 C d). Ask more people, or use fewer features"
    )


def warn_of_few(course: Course) -> None:
    """Warn of a course with too few people."""
    if said := few(course):
        warnings.warn(said, stacklevel=4)
