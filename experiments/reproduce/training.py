"""Models of income, by every method: cross-validation on both censuses.

The paper's setting: income is predicted, or whether it is above its mean, from all other attributes, a category of k
values being k - 1 features; lambda is 1e-4; k-fold cross-validation, several times, each time in another order. The
error is the share of misclassified people, or the mean squared error of income scaled to [-1, 1]. *Excess* is the error
above that of the same model without privacy on the same fold. Standard errors are over folds as if these were
independent; as folds share people, they are somewhat too small.

Laplace is slow: it has a number for each of 90 coordinates, and no shorter way to draw it. It is given fewer people if
there are many, and its rivals are trained on the same fewer people too, so that they can be compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from experiments import census, learning
from experiments.learning import CONSTANT, NONE, Sample
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row, mean_and_error, worst
from experiments.reproduce.populations import CENSUS, SEED, label, people_of
from hush.learn import Features

METHODS = ("Laplace", "Duchi", "PM", "HM", "hush")
CLEAR = (NONE, CONSTANT)
SLOW = "Laplace"
SLOW_PEOPLE, SLOW_PEOPLE_QUICK = 20_000, 6_000
SHARED = "Training"  # the name under which results are kept: several figures need the same
ORDER = (*CLEAR, *learning.ALL)
NOISE = 2.0  # differences of fewer standard errors are not told apart


@dataclass(frozen=True)
class Fold:
    """One training, and its test. `people`: of how many; `train`: how many of them train, 0 if all but the fold."""

    data: str
    task: str
    method: str
    epsilon: float
    people: int
    train: int
    repetition: int
    fold: int
    folds: int

    @property
    def trained(self) -> int:
        """How many people train."""
        left = self.people - len(range(self.people)[self.tests])
        return min(self.train or left, left)

    @property
    def tests(self) -> slice:
        """The places of those who test, in the order of this repetition."""
        return slice(self.fold * self.people // self.folds, (self.fold + 1) * self.people // self.folds)


def dealt(people: census.People, fold: Fold) -> tuple[Sample, Sample]:
    """Return those who train and those who test."""
    order = np.random.default_rng([SEED, fold.repetition]).permutation(fold.people)
    test = order[fold.tests]
    train = np.delete(order, fold.tests)[: fold.trained]
    return _some(people, train), _some(people, test)


def _some(people: census.People, index: Any) -> Sample:
    return {name: column[index] for name, column in people.columns.items()}, people.income[index]


def error(people: census.People, fold: Fold) -> float:
    """Train, and return the error on the fold."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    train, test = dealt(people, fold)
    seed = fold.repetition * fold.folds + fold.fold
    with warnings.catch_warnings(), threadpool_limits(1):  # one process for each core
        warnings.simplefilter("ignore")
        return learning.error_on(people, fold.task, fold.method, fold.epsilon, train, test, seed)


def jobs_of(
    bench: Bench, data: str, people: int, task: str, methods: Iterable[str], epsilons: Iterable[float]
) -> list[Fold]:
    """Return all trainings of a task on a census, each once."""
    settings = bench.settings
    some = SLOW_PEOPLE_QUICK if settings.quick else SLOW_PEOPLE
    fewer = some if some < people - people // settings.folds else 0
    kinds = [(method, 0.0, 0) for method in CLEAR]
    for method in methods:
        counts = (
            (fewer,) if method == SLOW else (0, fewer) if method in ("Duchi", "PM", "HM") and SLOW in methods else (0,)
        )
        kinds += [(method, epsilon, count) for epsilon in epsilons for count in dict.fromkeys(counts)]
    return [
        Fold(data, task, method, epsilon, people, count, repetition, fold, settings.folds)
        for repetition in range(settings.repeats)
        for fold in range(settings.folds)
        for method, epsilon, count in kinds
    ]


def rows(
    bench: Bench, task: str, methods: tuple[str, ...] = METHODS, epsilons: tuple[float, ...] | None = None
) -> list[Row]:
    """Return the errors of a task by every method on both censuses."""
    found: list[Row] = []
    for shape in CENSUS:
        people = people_of(bench, shape, bench.settings.people)
        count = min(len(people), bench.settings.people)
        jobs = jobs_of(bench, label(bench, shape), count, task, methods, epsilons or bench.settings.epsilons)
        features = len(Features(people.schema).names)
        done = bench.run(f"{SHARED}: {shape}, {task}", jobs, partial(error, people))
        found += summary({job: done[job] for job in jobs}, shape, features)
    return found


def summary(done: dict[Fold, float], shape: str, features: int) -> list[Row]:
    """Return error and excess of each method, averaged over folds."""
    clear = {(job.repetition, job.fold): value for job, value in done.items() if job.method == NONE}
    groups: dict[tuple[str, float, bool], list[Fold]] = {}
    for job in done:
        groups.setdefault((job.method, job.epsilon, job.train == 0), []).append(job)
    found = []
    for (method, epsilon, everybody), jobs in groups.items():
        mean, stderr = mean_and_error(done[job] for job in jobs)
        excess, excess_stderr = mean_and_error(done[job] - clear[job.repetition, job.fold] for job in jobs)
        found.append(
            {
                "data": jobs[0].data,
                "census": shape,
                "features": features,
                "task": jobs[0].task,
                "method": method,
                "epsilon": epsilon if epsilon else None,
                "people": jobs[0].trained,
                "everybody": everybody,
                "folds": len(jobs),
                "error": mean,
                "stderr": stderr,
                "excess": excess,
                "excess_stderr": excess_stderr,
            }
        )
    return sorted(found, key=lambda row: (row["epsilon"] or 0, ORDER.index(row["method"]), row["everybody"]))


# -- claims


Key = tuple[str, float]  # a census and an epsilon


def by_setting(rows: list[Row], method: str, people: int | None = None) -> dict[Key, Row]:
    """Return the rows of a method: of those who train on everybody, or on so many people."""
    return {
        (row["census"], row["epsilon"]): row
        for row in rows
        if row["method"] == method and (row["everybody"] if people is None else row["people"] == people)
    }


def compared(rows: list[Row], above: str, below: str, people: int | None = None) -> dict[str, float]:
    """Return the error of one method over that of another, in every setting."""
    ours, theirs = by_setting(rows, above, people), by_setting(rows, below, people)
    return {_named(key): row["error"] / theirs[key]["error"] for key, row in ours.items() if key in theirs}


def _named(key: Key) -> str:
    return f"{key[0]}, epsilon {key[1]:g}"


def constant(rows: list[Row], data: str) -> float:
    """Return the error of who says the same of everybody."""
    return next(float(row["error"]) for row in rows if (row["census"], row["method"]) == (data, CONSTANT))


def outperforms(rows: list[Row], method: str, rival: str, text: str) -> Claim:
    """The claim that a method has a smaller error in every setting; where not, whether that is more than noise."""
    found = compared(rows, method, rival)
    setting, ratio = worst(found)
    better = sum(value < 1 for value in found.values())
    why = "" if ratio < 1 else _why(rows, method, rival)
    return Claim(
        text,
        f"better in {better} of {len(found)} settings; at worst its error is {ratio:.3f} of {rival}'s ({setting})",
        ratio < 1,
        why,
    )


def _why(rows: list[Row], method: str, rival: str) -> str:
    """Return what is known of the settings in which a method is not better."""
    ours, theirs = by_setting(rows, method), by_setting(rows, rival)
    worse = {key: row for key, row in ours.items() if row["error"] >= theirs[key]["error"]}
    noise = [
        key
        for key, row in worse.items()
        if row["error"] - theirs[key]["error"]
        < NOISE * np.hypot(row["stderr"] or np.inf, theirs[key]["stderr"] or np.inf)
    ]
    useless = [key for key, row in worse.items() if row["error"] >= constant(rows, key[0])]
    return (
        f"of {len(worse)} settings in which it is not, {len(noise)} are within {NOISE:g} standard errors, and in "
        f"{len(useless)} it is no better than a constant: {next(iter(ours.values()))['people']:,} people train"
    )


def laplace_is_worst(rows: list[Row], text: str, times: float) -> Claim:
    """The claim that Laplace has so many times the error of the others, trained on as many people."""
    people = next(row["people"] for row in rows if row["method"] == SLOW)
    found = {
        f"{rival}: {setting}": 1 / value
        for rival in ("Duchi", "PM", "HM")
        for setting, value in compared(rows, rival, SLOW, people).items()
    }
    setting = min(found, key=lambda name: found[name])
    why = "" if found[setting] > times else "with so few people the others learn nothing either" * _lost(rows, people)
    return Claim(
        text,
        f"with {people:,} people each its error is at least {found[setting]:.2f} times that of {setting}",
        found[setting] > times,
        why,
    )


def _lost(rows: list[Row], people: int) -> bool:
    """Say whether on average over settings the paper's methods do no better than a constant."""
    found = [
        row["error"] / constant(rows, key[0])
        for method in ("Duchi", "PM", "HM")
        for key, row in by_setting(rows, method, people).items()
    ]
    return float(np.mean(found)) >= 1


def hush_is_best(rows: list[Row]) -> Claim:
    """The claim of hush."""
    claim = outperforms(rows, "hush", "HM", "(hush) the default of hush is better than HM in all settings")
    found = by_setting(rows, "hush")
    rival = by_setting(rows, "HM")
    shares = [row["excess"] / rival[key]["excess"] for key, row in found.items() if rival[key]["excess"] > 0]
    tail = f"; its excess over no privacy is {min(shares):.2f} to {max(shares):.2f} of HM's" if shares else ""
    return Claim(claim.text, claim.measured + tail, claim.holds, claim.why)


def draw(rows: list[Row], title: str, logarithmic: bool) -> Any:
    """Draw error against epsilon, a panel for each census; what has no epsilon is a level line."""
    epsilons = sorted({row["epsilon"] for row in rows if row["epsilon"]})
    panels: dict[str, list[Row]] = {}
    for row in rows:
        if row["everybody"] or row["method"] == SLOW:
            name = row["method"] if row["everybody"] else f"{row['method']} ({row['people']:,} people)"
            at = [row["epsilon"]] if row["epsilon"] else epsilons
            panels.setdefault(row["data"], []).extend({**row, "method": name, "epsilon": epsilon} for epsilon in at)
    return charts.lines(panels, title, "epsilon", "error", "method", log=(True, logarithmic))
