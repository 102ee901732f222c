"""The handler for the specifications of the dashboard's charts."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from importlib.util import find_spec

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import apart
from hush.collector.http.documents import Charts
from hush.collector.http.endpoints import endpoint
from hush.collector.http.problems import Refused
from hush.collector.http.responses import as_json
from hush.collector.http.visible import Visible

_CHARTS = """
import json
from hush.plots import panels
print(json.dumps({"charts": panels.named(), "themes": {"light": panels.theme("light"), "dark": panels.theme("dark")}}))
"""


@lru_cache(maxsize=1)
def made() -> bytes:
    """Return the specifications of all charts. They need Altair, which takes a second to load."""
    if find_spec("altair") is None:
        raise Refused("not-found", "charts need: pip install 'hush-ldp[plot]'")
    return msgspec.json.encode(msgspec.json.decode(apart.output_of(_CHARTS), type=Charts))


class ChartHandlers:
    """The endpoint of charts."""

    def __init__(self, visible: Visible) -> None:
        self._shared = visible.shared

    @endpoint("GET", "/charts", "Specifications of the dashboard's charts", role="read", answers=Charts)
    async def charts(self, request: Request) -> Response:
        """Answer with the specifications of all charts."""
        try:
            text = await self._shared.get("charts", 0, made)
        except (OSError, subprocess.SubprocessError):
            raise Refused("failed", "the charts could not be made") from None
        return as_json(text, headers={"Cache-Control": "no-cache"})
