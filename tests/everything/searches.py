"""Three searches that the random one is too coarse for: relays, quantiles with gaps, and intervals without a width.

    python -m tests.everything.searches relayed --runs 4000 -o relayed.jsonl      resumable, as all of them
    python -m tests.everything.searches gaps --runs 2000 -o gaps.jsonl
    python -m tests.everything.searches widths --cases 400 -o widths.jsonl

**relayed**: a relay's own reports among those of people. Coverage has to be .935 to .975 at a nominal .95. Where people
are at an end of the domain, an interval misses on one side alone: it may cover more there, if it is at most `WIDER`
times as wide as the rule (the standard error times the normal quantile, laid into the domain in the same way).
**gaps**: quantiles of people with gaps: heaps, ends, decades, skew.
**widths**: few and many answers of many crowds. No interval that is shown may have no width.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from rich.progress import track

import hush
from hush.core.blanket import blanket_of
from hush.errors import DesignError, PlanError
from hush.server.binomial import at_least
from hush.server.intervals import laid
from hush.server.tally import with_own
from tests.everything import coverage
from tests.everything.coverage import SURE, Measured, Score
from tests.everything.crowds import Crowd, crowd
from tests.everything.draws import own_counts, tallies
from tests.everything.plans import Case, case
from tests.everything.targets import Said, Truths, readers, truth_of

LEAST, AT_AN_END, MOST = 0.935, 0.94, 0.975
WIDER = 1.15
SIZES = (2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 80, 150, 300, 700, 2000)
COLLECTED = ((1.0, 2000, 64), (4.0, 500, 16), (8.0, 2000, 64), (2.0, 5000, 16), (8.0, 150, 16))
"""Of quantiles: epsilon, people and bands."""

Named = tuple[str, Case, Crowd]


# -- behind a relay


def relayed_cases() -> Iterator[Named]:
    """Yield small plans, with crowds at the ends and in the middle, and relays that add little or much."""
    number, choice = hush.Numeric("x", 0, 10), hush.Categorical("c", list("abcd"))
    schemas: dict[str, tuple[hush.Schema, dict[str, Any]]] = {
        "a number": (hush.Schema([number]), {}),
        "an optional number": (hush.Schema([hush.Numeric("x", 0, 10, optional=True)]), {}),
        "a category": (hush.Schema([choice]), {}),
        "both": (hush.Schema([number, choice]), {}),
        "means by group": (hush.Schema([number, choice]), {"relations": [("x", "c", "means")]}),
        "a range": (hush.Schema([number]), {"ranges": {"x": 16}}),
        "choices": (hush.Schema([hush.Choices("c", list("abcd"), most=2)]), {}),
        "a wide number": (hush.Schema([hush.Numeric("x", 0, 10, scale="log")]), {}),
    }
    relays = ((4.0, 1000, 150, 50), (5.0, 1000, 150, 1), (6.0, 1000, 1000, 1), (8.0, 1000, 150, 5))
    place = 0
    for name, (schema, options) in schemas.items():
        for epsilon, people, own, batches in relays:
            for crowd_name, records, shares in _crowds(schema):
                one = Case(90_000 + place, schema, epsilon, options, people, own, batches)
                told = f"{name}, {crowd_name}, epsilon {epsilon:g}, {batches} batches of {people // batches}, {own} own"
                place += 1
                yield told, one, Crowd(crowd_name, records, shares)


def _crowds(schema: hush.Schema) -> Iterator[tuple[str, tuple[dict[str, Any], ...], tuple[float, ...]]]:
    def record(x: float | None, c: str) -> dict[str, Any]:
        held = [c] if choices else c
        return {name: value for name, value in (("x", x), ("c", held)) if name in schema.names}

    choices = any(isinstance(item, hush.Choices) for item in schema.attributes)
    optional = any(item.optional for item in schema.attributes)
    nothing = (record(None, "a"),) if optional else ()
    for name, records, shares in (
        ("all at an end", [record(0.0, "a")], [1.0]),
        ("all in the middle", [record(5.0, "b")], [1.0]),
        ("half at each end", [record(0.0, "a"), record(10.0, "d")], [0.5, 0.5]),
        ("skewed", [record(0.3, "a"), record(1.0, "b"), record(6.0, "c")], [0.7, 0.25, 0.05]),
    ):
        here = [0.7 * share for share in shares] if optional else shares
        yield name, (*records, *nothing), (*here, *([0.3] if optional else []))


def relayed(job: Named, runs: int) -> dict[str, Any]:
    """Return what the targets of a case show."""
    told, one, here = job
    plan, own = one.design(), one.own * one.batches
    found = coverage.measure(one, runs, one.people, only={name for name, _ in readers(plan)}, here=here)
    rows = _rows(found)
    truths, rule = Truths(plan.schema, here), _rule(one, here, min(runs, 200))
    for row in rows:
        width = rule.get((row["estimator"], row["row"]))
        row["wider"] = None if not width else row["width"] / max(row["runs"] - row["refused"], 1) / width
    ends = {repr(key): end for key, end in _ends(plan, truths).items()}
    for row in rows:
        row["end"] = ends.get(row["row"], False)
    return {"case": told, "own": own, "failures": found.failures, "targets": rows}


def _ends(plan: hush.Plan, truths: Truths) -> dict[tuple[Any, ...], bool]:
    """Say which truths of `hush.estimate` lie at an end of the domain."""
    found: dict[tuple[Any, ...], bool] = {}
    for row in hush.estimate(hush.Tally(plan), refuse=False):
        truth, low, high = truth_of(row, truths)
        found[row.attribute, row.category] = min(truth - low, high - truth) <= 1e-9 * (high - low)
    return found


def _rule(one: Case, here: Crowd, runs: int) -> dict[tuple[str, str], float]:
    """Return the average widths, as parts of the domain, of intervals by the standard error, of means and shares."""
    plan, own, z = one.design(), one.own * one.batches, NormalDist().inv_cdf(0.975)
    truths, sums = Truths(plan.schema, here), dict[tuple[str, str], list[float]]()
    rng = np.random.default_rng(1)
    for tally in tallies(plan, here, one.people, runs, f"{one.seed} rule"):
        mixed = with_own(tally + own_counts(plan, own, rng), own)
        for row in hush.estimate(mixed, refuse=False):
            _, low, high = truth_of(row, truths)
            item = plan.schema[row.attribute]
            sort = "share" if row.category is not None else "mean"
            if row.category == hush.MISSING and isinstance(item, hush.Numeric):
                sort = "missing"
            sort += " of the present" * (item.optional and sort == "mean")
            ends = laid((row.point - z * row.stderr, row.point + z * row.stderr), row.point, (low, high))
            key = sort, repr((row.attribute, row.category))
            sums.setdefault(key, []).append((ends[1] - ends[0]) / (high - low))
    return {key: math.fsum(widths) / len(widths) for key, widths in sums.items()}


def relay_faults(found: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a case behind a relay."""
    yield from found["failures"]
    for row in found["targets"]:
        runs = row["runs"] - row["refused"]
        covered = 1 - row["missed"] / max(runs, 1)
        least = AT_AN_END if row["end"] else LEAST
        told = f"{row['estimator']} {row['row']}: {covered:.4f}, {row['wider'] or math.nan:.2f} times as wide"
        if row["faults"] or row["flat"] or at_least(row["missed"], runs, 1 - least) < SURE:
            yield f"{told}, flat {row['flat']}, faults {row['faults']}: {row['example']}"
        too_wide = row["wider"] is not None and row["wider"] > WIDER
        if too_wide and at_least(runs - row["missed"], runs, MOST) < SURE:
            yield f"{told}, which is too wide"


# -- gaps


def gap_cases() -> Iterator[Named]:
    """Yield ranges of numbers, and crowds with gaps."""
    world = random.Random("quantiles of people with gaps")
    shapes: dict[str, tuple[list[float], list[float]]] = {
        "two clusters": ([10, 11, 12, 80, 81, 82], [0.2, 0.15, 0.1, 0.2, 0.2, 0.15]),
        "half at each end": ([0, 100], [0.5, 0.5]),
        "decades": ([1, 10, 20, 30, 40, 50, 60, 70, 80, 90], [0.1] * 10),
        "heavy skew": ([0.4, 1.5, 3, 7, 20, 95], [0.5, 0.2, 0.14, 0.1, 0.04, 0.02]),
        "three heaps side by side": ([48, 50, 52], [0.3, 0.4, 0.3]),
        "one in four at the top": ([20, 100], [0.75, 0.25]),
        "nearly all at one place": ([33, 90], [0.97, 0.03]),
    }
    place = 0
    for name, (values, shares) in shapes.items():
        for epsilon, people, bands in (
            (1.0, 2000, 64),
            (4.0, 500, 16),
            (8.0, 2000, 64),
            (2.0, 5000, 16),
            (8.0, 150, 16),
        ):
            for whole in (False, True) if epsilon == 1.0 else (world.random() < 0.5,):
                item = hush.Integer("x", 0, 100) if whole else hush.Numeric("x", 0, 100)
                records = tuple({"x": round(value) if whole else value} for value in values)
                one = Case(91_000 + place, hush.Schema([item]), epsilon, {"ranges": {"x": bands}}, people)
                place += 1
                told = f"{name}, {'whole' if whole else 'real'} numbers, epsilon {epsilon:g}, {people} people"
                yield f"{told}, {bands} bands", one, Crowd(name, records, tuple(shares))


def gaps(job: Named, runs: int) -> dict[str, Any]:
    """Return what the quantiles of a case show."""
    told, one, here = job
    only = {name for name, _ in readers(one.design()) if name.startswith("quantiles")}
    found = coverage.measure(one, runs, one.people, only=only, here=here)
    return {"case": told, "failures": found.failures, "targets": _rows(found)}


def gap_faults(found: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the quantiles of a case."""
    yield from found["failures"]
    for row in found["targets"]:
        runs = row["runs"] - row["refused"]
        if row["faults"] or row["flat"] or at_least(row["missed"], runs, 1 - LEAST) < SURE:
            told = f"{row['estimator']} {row['row']}: {1 - row['missed'] / max(runs, 1):.4f}"
            yield f"{told}, flat {row['flat']}, faults {row['faults']}: {row['example']}"


# -- widths


def widths(seed: int, crowds: int) -> dict[str, Any] | None:
    """Return the rows without a width, of many crowds who answer one made-up plan."""
    one = case(seed)
    if any(isinstance(item, hush.Text) for item in one.schema.attributes):
        return None
    try:
        plan = one.design()
    except DesignError:
        return None
    own = one.own * one.batches
    if own:
        try:
            blanket_of(plan)
        except PlanError:
            own = 0
    rng, world = np.random.default_rng(seed), random.Random(f"widths {seed}")
    asked = [(name, read) for name, read in readers(plan) if "together" not in name]
    found, made = Measured(), 0
    for place in range(crowds):
        here = crowd(plan.schema, f"{seed} {place}")
        truths = Truths(plan.schema, here)
        for tally in tallies(plan, here, world.choice(SIZES), 1, f"{seed} {place}"):
            made += 1
            mixed = with_own(tally + own_counts(plan, own, rng), own) if own else tally
            for name, read in asked:
                coverage._read(name, read(mixed, truths), found)
    faults = [row for row in _rows(found) if row["flat"] or row["faults"]]
    shown = sum(score.runs - score.refused for score in found.scores.values())
    return {
        "case": seed,
        "told": str(one),
        "crowds": made,
        "shown": shown,
        "failures": found.failures,
        "targets": faults,
    }


def _rows(found: Measured) -> list[dict[str, Any]]:
    """Return scores as JSON."""

    def row(score: Score) -> dict[str, Any]:
        return vars(score)

    return [
        {"estimator": target.estimator, "row": repr(target.row), **row(score)}
        for target, score in found.scores.items()
        if score.runs
    ]


def narrowed(said: Said, part: float) -> Said:
    """Return a row with a part of its interval: a broken estimator, for the tests of these searches."""
    low, high = (said.point + part * (end - said.point) for end in (said.low, said.high))
    return said if said.refused else replace(said, low=low, high=high)


def main() -> None:
    """Search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("search", choices=("relayed", "gaps", "widths"))
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, help="of the made-up plans of widths")
    parser.add_argument("--cases", type=int, default=10**6)
    parser.add_argument("--crowds", type=int, default=25, help="of each plan")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so much time")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    path, start = options.output, time.monotonic()
    rows = [] if path is None or not path.exists() else [json.loads(line) for line in path.read_text().splitlines()]
    done, faults = {row["case"] for row in rows}, relay_faults if options.search == "relayed" else gap_faults
    jobs: list[Any]
    if options.search == "widths":
        jobs = [seed for seed in range(options.first, options.first + options.cases) if seed not in done]
    else:
        named = list(relayed_cases() if options.search == "relayed" else gap_cases())[: options.cases]
        jobs = [job for job in named if job[0] not in done]
    for job in track(jobs, options.search):
        if time.monotonic() - start > options.seconds:
            break
        if options.search == "widths":
            found = widths(job, options.crowds)
        else:
            found = (relayed if options.search == "relayed" else gaps)(job, options.runs)
        if found is None:
            continue
        rows.append(found)
        for fault in faults(found):
            print(f"{found['case']}: {fault[:400]}", flush=True)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
    report(options.search, rows)


def report(search: str, rows: list[dict[str, Any]]) -> None:
    """Say how much was tried, and what the least coverage was."""
    faults = relay_faults if search == "relayed" else gap_faults
    found = sum(len(list(faults(row))) for row in rows)
    print(f"{len(rows):,} cases, {found:,} findings")
    if search == "widths":
        crowds, shown = sum(row["crowds"] for row in rows), sum(row["shown"] for row in rows)
        print(f"  {crowds:,} crowds, {shown:,} intervals shown")
        return
    covered: dict[str, list[float]] = {}
    for row in rows:
        for target in row["targets"]:
            runs = target["runs"] - target["refused"]
            if runs:
                covered.setdefault(target["estimator"], []).append(1 - target["missed"] / runs)
    for name, parts in sorted(covered.items()):
        told = f"covered {min(parts):.4f} to {max(parts):.4f}, mean {sum(parts) / len(parts):.4f}"
        print(f"  {name}: {len(parts):,} targets, {told}")


if __name__ == "__main__":
    main()
