"""The pages for people: forms at `/` and `/train`, the dashboard at `/dashboard`, that of operators at `/desk`.

The files in `static/` are built from `web/` by `make web`. No page loads anything from another host; a content
security policy makes browsers enforce that. If the collector names a relay, the form may also send to that, and to
nobody else. No other site may show a page in a frame, unless the settings name it for the form.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.util import find_spec

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import apart, requests
from hush.collector.http.endpoints import Endpoint
from hush.collector.http.problems import Refused
from hush.collector.opening import Opener
from hush.collector.settings import Settings

PAGES = {
    "/": "form.html",
    "/train": "train.html",
    "/dashboard": "dashboard.html",
    "/desk": "desk.html",
    "/explanation": "explanation.html",
}
TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "jpg": "image/jpeg",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webp": "image/webp",
}
POLICY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # an address may hold a token
    "X-Content-Type-Options": "nosniff",
}
VEGA = "vega.js"
# Minifying removed all notices from the bundle. They must be passed on with it.
NOTICE = b"/*! Vega, Vega-Lite, Vega-Embed, D3 and others; authors and licences: /pages/notices.txt */\n"
REMEMBERED = 60  # seconds


@dataclass(frozen=True)
class File:
    """A file as it is sent: `packed` with gzip for clients that read it."""

    content: bytes
    packed: bytes
    media_type: str
    tag: str


def _file(name: str, content: bytes) -> File:
    tag = hashlib.sha256(content).hexdigest()[:32]
    return File(content, gzip.compress(content, mtime=0), TYPES[name.rpartition(".")[2]], tag)


@lru_cache(maxsize=1)
def static() -> dict[str, File]:
    """Return the files that come with hush, by name."""
    folder = files("hush.collector").joinpath("static")
    return {found.name: _file(found.name, found.read_bytes()) for found in folder.iterdir() if "." in found.name}


_BUNDLE = """
import sys, vl_convert
sys.stdout.buffer.write(vl_convert.javascript_bundle("window.vega = vega; window.vegaEmbed = vegaEmbed;").encode())
"""


@lru_cache(maxsize=1)
def vega() -> File:
    """Return Vega-Lite for browsers, from vl-convert. This takes seconds."""
    if find_spec("vl_convert") is None:
        raise Refused("not-found", "charts need: pip install 'hush-ldp[plot]'")
    return _file(VEGA, NOTICE + apart.output_of(_BUNDLE))


class Bundle:
    """The bundle of Vega-Lite: made once, by its own thread. Requests that come meanwhile wait without a thread.

    A failure is remembered for a while.
    """

    def __init__(self, make: Callable[[], File] = vega, clock: Callable[[], float] = time.monotonic) -> None:
        self._make, self._clock = make, clock
        self._task: asyncio.Task[File] | None = None
        self._since = 0.0

    async def file(self) -> File:
        """Return it, or refuse."""
        if self._task is None or (self._failed() and self._clock() - self._since > REMEMBERED):
            self._since = self._clock()
            self._task = asyncio.create_task(self._made())
        try:
            return await asyncio.shield(self._task)
        except Refused:
            raise
        except (OSError, subprocess.SubprocessError):
            raise Refused("failed", "the charts could not be made") from None

    def _failed(self) -> bool:
        return self._task is not None and self._task.done() and self._task.exception() is not None

    async def _made(self) -> File:
        with ThreadPoolExecutor(1) as own:
            return await asyncio.get_running_loop().run_in_executor(own, self._make)


def find(name: str) -> File:
    """Return a file by its name."""
    found = static().get(name)
    if found is None:
        raise Refused("not-found")
    return found


@lru_cache(maxsize=8)
def dealing(file: File) -> File:
    """Return a page for a collector that deals the questions."""
    return _file("page.html", file.content.replace(b'data-tickets="no"', b'data-tickets="yes"'))


@lru_cache(maxsize=8)
def relaying(file: File, url: str, key: str) -> File:
    """Return a page for a collector that hears from a relay alone. Neither text can end an attribute."""
    named = f'data-relay="{url}" data-key="{key}"'
    return _file("page.html", file.content.replace(b'data-relay=""', named.encode()))


@lru_cache(maxsize=8)
def speaking(file: File, tags: tuple[str, ...]) -> File:
    """Return a page that knows further languages. No tag can end an attribute."""
    return _file("page.html", file.content.replace(b'data-languages=""', f'data-languages="{" ".join(tags)}"'.encode()))


@lru_cache(maxsize=8)
def previewing(file: File) -> File:
    """Return a form that sends nothing."""
    return _file("page.html", file.content.replace(b'data-preview="no"', b'data-preview="yes"'))


def english(what: str = "words") -> dict[str, str]:
    """Return the form's own words in English, or those of the explanation."""
    words: dict[str, str] = json.loads(find(f"{what}-en.json").content)
    return words


def translated(words: Mapping[str, Mapping[str, str]]) -> dict[str, File]:
    """Return the operator's words in further languages as files: for the form, and perhaps for the explanation."""
    made: dict[str, File] = {}
    for tag, found in words.items():
        for what in ("words", "explanation"):
            if sentences := {key: found[key] for key in english(what) if key in found}:
                made[f"{what}-{tag}.json"] = _file("words.json", json.dumps(sentences).encode())
    return made


def framed(policy: dict[str, str], origins: tuple[str, ...]) -> dict[str, str]:
    """Return a policy that lets some sites show the page in a frame."""
    name = "Content-Security-Policy"
    return {name: policy[name].replace("frame-ancestors 'none'", f"frame-ancestors {' '.join(origins)}")}


def sending(origin: str) -> dict[str, str]:
    """Return the policy of a page that may send to one other origin."""
    name = "Content-Security-Policy"
    return {name: POLICY[name].replace("connect-src 'self'", f"connect-src 'self' {origin}")}


def sent(request: Request, file: File, policy: dict[str, str] | None = None) -> Response:
    """Return a file as a response, or 304 if the client has it. `policy` replaces headers of `POLICY`."""
    headers = (
        POLICY | (policy or {}) | {"ETag": f'W/"{file.tag}"', "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    )
    if requests.has_tag(request, file.tag):
        return Response(status_code=304, headers=headers)
    if requests.accepts_gzip(request):
        return Response(file.packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=file.media_type)
    return Response(file.content, headers=headers, media_type=file.media_type)


def endpoints(settings: Settings) -> Sequence[Endpoint]:
    """Return the endpoints of pages. Everybody may load them; the data that they show needs the roles of the interface.

    The form knows whether the collector deals the questions by tickets, and the relay through which it must send. Forms
    are left out if nobody could send by them. Pages take any query, as parameters that others append to a link must not
    break it.
    """
    words = translated(settings.words)
    words |= {name: _file(name, content) for name, content in settings.images.items()}
    relay = settings.relay
    # Through a relay nobody takes part in a training.
    hidden = ({"/train"} | ({"/"} if relay is None else set())) if settings.sealed_only else set()

    def page(name: str) -> Callable[[Request], Awaitable[Response]]:
        file = dealing(find(name)) if settings.tickets else find(name)  # packed now, and not while requests wait
        policy = None
        if relay is not None and name == PAGES["/"]:
            file = relaying(file, relay.url, Opener(settings.sealed_key).key.public.hex())
            policy = sending(relay.origin)
        if settings.embed and name == PAGES["/"]:
            policy = framed(policy or POLICY, tuple(sorted(settings.embed)))
        what = {PAGES["/"]: "words", PAGES["/train"]: "words", PAGES["/explanation"]: "explanation"}.get(name)
        if tags := tuple(sorted(tag for tag in settings.words if f"{what}-{tag}.json" in words)):
            file = speaking(file, tags)
        if settings.preview:
            file = previewing(file)

        async def handle(request: Request) -> Response:
            return sent(request, file, policy)

        return handle

    bundle = Bundle()

    async def file(request: Request) -> Response:
        name = str(request.path_params["file"])
        if (own := words.get(name)) is not None:
            return sent(request, own)
        return sent(request, await bundle.file() if name == VEGA else find(name))

    return (
        *(
            Endpoint("GET", path, name, page(name), None, None, also=("text/html",), any_query=True)
            for path, name in PAGES.items()
            if path not in hidden
        ),
        Endpoint("GET", "/pages/{file}", "Files that pages load", file, None, None),
    )
