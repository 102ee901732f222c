"""Figures of theory, of learning, and beyond the paper: tiny runs, and claims that follow from rows and nothing else.

Verdicts are tested on rows that were made up or swapped, never on the noise of a tiny run: each claim that is tested
has a twin that must turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("altair")

from experiments.reproduce import (
    best_k,
    crowds,
    estimation,
    fewer_people,
    float_attack,
    gradients,
    joint_reports,
    limit_gap,
    linear,
    logistic,
    many_dimensions,
    ratio_estimator,
    regions,
    subset_oue,
    svm,
    training,
    users,
    variance_at,
    worst_variance,
)
from experiments.reproduce.frame import Bench, Claim, Row, Settings

import hush
from experiments import census, learning, theory

TINY = Settings(runs=2, people=3000, learners=3000, folds=2, repeats=1, epsilons=(1.0, 4.0), quick=True)
MODEL = {
    "data", "census", "features", "task", "method", "epsilon", "people", "folds", "error", "stderr",
    "excess", "excess_stderr",
}  # fmt: skip
SURVEY = {"data", "target", "epsilon", "people"}
KEYS: dict[Any, set[str]] = {
    worst_variance: {"epsilon", "mechanism", "variance"},
    variance_at: {"t", "epsilon", "mechanism", "variance"},
    regions: {"d", "epsilon", "region", "HM", "PM", "Duchi", "epsilon*", "epsilon#"},
    many_dimensions: {"d", "epsilon", "mechanism", "fraction"},
    logistic: MODEL,
    svm: MODEL,
    linear: MODEL,
    gradients: MODEL,
    limit_gap: {"epsilon", "mechanism", "variance", "limit", "lower", "above"},
    ratio_estimator: SURVEY | {"estimator", "mse", "stderr", "gain", "gain_stderr", "runs"},
    best_k: {"way", "epsilon", "questions", "best", "paper", "loss"},
    subset_oue: {"size", "epsilon", "channel", "variance", "report_bytes", "answer_bytes", "json_bytes"},
    float_attack: {
        "epsilon", "mechanism", "maker", "draws", "values", "low bits", "lower", "impossible", "passed",
    },
    joint_reports: {"kind", "people", "epsilon", "channel", "joint", "one by one", "gain"},
    fewer_people: SURVEY | {"what", "method", "value", "stderr"},
    crowds: {"target", "people", "way", "epsilon", "error", "stderr", "runs"},
}  # fmt: skip


LIMITS = theory.limits()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench on which everything is small."""
    few = (0.5, 1.0, 2.0, 4.0)
    monkeypatch.setattr(worst_variance, "EPSILONS", few)
    monkeypatch.setattr(variance_at, "EPSILONS", few)
    monkeypatch.setattr(theory, "EPSILONS", [Fraction(1, 2), Fraction(1), Fraction(13, 4)])
    monkeypatch.setattr(theory, "DIMENSIONS", [5, 10])
    monkeypatch.setattr(theory, "limits", lambda: LIMITS[2:9:2])
    monkeypatch.setattr(regions, "EPSILONS", (0.3, 0.9, 2.0))
    monkeypatch.setattr(regions, "DIMENSIONS", (3, 4))
    monkeypatch.setattr(regions, "MANY_EPSILONS", (0.5, 3.0))
    monkeypatch.setattr(best_k, "EPSILONS", (1.0, 4.0, 5.0))
    monkeypatch.setattr(best_k, "MOST", 3)
    monkeypatch.setattr(subset_oue, "SIZES", (2, 16))
    monkeypatch.setattr(float_attack, "DRAWS_QUICK", 1200)
    monkeypatch.setattr(joint_reports, "EPSILONS", (1.0, 4.0))
    monkeypatch.setattr(users, "SHARES", (1 / 2, 1))
    monkeypatch.setattr(estimation, "METHODS", {name: estimation.METHODS[name] for name in ("HM", "hush")})
    # Searching for plans takes seconds; their tests are elsewhere.
    monkeypatch.setattr(crowds, "chosen", lambda wish: {"epsilon": min(wish.local, 5.0)})
    monkeypatch.setattr(crowds, "NUMBERS", (1000, 10_000))
    monkeypatch.setattr(crowds, "RUNS", 200)
    # Whether models converge is not what is tested here.
    monkeypatch.setattr(learning, "STEPS", 1e5)
    short = {name: replace(way, options=way.options | {"rounds": 2}) for name, way in learning.ALL.items()}
    monkeypatch.setattr(learning, "ALL", short)
    return Bench(TINY, tmp_path / "cache", processes=1)


@pytest.mark.parametrize("figure", KEYS, ids=lambda figure: figure.__name__.rpartition(".")[2])
def test_a_figure_runs(figure: Any, bench: Bench) -> None:
    if KEYS[figure] is MODEL:
        bench.settings = replace(TINY, epsilons=(4.0,))
    rows = figure.compute(bench)
    assert rows
    assert all(KEYS[figure] <= set(row) for row in rows)
    claims = figure.claims(rows)
    assert claims
    beyond = figure.PAPER == "beyond"
    for claim in claims:
        assert isinstance(claim, Claim)
        assert claim.measured
        assert claim.holds in (True, False, None)
        assert claim.text.startswith("(hush)") or not beyond
    assert "$schema" in figure.draw(rows).to_dict()  # Altair checks it against the schema of Vega-Lite
    assert figure.compute(bench) == rows or figure is subset_oue  # from the cache, or computed to the same


# -- theory


def verdict(figure: Any, rows: list[Row], part: str) -> bool | None:
    """Return the verdict of the one claim whose text has this part."""
    found: list[bool | None] = [claim.holds for claim in figure.claims(rows) if part in claim.text]
    (only,) = found
    return only


def swapped(rows: list[Row], field: str, one: str, other: str) -> list[Row]:
    """Return rows in which two names of a field have changed places."""
    names = {one: other, other: one}
    return [{**row, field: names.get(row[field], row[field])} for row in rows]


def exchanged(rows: list[Row], one: str, other: str) -> list[Row]:
    """Return rows in which two columns have changed places."""
    return [{**row, one: row[other], other: row[one]} for row in rows]


def inverted(rows: list[Row]) -> list[Row]:
    return [{**row, "gain": 1 / row["gain"]} for row in rows]


Twin = Callable[[list[Row]], list[Row]]
TWINS: list[tuple[Any, str, Twin]] = [
    (worst_variance, "HM is never above Laplace", lambda r: swapped(r, "mechanism", "HM", "Laplace")),
    (worst_variance, "never above PM-SUB", lambda r: swapped(r, "mechanism", "hush", "PM-SUB")),
    (worst_variance, "PM is below Duchi et al. for", lambda r: swapped(r, "mechanism", "PM", "Duchi")),
    (variance_at, "of PM falls", lambda r: swapped(r, "mechanism", "PM", "Duchi")),
    (variance_at, "above 1", lambda r: swapped(r, "mechanism", "PM", "Duchi")),
    (variance_at, "8/epsilon^2", lambda r: swapped(r, "mechanism", "Laplace", "HM")),
    (regions, "epsilon > epsilon#", lambda r: exchanged(r, "HM", "PM")),
    (regions, "odd", lambda r: exchanged(r, "PM", "Duchi")),
    (regions, "about 0.61", lambda r: exchanged(r, "epsilon*", "epsilon#")),
    (many_dimensions, "d = 5: HM is at most", lambda r: swapped(r, "mechanism", "HM, paper", "Duchi, as printed")),
    (many_dimensions, "even where HM is not", lambda r: swapped(r, "mechanism", "hush", "Duchi, as printed")),
    (limit_gap, "within 2 %", lambda r: swapped(r, "mechanism", "hush", "HM")),
    (limit_gap, "ever further", lambda r: swapped(r, "mechanism", "hush", "HM")),
    (limit_gap, "no mechanism is below", lambda r: exchanged(r, "variance", "lower")),
    (best_k, "never larger", lambda r: exchanged(r, "best", "paper")),
    (subset_oue, "noise", lambda r: swapped(r, "channel", "subset", "oue")),
    (float_attack, "more than they claim", lambda r: swapped(r, "maker", float_attack.TEXTBOOK, float_attack.HUSH)),
    (joint_reports, "at the ends", inverted),
    (joint_reports, "all alike", inverted),
]


@pytest.mark.parametrize(("figure", "part", "twin"), TWINS, ids=[part for _, part, _ in TWINS])
def test_a_claim_holds_and_its_twin_does_not(figure: Any, part: str, twin: Twin, bench: Bench) -> None:
    if figure is float_attack:
        bench.settings = replace(TINY, epsilons=(1.0,))
    rows = figure.compute(bench)
    assert verdict(figure, rows, part) is True
    assert verdict(figure, twin(rows), part) is False
    if figure is float_attack:
        assert verdict(figure, rows, "attack on hush") is True
        assert verdict(figure, twin(rows), "attack on hush") is False


def test_even_dimensions_fail_and_say_why(bench: Bench) -> None:
    (claim,) = [c for c in many_dimensions.claims(many_dimensions.compute(bench)) if c.text.startswith("d = 10: HM")]
    assert claim.holds is False
    assert "as printed" in claim.why
    (claim,) = [c for c in regions.claims(regions.compute(bench)) if "even" in c.text]
    assert claim.holds is False
    assert "as printed" in claim.why


# -- models


ERRORS = {
    "constant": 0.33, "non-private": 0.25, "Laplace": 0.45, "Duchi": 0.32, "PM": 0.30, "HM": 0.29,
    "HM, all of hush's training": 0.285, "hush, the paper's training": 0.27, "hush": 0.26, "PrivUnit": 0.26,
}  # fmt: skip


def model_rows(task: str, noise: float = 1e-4, **changed: float) -> list[Row]:
    """Return rows of both censuses, with errors that fall a little with epsilon."""
    rows = []
    for name in ("BR", "MX"):
        for method, error in (ERRORS | changed).items():
            for epsilon in (None,) if method in training.CLEAR else (1.0, 2.0, 4.0):
                value = error - 0.002 * (epsilon or 0)
                rows.append(
                    {
                        "data": name, "census": name, "features": {"BR": 90, "MX": 94}[name], "task": task,
                        "method": method, "epsilon": epsilon, "people": 1000, "folds": 4,
                        "error": value, "stderr": noise, "excess": value - 0.25, "excess_stderr": noise,
                    }
                )  # fmt: skip
    return rows


@pytest.mark.parametrize("figure", [logistic, svm, linear])
@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("Laplace", {"Laplace": 0.2}),
        ("PM consistently", {"PM": 0.33}),
        ("HM consistently", {"HM": 0.33}),
        ("default of hush", {"hush": 0.31}),
    ],
)
def test_claims_of_models_follow_from_rows(figure: Any, part: str, change: dict[str, float]) -> None:
    far = {"Laplace": 0.9}  # far enough for linear regression as well
    assert verdict(figure, model_rows(figure.TASK, **far), part) is True
    assert verdict(figure, model_rows(figure.TASK, **(far | change)), part) is False
    assert verdict(figure, model_rows(figure.TASK, noise=0.2, **far), part) is None  # too much noise to say


def test_an_open_verdict_on_laplace_names_the_setting_that_leaves_it_open() -> None:
    rows = model_rows("logistic")
    assert all("least certain" not in claim.why for claim in logistic.claims(rows))
    for row in rows:
        if (row["census"], row["method"], row["epsilon"]) == ("MX", "PM", 2.0):
            row["stderr"] = 0.1
    (claim,) = [claim for claim in logistic.claims(rows) if "Laplace" in claim.text]
    assert claim.holds is None
    assert re.match(
        r"the least certain is that of PM, 0\.\d\d ± 0\.\d\d of that of Laplace \(MX, epsilon 2,", claim.why
    )


def test_claims_of_one_model() -> None:
    assert verdict(logistic, model_rows("logistic"), "90 dimensions") is True
    assert verdict(logistic, swapped(model_rows("logistic"), "census", "BR", "MX"), "90 dimensions") is False
    assert verdict(svm, model_rows("svm", PM=0.26, HM=0.26), "approach") is True
    assert verdict(svm, model_rows("svm"), "approach") is False
    learnt = model_rows("linear", Duchi=0.4, PM=0.4, HM=0.4)
    assert verdict(linear, learnt, "mean income") is True
    assert verdict(linear, swapped(learnt, "method", "hush", "HM"), "mean income") is False
    slow = model_rows("logistic")
    assert verdict(logistic, slow, "falls more slowly") is True
    steep = [{**row, "error": 0.3 * (row["epsilon"] or 1) ** -4} for row in slow]
    assert verdict(logistic, steep, "falls more slowly") is False
    # Gaps that grow in every line are a trend.
    trend = [{**row, "error": 0.4 - 0.01 * (row["epsilon"] or 0) * (row["method"] != "Duchi")} for row in slow]
    assert verdict(logistic, trend, "no clear trend") is False


def test_claims_of_gradients_follow_from_rows() -> None:
    rows = model_rows("logistic")
    assert all(claim.holds for claim in gradients.claims(rows))
    turned = swapped(rows, "method", "hush", "HM, all of hush's training")
    assert verdict(gradients, turned, "with hush's training") is False
    assert verdict(gradients, model_rows("logistic", PrivUnit=0.2), "PrivUnit") is False


def test_folds_part_the_people() -> None:
    people = census.synthetic(1003)
    people.columns["id"] = np.arange(1003)
    seen: list[int] = []
    for fold in range(4):
        job = training.Fold("x", "svm", "HM", 1.0, 1003, 2, fold, 4)
        (train, _), (test, incomes) = training.dealt(people, job)
        assert sorted([*train["id"], *test["id"]]) == list(range(1003))
        assert len(train["id"]) == job.trained
        assert np.array_equal(incomes, people.income[test["id"]])
        seen += test["id"].tolist()
    assert sorted(seen) == list(range(1003))


def test_all_methods_learn_from_the_same_people(bench: Bench) -> None:
    jobs = training.jobs_of(bench, "x", 3000, "svm", training.METHODS, (1.0,))
    assert len(jobs) == len({*jobs})
    assert {job.method for job in jobs} == {*training.METHODS, *training.CLEAR}
    assert {job.trained for job in jobs} == {1500}


# -- surveys


def survey_rows(gain: float, slope: float = -1.0, noise: float = 0.01) -> tuple[list[Row], list[Row]]:
    """Return surveys in which HM has so many times the error of hush, and errors that fall with people."""

    def row(method: str, people: int) -> Row:
        mse = 1e-3 * (gain if method == "HM" else 1.0) * (people / 1000) ** slope
        return {
            "data": "BR", "target": "numeric", "epsilon": 1.0, "people": people, "method": method, "mse": mse,
            "stderr": noise * mse,
        }  # fmt: skip

    methods = ("HM", "hush")
    return [row(method, 1000) for method in methods], [row(m, n) for m in methods for n in (1000, 2000, 4000)]


def test_people_are_counted_by_errors() -> None:
    part, law = "needs more people", "one over the people"
    rows = fewer_people.rows_of(*survey_rows(1.5))
    assert rows[0]["value"] == pytest.approx(1.5)
    assert rows[-1]["value"] == pytest.approx(-1)
    assert verdict(fewer_people, rows, part) is True
    assert verdict(fewer_people, rows, law) is True
    surveys, growing = survey_rows(1.5)
    assert verdict(fewer_people, fewer_people.rows_of(swapped(surveys, "method", "HM", "hush"), growing), part) is False
    assert verdict(fewer_people, fewer_people.rows_of(*survey_rows(1.5, noise=0.5)), part) is None
    assert verdict(fewer_people, fewer_people.rows_of(*survey_rows(1.5, slope=-0.5)), law) is False


def test_estimators_are_told_apart_by_the_same_reports() -> None:
    rows = [
        {
            "data": "x", "target": "numeric", "epsilon": 1.0, "people": 100, "estimator": name, "mse": mse,
            "stderr": 0.1, "gain": gain, "gain_stderr": 0.01, "runs": 9,
        }
        for name, mse, gain in (("paper", 1.0, 0.6), ("ratio", 0.4, 0.6))
    ]  # fmt: skip
    turned = [{**row, "gain": -row["gain"]} for row in swapped(rows, "estimator", "paper", "ratio")]
    for part in ("nowhere worse", "halves"):
        assert verdict(ratio_estimator, rows, part) is True
        assert verdict(ratio_estimator, turned, part) is False


# -- crowds


def test_claims_about_crowds_follow_from_rows() -> None:
    goals = [goal for kind, some in crowds.POPULATIONS.items() for p in some for goal in crowds.targets(kind, p)]
    ways = {crowds.LOCAL: 1.0, crowds.FREE: 1 / 16, crowds.RELAY: 1 / 5, crowds.GAUSSIAN: 1 / 17}

    def rows(**other: float) -> list[Row]:
        return [
            {"target": goal, "people": 10_000, "way": way, "error": size, "exact": size, "stderr": 1e-4}
            for goal in goals
            for way, error in ways.items()
            for size in [error * (other.get(goal, 1.0) if way == crowds.FREE else 1.0)]
        ]

    assert all(claim.holds for claim in crowds.claims(rows()))
    for goal, part in {
        "mean": "the mean of a number",
        "share of 1/16": "shares of 1/16",
        "share of 1/2": "the share of a yes: at most",
        "share of nobody, among 16": "that nobody has",
        "share of 1/2, among 16": "half of the people have",
    }.items():
        assert verdict(crowds, rows(**{goal: 2.0}), part) is False
    assert verdict(crowds, rows(**{"share of nobody, among 16": 2.0}), "trusted server") is False
    far = [{**row, "error": row["error"] + 0.001} for row in rows()]
    assert verdict(crowds, far, "those of the exact variances") is False
    ways[crowds.RELAY] = 1 / 3
    assert verdict(crowds, rows(), "reports of a relay") is False


def test_noise_in_a_crowd_is_that_of_the_channel() -> None:
    """400 surveys of 500 people at epsilon 2: root mean squares are within 20 %, more than five deviations."""
    job = crowds.Survey("one of 16", "even", 500, 2.0, 400)
    ((noise, error, sampled, _),) = crowds.measured(job).values()
    channel = hush.design(crowds.schema("one of 16"), 2.0).questions[0].channel
    assert abs(noise / (float(channel.variance(Fraction(1, 16))) / 500) ** 0.5 - 1) < 0.2
    assert abs(sampled / (15 / 256 / 500) ** 0.5 - 1) < 0.2
    assert 0 < error < noise / 10
    ((mixed, *_),) = crowds.measured(crowds.Survey("one of 16", "even", 500, 2.0, 400, own=500)).values()
    assert mixed > 1.2 * noise  # the relay's own reports add noise
