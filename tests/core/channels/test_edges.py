"""The ends of every rule of every channel: the last value that is accepted, the first that is not.

Written with a mutation tester at hand (docs/mutants.md): each of these tests fails for a change that no other noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from hush import Categorical, Choices, Numeric, PlanError
from hush.core.channels import (
    Additive,
    Cells,
    Channel,
    Corners,
    Cube,
    Ladder,
    Mixture,
    Picks,
    Rows,
    Signs,
    Subset,
    Unary,
    Window,
)
from hush.core.channels.window import ROUNDING
from hush.core.design.categorical import grr
from hush.core.design.numeric import decays_of
from hush.core.exact import WORD
from tests.cases import SMALL, small_window

LAST = WORD - 1
HALF = WORD // 2
COINS = WORD // ROUNDING  # how many thresholds a window of one cell has
PARTS = (small_window(Fraction(1), 7, 2), small_window(Fraction(1), 5, 2))
OPTIONAL = small_window(Fraction(1), 7, 2, True)
TOP = 1 << 30
REACH = (1 << 15) + 1

Make = Callable[[], Channel]

ACCEPTED: dict[str, Make] = {
    "unary, least": lambda: Unary(2, 2, 1),
    "unary, most": lambda: Unary(4097, LAST, LAST - 1),
    "subset, least": lambda: Subset(2, 1, HALF + 1),
    "subset, most": lambda: Subset(4097, 4096, LAST),
    "subset, least threshold": lambda: Subset(4097, 1, WORD // 4097 + 1),
    "signs, least": lambda: Signs(1, HALF + 1),
    "signs, most": lambda: Signs(1024, LAST),
    "corners, least": lambda: Corners(1, 1, HALF + 1),
    "corners, most": lambda: Corners(1024, 1024, LAST),
    "corners, one": lambda: Corners(1024, 1, LAST),
    "cube, least": lambda: Cube(1, 1, 1, HALF + 1),
    "cube, most": lambda: Cube(1024, 64, 64, LAST),
    "cube, least agreement": lambda: Cube(64, 64, 33, LAST),
    "cube, odd": lambda: Cube(3, 3, 2, LAST),
    "cells, least": lambda: Cells((2,), 1, HALF + 1),
    "cells, most": lambda: Cells((4096,), 1, LAST),
    "cells, most attributes": lambda: Cells((2,) * 12, 1, LAST),
    "cells, widest sets": lambda: Cells((3, 2), 5, LAST),
    "rows, least": lambda: Rows(2, 1, 2, 1, WORD // 4 + 1),
    "rows, most rows": lambda: Rows(4097, 4096, 2, 1, LAST),
    "rows, most cells": lambda: Rows(2, 1, 1 << 15, (1 << 15) - 1, LAST),
    "rows, most outputs": lambda: Rows(2, 1, (1 << 15) - 1, 1, LAST, "even", True),
    "rows, least optional": lambda: Rows(2, 1, 2, 1, WORD // 6 + 1, "even", True),
    "rows, equal levels": lambda: Rows(2, 1, 4, 2, LAST, (-1, -1, 1, 1)),
    "additive, least": lambda: Additive(((1, 1),), (1, 1), 2),
    "additive, most": lambda: Additive(((4096, (1 << 52) - 1),), decays_of(Fraction(4), 4096, 1 << 15), 1 << 15),
    "additive, two runs": lambda: Additive(((4095, 2), (1, 1)), (WORD // 3, HALF), 4096),
    "additive, weights that fall as periods do": lambda: Additive(((1, 3), (1, 1)), (WORD // 4, HALF), 2),
    "additive, hardly anything within reach": lambda: Additive(((1, 1),), (1, WORD - 1), 2),
    "window, least": lambda: Window(2, 1, ROUNDING * (COINS // 2 + 1)),
    "window, most": lambda: Window(2, 1, WORD - ROUNDING),
    "window, largest": lambda: Window(1 << 15, 1 << 14, HALF + (1 << 38)),
    "window, widest": lambda: Window(3, 2, WORD - 2 * ROUNDING * (COINS // 8)),
    "window, three cells inside": lambda: Window(4, 3, ROUNDING * (COINS - 1)),
    "window, three cells outside": lambda: Window(4, 1, ROUNDING * (COINS - 3)),
    "window, levels": lambda: Window(4, 1, ROUNDING * (COINS // 2 + 2), (-TOP, -1, 1, TOP)),
    "window, equal levels": lambda: Window(4, 2, ROUNDING * (COINS // 2 + 2), (-1, -1, 1, 1)),
    "picks, least": lambda: Picks(2, 1, 1, (WORD - WORD // 3 - 1, WORD // 3 + 1)),
    "picks, most": lambda: Picks(1025, 64, 1, (1, LAST)),
    "picks, all but one held": lambda: Picks(3, 2, 1, (1, LAST)),
    "picks, widest": lambda: Picks(5, 2, 3, (1, 2, WORD - 3)),
    "picks, largest share": lambda: Picks(3, 1, 1, (1, LAST)),
    "ladder, least": lambda: Ladder((0, 1, 2), 1, HALF),
    "ladder, most": lambda: Ladder((*range(128), 1 << 44), 128, HALF + 128 * ROUNDING),
    "mixture, least": lambda: Mixture((1, LAST), PARTS),
    "mixture, most": lambda: Mixture((WORD // 8,) * 8, PARTS * 4),
}

REFUSED: dict[str, Make] = {
    "unary, as likely": lambda: Unary(2, 7, 7),
    "unary, never": lambda: Unary(2, 2, 0),
    "unary, always": lambda: Unary(2, WORD, 1),
    "unary, no integer": lambda: Unary(2, 3.0, 1),  # type: ignore[arg-type]
    "unary, other is no integer": lambda: Unary(2, 3, 1.0),  # type: ignore[arg-type]
    "unary, one category": lambda: Unary(1, 2, 1),
    "unary, too many": lambda: Unary(4098, 2, 1),
    "subset, as likely": lambda: Subset(2, 1, HALF),
    "subset, weight 0": lambda: Subset(4, 0, LAST),
    "subset, weight of all": lambda: Subset(4, 4, LAST),
    "subset, one category": lambda: Subset(1, 1, LAST),
    "subset, too many": lambda: Subset(4098, 1, LAST),
    "subset, always": lambda: Subset(4, 1, WORD),
    "signs, as likely": lambda: Signs(1, HALF),
    "signs, none": lambda: Signs(0, LAST),
    "signs, too many": lambda: Signs(1025, LAST),
    "signs, always": lambda: Signs(1, WORD),
    "signs, no integer": lambda: Signs(1, LAST / 1),  # type: ignore[arg-type]
    "corners, as likely": lambda: Corners(1, 1, HALF),
    "corners, none": lambda: Corners(0, 1, LAST),
    "corners, too many": lambda: Corners(1025, 1, LAST),
    "corners, none near": lambda: Corners(3, 0, LAST),
    "corners, more near than there are": lambda: Corners(3, 4, LAST),
    "corners, always": lambda: Corners(3, 3, WORD),
    "cube, as likely": lambda: Cube(1, 1, 1, HALF),
    "cube, none": lambda: Cube(0, 1, 1, LAST),
    "cube, too many": lambda: Cube(1025, 1, 1, LAST),
    "cube, sample of none": lambda: Cube(3, 0, 1, LAST),
    "cube, sample of more than all": lambda: Cube(3, 4, 3, LAST),
    "cube, sample too large": lambda: Cube(100, 65, 40, LAST),
    "cube, half": lambda: Cube(64, 64, 32, LAST),
    "cube, less than half": lambda: Cube(3, 3, 1, LAST),
    "cube, more than all": lambda: Cube(3, 3, 4, LAST),
    "cube, always": lambda: Cube(3, 3, 3, WORD),
    "cells, as likely": lambda: Cells((2,), 1, HALF),
    "cells, none": lambda: Cells((), 1, LAST),
    "cells, a list": lambda: Cells([2, 2], 1, LAST),  # type: ignore[arg-type]
    "cells, too many attributes": lambda: Cells((2,) * 13, 1, LAST),
    "cells, one category": lambda: Cells((1, 4), 1, LAST),
    "cells, too many": lambda: Cells((4097,), 1, LAST),
    "cells, too many together": lambda: Cells((64, 65), 1, LAST),
    "cells, always": lambda: Cells((2,), 1, WORD),
    "cells, sets of none": lambda: Cells((2, 2), 0, LAST),
    "cells, sets of all": lambda: Cells((2, 2), 4, LAST),
    "cells, sets as likely": lambda: Cells((2, 2), 2, HALF),
    "rows, as likely": lambda: Rows(2, 1, 2, 1, WORD // 4),
    "rows, optional and as likely": lambda: Rows(3, 1, 3, 1, WORD // 12, "even", True),
    "rows, one": lambda: Rows(1, 1, 2, 1, LAST),
    "rows, too many": lambda: Rows(4098, 1, 2, 1, LAST),
    "rows, none": lambda: Rows(4, 0, 2, 1, LAST),
    "rows, all": lambda: Rows(4, 4, 2, 1, LAST),
    "rows, one cell": lambda: Rows(2, 1, 1, 1, LAST),
    "rows, no width": lambda: Rows(2, 1, 2, 0, LAST),
    "rows, whole width": lambda: Rows(2, 1, 2, 2, LAST),
    "rows, too many cells": lambda: Rows(2, 1, (1 << 15) + 1, 1, LAST),
    "rows, too many cells together": lambda: Rows(3, 1, (1 << 16) // 3 + 1, 1, LAST),
    "rows, too many outputs": lambda: Rows(2, 1, 1 << 15, 1, LAST, "even", True),
    "rows, always": lambda: Rows(2, 1, 2, 1, WORD),
    "rows, never": lambda: Rows(2, 1, 2, 1, 0),
    "rows, optional is no truth value": lambda: Rows(2, 1, 2, 1, LAST, "even", 1),  # type: ignore[arg-type]
    "rows, equal sums": lambda: Rows(2, 1, 4, 1, LAST, (-1, -1, 1, 1)),
    "additive, no runs": lambda: Additive((), (1, 1), 2),
    "additive, a run of nothing": lambda: Additive(((0, 2), (1, 1)), (1, 1), 2),
    "additive, a run too long": lambda: Additive(((4097, 1),), (1, 1), 4097),
    "additive, too many steps": lambda: Additive(((4096, 2), (1, 1)), (1, 1), 4097),
    "additive, a run of three": lambda: Additive(((1, 1, 1),), (1, 1), 2),  # type: ignore[arg-type]
    "additive, no weight": lambda: Additive(((1, 0),), (1, 1), 2),
    "additive, a weight too large": lambda: Additive(((1, 1 << 52),), (1, 1), 2),
    "additive, no decay": lambda: Additive(((1, 1),), (0, 1), 2),
    "additive, all decay": lambda: Additive(((1, 1),), (WORD, 1), 2),
    "additive, too short a reach": lambda: Additive(((3, 1),), (1, 1), 2),
    "additive, too long a reach": lambda: Additive(((4096, 1),), decays_of(Fraction(4), 4096, REACH), REACH),
    "additive, decays that could change": lambda: Additive(((1, 1),), [1, 1], 2),  # type: ignore[arg-type]
    "additive, equal weights": lambda: Additive(((1, 3), (1, 3)), (1, 1), 2),
    "additive, weights that fall too fast": lambda: Additive(((1, 2), (1, 1)), (WORD // 3 + 1, HALF), 2),
    "window, one cell": lambda: Window(1, 1, WORD - ROUNDING),
    "window, too many": lambda: Window((1 << 15) + 1, 1, WORD - ROUNDING * ((1 << 15) * 8)),
    "window, no width": lambda: Window(4, 0, WORD - ROUNDING * 4),
    "window, all": lambda: Window(4, 4, WORD - ROUNDING * 4),
    "window, as likely": lambda: Window(2, 1, HALF),
    "window, never": lambda: Window(2, 1, 0),
    "window, always": lambda: Window(2, 1, WORD),
    "window, optional is no truth value": lambda: Window(2, 1, WORD - 2 * ROUNDING, "even", 1),  # type: ignore[arg-type]
    "window, cells inside that are not alike": lambda: Window(4, 3, ROUNDING * (COINS - 3)),
    "window, cells outside that are not alike": lambda: Window(4, 1, ROUNDING * (COINS - 4)),
    "window, a level too large": lambda: Window(4, 1, ROUNDING * (COINS // 2 + 2), (-TOP - 1, -1, 1, TOP + 1)),
    "window, too few levels": lambda: Window(4, 1, ROUNDING * (COINS // 2 + 2), (-1, 0, 1)),
    "window, equal sums": lambda: Window(4, 1, ROUNDING * (COINS // 2 + 2), (-1, -1, 1, 1)),
    "picks, one value": lambda: Picks(1, 1, 1, (1, LAST)),
    "picks, too many": lambda: Picks(1026, 1, 1, (1, LAST)),
    "picks, none held": lambda: Picks(4, 0, 1, (WORD,)),
    "picks, too many held": lambda: Picks(100, 65, 1, (1, LAST)),
    "picks, weight 0": lambda: Picks(4, 2, 0, (WORD,)),
    "picks, weight of too many": lambda: Picks(4, 2, 3, (1, 3, WORD - 4)),
    "picks, a set that is never reported": lambda: Picks(5, 2, 3, (0, 1, LAST)),
    "picks, too few shares": lambda: Picks(5, 2, 3, (1, LAST)),
    "picks, too many shares": lambda: Picks(5, 2, 1, (1, 1, WORD - 2)),
    "picks, shares as a list": lambda: Picks(5, 2, 1, [1, LAST]),  # type: ignore[arg-type]
    "picks, no share": lambda: Picks(5, 2, 1, (0, WORD)),
    "picks, too little": lambda: Picks(5, 2, 1, (1, LAST - 1)),
    "picks, without held ones likelier": lambda: Picks(5, 2, 3, (1, 1, WORD - 2)),
    "picks, as likely": lambda: Picks(3, 1, 1, (WORD // 4 * 3, WORD // 4)),
    "ladder, two knots": lambda: Ladder((0, 1), 1, HALF),
    "ladder, a list": lambda: Ladder([0, 1, 2], 1, HALF),  # type: ignore[arg-type]
    "ladder, too many knots": lambda: Ladder((*range(130),), 1, WORD - 129 * ROUNDING),
    "ladder, too high": lambda: Ladder((0, 1, (1 << 44) + 1), 1, HALF),
    "ladder, above 0": lambda: Ladder((1, 2, 3), 1, HALF),
    "ladder, below 0": lambda: Ladder((-1, 0, 1), 1, HALF),
    "ladder, equal knots": lambda: Ladder((0, 1, 1), 1, HALF),
    "ladder, no width": lambda: Ladder((0, 1, 2), 0, HALF),
    "ladder, whole width": lambda: Ladder((0, 1, 2, 3), 4, WORD - 12 * ROUNDING),
    "ladder, optional is no truth value": lambda: Ladder((0, 1, 2), 1, HALF, 0),  # type: ignore[arg-type]
    "ladder, as likely": lambda: Ladder((0, 1, 2), 2, HALF),
    "mixture, one part": lambda: Mixture((LAST,), PARTS[:1]),
    "mixture, nine": lambda: Mixture((1,) * 8 + (WORD - 8,), PARTS * 4 + PARTS[:1]),
    "mixture, a share more": lambda: Mixture((1, 1, WORD - 2), PARTS),
    "mixture, a part of no share": lambda: Mixture((0, WORD), PARTS),
    "mixture, too little": lambda: Mixture((1, LAST - 1), PARTS),
    "mixture, shares as a list": lambda: Mixture([1, LAST], PARTS),  # type: ignore[arg-type]
    "mixture, parts as a list": lambda: Mixture((1, LAST), [*PARTS]),  # type: ignore[arg-type]
    "mixture, one part optional": lambda: Mixture((1, LAST), (PARTS[0], OPTIONAL)),
    "mixture, another channel": lambda: Mixture((1, LAST), (PARTS[0], grr(Fraction(1), 3))),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_the_last_that_is_accepted(case: str) -> None:
    assert ACCEPTED[case]().ratio > 1


@pytest.mark.parametrize("case", REFUSED)
def test_the_first_that_is_refused(case: str) -> None:
    with pytest.raises(PlanError):
        REFUSED[case]()


NUMBER, MAYBE = Numeric("x", 0, 1), Numeric("x", 0, 1, optional=True)
THREE, TWO = Categorical("c", [*"abc"]), Categorical("c", [*"ab"])
TWO_MAYBE = Categorical("c", [*"ab"], optional=True)  # three labels: missing is one
SIX, SIX_OF_ONE, FIVE = Choices("s", [*"abcdef"], 2), Choices("s", [*"abcdef"], 1), Choices("s", [*"abcde"], 2)

FITTING: dict[str, tuple[list[Any], list[list[Any]]]] = {
    "duchi": ([NUMBER], [[MAYBE], [TWO], [], [NUMBER, NUMBER]]),
    "duchi-optional": ([MAYBE], [[NUMBER], [TWO_MAYBE], []]),
    "mixture": ([NUMBER], [[MAYBE], [TWO]]),
    "mixture-optional": ([MAYBE], [[NUMBER]]),
    "laplace": ([NUMBER], [[MAYBE], [TWO], [], [NUMBER, NUMBER]]),
    "grr-2": ([TWO], [[THREE], [TWO_MAYBE], [NUMBER], [], [TWO, TWO]]),
    "oue-2": ([TWO], [[THREE], [TWO_MAYBE], [NUMBER], [], [TWO, TWO]]),
    "signs-2": ([NUMBER] * 2, [[NUMBER], [NUMBER] * 3, [NUMBER, MAYBE], [TWO, NUMBER]]),
    "corners-2-1": ([NUMBER] * 2, [[NUMBER], [NUMBER] * 3, [NUMBER, MAYBE], [TWO, NUMBER]]),
    "cube-2-1-1": ([NUMBER] * 2, [[NUMBER], [NUMBER] * 3, [NUMBER, MAYBE], [TWO, NUMBER]]),
    "cells-number-3": (
        [NUMBER, THREE],
        [[NUMBER], [MAYBE, THREE], [TWO, THREE], [NUMBER, TWO], [NUMBER, NUMBER], [NUMBER, THREE, THREE]],
    ),
    "cells-3": ([TWO_MAYBE], [[TWO], [NUMBER]]),
    "cells-sets-2-3": ([TWO, THREE], [[THREE, TWO], [TWO], [NUMBER, THREE]]),
    "rows-3-1-5-2": (
        [THREE, NUMBER],
        [[NUMBER, THREE], [TWO, NUMBER], [THREE, MAYBE], [THREE], [NUMBER], [THREE, THREE], [THREE, NUMBER, NUMBER]],
    ),
    "picks-6-2": ([SIX], [[SIX, SIX], [], [SIX_OF_ONE], [FIVE], [NUMBER], [TWO]]),
    "ladder-3-1": ([NUMBER], [[MAYBE], [TWO], [], [NUMBER, NUMBER]]),
    "ladder-5-2-optional": ([MAYBE], [[NUMBER], [TWO_MAYBE], []]),
    "rows-2-1-3-2-optional": ([TWO, MAYBE], [[TWO, NUMBER], [TWO_MAYBE, MAYBE], [MAYBE, TWO]]),
}


@pytest.mark.parametrize("name", FITTING)
def test_a_channel_says_which_attributes_it_serves(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    fitting, others = FITTING[name]
    assert channel.mismatch(fitting) is None
    for attributes in others:
        assert channel.mismatch(attributes), attributes
