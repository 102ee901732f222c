"""Questions about choices, "which of these do you use?": one about each value, or one about all of them.

There are two ways to ask, and the one with the least predicted error is taken.

- **members**: each value is a question of its own, "do you use this one?". Chance draws the questions of a person, as
  among all questions of the plan, and each is answered by randomised response. With d values, one question each and
  the variance v of a randomised response, the error of a share is d*(v + f(1-f)) for a value that a share f hold.
- **picks**: everybody answers one question about all values, by the picks channel. Its error does not grow with d, but
  with the number of values that a person may hold. **pairs** are picks whose reports have two values or more.

A bit for each value (unary encoding) is no third way: two people may differ in 2s bits, so each bit gets epsilon/(2s),
and its error is larger than that of the picks at every epsilon, s and d (`python -m experiments.choices`).

**The assumed shares.** Nothing is known about people, so hush assumes that they hold half as many values as they may:
f = s/(2d).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from hush.core.channels import Picks
from hush.core.channels.picks import MAX_HELD
from hush.core.design.categorical import subset
from hush.core.design.texts import chunks, prefixes
from hush.core.exact import WORD, exp_bounds
from hush.core.looking import View
from hush.core.schema import Attribute, Choices, Schema
from hush.core.texts import Text
from hush.core.views import Value
from hush.core.word_views import Member
from hush.errors import DesignError, PlanError

WAYS = ("best", "members", "picks", "pairs")
_SPARE = (44, 40, 36, 32, 28, 24, 20)  # how much of e^epsilon is given up for rounded shares, as powers of 2
_RAREST = 2.0**-44  # the least share: as a multiple of 2^-64 it is then rounded by a millionth at most
_MANY = 4  # attributes of choices, for which every combination is compared
_TRIED = 8  # designs that are made of integers, the most promising first


def ways(schema: Schema, wanted: str) -> list[frozenset[str]]:
    """Return the ways of asking that are compared: which choices have one question about all values."""
    names = [item.name for item in schema.attributes if isinstance(item, Choices)]
    able = [item.name for item in schema.attributes if isinstance(item, Choices) and _is_able(item)]
    if wanted == "members":
        return [frozenset()]
    if wanted in ("picks", "pairs"):
        for item in schema.attributes:
            if wanted == "pairs" and isinstance(item, Choices) and item.most == 1:
                raise DesignError(f"attribute {item.name!r}: has no pairs of values, as a person may hold one at most")
        for name in names:
            if name not in able:
                raise DesignError(
                    f"attribute {name!r}: picks need a limit on how many values a person holds: most must be at most "
                    f"{MAX_HELD}, and at most half of the number of values"
                )
        return [frozenset(names)]
    if len(able) > _MANY:
        return [frozenset(), frozenset(able)]
    return [frozenset(some) for count in range(len(able) + 1) for some in combinations(able, count)]


def better_whole(schema: Schema, epsilon: Fraction) -> frozenset[str]:
    """Return the choices that are better asked in one question, if everybody answers one question."""
    asked = [item for item in schema.attributes if isinstance(item, Choices) and _is_able(item)]
    return frozenset(
        item.name for item in asked if picks_error(epsilon, item) < len(item.values) * member_error(epsilon, item)
    )


def _is_able(choices: Choices) -> bool:
    return choices.most <= min(MAX_HELD, len(choices.values) // 2)


def expanded(blocks: Sequence[Sequence[Attribute]], whole: Collection[str]) -> list[Sequence[Attribute]]:
    """Return the blocks with one for each value of choices that are not asked as a whole, and each prefix of a text."""
    found: list[Sequence[Attribute]] = []
    for block in blocks:
        for item in block:
            if isinstance(item, Choices | Text) and len(block) > 1:
                kind = "choices" if isinstance(item, Choices) else "a text"
                raise DesignError(f"attribute {item.name!r}: {kind} cannot be reported together with other attributes")
        found += [block] * _questions(block[0], whole)
    return found


def _questions(attribute: Attribute, whole: Collection[str]) -> int:
    """Return how many questions ask about an attribute."""
    if isinstance(attribute, Text):
        return len(chunks(attribute))
    return len(attribute.values) if isinstance(attribute, Choices) and attribute.name not in whole else 1


def views_of(blocks: Sequence[Sequence[Attribute]], whole: Collection[str]) -> list[list[View]]:
    """Return the views of expanded blocks: those of choices that are not asked as a whole look at one value each."""
    found: list[list[View]] = []
    places: Counter[str] = Counter()
    for block in blocks:
        first = block[0]
        if isinstance(first, Choices) and first.name not in whole:
            found.append([Member(first.name, first.values[places[first.name]])])
            places[first.name] += 1
        elif isinstance(first, Text):
            found.append([prefixes(first)[places[first.name]]])
            places[first.name] += 1
        else:
            found.append([Value(attribute.name) for attribute in block])
    return found


def equal_shares(blocks: Sequence[Sequence[Attribute]], total: Fraction) -> list[Fraction]:
    """Return the epsilon of each block if all attributes get the same, and choices share theirs among their values."""
    copies = Counter(block[0].name for block in blocks)
    attributes = sum(Fraction(len(block), copies[block[0].name]) for block in blocks)
    return [total * len(block) / (attributes * copies[block[0].name]) for block in blocks]


def usual_share(choices: Choices) -> Fraction:
    """Return the share of people who are assumed to hold a value."""
    return Fraction(choices.most, 2 * len(choices.values))


def member_error(epsilon: Fraction, choices: Choices) -> float:
    """Return the variance of one report about one value, for a question of its own."""
    channel, f = subset(epsilon, 2 + choices.optional), usual_share(choices)
    return float(channel.variance(f) + f * (1 - f))


def picks_error(epsilon: Fraction, choices: Choices, least: int = 1) -> float:
    """Return the variance of one report about each value by the picks channel; infinite if there is none."""
    try:
        channel, f = picks(epsilon, len(choices.labels), choices.most, least), usual_share(choices)
    except DesignError:
        return math.inf
    return float(channel.variance(f) + f * (1 - f))


@lru_cache(maxsize=256)
def picks(epsilon: Fraction, size: int, held: int, least: int = 1) -> Picks:
    """The picks channel of least variance for values that the usual share of people hold: of all weights and jumps.

    Its sets have `least` members or more: sets of one say nothing about pairs of values.
    """
    if held > min(MAX_HELD, size - 1):
        raise DesignError(f"picks are for people who hold at most {min(MAX_HELD, size - 1)} of {size} values")
    bound = exp_bounds(epsilon)[0]
    found = []
    for weight in range(least, size - held + 1):
        counts = _counts(size, held, weight)
        for jump in range(1, len(counts)):
            variance = _variance(float(bound), size, held, weight, counts, jump)
            if math.isfinite(variance):
                found.append((variance, weight, jump))
    for _, weight, jump in sorted(found)[:_TRIED]:
        if (channel := made(bound, size, held, weight, jump)) is not None:
            return channel
    raise DesignError(f"no picks channel for {held} of {size} values is exact enough")


def _counts(size: int, held: int, weight: int) -> list[float]:
    """Return the shares of sets with 0, 1, ... held items among all sets."""
    every = _log_comb(size + held, weight)
    most = min(held, weight)
    return [math.exp(_log_comb(held, h) + _log_comb(size, weight - h) - every) for h in range(most + 1)]


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _variance(ratio: float, size: int, held: int, weight: int, counts: list[float], jump: int) -> float:
    """Return the variance for the usual share, in floats; infinite if a number of held items is too rare to round."""
    masses = [count * (ratio if h >= jump else 1.0) for h, count in enumerate(counts)]
    total = math.fsum(masses)
    mean = math.fsum(h * mass for h, mass in enumerate(masses)) / total
    p, q, f = mean / held, (weight - mean) / size, held / (2 * size)
    if p <= q or min(masses) < _RAREST * total:
        return math.inf
    return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2


def made(bound: Fraction, size: int, held: int, weight: int, jump: int) -> Picks | None:
    """Return the channel, with the largest ratio that rounding its shares permits; None if a share is too small."""
    counts = [math.comb(held, h) * math.comb(size, weight - h) for h in range(min(held, weight) + 1)]
    for spare in _SPARE:
        ratio = 1 + (bound - 1) * (1 - Fraction(1, 1 << spare))
        # Shares beyond the first round up, by less than the part of the ratio that is given up; or more is given up.
        masses = [count * (ratio if h >= jump else 1) for h, count in enumerate(counts)]
        total = sum(masses)
        shares = [math.ceil(WORD * mass / total) for mass in masses[1:]]
        first = WORD - sum(shares)
        if first < 1:
            return None
        try:
            channel = Picks(size, held, weight, (first, *shares))
        except PlanError:
            continue
        if channel.ratio <= bound:
            return channel
    return None
