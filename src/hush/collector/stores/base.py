"""The interface of every store, for any database.

`commit` is the heart: in one transaction it counts the submissions of a group whose ids are new, keeps their bodies if
reports are kept, and returns when everything is durable. If it raises, every submission of the group may be sent again:
either nothing was counted, or (if the answer of a database was lost) everything was, and its ids are known. A problem
of one submission is its outcome, and never fails the others.

Every method raises a `StoreError` if its database fails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal, LiteralString, NamedTuple

from hush.collector.periods import Period
from hush.collector.submissions import Form, Result, Submission
from hush.core.following import check_follows
from hush.core.plan import Plan
from hush.core.training.courses import Course
from hush.core.training.stages import Phase
from hush.errors import InputError, PlanError, StoreError
from hush.server.tally import Tally

Keep = Literal["reports", "tallies"]

PILOTS: LiteralString = """
select pilot.id, first, people, wanted, second.id from narrowings
join plans pilot on pilot.number = narrowings.plan
left join plans second on second.number = narrowings.second order by narrowings.plan
"""
"""The query for all pilots, in the fields of a `Narrowing`."""


class NotHeld(InputError):
    """A plan or a training that a store does not have."""


@contextmanager
def understanding() -> Iterator[None]:
    """Blame the store for unreadable content of its own: the current request did not send it."""
    try:
        yield
    except NotHeld:
        raise
    except ValueError as error:  # an InputError among them
        raise StoreError(f"the store holds unreadable data: {error}") from None


def check_second(pilot: Plan, second: Plan) -> None:
    """Refuse a second plan that is not of this pilot."""
    try:
        check_follows(second, pilot)
    except PlanError as error:
        raise InputError(f"a second plan is not its pilot's: {error}") from None


def check_numbers(held: Narrowing, first: int, people: int) -> None:
    """Refuse other numbers than those with which a pilot began: collectors on one database must agree."""
    if (held.first, held.people) != (first, people):
        raise InputError(
            f"this plan is a pilot in the store already, of {held.first} people, and of {held.people} who come later"
        )


@dataclass(frozen=True)
class HeldPlan:
    """A plan and how it is kept. `keep`: "reports" keeps every report, "tallies" only counts and ids."""

    plan: Plan
    keep: Keep = "reports"
    open: bool = True


class Stored(NamedTuple):
    """A stored body: its place in the order of arrival, how many reports it holds, and how to read it.

    `own`: how many of them are a relay's own; None if an older hush stored it, which did not write that down.
    """

    place: int
    reports: int
    form: Form
    body: bytes
    own: int | None = 0


class Segment(NamedTuple):
    """A Parquet file that has taken the place of stored bodies. `own`: as of those."""

    file: str
    reports: int
    digest: str
    own: int | None = 0


class Live(NamedTuple):
    """The state of a training: its current stage or round, and how many people have taken part in it.

    `course`: what was published beforehand, unless an operator gave a first round by hand.
    """

    round: Phase
    wanted: int
    received: int
    course: Course | None = None


class Past(NamedTuple):
    """A round of a training that is over: its weights, how many people took part, and the loss that others reported.

    For a stage of a pilot, whose number is 0 or below, the points of its estimates are in the place of weights.
    """

    number: int
    weights: tuple[float, ...]
    people: int
    loss: float | None
    loss_error: float | None


class Narrowing(NamedTuple):
    """A pilot, by its id, whose wide numbers are narrowed after `first` reports, for `people` who come later.

    `wanted`: the reports at which the next try is due. `second`: the id of the plan that follows, once there is one.
    """

    pilot: str
    first: int
    people: int
    wanted: int
    second: str | None


class Site(NamedTuple):
    """Another store that has handed its tally on: its name, and how many reports count; None if it was withdrawn."""

    name: bytes
    reports: int | None


class Store(ABC):
    """Where a collector keeps everything. One thread at a time calls `commit`; reading is safe from any thread."""

    # -- plans

    @abstractmethod
    def add_plan(self, plan: Plan, keep: Keep = "reports") -> None:
        """Take reports of a plan from now on. Adding it again changes nothing, but `keep` must be the same."""

    @abstractmethod
    def plans(self) -> list[HeldPlan]:
        """Return all plans, in the order in which they were added."""

    @abstractmethod
    def close_plan(self, plan_id: str) -> None:
        """Take no more reports of a plan, and forget the ids of its submissions and the keys given out for it.

        Its tally stays.
        """

    # -- reports

    @abstractmethod
    def commit(self, submissions: Sequence[Submission]) -> list[Result]:
        """Count new submissions, durably; return the outcome of each."""

    @abstractmethod
    def tally(self, plan: Plan) -> Tally:
        """Return the tally of everything committed."""

    @abstractmethod
    def reveal(self, plan: Plan, known: int | None, least: int, period: Period | None = None) -> Tally:
        """Return the tally that readers see. It is durable too, and empty at first.

        If it has `known` reports, and at least `least` more were committed, it moves to the committed tally. Among
        processes that know the same tally, only one moves it. In the same transaction the reports by which it moves
        are counted in a period, if one is given: in that one, or in the last that the store has if that ends later, as
        after a clock was set back. If counts fell, as another store's tally was withdrawn, they belong to no period.
        """

    @abstractmethod
    def periods(self, plan: Plan) -> list[tuple[Period, Tally]]:
        """Return the tally of every period in which the tally that readers see has moved, in order of their ends."""

    @abstractmethod
    def bodies(self, plan: Plan, after: int = 0) -> Iterator[Stored]:
        """Return the stored bodies of a plan behind a place, in order."""

    @abstractmethod
    def refused(self, plan: Plan) -> int:
        """Return how many sealed reports of a plan were dropped, as they did not open."""

    # -- names of stores

    @abstractmethod
    def names(self) -> tuple[bytes, ...]:
        """Return the names of this store (`hush.core.stores`), the newest first."""

    @abstractmethod
    def rename(self) -> tuple[bytes, ...]:
        """Take a new name, as this is a copy; return all names, the newest first."""

    @abstractmethod
    def sites(self, plan: Plan) -> list[Site]:
        """Return the other stores whose tallies were handed on, by their names."""

    # -- keys of sealed reports

    @abstractmethod
    def give_key(self, key: bytes) -> None:
        """Note a public key that is given out for all open plans from now on, and for those that this store adds."""

    @abstractmethod
    def given_keys(self) -> dict[str, set[bytes]]:
        """Return the keys that were given out for each open plan, by its id. Plans without any are left out."""

    @abstractmethod
    def take_back_key(self, key: bytes) -> None:
        """Forget that a key was given out: its secret is lost."""

    # -- compaction

    def compacting(self, plan: Plan) -> AbstractContextManager[None]:
        """Keep other processes from compacting or exporting the same plan meanwhile, if the store serves several."""
        return nullcontext()

    @abstractmethod
    def segments(self, plan: Plan) -> list[Segment]:
        """Return the Parquet files that hold reports of a plan."""

    @abstractmethod
    def replace(self, plan: Plan, last: int, segments: Sequence[Segment]) -> None:
        """Record segments in place of all bodies (but tallies) up to a place, in one transaction.

        They must hold as many reports as those bodies.
        """

    # -- trainings

    @abstractmethod
    def add_training(self, name: str, first: Phase, wanted: int, course: Course | None = None) -> None:
        """Begin a training in which `wanted` people take part in each round. Adding it again changes nothing.

        With a course, `first` is its first stage or round, `wanted` all its people, and the course says how many of
        them take part in each.
        """

    @abstractmethod
    def trainings(self) -> list[str]:
        """Return the names of all trainings."""

    @abstractmethod
    def live(self, name: str) -> Live:
        """Return the state of a training."""

    @abstractmethod
    def history(self, name: str) -> list[Past]:
        """Return the rounds of a training that are over."""

    # -- pilots

    @abstractmethod
    def add_narrowing(self, pilot: Plan, first: int, people: int) -> None:
        """Let a plan of the store be a pilot. Adding it again changes nothing, but both numbers must be the same."""

    @abstractmethod
    def narrowings(self) -> list[Narrowing]:
        """Return all pilots."""

    @abstractmethod
    def narrowed(self, pilot: Plan, tried: int, second: Plan | None, wanted: int) -> Narrowing:
        """Record the outcome of a try that was due at `tried` reports, and return what holds now.

        In one transaction: the second plan is added, kept as the pilot is, and becomes the pilot's for good. Without a
        second plan, the next try is due at `wanted`. If somebody else was faster, or the pilot is closed, nothing
        changes.
        """

    # -- life

    @abstractmethod
    def check(self) -> None:
        """Make a test commit in the way of submissions, to see whether they could be committed.

        It waits for a commit that is under way.
        """

    def size(self) -> int | None:
        """Return the bytes that it takes, about; None if that is unknown."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Let go of the database. Commits stay."""
