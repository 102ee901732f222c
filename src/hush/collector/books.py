"""The bookkeeping of a commit that all stores share: vectors that grow, bodies that are kept, rounds that end.

A store hands in which ids are new; the books say what is to be written. Nothing here touches a database, and nothing is
changed in place, so that a commit that fails leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.collector.stores import Live, Past
from hush.collector.submissions import Batch, Form, Gradient, Single
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

    def count(self, submission: Single | Batch) -> None:
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


class IdBook:
    """The ids of a group that the store did not have before, and which of them are still to be taken.

    For stores that insert all ids of a group at once: submissions then take theirs one after the other, as if each had
    been inserted alone, and what is left (of batches that were refused) must be removed again.
    """

    def __init__(self, fresh: Mapping[int, set[bytes]]) -> None:
        self._free = {number: set(ids) for number, ids in fresh.items()}

    def take(self, number: int, id_: bytes) -> bool:
        """Take an id; return whether it was there to be taken."""
        free = self._free.get(number, set())
        if id_ not in free:
            return False
        free.remove(id_)
        return True

    def take_all(self, number: int, batch: Batch) -> bool:
        """Take the ids of all reports within a batch whose id was taken, or give that back and return False."""
        free, ids = self._free[number], set(batch.ids)
        if len(ids) != len(batch.ids) or not ids <= free:
            self.give_back(number, batch.id)
            return False
        free -= ids
        return True

    def give_back(self, number: int, id_: bytes) -> None:
        """Let go of an id that was taken."""
        self._free[number].add(id_)

    def left(self) -> list[tuple[int, bytes]]:
        """Return the ids that nobody took."""
        return [(number, id_) for number, ids in self._free.items() for id_ in sorted(ids)]


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

    @classmethod
    def decoded(cls, round_: Round, wanted: int, gradients: bytes, losses: bytes) -> RoundBook:
        """Return the book of a round from its stored counts."""
        return cls(
            round_, wanted, layout_of(round_.plan).decode(gradients), layout_of(loss_plan(round_)).decode(losses)
        )

    def encoded(self) -> tuple[bytes, bytes]:
        """Return the counts as they are stored."""
        gradients = layout_of(self.round.plan).encode(self.gradients)
        return gradients, layout_of(loss_plan(self.round)).encode(self.losses)

    def live(self) -> Live:
        """Return how the training stands."""
        return Live(self.round, self.wanted, int(self.gradients[0]))

    def takes(self, submission: Gradient) -> bool:
        """Return whether a gradient or loss is for this round, and not late."""
        return submission.report is not None and submission.number == self.round.number and not self.round.done

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
