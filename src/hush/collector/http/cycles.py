"""One request on a connection, and its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

if TYPE_CHECKING:
    from hush.collector.http.bounds import Bounds
    from hush.collector.http.protocol import Protocol


class Cycle(RequestResponseCycle):
    """One request and its answer."""

    bounds: Bounds
    held = 0  # bytes of the request in memory
    fault = ""  # the kind of problem with its body

    async def run_asgi(self, app: Any) -> None:
        """Answer. The bytes of a request count until its handler ends, even if the client has gone."""
        try:
            await super().run_asgi(app)
        finally:
            self.bounds.release(self)

    async def receive(self) -> Any:
        """Return a piece of the body; or a disconnect, with the reason."""
        message = await super().receive()
        return {"type": "http.disconnect", "refused": self.fault} if self.fault else message


class Known(Cycle):
    """A request that came whole, with a head that was taken before. It has no more than its answer needs."""

    disconnected = response_started = response_complete = more_body = waiting_for_100_continue = False
    keep_alive = True

    def __init__(self, scope: Any, connection: Protocol, polite: Any) -> None:
        self.scope, self.transport, self.on_response = scope, polite, connection.on_response_complete
        self.default_headers = connection.server_state.default_headers
        self.body = bytearray()
