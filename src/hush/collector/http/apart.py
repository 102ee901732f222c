"""Work in a process of its own: of libraries that would hold up every thread of this one while they load or run."""

from __future__ import annotations

import subprocess
import sys

SECONDS = 120


def output_of(program: str) -> bytes:
    """Return what a Python program prints. This takes seconds. An error of its own ends in SubprocessError."""
    # -P, as nothing in the current folder may be imported.
    command = [sys.executable, "-P", "-c", program]
    return subprocess.run(command, capture_output=True, check=True, timeout=SECONDS).stdout  # noqa: S603
