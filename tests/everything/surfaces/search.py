"""Made-up plans, each on every surface of hush.

    make plans N=5000                                            resumable: run it again to go on
    python -m tests.everything.surfaces.search --plans 20 --pages 0
    python -m tests.everything.surfaces.search --plans 5000 --share 0.06 -o FILE    a drawn part, as in CI

Findings go to a file of JSON lines, one for each plan, with what it took. A plan that stands there is not tried again.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.progress import track

import hush
from tests.collector.served import Served, anybody, serving
from tests.everything.plans import Case, case
from tests.everything.surfaces.answers import Answers, Browser, built
from tests.everything.surfaces.calls import Calls
from tests.everything.surfaces.commands import Commands
from tests.everything.surfaces.lives import Life
from tests.web.replaying import NODE

PAGES = 20
"""Every so many plans, the pages are opened in a browser."""
RENEWED = 200
"""A collector serves so many plans, and a new one the next ones."""


@dataclass
class Found:
    """What a plan brought to light."""

    seed: int
    findings: list[str]
    seconds: dict[str, float]
    refused: str = ""


@dataclass
class Bench:
    """What all plans are tried with: a folder, a collector, a process of Node, a program in Go, perhaps a browser."""

    stack: ExitStack
    pages: int = PAGES
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="hush plans ")))
    served: Served | None = None
    count: int = 0

    def __post_init__(self) -> None:
        self.stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.go = built(self.folder)
        self.browser = None if NODE is None else Browser(self.folder)
        if self.browser is not None:
            self.stack.callback(self.browser.close)
        self._collector = self.stack.enter_context(ExitStack())

    def collector(self) -> Served:
        """Return the collector of all, or a new one after many plans."""
        if self.served is None or self.count % RENEWED == 0:
            self._collector.close()
            place = self.folder / f"collector {self.count}"
            place.mkdir()
            self.served = self._collector.enter_context(serving(place, anybody(), plans=[], trainings={}))
        self.count += 1
        return self.served

    def tried(self, one: Case, only: str = "", share: float = 1.0) -> Found:
        """Try a plan on every surface, or on one. `share`: the part of the commands and calls that is tried."""
        found, seconds = [], {}
        life = Life(one, self.folder / f"{one.seed}")
        try:
            life.plan  # noqa: B018  # it is designed
        except hush.DesignError as error:
            return Found(one.seed, [], {}, str(error))
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
            return Found(one.seed, [f"hush.design: {type(error).__name__}: {error}"], {})
        life.folder.mkdir()
        for name, surface in self._surfaces(life, share):
            if only and name != only:
                continue
            began = time.process_time()
            try:
                found += [f"{name}: {finding}".replace(str(self.folder), "") for finding in surface()]
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
                last = traceback.extract_tb(error.__traceback__)[-1]
                found.append(f"{name}: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {error}")
            seconds[name] = round(time.process_time() - began, 2)
        shutil.rmtree(life.folder, ignore_errors=True)
        return Found(one.seed, found, seconds)

    def _surfaces(self, life: Life, share: float) -> Iterator[tuple[str, Callable[[], Iterable[str]]]]:
        served = self.collector()
        yield "Python", Calls(life, share)
        yield "commands", Commands(life, share)
        if self.browser is not None:
            yield "browser client", lambda browser=self.browser: browser(life)  # type: ignore[misc]
        yield "collector", Answers(life, served, self.go, share)
        if self.pages and life.case.seed % self.pages == 0:
            from tests.everything.surfaces.screens import screens

            yield "pages", lambda: screens(life, served)


def known(path: Path | None) -> dict[int, dict[str, Any]]:
    """Return the plans that a file has."""
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["seed"]: row for row in rows}


def main() -> None:
    """Search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--plans", type=int, default=20)
    parser.add_argument("--pages", type=int, default=PAGES, help="pages in a browser for each so many plans; 0: none")
    parser.add_argument("--only", default="", help="one surface alone")
    parser.add_argument("--share", type=float, default=1.0, help="the part of the commands, calls and addresses tried")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so much time")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    done = known(options.output)
    seeds = [seed for seed in range(options.first, options.first + options.plans) if seed not in done]
    start = time.monotonic()
    with ExitStack() as stack:
        bench = Bench(stack, options.pages)
        for seed in track(seeds, "plans", disable=len(seeds) < 2):
            if time.monotonic() - start > options.seconds:
                break
            one = case(seed)
            found = bench.tried(one, options.only, options.share)
            done[seed] = vars(found)
            if found.findings:
                print(one)
                for finding in found.findings:
                    print("  ", finding[:600], flush=True)
            if options.output:
                with options.output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(vars(found)) + "\n")
    report(done)


def report(done: dict[int, dict[str, Any]]) -> None:
    """Say what was found, and what it took."""
    rows = list(done.values())
    designed = [row for row in rows if not row["refused"]]
    found = sum(len(row["findings"]) for row in rows)
    print(f"{len(rows):,} plans, {len(rows) - len(designed):,} refused in words, {found:,} findings")
    names = {name for row in designed for name in row["seconds"]}
    for name in sorted(names):
        took = sorted((row["seconds"].get(name, 0.0), row["seed"]) for row in designed)
        total, (most, seed) = sum(one for one, _ in took), took[-1]
        print(f"  {name}: {total / len(took):.2f} s of processor time for each, at most {most:.0f} s (plan {seed})")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  memory: {most:,.0f} MiB at most")
    for reason in sorted({row["refused"] for row in rows if row["refused"]})[:20]:
        print(f"  refused: {reason[:200]}")


if __name__ == "__main__":
    random.seed(0)
    main()
