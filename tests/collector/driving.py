"""Requests are sent to an application in this process, and the oracle judges the answers."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from hush.collector.http.app import Collector
from hush.collector.http.security import hashed
from hush.collector.stores.sqlite import SqliteStore
from hush.server.step import first_round
from tests.collector.fuzzing import ADMIN, TRAINING, Requests, Sent
from tests.collector.oracle import Oracle
from tests.collector.served import PLANS, anybody

CONCURRENT = 48
MAX_READ_AGAIN = 20_000  # requests


class _Errors(logging.Handler):
    def __init__(self, oracle: Oracle) -> None:
        super().__init__(logging.ERROR)
        self._oracle = oracle

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[1] if record.exc_info else None
        self._oracle.fail(f"an error in the log: {type(kind).__name__} {kind}", record.getMessage())


async def call(app: Any, sent: Sent) -> tuple[int, dict[bytes, bytes], bytes]:
    """Send a request to an application in this process."""
    size = max(1, -(-len(sent.body) // sent.pieces))
    pieces = [sent.body[at : at + size] for at in range(0, len(sent.body), size)] or [b""]
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": piece, "more_body": place < len(pieces) - 1}
        for place, piece in enumerate(pieces)
    ]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "http",
        "path": unquote(sent.path),
        "raw_path": sent.path.encode(),
        "query_string": sent.query,
        "root_path": "",
        "headers": sent.headers,
        "client": ("192.0.2.1", 1234),
        "server": ("collector.example", 80),
    }
    answers: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        answers.append(message)

    await app(scope, receive, send)
    body = b"".join(answer.get("body", b"") for answer in answers[1:])
    return answers[0]["status"], dict(answers[0]["headers"]), body


def run(
    requests: int,
    seed: int,
    *,
    check_ids: bool = False,
    progress: Callable[[int, Oracle], None] | None = None,
    oracle: Oracle | None = None,
) -> Oracle:
    """Send so many requests, and return the oracle, which may be given, to be looked at if this is interrupted."""
    memory = Path("/dev/shm")  # noqa: S108  # a disk would only wait
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        store = SqliteStore(Path(folder) / "hush.db")
        for plan in PLANS:
            store.add_plan(plan, "tallies" if plan is PLANS[0] else "reports")
        store.add_training(TRAINING.title, first_round(TRAINING), 300)
        settings = anybody(
            check_ids=check_ids,
            tokens={"admin": frozenset([hashed(ADMIN)])},
            origins={"*": frozenset(["https://a.example"])},
        )
        oracle = Oracle(check_ids) if oracle is None else oracle
        logger, handler = logging.getLogger("hush.collector"), _Errors(oracle)
        logger.addHandler(handler)
        try:
            asyncio.run(_drive(Collector(store, settings), store, requests, seed, oracle, progress))
        finally:
            logger.removeHandler(handler)
    return oracle


async def _drive(
    collector: Collector,
    store: SqliteStore,
    requests: int,
    seed: int,
    oracle: Oracle,
    progress: Callable[[int, Oracle], None] | None,
) -> None:
    app = collector.app()
    supply = iter(Requests(seed))
    async with collector.lifespan(app):

        async def one(sent: Sent) -> None:
            try:
                answer = await call(app, sent)
            except Exception as error:  # noqa: BLE001 - any error is a finding
                oracle.fail(f"{type(error).__name__}: {error}", sent)
            else:
                oracle.judge(sent, *answer)

        for done in range(0, requests, CONCURRENT):
            await asyncio.gather(*(one(next(supply)) for _ in range(min(CONCURRENT, requests - done))))
            if done % (CONCURRENT * 20) == 0:
                oracle.compare(store)
                if progress is not None:
                    progress(done, oracle)
        oracle.compare(store)
        if requests <= MAX_READ_AGAIN:
            oracle.read_again(store)
