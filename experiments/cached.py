"""Many trainings, by several processes; each result is kept, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Protocol, TypeVar

CACHE = Path(__file__).parent / "cache"
VERSION = 3  # of what is kept: raise it when training changes

Row = dict[str, Any]


class Job(Protocol):
    """What is to be done, and hashable."""

    @property
    def parameters(self) -> list[Any]:
        """All that the result depends on, as JSON values."""


J = TypeVar("J", bound=Job)


def path_of(job: Job) -> Path:
    """Return where the result of a job is kept."""
    text = json.dumps([VERSION, *job.parameters], sort_keys=True)
    return CACHE / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


def run(jobs: Sequence[J], work: Callable[[J], Row], processes: int, what: str) -> dict[J, Row]:
    """Return the results of all jobs: those that are kept, and the others by so many processes."""
    CACHE.mkdir(exist_ok=True)
    done = {job: json.loads(path_of(job).read_text(encoding="utf-8")) for job in jobs if path_of(job).exists()}
    waiting = [job for job in jobs if job not in done]
    for job, found in watched(waiting, work, processes, what):
        path_of(job).write_text(json.dumps(found), encoding="utf-8")
        done[job] = found
    return done


_work: Callable[[Any], Row]  # processes are forked off after it is set, with all the people in memory


def _timed(job: Any) -> tuple[Any, Row]:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _work(job)
    return job, found | {"seconds": time.process_time() - start}


def watched(jobs: Sequence[Any], work: Callable[[Any], Row], processes: int, what: str) -> Iterator[tuple[Any, Row]]:
    """Do all jobs with so many processes, and show how far it is."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    global _work
    _work = work
    columns = (*Progress.get_default_columns()[:-1], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not jobs) as progress:
        task = progress.add_task(what, total=len(jobs))
        if processes == 1:
            for job in jobs:
                yield _timed(job)
                progress.advance(task)
            return
        with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=40) as pool:
            for found in pool.imap_unordered(_timed, jobs):
                yield found
                progress.advance(task)


def mean_and_error(values: list[float]) -> tuple[float, float | None]:
    """Return the mean, and its standard error if there are several values."""
    if len(values) < 2:
        return values[0], None
    return mean(values), stdev(values) / math.sqrt(len(values))
