"""What every figure needs: settings, jobs that are done once and kept, and claims that hold or do not."""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Row = dict[str, Any]
EPSILONS = (0.5, 1.0, 2.0, 4.0)
VERSION = 2  # of what is kept: raise it when the meaning of a job changes


@dataclass(frozen=True)
class Settings:
    """How much is done. `runs`: how often a survey is repeated, by `people`; `learners`: whom models are tried on."""

    runs: int = 100
    people: int = 100_000
    learners: int = 2_200_000
    folds: int = 3
    repeats: int = 1
    epsilons: tuple[float, ...] = EPSILONS
    quick: bool = False


FULL = Settings()
QUICK = Settings(runs=8, people=60_000, learners=60_000, folds=3, repeats=1, quick=True)


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, what was measured, and whether it holds: None if the noise is too large to say.

    `why`: if it does not hold, or needs a word.
    """

    text: str
    measured: str
    holds: bool | None
    why: str = ""
    data: str = ""


class Figure(Protocol):
    """A module of this package."""

    TITLE: str
    PAPER: str

    def compute(self, bench: Bench) -> list[Row]:
        """Return all numbers."""

    def claims(self, rows: list[Row]) -> list[Claim]:
        """Return what the paper says about them."""

    def draw(self, rows: list[Row]) -> Any:
        """Return an Altair chart."""


_work: Callable[[Any], Any] | None = None


def _begin() -> None:
    """Make a child end when it is told to: the handlers of the command are not its own."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _done(job: Any) -> tuple[Any, Row]:
    assert _work is not None
    start = time.process_time()
    result = _work(job)
    return job, {"result": result, "seconds": time.process_time() - start}


@dataclass
class Bench:
    """Where figures are computed. Results are kept in a folder by what was asked, so that a stopped run goes on.

    `seconds` is the processor time of all results so far, kept ones included. `resumed`: whether some were kept.
    """

    settings: Settings
    cache: Path
    processes: int = 2
    data: Path | None = None
    watch: Callable[[str, int], Any] | None = None
    seconds: float = 0.0
    resumed: bool = False
    _populations: dict[str, Any] = field(default_factory=dict)

    def population(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a population, made once; of several the last is kept, as they are large."""
        if name not in self._populations:
            self._populations.clear()
            self._populations[name] = make()
        return self._populations[name]

    def run(self, what: str, jobs: Sequence[Any], work: Callable[[Any], Any]) -> dict[Any, Any]:
        """Return the result of each job, a frozen dataclass: from the folder, or computed by several processes."""
        self.cache.mkdir(parents=True, exist_ok=True)
        paths = {job: self.cache / f"{key(what, job)}.json" for job in jobs}
        found = {job: json.loads(path.read_text(encoding="utf-8")) for job, path in paths.items() if path.exists()}
        waiting = [job for job in jobs if job not in found]
        self.resumed |= bool(found)
        advance = self.watch(what, len(waiting)) if self.watch is not None and waiting else None
        for job, done in self._computed(waiting, work):
            draft = paths[job].with_suffix(f".{os.getpid()}")
            draft.write_text(json.dumps(done), encoding="utf-8")
            draft.replace(paths[job])
            found[job] = done
            if advance is not None:
                advance()
        self.seconds += sum(done["seconds"] for done in found.values())
        return {job: done["result"] for job, done in found.items()}

    def _computed(self, jobs: list[Any], work: Callable[[Any], Any]) -> Iterator[tuple[Any, Row]]:
        global _work
        _work = work  # children are forks, and find populations where they are
        if self.processes == 1 or len(jobs) < 2:
            yield from map(_done, jobs)
            return
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(min(self.processes, len(jobs)), context, _begin) as pool:
            try:
                for future in as_completed([pool.submit(_done, job) for job in jobs]):
                    yield future.result()  # raises if a process has died, instead of waiting for it
            finally:
                pool.shutdown(cancel_futures=True)


def key(what: str, job: Any) -> str:
    """Return the name under which a result is kept: a hash of everything that it depends on."""
    assert is_dataclass(job)
    assert not isinstance(job, type)
    text = json.dumps([VERSION, what, type(job).__name__, asdict(job)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def mean_and_error(values: Iterable[float]) -> tuple[float, float | None]:
    """Return the mean, and its standard error if there are several values."""
    found = np.asarray(list(values), float)
    if len(found) < 2:
        return float(found[0]), None
    return float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found)))


def worst(ratios: dict[str, float]) -> tuple[str, float]:
    """Return the setting with the largest ratio, and the ratio."""
    name = max(ratios, key=lambda setting: ratios[setting])
    return name, ratios[name]
