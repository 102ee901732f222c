"""Work that many wait for is done once."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress

import pytest

from hush.collector.http.problems import Refused
from hush.collector.http.single_flight import Shared, Spaced, Workers


class Work:
    """Counts how often it is done, and how many do it at once."""

    def __init__(self) -> None:
        self.calls = self.at_once = self.most = 0
        self._lock = threading.Lock()

    def __call__(self) -> int:
        with self._lock:
            self.calls += 1
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        time.sleep(0.02)
        with self._lock:
            self.at_once -= 1
        return self.calls


def test_a_hundred_cost_like_one() -> None:
    async def run() -> None:
        shared, work = Shared(), Work()
        assert await asyncio.gather(*(shared.get("key", 1, work) for _ in range(100))) == [1] * 100
        assert await shared.get("key", 1, work) == 1
        assert await shared.get("key", 2, work) == 2
        assert await shared.get("other", 1, work) == 3

    asyncio.run(run())


def test_who_goes_away_takes_nothing_from_the_others() -> None:
    async def run() -> None:
        for kind in (Shared, Spaced):
            shared, work = kind(), Work()
            first = asyncio.create_task(shared.get("key", 1, work))
            await asyncio.sleep(0.005)
            second = asyncio.create_task(shared.get("key", 1, work))
            await asyncio.sleep(0.005)
            first.cancel()
            with suppress(asyncio.CancelledError):
                await first
            assert await second == 1
            assert work.calls == 1

    asyncio.run(run())


def test_a_failure_is_not_kept() -> None:
    def fail() -> int:
        raise ValueError("no")

    async def run() -> None:
        for kind in (Shared, Spaced):
            shared = kind()
            with pytest.raises(ValueError, match="no"):
                await shared.get("key", 1, fail)
            assert await shared.get("key", 1, Work()) == 1

    asyncio.run(run())


def test_results_are_few() -> None:
    async def run() -> None:
        for kind in (Shared, Spaced):
            shared, work = kind(most=2), Work()
            for key in "aabbcca":
                await shared.get(key, 1, work)
            assert work.calls == 4

    asyncio.run(run())


def test_as_many_results_as_there_may_be_are_kept() -> None:
    async def run() -> None:
        for kind in (Shared, Spaced):
            made: list[str] = []
            held = kind(most=2)
            for key in "ababab":
                await held.get(key, 1, lambda key=key, made=made: made.append(key))  # type: ignore[misc]
            assert "".join(made) == "ab"

    asyncio.run(run())


def test_work_under_way_is_not_forgotten() -> None:
    """Others who ask for it would begin it a second time."""

    async def run() -> None:
        shared, work, go = Shared(most=2), Work(), threading.Event()

        def slow() -> int:
            go.wait(10)
            return work()

        first = asyncio.create_task(shared.get("slow", 1, slow))
        await asyncio.sleep(0)
        for key in range(5):  # more than are held
            await shared.get(key, 1, lambda: 0)
        second = asyncio.create_task(shared.get("slow", 1, slow))
        await asyncio.sleep(0)
        go.set()
        assert (await first, await second) == (1, 1)

    asyncio.run(run())


def test_expensive_results_come_one_at_a_time_with_rests() -> None:
    async def run() -> None:
        now = [0.0]

        def work() -> float:
            now[0] += 1  # it takes a second
            return now[0]

        spaced, counted = Spaced(rest=9, clock=lambda: now[0]), Work()
        await asyncio.gather(*(spaced.get(key, 1, counted) for key in range(5) for _ in range(20)))
        assert (counted.calls, counted.most) == (5, 1)
        assert await spaced.get("key", 1, work) == 1.0
        assert await spaced.get("key", 2, work) == 1.0, "it rests until 10"
        assert await spaced.get("new", 2, work) == 2.0, "what nobody has seen does not wait"
        now[0] = 10.9
        assert await spaced.get("key", 2, work) == 1.0, "the rest is after whatever was computed last"
        now[0] = 11.0
        assert await spaced.get("key", 2, work) == 12.0

    asyncio.run(run())


def test_those_who_ask_for_too_much_are_told_so() -> None:
    """Two threads, three may wait: of ten different things five are made, and the rest is refused."""

    async def run() -> None:
        workers, work = Workers(2, 3), Work()
        shared = Shared(workers)
        asked = [shared.get(key, 1, work) for key in range(10)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(answer, Refused) for answer in answers) == 5
        assert (work.calls, work.most) == (5, 2)
        assert await shared.get(9, 1, work) == 6  # a refusal is not kept
        workers.close()

    asyncio.run(run())


def test_results_are_not_large_together() -> None:
    async def run() -> None:
        made = []

        def of(key: str) -> bytes:
            made.append(key)
            return b"x" * 400

        shared = Shared(most_bytes=1000)
        for key in "abcacc":
            await shared.get(key, 1, lambda key=key: of(key))  # type: ignore[misc]
        assert "".join(made) == "abca"  # the third pushes the first out
        made.clear()
        full = Shared(most_bytes=800)
        for key in "abab":
            await full.get(key, 1, lambda key=key: of(key))  # type: ignore[misc]
        assert "".join(made) == "ab"  # as much as there may be
        large = Shared(most_bytes=100)  # one result is kept, whatever its size
        for _ in range(2):
            await large.get("l", 1, lambda: of("l"))
        assert made.count("l") == 1

    asyncio.run(run())
