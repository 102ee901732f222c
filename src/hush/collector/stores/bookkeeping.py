"""The bookkeeping of a commit that all stores share: the outcome of each submission of a group, and its changes.

A store passes the ids that are new; the books return the changes to write. Nothing here touches a database or changes
the store's values in place, so a failed commit leaves no trace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hush.collector.stores.base import HeldPlan, Live, Past
from hush.collector.submissions import (
    Batch,
    Form,
    Gradient,
    Grown,
    Handed,
    Opened,
    Outcome,
    Renamed,
    Result,
    Single,
    Submission,
    Withdrawal,
)
from hush.collector.vectors import layout_of, minus, plus
from hush.core.design import rounds
from hush.core.design.directions import noise_of
from hush.core.plan import Plan
from hush.core.report import ID_SIZE, Report
from hush.core.training.courses import Course
from hush.core.training.rounds import Round
from hush.core.training.stages import Phase, Stage
from hush.server.course import advance
from hush.server.estimates import estimate, points
from hush.server.pilot import estimates
from hush.server.step import step
from hush.server.tally import Tally

Array = np.ndarray[Any, Any]

NO_LOSSES = np.zeros(0, dtype=np.int64)
TRAINING = 1 << 40  # ids belong to plans, by their numbers, and to trainings, by theirs plus this


class Kept(NamedTuple):
    """A body to keep: how many reports it holds, how to read it, and how many of them are a relay's own."""

    reports: int
    form: Form
    body: bytes
    own: int = 0


class PlanBook:
    """The additions of one commit to one plan: counts, single reports as one body, and batches."""

    def __init__(self, held: HeldPlan) -> None:
        self.layout = layout_of(held.plan)
        self.added = self.layout.zero()
        self.refused = 0  # sealed reports that did not open
        self._keeps = held.keep == "reports"
        self._singles: list[bytes] = []
        self._batches: list[Kept] = []

    def count(self, submission: Single | Batch) -> None:
        """Count a submission that is new."""
        if isinstance(submission, Single):
            self.layout.add(self.added, submission.report)
            self._singles.append(submission.report.encode())
        else:
            self.added = plus(self.added, submission.vector)  # the tally of another collector may count own reports
            own = self.layout.own(submission.vector)
            self._batches.append(Kept(int(submission.vector[0]), submission.form, submission.body, own))

    def add(self, counts: Array) -> None:
        """Add counts that have no body; or take some out."""
        self.added = plus(self.added, counts)

    def count_opened(self, opened: Opened, old: Sequence[Report]) -> None:
        """Count a sealed batch, without the reports that were counted before."""
        self.refused += opened.refused
        vector = opened.vector.copy()
        for report in old:
            self.layout.subtract(vector, report)
        left_out = {report.id for report in old}
        kept = [report.encode() for report in opened.found if report.id not in left_out]
        own = min(opened.own, len(kept))
        self.added = plus(self.added, self.layout.with_own(vector, own))
        if kept:
            self._batches.append(Kept(len(kept), Form.REPORTS, b"".join(kept), own))

    def bodies(self) -> list[Kept]:
        """Return the bodies to keep. None, if only tallies are kept."""
        if not self._keeps:
            return []
        found = list(self._batches)
        if self._singles:
            found.append(Kept(len(self._singles), Form.REPORTS, b"".join(self._singles)))
        return found


class IdBook:
    """The ids of a group that are new to the store, and which of them nobody has taken yet.

    Submissions take theirs one after the other, as if each had come alone. Ids that are left belong to refused batches,
    and were not counted: a store that has inserted all ids at once must remove them again.
    """

    def __init__(self, fresh: Mapping[int, set[bytes]]) -> None:
        self._fresh = fresh
        self._free = {number: set(ids) for number, ids in fresh.items()}

    def take(self, number: int, id_: bytes) -> bool:
        """Take an id; return whether it was free."""
        free = self._free.get(number, set())
        if id_ not in free:
            return False
        free.remove(id_)
        return True

    def take_all(self, number: int, batch: Batch | Gradient) -> bool:
        """Take the ids of all reports within a batch; if one is not free, give the batch's id back and return False."""
        free, ids = self._free[number], set(batch.ids)
        if len(ids) != len(batch.ids) or not ids <= free:
            self.give_back(number, batch.id)
            return False
        free -= ids
        return True

    def take_some(self, number: int, reports: Sequence[Report]) -> list[Report]:
        """Take the ids of these reports; return the reports whose id was not free."""
        return [report for report in reports if not self.take(number, report.id)]

    def give_back(self, number: int, id_: bytes) -> None:
        """Let go of an id that was taken."""
        self._free[number].add(id_)

    def taken(self) -> list[tuple[int, set[bytes]]]:
        """Return the ids that were counted, by owner. Owners without any are left out."""
        found = ((number, ids - self._free[number]) for number, ids in self._fresh.items())
        return [(number, ids) for number, ids in found if ids]

    def left(self) -> list[tuple[int, bytes]]:
        """Return the ids that nobody took."""
        return [(number, id_) for number, ids in self._free.items() for id_ in sorted(ids)]


@dataclass(frozen=True)
class RoundBook:
    """The current stage or round of a training: counts of answers and of held-out losses.

    It is replaced, never changed. `people` is the size of a round; with a course it is that of the whole training, and
    the course divides it. Nobody reports a loss in a stage of a pilot.
    """

    round: Phase
    people: int
    gradients: Array
    losses: Array
    course: Course | None = None

    @classmethod
    def begun(cls, round_: Phase, people: int, course: Course | None = None) -> RoundBook:
        """Return the book of a stage or round that has just begun."""
        losses = layout_of(loss_plan(round_)).zero() if isinstance(round_, Round) else NO_LOSSES
        return cls(round_, people, layout_of(round_.plan).zero(), losses, course)

    @classmethod
    def decoded(
        cls, round_: Phase, people: int, gradients: bytes, losses: bytes, course: Course | None = None
    ) -> RoundBook:
        """Return the book of a stage or round from its stored counts."""
        found = layout_of(loss_plan(round_)).decode(losses) if isinstance(round_, Round) else NO_LOSSES
        return cls(round_, people, layout_of(round_.plan).decode(gradients), found, course)

    def encoded(self) -> tuple[bytes, bytes]:
        """Return the counts as they are stored."""
        gradients = layout_of(self.round.plan).encode(self.gradients)
        return gradients, self.losses.astype("<i8").tobytes()

    @property
    def wanted(self) -> int:
        """How many people take part in this stage or round."""
        return self.people if self.course is None else self.course.wanted(self.round)

    def live(self) -> Live:
        """Return the state of the training."""
        return Live(self.round, self.wanted, int(self.gradients[0]), self.course)

    def takes(self, submission: Gradient) -> bool:
        """Return whether a gradient or loss is for this round, and not late."""
        return submission.vector is not None and submission.number == self.round.number and not self.round.done

    def counted(self, vector: Array, loss: bool) -> RoundBook:
        """Return the book with more reports."""
        if loss:
            return replace(self, losses=plus(self.losses, vector))
        return replace(self, gradients=plus(self.gradients, vector))

    @property
    def full(self) -> bool:
        """Whether as many people as wanted have taken part."""
        return not self.round.done and int(self.gradients[0]) >= self.wanted

    def ended(self) -> tuple[Past, RoundBook]:
        """Return the record of a full stage or round, and the book of the next."""
        now, tally = self.round, layout_of(self.round.plan).tally(self.gradients)
        if isinstance(now, Stage):
            assert self.course is not None, "stages are those of a course"
            found = advance(self.course, now, tally)
            shown = tuple(point for point, _ in estimates(tally))
            return Past(now.number, shown, tally.reports, None, None), RoundBook.begun(found, self.people, self.course)
        loss, error = None, None
        if self.losses[0]:
            row = estimate(layout_of(loss_plan(now)).tally(self.losses), refuse=False)[0]
            loss, error = row.point, row.stderr
        past = Past(now.number, now.weights, tally.reports, loss, error)
        return past, RoundBook.begun(step(now, tally), self.people, self.course)


def prepare(round_: Phase, course: Course | None = None) -> None:
    """Compute the needs of a round's end in advance, as a commit has no time for it. Channels keep the results."""
    for plan in (round_.plan, *(course.plans if course is not None else ())):
        estimate(Tally(plan))
    if course is not None:
        noise_of(course.training.epsilon, course.training.width)
        points(Tally(course.channel))
    points(Tally(round_.plan))
    estimate(Tally(rounds.loss_plan(round_.training, max(round_.number, 1))))


def loss_plan(round_: Round) -> Plan:
    """Return the plan under which held-out people report how well a round's weights do."""
    return rounds.loss_plan(round_.training, round_.number)


def ids_of(
    submissions: Sequence[Submission], plans: Mapping[str, tuple[Any, ...]], trainings: Mapping[str, tuple[Any, ...]]
) -> dict[int, set[bytes]]:
    """Return all ids of a group, by owner. The store's plans and trainings are tuples that begin with a number."""
    found: dict[int, set[bytes]] = defaultdict(set)
    for submission in submissions:
        if isinstance(submission, Gradient):
            if submission.training in trainings:
                ids = found[TRAINING + trainings[submission.training][0]]
                ids.add(submission.id)
                ids.update(submission.ids)
        elif submission.plan.id in plans and not isinstance(submission, Handed | Withdrawal):
            ids = found[plans[submission.plan.id][0]]
            ids.add(submission.id)
            if isinstance(submission, Batch):
                ids.update(submission.ids)
            elif isinstance(submission, Opened):
                ids.update(report.id for report in submission.found)
    if any(len(id_) != ID_SIZE for ids in found.values() for id_ in ids):
        raise ValueError(f"an id has {ID_SIZE} bytes")
    return found


Place = tuple[int, bytes]  # the number of a plan, and the name of a store


class Named(NamedTuple):
    """What was handed on under the name of another store: its counts, or None if they count no more.

    `later`: the name that the store, or a copy of it, had when it came in place of this one.
    """

    vector: Array | None
    later: bytes | None = None


def names_of(submissions: Sequence[Submission], plans: Mapping[str, tuple[Any, ...]]) -> list[Place]:
    """Return the names of other stores that a group is about, with the numbers of their plans, in order."""
    found: set[Place] = set()
    for submission in submissions:
        if isinstance(submission, Handed | Withdrawal) and submission.plan.id in plans:
            names = submission.names if isinstance(submission, Handed) else (submission.id,)
            found.update((plans[submission.plan.id][0], name) for name in names)
    return sorted(found)


def rivals_of(handed: Mapping[Place, Named]) -> list[Place]:
    """Return the names that came in place of these, as far as they are not among them."""
    found = {(number, named.later) for (number, _), named in handed.items() if named.later is not None}
    return sorted(found - handed.keys())


class Group:
    """The changes of one group of submissions, taken one after the other.

    Given: the store's `plans` and `trainings`, by id and by name, each with its number; and the new `ids` of the group.
    Afterwards `plans` has the additions to each plan, by number, `rounds` the books of changed rounds, by the name of
    the training, and `past` the rounds that have ended. `handed`: what other stores have handed on, by the number of
    the plan and the name of the store, with those that came in place of these; `changed` has what is new.
    """

    def __init__(
        self,
        plans: Mapping[str, tuple[int, HeldPlan]],
        trainings: Mapping[str, tuple[int, RoundBook]],
        ids: IdBook,
        handed: Mapping[Place, Named] | None = None,
    ) -> None:
        self._held, self._trainings, self.ids = plans, trainings, ids
        self.plans: dict[int, PlanBook] = {}
        self.rounds: dict[str, tuple[int, RoundBook]] = {}
        self.past: list[tuple[int, Past]] = []
        self.handed: Mapping[Place, Named] = handed or {}
        self.changed: dict[Place, Named] = {}

    def take(self, submission: Submission) -> Result:
        """Count a submission if it is new; return its outcome."""
        if isinstance(submission, Gradient):
            return self._take_gradient(submission)
        if submission.plan.id not in self._held:
            return Outcome.UNKNOWN
        number, held = self._held[submission.plan.id]
        if not held.open:
            return Outcome.CLOSED
        if isinstance(submission, Handed):
            return self._take_handed(number, held, submission)
        if isinstance(submission, Withdrawal):
            return self._withdraw(number, held, submission)
        if not self.ids.take(number, submission.id):
            return Outcome.REPEATED
        if isinstance(submission, Batch) and submission.ids and not self.ids.take_all(number, submission):
            return Outcome.OVERLAPPING
        book = self._book(number, held)
        if isinstance(submission, Opened):
            book.count_opened(submission, self.ids.take_some(number, submission.found))
        else:
            book.count(submission)
        return Outcome.NEW

    def _book(self, number: int, held: HeldPlan) -> PlanBook:
        if number not in self.plans:
            self.plans[number] = PlanBook(held)
        return self.plans[number]

    def _named(self, place: Place) -> Named | None:
        return self.changed.get(place) or self.handed.get(place)

    def _counted(self, place: Place) -> Array | None:
        """Return what counts under a name now, or None."""
        named = self._named(place)
        return None if named is None else named.vector

    def _is_withdrawn(self, place: Place) -> bool:
        named = self._named(place)
        return named is not None and named.vector is None

    def _rival(self, number: int, tally: Handed) -> bytes | None:
        """Return another name under which reports of a store count.

        It is an earlier one of the store; or one that a copy of the store took, which has an earlier one in common.
        """
        for name in tally.names:
            named = self._named((number, name))
            for other in (name, None if named is None else named.later):
                if other not in (None, tally.id) and self._counted((number, other)) is not None:
                    return other
        return None

    def _take_handed(self, number: int, held: HeldPlan, tally: Handed) -> Result:
        """Let a tally take the place of its store's earlier one, if that one's reports can be among its own."""
        place = number, tally.id
        if (rival := self._rival(number, tally)) is not None:
            return Renamed(rival)
        if self._is_withdrawn(place):
            return Outcome.WITHDRAWN
        layout, before = layout_of(held.plan), self._counted(place)
        added = tally.vector if before is None else minus(tally.vector, before)
        if not added.any():
            return Outcome.REPEATED
        if (added < 0).any():
            return Outcome.FALLEN if (added > 0).any() else Outcome.OLDER
        if not layout.is_tally(added):  # of counts that no reports can give, though each may have grown
            return Outcome.FALLEN
        self._book(number, held).add(added)
        self.changed[place] = Named(tally.vector)
        for name in tally.names[1:]:  # neither an old file of the store may come behind, nor a copy of it
            self.changed[number, name] = Named(None, tally.id)
        return Grown(int(added[0]))

    def _withdraw(self, number: int, held: HeldPlan, ended: Withdrawal) -> Result:
        """Take out what was handed on under a name."""
        place = number, ended.id
        if self._is_withdrawn(place):
            return Outcome.REPEATED
        counted = self._counted(place)
        if counted is None:
            return Outcome.UNKNOWN
        self._book(number, held).add(-counted)
        self.changed[place] = Named(None)
        return Grown(-int(counted[0]))

    def _take_gradient(self, submission: Gradient) -> Outcome:
        name = submission.training
        if name not in self._trainings:
            return Outcome.UNKNOWN
        number, book = self.rounds.get(name, self._trainings[name])
        owner = TRAINING + number
        if not self.ids.take(owner, submission.id):
            return Outcome.REPEATED
        if submission.vector is None or not book.takes(submission):
            self.ids.give_back(owner, submission.id)
            return Outcome.LATE
        if submission.ids and not self.ids.take_all(owner, submission):
            return Outcome.OVERLAPPING
        book = book.counted(submission.vector, submission.loss)
        if book.full:
            past, book = book.ended()
            self.past.append((number, past))
        self.rounds[name] = number, book
        return Outcome.NEW
