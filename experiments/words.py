"""How many frequent texts are found: `python -m experiments.words [--data FOLDER] [--people N] [--keep]`.

Made-up words: 100,000 random texts of 8 characters out of 64 (48 bits), of Zipf's law with exponent 1.1: no model of a
language can help. Job titles: the occupations of the American Community Survey, up to 16 letters, if their data are
there; with the shipped model of English, and without.

For each the program simulates people with the batch engine, in one round, or with 70 % of them in a first round and
30 % who rank the 99 best texts. F1 compares the first k texts that are returned with the k most frequent ones. A false
text is held by nobody.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hush
from hush import batch
from hush.core.design.texts import chunks
from hush.planning.texts import second_round

KEPT = Path(__file__).parent.parent / "docs" / "measured" / "words.json"
TOPS = (10, 16, 32, 64)
LETTERS = "abcdefghijklmnopqrstuvwxyz "
SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
SECOND = 0.3  # of the people, in two rounds


def made_up(rng: np.random.Generator, people: int) -> pa.Array:
    """Random texts, a few of which are frequent."""
    distinct = 100_000
    shares = 1 / np.arange(1, distinct + 1) ** 1.1
    texts = ["".join(row) for row in np.array(list(SIGNS))[rng.integers(0, 64, (distinct, 8))]]
    held = rng.choice(distinct, people, p=shares / shares.sum())
    return pa.DictionaryArray.from_arrays(pa.array(held), pa.array(texts)).dictionary_decode()


def jobs(rng: np.random.Generator, people: int, folder: Path) -> pa.Array:
    """Titles of occupations, as the survey's codebook has them."""
    codes = json.loads((folder / "acs_codebook.json").read_text(encoding="utf-8"))["OCCP"]["codes"]
    column = pq.read_table(folder / "acs2024_person_income.parquet", columns=["OCCP"]).column(0).to_numpy()
    column = column[column != 0]
    chosen = column[rng.choice(len(column), people, replace=False)]
    distinct, held = np.unique(chosen, return_inverse=True)
    titles = []
    for code in distinct:
        title = codes.get(str(int(code)), f"code {code}")
        titles.append(title[4:] if len(title) > 4 and title[3] == "-" else title)
    return pa.DictionaryArray.from_arrays(pa.array(held), pa.array(titles)).dictionary_decode()


def cases(folder: Path | None) -> Iterator[tuple[str, hush.Text, Any]]:
    """The data, with the text of the schema for each."""
    yield "made-up words", hush.Text("word", 8, SIGNS, case="keep", bits=50), made_up
    if folder is not None:
        for name, text in (
            ("job titles, letters alike", hush.Text("word", 16, LETTERS, bits=80)),
            ("job titles, model of English", hush.Text("word", 16, "english")),
        ):
            yield name, text, lambda rng, people: jobs(rng, people, folder)


def tried(text: hush.Text, column: pa.Array, epsilon: float, rounds: int) -> dict[str, Any]:
    """One collection: F1 of the first texts, the share of false ones, the error of shares, and seconds."""
    truth = Counter({text.normal(value): 0 for value in column.unique().to_pylist()})
    for entry in column.value_counts().to_pylist():
        truth[text.normal(entry["values"])] += entry["counts"]
    plan = hush.design(hush.Schema([text]), epsilon)
    cut = len(column) if rounds == 1 else round((1 - SECOND) * len(column))
    first = batch.collect(plan, {"word": column[:cut]})
    second = None
    start = time.monotonic()
    if rounds == 2:
        second = batch.collect(second_round(first, "word", epsilon), {"word": column[cut:]})
    found = hush.frequent(first, "word", max(TOPS), second=second)
    seconds = time.monotonic() - start
    order = [value for value, _ in truth.most_common(max(TOPS))]
    names = [row.category for row in found]
    row: dict[str, Any] = {}
    for top in TOPS:
        mine = names[:top]
        row[f"f1_{top}"] = 2 * len(set(mine) & set(order[:top])) / (top + len(mine)) if mine else 0.0
    # The beginning of a longer text is true if somebody holds such a text.
    false = [
        item
        for item in found
        if not (any(held.startswith(item.category) for held in truth) if item.cut else item.category in truth)
    ]
    wrong = sum(not item.low <= truth[item.category] / len(column) <= item.high for item in found if not item.cut)
    squares = [(item.share - truth[item.category] / len(column)) ** 2 for item in found[:16] if not item.cut]
    row |= {"returned": len(found), "false": len(false), "wrong": wrong, "seconds": seconds}
    row["rmse"] = math.sqrt(sum(squares) / len(squares)) if squares else math.nan
    return row


def main() -> None:
    """Try all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the survey's data")
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name} for the documents")
    options = parser.parse_args()
    kept = []
    for name, text, draw in cases(options.data):
        for epsilon in (2.0, 4.0):
            for rounds in (1, 2):
                rows = []
                for repetition in range(options.repetitions):
                    rng = np.random.default_rng([repetition, 24])
                    rows.append(tried(text, draw(rng, options.people), epsilon, rounds))
                means = {key: float(np.nanmean([row[key] for row in rows])) for key in rows[0]}
                setting = {"data": name, "epsilon": epsilon, "rounds": rounds, "questions": len(chunks(text))}
                kept.append({**setting, "people": options.people, "repetitions": options.repetitions, **means})
                shown = " ".join(f"{means[f'f1_{top}']:.2f}" for top in TOPS)
                false = means["false"] / max(means["returned"], 1e-9)
                told = f"F1 of the first {TOPS}: {shown}; {means['returned']:.0f} returned, {false:.1%} false"
                print(f"{name}, epsilon {epsilon}, {rounds} round(s), {means['seconds']:.0f} s: {told}", flush=True)
                if options.keep:
                    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
