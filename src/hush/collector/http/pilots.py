"""Looks after pilots while the collector runs: narrows them when it is time, and learns what others have decided."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from hush.collector.http.lookup import Finder
from hush.collector.http.visible import Visible
from hush.collector.narrowing import Narrower
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.core.plan import Plan
from hush.errors import StoreError

logger = logging.getLogger("hush.collector")

LONGEST = 15.0  # seconds between two looks: readers of other processes hear of a second plan after this


class Pilots:
    """Looks four times as often as the tally that readers see may move, or more; on one database, every process does.

    `prepare` prepares a plan for batches, once.
    """

    def __init__(
        self, store: Store, settings: Settings, find: Finder, visible: Visible, prepare: Callable[[Plan], None]
    ) -> None:
        self._find, self._prepare = find, prepare
        self._narrower = Narrower(store, visible.reveals.tally)
        self._pause = max(min(visible.reveals.every / 4, LONGEST), settings.stream_interval)

    def look(self) -> None:
        """Narrow the pilots whose time has come. It waits for the store, and a design takes seconds."""
        self._narrower.look()
        for plan in self._find.learn():
            self._prepare(plan)

    async def run(self) -> None:
        """Look from time to time."""
        while True:
            try:
                await asyncio.to_thread(self.look)
            except StoreError:
                pass  # it is away, as other requests notice: look again later
            except Exception:
                logger.exception("a pilot could not be narrowed; it is tried again")
            await asyncio.sleep(self._pause)
