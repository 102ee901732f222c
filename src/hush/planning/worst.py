"""Relations at worst: people for whom a margin is wider than for typical ones, and who are still quite usual.

- In a table, half of all people are in one cell.
- Of means by group, one group has a quarter of the average size, and its people are at both ends of the range.
- For an association, a tenth of the people lie at or below either cut.
- For moments, both numbers are close together: their standard deviation is a tenth of the range.

For a range the people are typical, and the cut that is known least counts. What is guessed stays as it is guessed.
"""

from __future__ import annotations

import math
from itertools import pairwise

from hush.core.looking import View
from hush.core.plan import Plan, Question
from hush.core.schema import Input, Numeric
from hush.core.views import Bands, Sides
from hush.planning.assumed import Guess, Law, law_of, missing_of
from hush.planning.expected import BESIDE, Crowd

QUARTER = 0.25
FEW = 0.1
CLOSE = 0.1

SENTENCES = {
    "table": "half of the people are in one cell",
    "means": "a group of a quarter of the average size, whose people are at both ends of the range",
    "association": "a tenth of the people lie at or below either cut",
    "moments": "the standard deviations are a tenth of the range",
    "range": "the cut that is known least",
}


def laws_of(crowd: Crowd, question: Question, kind: str) -> dict[str, Law]:
    """Return the laws of the attributes of a relation at worst, where they are not guessed."""
    plan, found = crowd.plan, dict[str, Law]()
    for place, name in enumerate(question.attributes):
        attribute, guess = plan.schema[name], crowd.guesses.get(name)
        view = question.views[min(place, len(question.views) - 1)]
        if kind == "table":
            first = math.sqrt(0.5)
        elif kind == "means":
            first = QUARTER / len(_items(plan, view)) if place == 0 else 0.5
        else:
            first = FEW
        if kind == "means" and place == 1:
            assert isinstance(attribute, Numeric)
            if guess is None or guess.mean is None:
                found[name] = _present(attribute, guess, [(0.0, first), (1.0, 1 - first)])
        elif isinstance(attribute, Numeric) and kind in ("association", "moments"):
            if guess is None or guess.mean is None:
                found[name] = _numbers(attribute, guess, view, place, kind)
        elif guess is None:
            items = _items(plan, view)
            rest = (1 - first) / (len(items) - 1)
            found[name] = [(item, rest if i else first) for i, item in enumerate(items)]
    return found


def _numbers(attribute: Numeric, guess: Guess | None, view: View, place: int, kind: str) -> Law:
    """Return the law of a number of an association, or of moments."""
    if kind == "moments":
        middle = attribute.low / 2 + attribute.high / 2
        width = CLOSE * (attribute.high - attribute.low)
        return law_of(attribute, Guess(middle, width, missing_of(attribute, guess)), BESIDE)
    assert isinstance(view, Sides)
    cut = (view.cuts[place] - attribute.low) / (attribute.high - attribute.low)
    return _present(attribute, guess, [(cut / 2, FEW), ((1 + cut) / 2, 1 - FEW)])


def _present(attribute: Numeric, guess: Guess | None, law: list[tuple[Input, float]]) -> Law:
    """Return this law of the present, and the missing."""
    gone = missing_of(attribute, guess)
    found = [(value, (1 - gone) * share) for value, share in law]
    return [*found, (None, gone)] if gone else found


def _items(plan: Plan, view: View) -> list[Input]:
    """Return an input for each category, or for each band, that a view sees."""
    attribute = plan.schema[view.of[0]]
    if not isinstance(attribute, Numeric):
        return [*range(len(attribute.labels))]
    assert isinstance(view, Bands)
    span = attribute.high - attribute.low
    edges = [0.0, *((cut - attribute.low) / span for cut in view.cuts), 1.0]
    found: list[Input] = [(a + b) / 2 for a, b in pairwise(edges)]
    return [*found, None] if attribute.optional else found
