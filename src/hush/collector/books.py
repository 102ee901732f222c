"""The bookkeeping of a commit that all stores share: vectors that grow, bodies that are kept, rounds that end.

A store hands in which ids are new; the books say what is to be written. Nothing here touches a database, and nothing is
changed in place, so that a commit that fails leaves no trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.collector.stores import Live, Past
from hush.collector.submissions import Form, Single
from hush.collector.vectors import layout_of
from hush.estimates import estimate
from hush.learn.rounds import Round, step
from hush.plan import Plan
from hush.report import Report

Array = np.ndarray[Any, Any]


class PlanBook:
    """What one commit adds to one plan: counts, single reports as one body, and batches."""

    def __init__(self, plan: Plan) -> None:
        self._layout = layout_of(plan)
        self.added = self._layout.zero()
        self._singles: list[bytes] = []
        self._batches: list[tuple[int, Form, bytes]] = []

    def count(self, submission: Any) -> None:
        """Count a submission that is new."""
        if isinstance(submission, Single):
            self._layout.add(self.added, submission.report)
            self._singles.append(submission.report.encode())
        else:
            self.added += submission.vector
            self._batches.append((int(submission.vector[0]), submission.form, submission.body))

    def bodies(self) -> list[tuple[int, Form, bytes]]:
        """Return what is to be kept, if reports are kept: number of reports, form and bytes."""
        found = list(self._batches)
        if self._singles:
            found.append((len(self._singles), Form.REPORTS, b"".join(self._singles)))
        return found


@dataclass(frozen=True)
class RoundBook:
    """The current round of a training: counts of gradients and of held-out losses. It is replaced, never changed."""

    round: Round
    wanted: int
    gradients: Array
    losses: Array

    @classmethod
    def begun(cls, round_: Round, wanted: int) -> RoundBook:
        """Return the book of a round that has just begun."""
        return cls(round_, wanted, layout_of(round_.plan).zero(), layout_of(loss_plan(round_)).zero())

    def live(self) -> Live:
        """Return how the training stands."""
        return Live(self.round, self.wanted, int(self.gradients[0]))

    def counted(self, report: Report, loss: bool) -> RoundBook:
        """Return the book with one more report."""
        gradients, losses = self.gradients.copy(), self.losses.copy()
        layout_of(report.plan).add(losses if loss else gradients, report)
        return RoundBook(self.round, self.wanted, gradients, losses)

    @property
    def full(self) -> bool:
        """Whether as many people as wanted have taken part."""
        return not self.round.done and int(self.gradients[0]) >= self.wanted

    def ended(self) -> tuple[Past, RoundBook]:
        """Return what is left of a full round, and the book of the next."""
        tally = layout_of(self.round.plan).tally(self.gradients)
        loss, error = None, None
        if self.losses[0]:
            row = estimate(layout_of(loss_plan(self.round)).tally(self.losses))[0]
            loss, error = row.point, row.stderr
        past = Past(self.round.number, self.round.weights, tally.n, loss, error)
        return past, RoundBook.begun(step(self.round, tally), self.wanted)


def loss_plan(round_: Round) -> Plan:
    """Return the plan under which held-out people report how well a round's weights do."""
    return round_.training.loss_plan(round_.number)
