"""A few people tell, privately, how large things are, and take part in nothing else.

Step sizes and clipping need to know how long the features of a person are, and training is faster if they are centred. Both
may be looked at only through private reports. So a small share of the people, the pilot, answers one of two plans with the whole
epsilon: the means of the features (numbers of a record), or a histogram of a length (a category).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush import batch
from hush.batch.keystream import Source
from hush.estimates import points
from hush.plan import Plan
from hush.postprocess import project
from hush.estimates import estimate
from hush.schema import Categorical, Numeric, Schema

Array = np.ndarray[Any, Any]

BINS = 16  # of the histogram, each sqrt(2) times as long as the one before
QUANTILE = 0.8


def means_plan(dimensions: int, epsilon: float, title: str) -> Plan:
    """Return the plan that asks for features: numbers from -1 to 1."""
    schema = Schema([Numeric(f"x{j}", -1, 1) for j in range(dimensions)])
    return Plan.design(schema, epsilon, title=f"{title}: means")


def private_means(x: Array, epsilon: float, title: str, source: Source, threads: int) -> Array:
    """Return the means of the columns of x, whose entries lie in [-1, 1], as they are learnt from private reports."""
    plan = means_plan(x.shape[1], epsilon, title)
    columns = {f"x{j}": np.ascontiguousarray(x[:, j], dtype=np.float64) for j in range(x.shape[1])}
    found = points(batch._collect_from(source, plan, batch.encode(plan, columns), threads))
    return np.clip(np.nan_to_num(np.array(found)), -1.0, 1.0)


def lengths_plan(epsilon: float, title: str) -> Plan:
    """Return the plan that asks for the bin of a length."""
    return Plan.design(Schema([Categorical("length", list(range(BINS)))]), epsilon, title=f"{title}: lengths")


def length_bins(lengths: Array, bound: float) -> Array:
    """Return the bin of each length: bin i ends at bound * 2^(-(BINS - 1 - i)/2), and the first begins at 0."""
    with np.errstate(divide="ignore"):
        below = np.floor(-2 * np.log2(np.minimum(lengths / bound, 1.0)))
    return np.asarray(BINS - 1 - np.clip(below, 0, BINS - 1), dtype=np.int64)


def private_length(
    lengths: Array, bound: float, epsilon: float, title: str, source: Source, threads: int, quantile: float = QUANTILE
) -> float:
    """Return the end of the bin in which a quantile of the lengths lies, as it is learnt from private reports."""
    plan = lengths_plan(epsilon, title)
    held = batch.encode(plan, {"length": length_bins(lengths, bound)})
    shares = [row.point for row in project(estimate(batch._collect_from(source, plan, held, threads)))]
    place = int(np.searchsorted(np.cumsum(shares), quantile))
    return float(bound * 2 ** (-(BINS - 1 - min(place, BINS - 1)) / 2))
