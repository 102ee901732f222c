"""The people of the experiments on wide numbers: one number each, from 0 to the end of a public range.

With a data folder the six columns are from the American Community Survey 2024 (docs/data.md), and capital gains from
UCI Adult; otherwise numbers of about the same shapes are made up. All ranges are round numbers that a survey could
publish beforehand. Nothing of the data is kept but errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from experiments.reproduce.frame import Bench
from experiments.reproduce.population import Array

PERSONS, HOUSEHOLDS = "acs2024_person_income.parquet", "acs2024_household_income.parquet"
ADULT = "adult.csv.zst"
GAINS = "capital gain"
UNIFORM = "uniform on the range"
ZEROS = "96 % at 0, others lognormal 1"
POINTS = 20_000  # at which quantiles of made-up people are taken

COLUMNS = {
    "income": (PERSONS, "PINCP", 1e7),
    "wages": (PERSONS, "WAGP", 1e7),
    "household income": (HOUSEHOLDS, "HINCP", 1e7),
    "home value": (HOUSEHOLDS, "VALP", 1e8),
    "rent": (HOUSEHOLDS, "RNTP", 1e5),
    "commute": (PERSONS, "JWMNP", 1440.0),
}
"""The six columns, and the end of the public range of each."""

LIKE = {
    "income": (0.07, 36_000.0, 1.05, 10.0),
    "wages": (0.43, 45_000.0, 0.95, 10.0),
    "household income": (0.02, 80_000.0, 0.9, 10.0),
    "home value": (0.24, 300_000.0, 0.8, 1000.0),
    "rent": (0.77, 1200.0, 0.55, 10.0),
    "commute": (0.53, 20.0, 0.75, 1.0),
}
"""Made-up columns: the share at 0, the median of the others, their spread in logarithms, and the unit of rounding."""


@dataclass(frozen=True, eq=False)
class People:
    """Numbers in rising order with the share of people at each, and the end of their public range."""

    name: str
    values: Array
    shares: Array
    high: float

    @cached_property
    def mean(self) -> float:
        """The mean of all."""
        return self.clipped(self.high)

    def clipped(self, c: float) -> float:
        """Return the mean of min(number, c)."""
        return float(self.shares @ np.minimum(self.values, c))

    def above(self, c: float) -> float:
        """Return the share of people above c."""
        return float(self.shares[self.values > c].sum())

    def rank_error(self, x: float, q: float) -> float:
        """Return how far q is from the ranks of x: from the share below x to the share at or below it."""
        below, upto = (float(self.shares[: np.searchsorted(self.values, x, side)].sum()) for side in ("left", "right"))
        return upto - q if upto < q else max(below - q, 0.0)

    def on(self, high: float) -> People:
        """Return the same people with another public range, which may clip some."""
        return People(self.name, np.minimum(self.values, high), self.shares, high)


def counted(name: str, column: Array, high: float) -> People:
    """Return people with the numbers of a column; negative ones count as 0."""
    values, counts = np.unique(np.clip(np.asarray(column, float), 0, high), return_counts=True)
    return People(name, values, counts / counts.sum(), high)


def populations(bench: Bench) -> dict[str, People]:
    """Return everybody: six columns, capital gains, and made-up shapes."""

    def make() -> dict[str, People]:
        found = _columns(bench.data) if bench.data is not None else _made_up()
        return found | _shapes()

    people: dict[str, People] = bench.population("wide", make)
    return people


def _columns(folder: Path) -> dict[str, People]:
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    found = {}
    for name, (file, column, high) in COLUMNS.items():
        found[name] = counted(name, pq.read_table(folder / file, columns=[column])[column].to_numpy(), high)
    if (folder / ADULT).exists():
        adult = pacsv.read_csv(pa.input_stream(str(folder / ADULT), compression="zstd"))
        found[GAINS] = counted(GAINS, adult["capital_gain"].to_numpy(), 1e6)
    return found


def _made_up() -> dict[str, People]:
    found = {}
    for name, (none, median, spread, unit) in LIKE.items():
        numbers = np.round(median * np.exp(spread * _normal()) / unit) * unit
        found[name] = counted(name, _with_zeros(numbers, none), COLUMNS[name][2])
    gains = np.round(7000 * np.exp(0.9 * _normal()))
    gains[-POINTS // 20 :] = 99_999  # a top code, where a part of the people is heaped
    return found | {GAINS: counted(GAINS, _with_zeros(gains, 0.92), 1e6)}


def _shapes() -> dict[str, People]:
    even = (np.arange(POINTS) + 0.5) / POINTS
    lognormal = np.exp(_normal())
    columns = {
        "lognormal 1": (lognormal, 1e4),
        "lognormal 1.5": (lognormal**1.5, 1e4),
        "70 % at 0, others lognormal 1": (_with_zeros(lognormal, 0.7), 1e4),
        ZEROS: (_with_zeros(lognormal, 0.96), 1e4),
        "Pareto 1.5": ((1 - even) ** (-1 / 1.5), 1e4),
        UNIFORM: (even, 1.0),
        "uniform on 5 % of the range": (even, 20.0),
    }
    return {name: counted(name, column, high) for name, (column, high) in columns.items()}


def _normal() -> Array:
    """Return the quantiles of a normal distribution."""
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(POINTS) + 0.5) / POINTS))


def _with_zeros(numbers: Array, share: float) -> Array:
    """Return these numbers and as many zeros as make up a share of all."""
    return np.concatenate([np.zeros(round(len(numbers) * share / (1 - share))), numbers])
