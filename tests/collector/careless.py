"""Collectors that must be caught: `python -m tests.collector.careless early|forgetful plan.json --store URL`.

`early` acknowledges before it commits; `forgetful` does not look at ids that it took before the last second. Two more
are as good as `hush serve` is, but have little time to end: `brief`, and `stuck`, whose disk hangs.
"""

from __future__ import annotations

import argparse
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hush import Plan, Report
from hush.collector import serve
from hush.collector.stores.base import Store
from hush.collector.stores.opening import open_store
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Batch, Gradient, Outcome, Result, Single, Submission
from tests.collector.served import anybody


class Early(SqliteStore):
    """Commits a little later than it says."""

    def commit(self, submissions: Sequence[Submission]) -> list[Result]:
        def later() -> None:
            time.sleep(0.05)
            SqliteStore.commit(self, submissions)

        threading.Thread(target=later, daemon=True).start()
        return [Outcome.NEW] * len(submissions)


class Forgetful(SqliteStore):
    """Counts whatever comes, under ids of its own."""

    def commit(self, submissions: Sequence[Submission]) -> list[Result]:
        super().commit([_renamed(submission) for submission in submissions])
        return [Outcome.REPEATED] * len(submissions)


class Stuck(SqliteStore):
    """Never comes back from the disk."""

    def commit(self, submissions: Sequence[Submission]) -> list[Result]:
        with self._lock:
            print("stuck", flush=True)
            time.sleep(1e6)
        raise AssertionError


def _renamed(submission: Submission) -> Submission:
    fresh = secrets.token_bytes(16)
    if isinstance(submission, Single):
        return Single(submission.plan, Report(submission.plan, fresh, submission.report.answers))
    assert isinstance(submission, Batch | Gradient)
    return replace(submission, id=fresh)


def main() -> None:
    stores: dict[str, Callable[[str], Store]] = {
        "early": Early,
        "forgetful": Forgetful,
        "stuck": Stuck,
        "brief": open_store,
    }
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=stores)
    parser.add_argument("plan")
    parser.add_argument("--store")
    parser.add_argument("--port", type=int)
    for option in ("--open", "--reveal-every", "--reveal-least"):
        parser.add_argument(option)
    asked = parser.parse_args()
    settings = anybody()
    if asked.how in ("stuck", "brief"):
        serve.GRACE, serve.LAST, settings = 2, 2 if asked.how == "stuck" else 60, anybody(stop_timeout=1)
    store = stores[asked.how](asked.store.removeprefix("sqlite://"))
    store.add_plan(Plan.from_json(Path(asked.plan).read_text()))
    serve.run(store, settings, port=asked.port, ready=lambda address: print(f"listening on {address}", flush=True))


if __name__ == "__main__":
    main()
