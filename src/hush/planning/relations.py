"""The precision of relations, before anybody is asked.

The expected counts of a plan's questions, in an assumed population, make a tally, and the same functions that will read
real tallies read this one: so predictions have the formulas and intervals of estimates. Nothing is simulated. The
population is a guess: attributes that are independent of each other, categories with equal shares, numbers spread
evenly over their domain; or what `guesses` says of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist
from typing import Any, ClassVar

from hush.core.channels import Cells, Channel, Rows, Symbols
from hush.core.channels import Subset as SubsetChannel
from hush.core.plan import Plan, Question
from hush.core.schema import Attribute, Categorical, Input, Numeric
from hush.core.views import Bands, Product, Sides
from hush.errors import DesignError, EstimateError
from hush.planning.predictions import Guess, Guesses
from hush.planning.wide import whole
from hush.server.relations.associations import association
from hush.server.relations.crosstabs import crosstab
from hush.server.relations.groups import means
from hush.server.relations.ranges import below
from hush.server.relations.tree import fitted
from hush.server.tally import Tally
from hush.show.rows import Rows as ListedRows
from hush.show.tables import Table, number, percent

POINTS = 0.03
"""The margin that a plan's summary asks for: three points of a share, or of an association."""

PART = 0.05
"""The margin of a group's mean that a plan's summary asks for, as a part of the number's domain."""

_MISSING = 0.2  # the share of missing values of an optional number
_GRID = 48  # positions of a number in the assumed population
_REFERENCE = 10**8
_SINGLE = {
    "associations": "association",
    "tables": "table",
    "means by group": "relation with means by group",
    "ranges": "range",
}


@dataclass(frozen=True)
class Foreseen:
    """The largest standard error and margin of a relation's estimates, for this many answers to its own question."""

    attribute: str
    category: None
    by: str
    estimate: str
    stderr: float
    margin: float
    answers: int


class Foresights(ListedRows[Foreseen]):
    """Predictions of relations, with the number of people and the level of the intervals."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "by": str,
        "estimate": str,
        "stderr": float,
        "margin": float,
        "answers": int,
    }

    def __init__(self, rows: Iterable[Foreseen] = (), *, people: int | None = None, level: float | None = None) -> None:
        super().__init__(rows)
        self.people, self.level = people, level

    def table(self) -> Table:
        """Return them as a table."""
        shown = [
            (
                f"{row.attribute} by {row.by}" if row.by else row.attribute,
                row.estimate,
                number(row.stderr),
                "±" + number(row.margin),
                f"{row.answers:,}",
            )
            for row in self
        ]
        columns = ("relation", "estimate", "standard error", percent(self.level, "margin"), "answers")
        notes = () if self.people is None else (f"From {self.people:,} people, before any is asked.",)
        return Table(columns, shown, texts=2, notes=notes)


def foresee(plan: Plan, people: int, *, level: float = 0.95, guesses: Guesses | None = None) -> Foresights:
    """Return the precision to expect of every relation and range of a plan, from this many people."""
    if type(people) is not int or people < 1:
        raise DesignError("people must be a whole number, 1 or more")
    if not any(map(_relates, plan.questions)):
        return Foresights((), people=people, level=level)
    tally = expected(plan, people, guesses)
    rows = []
    for index, question in enumerate(plan.questions):
        found = _foreseen(tally, question, level) if _relates(question) else None
        if found is not None:
            attribute, by, what, stderr, margin = found
            rows.append(Foreseen(attribute, None, by, what, stderr, margin, tally.answered[index]))
    return Foresights(rows, people=people, level=level)


def _relates(question: Question) -> bool:
    """Say whether a question is about a relation or a range."""
    if question.plain is None:
        return True
    channel = question.channel
    return isinstance(channel, Rows) or (isinstance(channel, Cells) and len(channel.sizes) == 2)


def _foreseen(tally: Tally, question: Question, level: float) -> tuple[str, str, str, float, float] | None:
    """Return what a question is for, and the largest standard error and margin of its estimates."""
    views, channel = question.views, question.channel
    names = question.attributes
    try:
        if isinstance(channel, Cells) and len(views) == 2 and None not in channel.sizes:
            rows = list(crosstab(tally, names[0], names[1], level=level))
            return names[0], names[1], f"each of {len(rows)} cells", *_largest(rows)
        if isinstance(channel, Rows):
            rows = list(means(tally, names[1], by=names[0], level=level))
            return names[1], names[0], f"mean of each of {len(rows)} groups", *_largest(rows)
        if isinstance(views[0], Sides):
            rows = list(association(tally, names[0], names[1], level=level))
            return names[0], names[1], "association", *_largest(rows)
        if isinstance(views[0], Product) and len(set(views[0].attributes)) == 2:
            rows = list(association(tally, names[0], names[1], method="moments", level=level))
            return names[0], names[1], "correlation from moments", *_largest(rows)
        if isinstance(views[0], Bands) and len(views) == 1 and len(views[0].cuts) > 1:
            tree = fitted(tally, names[0])
            if tuple(tree.cuts) == views[0].cuts:  # the finest question stands for the range
                middle = tree.cuts[len(tree.cuts) // 2]
                shares = below(tally, names[0], [middle], level=level)
                return names[0], "", f"share below each of {len(tree.cuts)} cuts", *_largest(list(shares))
    except EstimateError:  # nobody of so few people is expected to answer it
        return names[0], names[-1] if len(names) > 1 else "", "unknown: too few people", math.inf, math.inf
    return None


def _largest(rows: Sequence[Any]) -> tuple[float, float]:
    return max(row.stderr for row in rows), max((row.high - row.low) / 2 for row in rows)


# -- the expected tally


def expected(plan: Plan, people: int, guesses: Guesses | None = None) -> Tally:
    """Return the tally of the average counts of this many people, rounded to whole numbers."""
    known = dict(guesses or {})
    for name in known:
        plan.schema[name]  # raises an error that lists the names, if there is no such attribute
    answered = whole([people * plan.k * float(share) / plan.k for share in plan.inclusions], people * plan.k)
    counts = []
    for index, question in enumerate(plan.questions):
        chances = _chances(plan, index, known)
        counts.append(_counts(question.channel, chances, answered[index]))
    return Tally(plan, people, answered, counts)


def _chances(plan: Plan, index: int, guesses: Mapping[str, Any]) -> list[float]:
    """Return the average counts of one report to a question."""
    question = plan.questions[index]
    channel = question.channel
    lists = [_spread(plan.schema[name], guesses.get(name)) for name in question.attributes]
    places = [plan.schema.names.index(name) for name in question.attributes]
    inputs: list[Input] = [0.5 if isinstance(item, Numeric) else 0 for item in plan.schema.attributes]
    seen: dict[tuple[Input, ...], float] = {}
    for combination in product(*lists):
        for place, (value, _) in zip(places, combination, strict=True):
            inputs[place] = value
        key = tuple(plan.seen(index, inputs))
        seen[key] = seen.get(key, 0.0) + math.prod(weight for _, weight in combination)
    states: dict[Any, float] = {}
    for key, weight in seen.items():
        for state, share in channel.rounding(key).items():
            states[state] = states.get(state, 0.0) + weight * float(share)
    found = [0.0] * channel.alphabet.size
    for state, weight in states.items():
        for member, chance in enumerate(channel.chances(state)):
            found[member] += weight * float(chance)
    return found


def _spread(attribute: Attribute, guess: Any) -> list[tuple[Input, float]]:
    """Return the inputs of an attribute in the assumed population, with their shares."""
    if isinstance(attribute, Categorical):
        size = len(attribute.labels)
        if guess is None:
            return [(i, 1 / size) for i in range(size)]
        if not isinstance(guess, Mapping) or not set(guess) <= set(attribute.labels):
            raise DesignError(f"attribute {attribute.name!r}: a guess is a mapping from its categories to shares")
        given = sum(guess.values())
        if min(guess.values()) < 0 or given > 1 + 1e-9:
            raise DesignError(f"attribute {attribute.name!r}: shares are from 0 to 1, and add up to 1 at most")
        rest = max(1 - given, 0.0) / max(size - len(guess), 1)
        return [(i, float(guess.get(label, rest))) for i, label in enumerate(attribute.labels)]
    assert isinstance(attribute, Numeric), "relations look at choices through the views of their values"
    places = [(i + 0.5) / _GRID for i in range(_GRID)]
    weights = [1.0] * _GRID
    missing = _MISSING if attribute.optional else 0.0
    if guess is not None:
        if not isinstance(guess, Guess):
            raise DesignError(f"attribute {attribute.name!r}: a guess is a Guess with a mean inside the domain")
        span, missing = attribute.high - attribute.low, guess.missing
        bell = NormalDist((guess.mean - attribute.low) / span, max(guess.spread / span, 1 / _GRID))
        weights = [bell.pdf(place) for place in places]
    total = sum(weights)
    found: list[tuple[Input, float]] = [
        (place, (1 - missing) * weight / total) for place, weight in zip(places, weights, strict=True)
    ]
    return [*found, (None, missing)] if missing else found


def _counts(channel: Channel, chances: Sequence[float], n: int) -> list[int]:
    """Return whole counts near n times the chances, which add up as those of real reports do."""
    if isinstance(channel.alphabet, Symbols):
        return whole([n * chance for chance in chances], n)
    members = round(sum(chances))
    if isinstance(channel, SubsetChannel | Cells | Rows):
        return whole([n * chance for chance in chances], n * members)
    return [min(round(n * chance), n) for chance in chances]


# -- in words


def needs(plan: Plan, *, level: float = 0.95) -> list[str]:
    """Return how many people a plan's relations need for useful margins, in sentences."""
    rows = foresee(plan, _REFERENCE, level=level)
    wanted: dict[str, list[float]] = {}
    for row in rows:
        attribute = plan.schema[row.attribute]
        goal, what = POINTS, "associations" if "association" in row.estimate or "moments" in row.estimate else "tables"
        if row.estimate.startswith("mean") and isinstance(attribute, Numeric):
            goal, what = PART * (attribute.high - attribute.low), "means by group"
        elif row.estimate.startswith("share"):
            what = "ranges"
        wanted.setdefault(what, []).append(_REFERENCE * (row.margin / goal) ** 2)
    found = []
    for what, people in wanted.items():
        goal_text = f"{100 * PART:g} % of the domain" if what == "means by group" else f"{100 * POINTS:g} points"
        named = what if len(people) > 1 else _SINGLE[what]
        found.append(f"{len(people)} {named}: margins of {goal_text} need about {_rough(max(people))} people.")
    return found


def _rough(people: float) -> str:
    """Write a number of people with two digits."""
    if people >= 1e6:
        return f"{float(f'{people / 1e6:.2g}'):g} million"
    return f"{int(float(f'{people:.2g}')):,}"
