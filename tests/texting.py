"""A plan with two texts, and tallies of many people who hold hostile, foreign and cut ones, drawn in no time.

The plan is smaller than those that `hush.design` makes: few points, and codes that know the texts of these tests.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import cache

import hush
from hush.core.design.categorical import oue
from hush.core.plan import Plan, Question
from hush.core.texts import Text, huffman
from hush.core.word_views import Prefix
from hush.device.randomise import randomise_from
from hush.planning.texts import second_round
from hush.server.tally import Tally
from hush.testing import SeededCoins
from tests.server.test_frequent import _drawn

MARKUP = "<img src=x onerror=x()>"
FORMULA = "=1+1"
LONG = "zzyyxxzzyyxxzzyy"  # its pairs of characters are rare, so its bits are cut
JOBS = ("nurse", "cook", "law", "clerk", "pilot", "baker", "smith", "guard", "vet", "judge", "actor", "usher")
WORDS = {MARKUP: 0.2, FORMULA: 0.1, LONG: 0.08} | {job: 0.06 - 0.003 * place for place, job in enumerate(JOBS)}
TURNED = "ab\u202edc"  # what follows is shown from right to left
HEBREW = "שלום\u200f"
EMOJI = "👩‍🚒"
SIGNS = {TURNED: 0.3, HEBREW: 0.2, EMOJI: 0.1, "": 0.05}
RARE = "cbgujsep"
LETTERS = "".join(sorted(set("".join(WORDS) + RARE)))
CHUNKS, POINTS, EPSILON = (12, 6, 6, 6, 6, 0), 4001, Fraction(4)
LENGTH = 24


def _words_code() -> list[str]:
    """Return a code in which the words of these tests are short: it knows which character follows which."""
    rows = [[0.0005] * (len(LETTERS) + 1) for _ in range(len(LETTERS) + 1)]
    for text in (text for text in WORDS if text != LONG):
        row = len(LETTERS)
        for symbol in [*map(LETTERS.index, text), len(LETTERS)]:
            rows[row][symbol] += 8 if text == MARKUP else 1
            row = symbol
    return [huffman(row) for row in rows]


def _signs_code() -> list[str]:
    """Return such a code for bytes: it knows how many of them a character still lacks."""
    rows = [[0.0001] * 257 for _ in range(4)]
    for text in SIGNS:
        row = 0
        for byte in [*text.encode(), 256]:
            rows[row][byte] += 1
            row = row - 1 if 0x80 <= byte < 0xC0 else (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
    return [huffman(row) for row in rows]


WORD = Text("word", LENGTH, LETTERS, "keep", _words_code(), sum(CHUNKS), optional=True)
SIGN = Text("<b>sign</b>", 6, None, "keep", _signs_code(), sum(CHUNKS))
PLAN = Plan(
    hush.Schema([WORD, SIGN]),
    EPSILON,
    1,
    tuple(
        Question([Prefix(text.name, CHUNKS[: level + 1], POINTS)], oue(EPSILON, POINTS + text.optional))
        for text in (WORD, SIGN)
        for level in range(len(CHUNKS))
    ),
    "Words",
)


def _people(shares: Mapping[str, float], n: int) -> Counter[str | None]:
    """Return how many people hold each text; the others hold one that few others have."""
    people: Counter[str | None] = Counter({text: int(share * n) for text, share in shares.items()})
    rest = n - sum(people.values())
    people.update({f"{a}{b}{c}": rest // 512 for a in RARE for b in RARE for c in RARE})
    return people


@cache
def tally(n: int = 80_000, seed: int = 1, *, agreed: bool = True) -> Tally:
    """Return a tally in which `n` people answer each question, by the law of the channel for each point."""
    pick = random.Random(seed)
    crowds = dict(zip(PLAN.schema.names, (_people(one if agreed else {}, n) for one in (WORDS, SIGNS)), strict=True))
    crowds["word"][None] = crowds["word"].pop("ccc")
    answered, counts = [], []
    for question in PLAN.questions:
        text = PLAN.schema[question.attributes[0]]
        look, people = question.views[0].look(PLAN.schema), crowds[text.name]
        held: Counter[object] = Counter()
        for value, number in people.items():
            code = text.encode(value)
            held[look([code if name == text.name else 0 for name in PLAN.schema.names])] += number
        p, q = float(question.channel.p), float(question.channel.q)  # type: ignore[attr-defined]
        total, size = sum(held.values()), question.channel.alphabet.size
        found = [_drawn(pick, total - held[j], q) + _drawn(pick, held[j], p) for j in range(size)]
        answered.append(total)
        counts.append([min(max(count, 0), total) for count in found])
    return Tally(PLAN, sum(answered), answered, counts)


def nobody() -> Tally:
    """Return a tally of few people, of whom hardly two agree."""
    return tally(1_024, 3, agreed=False)


SECOND = second_round(Tally(PLAN), "word", 2.0, texts=[MARKUP, FORMULA, *JOBS], title="Words again")


def ranked() -> Tally:
    """Return a tally of the second round. Other words might leave a text no better known than before."""
    found, coins = Tally(SECOND), SeededCoins(1)
    for text, number in _people(WORDS, 500).items():
        for _ in range(number):
            found.add(randomise_from(coins, SECOND, {"word": text}))
    return found
