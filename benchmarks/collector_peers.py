"""What a collector is compared with: `python benchmarks/collector_peers.py NAME PORT` serves one of two endpoints.

- nothing: a Starlette application with one route, which reads the body and answers with a receipt of the same size.
- group: a bare ASGI application that reads the report with the standard library, and answers when its text and id are
  durable in SQLite. As in hush one thread commits whatever has come meanwhile. It checks nothing and counts nothing.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

SWITCH = 0.0005  # as in hush.collector.serve


async def nothing(request: Request) -> Response:
    """Answer without doing anything."""
    await request.body()
    return JSONResponse({"id": "0" * 32, "new": True, "reports": 1}, 202)


class Group:
    """Texts that wait for a commit, and the thread that commits them."""

    def __init__(self, path: Path) -> None:
        self._waiting: list[tuple[bytes, bytes, asyncio.Future[None]]] = []
        self._wake = threading.Condition()
        self._loop: Any = None
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.execute("create table reports (id blob primary key, body blob not null) without rowid")
        threading.Thread(target=self._work, daemon=True).start()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        self._loop = asyncio.get_running_loop()
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        report = json.loads(body)
        future: asyncio.Future[None] = self._loop.create_future()
        with self._wake:
            self._waiting.append((bytes.fromhex(report["id"]), body, future))
            self._wake.notify()
        await future
        text = json.dumps({"id": report["id"], "new": True, "reports": 1}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(text))]
        await send({"type": "http.response.start", "status": 202, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._waiting:
                    self._wake.wait()
                group, self._waiting = self._waiting, []
            self._db.execute("begin immediate")
            self._db.executemany("insert into reports values (?, ?)", [(id_, body) for id_, body, _ in group])
            self._db.execute("commit")
            self._loop.call_soon_threadsafe(self._resolve, group)

    def _resolve(self, group: list[tuple[bytes, bytes, asyncio.Future[None]]]) -> None:
        for _, _, future in group:
            future.set_result(None)


def main() -> None:
    """Serve."""
    name, port = sys.argv[1], int(sys.argv[2])
    sys.setswitchinterval(SWITCH)
    with tempfile.TemporaryDirectory() as folder:
        app: Any = Starlette(routes=[Route("/plans/{plan}/reports", nothing, methods=["POST"])])
        if name == "group":
            app = Group(Path(folder) / "peer.db")
        uvicorn.run(app, port=port, log_level="warning", access_log=False, lifespan="off")


if __name__ == "__main__":
    main()
