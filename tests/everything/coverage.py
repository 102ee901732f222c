"""Do all intervals keep their word? Made-up plans, crowds that are not smooth, few people and many.

    python -m tests.everything.coverage --cases 100 --runs 400 -o targets.jsonl     resumable
    python -m tests.everything.coverage --report targets.jsonl

For every target it counts in how many collections the interval misses the truth. A target that is missed in more than 8
of 100 is collected anew, ten times as often, and only what these say is held against hush: it is a finding if they are
significantly below 93 % (an exact binomial test at 1e-5). So are rows without a width, ends in the wrong order, and
calls that fail. A collection whose row is refused in words misses nothing, and is counted beside.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
import traceback
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

import hush
from hush.core.blanket import blanket_of
from hush.errors import DesignError, EstimateError, PlanError
from hush.server.binomial import at_least
from hush.server.tally import Tally, with_own
from tests.everything.crowds import Crowd, crowd
from tests.everything.draws import own_counts, tallies
from tests.everything.plans import Case, case
from tests.everything.targets import Said, Target, Truths, changes, readers

PROMISED, SURE = 0.93, 1e-5
AGAIN, TIMES = 0.92, 10
MOST = 2000
"""People of a collection, at most: with more of them intervals are normal ones."""


@dataclass
class Score:
    """How a target fared: of `runs` collections, how many missed it, were refused, or had a row that cannot be."""

    runs: int = 0
    missed: int = 0
    refused: int = 0
    flat: int = 0
    faults: int = 0
    width: float = 0.0
    example: str = ""

    def add(self, said: Said) -> None:
        """Count a row."""
        self.runs += 1
        self.refused += said.refused
        ordered = said.low <= said.high
        if not said.refused:
            inside = min(max(said.point, said.least), said.most)
            spare = 1e-9 * (said.most / 2 - said.least / 2)
            ordered = ordered and said.low - spare <= inside <= said.high + spare
        if not ordered:
            self.faults += 1
            self.example = self.example or f"{said}"
        if said.refused or math.isnan(said.truth):
            return
        self.width += said.width
        self.flat += said.flat
        if not said.covers:
            self.missed += 1
            ends = f"{said.low:.6g} .. {said.high:.6g}"
            self.example = self.example or f"{said.point:.6g} in {ends}, truth {said.truth:.6g}"

    @property
    def coverage(self) -> float:
        """The part of the collections that did not miss."""
        return 1 - self.missed / self.runs if self.runs else 1.0

    @property
    def dishonest(self) -> bool:
        """Whether so many misses are next to impossible for an interval that covers as promised."""
        return at_least(self.missed, self.runs, 1 - PROMISED) < SURE


@dataclass
class Measured:
    """The scores of all targets of a case, and what failed in other ways."""

    scores: dict[Target, Score] = field(default_factory=lambda: defaultdict(Score))
    readers: dict[Target, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def relayed(one: Case) -> Case:
    """Return a case without a relay, if no relay may add reports to its plan."""
    if not one.own:
        return one
    try:
        blanket_of(one.design())
    except PlanError:
        return Case(one.seed, one.schema, one.epsilon, one.options, one.people)
    return one


def measure(
    one: Case, runs: int, n: int, again: str = "", only: Container[str] | None = None, here: Crowd | None = None
) -> Measured:
    """Return how the targets of a case fare in so many collections: all of them, or those of some readers.

    `again` names another set of collections. `here`: the crowd, if it is not the one of the case.
    """
    plan, seed, own = one.design(), f"{one.seed}{again}", one.own * one.batches
    here, there = here or crowd(plan.schema, f"{one.seed}"), crowd(plan.schema, f"{one.seed} other")
    truths, others = Truths(plan.schema, here), Truths(plan.schema, there)
    rng = np.random.default_rng(random.Random(f"own reports {seed}").getrandbits(64))
    found = Measured()
    changing = only is None or "change" in only
    later = tallies(plan, there, n, max(1, runs // 4) if changing else 0, f"{seed} later")

    def behind(tally: Tally) -> Tally:
        return with_own(tally + own_counts(plan, own, rng), own) if own else tally

    for tally in map(behind, tallies(plan, here, n, runs, seed)):
        other = next(later, None)
        for name, reader in readers(plan):
            if only is None or name in only:
                _read(name, reader(tally, truths), found)
        if other is not None:
            _read("change", changes(tally, behind(other), truths, others), found)
    return found


def _read(name: str, rows: Iterable[Said], found: Measured) -> None:
    """Count the rows of a reader. It may refuse them all, in words."""
    try:
        for row in rows:
            found.scores[row.target].add(row)
            found.readers[row.target] = name
    except EstimateError:
        found.scores[Target(f"refused: {name.split()[0]}", (name,))].refused += 1
    except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
        last = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{name}: {type(error).__name__}: {error} at {Path(last.filename).name}:{last.lineno}"
        if told not in found.failures:
            found.failures.append(told)


def tried(seed: int, runs: int, most: int = MOST) -> dict[str, Any] | None:
    """Return what a case shows, as JSON; None if no plan is made of it, or it has texts, which are found or not."""
    one = case(seed)
    if any(isinstance(item, hush.Text) for item in one.schema.attributes):
        return None
    try:
        one = relayed(one)
        one.design()
    except DesignError:
        return None
    began, n = time.process_time(), min(one.people, most)
    found = measure(one, runs, n)
    low = {target: found.readers[target] for target, score in found.scores.items() if score.coverage < AGAIN}
    anew = measure(one, TIMES * runs, n, " again", set(low.values())) if low else Measured()
    rows = []
    for target, score in found.scores.items():
        if score.runs:
            row = {"estimator": target.estimator, "row": repr(target.row), **asdict(score)}
            if target in low:
                row |= {"again": asdict(anew.scores[target]), "dishonest": anew.scores[target].dishonest}
            rows.append(row)
    return {
        "case": seed,
        "told": str(one),
        "shape": crowd(one.schema, f"{seed}").shape,
        "epsilon": one.epsilon,
        "people": n,
        "own": one.own * one.batches,
        "seconds": round(time.process_time() - began, 1),
        "failures": found.failures + anew.failures,
        "targets": rows,
    }


def faults(found: dict[str, Any]) -> Iterator[str]:
    """Yield the findings of a case."""
    yield from found["failures"]
    for row in found["targets"]:
        if row["faults"] or row["flat"] or row.get("dishonest"):
            told = f"{1 - row['missed'] / row['runs']:.3f} {row['estimator']} {row['row']}"
            if "again" in row:
                told += f", again {1 - row['again']['missed'] / max(row['again']['runs'], 1):.3f}"
            yield f"{told}, flat {row['flat']}, faults {row['faults']}: {row['example']}"


def report(rows: list[dict[str, Any]]) -> None:
    """Print the coverage and the refusals of every estimator, by epsilon, people and crowd."""
    targets = [(one, row) for one in rows for row in one["targets"]]
    found = [fault for one in rows for fault in faults(one)]
    low = sum("again" in row for _, row in targets)
    print(f"{len(rows):,} cases, {len(targets):,} targets, {low:,} collected anew, {len(found):,} findings")
    for key in ("all", "epsilon", "people", "shape", "own"):
        groups: dict[tuple[str, Any], list[dict[str, Any]]] = defaultdict(list)
        for one, row in targets:
            groups[row["estimator"], one.get(key, "all")].append(row)
        for (estimator, value), some in sorted(groups.items(), key=str):
            if key == "all" or len(some) >= 100:
                covered = sum(1 - row["missed"] / row["runs"] for row in some) / len(some)
                refused = sum(row["refused"] / row["runs"] for row in some) / len(some)
                mark = " LOW" if covered < 0.94 and len(some) >= 100 else ""
                told = f"covered {covered:.3f}, refused {refused:.3f}"
                print(f"  {estimator}, {key} {value}: {len(some):,} targets, {told}{mark}")


def main() -> None:
    """Search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--most", type=int, default=MOST, help="people")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so much time")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--report", type=Path, help="show what a file has, and search nothing")
    options = parser.parse_args()
    path, start = options.report or options.output, time.monotonic()
    rows = [] if path is None or not path.exists() else [json.loads(line) for line in path.read_text().splitlines()]
    done = {row["case"] for row in rows}
    seeds = [] if options.report else range(options.first, options.first + options.cases)
    for seed in track([seed for seed in seeds if seed not in done], "cases", disable=bool(options.report)):
        if time.monotonic() - start > options.seconds:
            break
        found = tried(seed, options.runs, options.most)
        if found is None:
            continue
        rows.append(found)
        for fault in faults(found):
            print(f"{found['told']} [{found['shape']}]\n   {fault[:400]}", flush=True)
        if options.output:
            with options.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
    report(rows)


if __name__ == "__main__":
    main()
