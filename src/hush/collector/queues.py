"""Many submissions, one commit: the way from requests to the store.

A commit waits for the disk, and costs nearly the same for one submission as for a thousand. So a single thread
commits, and submissions that arrive meanwhile wait and go into the next commit together. A request is answered when its
group is durable. The queue is bounded, by number and by bytes: beyond that `Full` is raised at once, which becomes
503 with Retry-After. An acknowledged submission is never dropped.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from hush.collector.settings import Settings
from hush.errors import HushError, StoreError

logger = logging.getLogger("hush.collector")

GROUP = 4096  # submissions of one commit at most
LULL, LONGEST = 0.0005, 0.004  # seconds: a group is committed after a lull, or after the longest wait
LATELY = 8  # groups
HEAVY = 1 << 18  # bytes of a group that is not to grow: writing them takes most of its time
TOLD = 64  # submissions that are answered before the loop turns to other work


class Full(Exception):
    """The queue is full: try again a little later."""


class Stopped(Exception):
    """The collector is shutting down."""


S = TypeVar("S")  # a submission
R = TypeVar("R")  # its result
S_contra = TypeVar("S_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Committing(Protocol[S_contra, R_co]):
    """A store that commits many submissions at once, and returns the outcome of each."""

    def commit(self, submissions: Sequence[S_contra], /) -> Sequence[R_co]:
        """Commit all of them, or none."""


class Queue(Generic[S, R]):
    """A queue in front of a store, and the thread that empties it. Made within the event loop that it serves.

    `size` returns about how many bytes a submission takes while it waits.
    """

    def __init__(
        self,
        store: Committing[S, R],
        size: Callable[[S], int],
        *,
        most: int = Settings.queue,
        most_bytes: int = Settings.queue_bytes,
        watch: Callable[[int, float], None] | None = None,
    ) -> None:
        self._store, self._most, self._most_bytes, self._watch = store, most, most_bytes, watch
        self._size = size
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[S, int, Callable[[S, R | Exception], None]]] = deque()
        self._bytes = 0
        self._wake = threading.Condition()
        self._stopping = False
        self._idle = False  # the thread waits to be woken
        self._wanted = 0  # or it waits until the group has this many
        self._current: list[tuple[S, int, Callable[[S, R | Exception], None]]] = []  # the group that is being committed
        self._began: float | None = None  # when the current commit began
        self._thread = threading.Thread(target=self._work, name="hush-intake", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many submissions wait for a commit."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether the thread that commits is alive."""
        return self._thread.is_alive()

    @property
    def full(self) -> bool:
        """Whether there is no room for even a small submission."""
        return len(self._waiting) >= self._most or self._bytes >= self._most_bytes

    @property
    def taking(self) -> float:
        """For how many seconds the current commit has run; 0 if there is none."""
        began = self._began
        return 0.0 if began is None else time.perf_counter() - began

    def put(self, submission: S, done: Callable[[S, R | Exception], None]) -> None:
        """Take a submission. `done` is called in the loop, once it is durable or was refused."""
        size = self._size(submission)
        with self._wake:
            if self._stopping:
                raise Stopped
            if len(self._waiting) >= self._most or self._bytes + size > self._most_bytes:
                raise Full
            self._waiting.append((submission, size, done))
            self._bytes += size
            if self._idle or (self._wanted and self._is_large(self._wanted)):
                self._idle, self._wanted = False, 0
                self._wake.notify()

    async def submit(self, submission: S) -> R:
        """Return the outcome of a submission, once it is durable."""
        future: asyncio.Future[R] = self._loop.create_future()

        def done(_: S, outcome: R | Exception) -> None:
            if future.done():  # the client has gone
                return
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        self.put(submission, done)
        return await future

    def _gather(self, sizes: Sequence[int]) -> None:
        """Let a group grow for as long as others keep coming, a few milliseconds at most.

        A commit of one takes nearly as much of a processor as one of fifty. A sender that is alone does not wait, nor
        does a group that is as large as the largest of late: most senders wait for an answer before they go on. Nor
        does one of some batches: while it is written, the loop reads the next.
        """
        last = min(max(sizes, default=0), GROUP)
        end = time.perf_counter() + LONGEST
        with self._wake:
            found = 0
            while last > 1 and not self._is_large(last) and not self._stopping and time.perf_counter() < end:
                if found == len(self._waiting):
                    break
                found, self._wanted = len(self._waiting), last
                self._wake.wait(LULL)
            self._wanted = 0

    def _is_large(self, wanted: int) -> bool:
        """Return whether a group has as many submissions as wanted, or very many bytes."""
        return len(self._waiting) >= wanted or self._bytes >= HEAVY

    def _work(self) -> None:
        sizes: deque[int] = deque(maxlen=LATELY)
        while True:
            with self._wake:
                while not self._waiting and not self._stopping:
                    self._idle = True
                    self._wake.wait()
                self._idle = False
                if not self._waiting:
                    return
            self._gather(sizes)
            with self._wake:
                group = [self._waiting.popleft() for _ in range(min(GROUP, len(self._waiting)))]
                self._current = group
            sizes.append(len(group))
            start = self._began = time.perf_counter()
            outcomes = self._commit([submission for submission, _, _ in group])
            self._began = None
            failed = any(isinstance(outcome, Exception) for outcome in outcomes)
            if self._watch is not None:
                self._watch(len(group), time.perf_counter() - start)
            if failed and self._stopping:  # the store fails: the rest is not tried, as the collector stops
                with self._wake:
                    group += self._waiting
                    self._waiting.clear()
                outcomes += [Stopped()] * (len(group) - len(outcomes))
            with self._wake:
                self._bytes -= sum(size for _, size, _ in group)
                if not self._current:  # `stop` has answered them already
                    continue
                self._current = []
            with suppress(RuntimeError):  # the loop has ended: see stop
                self._loop.call_soon_threadsafe(self._resolve, group, outcomes, 0)

    def _commit(self, group: list[S]) -> list[R | Exception]:
        """Return the outcome of each submission, or the error after which it may be sent again."""
        try:
            return [*self._store.commit(group)]
        except HushError as error:
            # One submission is at fault (its round cannot end, say), and must not block the others for good.
            logger.exception("a commit of %d submissions was refused", len(group))
            if len(group) == 1 or isinstance(error, StoreError):
                return [error] * len(group)
            return [outcome for submission in group for outcome in self._commit([submission])]
        except Exception as error:
            # The group was rolled back: its senders get an error, and may send it again.
            logger.exception("a commit of %d submissions failed", len(group))
            return [error] * len(group)

    def _resolve(
        self,
        group: list[tuple[S, int, Callable[[S, R | Exception], None]]],
        outcomes: Sequence[R | Exception],
        start: int,
        every: bool = False,
    ) -> None:
        """Answer a group: `TOLD` of them now, the next after other work of the loop; or all at once (`every`)."""
        end = len(group) if every else start + TOLD
        for (submission, _, done), outcome in zip(group[start:end], outcomes[start:end], strict=True):
            try:
                done(submission, outcome)
            except Exception:
                logger.exception("an answer failed")
        if end < len(group):
            self._loop.call_soon(self._resolve, group, outcomes, end)

    async def stop(self, timeout: float = Settings.stop_timeout) -> None:  # noqa: ASYNC109 - a thread is joined, which no scope can cancel
        """Take nothing more, commit the queue, and return. A commit that hangs is left: it was not acknowledged."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        await asyncio.to_thread(self._thread.join, timeout)
        if self._thread.is_alive():
            logger.error("a commit still runs after %g seconds; the collector stops without it", timeout)
            with self._wake:
                left, self._current = [*self._current, *self._waiting], []
                self._waiting.clear()
            self._resolve(left, [Stopped()] * len(left), 0, every=True)
