"""Views of two numbers take the same steps whichever of them is missing."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from hush.core.looking import Look, View
from hush.core.schema import Input, Numeric, Schema
from hush.core.views import Product, Sides

SCHEMA = Schema([Numeric("x", 0, 1, optional=True), Numeric("y", 0, 1, optional=True)])
VIEWS = [Sides(("x", "y"), (0.5, 0.5)), Product(("x", "y"), (0.5, 0.5), 0.25)]


def steps(look: Look, inputs: list[Input]) -> int:
    """Return how many instructions Python takes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        look(inputs)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.kind)
def test_it_does_not_matter_which_number_is_missing(view: View) -> None:
    look = view.look(SCHEMA)
    first = steps(look, [None, 0.25])
    assert first == steps(look, [0.25, None]) > 0


def test_a_view_that_stops_at_the_first_is_noticed() -> None:
    def hasty(inputs: Any) -> Input:
        x, y = inputs
        return None if x is None or y is None else 1

    assert steps(hasty, [None, 0.25]) != steps(hasty, [0.25, None])
