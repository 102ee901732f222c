"""Servers of tests end at once.

uvicorn looks every 0.1 s whether it should end, and then waits as long again for its connections. Hundreds of tests
start a server: they would wait for a minute together.
"""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn.server

PAUSE = 0.01  # seconds


class _Hasty:
    """The module asyncio, as uvicorn's server sees it: all pauses are short."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, delay: float) -> None:
        await asyncio.sleep(min(delay, PAUSE))


def end_promptly() -> None:
    """Make the pauses of servers short, in this process and from now on."""
    vars(uvicorn.server)["asyncio"] = _Hasty()
