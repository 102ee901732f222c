"""The pages for people: the form at `/`, the dashboard at `/dashboard`, and what they load, all from here.

The files in `static/` are built from `web/` by `make web`. No page loads anything from another host, and the policy
that is sent along makes browsers refuse to.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from hush.collector import asked
from hush.collector.endpoints import Endpoint, Parameter
from hush.collector.problems import Refused

PAGES = {"/": "form.html", "/dashboard": "dashboard.html", "/explanation": "explanation.html"}
TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # an address may hold a token
    "X-Content-Type-Options": "nosniff",
}
VEGA = "vega.js"


@dataclass(frozen=True)
class File:
    """A file as it is sent."""

    content: bytes
    media_type: str
    tag: str


def _file(name: str, content: bytes) -> File:
    return File(content, TYPES[name.rpartition(".")[2]], hashlib.sha256(content).hexdigest()[:32])


@lru_cache(maxsize=1)
def static() -> dict[str, File]:
    """Return the files that come with hush, by name."""
    folder = files("hush.collector").joinpath("static")
    return {found.name: _file(found.name, found.read_bytes()) for found in folder.iterdir() if "." in found.name}


@cache
def vega() -> File:
    """Return Vega-Lite for browsers, as vl-convert brings it; making it takes seconds, once."""
    try:
        import vl_convert
    except ModuleNotFoundError:
        raise Refused("not-found", "charts need: pip install 'hush[plot]'") from None
    return _file(VEGA, vl_convert.javascript_bundle("window.vega = vega; window.vegaEmbed = vegaEmbed;").encode())


async def find(name: str) -> File:
    """Return a file by its name."""
    if name == VEGA:
        return await asyncio.to_thread(vega)
    found = static().get(name)
    if found is None:
        raise Refused("not-found")
    return found


def sent(request: Request, file: File) -> Response:
    """Return a file as a response, or only that it has not changed."""
    headers = POLICY | {"ETag": f'"{file.tag}"', "Cache-Control": "no-cache"}
    if asked.has_tag(request, file.tag):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)


def endpoints() -> Sequence[Endpoint]:
    """Return where pages are. They are for everybody: what they show is asked for with the roles of the interface."""
    chosen = (
        Parameter("plan", "string", "the id of a plan", None),
        Parameter("training", "string", "the name of a training", None),
    )

    def page(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            return sent(request, await find(name))

        return handle

    async def file(request: Request) -> Response:
        return sent(request, await find(str(request.path_params["file"])))

    return (
        *(
            Endpoint("GET", path, name, page(name), None, None, parameters=chosen, also=("text/html",))
            for path, name in PAGES.items()
        ),
        Endpoint("GET", "/pages/{file}", "What pages load", file, None, None),
    )
