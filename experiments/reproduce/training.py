"""Models of income, by every method: cross-validation on both censuses.

The paper's setting: income is predicted, or whether it is above its mean, from all other attributes, a category of k
values being k - 1 features; lambda is 1e-4; k-fold cross-validation, several times, each time in another order. The
error is the share of misclassified people, or the mean squared error of income scaled to [-1, 1]. *Excess* is the error
above that of the same model without privacy on the same fold. Standard errors are over folds as if these were
independent; as folds share people, they are somewhat too small.

Laplace is slow: it has a number for each of 90 coordinates, and no shorter way to draw it. It is given fewer people if
there are many, and its rivals are trained on the same fewer people too, so that they can be compared. With 94 features
and a small epsilon its lattice has more outputs than a plan of hush may have: such rows are left out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import hush
from experiments import census, learning
from experiments.learning import CONSTANT, NONE, Sample
from experiments.reproduce import charts
from experiments.reproduce.estimation import Ratio, judged
from experiments.reproduce.frame import Bench, Claim, Row, mean_and_error
from experiments.reproduce.populations import CENSUS, SEED, label, people_of
from hush import Features

METHODS = ("Laplace", "Duchi", "PM", "HM", "hush")
CLEAR = (NONE, CONSTANT)
SLOW = "Laplace"
SLOW_PEOPLE, SLOW_PEOPLE_QUICK = 10_000, 6_000
SHARED = "Training"  # the name under which results are kept: several figures need the same
ORDER = (*CLEAR, *learning.ALL)


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


def error(people: census.People, fold: Fold) -> float | None:
    """Train, and return the error on the fold; None if hush refuses the plan, as Laplace can have too many outputs."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    train, test = dealt(people, fold)
    seed = fold.repetition * fold.folds + fold.fold
    with warnings.catch_warnings(), threadpool_limits(1):  # one process for each core
        warnings.simplefilter("ignore")
        try:
            return learning.error_on(people, fold.task, fold.method, fold.epsilon, train, test, seed)
        except (hush.DesignError, hush.PlanError):
            if fold.method != SLOW:
                raise
            return None


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
        people = people_of(bench, shape, bench.settings.learners)
        count = min(len(people), bench.settings.learners)
        jobs = jobs_of(bench, label(bench, shape), count, task, methods, epsilons or bench.settings.epsilons)
        features = len(Features(people.schema).names)
        done = bench.run(f"{SHARED}: {shape}, {task}", jobs, partial(error, people))
        found += summary({job: done[job] for job in jobs if done[job] is not None}, shape, features)
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


def compared(rows: list[Row], method: str, rival: str, people: int | None = None) -> list[Ratio]:
    """Return the error of one method over that of another, in every setting."""
    ours, theirs = by_setting(rows, method, people), by_setting(rows, rival, people)
    found = []
    for key, row in ours.items():
        if key not in theirs:
            continue  # hush has refused it
        value = row["error"] / theirs[key]["error"]
        # Folds are the same for both, which is not made use of: the error is rather too large.
        parts = [(r["stderr"] if r["stderr"] is not None else r["error"]) / r["error"] for r in (row, theirs[key])]
        setting = f"{key[0]}, epsilon {key[1]:g}, {row['people']:,} people"
        found.append(Ratio(value, value * math.hypot(*parts), rival, setting))
    return found


def constant(rows: list[Row], data: str) -> float:
    """Return the error of who says the same of everybody."""
    return next(float(row["error"]) for row in rows if (row["census"], row["method"]) == (data, CONSTANT))


def useless(rows: list[Row], method: str, people: int | None = None) -> str:
    """Return in words where a method has learnt nothing: its error is that of a constant, or larger."""
    at = by_setting(rows, method, people)
    count = sum(row["error"] >= constant(rows, key[0]) for key, row in at.items())
    return f"{method} is no better than a constant in {count} of {len(at)} settings"


def outperforms(rows: list[Row], method: str, rival: str, text: str) -> Claim:
    """The claim that a method has a smaller error in every setting."""
    claim = judged(text, compared(rows, method, rival))
    if claim.holds:
        return claim
    words = [claim.why, useless(rows, method), useless(rows, rival)]
    return replace(claim, why="; ".join(filter(None, words)))


def laplace_is_worst(rows: list[Row], text: str, times: float) -> Claim:
    """The claim that Laplace has so many times the error of the others, trained on as many people."""
    people = next(row["people"] for row in rows if row["method"] == SLOW)
    # The others over Laplace, as the noise of a quotient is that of the larger error.
    found = [(rival, ratio) for rival in ("Duchi", "PM", "HM") for ratio in compared(rows, rival, SLOW, people)]
    name, most = max(found, key=lambda pair: pair[1].value)
    verdicts = {ratio.below(1 / times) for _, ratio in found}
    holds = False if False in verdicts else None if None in verdicts else True
    words = [] if holds else [useless(rows, method, people) for method in ("Duchi", "PM", "HM")]
    refused = by_setting(rows, "Duchi").keys() - by_setting(rows, SLOW, people).keys()
    words += [
        f"hush refuses it on {name} at epsilon {epsilon:g}: too many outputs" for name, epsilon in sorted(refused)
    ]
    return Claim(text, f"the error of {name} is {most}, at most", holds, "; ".join(words))


def hush_is_best(rows: list[Row]) -> Claim:
    """The claim of hush."""
    claim = outperforms(rows, "hush", "HM", "(hush) the default of hush is better than HM in all settings")
    ours, rival = by_setting(rows, "hush"), by_setting(rows, "HM")
    shares = [row["excess"] / rival[key]["excess"] for key, row in ours.items() if rival[key]["excess"] > 0]
    tail = f"; its excess over no privacy is {min(shares):.2f} to {max(shares):.2f} of HM's" if shares else ""
    return replace(claim, measured=claim.measured + tail)


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
