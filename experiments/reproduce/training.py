"""Models of income, by every method: cross-validation on both censuses.

The paper's setting: income is predicted, or whether it is above its mean, from all other attributes, a category of k
values being k - 1 features; lambda is 1e-4; k-fold cross-validation, several times, each time in another order. The
error is the share of misclassified people, or the mean squared error of income scaled to [-1, 1]. *Excess* is the error
above that of the same model without privacy on the same fold. Standard errors are over folds as if these were
independent; as folds share people, they are somewhat too small.

Every method learns from the same people. Laplace has a number for each of 90 coordinates; with 94 features and a small
epsilon its lattice has more outputs than a plan of hush may have, and such rows are left out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
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
REFUSED = "Laplace"  # its plans may have too many outputs
SHARED = "Training"  # the name under which results are kept: several figures need the same
ORDER = (*CLEAR, *learning.ALL)


@dataclass(frozen=True)
class Fold:
    """One training, and its test: all but the fold train."""

    data: str
    task: str
    method: str
    epsilon: float
    people: int
    repetition: int
    fold: int
    folds: int

    @property
    def trained(self) -> int:
        """How many people train."""
        return self.people - len(range(self.people)[self.tests])

    @property
    def tests(self) -> slice:
        """The places of those who test, in the order of this repetition."""
        return slice(self.fold * self.people // self.folds, (self.fold + 1) * self.people // self.folds)


def dealt(people: census.People, fold: Fold) -> tuple[Sample, Sample]:
    """Return those who train and those who test."""
    order = np.random.default_rng([SEED, fold.repetition]).permutation(fold.people)
    test = order[fold.tests]
    return _some(people, np.delete(order, fold.tests)), _some(people, test)


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
            if fold.method != REFUSED:
                raise
            return None


def jobs_of(
    bench: Bench, data: str, people: int, task: str, methods: Iterable[str], epsilons: Iterable[float]
) -> list[Fold]:
    """Return all trainings of a task on a census, each once."""
    settings = bench.settings
    kinds = [*((method, 0.0) for method in CLEAR), *product(methods, epsilons)]
    return [
        Fold(data, task, method, epsilon, people, repetition, fold, settings.folds)
        for repetition in range(settings.repeats)
        for fold in range(settings.folds)
        for method, epsilon in kinds
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
    groups: dict[tuple[str, float], list[Fold]] = {}
    for job in done:
        groups.setdefault((job.method, job.epsilon), []).append(job)
    found = []
    for (method, epsilon), jobs in groups.items():
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
                "folds": len(jobs),
                "error": mean,
                "stderr": stderr,
                "excess": excess,
                "excess_stderr": excess_stderr,
            }
        )
    return sorted(found, key=lambda row: (row["epsilon"] or 0, ORDER.index(row["method"])))


# -- claims


Key = tuple[str, float]  # a census and an epsilon


def by_setting(rows: list[Row], method: str) -> dict[Key, Row]:
    """Return the rows of a method."""
    return {(row["census"], row["epsilon"]): row for row in rows if row["method"] == method}


def compared(rows: list[Row], method: str, rival: str) -> list[Ratio]:
    """Return the error of one method over that of another, in every setting."""
    ours, theirs = by_setting(rows, method), by_setting(rows, rival)
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


def useless(rows: list[Row], method: str) -> str:
    """Return in words where a method has learnt nothing: its error is that of a constant, or larger."""
    at = by_setting(rows, method)
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
    """The claim that Laplace has so many times the error of the others."""
    # The others over Laplace, as the noise of a quotient is that of the larger error.
    found = [(rival, ratio) for rival in ("Duchi", "PM", "HM") for ratio in compared(rows, rival, "Laplace")]
    name, most = max(found, key=lambda pair: pair[1].value)
    verdicts = {ratio.below(1 / times) for _, ratio in found}
    holds = False if False in verdicts else None if None in verdicts else True
    words = [] if holds else [useless(rows, method) for method in ("Duchi", "PM", "HM")]
    if holds is None:
        unsure = [pair for pair in found if pair[1].below(1 / times) is None]
        rival, ratio = max(unsure, key=lambda pair: pair[1].value + 3 * pair[1].error)
        words.insert(0, f"the least certain is that of {rival}, {ratio}")
    refused = by_setting(rows, "Duchi").keys() - by_setting(rows, "Laplace").keys()
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
        at = [row["epsilon"]] if row["epsilon"] else epsilons
        panels.setdefault(row["data"], []).extend({**row, "epsilon": epsilon} for epsilon in at)
    return charts.lines(panels, title, "epsilon", "error", "method", log=(True, logarithmic))
