"""The ledger in a real browser: its database is shared by tabs, and outlives them."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hush.core.report import Report
from tests.collector.served import PLAN, RECORD
from tests.web.replaying import BUILT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="the ledger is tested with Chromium, which is not here")

# Four frames ask at once, as four tabs would; the page says what they were told.
PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module">
const frames = await Promise.all([0, 1, 2, 3].map((i) => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  frame.src = "/frame";
  addEventListener("message", (event) => event.source === frame.contentWindow && resolve(event.data));
  document.body.append(frame);
})));
await fetch("/result", { method: "POST", body: JSON.stringify(frames) });
</script><body>"""
FRAME = """<!doctype html><meta charset="utf-8"><script type="module">
import * as hush from "/hush.js";
const seen = {};
try {
  const plan = await hush.Plan.parse(PLAN);
  const ledger = await hush.Ledger.open({ cap: 1 });
  const report = await ledger.randomise(plan, RECORD);
  seen.report = JSON.stringify(report);
  seen.likelihood = hush.likelihood(plan, ...report.answers[0], RECORD);
  seen.other = await ledger.randomise(await hush.Plan.parse(OTHER), RECORD).then(String, (error) => error.name);
  seen.state = (await ledger.sending(plan)).state;
  seen.again = await ledger.draw(plan, RECORD);
  seen.spent = await ledger.spent();
  seen.cap = await hush.Ledger.open({ cap: 2 }).then(String, (error) => error.name);
} catch (error) {
  seen.error = String(error);
}
parent.postMessage(seen, "*");
</script>"""


@contextmanager
def page() -> Iterator[tuple[str, queue.Queue[Any]]]:
    """Serve the page, and hand on what it says."""
    said: queue.Queue[Any] = queue.Queue()
    other = PLAN.to_json().replace('"title":"one of four"', '"title":"again"')
    assert other != PLAN.to_json()
    frame = FRAME.replace("PLAN", json.dumps(PLAN.to_json())).replace("OTHER", json.dumps(other))
    files = {
        "/": ("text/html", PAGE.encode()),
        "/frame": ("text/html", frame.replace("RECORD", json.dumps(RECORD)).encode()),
        "/hush.js": ("text/javascript", BUILT.read_bytes()),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, content = files.get(self.path, ("text/plain", b""))
            self._send(kind, content)

        def do_POST(self) -> None:
            said.put(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self._send("text/plain", b"")

        def _send(self, kind: str, content: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", said
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def visited(url: str, said: queue.Queue[Any], profile: Path) -> list[dict[str, Any]]:
    """Open the page in a browser of its own, and return what it says."""
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    browser = subprocess.Popen(  # noqa: S603
        [CHROMIUM, *options, f"--user-data-dir={profile}", "--remote-debugging-port=0", url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        found: list[dict[str, Any]] = said.get(timeout=60)
        return found
    finally:
        browser.kill()  # as a power cut would: nothing is left to be written later
        browser.wait()


def test_tabs_share_one_report_which_outlives_the_browser(tmp_path: Path) -> None:
    with page() as (url, said):
        first = visited(url, said, tmp_path / "profile")
        again = visited(url, said, tmp_path / "profile")
        stranger = visited(url, said, tmp_path / "other")
    assert len(first) == len(again) == 4
    reports = {str(seen.get("report", seen.get("error"))) for seen in first + again}
    assert len(reports) == 1
    assert Report.from_json(PLAN, reports.pop()).plan == PLAN
    for seen in first + again:
        assert 0 < seen["likelihood"] < 1
        assert seen["other"] == "BudgetError"
        assert seen["state"] == "sending"
        assert seen["again"] is False
        assert seen["spent"] == "1.0"
        assert seen["cap"] == "LedgerError"
    assert stranger[0]["report"] != first[0]["report"]
