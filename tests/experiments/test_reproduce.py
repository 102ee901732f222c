"""Reproducing the paper: surveys by every method, verdicts that can fail, work that is kept, and the command."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from experiments.reproduce import catalogue, dimensions, estimation, frame, gaussian, populations, runner, users
from experiments.reproduce.__main__ import reproduce
from experiments.reproduce.estimation import METHODS, Survey
from experiments.reproduce.expectation import expected
from experiments.reproduce.population import Population

import hush

ROOT = Path(__file__).parent.parent.parent
TINY = frame.Settings(runs=2, people=3000, learners=3000, folds=2, repeats=1, epsilons=(2.0,), quick=True)
FIGURES = ("means_and_frequencies", "gaussian", "shapes", "users", "dimensions")
# A standardised mean is beyond this with a probability of less than 1e-6.
LIMIT = 5.0


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> frame.Bench:
    return frame.Bench(TINY, tmp_path_factory.mktemp("cache"), processes=1)


def small(n: int = 4000) -> Population:
    world = np.random.default_rng(3)
    schema = hush.Schema(
        [
            hush.Numeric("x", 0, 10),
            hush.Numeric("y", -1, 1),
            hush.Categorical("c", [0, 1, 2]),
            hush.Categorical("d", [5, 6]),
        ]
    )
    columns = {
        "x": world.uniform(0, 10, n),
        "y": world.uniform(-1, 0, n),
        "c": world.integers(0, 2, n),
        "d": world.integers(5, 7, n),
    }
    return Population("small", schema, columns)


def test_truths_are_those_of_the_columns() -> None:
    people = small()
    truth = people.truth()
    assert truth["x", None] == people.columns["x"].mean()
    assert truth["c", 2] == 0  # nobody, but it is a category
    assert truth["d", 5] == pytest.approx(np.mean(people.columns["d"] == 5))
    assert sum(truth["c", value] for value in range(3)) == pytest.approx(1)


@pytest.mark.parametrize("method", METHODS)
def test_budgets_are_composed_as_in_the_paper(method: str) -> None:
    """Rivals give every attribute epsilon/d, the paper's methods ask about k of them with epsilon/k."""
    plan = hush.design(small().schema, 2.0, **METHODS[method])
    assert float(plan.ratio) <= np.exp(2.0)
    each = [np.log(float(question.channel.ratio)) for question in plan.questions]
    if method in estimation.RIVALS:
        assert plan.k == len(plan.questions)
        shares = [2.0 * len(question.attributes) / 4 for question in plan.questions]
        assert each == pytest.approx(shares, rel=2e-3)
    else:
        assert plan.k == 1
        assert each == pytest.approx([2.0] * 4, rel=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_errors_are_those_that_are_expected(method: str) -> None:
    """The squared errors of means and of shares, over many runs, against what the exact variances give."""
    people, runs = small(800), 150
    found = estimation.errors(people, Survey("small", method, 2.0, len(people), 4, 0, runs))
    plan = estimation.plan_of(people, method, 2.0)
    theory = expected(people, plan, estimation.estimator_of(method))
    for target, values in found.items():
        error = float(np.std(values, ddof=1) / np.sqrt(runs))
        # Besides the noise: variances between knots, and the second order of the ratio estimator.
        assert abs(float(np.mean(values)) - theory[target]) < LIMIT * error + 0.02 * theory[target], target


def test_an_expectation_with_the_wrong_estimator_is_caught() -> None:
    """The twin: people far from the middle, whose errors the two estimators make very differently."""
    people = small(800)
    columns = {**people.columns, "x": np.full(800, 9.5), "y": np.full(800, -0.9)}
    people, runs = Population("small", people.schema, columns), 150
    found = estimation.errors(people, Survey("small", "HM", 4.0, len(people), 4, 0, runs))["numeric"]
    error = float(np.std(found, ddof=1) / np.sqrt(runs))
    right, wrong = (
        expected(people, estimation.plan_of(people, "HM", 4.0), way)["numeric"] for way in ("paper", "ratio")
    )
    assert abs(float(np.mean(found)) - right) < LIMIT * error + 0.02 * right
    assert abs(float(np.mean(found)) - wrong) > LIMIT * error + 0.02 * wrong


def test_runs_that_do_not_have_the_expected_errors_are_told() -> None:
    good = [row("PM", 1.0, 0.1, expected=1.1, runs=100), row("Duchi", 2.0, 0.1, expected=2.1, runs=100)]
    assert estimation.as_expected(good).holds is True
    assert estimation.as_expected([*good, row("HM", 2.0, 0.1, expected=1.3, runs=100)]).holds is False
    assert estimation.as_expected([{**item, "runs": 8} for item in good]).holds is None


def test_verdicts_are_about_exact_errors_where_there_are_any() -> None:
    """The runs say that PM is worse, by chance: the channels know better."""
    rows = [row("PM", 2.0, 0.1, expected=1.0), row("Duchi", 1.0, 0.1, expected=1.5)]
    claim = estimation.outperforms("", rows, "PM", ["Duchi"])
    assert claim.holds is True
    assert "0.667 (in the runs 2.00" in claim.measured


def row(method: str, mse: float, stderr: float = 1e-6, **other: Any) -> frame.Row:
    base = {"data": "d", "target": "numeric", "epsilon": 1.0, "people": 10, "attributes": 2, "runs": 9}
    return {**base, "method": method, "mse": mse, "stderr": stderr, **other}


def test_verdicts_can_fail_and_can_stay_open() -> None:
    good = [row("PM", 1.0), row("Duchi", 2.0)]
    assert estimation.outperforms("", good, "PM", ["Duchi"]).holds is True
    assert estimation.outperforms("", good, "Duchi", ["PM"]).holds is False
    noisy = [row("PM", 1.0, 0.3), row("Duchi", 1.2, 0.3)]
    assert estimation.outperforms("", noisy, "PM", ["Duchi"]).holds is None
    mixed = [*good, row("PM", 3.0, epsilon=2.0), row("Duchi", 2.0, epsilon=2.0)]
    claim = estimation.outperforms("", mixed, "PM", ["Duchi"])
    assert claim.holds is False
    assert "1.50" in claim.measured
    assert "1 of 2" in claim.why


@pytest.mark.parametrize("name", FIGURES)
def test_figures_run_and_are_written(
    bench: frame.Bench, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what a figure varies, the ends are enough to see it run."""
    monkeypatch.setattr(gaussian, "MEANS", {"mean 0": 0.0, "mean 1": 1.0})
    monkeypatch.setattr(dimensions, "ATTRIBUTES", (4, 19))
    monkeypatch.setattr(users, "SHARES", (1 / 2, 1))
    claims = runner.reproduce([name], bench, tmp_path)[name]
    assert claims
    with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == set(METHODS)
    assert all(float(row["mse"]) > 0 and int(row["runs"]) == 2 for row in rows)
    assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert kept[name]["settings"]["runs"] == 2
    assert [claim["text"] for claim in kept[name]["claims"]] == [claim.text for claim in claims]


@dataclass(frozen=True)
class _Job:
    number: int


def test_work_that_was_done_is_not_done_again(tmp_path: Path) -> None:
    bench = frame.Bench(TINY, tmp_path, processes=1)
    done: list[int] = []

    def work(job: _Job) -> int:
        if job.number == 3 and len(done) == 2:
            raise KeyboardInterrupt
        done.append(job.number)
        return job.number**2

    jobs = [_Job(1), _Job(2), _Job(3)]
    with pytest.raises(KeyboardInterrupt):
        bench.run("squares", jobs, work)
    done.append(0)
    assert bench.run("squares", jobs, work) == {_Job(1): 1, _Job(2): 4, _Job(3): 9}
    assert done == [1, 2, 0, 3]
    assert frame.key("squares", _Job(1)) != frame.key("cubes", _Job(1))


CHILDREN = """
import os, signal, sys
from dataclasses import dataclass
from pathlib import Path
from experiments.reproduce import frame

@dataclass(frozen=True)
class Job:
    number: int

def work(job):
    if job.number < 0:
        os._exit(3)
    return job.number**2

signal.signal(signal.SIGTERM, lambda *_: None)  # as a command has its own handler, which children must not keep
for turn in range(15):
    bench = frame.Bench(frame.QUICK, Path(sys.argv[1]), processes=2)
    jobs = [Job(10 * turn + i) for i in range(6)]
    assert bench.run("squares", jobs, work) == {job: job.number**2 for job in jobs}
try:
    bench.run("squares", [Job(-1), Job(1000), Job(1001)], work)
except Exception as error:
    print(type(error).__name__)
"""


def test_processes_end_and_a_dead_one_is_noticed(tmp_path: Path) -> None:
    """Pools that come and go must not hang, neither at their end nor if a child has been killed."""
    command = [sys.executable, "-W", "ignore", "-c", CHILDREN, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=True)  # noqa: S603
    assert done.stdout == "BrokenProcessPool\n"


def test_synthetic_numbers_follow_their_laws() -> None:
    world = np.random.default_rng(7)
    n = 200_000
    power = populations.power_law(world, n)
    # The share below v is (1 - (v + 2)^-9) / (1 - 3^-9).
    for v in (-0.95, -0.8, 0.0):
        share = (1 - (v + 2) ** -9) / (1 - 3.0**-9)
        assert abs(np.mean(power < v) - share) < LIMIT * np.sqrt(share * (1 - share) / n)
    assert power.min() >= -1
    assert power.max() <= 1
    edge = populations.gaussian(1.0)(world, n)
    assert edge.max() <= 1
    assert abs(edge.mean() - (1 - 0.25 * np.sqrt(2 / np.pi))) < LIMIT * 0.25 / np.sqrt(n)


def test_some_attributes_of_each_kind_are_kept() -> None:
    people = small()
    some = dimensions.some_of(people, 2)
    assert some.schema.names == ("x", "c")
    assert list(some.columns) == ["x", "c"]


def test_the_catalogue_is_complete() -> None:
    for name in catalogue.NAMES:
        figure = catalogue.figure(name)
        assert figure.TITLE
        assert figure.PAPER
        assert (name in catalogue.BEYOND) == (figure.PAPER == "beyond")
    with pytest.raises(KeyError):
        catalogue.figure("os")


def test_the_command() -> None:
    run = CliRunner().invoke
    listed = run(reproduce, ["--list"])
    assert [line.split()[0] for line in listed.output.splitlines()] == list(catalogue.NAMES)
    assert any("In the source  " in line for line in listed.output.splitlines()), "columns have spaces between them"
    wrong = run(reproduce, ["nothing"])
    assert wrong.exit_code == 2
    assert "gaussian" in wrong.output
    assert run(reproduce, ["gaussian", "--data", "/nowhere"]).exit_code == 2
    found = json.loads(run(reproduce, ["--list", "--json"]).stdout)
    assert [row["name"] for row in found] == list(catalogue.NAMES)
    assert all(row["title"] and row["paper"] for row in found)


def test_the_command_says_pass_or_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "QUICK", replace(TINY, people=2000, learners=2000))
    options = ["--quick", "--processes", "1", "-o", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")]
    result = CliRunner().invoke(reproduce, ["shapes", *options])
    assert result.exit_code == 0, result.output
    assert "Figure 6" in result.output
    assert any(word in result.output for word in ("  pass  ", "  FAIL  ", "  open  "))
    assert (tmp_path / "out" / "shapes.svg").exists()
