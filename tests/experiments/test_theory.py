"""The paper's theory as computed from the channels: its claims, and where they fail."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from experiments import theory
from hush.core.design.numeric import NUMERIC, best_worst_case, signs

ROOT = Path(__file__).parent.parent.parent
STORED: dict[str, Any] = json.loads((ROOT / "experiments" / "results" / "theory.json").read_text())


def rows(d: int, mechanism: str) -> dict[float, float]:
    return {
        row["epsilon"]: row["fraction"]
        for row in STORED["many dimensions"]
        if row["d"] == d and row["mechanism"] == mechanism
    }


def test_the_numbers_are_up_to_date() -> None:
    """The cheap parts are computed anew, the rest by a sample."""
    assert theory.regions() == STORED["regions"]
    for row in STORED["many dimensions"][::37]:
        epsilon = Fraction(row["epsilon"])
        if row["mechanism"] == "hush":
            expected = row["d"] * float(best_worst_case(epsilon).worst_variance)
            rival = float(signs(epsilon, row["d"]).worst_variance)
            assert row["fraction"] == pytest.approx(expected / rival, rel=1e-9)
    assert {row["mechanism"] for row in STORED["one dimension"]} == {*NUMERIC, "limit"}


def test_the_regions_are_those_of_the_paper() -> None:
    star = math.log((-5 + 2 * math.cbrt(6353 - 405 * math.sqrt(241)) + 2 * math.cbrt(6353 + 405 * math.sqrt(241))) / 27)
    sharp = math.log((7 + 4 * math.sqrt(7) + 2 * math.sqrt(20 + 14 * math.sqrt(7))) / 9)
    assert STORED["regions"]["epsilon*"] == pytest.approx(star, abs=2e-3)
    assert STORED["regions"]["epsilon#"] == pytest.approx(sharp, abs=2e-3)


def test_minimax_is_the_lowest_line() -> None:
    by_epsilon: dict[float, dict[str, float]] = {}
    for row in STORED["one dimension"]:
        by_epsilon.setdefault(row["epsilon"], {})[row["mechanism"]] = row["variance"]
    for values in by_epsilon.values():
        if "minimax" in values:
            assert values["minimax"] == min(value for name, value in values.items() if name != "limit")


def test_hybrid_is_at_most_77_per_cent_for_odd_d() -> None:
    assert max(rows(5, "HM, paper").values()) <= 0.77
    assert max(rows(5, "PM, paper").values()) < 1


@pytest.mark.parametrize("d", [10, 20, 40])
def test_for_even_d_it_is_so_only_against_the_mechanism_as_printed(d: int) -> None:
    hybrid, printed = rows(d, "HM, paper"), rows(d, "Duchi, as printed")
    assert max(hybrid[e] / printed[e] for e in hybrid) <= 0.77
    assert max(hybrid.values()) > 0.9
    if d == 10:
        assert 1.05 < max(hybrid.values()) < 1.15


@pytest.mark.parametrize("d", [5, 10, 20, 40])
def test_the_minimax_design_is_below_all(d: int) -> None:
    ours = rows(d, "hush")
    for rival in ("PM, paper", "HM, paper", "sampled Duchi"):
        assert all(ours[e] < value for e, value in rows(d, rival).items())
    assert max(ours.values()) < 0.71


def test_the_pictures_are_there() -> None:
    for name in ("worst-variance", "many-dimensions"):
        text = (ROOT / "docs" / "images" / f"{name}.svg").read_text()
        assert text.startswith("<svg")
        assert "epsilon" in text
