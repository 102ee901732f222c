"""Collectors restart behind a real HAProxy, and lose no request. `tests.collector.restarts` does it at full size."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.collector.restarts import Restarts

needs_haproxy = pytest.mark.skipif(
    shutil.which("haproxy") is None and shutil.which("haproxy", path="/usr/sbin") is None,
    reason="this test needs HAProxy (Debian: apt-get install haproxy)",
)
CHECKS = "inter 100ms fall 3 rise 1"  # so that a notice of 5 seconds is more than enough on a busy machine


def restarted(folder: Path, notice: str) -> Restarts:
    found = Restarts(folder, notice=notice, checks=CHECKS, retries=0)
    found.run(restarts=2, requests=200, senders=8, seen=1.0)
    return found


@needs_haproxy
def test_no_request_is_lost(tmp_path: Path) -> None:
    found = restarted(tmp_path, "5s")
    assert found.answers == {"202": found.answers.total()}, found.examples
    assert found.counted() == found.answers.total() >= 200


@needs_haproxy
def test_a_door_that_closes_at_once_is_caught(tmp_path: Path) -> None:
    """The twin: as it was. What was acknowledged is counted even so."""
    found = restarted(tmp_path, "0s")
    assert found.answers["202"] < found.answers.total()
    assert found.counted() >= found.answers["202"]
