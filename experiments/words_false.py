"""How many of the texts that are returned are held by nobody: `python -m experiments.words_false [--keep]`.

The made-up words of `experiments.words`, and more collections than there: 70 % of the people answer a first round, and
30 % rank its 99 best texts. Each collection is read twice, without and with its second round. "False" is the share of
returned texts that nobody holds, on average over collections (0 if none was returned), with its standard error: the
promise of `hush.frequent` is about this average. "Wrong" is the share of intervals that do not contain the truth.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import hush
from experiments.words import SECOND, cases
from hush import batch
from hush.planning.texts import second_round

KEPT = Path(__file__).parent.parent / "docs" / "measured" / "words-false.json"
SEED = 1024  # other people than those of `experiments.words`
SETTINGS = ((2.0, 1_000_000), (4.0, 1_000_000), (4.0, 80_000))
Row = dict[str, Any]


def judged(found: hush.FrequentTexts, truth: Counter[str], people: int) -> tuple[int, int, int]:
    """Return how many texts were returned, how many of them nobody holds, and how many intervals are wrong."""
    false = sum(row.category not in truth for row in found)
    wrong = sum(not row.low <= truth[row.category] / people <= row.high for row in found)
    return len(found), false, wrong


def collected(epsilon: float, people: int, repetition: int) -> list[tuple[int, int, int]]:
    """Return what one collection found, without and with its second round."""
    _, text, draw = next(iter(cases(None)))
    column = draw(np.random.default_rng([repetition, SEED]), people)
    truth: Counter[str] = Counter({one["values"]: one["counts"] for one in column.value_counts().to_pylist()})
    cut = round((1 - SECOND) * people)
    first = batch.collect(hush.design(hush.Schema([text]), epsilon), {"word": column[:cut]})
    second = batch.collect(second_round(first, "word", epsilon), {"word": column[cut:]})
    every = [hush.frequent(first, "word", 1000), hush.frequent(first, "word", 1000, second=second)]
    return [judged(found, truth, people) for found in every]


def summary(results: list[tuple[int, int, int]]) -> Row:
    """Return the averages over collections, and the standard error of the share of false texts."""
    shares = [false / max(returned, 1) for returned, false, _ in results]
    returned = sum(result[0] for result in results)
    return {
        "repetitions": len(results),
        "returned": returned,
        "false": sum(result[1] for result in results),
        "wrong": sum(result[2] for result in results) / max(returned, 1),
        "share": statistics.mean(shares),
        "stderr": statistics.stdev(shares) / math.sqrt(len(shares)) if len(shares) > 1 else math.nan,
    }


def main() -> None:
    """Try all settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name} for the documents")
    options = parser.parse_args()
    kept: list[Row] = []
    for epsilon, people in SETTINGS:
        start = time.process_time()
        results = [collected(epsilon, people, repetition) for repetition in range(options.repetitions)]
        for rounds in (1, 2):
            row = {"epsilon": epsilon, "people": people, "rounds": rounds}
            row |= summary([result[rounds - 1] for result in results])
            kept.append(row | {"seconds": time.process_time() - start})
            print(json.dumps(kept[-1]), flush=True)
        if options.keep:
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
