"""The machine on which times are measured, and what others do on it meanwhile."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any, NamedTuple


def machine() -> dict[str, Any]:
    """Return what is measured with, and how busy it is before."""
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


class Computed(NamedTuple):
    """Seconds: those that all processors computed, those that this process did, and those that passed."""

    every: float
    own: float
    passed: float


def computed() -> Computed | None:
    """Return the seconds so far, where Linux says them."""
    file = Path("/proc/stat")
    if not file.exists():
        return None
    user, nice, system, _idle, _waits, *rest = map(int, file.read_text(encoding="utf-8").split("\n")[0].split()[1:])
    ticks = user + nice + system + sum(rest[:3])  # interrupts, and what other machines of the same host took
    return Computed(ticks / os.sysconf("SC_CLK_TCK"), time.process_time(), time.monotonic())


def others(before: Computed | None, after: Computed | None, cores: int | None = None) -> float | None:
    """Return the share of all processors' time that other programs used."""
    if before is None or after is None:
        return None
    every, own, passed = (b - a for a, b in zip(before, after, strict=True))
    return round(max(0.0, every - own) / (passed * (cores or os.cpu_count() or 1)), 3)
