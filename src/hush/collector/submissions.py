"""Submissions that a collector has checked, and their outcomes.

Every submission has an id of 16 bytes, chosen by its sender, and is counted once under that id: a single report
has its report id, a batch the id that its gateway gave it. Sending it again, to any process, changes nothing; the
answer says whether it was new. The tally of a store has the store's name, and takes the place of its earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from hush.core.plan import Plan
from hush.core.report import Report

Array = np.ndarray[Any, Any]


class Outcome(Enum):
    """The outcome of a submission, once it is durable."""

    NEW = "new"
    REPEATED = "repeated"  # counted before, under the same id
    OVERLAPPING = "overlapping"  # a batch that holds a report that was counted before: not counted
    LATE = "late"  # for a round of a training that is over: not counted
    CLOSED = "closed"  # the plan takes no more reports
    UNKNOWN = "unknown"  # the store does not have this plan or training
    PREVIEW = "preview"  # the collector shows forms, and counts nothing
    OLDER = "older"  # a tally of a store that has handed on a later one
    FALLEN = "fallen"  # a tally of a store that has lost reports since the last one
    WITHDRAWN = "withdrawn"  # a tally under a name whose reports were taken out
    RENAMED = "renamed"  # a tally of a store that counts under another name, or a copy of it does


class Grown(NamedTuple):
    """The outcome of a tally that took the place of an earlier one of the same store: so many reports were added.

    Fewer than none were if its reports were taken out.
    """

    reports: int


class Renamed(NamedTuple):
    """The outcome of a tally of a store whose reports count under another name, or some of them."""

    name: bytes


Result = Outcome | Grown | Renamed


class Form(Enum):
    """How a stored body is to be read."""

    REPORTS = 0  # binary reports, one after the other
    ARROW = 1  # an Arrow IPC stream
    TALLY = 2  # a binary tally
    COLUMNS = 3  # packed columns


@dataclass(frozen=True, slots=True)
class Single:
    """One report."""

    plan: Plan
    report: Report

    @property
    def id(self) -> bytes:
        """The id of the report."""
        return self.report.id

    @property
    def reports(self) -> int:
        """How many reports it is."""
        return 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Many reports, or a tally, as one vector of counts. `ids`: of the reports within, if they are to be checked
    too.
    """

    plan: Plan
    id: bytes
    vector: Array
    form: Form
    body: bytes
    ids: Sequence[bytes] = ()

    @property
    def reports(self) -> int:
        """How many reports it has."""
        return int(self.vector[0])


@dataclass(frozen=True, slots=True)
class Handed:
    """The whole tally of another store, as one vector of counts: it takes the place of that store's earlier one.

    `names`: those of the store, the newest first.
    """

    plan: Plan
    names: tuple[bytes, ...]
    vector: Array

    @property
    def id(self) -> bytes:
        """The name of the store."""
        return self.names[0]

    @property
    def reports(self) -> int:
        """How many reports the tally has."""
        return int(self.vector[0])


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The end of a name: the reports that were handed on under it are taken out, and it is taken no more."""

    plan: Plan
    id: bytes

    @property
    def reports(self) -> int:
        """How many reports it brings."""
        return 0


@dataclass(frozen=True, slots=True)
class Opened:
    """The reports of a sealed batch that did open, each id once; `vector` counts them all.

    Every report counts for itself: one whose id was counted before is left out, and spoils nothing for the others.
    `own`: how many of them are the relay's own. `refused`: how many did not open.
    """

    plan: Plan
    id: bytes
    vector: Array
    found: Sequence[Report]
    own: int = 0
    refused: int = 0

    @property
    def reports(self) -> int:
        """How many reports it has."""
        return len(self.found)


@dataclass(frozen=True, slots=True)
class Gradient:
    """Reports for a stage or round of a training, as counts: one, or a batch; gradients, or (`loss`) losses.

    `vector` is None if the round is over: its plan is gone, and only the id can be looked up. `ids`: of the reports
    within a batch, if they are to be checked too.
    """

    training: str
    number: int
    id: bytes
    vector: Array | None
    loss: bool = False
    ids: Sequence[bytes] = ()

    @property
    def reports(self) -> int:
        """How many reports it is."""
        return 1 if self.vector is None else int(self.vector[0])


Submission = Single | Batch | Handed | Withdrawal | Opened | Gradient
