"""Relations between attributes: tables, means by group, associations, ranges and made-up records.

Everybody answers one question about one relation, with the whole epsilon. [Relations](relations.md) has the figures in
tables, and says what each of them is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from experiments.relations import halves, limit, means, numbers, people, records, tables
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row

TITLE = "Relations"
PAPER = "beyond"
SURVEYS = "surveys of 100,000 and 1,000,000 people, and figures that are computed from the channels"
EPSILONS = (1.0, 2.0, 4.0)
FEW, MANY = 100_000, 1_000_000
TARGETS = {"pooled": 0.0044, "shrunk": 0.0039}
MARGIN = 3100
ASSOCIATION = 0.04
RANGE = 0.02
VARIATION = 0.03
ACCURACY = 0.005
ABOVE_LIMIT = 1.06


class Scale:
    """How many people and how many surveys: fewer in a quick run."""

    def __init__(self, bench: Bench) -> None:
        settings = bench.settings
        self.data = "synthetic" if bench.data is None else "ACS 2024"
        self.few = min(FEW, settings.people) if settings.quick else FEW
        self.many = self.few if settings.quick else MANY
        self.part = settings.runs / 100

    def runs(self, usual: int) -> int:
        """Return a number of runs, in proportion to that of the settings."""
        return max(1, round(usual * self.part))


def compute(bench: Bench) -> list[Row]:
    """Return all figures."""
    scale = Scale(bench)
    rows = [*_tables(bench, scale), *_means(bench, scale), *_numbers(bench, scale), *_records(bench, scale)]
    return [{"data": scale.data, **row} for row in (*rows, *_halves(bench, scale), *_limits(bench))]


def _row(part: str, what: str, n: int | None, epsilon: float, value: float, error: float | None = None) -> Row:
    return {"part": part, "what": what, "people": n, "epsilon": epsilon, "value": value, "stderr": error}


def _tables(bench: Bench, scale: Scale) -> Iterator[Row]:
    jobs: list[tables.Tables] = []
    for epsilon in EPSILONS:
        jobs += [tables.Tables(scale.data, scale.few, epsilon, run) for run in range(scale.runs(8))]
        jobs += [tables.Tables(scale.data, scale.many, epsilon, run) for run in range(scale.runs(4))]
    jobs += [tables.Tables(scale.data, scale.many, 2.0, run, 0.2) for run in range(scale.runs(4))]
    population = people.people(bench)
    truth = tables.truths(population)
    found = bench.run("tables", list(dict.fromkeys(jobs)), lambda job: tables.measured(job, population, truth))
    for setting in dict.fromkeys((job.n, job.epsilon, job.singles) for job in jobs):
        n, epsilon, singles = setting
        some = [one for job, one in found.items() if (job.n, job.epsilon, job.singles) == setting]
        part = "tables" if not singles else "tables, a fifth asked alone"
        for name in ("raw", *tables.REMEDIES, "independence"):
            yield _row(part, name, n, epsilon, math.sqrt(np.mean([one[name] for one in some])))
        yield _row(part, "coverage", n, epsilon, *_mean([one["coverage"] for one in some]))


def _means(bench: Bench, scale: Scale) -> Iterator[Row]:
    population = people.people(bench)
    jobs = [means.Means(scale.data, scale.few, epsilon, scale.runs(200)) for epsilon in EPSILONS]
    jobs += [means.Means(scale.data, scale.many, epsilon, scale.runs(10)) for epsilon in EPSILONS]
    found = bench.run("means", list(dict.fromkeys(jobs)), lambda job: means.measured(job, population))
    for job, one in found.items():
        part = "means"
        for place, group in enumerate(people.EDUCATION):
            for name in ("truth", "margin", "rmse"):
                yield _row(part, f"{name}, {group}", job.n, job.epsilon, one[name][place])
        error = _binomial(job.runs * len(people.EDUCATION))
        yield _row(part, "coverage", job.n, job.epsilon, float(np.mean(one["coverage"])), error)


def _numbers(bench: Bench, scale: Scale) -> Iterator[Row]:
    population = people.people(bench)
    asked = [numbers.Associations(scale.data, scale.few, epsilon, scale.runs(400)) for epsilon in EPSILONS]
    asked.append(numbers.Associations(scale.data, scale.many, 1.0, scale.runs(8)))
    found = bench.run("associations", list(dict.fromkeys(asked)), lambda job: numbers.associated(job, population))
    for job, one in found.items():
        for name in ("stderr", "rmse"):
            yield _row("associations", name, job.n, job.epsilon, one[name])
        # Pairs of one survey have cuts in common, so their errors are not independent: surveys are.
        yield _row("associations", "coverage", job.n, job.epsilon, *_mean(one["coverage"]))
        for pair, truth, point, low, high in one["first"]:
            for name, value in (("truth", truth), ("point", point), ("margin", (high - low) / 2)):
                yield _row("associations", f"{name}, {pair}", job.n, job.epsilon, value)
    wanted = [
        numbers.Ranges(scale.data, number, scale.few, epsilon, scale.runs(16))
        for number in numbers.RANGES
        for epsilon in EPSILONS
    ]
    ranged = bench.run("ranges", wanted, lambda job: numbers.ranged(job, population))
    for range_, one in ranged.items():
        for name, value in one.items():
            yield _row(f"ranges, {range_.number}", name, range_.n, range_.epsilon, value)


def _records(bench: Bench, scale: Scale) -> Iterator[Row]:
    population = people.people(bench)
    codes = records.coded(population)
    truth = records.truths(codes)
    jobs = [records.Records(scale.data, scale.few, 4.0, 0)]
    for epsilon in EPSILONS:
        count = scale.runs(4 if epsilon == 4 else 2)
        jobs += [records.Records(scale.data, scale.many, epsilon, run) for run in range(count)]
    found = bench.run("records", jobs, lambda job: records.measured(job, population, codes, truth))
    for n, epsilon in dict.fromkeys((job.n, job.epsilon) for job in jobs):
        some = [one for job, one in found.items() if (job.n, job.epsilon) == (n, epsilon)]
        for name in some[0]:
            yield _row("records", name, n, epsilon, *_mean([one[name] for one in some]))


def _halves(bench: Bench, scale: Scale) -> Iterator[Row]:
    jobs = [halves.Halves(4 * scale.few, epsilon, scale.runs(3)) for epsilon in EPSILONS]
    for job, one in bench.run("halves", jobs, halves.measured).items():
        for name, value in one.items():
            yield _row("halves", name, job.n if "simulated" in name else None, job.epsilon, value)


def _limits(bench: Bench) -> Iterator[Row]:
    groups = (2,) if bench.settings.quick else limit.POINTS
    jobs = [limit.Limit(count, epsilon) for count in groups for epsilon in EPSILONS]
    designed = bench.run("rows for the limit", jobs, limit.designed)
    for job, one in bench.run("limit", jobs, limit.measured).items():
        for name, value in one.items():
            yield _row(f"limit, {job.groups} groups", name, None, job.epsilon, value)
        part = f"limit, {job.groups} groups"
        yield _row(part, "designed", None, job.epsilon, designed[job])
        yield _row(part, "ratio", None, job.epsilon, designed[job] / one["low"])
        yield _row(part, "ratio, even", None, job.epsilon, one["rows"] / one["low"])


def _binomial(intervals: int) -> float:
    """Return the standard error of the coverage of so many intervals, if 95 % of them cover."""
    return math.sqrt(0.95 * 0.05 / intervals)


def _mean(values: list[float]) -> tuple[float, float | None]:
    found = np.asarray(values)
    return float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found))) if len(found) > 1 else None


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of relations."""
    few, many = (choose(row["people"] for row in rows if row["part"] == "tables") for choose in (min, max))
    at = {(row["part"], row["what"], row["people"], row["epsilon"]): row["value"] for row in rows}

    errors = {(row["part"], row["people"], row["epsilon"]): row["stderr"] for row in rows if row["what"] == "coverage"}

    def held(text: str, parts: list[str], n: int, epsilon: float, most: float) -> Claim:
        share = 100 * float(np.mean([at[part, "coverage", n, epsilon] for part in parts]))
        found = [errors[part, n, epsilon] for part in parts]
        error = 100 * math.hypot(*(one or 0.02 for one in found)) / len(found)
        inside, near = 94 <= share <= most, 94 - 3 * error <= share <= most + 3 * error
        return Claim(
            f"(hush) {text}: 94 to {most:g} %", f"{share:.1f} ± {error:.1f} %", inside or (None if near else False)
        )

    pooled, shrunk = (at["tables", name, many, 2.0] for name in TARGETS)
    margin = at["means", "margin, high school", few, 2.0]
    error = at["associations", "stderr", few, 1.0]
    worst = {number: at[f"ranges, {number}", "tree", few, 2.0] for number in numbers.RANGES}
    fitted = [at[f"ranges, {number}", "nonnegative", few, 2.0] for number in numbers.RANGES]
    remedy = f"a fit without negative shares has {max(fitted):.4f} at most, and no intervals"
    ranged = [f"ranges, {number}" for number in numbers.RANGES]
    variation = at["records", "made up, 3", many, 4.0]
    lost = at["records", "people, accuracy", many, 4.0] - at["records", "made up, accuracy", many, 4.0]
    times = [at["halves", "naive", None, epsilon] / at["halves", "pooled", None, epsilon] for epsilon in EPSILONS]
    ratios = {(row["part"], row["epsilon"]): row["value"] for row in rows if row["what"] == "ratio"}
    top = max(ratios, key=lambda key: ratios[key])
    even = max(row["value"] for row in rows if row["what"] == "ratio, even")
    return [
        Claim(
            "(hush) a table needs 42, 13 and 5 times fewer people than two reports with half of epsilon each",
            " / ".join(f"{value:.1f}" for value in times) + " times fewer at epsilon 1 / 2 / 4",
            all(found >= told for found, told in zip(times, (42, 13, 5), strict=True)),
        ),
        Claim(
            f"(hush) 45 tables at epsilon 2 from {many:,} people: error of a cell at most .0044, and .0039 if shrunk",
            f"{pooled:.4f} and {shrunk:.4f}",
            pooled <= TARGETS["pooled"] and shrunk <= TARGETS["shrunk"],
        ),
        held("their intervals hold", ["tables"], many, 2.0, 96),
        Claim(
            f"(hush) mean income of the high-school group from {few:,} people at epsilon 2: a margin of at most 3,100",
            f"{margin:,.0f}",
            margin <= MARGIN,
        ),
        held("intervals of the groups' means hold", ["means"], few, 2.0, 96),
        Claim(
            f"(hush) ten associations from {few:,} people at epsilon 1: a standard error of at most .04",
            f"{error:.4f} on average",
            error <= ASSOCIATION,
            "" if error <= ASSOCIATION else "the cut of schooling lies far from the middle of these people",
        ),
        held("intervals of associations hold", ["associations"], few, 1.0, 97),
        Claim(
            f"(hush) ranges from {few:,} people at epsilon 2: the share below any cut is wrong by at most .02",
            ", ".join(f"{number} {value:.4f}" for number, value in worst.items()),
            max(worst.values()) <= RANGE,
            "" if max(worst.values()) <= RANGE else "the average over surveys lies near .02; " + remedy,
        ),
        held("intervals of ranges hold", ranged, few, 2.0, 97),
        Claim(
            f"(hush) records made up from {many:,} people at epsilon 4: three-way tables differ by at most .03",
            f"{variation:.4f}",
            variation <= VARIATION,
        ),
        Claim(
            "(hush) a classifier that learns from them is at most half a point worse than one that learns from people",
            f"{100 * lost:.2f} points",
            lost <= ACCURACY,
        ),
        Claim(
            "(hush) the rows channel is within 6 % of the limit that no report of a group and a number can beat",
            f"{ratios[top]:.3f} times the limit at most ({top[0].removeprefix('limit, ')}, epsilon {top[1]:g}), "
            f"{min(ratios.values()):.3f} at best; {even:.3f} at most for people at a few points if it is designed for "
            "evenly spread ones",
            ratios[top] <= ABOVE_LIMIT,
        ),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw errors of tables, and of the share below any cut, against epsilon."""
    crowds = dict.fromkeys(row["people"] for row in rows if row["part"] == "tables")
    shown = ("raw", *tables.REMEDIES)
    panels = {
        f"error of a cell, {n:,} people": [
            row for row in rows if row["part"] == "tables" and row["people"] == n and row["what"] in shown
        ]
        for n in crowds
    }
    for number in numbers.RANGES:
        panels[f"largest error of the share below a cut, {number}"] = [
            row for row in rows if row["part"] == f"ranges, {number}" and row["what"] in ("tree", "nonnegative", "EM")
        ]
    return charts.lines(
        panels, TITLE, "epsilon", "value", "what", names=("epsilon", "error"), log=(True, True), apart=True
    )
