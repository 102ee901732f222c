"""What a collection will tell, before anybody is asked: standard errors and margins from the exact channels.

A prediction is an estimate from a crowd of average luck: the counts that a population would give on average are put
into the same formulas as real ones. Nothing is simulated. The population is a guess: by default the worst one for each
target (half of the people at either end of the domain, half holding a category), or what `guesses` say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hush.channels import Channel, Reading
from hush.errors import DesignError
from hush.intervals import quantile
from hush.plan import MAX_EPSILON, MIN_EPSILON, Plan
from hush.rows import R, Rows
from hush.schema import MISSING, Attribute, Numeric, Schema
from hush.tables import Table, number, percent

_GRID = 64


@dataclass(frozen=True)
class Guess:
    """What is assumed of a numeric attribute, on its own scale: mean, standard deviation, share of missing."""

    mean: float
    spread: float = 0.0
    missing: float = 0.0


Guesses = Mapping[str, Guess | Mapping[Any, float]]
"""For a numeric attribute a Guess, for a categorical one the shares of some categories."""


@dataclass(frozen=True)
class Prediction:
    """The standard error of a mean (category None) or share, and the margin of its interval, from n answers."""

    attribute: str
    category: str | int | None
    stderr: float
    margin: float
    n: float


class Predictions(Rows[Prediction]):
    """A list of predictions that knows for how many people and at which level they were made, if that was given."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "stderr": float,
        "margin": float,
        "n": float,
    }

    def __init__(
        self, rows: Iterable[Prediction] = (), *, people: int | None = None, level: float | None = None
    ) -> None:
        super().__init__(rows)
        self.people = people
        self.level = level

    def table(self) -> Table:
        """Return them; categories with the same numbers share a row."""
        groups: dict[tuple[str, bool, float], list[Prediction]] = {}
        for row in self:
            groups.setdefault((row.attribute, row.category is None, row.margin), []).append(row)
        shown = []
        for (attribute, mean, margin), group in groups.items():
            what = "mean" if mean else f"share of {group[0].category}"
            if len(group) > 1:
                what = f"each of {len(group)} shares"
            shown.append((attribute, what, number(group[0].stderr), "±" + number(margin), f"{group[0].n:,.0f}"))
        columns = ("attribute", "estimate", "standard error", percent(self.level, "margin"), "answers")
        notes = () if self.people is None else (f"From {self.people:,} people, before any is asked.",)
        return Table(columns, shown, texts=2, notes=notes)


def by_target(rows: Iterable[R]) -> dict[tuple[str, str], list[R]]:
    """Return rows by attribute and target: "mean", the "missing" of a number, or all "shares" of a category."""
    found: dict[tuple[str, str], list[R]] = {}
    for row in rows:
        what = "shares"
        if row.category is None:
            what = "mean"
        elif row.category == MISSING and (row.attribute, "mean") in found:
            what = "missing"
        found.setdefault((row.attribute, what), []).append(row)
    return found


def predict(plan: Plan, n: int, *, level: float = 0.95, guesses: Guesses | None = None) -> Predictions:
    """Return what n people will tell: the rows of `hush.estimate`, before any data.

    The margin is half of the width of the normal interval. Each attribute is answered by n times the probability that
    its question is asked; the ratio estimator is assumed.
    """
    if type(n) is not int or n < 1:
        raise DesignError("n must be a whole number of people, 1 or more")
    if not 0 < level < 1:
        raise DesignError("level must be a number between 0 and 1, such as 0.95")
    known = dict(guesses or {})
    for name in known:
        plan.schema[name]  # raises, and says which there are
    rows = []
    for question, attributes, inclusion in zip(plan.questions, plan.attributes, plan.inclusions, strict=True):
        channel = question.channel
        for reading in channel.readings([0] * channel.alphabet.size, 0):
            attribute = attributes[reading.attribute]
            category = _category(attribute, reading.symbol)
            deviation = math.sqrt(_variance(channel, reading, attribute, category, known.get(attribute.name)))
            scale = (attribute.high - attribute.low) / 2 if isinstance(attribute, Numeric) and category is None else 1.0
            answers = n * float(inclusion * reading.share)
            stderr = scale * deviation / math.sqrt(answers)
            rows.append(Prediction(attribute.name, category, stderr, quantile(level) * stderr, answers))
    return Predictions(rows, people=n, level=level)


def _category(attribute: Attribute, symbol: int | None) -> str | int | None:
    if symbol is None:
        return None
    return MISSING if isinstance(attribute, Numeric) else attribute.labels[symbol]


def _variance(
    channel: Channel, reading: Reading, attribute: Attribute, category: str | int | None, guess: Any
) -> float:
    """Return the variance of one report's value, for the guess or the worst population."""
    if isinstance(attribute, Numeric):
        return _numeric_variance(channel, reading, attribute, guess)
    low, high = reading.values
    if guess is None:
        return max((high - f / _GRID) * (f / _GRID - low) for f in range(_GRID + 1))
    if not isinstance(guess, Mapping) or not set(guess) <= set(attribute.labels):
        raise DesignError(f"attribute {attribute.name!r}: a guess is a mapping from its categories to shares")
    share = float(guess.get(category, 0.0))
    if not 0 <= share <= 1:
        raise DesignError(f"attribute {attribute.name!r}: a share must be from 0 to 1")
    return (high - share) * (share - low)


def _numeric_variance(channel: Channel, reading: Reading, attribute: Numeric, guess: Any) -> float:
    if guess is None:
        populations = [(t / _GRID, -t / _GRID) for t in range(_GRID + 1)]
        # The mean of the present is worst known if many are missing; no bound exists if all may be. Half are assumed.
        missing = 0.5 if attribute.optional else 0.0
    else:
        if not isinstance(guess, Guess) or not attribute.low <= guess.mean <= attribute.high or guess.spread < 0:
            raise DesignError(f"attribute {attribute.name!r}: a guess is a Guess with a mean inside the domain")
        if not 0 <= guess.missing < 1 or (guess.missing and not attribute.optional):
            raise DesignError(f"attribute {attribute.name!r}: the share of missing is from 0 to 1, if it is optional")
        half = (attribute.high - attribute.low) / 2
        centre, spread = (guess.mean - attribute.low) / half - 1, guess.spread / half
        populations = [(max(centre - spread, -1.0), min(centre + spread, 1.0))]
        missing = guess.missing
    return max(_population_variance(channel, reading, ends, missing) for ends in populations)


def _population_variance(channel: Channel, reading: Reading, ends: tuple[float, float], missing: float) -> float:
    """Return the variance of a value if half of the present are at either end."""
    if len(reading.values) == 2:  # of two values the mean tells the variance
        low, high = reading.values
        mean = missing if reading.symbol is not None else sum(ends) / 2
        return (high - mean) * (mean - low)
    laws = [channel.likelihood((t + 1) / 2) or [] for t in ends]
    law = [(1 - missing) * (a + b) / 2 for a, b in zip(*laws, strict=True)]
    if missing:
        law = [a + missing * b for a, b in zip(law, channel.likelihood(None) or [], strict=True)]
    values: Sequence[float] = reading.values
    if reading.presence is not None:
        present = math.fsum(map(lambda p, g: p * g, law, reading.presence))
        mean = math.fsum(map(lambda p, v: p * v, law, values)) / present
        values = [(v - mean * g) / present for v, g in zip(values, reading.presence, strict=True)]
    mean = math.fsum(map(lambda p, v: p * v, law, values))
    return math.fsum(p * (v - mean) ** 2 for p, v in zip(law, values, strict=True))


# -- the inverse questions


def people_needed(
    plan: Plan, margin: float, *, attribute: str | None = None, level: float = 0.95, guesses: Guesses | None = None
) -> int:
    """Return how many people must be asked so that no margin (or none of this attribute) exceeds the given one.

    Margins of means are on the attribute's own scale, those of shares from 0 to 1: name an attribute unless all are
    alike.
    """
    _check_margin(margin)
    rows = _of(predict(plan, 1, level=level, guesses=guesses), plan.schema, attribute)
    return math.ceil(max((row.margin / margin) ** 2 for row in rows))


def epsilon_needed(
    schema: Schema,
    n: int,
    margin: float,
    *,
    attribute: str | None = None,
    level: float = 0.95,
    guesses: Guesses | None = None,
    design: Callable[[Schema, float], Plan] | None = None,
) -> float:
    """Return the smallest epsilon, to three digits, for which n people give no larger margin than the given one.

    `design(schema, epsilon)` makes the plans; `Plan.design` with its defaults if it is not given.
    """
    _check_margin(margin)
    make = design or Plan.design

    def enough(epsilon: float) -> bool:
        rows = _of(predict(make(schema, epsilon), n, level=level, guesses=guesses), schema, attribute)
        return max(row.margin for row in rows) <= margin

    low, high = float(MIN_EPSILON), float(MAX_EPSILON)
    if not enough(high):
        raise DesignError(f"even epsilon = {high} is not enough for this margin with {n} people: ask more of them")
    if enough(low):
        return low
    while high / low > 1.002:
        middle = float(f"{math.sqrt(low * high):.4g}")
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _check_margin(margin: float) -> None:
    if not isinstance(margin, int | float) or not 0 < margin < math.inf:
        raise DesignError("a margin is a number above 0")


def _of(rows: Sequence[Prediction], schema: Schema, attribute: str | None) -> list[Prediction]:
    if attribute is not None:
        schema[attribute]  # raises, and says which there are
    return [row for row in rows if attribute is None or row.attribute == attribute]
