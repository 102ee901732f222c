"""Intervals keep their word: at the level 0.95 they cover that often, whoever the people are, and hardly more.

Outputs are drawn from the exact law of a population, as n independent people would report: that the sampler has this
law is shown elsewhere. `experiments.crowds` tests thousands of crowds at once whether their interval covers; for some
of each cell `estimate` is asked itself, and must agree. `python -m experiments.coverage` has the full grid, and the
least coverage that it found is 0.942: of coins tossed a hundred times, where a count more or less matters.

**False alarms.** If the coverage of a cell is 0.942, what is observed is more than six standard errors below that with
a probability of 1e-9; there are fewer than 500 cells, so 5e-7 for all. Where the coverage must not be much larger
either, it is compared with six standard errors around [0.95, 0.957]. **Power.** With RUNS = 4000 crowds a coverage of
0.91 is noticed with a probability above 0.99, with 20,000 one of 0.928; the faults of the twins are far worse. numpy's
generator is seeded, so a test that passes once passes always.

The twins: the rule that hush once had; a score without one of its terms; Wilson's interval for too few; intervals that
forget the noise, or take the wrong law. All are caught.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from experiments.coverage import RESULTS, Cell, cells, least_binomial
from experiments.crowds import Array, Target, channel, missings, populations

from hush import MISSING, Categorical, Numeric, Schema, Tally, design, estimate, randomise
from hush.core.channels import Reading, Symbols
from hush.core.schema import Attribute
from hush.server import intervals
from hush.server.intervals import interval, summarise
from tests.cases import SMALL

RUNS = int(os.environ.get("HUSH_RUNS", "4000"))
LEAST = 0.942
HARD = ("all at low", "all in the middle", "half at each end", "skewed", "3 at high, others low")
SOME = ("none", "half", "all but five")
EPSILONS = (0.5, 1.0, 4.0, 8.0)


def error(coverage: float, runs: int) -> float:
    return 6 * math.sqrt(coverage * (1 - coverage) / runs)


def honest(coverage: float, runs: int, level: float = 0.95) -> bool:
    """Whether the coverage may be what it should be, a tolerance of a few counts aside."""
    least = level - (0.95 - LEAST) * (1 - level) / 0.05
    return coverage >= least - error(least, runs)


def exact(coverage: float, runs: int) -> bool:
    """Whether it is no larger than needed either."""
    return honest(coverage, runs) and coverage <= 0.957 + error(0.957, runs)


def measured(cell: Cell, seed: int = 2019, checked: int = 5) -> float:
    """Return the coverage of a cell, after a look at what `estimate` says of some of its crowds."""
    target, _, counts = cell.draw(np.random.default_rng(seed))
    covered = target.covers(counts, cell.level)
    if cell.asked == 1:
        schema = Schema([Numeric("x", -1, 1, optional=cell.optional)])
        plan = design(schema, cell.epsilon, numeric=cell.kind)
        assert plan.channel("x") == channel(cell.kind, cell.optional, cell.epsilon)
        wanted = None if cell.target == "mean" else MISSING
        for row, plausible in zip(counts[:checked].tolist(), covered, strict=False):
            found = estimate(Tally(plan, cell.n, [cell.n], [row]), level=cell.level)
            (said,) = [one for one in found if one.category == wanted]
            inside = said.low - 1e-9 <= target.truth <= said.high + 1e-9
            assert inside >= plausible
            # The interval of an estimate beyond the domain is laid around the end of it, and covers more.
            assert inside == plausible or abs(said.point) > 1, said
    return float(covered.mean())


def crowd(kind: str, optional: bool, epsilon: float, n: int, people: str, missing: str = "none", **more: Any) -> Cell:
    found = replace(populations(n)[people], missing=missings(n)[missing])
    return Cell("", kind, optional, epsilon, n, found, **{"runs": RUNS, **more})


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("kind", ["minimax", "duchi"])
def test_means_of_the_present(kind: str, n: int, epsilon: float) -> None:
    """Outputs that are rare and decide, people who were not met, hardly anybody present."""
    found = [measured(crowd(kind, True, epsilon, n, people, missing)) for people in HARD for missing in SOME]
    assert all(honest(coverage, RUNS) for coverage in found)
    assert np.mean(found) >= 0.949


@pytest.mark.parametrize("people", ["all at high", "half at each end", "3 at high, others low"])
@pytest.mark.parametrize(("epsilon", "n"), [(4.0, 200), (6.0, 500), (7.8, 200), (8.0, 2000)])
def test_signs_of_which_one_is_rare(epsilon: float, n: int, people: str) -> None:
    """Half are missing and nearly all others alike: 20,000 crowds, as the rule of old covered 8 to 86 % here."""
    assert honest(measured(crowd("duchi", True, epsilon, n, people, "half", runs=5 * RUNS)), 5 * RUNS)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", ["minimax", "piecewise", "piecewise-sub", "hybrid", "laplace", "staircase"])
def test_means(kind: str, epsilon: float) -> None:
    for people in HARD if kind == "minimax" else HARD[::2]:
        for n in (100, 1000):
            runs = RUNS if kind == "minimax" else RUNS // 4
            if kind != "staircase" or epsilon > 0.5:  # which has 23,000 outputs
                assert honest(measured(crowd(kind, False, epsilon, n, people, runs=runs), checked=2), runs)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
@pytest.mark.parametrize("missing", ["none", "one", "half", "all but one"])
def test_mixtures_with_missing_values(missing: str, epsilon: float) -> None:
    """The share of the missing has more than two values there."""
    for target in ("mean", "missing"):
        cell = crowd("hybrid", True, epsilon, 300, "all at low", missing, target=target, runs=RUNS // 4)
        assert honest(measured(cell, checked=2), cell.runs)


@pytest.mark.parametrize("people", ["skewed", "spread"])
@pytest.mark.parametrize(
    ("kind", "optional"), [("minimax", False), ("minimax", True), ("duchi", True), ("piecewise", False)]
)
def test_many_reports_are_covered_no_more_often_than_said(kind: str, optional: bool, people: str) -> None:
    for epsilon in (0.5, 1.0, 4.0):
        cell = crowd(kind, optional, epsilon, 5000, people, "a fifth" if optional else "none")
        assert exact(measured(cell), RUNS)


@pytest.mark.parametrize("n", [5, 20, 60])
@pytest.mark.parametrize(("kind", "optional"), [("minimax", False), ("minimax", True), ("duchi", True)])
def test_few_reports(kind: str, optional: bool, n: int) -> None:
    for epsilon in (1.0, 4.0, 8.0):
        for people in HARD:
            for missing in ("none", "half") if optional else ("none",):
                assert honest(measured(crowd(kind, optional, epsilon, n, people, missing), checked=2), RUNS)


@pytest.mark.parametrize("level", [0.9, 0.99, 0.999])
def test_other_levels(level: float) -> None:
    for people in HARD[:3]:
        for kind, optional in (("minimax", False), ("duchi", True)):
            cell = crowd(kind, optional, 8.0, 1000, people, "half" if optional else "none", level=level, runs=5 * RUNS)
            assert honest(measured(cell), cell.runs, level)


@pytest.mark.parametrize("asked", [1 / 2, 1 / 16])
@pytest.mark.parametrize("estimator", ["ratio", "paper"])
@pytest.mark.parametrize("kind", ["minimax", "duchi"])
def test_questions_that_some_are_asked(kind: str, estimator: str, asked: float) -> None:
    """A random number of people answer: k of d questions, or one with some weight. Both estimators keep their word."""
    for epsilon in (1.0, 8.0):
        for people in ("all at low", "skewed"):
            for n in (300, 5000):
                cell = crowd(kind, False, epsilon, n, people, asked=asked, estimator=estimator)
                if kind == "minimax" or estimator == "paper":  # two values otherwise
                    assert honest(measured(cell), RUNS)


@pytest.mark.parametrize("estimator", ["ratio", "paper"])
def test_estimates_of_a_plan_with_four_questions(estimator: Any) -> None:
    """The same through `estimate`, with questions drawn equally and with weights."""
    attributes: list[Attribute] = [Numeric("x", -1, 1), *(Categorical(f"c{i}", range(i + 2)) for i in range(3))]
    ways: tuple[Any, ...] = (1, "weighted")
    for k in ways:
        plan = design(Schema(attributes), 4.0, k=k)
        asked = float(plan.inclusions[0])
        cell = crowd("minimax", False, 4.0, 300, "all at low", asked=asked, estimator=estimator)
        target, _, counts = replace(cell, estimator="paper", runs=40).draw(np.random.default_rng(9))
        if estimator == "ratio":
            reading = plan.channel("x").readings([0] * (counts.shape[1] - 1), 0)[0]
            assert isinstance(reading, Reading)
            target = Target.of(reading, target.truth)
        for row in counts:
            answered, rest = int(row[:-1].sum()), int(row[-1])
            others = [[rest, *[0] * (size - 1)] for size in (2, 3, 4)]
            tally = Tally(plan, 300, [answered, rest, 0, 0], [row[:-1].tolist(), others[0], [0] * 3, [0] * 4])
            said = estimate(tally, estimator=estimator)[0]
            covered = target.covers(row[None] if estimator == "paper" else row[None, :-1], 0.95)[0]
            inside = said.low - 1e-9 <= -1 <= said.high + 1e-9
            # A mean beyond the end of the domain has an interval from that end on.
            assert inside >= covered
            assert inside == covered or said.point < -1


def test_the_kept_grid_is_complete_and_holds() -> None:
    """Of other levels than 0.95 as much in proportion, but where twenty answers are a count of coins."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert [row["group"] for row in rows if "cells" in row] == list(dict.fromkeys(cell.group for cell in cells()))
    for row in rows:
        if row.get("where", {}).get("n") != 20 or row["level"] >= 0.95:
            assert row["least"] >= row["level"] - 0.2 * (1 - row["level"]), row


# -- two values: exact


@pytest.mark.parametrize("n", [100, 250, 1000])
def test_two_values_are_covered_whatever_their_probability(n: int) -> None:
    assert least_binomial(n, 0.95)[0] >= LEAST


@pytest.mark.parametrize(
    "name", ["duchi", "grr-2", "grr-5", "subset-9", "oue-6", "sue-6", "signs-5", "cube-4-3-2", "cells-4-3", "cells-3"]
)
def test_a_report_has_one_of_two_values(name: str) -> None:
    """So their count is binomial, with the probability of which the channel's value is the inverse."""
    found = SMALL[name](Fraction(4))
    state = next(iter(found.states()))
    chances: dict[int, list[Fraction]] = {}
    for output, chance in found.law(state).items():
        counts = [0] * found.alphabet.size
        found.alphabet.count(counts, output)
        for index, reading in enumerate(found.readings(counts, 1)):
            assert isinstance(reading, Reading)
            assert sorted(reading.counts) in ([0, 1], [0, 0])
            kept = chances.setdefault(index, [Fraction(0), Fraction(0)])
            kept[0] += chance * sum(reading.counts)
            kept[1] += chance * reading.counts[1]
    for index, reading in enumerate(found.readings([0] * found.alphabet.size, 0)):
        asked, high = chances[index]
        assert isinstance(reading, Reading)
        low_value, high_value = reading.values
        assert asked == reading.share
        assert low_value + float(high / asked) * (high_value - low_value) == pytest.approx(
            float(found.truth(state)[index])
        )


@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("categorical", ["subset", "grr", "oue", "sue"])
def test_shares_of_categories_that_nobody_or_everybody_holds(categorical: str, share: float) -> None:
    """Of 12 categories and, as the attribute is optional, the missing: exactly, with n = 3000 people."""
    for epsilon in (0.5, 4.0, 8.0):
        plan = design(Schema([Categorical("c", range(12), optional=True)]), epsilon, categorical=categorical)
        found: Any = plan.channel("c")
        chance = share * float(found.p) + (1 - share) * float(found.q)
        counts = np.random.default_rng(3).binomial(3000, chance, size=20_000)
        hits = 0
        for count, times in zip(*np.unique(counts, return_counts=True), strict=True):
            reading = found.readings([int(count), *[0] * 12], 3000)[0]
            low, high = interval(summarise(reading.counts, reading.values), 0.95)
            hits += int(times) * (low <= share <= high)
        assert honest(hits / 20_000, 20_000)


def test_end_to_end_with_real_devices() -> None:
    """200 surveys of 400 people through `randomise`, a share and a mean. 0.85 is left with probability below 1e-7."""
    plan = design(Schema([Numeric("x", 0, 1), Categorical("c", ["a", "b"])]), 2.0)
    hits, rows = 0, 0
    rng = np.random.default_rng(7)
    for _ in range(200):
        tally = Tally(plan)
        for x, c in zip(rng.beta(1, 8, 400), rng.random(400) < 0.15, strict=True):
            tally.add(randomise(plan, {"x": float(x), "c": "a" if c else "b"}))
        mean, share, _ = estimate(tally)
        hits += mean.low <= 1 / 9 <= mean.high
        hits += share.low <= 0.15 <= share.high
        rows += 2
    assert 0.85 < hits / rows <= 1


# -- twins


def rule_of_old(target: Target, counts: Array, rare: float) -> Array:
    """Fieller's interval if skewness and what is rare permit, else two of empirical Bernstein: who is covered."""
    n = counts.sum(1).astype(float)

    def moments(values: Array) -> tuple[Array, Array, Array]:
        mean = counts @ values / n
        second = np.maximum(counts @ values**2 / n - mean**2, 0)
        third = counts @ values**3 / n - 3 * mean * second - mean**3
        skewness = np.where(second > 1e-12, third / np.maximum(second, 1e-12) ** 1.5, np.inf)
        return mean, second * n / (n - 1), (n >= 100 * np.maximum(1, skewness**2)) & (n * rare >= 30)

    def bernstein(mean: Array, variance: Array, values: Array) -> tuple[Array, Array]:
        log = math.log(4 / 0.025)
        margin = np.sqrt(2 * variance * log / n) + 7 * np.ptp(values) * log / (3 * (n - 1))
        return mean - margin, mean + margin

    assert target.presence is not None
    top, top_variance, enough = moments(target.values)
    bottom, bottom_variance, enough_too = moments(target.presence)
    covariance = (counts @ (target.values * target.presence) / n - top * bottom) * n / (n - 1)
    away = top - target.truth * bottom
    spread = top_variance - 2 * target.truth * covariance + target.truth**2 * bottom_variance
    fieller = away**2 <= 1.96**2 * spread / n
    (low, high), (few, many) = (
        bernstein(top, top_variance, target.values),
        bernstein(bottom, bottom_variance, target.presence),
    )
    cautious = (few <= 0) | (
        (np.minimum(low / few, low / many) <= target.truth) & (target.truth <= np.maximum(high / few, high / many))
    )
    return np.asarray(np.where(enough & enough_too, fieller, cautious))


@pytest.mark.parametrize(("epsilon", "n", "covered"), [(4.0, 200, 0.86), (6.0, 500, 0.7), (7.8, 200, 0.08)])
def test_the_rule_of_old_is_caught(epsilon: float, n: int, covered: float) -> None:
    target, _, counts = crowd("duchi", True, epsilon, n, "all at high", "half").draw(np.random.default_rng(1))
    coverage = float(rule_of_old(target, counts, 0.5).mean())
    assert coverage == pytest.approx(covered, abs=0.04)
    assert not honest(coverage, RUNS)


def test_scores_without_one_of_their_terms_are_caught() -> None:
    cell = crowd("duchi", True, 8.0, 100, "3 at high, others low", "half")
    target, _, counts = cell.draw(np.random.default_rng(1))
    assert honest(float(target.covers(counts, 0.95).mean()), RUNS)
    assert not honest(float(target.covers(counts, 0.95, unmet=False).mean()), RUNS)
    cell = crowd("duchi", False, 8.0, 50, "all at low", asked=1 / 16, estimator="paper")
    target, _, counts = cell.draw(np.random.default_rng(1))
    assert honest(float(target.covers(counts, 0.95).mean()), RUNS)
    assert not honest(float(target.covers(counts, 0.95, least=False).mean()), RUNS)


def test_wilsons_interval_for_forty_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "FEW", 40)
    assert least_binomial(115, 0.95)[0] < 0.94


def test_the_twin_that_forgets_the_noise_is_caught() -> None:
    """Intervals from the spread of the data alone cover far too seldom."""
    cell = crowd("piecewise", False, 1.0, 3000, "skewed", runs=500)
    target, _, counts = cell.draw(np.random.default_rng(8))
    spread = 2 * float(np.std(cell.people.positions))
    points = counts @ target.values / 3000
    assert np.mean(np.abs(points - target.truth) <= 1.96 * spread / math.sqrt(3000)) < 0.5


def test_the_twin_with_the_wrong_law_is_caught() -> None:
    """Reports made with another epsilon than the plan says are estimated with a bias that coverage shows."""
    honest_plan = design(Schema([Categorical("c", range(3))]), 1.0, categorical="grr")
    wrong = design(Schema([Categorical("c", range(3))]), 1.3, categorical="grr")
    assert isinstance(wrong.channel("c").alphabet, Symbols)
    one, other = (wrong.channel("c").law(held) for held in (0, 1))
    law = [0.7 * float(one[y]) + 0.3 * float(other[y]) for y in range(3)]
    hits = 0
    for counts in np.random.default_rng(9).multinomial(3000, law, size=500).tolist():
        row = estimate(Tally(honest_plan, 3000, [3000], [counts]))[0]
        hits += row.low <= 0.7 <= row.high
    assert hits / 500 < 0.5
    assert Fraction(1) < honest_plan.ratio < wrong.ratio
