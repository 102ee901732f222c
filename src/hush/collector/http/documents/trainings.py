"""Trainings, their rounds and their outcome."""

from __future__ import annotations

import msgspec

from hush.collector.stores.base import Live
from hush.core.training.stages import Stage


class TrainingEntry(msgspec.Struct):
    """The state of a training: the number of its round, and how many rounds there are.

    While its pilot runs, `stage` is the name of the pilot's stage, and both numbers are 0: the pilot decides them.
    """

    name: str
    number: int
    rounds: int
    done: bool
    wanted: int
    received: int
    stage: str | None


class Trainings(msgspec.Struct):
    """All trainings."""

    trainings: list[TrainingEntry]


class PastRound(msgspec.Struct):
    """A round that is over: its weights, and the loss of held-out people."""

    number: int
    weights: list[float]
    people: int
    loss: float | None
    loss_error: float | None


class PastStage(msgspec.Struct):
    """A stage of a pilot that is over: how many people answered, and the points of its estimates."""

    stage: str
    people: int
    points: list[float]


class TrainingHistory(msgspec.Struct):
    """The pilot and the rounds of a training, and its outcome so far.

    `result` are the weights of the centred and scaled features. `coefficients` and `intercept` are the same model for
    the `features` of a record as `hush.Features` computes them, from -1 to 1.
    """

    name: str
    done: bool
    result: list[float]
    rounds: list[PastRound]
    pilot: list[PastStage]
    features: list[str]
    coefficients: list[float]
    intercept: float


def training_entry(name: str, live: Live, received: int) -> TrainingEntry:
    """Return the state of a training as a document, with the number of people that readers see."""
    now = live.round
    if isinstance(now, Stage):
        return TrainingEntry(name, 0, 0, False, live.wanted, received, now.name)
    return TrainingEntry(name, now.number, now.training.rounds, now.done, live.wanted, received, None)
