"""Handlers for those who operate a collector: is it alive, is it ready, what has it done."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http.desk import Desk
from hush.collector.http.documents import Health
from hush.collector.http.endpoints import endpoint
from hush.collector.http.gate import Gate
from hush.collector.http.responses import SECRET, encoded
from hush.collector.http.visible import Visible
from hush.collector.pulse import Pulse
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.errors import StoreError


class HealthHandlers:
    """The endpoints about the collector itself."""

    def __init__(self, store: Store, settings: Settings, gate: Gate, desk: Desk, visible: Visible) -> None:
        self._settings, self._gate, self._desk, self._visible = settings, gate, desk, visible
        self._pulse = Pulse(store, settings.health_timeout, settings.health_every)

    @endpoint("GET", "/healthz", "Whether the process is alive", role=None, answers=Health)
    async def health(self, request: Request) -> Response:
        """Answer that the process is alive: its loop, and the thread that commits. A restart mends nothing else."""
        if self._desk.intake is not None and not self._desk.intake.alive:
            raise StoreError("the thread that commits has ended")
        return encoded(Health("ok"), headers=SECRET)

    @endpoint("GET", "/readyz", "Whether reports would be taken now", role=None, answers=Health)
    async def ready(self, request: Request) -> Response:
        """Answer that reports would be taken now, after a trial commit.

        A recent commit of a report does not replace the trial. The answer would come sooner then, and show anybody who
        asks often when a report came.
        """
        if self._gate.ending:
            raise self._gate.busy("this collector is shutting down")
        if self._is_full():
            raise self._gate.busy("the queue is full")
        if self._is_late():
            raise StoreError(f"a commit takes longer than {self._settings.health_timeout:g} seconds")
        await self._pulse.check()
        return encoded(Health("ok"), headers=SECRET)

    @endpoint("GET", "/metrics", "Numbers for Prometheus", role="read", also=("text/plain",))
    async def metrics(self, request: Request) -> Response:
        """Answer with numbers for Prometheus."""
        metrics, waiting = self._gate.metrics, self._desk.waiting
        people = self._visible.reveals.held("metrics", lambda: metrics.of_people(waiting))
        text = metrics.text(people, full=self._is_full(), late=self._is_late())
        return Response(text, headers=SECRET, media_type="text/plain; version=0.0.4")

    def _is_full(self) -> bool:
        """Return whether the queue takes nothing more."""
        return self._desk.intake is not None and self._desk.intake.full

    def _is_late(self) -> bool:
        """Return whether a commit takes too long."""
        return self._desk.intake is not None and self._desk.intake.taking > self._settings.health_timeout
