"""The committed limits of unbiased mechanisms are complete, converged, and below every mechanism of the paper."""

from __future__ import annotations

import importlib.util
import json
import math
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hush.core.design.numeric import duchi, hybrid, piecewise

FOLDER = Path(__file__).parent.parent.parent / "experiments"
LIMITS: dict[float, dict[str, Any]] = {
    row["eps"]: row for row in json.loads((FOLDER / "results" / "limit.json").read_text(encoding="utf-8"))
}
EPSILONS = [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 8]
KNOWN = {0.5: 16.00, 1: 3.991, 2: 0.8654, 4: 0.1271, 6: 0.0271}


def experiment() -> ModuleType:
    for needed in ("numpy", "scipy"):
        pytest.importorskip(needed, reason=f"the linear program needs {needed}: the extra `experiments`")
    spec = importlib.util.spec_from_file_location("limit", FOLDER / "limit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_epsilon_is_there_and_solved() -> None:
    assert list(LIMITS) == EPSILONS
    assert {row["status"] for row in LIMITS.values()} == {"optimal"}


def test_the_limit_falls_with_epsilon() -> None:
    assert all(a["limit"] > b["limit"] > 0 for a, b in pairwise(LIMITS.values()))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_limits_are_converged_and_bracketed(epsilon: float) -> None:
    row = LIMITS[epsilon]
    assert row["change"] < (0.001 if epsilon < 6 else 0.002)
    assert row["lower"] * (1 - 1e-4) <= row["limit"] <= row["upper"] * (1 + 1e-4)
    assert row["lower"] < row["upper"] < 1.03 * row["lower"]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_mechanism_is_below_the_limit(epsilon: float) -> None:
    row = LIMITS[epsilon]
    for name, make in (("duchi", duchi), ("piecewise", piecewise), ("hybrid", hybrid)):
        variance = float(make(Fraction(repr(epsilon))).worst_variance)
        assert variance > max(row["limit"], row["lower"])
        assert row[name] == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_limit_is_above_half_windows(epsilon: float) -> None:
    """Windows of half of many cells, with the best levels, have worst variance coth(a)/a - 1, a = tanh(eps/2)."""
    a = math.tanh(epsilon / 2)
    assert LIMITS[epsilon]["lower"] < 1 / (a * math.tanh(a)) - 1


@pytest.mark.parametrize("epsilon", list(KNOWN))
def test_known_values(epsilon: float) -> None:
    assert LIMITS[epsilon]["limit"] == pytest.approx(KNOWN[epsilon], rel=0.003)


def test_a_plain_program_reproduces_the_limit() -> None:
    assert experiment().plain(1.0, 6, 60) == pytest.approx(LIMITS[1]["limit"], rel=0.015)


def test_a_bracket_for_few_inputs_is_narrow_and_below_the_limit() -> None:
    solved = experiment().solve(1.0, 6)
    assert solved.low < solved.high < 1.0002 * solved.low
    assert 0.985 * LIMITS[1]["limit"] < solved.low < LIMITS[1]["upper"]


def test_multipliers_that_are_infeasible_are_repaired() -> None:
    """The lower bound must hold for any multipliers whatever, not only for those of a solver."""
    limit = experiment()
    np = limit.np
    x = np.linspace(0, 1, 6)
    for scale in (0.0, 1.0, 5.0):
        dual = np.vstack([np.full(6, scale), scale * x, np.full(6, 1 / 6)])
        assert limit.certified(dual, math.e, x) < LIMITS[1]["upper"]
