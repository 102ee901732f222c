"""How the batch benchmarks measure: against yardsticks, in turns, in processor time.

Nanoseconds say little beyond one machine, and on a shared one they change from minute to minute. So each action runs
in turns with the yardsticks, and what is compared is the best of each: noise then has to hit one of them every time
to show. Processor time does not count the waiting for a core that somebody else has.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hush import Plan
from hush.core.coins import Coins
from hush.device.coins import SystemCoins
from hush.device.randomise import randomise_from

Array = np.ndarray[Any, Any]
Action = Callable[[], object]

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
MEASURED = ROOT / "docs" / "measured"
LIBRARIES = ("numpy", "numba", "pyarrow", "cryptography")
ID_WORDS = 2  # what a report's random id takes; the batch engine draws it only if asked
LEAST = 0.02  # seconds: shorter actions are repeated within one timing
SILENCE = 2.0  # seconds after which somebody who waits wants to know why

_started = time.monotonic()


def progress(text: str) -> None:
    """Say what is being measured, on the terminal alone."""
    print(f"[{time.monotonic() - _started:6.1f} s] {text}", file=sys.stderr, flush=True)


def race(
    actions: Mapping[str, Action],
    repeats: int,
    clock: Callable[[], float] = time.process_time,
    walls: dict[str, float] | None = None,
) -> dict[str, float]:
    """Return the best seconds of each action. They run in turns, after one run that is not counted.

    `walls` gets the best seconds by a clock on the wall, in the same turns.
    """
    loops = {}
    for name, action in actions.items():
        action()  # compiles, and warms buffers
        start = clock()
        action()
        loops[name] = max(1, round(LEAST / max(clock() - start, 1e-6)))
    best = dict.fromkeys(actions, float("inf"))
    spoken = time.monotonic()
    for turn in range(repeats):
        for name, action in actions.items():
            start, wall = clock(), time.perf_counter()
            for _ in range(loops[name]):
                action()
            best[name] = min(best[name], (clock() - start) / loops[name])
            if walls is not None:
                walls[name] = min(walls.get(name, float("inf")), (time.perf_counter() - wall) / loops[name])
        if time.monotonic() - spoken > SILENCE:
            progress(f"  {turn + 1} of {repeats} turns")
            spoken = time.monotonic()
    return best


def copying(n: int) -> Action:
    """Return the first yardstick: a float64 column is copied into a buffer that was written before."""
    source, target = np.random.default_rng().random(n), np.zeros(n)
    return lambda: np.copyto(target, source)


class CountingCoins(Coins):
    """Words of the operating system, counted."""

    def __init__(self) -> None:
        self.count = 0
        self._source = SystemCoins()

    def word(self) -> int:
        """Return the next word."""
        self.count += 1
        return self._source.word()


def words_per_person(plan: Plan, records: Sequence[Mapping[str, Any]]) -> float:
    """Return how many words one person takes on average, by counting them on the scalar path.

    The batch engine draws the same words in the same order, so this is also what its keystream has to supply.
    """
    coins = CountingCoins()
    for record in records:
        randomise_from(coins, plan, record)
    return coins.count / len(records) - ID_WORDS


def machine() -> dict[str, Any]:
    """Return what the numbers depend on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "libraries": {name: version for name in LIBRARIES if (version := _version(name))},
        "load": round(os.getloadavg()[0], 2),
    }


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:  # the engines' environment does without some
        return None


def _processor() -> str:
    try:
        fields = json.loads(subprocess.run(["lscpu", "-J"], capture_output=True, check=True, text=True).stdout)["lscpu"]  # noqa: S607
        names = {field["field"]: field["data"] for field in fields}
        return f"{names.get('Vendor ID:', '')} {names['Model name:']}".strip()
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError):
        return platform.processor() or platform.machine()


def write(name: str, results: Mapping[str, Any], keep: bool) -> None:
    """Write results as JSON: into benchmarks/results, and if they are to be kept for the documents, there too.

    They say how long it took by the clock since the start, unless they say so already.
    """
    text = json.dumps({"wall_s": round(time.monotonic() - _started, 1), **results}, indent=1) + "\n"
    for folder in (RESULTS, MEASURED) if keep else (RESULTS,):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
