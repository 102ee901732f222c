"""The handler for the specifications of the dashboard's charts."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http.documents import Charts
from hush.collector.http.endpoints import endpoint
from hush.collector.http.problems import Refused
from hush.collector.http.responses import as_json
from hush.collector.http.visible import Visible


class ChartHandlers:
    """The endpoint of charts."""

    def __init__(self, visible: Visible) -> None:
        self._shared = visible.shared

    @endpoint("GET", "/charts", "Specifications of the dashboard's charts", role="read", answers=Charts)
    async def charts(self, request: Request) -> Response:
        """Answer with the specifications of all charts."""

        def make() -> bytes:
            from hush.plots import panels  # with Altair, which takes a second to load

            return msgspec.json.encode(
                Charts(panels.named(), {"light": panels.theme("light"), "dark": panels.theme("dark")})
            )

        try:
            text = await self._shared.get("charts", 0, make)
        except ModuleNotFoundError:
            raise Refused("not-found", "charts need: pip install 'hush-ldp[plot]'") from None
        return as_json(text, headers={"Cache-Control": "no-cache"})
