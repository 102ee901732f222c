"""A new word, week after week, in a series: `python -m experiments.word_trends [--people N] [--keep]`.

Everybody holds a word and is asked for it every week. Most words stay; each week one person in a hundred takes another
word by chance, and a new word spreads through the crowd and then fades. Every device answers by the code of
`hush.device.memory`, as a series in a ledger does, with its memory in a dictionary instead of a file, and seeded words.
A device whose cap does not allow another word falls silent.

For each week the program counts what `hush.frequent` finds, what the answers cost so far, and what an onlooker sees who
can link the reports of each device: which of them changed. Of these, "guess" is the share of people who now hold the
new word. An onlooker who knows that a word spreads guesses it from the change alone, so no epsilon bounds this number.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import hush
from hush.core.channels import Geometry
from hush.core.channels.geometry import points_of
from hush.core.exact import log_above
from hush.device import memory
from hush.server.tally import Tally
from hush.testing import SeededCoins

KEPT = Path(__file__).parent.parent / "docs" / "measured" / "word-trends.json"
EPSILON = 4.0
CAP = 3 * EPSILON
SPREAD = (0.0, 0.005, 0.02, 0.05, 0.08, 0.06)  # the share of people who hold the new word, week by week
CHANCE = 0.01  # of the people take another word each week
DISTINCT = 2000
NEW = "selfie"
TEXT = hush.Text("word", 8, "english")
Array = Any
Row = dict[str, Any]


class Notes:
    """What one device remembers."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str, str], str] = {}

    def find(self, kind: str, subject: str, state: str = "") -> str | None:
        """Return the kept text, or None."""
        return self._texts.get((kind, subject, state))

    def keep(self, value: str, kind: str, subject: str, state: str = "") -> None:
        """Keep a new text."""
        self._texts[kind, subject, state] = value


class Device:
    """Answers plans of one series from memory, and pays for new states, up to a cap."""

    def __init__(self) -> None:
        self.notes, self.spent = Notes(), Fraction(0)
        self.last: Any = None

    def answer(self, coins: SeededCoins, plan: hush.Plan, inputs: Any) -> Any:
        """Return the answers of a week, or None if the cap forbids a new one."""
        asked = memory.ask(coins, plan, inputs, ((None,),) * len(plan.questions), self.notes)
        cost = memory.cost_of(plan, memory.new(asked, self.notes))
        if self.spent + cost > CAP:
            return None
        self.spent += cost
        return memory.recall(coins, plan, asked, self.notes)


def vocabulary(rng: Array, distinct: int = DISTINCT) -> list[str]:
    """Made-up words that the code of the text does not cut; the last one is the new one."""
    found: dict[str, None] = {}
    while len(found) < distinct:
        parts = rng.integers(0, [12, 5, 12, 5, 12])
        word = "".join("bcdlmnprstvw"[part] if place % 2 == 0 else "aeiou"[part] for place, part in enumerate(parts))
        word = word[: int(rng.integers(3, 6))]
        if TEXT.read(TEXT.encode(word) or 0, TEXT.bits) == (word, True):
            found[word] = None
    assert TEXT.read(TEXT.encode(NEW) or 0, TEXT.bits) == (NEW, True)
    return [*found, NEW]


def crowd(rng: Array, people: int, weeks: int, distinct: int = DISTINCT) -> list[Array]:
    """Return which word each person holds in each week."""
    shares = 1 / np.arange(1, distinct + 1) ** 1.1
    shares /= shares.sum()
    old = rng.choice(distinct, people, p=shares)  # the word beside the new one
    joined = np.full(people, False)
    found = []
    for week in range(weeks):
        if week:
            moved = rng.random(people) < CHANCE
            old = np.where(moved, rng.choice(distinct, people, p=shares), old)
        gap = round(SPREAD[week] * people) - int(joined.sum())
        who = rng.permutation(np.flatnonzero(joined if gap < 0 else ~joined))[: abs(gap)]
        joined = joined.copy()
        joined[who] = gap > 0  # those who leave the new word take up their own again
        found.append(np.where(joined, distinct, old))
    return found


def week_of(plan: hush.Plan, reports: list[Any]) -> Tally:
    """Count the answers of a week."""
    counts = []
    for index, question in enumerate(plan.questions):
        found = Counter(answers[0][1] for answers in reports if answers[0][0] == index)
        assert isinstance(question.channel, Geometry)
        counts.append([found[point] for point in range(question.channel.points)])
    return Tally(plan, len(reports), [sum(row) for row in counts], counts)


def unseen(channel: Geometry) -> Fraction:
    """Return how likely a fresh answer about another point is the answer that was there before, exactly."""
    q, t = channel.order, channel.digits
    near, far, both = points_of(q, t - 1), int(q ** (t - 1)), points_of(q, t - 2)
    inside, outside = channel.p / near, (1 - channel.p) / far
    return both * inside**2 + 2 * (near - both) * inside * outside + (channel.points - 2 * near + both) * outside**2


def collected(people: int, weeks: int, seed: int, distinct: int = DISTINCT) -> tuple[Row, list[Row]]:
    """Return what holds for all weeks, and a row for each of them."""
    rng, coins = np.random.default_rng([seed, 31]), SeededCoins(seed)
    words = vocabulary(rng, distinct)
    held = crowd(rng, people, weeks, distinct)
    schema = hush.Schema([TEXT])
    inputs = [schema.encode({"word": word}) for word in words]
    devices = [Device() for _ in range(people)]
    rows = []
    for week, now in enumerate(held):
        plan = hush.design(schema, EPSILON, title=f"week {week + 1}")
        before = held[max(week - 1, 0)]
        reports, row = [], Counter[str]()
        for device, word, former in zip(devices, now.tolist(), before.tolist(), strict=True):
            answers = device.answer(coins, plan, inputs[word])
            row["changed"] += word != former
            if answers is None:
                row["silent"] += 1
                continue
            reports.append(answers)
            if device.last is not None and answers != device.last:
                row["seen"] += 1
                row["guessed"] += word == distinct
            device.last = answers
        found = hush.frequent(week_of(plan, reports), "word", 64)
        names = {words[word] for word in np.unique(now).tolist()}
        mine = next((item for item in found if item.category == NEW), None)
        spent = Counter(int(device.spent / Fraction(EPSILON)) for device in devices)
        rows.append(
            {
                "week": week + 1,
                "truth": float((now == distinct).mean()),
                "found": None if mine is None else [mine.share, mine.low, mine.high],
                "returned": len(found),
                "false": sum(item.category not in names for item in found if not item.cut),
                "floor": found.floor,
                **{name: row[name] / people for name in ("changed", "seen", "silent")},
                "guess": row["guessed"] / row["seen"] if row["seen"] else None,
                "spent": float(sum(device.spent for device in devices)) / people,
                "words": {str(times): spent[times] / people for times in sorted(spent)},
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    channel = plan.questions[0].channel
    assert isinstance(channel, Geometry)
    other = hush.design(schema, EPSILON / weeks).questions[0].channel
    assert isinstance(other, Geometry)
    about = {
        "people": people,
        "epsilon": EPSILON,
        "cap": CAP,
        "questions": len(plan.questions),
        "log_ratio": log_above(channel.ratio),
        "cost": str(memory.cost_of(plan, [0])),
        "unseen": float(unseen(channel)),
        "fresh_noise": math.sqrt(float(other.variance(0) / channel.variance(0))),
    }
    return about, rows


def main() -> None:
    """Simulate all weeks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--weeks", type=int, default=len(SPREAD))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name} for the documents")
    options = parser.parse_args()
    start = time.process_time()
    about, rows = collected(options.people, options.weeks, options.seed)
    about["seconds"] = time.process_time() - start
    print(json.dumps(about))
    if options.keep:
        KEPT.write_text(json.dumps({"about": about, "weeks": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
