"""The question whether a number is wide, which plans ask when they are shown."""

from __future__ import annotations

import re

import pytest

from hush import Categorical, Guess, Numeric, Schema, design, predict
from hush.planning import wide


def asked(*attributes: Numeric | Categorical, epsilon: float = 1.0) -> str | None:
    plan = design(Schema(list(attributes)), epsilon)
    found = wide.question(plan)
    assert (found or "Wide?") in str(plan) or found is None
    assert ("Wide?" in str(plan)) == (found is not None)
    return found


def test_a_wide_range_is_asked_about() -> None:
    text = asked(
        Numeric("income", 0, 10_000_000), Numeric("rent", -5000, 100_000, optional=True), Numeric("age", 0, 99)
    )
    assert text is not None
    assert text.startswith("Wide? income goes from 0 to 10,000,000")
    assert 'scale="log"' in text
    assert text.endswith("The same may hold for rent.")


@pytest.mark.parametrize(
    "attribute",
    [
        Numeric("age", 0, 120),
        Numeric("born", 1900, 2100),
        Numeric("income", 0, 10_000_000, scale="log"),
        Categorical("c", [1, 5000]),
    ],
)
def test_others_are_not(attribute: Numeric | Categorical) -> None:
    assert asked(attribute) is None


def test_the_margins_are_those_of_predictions() -> None:
    """Of people around a 64th of the range, as the sentence says."""
    guess = {"x": Guess(mean=100, spread=100)}
    linear = design(Schema([Numeric("x", 0, 6400)]), 1.0)
    logged = design(Schema([Numeric("x", 0, 6400, scale="log")]), 1.0)
    found = re.search(r"margin of ([\d.]+)\. .* would be ([\d.]+),", wide.question(linear) or "")
    assert found is not None
    for plan, said in zip((linear, logged), found.groups(), strict=True):
        (row,) = predict(plan, 100_000, guesses=guess)
        assert float(said) == pytest.approx(row.margin, rel=0.01)
