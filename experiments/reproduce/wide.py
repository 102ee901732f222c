"""Wide numbers: the mean on a public range that is far wider than where people are, in one round and in two.

One round: everybody answers a ladder, and the mean is clipped where its reports say that people are. Two rounds: a
fifth of the people answer the ladder, and the others the usual channel on the range that `hush.narrow` finds; if the
pilot saw too little, the others answer the ladder too. Errors are those of the mean itself, so what a clip takes away
counts. Crowds are drawn from the exact laws. [Wide numbers](wide.md) has the figures in tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.wide import people, rounds
from experiments.wide.rounds import Surveys

TITLE = "Wide numbers"
PAPER = "beyond"
SURVEYS = "dozens to hundreds of surveys in each setting, drawn from the exact laws"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
CROWDS = (10_000, 100_000, 1_000_000)
USUAL = 100_000
NUMBER = "income"
RANKED = (NUMBER, "household income", "home value", "lognormal 1.5", "Pareto 1.5")
HIGHS = (1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9)
WAYS = {"one": "one round", "two": "two rounds"}
ENOUGH = 1e4  # n*epsilon^2 from which two rounds must not lose much on uniform people
WORST = 3  # settings of each way whose coverage is measured anew
TARGETS = {"one": 0.10, "two": 0.06}
GAINS = {"one": 6.0, "two": 10.0}
LOSS = 1.15
COVERED = (0.935, 0.965)
RANK = 0.02


class Scale:
    """How many people and how many surveys: fewer in a quick run."""

    def __init__(self, bench: Bench) -> None:
        settings = bench.settings
        self.data = "synthetic" if bench.data is None else "ACS 2024"
        self.part = settings.runs / 100
        self.epsilons = (1.0, 4.0) if settings.quick else EPSILONS
        self.crowds = (USUAL,) if settings.quick else CROWDS
        self.highs = HIGHS[::4] if settings.quick else HIGHS

    def runs(self, usual: int) -> int:
        """Return a number of runs, in proportion to that of the settings."""
        return max(2, round(usual * self.part))


def compute(bench: Bench) -> list[Row]:
    """Return all figures."""
    scale = Scale(bench)
    everybody = people.populations(bench)
    jobs = [*_usual(scale, everybody), *_grid(scale, everybody), *_widths(scale)]
    found = bench.run("wide numbers", jobs, lambda job: rounds.measured(job, everybody[job.people]))
    rows = [row for job in jobs for row in _rows(job, found[job], everybody[job.people])]
    # Intervals need other surveys than errors: fewer in each setting, as it is their average that counts.
    checks = [replace(job, runs=scale.runs(100 if job.epsilon == 1.0 else 40), ranks=False) for job in jobs]
    one = bench.run("intervals of one round", checks, lambda job: rounds.held(job, everybody[job.people]))
    narrowed = [job for job in jobs if found[job]["two"]["narrowed"] == 1.0]
    rows += [row for job in checks for row in _held(job, _part(job), "one", one[job])]
    rows += [row for job in narrowed for row in _held(job, _part(job), "two", found[job]["two"])]
    # The least of many shares is low by chance: the settings that were covered least are drawn anew.
    worst = [_anew(job, scale) for job in sorted(checks, key=lambda job: float(one[job]["coverage"]))[:WORST]]
    again = bench.run("the worst of one round", worst, lambda job: rounds.held(job, everybody[job.people]))
    rows += [row for job in worst for row in _held(job, "anew", "one", again[job])]
    worst = [
        _anew(job, scale) for job in sorted(narrowed, key=lambda job: float(found[job]["two"]["coverage"]))[:WORST]
    ]
    renewed = bench.run("the worst anew", worst, lambda job: rounds.measured(job, everybody[job.people]))
    rows += [row for job in worst for row in _held(job, "anew", "two", renewed[job]["two"])]
    usual = everybody[NUMBER]
    for epsilon in scale.epsilons if 1.0 in scale.epsilons else ():
        job = Surveys(scale.data, NUMBER, usual.high, epsilon, USUAL, 2)
        value = rounds.full_rank(usual, usual.high, epsilon, USUAL, 0.5, job.runs, 3)
        rows.append(_row(job, "columns", "full", "rank 0.5", value, None))
    return rows


def _usual(scale: Scale, everybody: dict[str, people.People]) -> Iterator[Surveys]:
    """Everybody at epsilon 1, with 100,000 people."""
    for name, found in everybody.items():
        yield Surveys(scale.data, name, found.high, 1.0, USUAL, scale.runs(400), name in RANKED)


def _grid(scale: Scale, everybody: dict[str, people.People]) -> Iterator[Surveys]:
    """The six columns, uniform people and people who are mostly at 0, for other epsilons and crowds."""
    for epsilon in scale.epsilons:
        for n in scale.crowds:
            if (epsilon, n) == (1.0, USUAL):
                continue
            for name in people.COLUMNS:
                yield Surveys(scale.data, name, everybody[name].high, epsilon, n, scale.runs(60), name == NUMBER)
            yield Surveys(scale.data, people.UNIFORM, 1.0, epsilon, n, scale.runs(100))
            yield Surveys(scale.data, people.ZEROS, everybody[people.ZEROS].high, epsilon, n, scale.runs(60))


def _widths(scale: Scale) -> Iterator[Surveys]:
    """One column on other public ranges."""
    for high in scale.highs:
        if high != people.COLUMNS[NUMBER][2]:
            yield Surveys(scale.data, NUMBER, high, 1.0, USUAL, scale.runs(100))


def _part(job: Surveys) -> str:
    return "ranges" if job.people == NUMBER and job.high != people.COLUMNS[NUMBER][2] else "columns"


def _anew(job: Surveys, scale: Scale) -> Surveys:
    return replace(job, runs=scale.runs(600), ranks=False, seed=1)


def _held(job: Surveys, part: str, way: str, found: dict[str, float]) -> Iterator[Row]:
    """How often an interval holds, and in one round the bound of the share beyond."""
    for what in ("coverage", "bounded") if way == "one" else ("coverage",):
        yield _row(job, part, way, what, found[what], _binomial(job.runs))


def _rows(job: Surveys, found: dict[str, Any], crowd: people.People) -> Iterator[Row]:
    part = _part(job)
    for way in WAYS:
        for what, value in found[way].items():
            if what not in ("coverage", "bounded", "width"):
                error = value / math.sqrt(2 * job.runs) if what == "rmse" else None
                yield _row(job, part, way, what, value, error)
    for what, value in found["ranks"].items():
        yield _row(job, part, "one", what, value, None)
    for way, numeric in (("full", "minimax"), ("HM", "hybrid")):
        value = rounds.full_error(crowd, job.high, job.epsilon, job.n, numeric)
        yield _row(job, part, way, "rmse", value, None)
    yield _row(job, part, "best clip", "rmse", rounds.best_clip(crowd, job.high, job.epsilon, job.n), None)


def _row(job: Surveys, part: str, way: str, what: str, value: float, error: float | None) -> Row:
    return {
        "data": job.data,
        "part": part,
        "population": job.people,
        "high": job.high,
        "people": job.n,
        "epsilon": job.epsilon,
        "way": way,
        "what": what,
        "value": value,
        "stderr": error,
    }


def _binomial(runs: int) -> float:
    """Return the standard error of the coverage of so many intervals, if 95 % of them cover."""
    return math.sqrt(0.95 * 0.05 / runs)


def gain(rows: Iterable[Row], way: str, epsilon: float, n: int) -> float:
    """Return the geometric mean over the six columns of the error on the full range over that of a way."""
    at = {
        (row["population"], row["way"]): row["value"]
        for row in rows
        if (row["part"], row["what"], row["epsilon"], row["people"]) == ("columns", "rmse", epsilon, n)
    }
    return math.exp(float(np.mean([math.log(at[name, "full"] / at[name, way]) for name in people.COLUMNS])))


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of wide numbers."""
    at = {
        (row["population"], row["epsilon"], row["people"], row["way"], row["what"]): row["value"]
        for row in rows
        if row["part"] == "columns"
    }

    def errors(way: str) -> Claim:
        value, full = (at[NUMBER, 1.0, USUAL, name, "rmse"] for name in (way, "full"))
        target = TARGETS[way]
        text = f"(hush) mean income on a range up to ten million, epsilon 1, {USUAL:,} people, {WAYS[way]}"
        return Claim(
            f"{text}: an error of at most {100 * target:.0f} % of the mean",
            f"{100 * value:.1f} % (on the full range {100 * full:.0f} %)",
            value <= target,
        )

    def gains(way: str) -> Claim:
        value, target = gain(rows, way, 1.0, USUAL), GAINS[way]
        others = sorted({row["epsilon"] for row in rows if row["part"] == "columns"})
        listed = ", ".join(f"{gain(rows, way, epsilon, USUAL):.1f} at {epsilon:g}" for epsilon in others)
        return Claim(
            f"(hush) six columns, epsilon 1, {WAYS[way]}: at least {target:g} times less error than on the full range",
            f"{value:.1f} times (geometric mean; by epsilon: {listed})",
            value >= target,
        )

    uniform = {
        (epsilon, n): at[name, epsilon, n, "two", "rmse"] / at[name, epsilon, n, "full", "rmse"]
        for name, epsilon, n, way, what in at
        if (name, way, what) == (people.UNIFORM, "two", "rmse") and n * epsilon**2 >= ENOUGH
    }
    noise = max(
        row["stderr"] / row["value"]
        for row in rows
        if (row["population"], row["way"], row["what"]) == (people.UNIFORM, "two", "rmse")
    )
    top = max(uniform, key=lambda key: uniform[key])
    typical = math.exp(float(np.mean([math.log(value) for value in uniform.values()])))
    rank, before = at[NUMBER, 1.0, USUAL, "one", "rank 0.5"], at[NUMBER, 1.0, USUAL, "full", "rank 0.5"]
    return [
        errors("one"),
        errors("two"),
        gains("one"),
        gains("two"),
        Claim(
            f"(hush) people all over the range: two rounds have at most {LOSS:g} times the error of the full range",
            f"{typical:.3f} times on average, {uniform[top]:.2f} ± {noise * uniform[top]:.2f} at most "
            f"(epsilon {top[0]:g}, {top[1]:,} people)",
            typical <= LOSS and (uniform[top] <= LOSS or (None if uniform[top] <= LOSS * (1 + 3 * noise) else False)),
        ),
        *(_covered(rows, way) for way in WAYS),
        _bounded(rows),
        Claim(
            f"(hush) median income, epsilon 1, {USUAL:,} people, one round: wrong in rank by at most {RANK:g}",
            f"{rank:.3f} (on the full range {before:.2f})",
            rank <= RANK,
        ),
    ]


def _covered(rows: list[Row], way: str) -> Claim:
    """Say whether intervals of the clipped mean cover it."""
    some = [row for row in rows if (row["way"], row["what"]) == (way, "coverage") and row["part"] != "anew"]
    anew = [row for row in rows if (row["way"], row["what"], row["part"]) == (way, "coverage", "anew")]
    mean = float(np.mean([row["value"] for row in some]))
    error = math.hypot(*(row["stderr"] for row in some)) / len(some)
    least = min(anew, key=lambda row: row["value"])
    low, high = COVERED
    good = low <= mean <= high and least["value"] >= low
    near = low - 3 * error <= mean <= high + 3 * error and least["value"] >= low - 3 * least["stderr"]
    why = "cautious: the interval is as wide as the worst populations need" if mean > high else ""
    where = f"{least['population']}, epsilon {least['epsilon']:g}, {least['people']:,} people"
    return Claim(
        f"(hush) {WAYS[way]}: intervals of the clipped mean hold, {100 * low:g} to {100 * high:g} % on average"
        + (" where the pilot narrowed" if way == "two" else ""),
        f"{100 * mean:.1f} ± {100 * error:.1f} % on average of {len(some)} settings; at least "
        f"{100 * least['value']:.1f} ± {100 * least['stderr']:.1f} % ({where})",
        good or (None if near else False),
        why,
    )


def _bounded(rows: list[Row]) -> Claim:
    """Say whether the stated share of people beyond the clip is an upper bound."""
    some = [row for row in rows if (row["way"], row["what"]) == ("one", "bounded") and row["part"] != "anew"]
    least = min(some, key=lambda row: row["value"])
    mean = float(np.mean([row["value"] for row in some]))
    good, near = least["value"] >= 0.95, least["value"] >= 0.95 - 3 * least["stderr"]
    return Claim(
        "(hush) one round: the bound of the share of people beyond the clip holds in at least 95 % of surveys",
        f"{100 * mean:.1f} % on average, at least {100 * least['value']:.1f} % ({least['population']}, epsilon "
        f"{least['epsilon']:g}, {least['people']:,} people)",
        good or (None if near else False),
    )


def draw(rows: list[Row]) -> Any:
    """Draw the error against the width of the public range, and against epsilon."""
    names = {
        "full": "full range",
        "HM": "full range, the paper's HM",
        "best clip": "best clip, if it were known",
    } | WAYS
    shown = [row | {"way": names[row["way"]], "value": 100 * row["value"]} for row in rows if row["what"] == "rmse"]
    alike = [row for row in shown if row["population"] == NUMBER and row["people"] == USUAL]
    panels = {"income, epsilon 1, by the end of the public range": [row for row in alike if row["epsilon"] == 1.0]}
    for row in panels[next(iter(panels))]:
        row["x"] = row["high"]
    across = [row | {"x": row["epsilon"]} for row in alike if row["part"] == "columns"]
    panels["income up to ten million, by epsilon"] = across
    return charts.lines(
        panels,
        f"{TITLE}: error in % of the mean, {USUAL:,} people",
        "x",
        "value",
        "way",
        names=("", "error, % of the mean"),
        order=[names[way] for way in ("HM", "full", "one", "two", "best clip")],
        log=(True, True),
    )
