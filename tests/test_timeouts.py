"""A test that hangs fails, and the others go on: alone, and on workers beside each other."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HANGING = """
import signal, subprocess, sys, threading, time, pytest

def test_sleeps():
    time.sleep(600)

def test_waits_for_a_thread():
    threading.Event().wait()

def test_waits_for_a_child():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        child.communicate()
    finally:
        child.kill()
        child.wait()

@pytest.mark.timeout(600)
def test_has_its_own():
    time.sleep(1.5)

def test_handles_signals():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    signal.raise_signal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]
"""


@pytest.mark.parametrize("workers", [["-p", "no:xdist"], ["-n", "1"]], ids=["alone", "worker"])
def test_what_hangs_fails(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGING)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 1\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *workers]
    result = subprocess.run(  # noqa: S603
        command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert "3 failed, 2 passed" in result.stdout, result.stdout
    assert result.stdout.count("Timeout (>1.0s) from pytest-timeout") >= 3


def test_every_test_has_a_limit() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert 0 < settings["timeout"] <= 600
