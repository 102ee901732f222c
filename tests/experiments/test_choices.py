"""The comparison of ways to ask for choices: the table in the documentation, and what is said about it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import pytest
from experiments.choices import cells, rows

import hush
from hush.core.design.joint import cells as joint_cells


def test_the_table_is_the_documented_one_and_unary_is_never_best() -> None:
    table = list(rows())
    page = (Path(__file__).parents[2] / "docs" / "choices.md").read_text(encoding="utf-8")
    assert "\n".join(table) in page
    for row in table[2:]:
        d, s, epsilon, *errors = (math.inf if cell == "-" else float(cell) for cell in row.strip("| ").split(" | "))
        each, picks, first, together, unary = errors
        assert unary > min(each, picks, together)
        assert picks <= first
        if s <= d / 2:  # hush offers picks
            assert together >= min(each, picks), "a limit is worth more than a table of all sets"
        if together < min(each, picks):
            assert s == d
            assert epsilon >= 2


def test_the_error_of_cells_is_that_of_their_law() -> None:
    """All sets and all reports, in exact arithmetic: each of three values is held by half of the people, independently.

    A twin that takes another share is off.
    """
    epsilon, d = Fraction(2), 3
    channel = joint_cells(epsilon, (2,) * d)
    total = Fraction(0)
    for held in itertools.product((0, 1), repeat=d):
        for output, chance in channel.law(channel.cell(held)).items():
            total += chance * channel.decode(output)[1] ** 2 / 2**d  # the share of those who hold the first value
    exact = float(total - Fraction(1, 4))
    values = [str(value) for value in range(d)]
    assert cells(epsilon, hush.Choices("c", values, d)) == pytest.approx(exact, rel=1e-12)
    assert cells(epsilon, hush.Choices("c", values, 1)) != pytest.approx(exact, rel=1e-3)
