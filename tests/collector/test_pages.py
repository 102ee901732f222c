"""The files of pages: packed or not, unchanged or not, and the bundle that takes seconds to make."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
from pathlib import Path

import pytest

from hush.collector.http import pages
from hush.collector.http.problems import Refused
from hush.collector.settings import RelayNamed, Settings
from tests.collector.served import Served, serving


def test_files_are_packed_for_those_who_ask(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        plain = served.client.get("/pages/hush.js", headers={"accept-encoding": "identity"})
        packed = served.raw(
            b"GET /pages/hush.js HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br, gzip;q=0.5\r\nConnection: close\r\n\r\n"
        )
        head, _, body = packed.partition(b"\r\n\r\n")
        assert b"content-encoding: gzip" in head.lower()
        assert b"vary: accept-encoding" in head.lower()
        assert gzip.decompress(body) == plain.content == pages.static()["hush.js"].content
        refused = served.client.get("/pages/hush.js", headers={"accept-encoding": "gzip;q=0"})
        assert "content-encoding" not in refused.headers
        again = served.client.get("/pages/hush.js", headers={"if-none-match": plain.headers["etag"]})
        assert again.status_code == 304
        check_queries(served)


def check_queries(served: Served) -> None:
    assert served.client.get("/?plan=x&fbclid=1").status_code == 200
    assert served.client.get("/healthz?fbclid=1").status_code == 400


def test_forms_are_there_where_somebody_could_send_by_them() -> None:
    def paths(settings: Settings) -> set[str]:
        return {found.path for found in pages.endpoints(settings)}

    relay = RelayNamed("https://relay.example.net", 1e-6, own=40)
    assert {"/", "/train", "/dashboard"} <= paths(Settings())
    assert not {"/", "/train"} & paths(Settings(sealed_key=bytes(32), sealed_only=True))
    assert {"/", "/train"} & paths(Settings(sealed_key=bytes(range(32)), sealed_only=True, relay=relay)) == {"/"}


def test_the_bundle_is_made_once_and_failures_are_remembered() -> None:
    made, now = [], [0.0]

    def make() -> pages.File:
        made.append(now[0])
        if len(made) < 3:
            raise subprocess.CalledProcessError(1, "bundler")
        return pages.static()["hush.js"]

    async def ask() -> None:
        bundle = pages.Bundle(make, lambda: now[0])
        for _ in range(2):  # the second is told at once that it failed
            answers = await asyncio.gather(*(bundle.file() for _ in range(5)), return_exceptions=True)
            assert all(isinstance(answer, Refused) for answer in answers)
        assert made == [0.0]
        now[0] = pages.REMEMBERED + 1
        with pytest.raises(Refused):
            await bundle.file()
        now[0] = 2 * pages.REMEMBERED + 2
        for _ in range(3):
            assert await bundle.file() is pages.static()["hush.js"]
        assert len(made) == 3

    asyncio.run(ask())


def test_the_bundle_does_not_import_what_lies_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vl_convert.py").write_text("raise SystemExit('from the current folder')")
    monkeypatch.chdir(tmp_path)
    pages.vega.cache_clear()
    assert b"vegaEmbed" in pages.vega().content


def test_licences_of_the_charts_are_served_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as served:
        notices = served.client.get("/pages/notices.txt")
        assert notices.headers["content-type"] == "text/plain; charset=utf-8"
        assert "University of Washington Interactive Data Lab" in notices.text
        assert 'href="/pages/notices.txt"' in served.client.get("/dashboard").text
    bundle = subprocess.CompletedProcess([], 0, stdout=b"window.vega = 1;")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: bundle)
    comment, _, code = pages.vega.__wrapped__().content.partition(b"\n")
    assert comment.startswith(b"/*!")
    assert comment.endswith(b"/pages/notices.txt */")
    assert code == bundle.stdout


def test_pages_are_packed_before_the_first_is_asked_for() -> None:
    """It takes longer than others should wait."""
    pages.static.cache_clear()
    pages.endpoints(Settings())
    assert pages.static.cache_info().currsize == 1
