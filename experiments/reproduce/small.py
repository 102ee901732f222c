"""Small crowds: do intervals of means hold with twenty to two thousand answers, and how wide are they?

Nine populations, five epsilons and five numbers of answers, drawn from the exact laws; a search over populations at two
points; other levels; optional numbers, and means by group. Widths are those of hush's intervals over the width of a
normal interval that knows the true variance, both cut to the range. The rival is the rule of old: a normal interval if
skewness and rare outputs seemed to permit it, else empirical Bernstein. [Which interval
when](decisions/0008-intervals.md) says why the intervals are as they are; `python -m experiments.coverage` measures
many more settings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

import hush
from experiments.coverage import Cell
from experiments.crowds import SKEWED, People, Target, channel
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row
from experiments.reproduce.population import Array
from experiments.surveys import survey
from hush.core.channels import Window
from hush.server.binomial import normal

TITLE = "Small crowds"
PAPER = "beyond"
EPSILONS = (1.0, 2.0, 4.0, 6.0, 8.0)
NUMBERS = (20, 50, 150, 500, 2000)
LEVELS = (0.8, 0.9, 0.99, 0.999)
LEVEL = 0.95
FEWEST, MIDDLE = 20, 150
WIDTHS = {2.0: 1.15, 4.0: 1.25, 6.0: 1.45}
LEAST = 0.94
CROWDS = 20_000  # of each population on the grid
SEARCHED = 2000  # and of each in the search
READ = 100  # crowds whose interval itself is computed
WORST = 8  # populations of the search that are drawn anew, ten times as often
GROUPS = 3

NINE = (
    People("all at 0", (0.0,), (1.0,)),
    People("all at 0.3", (0.3,), (1.0,)),
    People("all at 0.9", (0.9,), (1.0,)),
    People("all at 1", (1.0,), (1.0,)),
    People("uniform", tuple(i / 40 for i in range(41)), (1 / 41,) * 41),
    People("two ends", (0.0, 1.0), (0.5, 0.5)),
    People("skewed", tuple(map(float, SKEWED)), (1 / 60,) * 60),
    People("95 % at 0, 5 % at 1", (0.0, 1.0), (0.95, 0.05)),
    People("99 % at 0.3, 1 % at 1", (0.3, 1.0), (0.99, 0.01)),
)
SOME = (*NINE[::2], NINE[5])  # for the smaller grids
MISSING = (0.0, 0.2, 0.8)
AT = (0.0, 0.1, 0.3, 0.5)
OTHER = (0.0, 0.5, 1.0)
RARE = (0.3, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 6.0, 10.0)  # expected among n people
SHARES = (0.2, 0.35, 0.5)


@dataclass(frozen=True)
class Crowds:
    """Crowds of n people from a population, at one level."""

    part: str
    people: People
    epsilon: float
    n: int
    runs: int
    read: int = READ
    level: float = LEVEL
    optional: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Groups:
    """Surveys of n people about the mean of a number in each of three groups."""

    epsilon: float
    n: int
    runs: int


def measured(job: Crowds) -> dict[str, float]:
    """Return how often intervals cover, how wide they are, and the same of the rule of old.

    Whether an interval covers is its own test at the truth (`experiments.crowds`). hush computes the intervals of the
    first crowds from a tally, which must agree with the test. (An interval always has a point of the domain. Where the
    estimate lies beyond it, the interval covers the end, and perhaps what is near, more often than the test says.)
    """
    cell = Cell(job.part, "minimax", job.optional, job.epsilon, job.n, job.people, level=job.level, runs=job.runs)
    rng = np.random.default_rng([job.seed, job.n, round(10 * job.epsilon), job.runs])
    target, shares, counts = cell.draw(rng)
    covered = target.covers(counts, job.level)
    found = {"coverage": float(covered.mean())}
    first, last = target.squares.ends
    plan = hush.design(hush.Schema([hush.Numeric("x", -1, 1, optional=job.optional)]), job.epsilon)
    widths = []
    for row, plausible in zip(counts[: job.read].tolist(), covered, strict=False):
        said = hush.estimate(hush.Tally(plan, job.n, [job.n], [row]), level=job.level)[0]
        inside = said.low - 1e-9 <= target.truth <= said.high + 1e-9
        beyond = not first < said.point < last
        if (plausible and not inside) or (inside and not plausible and not (job.optional or beyond)):
            raise AssertionError(f"the interval and its test differ: {job}")
        widths.append(min(said.high, last) - max(said.low, first))
    if widths:
        margin = normal(job.level) * target.spread(shares) / math.sqrt(job.n)
        if job.optional:
            best = min(target.truth + margin, last) - max(target.truth - margin, first)
        else:
            points = counts @ target.values / job.n
            best = _width(points - margin, points + margin)
            low, high = of_old(target, counts, rare(job.epsilon), job.level)
            found |= {"old": _width(low, high) / best, "old part": _width(low, high) / (last - first)}
            found["old coverage"] = float(np.mean((low <= target.truth + 1e-9) & (target.truth - 1e-9 <= high)))
        found |= {"width": float(np.mean(widths)) / best, "part": float(np.mean(widths)) / (last - first)}
        found["part, error"] = float(np.std(widths)) / math.sqrt(len(widths)) / (last - first)
    return found


def _width(low: Array, high: Array) -> float:
    """Return the mean width of intervals, cut to the range."""
    return float(np.mean(np.clip(high, -1, 1) - np.clip(low, -1, 1)))


def rare(epsilon: float) -> float:
    """Return the probability that a report is beyond the window of its state, whatever the state."""
    window = channel("minimax", False, epsilon)
    assert isinstance(window, Window)
    return 1 - float(sum(window.law(0)[y] for y in range(window.width)))


def of_old(target: Target, counts: Array, rare: float, level: float) -> tuple[Array, Array]:
    """Return the intervals by the rule of old: normal if that seemed safe, else empirical Bernstein's."""
    n = counts.sum(1).astype(float)
    values = target.values
    mean = counts @ values / n
    second = np.maximum(counts @ values**2 / n - mean**2, 0)
    third = counts @ values**3 / n - 3 * mean * second - mean**3
    skewness = np.where(second > 1e-12, third / np.maximum(second, 1e-12) ** 1.5, np.inf)
    variance = second * n / (n - 1)
    safe = (n >= 100 * np.maximum(1, skewness**2)) & (n * rare >= 30)
    log = math.log(4 / (1 - level))
    bernstein = np.sqrt(2 * variance * log / n) + 7 * np.ptp(values) * log / (3 * (n - 1))
    margin = np.where(safe, normal(level) * np.sqrt(variance / n), bernstein)
    return mean - margin, mean + margin


def grouped(job: Groups) -> dict[str, float]:
    """Return how often the intervals of all groups' means cover; the groups have unequal sizes and means."""
    sizes, middles = (0.6, 0.3, 0.1), (0.2, 0.5, 1.0)
    rng = np.random.default_rng([job.n, round(10 * job.epsilon), job.runs])
    schema = hush.Schema([hush.Categorical("group", range(GROUPS)), hush.Numeric("x", 0, 1)])
    plan = hush.design(schema, job.epsilon, relations=[("x", "group")], singles=0.0)
    inside, least = [], [0] * GROUPS
    for _ in range(job.runs):
        groups = rng.choice(GROUPS, job.n, p=sizes)
        # Everybody of the last group is at the end of the range; the others are spread around their middle.
        spread = np.where(groups == GROUPS - 1, 0.0, rng.uniform(-0.2, 0.2, job.n))
        tally = survey(plan, {"group": groups, "x": np.array(middles)[groups] + spread}, rng)
        for index, row in enumerate(hush.means(tally, "x", by="group")):
            holds = row.low - 1e-9 <= middles[index] <= row.high + 1e-9
            inside.append(holds)
            least[index] += holds
    return {"coverage": float(np.mean(inside)), "least": min(least) / job.runs}


class Scale:
    """How much is done: less in a quick run."""

    def __init__(self, bench: Bench) -> None:
        part = bench.settings.runs / 100
        quick = bench.settings.quick
        self.grid, self.search = max(200, round(CROWDS * part)), max(100, round(SEARCHED * part))
        self.read = max(10, round(READ * part))
        self.epsilons = (2.0, 4.0, 6.0) if quick else EPSILONS
        self.numbers = (20, MIDDLE) if quick else NUMBERS
        self.step = 20 if quick else 1
        self.surveys = max(5, round(400 * part))


def compute(bench: Bench) -> list[Row]:
    """Return all figures."""
    scale = Scale(bench)
    jobs = [*_grid(scale), *_levels(scale), *_optional(scale), *[*_search(scale)][:: scale.step]]
    found = bench.run("small crowds", jobs, measured)
    rows = [row for job in jobs for row in _rows(job, found[job])]
    searched = sorted((job for job in jobs if job.part == "search"), key=lambda job: float(found[job]["coverage"]))
    worst = [Crowds("anew", job.people, job.epsilon, job.n, 10 * job.runs, 0, seed=1) for job in searched[:WORST]]
    renewed = bench.run("the worst anew", worst, measured)
    rows += [row for job in worst for row in _rows(job, renewed[job])]
    asked = [Groups(epsilon, n, scale.surveys) for epsilon in scale.epsilons[::2] for n in (150, 500)]
    for job, one in bench.run("means by group", asked, grouped).items():
        for what, value in one.items():
            rows.append(_row("groups", "three groups", job.epsilon, job.n, LEVEL, what, value, job.runs))
    return rows


def _grid(scale: Scale) -> Iterator[Crowds]:
    for epsilon, n, people in product(scale.epsilons, scale.numbers, NINE):
        # Widths from the fewest answers vary most: somebody rare is among them or not.
        yield Crowds("grid", people, epsilon, n, scale.grid, scale.read * (10 if n <= FEWEST else 1))


def _levels(scale: Scale) -> Iterator[Crowds]:
    for level, epsilon, n, people in product(LEVELS, scale.epsilons[::2], (20, 150), SOME):
        yield Crowds("levels", people, epsilon, n, scale.grid, 10, level)


def _optional(scale: Scale) -> Iterator[Crowds]:
    for missing, epsilon, n, people in product(MISSING, scale.epsilons[::2], scale.numbers[:4], SOME):
        some = People(f"{people.name}, {100 * missing:.0f} % missing", people.positions, people.shares, missing)
        yield Crowds("optional", some, epsilon, n, scale.grid, 10, optional=True)


def _search(scale: Scale) -> Iterator[Crowds]:
    """Populations at two points; the share of the rare one in units of 1/n, or large."""
    for epsilon, n, most, few in product(scale.epsilons, scale.numbers[:4], AT, OTHER):
        if most == few:
            continue
        for share in (*(count / n for count in RARE), *SHARES):
            if share <= 0.5:
                name = f"{100 * share:.3g} % at {few:g}, others at {most:g}"
                yield Crowds("search", People(name, (most, few), (1 - share, share)), epsilon, n, scale.search, 2)


def _rows(job: Crowds, found: dict[str, float]) -> Iterator[Row]:
    for what, value in found.items():
        yield _row(job.part, job.people.name, job.epsilon, job.n, job.level, what, value, job.runs)


def _row(part: str, name: str, epsilon: float, n: int, level: float, what: str, value: float, runs: int) -> Row:
    return {
        "part": part,
        "population": name,
        "epsilon": epsilon,
        "people": n,
        "level": level,
        "what": what,
        "value": value,
        "crowds": runs,
    }


def width(rows: list[Row], what: str, epsilon: float, n: int) -> float:
    """Return the geometric mean over the nine populations of the width of intervals."""
    some = [
        row["value"]
        for row in rows
        if (row["part"], row["what"], row["epsilon"], row["people"]) == ("grid", what, epsilon, n)
    ]
    return math.exp(float(np.mean([math.log(value) for value in some])))


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of small crowds."""

    def held(text: str, *parts: str, what: str = "coverage") -> Claim:
        some = [row for row in rows if row["part"] in parts and row["what"] == what]
        least = min(some, key=lambda row: row["value"])
        error = math.sqrt(LEAST * (1 - LEAST) / least["crowds"])
        value, where = least["value"], f"{least['population']}, epsilon {least['epsilon']:g}, {least['people']} answers"
        return Claim(
            f"(hush) {text}: at least {100 * LEAST:.0f} % in every setting",
            f"at least {100 * value:.1f} ± {100 * error:.1f} % of {len(some)} settings ({where})",
            value >= LEAST or (None if value >= LEAST - 3 * error else False),
        )

    told = [epsilon for epsilon in WIDTHS if any(row["epsilon"] == epsilon for row in rows)]
    new, old = ([width(rows, what, epsilon, MIDDLE) for epsilon in told] for what in ("width", "old"))
    listed = " / ".join(f"{epsilon:g}" for epsilon in told)
    (step, noise), (step_of_old, _) = _step(rows, "part"), _step(rows, "old part")
    return [
        held("nine populations are covered", "grid"),
        held("so are people at two points, found by a search and drawn anew", "anew"),
        Claim(
            f"(hush) {MIDDLE} answers: intervals at most 1.15 / 1.25 / 1.45 times the ideal width at epsilon 2 / 4 / 6",
            " / ".join(f"{value:.2f}" for value in new)
            + f" times at epsilon {listed} (the rule of old: "
            + " / ".join(f"{value:.2f}" for value in old)
            + ")",
            all(value <= WIDTHS[epsilon] for value, epsilon in zip(new, told, strict=True)),
        ),
        Claim(
            "(hush) a larger epsilon never makes an interval wider",
            f"to the next epsilon the width is at most {step:.2f} ± {noise:.2f} times as large "
            f"(the rule of old: {step_of_old:.2f})",
            step <= 1 or (None if step <= 1 + 3 * noise else False),
        ),
        held("means of optional numbers are covered", "optional"),
        _leveled(rows),
        held("means of three groups are covered", "groups", what="least"),
    ]


def _step(rows: list[Row], what: str) -> tuple[float, float]:
    """Return by how much the mean width grows at most from an epsilon to the next, of the same population and crowd.

    The second number is the standard error of the first.
    """
    some: dict[tuple[str, int, float, str], float] = {
        (row["population"], row["people"], row["epsilon"], row["what"]): row["value"]
        for row in rows
        if row["part"] == "grid"
    }
    ratios = []
    for before, after in pairwise(sorted({epsilon for _, _, epsilon, _ in some})):
        for name, n in dict.fromkeys(key[:2] for key in some):
            ends = [some[name, n, epsilon, what] for epsilon in (before, after)]
            errors = [some.get((name, n, epsilon, f"{what}, error"), 0.0) for epsilon in (before, after)]
            noise = math.hypot(*(error / end for error, end in zip(errors, ends, strict=True)))
            ratios.append((ends[1] / ends[0], noise * ends[1] / ends[0]))
    return max(ratios)


def _leveled(rows: list[Row]) -> Claim:
    """Say whether other levels hold: at most a fifth more miss than were promised."""
    some = [row for row in rows if (row["part"], row["what"]) == ("levels", "coverage")]
    misses = {level: [row for row in some if row["level"] == level] for level in LEVELS}
    least = {level: min(found, key=lambda row: row["value"]) for level, found in misses.items()}
    measured = ", ".join(
        f"{level:g}: {100 * row['value']:.2f} % ({row['population']}, epsilon {row['epsilon']:g}, {row['people']})"
        for level, row in least.items()
    )
    good = all(
        row["value"] >= level - 0.2 * (1 - level) - 2 * math.sqrt(level * (1 - level) / row["crowds"])
        for level, row in least.items()
    )
    return Claim(
        "(hush) other levels hold: at most a fifth more intervals miss than promised",
        f"the least coverage at the level {measured}",
        good,
        ""
        if good
        else "with twenty answers at epsilon 8 the average is a count, and an interval takes in one more or not",
    )


def draw(rows: list[Row]) -> Any:
    """Draw the width against the number of answers: the rule of old, and the intervals of hush."""
    names = {"old": "the rule of old", "width": "hush"}
    panels = {}
    for epsilon in sorted({row["epsilon"] for row in rows if row["part"] == "grid"}):
        numbers = sorted({row["people"] for row in rows if row["part"] == "grid"})
        panels[f"epsilon {epsilon:g}"] = [
            {"n": n, "rule": name, "width": width(rows, what, epsilon, n)}
            for what, name in names.items()
            for n in numbers
        ]
    return charts.lines(
        panels,
        "Small crowds: width of 95 % intervals, over that of a normal interval that knows the variance",
        "n",
        "width",
        "rule",
        names=("answers", "width, times the ideal"),
        order=list(names.values()),
        log=(True, True),
        columns=3,
    )
