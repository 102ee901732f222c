"""Do all intervals keep their word? Made-up plans, crowds that are not smooth, few people and many.

    python -m tests.everything.coverage --targets 10000 --runs 400 --seed 0

For every target it counts in how many collections the interval misses the truth. A collection whose row is refused in
words counts as covered. Targets below .92 are drawn anew, with ten times as many collections, and only what these say
is held against hush.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import traceback
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hush
from hush.errors import DesignError, EstimateError, PlanError
from hush.server.tally import Tally
from tests.everything.crowds import crowd
from tests.everything.draws import own_counts, tallies
from tests.everything.plans import Case, case
from tests.everything.targets import Said, Target, Truths, changes, readers


@dataclass
class Score:
    """How a target fared."""

    runs: int = 0
    missed: int = 0
    refused: int = 0
    flat: int = 0
    faults: int = 0
    width: float = 0.0
    example: str = ""

    def add(self, said: Said) -> None:
        self.runs += 1
        if said.refused:
            self.refused += 1
        ordered = said.low <= said.high and not math.isnan(said.low) and not math.isnan(said.high)
        if not said.refused:
            inside = min(max(said.point, said.least), said.most)
            spare = 1e-9 * (said.most / 2 - said.least / 2)
            ordered = ordered and said.low - spare <= inside <= said.high + spare
        if not ordered:
            self.faults += 1
            self.example = self.example or f"fault: {said}"
        if said.refused or math.isnan(said.truth):
            return
        self.width += said.width
        if said.flat:
            self.flat += 1
        if not said.covers:
            self.missed += 1
            self.example = (
                self.example or f"{said.point:.6g} in {said.low:.6g} .. {said.high:.6g}, truth {said.truth:.6g}"
            )


def with_own(tally: Tally, own: int, rng: np.random.Generator) -> Tally:
    """Return the tally of people behind a relay that added so many reports of its own."""
    total = tally + own_counts(tally.plan, own, rng)
    return Tally(tally.plan, total.reports, total.answered, total.counts, own)


def measure(one: Case, runs: int, n: int, again: int = 0) -> tuple[dict[Target, Score], list[str]]:
    """Return the scores of all targets of a case, over so many collections, and what failed in other ways."""
    plan = one.design()
    seed = f"{one.seed}" + f" again {again}" * bool(again)
    here, there = crowd(plan.schema, str(one.seed)), crowd(plan.schema, f"{one.seed} other")
    truths, others = Truths(plan.schema, here), Truths(plan.schema, there)
    scores: dict[Target, Score] = defaultdict(Score)
    failures: dict[str, str] = {}
    rng = np.random.default_rng(
        abs(hash(("own", seed))) if False else int.from_bytes(seed.encode(), "little") % (1 << 63)
    )
    own = one.own * one.batches
    later = tallies(plan, there, n, max(1, runs // 4), seed + " later")
    for tally in tallies(plan, here, n, runs, seed):
        if own:
            tally = with_own(tally, own, rng)
        other = next(later, None)
        for name, reader in readers(plan):
            try:
                for row in reader(tally, truths):
                    scores[row.target].add(row)
            except EstimateError:
                scores[Target(f"refused: {name.split()[0]}", (name,))].refused += 1
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
                failures.setdefault(f"{name}: {type(error).__name__}: {error} at {_place(error)}"[:200], "")
        if other is not None:
            if own:
                other = with_own(other, own, rng)
            try:
                for row in changes(tally, other, truths, others):
                    scores[row.target].add(row)
            except EstimateError:
                pass
            except Exception as error:  # noqa: BLE001
                failures.setdefault(f"change: {type(error).__name__}: {error}"[:160], "")
    return scores, list(failures)


def _place(error: BaseException) -> str:
    """Return the line of the source that raised an error."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def main() -> None:
    """Search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--most", type=int, default=2000, help="people")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    start = time.monotonic()
    for seed in range(options.first, options.first + options.cases):
        if time.monotonic() - start > options.seconds:
            break
        one = case(seed)
        if any(isinstance(item, hush.Text) for item in one.schema.attributes):
            continue
        n = min(one.people, options.most)
        began = time.monotonic()
        try:
            plan = one.design()
            if one.own:
                own_counts(plan, 1, np.random.default_rng(0))
        except (DesignError, PlanError) as error:
            if one.own and isinstance(error, PlanError):
                one = Case(one.seed, one.schema, one.epsilon, one.options, one.people)
            else:
                print(f"-- {one}: {error}", flush=True)
                continue
        runs = options.runs
        scores, failures = measure(one, runs, n)
        took = time.monotonic() - began
        shape = crowd(one.schema, str(seed)).shape
        print(f"== {one} [{shape}] {len(scores)} targets, {took:.0f} s", flush=True)
        for failure in failures:
            print("   FAILED", failure, flush=True)
        for target, score in scores.items():
            if not score.runs:
                continue
            covered = 1 - score.missed / score.runs
            rows.append(
                {
                    "case": seed,
                    "shape": shape,
                    "epsilon": one.epsilon,
                    "n": n,
                    "own": one.own * one.batches,
                    "estimator": target.estimator,
                    "row": repr(target.row),
                    "runs": score.runs,
                    "coverage": covered,
                    "refused": score.refused / score.runs,
                    "flat": score.flat,
                    "faults": score.faults,
                    "width": score.width / max(score.runs - score.refused, 1),
                }
            )
            if covered < 0.92 or score.faults or score.flat:
                print(
                    f"   {covered:.3f} {target.estimator} {target.row} refused {score.refused / score.runs:.2f} "
                    f"flat {score.flat} faults {score.faults}: {score.example}",
                    flush=True,
                )
    if options.output:
        options.output.write_text("\n".join(map(json.dumps, rows)) + "\n")
    print(len(rows), "targets")


if __name__ == "__main__":
    main()
