"""Linear regression in one round: private means of products, and a linear system.

The squared loss needs only A = E[x x^T] and b = E[x y]: d(d+1)/2 + d numbers in [-1, 1], of which each person reports a few,
as of any record. The weights solve (2A + lambda) w = 2b. Noise may make A indefinite, so its eigenvalues are raised to
the size of the noise at least.

There is no second round and no step to choose, but the number of products grows like d^2, and the noise with it: this wins
for few dimensions, gradients for many. `expected_noise` compares both by what decides the error of the weights, the noise of
the gradient A w - b at the solution, per person.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from hush import batch
from hush.batch.keystream import Source
from hush.design.joint import cube, person_variance
from hush.estimates import points
from hush.learn.rotations import kappa, padded
from hush.plan import Plan
from hush.schema import MAX_ATTRIBUTES, Numeric, Schema

Array = np.ndarray[Any, Any]


def product_count(dimensions: int) -> int:
    """Return how many products there are."""
    return dimensions * (dimensions + 1) // 2 + dimensions


def products_plan(dimensions: int, epsilon: float, title: str) -> Plan:
    """Return the plan whose records are the products of one person's features and target."""
    schema = Schema([Numeric(f"p{i}", -1, 1) for i in range(product_count(dimensions))])
    return Plan.design(schema, epsilon, title=f"{title}: products")


def products(x: Array, y: Array) -> Array:
    """Return the products of each person, as columns: x_i x_j for i <= j, then x_i y."""
    upper = np.triu_indices(x.shape[1])
    return np.concatenate([x.T[upper[0]] * x.T[upper[1]], x.T * y])


def solve(means: Array, dimensions: int, penalty: float, noise: float) -> Array:
    """Return the weights from the means of the products; `noise` is their standard error."""
    upper = np.triu_indices(dimensions)
    a = np.zeros((dimensions, dimensions))
    a[upper] = means[: len(upper[0])]
    a = a + np.triu(a, 1).T
    b = means[len(upper[0]) :]
    values, vectors = np.linalg.eigh(a)
    values = np.maximum(values, noise * math.sqrt(dimensions))
    return np.asarray(vectors @ ((vectors.T @ b) / (values + penalty / 2)))


def fit(x: Array, y: Array, epsilon: float, penalty: float, title: str, source: Source, threads: int) -> Array:
    """Return the weights learnt from one private report of each person."""
    dimensions = x.shape[1]
    plan = products_plan(dimensions, epsilon, title)
    columns = {f"p{i}": column for i, column in enumerate(np.clip(products(x, y), -1.0, 1.0).astype(np.float64))}
    found = np.nan_to_num(np.array(points(batch._collect_from(source, plan, batch.encode(plan, columns), threads))))
    return solve(found, dimensions, penalty, math.sqrt(_entry_noise(plan) / max(len(x), 1)))


def _entry_noise(plan: Plan) -> float:
    """Return the variance of one estimated mean, times the number of people."""
    return float(plan.questions[0].channel.worst_variance / plan.inclusions[0])


def expected_noise(dimensions: int, epsilon: float, radius: float) -> dict[str, float]:
    """Return, for both ways, the variance of the gradient at the solution, times the number of people.

    For products: each of the d sums of d + 1 noisy entries, with weights taken to have length 1. For gradients: that of
    the vector channel, twice, as the average of the second half of the rounds has seen half of the people.
    """
    size = padded(dimensions)
    channel = cube(Fraction(repr(float(epsilon))), size)
    vector = 2 * (radius / kappa(size)) ** 2 * float(person_variance(channel)) * dimensions
    if product_count(dimensions) > MAX_ATTRIBUTES:
        return {"products": math.inf, "gradients": vector}
    return {"products": 8 * dimensions * _entry_noise(products_plan(dimensions, epsilon, "")), "gradients": vector}
