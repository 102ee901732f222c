"""Skewed people with small groups, surveys of them by the hundred, and how often intervals cover the truth.

Answers are drawn by `experiments.surveys`, from the laws of the channels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from experiments.relations.numbers import association_of
from experiments.surveys import Array, survey

import hush
from hush.core.blanket import blanket_of
from hush.server.tally import with_own

LEVEL = 0.95
TEAMS = (0.56, 0.3, 0.1, 0.04)
PLACES = (0.75, 0.2, 0.05)
CUTS = {"pay": 20.0, "hours": 25.0}
SCHEMA = hush.Schema(
    [
        hush.Categorical("team", range(4)),
        hush.Categorical("place", range(3)),
        hush.Numeric("pay", 0, 100),
        hush.Numeric("hours", 0, 60),
    ]
)
Truth = dict[Any, float]
Found = dict[str, list[tuple[bool, ...]]]


@lru_cache(maxsize=1)
def everybody() -> dict[str, Array]:
    """Return a population of 200,000: places depend on teams, pay is skewed, two in five work no hours."""
    world = np.random.default_rng(11)
    n = 200_000
    team = world.choice(4, n, p=TEAMS)
    place = np.where(world.random(n) < 0.3, np.minimum(team, 2), world.choice(3, n, p=PLACES))
    hours = np.where(world.random(n) < 0.4, 0, np.clip(world.normal(35, 10, n), 1, 60))
    pay = np.minimum(world.gamma(1.2, 6 + 4 * team, n) * (0.5 + hours / 40), 100)
    return {"team": team, "place": place, "pay": pay, "hours": hours}


def sample(n: int, rng: np.random.Generator) -> dict[str, Array]:
    """Return n of them, each drawn from all."""
    who = rng.integers(0, 200_000, n)
    return {name: column[who] for name, column in everybody().items()}


def covered(rows: Any, truths: list[float]) -> tuple[bool, ...]:
    """Say which intervals cover their truth."""
    return tuple(row.low <= truth <= row.high for row, truth in zip(rows, truths, strict=True))


def cells(tally: hush.Tally, found: Found) -> None:
    """Cells of a table, and shares of its rows and columns."""
    people = everybody()
    table = np.bincount(people["team"] * 3 + people["place"], minlength=12).reshape(4, 3) / 200_000
    by_row, by_column = table / table.sum(1, keepdims=True), table / table.sum(0)
    for name, known in (("all", table), ("rows", by_row), ("columns", by_column)):
        rows = hush.crosstab(tally, "team", "place", shares=name)  # type: ignore[arg-type]
        found.setdefault(f"share of {name}", []).append(covered(rows, known.ravel().tolist()))


def groups(tally: hush.Tally, found: Found) -> None:
    """Means of groups, and differences to the first."""
    people = everybody()
    truth = [float(people["pay"][people["team"] == team].mean()) for team in range(4)]
    rows = hush.means(tally, "pay", by="team")
    inside = covered(rows, truth)
    found.setdefault("mean of a group", []).append(inside[:3])
    found.setdefault("mean of a small group", []).append(inside[3:])
    gaps = rows.differences(versus=0)
    found.setdefault("difference", []).append(covered(gaps[:2], [truth[1] - truth[0], truth[2] - truth[0]]))


def associations(tally: hush.Tally, found: Found) -> None:
    """The association of two numbers."""
    people = everybody()
    truth = association_of(people["pay"], people["hours"], (CUTS["pay"], CUTS["hours"]))
    found.setdefault("association", []).append(covered(hush.association(tally, "pay", "hours"), [truth]))


def moments(tally: hush.Tally, found: Found) -> None:
    """Pearson's correlation."""
    people = everybody()
    truth = float(np.corrcoef(people["pay"], people["hours"])[0, 1])
    rows = hush.association(tally, "pay", "hours", method="moments")
    found.setdefault("moments", []).append(covered(rows, [truth]))


def ranges(tally: hush.Tally, found: Found) -> None:
    """Shares below cuts of a number."""
    rows = hush.below(tally, "pay")[::4]
    ordered = np.sort(everybody()["pay"])
    truth = [float(np.searchsorted(ordered, row.cut, side="right") / 200_000) for row in rows]
    found.setdefault("below", []).append(covered(rows, truth))


KINDS: dict[str, tuple[Callable[[hush.Tally, Found], None], tuple[str, ...], dict[str, Any]]] = {
    "table": (cells, ("team", "place"), {"relations": [("team", "place")]}),
    "means": (groups, ("team", "pay"), {"relations": [("team", "pay")]}),
    "means alone": (groups, ("team", "pay"), {"relations": [("team", "pay")], "singles": 0.0}),
    "association": (
        associations,
        ("pay", "hours"),
        {"relations": [("pay", "hours")], "bands": {name: [cut] for name, cut in CUTS.items()}, "singles": 0.0},
    ),
    "moments": (moments, ("pay", "hours"), {"relations": [("pay", "hours", "moments")], "singles": 0.4}),
    "ranges": (ranges, ("pay",), {"ranges": {"pay": 64}, "singles": 0.0}),
}


def crowd(kind: str) -> int:
    """Return how many people are asked: moments need more than all others."""
    return 20_000 if kind == "moments" else 6_000


def mixed(tally: hush.Tally, own: int, rng: np.random.Generator) -> hush.Tally:
    """Return the tally of people with own reports of a relay, corrected for their average."""
    blanket = blanket_of(tally.plan)
    numbers = rng.multinomial(own, [float(chance) for chance in blanket.answered])
    counts = []
    for channel, number, before in zip(blanket.channels, numbers, tally.counts, strict=True):
        total = list(before)
        drawn = rng.multinomial(number, [float(chance / channel.size) for chance in channel.least.values()])
        for output, count in zip(channel.least, drawn.tolist(), strict=True):
            for member in (output,) if isinstance(output, int) else output:
                total[member] += count
        counts.append(total)
    answered = [one + int(number) for one, number in zip(tally.answered, numbers, strict=True)]
    return with_own(hush.Tally(tally.plan, tally.reports + own, answered, counts), own)


def measured(
    kind: str, epsilon: float, n: int, runs: int, own: int = 0, forgets: bool = False
) -> dict[str, tuple[float, float]]:
    """Return the coverage of every sort of interval of a kind, and its standard error over surveys.

    `own` reports of a relay are among those of people. A tally that `forgets` them is corrected, but does not know it.
    """
    read, names, options = KINDS[kind]
    plan = hush.design(hush.Schema([SCHEMA[name] for name in names]), epsilon, **options)
    rng = np.random.default_rng([n, runs, round(epsilon * 10), sum(map(ord, kind))])
    found: Found = {}
    for _ in range(runs):
        people = sample(n, rng)
        tally = survey(plan, {name: people[name] for name in names}, rng)
        if own:
            tally = mixed(tally, own, rng)
            assert tally.own
        if forgets:
            tally = hush.Tally(plan, tally.reports, tally.answered, tally.counts)
        read(tally, found)
    shares = {name: np.array(one, float).mean(1) for name, one in found.items()}
    result = {}
    for name, one in shares.items():
        least = 0.21 / (runs * len(found[name][0])) ** 0.5  # if all are independent; few runs may all cover
        result[name] = float(one.mean()), max(float(one.std(ddof=1)) / runs**0.5, least)
    return result
