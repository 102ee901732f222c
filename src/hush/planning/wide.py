"""The precision of the mean of a wide number, before anybody is asked.

What a ladder says depends on where people are, so a prediction needs a guess: by default numbers spread like a
logarithmic normal distribution whose mean and standard deviation are a 64th of the range. The expected counts of such
people are read like real ones.

With few people a ladder clips low, and the interval of the *clipped* mean is narrow. That is no precision. So a
prediction is about the mean itself: its error includes what clipping takes away from the assumed people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

from hush.core.channels import Ladder
from hush.core.design.ladders import ladder
from hush.core.plan import Plan
from hush.core.schema import Numeric
from hush.core.views import Value
from hush.errors import DesignError
from hush.planning.assumed import Guess
from hush.server.binomial import normal
from hush.server.ladders import Fitted, clipped
from hush.server.own import Among
from hush.show.tables import number as shown

USUAL = 64
"""The mean of the assumed people is the range divided by this."""

WIDE = 1000
"""A range may be wide from this many units on."""

CROWD = 100_000
"""The number of answers in the question whether a range is wide."""

LEVEL = 0.95
_GRID = 400
_SCALE = 2.0**40  # people at the origin are taken as this much closer to it than to the end of the range


def usual_mean(number: Numeric, guess: Guess | None) -> float:
    """Return how far the mean of the assumed people lies from the origin of the ladder."""
    origin = min(max(0.0, number.low), number.high)
    far = number.high if number.high > origin else number.low
    return abs(far - origin) / USUAL if guess is None or guess.mean is None else abs(guess.mean - origin)


def foreseen(
    channel: Ladder,
    number: Numeric,
    mean: float | None,
    width: float,
    missing: float,
    n: int,
    own: Among | None = None,
) -> tuple[Fitted, float]:
    """Return the ladder as n reports of the assumed people would fill it, and the mean of these people.

    With `own` a relay's own reports are among them.
    """
    origin = min(max(0.0, number.low), number.high)
    far = number.high if number.high > origin else number.low
    reach = abs(far - origin)
    middle = usual_mean(number, Guess(mean))
    width = middle if mean is None else width
    if not 0 <= middle <= reach:
        raise DesignError(f"attribute {number.name!r}: a guess is a Guess with a mean inside the domain")
    middle = max(middle, reach / _SCALE)
    sigma = math.sqrt(math.log1p((width / middle) ** 2))
    centre = math.log(middle) - sigma**2 / 2
    law = [0.0] * channel.alphabet.size
    table = [[float(p) for p in row] for row in channel.table]
    bell, total = NormalDist(), 0.0
    for i in range(_GRID):
        value = min(math.exp(centre + sigma * bell.inv_cdf((i + 0.5) / _GRID)), reach)
        place = origin + math.copysign(value, far - origin)
        total += place
        position = (place - number.low) / (number.high - number.low)
        for state, share in channel.rounding([position]).items():
            assert isinstance(state, int)
            for y, p in enumerate(table[state]):
                law[y] += (1 - missing) * float(share) * p / _GRID
    if missing:
        law = [a + missing * p for a, p in zip(law, table[-1], strict=True)]
    counts = whole(law, n)
    if own is not None:
        added = [round(own.number * chance) for chance in own.blanket.chances]
        counts, own = [a + b for a, b in zip(counts, added, strict=True)], replace(own, number=float(sum(added)))
    return Fitted(channel, number, tuple(counts), own), total / _GRID


def precision(
    channel: Ladder,
    number: Numeric,
    n: int,
    level: float,
    mean: float | None,
    width: float,
    missing: float,
    own: Among | None = None,
) -> tuple[float, float]:
    """Return the error and the margin to expect of the mean, from n reports of the assumed people.

    `own` are a relay's own reports among them, if there are any.
    """
    fit, truth = foreseen(channel, number, mean, width, missing, n, own)
    found = clipped(fit, level)
    low, high = found.laid
    return math.hypot(found.stderr, found.point - truth), max(high - truth, truth - low)


def question(plan: Plan) -> str | None:
    """Ask whether numbers that might be wide are, with the margin of the first one's mean either way."""
    found = [
        (number, float(question.channel.worst_variance))
        for question, (number, *_) in zip(plan.questions, plan.attributes, strict=True)
        if isinstance(number, Numeric) and question.views == (Value(number.name),) and _might(number)
    ]
    if not found:
        return None
    (number, variance), *others = found
    half = number.high / 2 - number.low / 2
    now = normal(LEVEL) * half * math.sqrt(variance / CROWD)
    logged = Numeric(number.name, number.low, number.high, number.out_of_range, scale="log")
    _, then = precision(ladder(Fraction(plan.cost) / plan.k, logged), logged, CROWD, LEVEL, None, 0.0, 0.0)
    if then > now / 2:
        return None
    other = 'Numeric and scale="log"' if number.whole else 'scale="log"'
    text = (
        f"Wide? {number.name} goes from {shown(number.low)} to {shown(number.high)}: with {CROWD:,} answers its mean "
        f"has a margin of {shown(now)}. With {other} that would be {shown(then)}, if most people are within a "
        f"{USUAL}th of the range."
    )
    return f"{text} The same may hold for {', '.join(one.name for one, _ in others)}." if others else text


def _might(number: Numeric) -> bool:
    """Tell whether a range might be far wider than where people are."""
    return (
        number.named(0.0) is None
        and number.scale == "linear"
        and number.low <= 0 <= number.high
        and number.high - number.low >= WIDE
    )


_EXACT = 1 << 50  # up to this total, floats hold the whole numbers, and their rests to a thousandth


def whole(values: Sequence[float], total: int) -> list[int]:
    """Return whole numbers in proportion to these that add up to the total: the largest remainders are rounded up."""
    if 0 < total < _EXACT and (sum_ := math.fsum(values)) > 0:
        found = _rounded([value / sum_ * total for value in values], total)
        if found is not None:
            return found
    exact = [Fraction(value) for value in values]
    scale = Fraction(total) / (sum(exact, Fraction(0)) or 1)  # a rounded sum would be off by many of very many people
    found = _rounded([value * scale for value in exact], total)
    assert found is not None
    return found


def _rounded(wanted: Sequence[float | Fraction], total: int) -> list[int] | None:
    """Return these numbers as whole ones with this total; None if they do not nearly add up to it."""
    found = [math.floor(value) for value in wanted]
    more = total - sum(found)
    if not 0 <= more <= len(found):
        return None
    for i in sorted(range(len(found)), key=lambda i: found[i] - wanted[i])[:more]:
        found[i] += 1
    return found
