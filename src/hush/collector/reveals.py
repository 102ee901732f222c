"""The tally that readers see. It never moves by one report.

A reader who asked for the exact tally after every report would see the content and time of each. Noise protects each
report, but a reader who knows when somebody answered would know which report is theirs. So readers see a tally of a
moment ago. It moves at most every `reveal_every` seconds, and by `reveal_least` reports or more. All answers about a
plan are made of it, so any two answers that differ do so by at least `reveal_least` people.

**It is in the store**, so a restart reveals nothing, and processes on one database show the same. No table has times: a
process moves the tally if it is still the one that this process saw at its last look, `reveal_every` seconds ago or
more. So after a move by any process, no process moves it again too soon.

**A look that moves nothing** counts as a look: the next is as far off. So a reader cannot find out when the last
missing report came.

**A closed plan** is no exception. The last few reports, fewer than `reveal_least`, stay unseen: otherwise the
difference to the tally before would show their sum. An operator gets them by `hush export`.

**They only grow.** When the tally of another store is withdrawn, readers see it until others have brought more; where
they see every report at once, until a restart at most. So two tallies that readers see with as many people are the
same, as long as a process runs, and results need not be computed twice.

**Periods**, if the operator wants them, are differences of tallies that were shown (`hush.collector.periods`). The
store counts them in the transaction that moves the tally. Where readers see reports at once, the collector itself looks
from time to time, so that they are counted.

Counts without content, of a training's people, of reports that did not open and of metrics, need no memory: they are
rounded down to a multiple of `reveal_least`, so that they too move by that many. The size of the store and the number
of submissions that wait move with one report, so an operator too sees those of a moment ago (`Reveals.held`).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from hush.collector.periods import Period, is_over, joined, period_at
from hush.collector.settings import Settings
from hush.collector.stores.base import Live, Store
from hush.core.plan import Plan
from hush.server.tally import Tally

Clock = Callable[[], float]
T = TypeVar("T")


class _Seen(NamedTuple):
    tally: Tally
    looked: float


class _Refused(NamedTuple):
    reports: int
    looked: float


class _People(NamedTuple):
    round: int
    received: int
    looked: float


class Reveals:
    """The tallies that readers see. Everything is safe from any thread.

    `moved` is called with a plan's id and the number of reports by which its tally has moved.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        moved: Callable[[str, int], None],
        clock: Clock = time.monotonic,
        wall: Clock = time.time,
    ) -> None:
        self._store, self._moved, self._clock, self._wall = store, moved, clock, wall
        self.by = settings.by
        self.every, self.least = settings.reveal_every, settings.reveal_least
        self.at_once = self.every == 0 and self.least <= 1
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}
        self._looking: set[str] = set()
        self._followed: set[str] = set()
        self._people: dict[str, _People] = {}
        self._refused: dict[str, _Refused] = {}
        self._largest: dict[str, Tally] = {}
        self._held: dict[str, tuple[float, Any]] = {}

    def tally(self, plan: Plan) -> Tally:
        """Return the tally of a plan that readers see. It waits for the store if it is time for a look."""
        if self.at_once:
            return self._latest(plan)
        if plan.id not in self._seen:
            self._first(plan)
        with self._lock:
            seen = self._seen[plan.id]
            # One thread looks; others need not wait for the store.
            if self._clock() - seen.looked < self.every or plan.id in self._looking:
                return seen.tally
            self._looking.add(plan.id)
        try:
            return self._look(plan, seen)
        finally:
            self._looking.discard(plan.id)

    def _latest(self, plan: Plan) -> Tally:
        """Return the committed tally; or the one before, if a tally that was withdrawn had made that as large."""
        found = self._store.tally(plan)
        with self._lock:
            last = self._largest.get(plan.id)
            if last is None or found.people > last.people:
                last = self._largest[plan.id] = found
            return last

    def _first(self, plan: Plan) -> None:
        """Read the tally that was shown before this process began to look."""
        shown = self._store.reveal(plan, None, self.least)
        with self._lock:
            self._seen.setdefault(plan.id, _Seen(shown, self._clock()))

    def _look(self, plan: Plan, seen: _Seen) -> Tally:
        found = self._store.reveal(plan, seen.tally.people, self.least, self._now())
        if found.people != seen.tally.people:
            self._moved(plan.id, found.people - seen.tally.people)
        self._seen[plan.id] = _Seen(found, self._clock())
        return found

    def _now(self) -> Period | None:
        return None if self.by is None else period_at(self.by, self._wall())

    def follow(self, plan: Plan) -> None:
        """Count by period also where readers see everything at once. Reports from before it began have no period."""
        if self.by is None or not self.at_once:
            return
        shown = self._store.reveal(plan, None, 1).people
        if shown == 0 and plan.id not in self._followed and not self._store.periods(plan):
            self._store.reveal(plan, 0, 1)
        else:
            self._store.reveal(plan, shown, 1, self._now())
        self._followed.add(plan.id)

    def periods(self, plan: Plan) -> list[tuple[Period, Tally]]:
        """Return the tallies of the periods that are over, in order."""
        if self.by is None:
            return []
        now = self._wall()
        over = [(period, tally) for period, tally in self._store.periods(plan) if is_over(period, now)]
        return [(period, sum(tallies, Tally(plan))) for period, tallies in joined(over)]

    def next(self, plan: Plan) -> int:
        """Return the seconds until the tally that readers see may move."""
        seen = self._seen.get(plan.id)
        return 0 if seen is None else max(0, math.ceil(seen.looked + self.every - self._clock()))

    def received(self, name: str, live: Live) -> int:
        """Return how many people of a training's round readers see."""
        if self.at_once or live.round.done:
            return live.received
        now, rounded = self._clock(), self.down(live.received)
        with self._lock:
            last = self._people.get(name)
            if last is None:
                last = _People(live.round.number, rounded, now)
            elif last.round != live.round.number:  # the start of a round is no secret: devices must know it
                last = _People(live.round.number, 0, now)
            elif now - last.looked >= self.every:
                last = _People(live.round.number, rounded, now)
            self._people[name] = last
            return last.received

    def refused(self, plan: Plan) -> int:
        """Return how many sealed reports that did not open readers see."""
        if self.at_once:
            return self._store.refused(plan)
        with self._lock:
            seen, now = self._refused.get(plan.id), self._clock()
            if seen is not None and now - seen.looked < self.every:
                return seen.reports
        found = _Refused(self.down(self._store.refused(plan)), now)
        with self._lock:
            self._refused[plan.id] = found
        return found.reports

    def held(self, name: str, make: Callable[[], T]) -> T:
        """Return what `make` returned a moment ago: numbers that move with reports, and are in no tally."""
        if self.at_once:
            return make()
        with self._lock:
            found = self._held.get(name)
            if found is not None and self._clock() - found[0] < self.every:
                return cast("T", found[1])
        made = make()  # it may wait for the store, and nobody else is to wait for that
        with self._lock:
            found = self._held.get(name)
            if found is None or self._clock() - found[0] >= self.every:  # nobody was faster
                found = self._held[name] = self._clock(), made
            return cast("T", found[1])

    def down(self, count: int) -> int:
        return count - count % max(self.least, 1)
