"""The queue in front of a store: bounded, in order, and nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from hush.collector import queues as module
from hush.collector.formats import REPORT
from hush.collector.http.app import make_app
from hush.collector.intake import Intake
from hush.collector.queues import Full, Stopped
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Gradient, Outcome, Result, Submission
from hush.errors import HushError
from tests.collector import places
from tests.collector.places import NEW, REPEATED, plan
from tests.collector.served import anybody


class Slow(SqliteStore):
    """A store whose commits wait until a test lets them go on. It notes how large they were."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.add_plan(plan())
        self.go = threading.Event()
        self.began = threading.Event()
        self.groups: list[int] = []
        self.failure: Exception | None = None
        self.poison: bytes | None = None

    def commit(self, submissions: Sequence[Submission]) -> list[Result]:
        self.began.set()
        assert self.go.wait(30)
        self.groups.append(len(submissions))
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        if any(submission.id == self.poison for submission in submissions):
            raise HushError("this one cannot be counted")
        return super().commit(submissions)


@pytest.fixture
def store(tmp_path: Path) -> Slow:
    return Slow(tmp_path / "hush.db")


def test_a_full_queue_is_503_and_nothing_acknowledged_is_lost(store: Slow, tmp_path: Path) -> None:
    made = places.reports(30)
    app = make_app(store, anybody(queue=10, retry_after=7))

    async def scenario() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://x") as web:

            async def post(index: int) -> httpx.Response:
                body = made[index].encode()
                return await web.post(f"/plans/{plan().id}/reports", content=body, headers={"content-type": REPORT})

            first = asyncio.create_task(post(0))
            await asyncio.to_thread(store.began.wait, 10)  # the first is being committed, and the queue is empty
            tasks = [asyncio.create_task(post(index)) for index in range(1, 30)]
            while sum(task.done() for task in tasks) < 19:  # noqa: ASYNC110 - tasks of a test, without an event of their own
                await asyncio.sleep(0.01)
            refused = [task.result() for task in tasks if task.done()]
            assert {(response.status_code, response.headers["retry-after"]) for response in refused} == {(503, "7")}
            store.go.set()
            return sorted(response.status_code for response in await asyncio.gather(first, *tasks))

    assert asyncio.run(scenario()) == [202] * 11 + [503] * 19
    with places.Place(f"sqlite://{tmp_path / 'hush.db'}").opened() as again:
        assert again.tally(plan()).reports == 11
        assert again.commit(places.singles(made)).count(REPEATED) == 11


def test_what_waits_is_committed_together_and_before_the_end(store: Slow) -> None:
    async def scenario() -> list[Result]:
        intake = Intake(store)
        sent = places.singles(places.reports(50))
        tasks = [asyncio.create_task(intake.submit(sent[0]))]
        await asyncio.sleep(0)
        await asyncio.to_thread(store.began.wait, 10)
        tasks += [asyncio.create_task(intake.submit(one)) for one in sent[1:]]
        await asyncio.sleep(0.05)
        assert intake.waiting == 49
        stopping = asyncio.create_task(intake.stop())
        await asyncio.sleep(0.05)
        with pytest.raises(Stopped):
            await intake.submit(sent[0])
        store.go.set()
        await stopping
        return await asyncio.gather(*tasks)

    assert asyncio.run(scenario()) == [NEW] * 50
    assert store.groups == [1, 49]
    store.close()


def test_the_queue_is_bounded_by_bytes(store: Slow) -> None:
    async def scenario() -> None:
        large = places.columns_batch(2000)
        intake = Intake(store, most_bytes=int(2.5 * len(large.body)))
        tasks = [asyncio.create_task(intake.submit(places.columns_batch(2000))) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(Full):
            await intake.submit(large)
        store.go.set()
        assert await asyncio.gather(*tasks) == [NEW, NEW]
        assert await intake.submit(large) is NEW  # there is room again
        await intake.stop()

    asyncio.run(scenario())
    store.close()


def test_a_commit_that_fails_fails_its_group_alone(store: Slow) -> None:
    async def scenario() -> None:
        intake = Intake(store)
        store.go.set()
        store.failure = OSError("no space left")
        sent = places.singles(places.reports(1))[0]
        with pytest.raises(OSError, match="no space"):
            await intake.submit(sent)
        assert await intake.submit(sent) is NEW
        await intake.stop()

    asyncio.run(scenario())
    store.close()


def test_one_that_cannot_be_counted_does_not_keep_the_others_out(store: Slow) -> None:
    async def scenario() -> None:
        intake = Intake(store)
        sent: list[Submission] = [*places.singles(places.reports(6))]
        store.poison = sent[3].id
        tasks = [asyncio.create_task(intake.submit(one)) for one in sent]
        await asyncio.sleep(0.05)
        store.go.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(one, HushError) for one in found] == [False, False, False, True, False, False]
        assert await intake.submit(Gradient("unknown", 1, bytes(16), None)) is Outcome.UNKNOWN
        await intake.stop()

    asyncio.run(scenario())
    assert store.tally(plan()).reports == 5
    store.close()


async def groups_after_five(store: Slow, sent: Sequence[Submission]) -> None:
    """Commit one submission, then five together, so that five are waited for; then send others, one after the other."""
    intake = Intake(store)
    first, *others = places.singles(places.reports(6))
    tasks = [asyncio.create_task(intake.submit(first))]
    await asyncio.sleep(0)
    await asyncio.to_thread(store.began.wait, 10)
    tasks += [asyncio.create_task(intake.submit(one)) for one in others]
    await asyncio.sleep(0.05)
    store.go.set()
    await asyncio.gather(*tasks)
    later = []
    for one in sent:
        later.append(asyncio.create_task(intake.submit(one)))
        await asyncio.sleep(0.02)
    await asyncio.wait_for(asyncio.gather(*later), 60)
    await intake.stop()


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a group wait for hours that is not complete."""
    monkeypatch.setattr(module, "LULL", 3600.0)
    monkeypatch.setattr(module, "LONGEST", 3600.0)


@pytest.mark.usefixtures("_patient")
def test_a_group_that_is_complete_is_not_waited_for(store: Slow) -> None:
    asyncio.run(groups_after_five(store, places.singles(places.reports(5))))
    assert store.groups == [1, 5, 5]
    store.close()


@pytest.mark.usefixtures("_patient")
def test_batches_do_not_wait_for_others(store: Slow) -> None:
    large = places.columns_batch(80_000)
    assert len(large.body) > module.HEAVY
    asyncio.run(groups_after_five(store, [large]))
    assert store.groups == [1, 5, 1]
    store.close()


def test_a_group_that_stays_small_goes_on(store: Slow) -> None:
    asyncio.run(groups_after_five(store, places.singles(places.reports(2))))
    assert sum(store.groups) == 8
    store.close()
