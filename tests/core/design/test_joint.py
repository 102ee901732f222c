"""Where joint reports pay, and where they do not: docs/joint-figures.md in full."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hush.core.design.categorical import subset, total_variance
from hush.core.design.joint import cells, cube, person_variance
from hush.core.design.numeric import duchi, hybrid


@pytest.mark.parametrize("d", [4, 10, 16])
def test_the_cube_pays_at_the_worst_from_epsilon_2_on(d: int) -> None:
    """Everybody at either end: a report about one attribute of d says nothing about the others."""
    gains = []
    for epsilon in (Fraction(1), Fraction(2), Fraction(4), Fraction(8)):
        single = min(
            Fraction(d, k) * (make(epsilon / k).variance(1) + 1) for make in (duchi, hybrid) for k in range(1, d + 1)
        )
        gains.append(float(single / person_variance(cube(epsilon, d))))
    assert gains[0] == pytest.approx(1)
    assert gains[1] > 1.3
    assert gains[2] > 2
    assert gains[3] > 1.7
    # The twin: for people who are all alike there is nothing to gain.
    alike = Fraction(d) * hybrid(Fraction(4)).worst_variance
    assert alike < person_variance(cube(Fraction(4), d))


@pytest.mark.parametrize(("sizes", "least"), [((2, 2), 2), ((2, 2, 2), 2), ((2, 2, 2, 2), 3), ((4, 4), 4)])
def test_cells_pay_for_tables_of_at_most_about_e_to_the_epsilon(sizes: tuple[int, ...], least: int) -> None:
    for epsilon in (1, 2, 3, 4, 8):
        channel = cells(Fraction(epsilon), sizes)
        joint = single = Fraction(0)
        for j, size in enumerate(sizes):
            people = 1 - Fraction(1, size)
            joint += channel.variance_of(j, 1) + (size - 1) * channel.variance_of(j, 0) + people
            single += len(sizes) * (total_variance(subset(Fraction(epsilon), size)) + people)
        assert (joint < single) == (epsilon >= least)
