"""The comparison with heavy hitters of other packages: its scores, and what is kept of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from experiments.words_peers import DISTINCT, KEPT, SIGNS, people, scores


def test_the_strings_are_those_of_the_experiment_with_words() -> None:
    pytest.importorskip("pyarrow")
    from experiments import words

    assert SIGNS == words.SIGNS
    texts, held = people(50)
    assert [texts[i] for i in held] == words.made_up(np.random.default_rng([0, 24]), 50).to_pylist()


def test_scores_compare_the_first_texts_with_the_most_frequent() -> None:
    texts = [f"t{i}" for i in range(DISTINCT)]
    held = np.repeat(np.arange(40), np.arange(140, 100, -1))
    best = texts[:32]
    assert scores(best, texts, held) == {"f1_10": 1.0, "f1_32": 1.0, "returned": 32, "false": 0}
    half = [*texts[:5], *(f"nobody {i}" for i in range(5))]
    assert scores(half, texts, held) == {"f1_10": 0.5, "f1_32": 10 / 42, "returned": 10, "false": 5}
    assert scores([], texts, held) == {"f1_10": 0.0, "f1_32": 0.0, "returned": 0, "false": 0}


def test_every_kept_row_has_a_result_or_says_why_not() -> None:
    rows = json.loads(KEPT.read_text(encoding="utf-8"))
    assert {"hush", "pure-ldp, PEM, HCMS", "pure-ldp, PEM, local hashing"} <= {row["name"] for row in rows}
    for row in rows:
        assert "stops" in row or {"f1_10", "f1_32", "bytes", "client_us", "server_s", "people"} <= row.keys()
