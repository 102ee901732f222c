"""Simultaneous intervals of a table and of means by group hold together, as the dashboard shows them."""

from __future__ import annotations

from typing import Any

import pytest

import hush
from hush.device.randomise import randomise_from
from hush.testing import SeededCoins

LEVEL, RUNS, PEOPLE = 0.8, 60, 300
MOST = 30
SCHEMA = hush.Schema(
    [hush.Categorical("a", ["x", "y", "z"]), hush.Categorical("b", ["u", "v", "w"]), hush.Numeric("n", 0, 1)]
)
PLANS = {
    "table": hush.design(SCHEMA, 6.0, relations=[("a", "b", "table")], singles=0.1),
    "means": hush.design(SCHEMA, 6.0, relations=[("n", "b", "means")], singles=0.1),
}


def missed(kind: str, together: bool) -> int:
    """Return in how many runs some interval misses its truth. All cells have the share 1/9, all groups the mean 1/2."""
    count = 0
    for seed in range(RUNS):
        coins, tally = SeededCoins(seed), hush.Tally(PLANS[kind])
        for _ in range(PEOPLE):
            record: dict[str, Any] = {"a": "xyz"[coins.below(3)], "b": "uvw"[coins.below(3)], "n": coins.below(2)}
            tally.add(randomise_from(coins, PLANS[kind], record))
        if kind == "table":
            rows, truth = hush.crosstab(tally, "a", "b", level=LEVEL, simultaneous=together), 1 / 9
        else:
            rows, truth = hush.means(tally, "n", by="b", level=LEVEL, simultaneous=together), 0.5  # type: ignore[assignment]
        count += not all(row.low <= truth <= row.high for row in rows)
    return count


@pytest.mark.parametrize("kind", PLANS)
def test_intervals_hold_together(kind: str) -> None:
    """At 80 %, 60 runs miss 12 on average, and more than 30 with probability below 1e-6 (binomial).

    The twin is a table whose intervals hold each: of nine, one misses in most runs.
    """
    assert missed(kind, together=True) <= MOST
    if kind == "table":
        assert missed(kind, together=False) > MOST
