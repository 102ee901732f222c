"""Very many categories: what is kept of the measurements is right where it can be computed."""

from __future__ import annotations

import json
import math
from fractions import Fraction

from experiments.large import EPSILONS, KEPT, SIZES, decode_seconds

from hush.core.design.categorical import geometry


def test_every_kept_row_is_of_the_channel_that_is_designed_today() -> None:
    rows = json.loads(KEPT.read_text(encoding="utf-8"))
    assert [(row["size"], row["epsilon"]) for row in rows] == [
        (size, epsilon) for size in SIZES for epsilon in EPSILONS
    ]
    for row in rows:
        channel = geometry(Fraction(row["epsilon"]), row["size"])
        assert (row["order"], row["digits"], row["points"]) == (channel.order, channel.digits, channel.points)
        assert 0.999 < row["variance"] < 1.05, "the goal: at most 1.05 times that of the best sets"
        e = math.exp(float(row["epsilon"]))
        known = (e - 1 + channel.order) ** 2 / (4 * e * (channel.order - 1))  # for very many categories
        if row["size"] >= 100_000:
            assert abs(row["variance"] - known) < 2e-3
        assert 0 < row["sum_s"] < row["decode_s"]


def test_both_times_are_measured() -> None:
    decoding, adding = decode_seconds(geometry(Fraction(2), 1000), 1000)
    assert decoding > 0
    assert 0 <= adding < decoding
