"""How a relay learns that the collector has closed a plan: it asks, on a schedule of its own.

It asks for each plan when it starts and then at equal times, whatever reports come: when it asks says nothing about
them. If it heard of the end only by a batch that is refused, it would thank people for what nobody will count, for as
long as fewer come than a batch needs.

**Only a proof counts.** Closing a plan is for ever, and throws away what waits. So a refusal alone, which anybody on
the way can forge, is no reason: the relay seals a random text for the collector's key, and a collector that has closed
the plan answers with that text. Every other answer, and none, changes nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from hush.core import codec
from hush.core.plan import Plan
from hush.core.sealing import NONCE_SIZE, CollectorKey, question_info
from hush.device.network import OCTETS, Server
from hush.errors import CollectorError, StoreError
from hush.relay.mixing import seal_text
from hush.relay.store import RelayStore

logger = logging.getLogger("hush.relay")

ASK = 10.0  # seconds between two questions about a plan
FIRST = 5.0  # seconds that a start waits for the first answers
WORKERS = 4


class Asker:
    """Asks a collector whether plans are closed, and closes these in the relay's file."""

    def __init__(self, store: RelayStore, plans: Sequence[Plan], key: CollectorKey, server: Server, ask: float) -> None:
        self._store, self._plans, self._key, self._server, self._ask = store, plans, key, server, ask
        self._said: dict[str, str] = {}  # the last trouble of each plan: the same is not logged every few seconds
        # Threads of its own: a batch that takes long must not move the times at which the relay asks.
        self._workers = ThreadPoolExecutor(min(WORKERS, len(plans)), "hush-ask")

    async def run(self, begun: asyncio.Event) -> None:
        """Ask until cancelled. `begun` is set when all plans were asked about once."""
        first = [asyncio.Event() for _ in self._plans]
        async with asyncio.TaskGroup() as tasks:
            for plan, done in zip(self._plans, first, strict=True):
                tasks.create_task(self._watch(plan, done))
            for done in first:
                await done.wait()
            begun.set()

    def close(self) -> None:
        """Wait until a question was answered, or has failed."""
        self._workers.shutdown(cancel_futures=True)

    async def _watch(self, plan: Plan, done: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        if self._store.is_closed(plan.id):
            done.set()
            with suppress(StoreError):  # only hashes that a kill has left: the next start tries again
                await loop.run_in_executor(self._workers, self._store.close_plan, plan.id)
        due = loop.time()
        while not self._store.is_closed(plan.id):
            try:
                await loop.run_in_executor(self._workers, self.look, plan)
                self._said.pop(plan.id, None)
            except CollectorError as error:
                self._warn(plan, str(error))
            except StoreError as error:
                logger.error("plan %s is closed at the collector, and not yet in this file: %s", plan.id[:12], error)
            except Exception:
                logger.exception("the relay made a mistake")
            done.set()
            due = max(due + self._ask, loop.time())
            await asyncio.sleep(due - loop.time())

    def _warn(self, plan: Plan, why: str) -> None:
        if self._said.get(plan.id) != why:
            logger.warning("the collector does not say whether plan %s is closed: %s", plan.id[:12], why)
        self._said[plan.id] = why

    def look(self, plan: Plan) -> bool:
        """Ask about a plan; if the collector proves that it is closed, close it here. Return whether it did."""
        if not self._is_closed(plan):
            return False
        waiting = self._store.close_plan(plan.id)
        logger.error(
            "plan %s is closed at the collector: nothing of it is taken any more, and %d reports that waited are "
            "deleted, uncounted",
            plan.id[:12],
            waiting,
        )
        return True

    def _is_closed(self, plan: Plan) -> bool:
        text = secrets.token_bytes(NONCE_SIZE)
        question = seal_text(text, self._key, question_info(plan))
        head = {"Hush-Key": self._key.public.hex()}
        answer = codec.load(self._server.send(f"/plans/{plan.id}/closed", question, OCTETS, head), CollectorError)
        closed, proof = codec.fields(answer, ("closed", "proof"), CollectorError, "an answer whether a plan is closed")
        if closed is not True:
            return False
        if type(proof) is not str or not hmac.compare_digest(proof.encode(), text.hex().encode()):
            raise CollectorError(
                "it says that the plan is closed, and does not prove it: somebody else may have answered"
            )
        return True
