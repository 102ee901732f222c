"""Records, words and the reports that they give."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from hush.core.channels import Additive, Ladder, Mixture, Rows, Window
from hush.core.channels.windowed import ROUNDING
from hush.core.coins import Coins
from hush.core.exact import WORD
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.device.randomise import randomise_from
from hush.testing import ListedCoins, RecordedCoins, SeededCoins
from spec.plans import odd_dates, on_cuts, on_knots


def fused(plan: Plan) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Records and words for which u*n - s, computed as one operation that rounds once, gives another report.

    The product lies half an interval of words above s, so that it is not rounded up; before it was rounded to a float64
    it was larger.
    """
    channel = plan.questions[0].channel
    head: list[int] = []
    if isinstance(channel, Mixture):
        head, channel = [0], channel.parts[0]
    steps = (
        channel.steps if isinstance(channel, Additive) else channel.last if isinstance(channel, Window | Rows) else 0
    )
    pick = SeededCoins(5)
    made = 0
    while steps and made < 12:
        s, low = pick.below(steps - 1), pick.below(ROUNDING)
        share = Fraction(2 * low + 1, 2 * ROUNDING)  # where the word with these lower bits rounds
        u = float((s + share) / steps)
        if u * steps - s != share or Fraction(u) * steps <= s + share:
            continue
        made += 1
        inside = pick.below(channel.threshold >> 24) << 24 if isinstance(channel, Window) else 0
        word = inside + low if isinstance(channel, Window) else int(share * WORD)
        # The coin of rows shows the window, where a cell more or less is seen.
        coin, others = ([0], {"c": "a"}) if isinstance(channel, Rows) else ([], {})
        yield {"x": u, **others}, [*head, word, *coin, *(pick.word() for _ in range(14))]


def record(plan: Plan, pick: Coins, corner: int | None) -> dict[str, Any]:
    """A record of ordinary values, or one at a corner of the domain."""
    return person(plan.schema, pick, corner)


def person(schema: Schema, pick: Coins, corner: int | None) -> dict[str, Any]:
    """A record of a schema: ordinary values, or those at a corner of the domain."""
    values: dict[str, Any] = {}
    for attribute in schema.attributes:
        if attribute.optional and (pick.below(3) == 0 or corner == 2):
            values[attribute.name] = None
        elif isinstance(attribute, Numeric) and attribute.whole:
            number = int(attribute.low) + pick.below(int(attribute.high) - int(attribute.low) + 1)
            value = attribute.named(number) or number
            values[attribute.name] = value if corner is None else attribute.examples[(0, 2, 1)[corner]]
        elif isinstance(attribute, Categorical):
            values[attribute.name] = attribute.values[pick.below(len(attribute.values))]
            if attribute.other and (pick.below(2) or corner is not None):
                texts = ("Firefox", "x" * 257, "x" * 255, "e\u0301", "(other)", "(missing)", "\0", "𝒳" * 700)
                values[attribute.name] = texts[pick.below(len(texts))]
        elif isinstance(attribute, Choices):
            count = pick.below(attribute.most + 1) if corner is None else (0, attribute.most, 1)[corner]
            first = pick.below(len(attribute.values))
            turned = (*attribute.values[first:], *attribute.values[:first])
            values[attribute.name] = list(turned[:count])
        elif isinstance(attribute, Text):
            words = ("", attribute.longest, "a", "Cook", "law ", "東", "1-0E\u0301", "0", "👍🏽", "x" * 300)
            values[attribute.name] = words[pick.below(len(words)) if corner is None else corner]
        elif corner is not None:
            values[attribute.name] = (attribute.low, attribute.high, (attribute.low + attribute.high) / 2)[corner]
        else:
            share = pick.below(2**53) / 2**53
            values[attribute.name] = attribute.low + share * (attribute.high - attribute.low)
    return values


class Extreme(Coins):
    """Words that are all zeros or all ones, then seeded ones, so that every rejection ends."""

    def __init__(self, first: int, count: int, seed: int) -> None:
        self._first, self._count, self._rest = first, count, SeededCoins(seed)

    def word(self) -> int:
        """Return the next word."""
        self._count -= 1
        return self._first if self._count >= 0 else self._rest.word()


def sources() -> Iterator[tuple[Coins, int | None]]:
    """Words for the good vectors, and the corner at which the record lies."""
    for seed in range(24):
        yield SeededCoins(seed), None if seed >= 3 else seed
    for count in (1, 2, 3, 5):
        yield Extreme(0, count, count), None
        yield Extreme(WORD - 1, count, count), None


def good(plan: Plan) -> list[tuple[dict[str, Any], Report]]:
    """Vectors with their reports."""
    result = []
    step = 1 if len(plan.schema) < 50 else 4  # long records make long files
    for number, (source, corner) in [*enumerate(sources())][::step]:
        values = record(plan, SeededCoins(1000 + number), corner)
        coins = RecordedCoins(source)
        report = randomise_from(coins, plan, values)
        assert randomise_from(ListedCoins(coins.words), plan, values) == report
        result.append((vector(values, coins.words, report), report))
    for number, values in enumerate(odd_dates() if plan.title == "dates" else ()):
        coins = RecordedCoins(SeededCoins(200 + number))
        report = randomise_from(coins, plan, values)
        result.append((vector(values, coins.words, report), report))
    ladders_only = all(isinstance(question.channel, Ladder) for question in plan.questions)
    for number, values in enumerate(on_cuts() if plan.title == "views" else on_knots(plan) if ladders_only else ()):
        coins = RecordedCoins(SeededCoins(100 + number))
        report = randomise_from(coins, plan, values)
        result.append((vector(values, coins.words, report), report))
    for values, words in fused(plan) if "rounding" in plan.title else ():
        coins = RecordedCoins(ListedCoins(words))
        report = randomise_from(coins, plan, values)
        result.append((vector(values, coins.words, report), report))
    return result


def vector(values: dict[str, Any], words: list[int], report: Report) -> dict[str, Any]:
    """A vector: a record, all words that were drawn, and both forms of the report."""
    return {
        "record": values,
        "words": [f"{word:016x}" for word in words],
        "report": report.encode().hex(),
        "json": report.to_json(),
    }
