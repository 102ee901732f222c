"""The share of texts that nobody holds, in many collections: how it is counted."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from experiments.words_false import judged, summary

from hush import FrequentTexts
from hush.server.frequent import FrequentText


def test_false_texts_and_wrong_intervals_are_counted() -> None:
    rows = [FrequentText("word", name, 0.1, 0.01, low, 0.2) for name, low in (("a", 0.05), ("b", 0.15), ("c", 0.05))]
    assert judged(FrequentTexts(rows), Counter({"a": 10, "b": 10}), 100) == (3, 1, 2)


def test_a_summary_averages_over_collections() -> None:
    found = summary([(10, 1, 0), (0, 0, 0), (20, 1, 3)])
    assert (found["repetitions"], found["returned"], found["false"], found["wrong"]) == (3, 30, 2, 0.1)
    assert found["share"] == pytest.approx((0.1 + 0 + 0.05) / 3)
    assert found["stderr"] == pytest.approx(0.05 / math.sqrt(3))
