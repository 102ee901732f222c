"""The way from the relay's store to the collector.

The relay looks from time to time whether enough reports of a plan are there. So the time of a batch does not say when
its last report came. A batch is sent until the collector acknowledges it, with pauses that grow.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hush.core.blanket import blanket_of
from hush.core.plan import Plan
from hush.core.sealing import MAX_BATCH, CollectorKey, SealedBatch, sealed_size
from hush.device.client import Client
from hush.errors import CollectorError, HushError, InputError, PlanError
from hush.relay.asking import Asker
from hush.relay.mixing import mixed
from hush.relay.store import Batch, RelayStore

logger = logging.getLogger("hush.relay")

WORKERS = 4
LONGEST = 60.0  # seconds between two tries
MAX_BODY = 16 << 20  # bytes of a request that a collector takes
HEAD = 64  # more than the bytes of a batch besides its reports


@dataclass(frozen=True)
class Mix:
    """How a relay makes batches: of at least `least` reports, with `own` more that it draws itself, for a key."""

    key: CollectorKey
    least: int
    own: int = 0

    def __post_init__(self) -> None:
        if self.least < 2:
            raise InputError("least must be 2 or more: a batch of one report hides nothing")
        if self.own < 0:
            raise InputError("own must be 0 or more")

    def check(self, plan: Plan) -> None:
        """Refuse a plan that cannot be mixed like this."""
        if self.own:
            try:
                blanket_of(plan)
            except PlanError as error:
                raise PlanError(f"own reports of plan {plan.id[:12]} cannot be drawn: {error}; use --own 0") from None
        if self.most(plan) < self.least:
            raise InputError(f"a batch of this plan has at most {self.most(plan)} reports besides own ones")

    def most(self, plan: Plan) -> int:
        """Return how many reports of people fit into one batch."""
        return min(MAX_BATCH, (MAX_BODY - HEAD) // sealed_size(plan)) - self.own


class Forwarder:
    """Makes batches and sends them, one plan after the other."""

    def __init__(
        self, store: RelayStore, plans: Sequence[Plan], mix: Mix, client: Client, asker: Asker, every: float
    ) -> None:
        self._store, self._plans, self._mix, self._client, self._every = store, plans, mix, client, every
        self._asker = asker
        # Threads of its own: a collector that hangs must not hold up those that take reports.
        self._workers = ThreadPoolExecutor(min(WORKERS, len(plans)), "hush-forward")

    async def run(self) -> None:
        """Look and send until cancelled."""
        await asyncio.gather(*(self._serve(plan) for plan in self._plans))

    def close(self) -> None:
        """Wait until a batch that is being sent was answered, or has failed."""
        self._workers.shutdown(cancel_futures=True)

    async def _serve(self, plan: Plan) -> None:
        pause = self._every
        while not self._store.is_closed(plan.id):
            await asyncio.sleep(pause)
            try:
                sent = await asyncio.get_running_loop().run_in_executor(self._workers, self.forward, plan)
            except CollectorError as error:
                logger.warning("a batch waits, as the collector does not take it: %s", error)
                pause = min(LONGEST, 2 * max(pause, 0.1)) * (0.75 + secrets.randbelow(1 << 20) / (1 << 21))
            except HushError as error:
                logger.error("no batch could be made: %s", error)
                pause = LONGEST
            except Exception:
                logger.exception("the relay made a mistake")
                pause = LONGEST
            else:
                pause = 0.0 if sent else self._every

    def forward(self, plan: Plan) -> bool:
        """Send a batch, if one waits or can be made; return whether the collector has taken one."""
        batch = self.made(plan)
        if batch is None:
            return False
        try:
            receipt = self._client.submit_sealed_batch(plan, batch.body)
        except CollectorError as error:
            if error.kind == "plan-closed":
                if not self._asker.look(plan):  # anybody on the way can refuse a batch: see `hush.relay.asking`
                    raise
            elif error.kind == "other-key" and SealedBatch.decode(plan, batch.body).key != self._mix.key:
                # Nobody can open it any more, and it stands in the way of those that somebody can open.
                logger.error("a batch of plan %s is dropped: the collector has given up its key", plan.id[:12])
                self._store.acknowledged(plan.id, batch.id)
            else:
                raise
            return False
        self._store.acknowledged(plan.id, batch.id)
        if receipt.refused:
            logger.warning("%d reports of a batch did not open at the collector", receipt.refused)
        return True

    def made(self, plan: Plan) -> Batch | None:
        """Return the batch that is to be sent, if there is one; make it if enough reports wait."""
        mix = self._mix
        return self._store.make(
            plan.id, mix.least, mix.most(plan), lambda sealed: mixed(plan, mix.key, sealed, mix.own)
        )
