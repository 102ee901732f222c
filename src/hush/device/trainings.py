"""Trainings: which stage or round a device answers, and its answer."""

from __future__ import annotations

from collections.abc import Callable
from secrets import randbelow
from urllib.parse import quote

from hush.core.report import Report
from hush.core.schema import Record
from hush.core.training.checks import Asked, Check
from hush.core.training.courses import Course
from hush.core.training.stages import Phase, Stage, phase_from_json
from hush.core.training.training import Training
from hush.device.gradient import gradient, held_out
from hush.device.network import Server
from hush.device.pilot import pilot
from hush.device.remembering import Book
from hush.errors import BudgetError, CollectorError


def fetch_phase(server: Server, name: str) -> Phase:
    """Return the current round of a training, or the current stage of its pilot, checked."""
    return phase_from_json(server.get(f"/trainings/{quote(name, safe='')}/round"))


def fetch_check(server: Server, name: str) -> Check:
    """Return what held-out people of a training are asked now, checked."""
    return Check.from_json(server.get(f"/trainings/{quote(name, safe='')}/check"))


def choose_phase(fetch: Callable[[str], Asked], training: str | Training | Course, book: Book | None) -> Asked:
    """Return the stage, round or check that this device answers: of a course with several classes, one that is drawn.

    A device that has answered one of them gets that one again, as long as it is open, to send the same report.
    """
    if not isinstance(training, Course):
        name = training if isinstance(training, str) else training.name
        found = fetch(name)
        if training not in (found.training, found.training.name):
            raise CollectorError("the collector sent a round of another training")
        return found
    phases = []
    for own in training.branches():
        found = fetch(own.name)
        if not own.leads_to(found.training):
            raise CollectorError("the collector sent a round of another training")
        if book is not None and book.answered(found.plan) is not None:
            return found
        phases.append(found)
    going = [found for found in phases if not found.done] or phases
    return going[randbelow(len(going))]


def check_cost(phase: Asked, most: float | None) -> None:
    """Refuse a stage or round that costs more than was allowed."""
    if most is not None and phase.training.epsilon > most:
        raise BudgetError("a round of this training costs more epsilon than was allowed")


def answer_phase(phase: Asked, record: Record, label: object, book: Book | None) -> Report:
    """Answer a stage of a pilot, a round with a gradient, or a check with the loss of its model."""
    if isinstance(phase, Stage):
        return pilot(phase, record, label, book)
    return held_out(phase, record, label, book) if isinstance(phase, Check) else gradient(phase, record, label, book)


def place(phase: Asked, *, losses: bool = False) -> str:
    """Return where a collector takes the answers to a stage, round or check; or the losses of people of a round."""
    path = f"/trainings/{quote(phase.training.name, safe='')}"
    if isinstance(phase, Stage):
        return f"{path}/pilot?stage={phase.name}"
    return f"{path}/{'losses' if losses or isinstance(phase, Check) else 'gradients'}?round={phase.number}"
