"""Linear regression in one round: private means of products, and a linear system.

The squared loss needs only A = E[x x^T] and b = E[x y]. Their entries are numbers in [-1, 1]; each person reports a few
of them, as of any record. With an intercept, x ends with a 1, whose square nobody is asked about. The weights solve
(2A + lambda) w = 2b. Noise may make A indefinite, so its eigenvalues are raised to at least the size of the noise.

There is no second round and no step to choose, but the number of products grows like d^2, and the noise with it. So
this method wins for few dimensions, and gradients for many. `expected_noise` compares both by the variance of the
gradient 2(A w - b) at the solution, which decides the error of the weights.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hush import batch, design
from hush.batch.columns import Encoded
from hush.batch.keystream import Source
from hush.core.design.directions import noise_of
from hush.core.plan import Plan
from hush.core.schema import MAX_ATTRIBUTES, Numeric, Schema
from hush.core.training.training import Training
from hush.server.estimates import points

Array = np.ndarray[Any, Any]

MAX_WIDTH = 40
SPREAD = 0.1  # the mean square of features in a direction that still matters
ROUNDS_LOST = 2.0  # the average of the second half of the rounds has seen half of the people


def product_count(width: int, intercept: bool) -> int:
    """Return the number of products."""
    return width * (width + 1) // 2 + width - intercept


def products_plan(training: Training) -> Plan:
    """Return the plan whose records are the products of one person's features and target."""
    count = product_count(training.width, training.intercept)
    schema = Schema([Numeric(f"p{i}", -1, 1) for i in range(count)])
    return design(schema, training.epsilon, title=f"{training.family}products")


def products(x: Array, y: Array, intercept: bool) -> list[Array]:
    """Return the products of each person, as columns: x_i y for all i, then x_i x_j for i <= j, except 1*1."""
    columns = x.T.astype(np.float64)
    upper = list(zip(*np.triu_indices(len(columns)), strict=True))[: -1 if intercept else None]
    found = [column * y for column in columns] + [columns[i] * columns[j] for i, j in upper]
    return [np.clip(column, -1.0, 1.0) for column in found]


def solve(means: Array, training: Training, noise: float) -> Array:
    """Return the weights from the means of the products; `noise` is their standard error."""
    width = training.width
    b = means[:width]
    entries = means[width:]
    if training.intercept:
        entries = np.append(entries, 1.0)
    a = np.zeros((width, width))
    a[np.triu_indices(width)] = entries
    a = a + np.triu(a, 1).T
    values, vectors = np.linalg.eigh(a)
    values = np.maximum(values, noise * math.sqrt(width))
    return np.asarray(vectors @ ((vectors.T @ b) / (values + training.penalty / 2)))


def fit(training: Training, x: Array, y: Array, source: Source, threads: int) -> Array:
    """Return the weights learnt from one private report of each person."""
    plan = products_plan(training)
    held = Encoded.of(plan.schema, products(x, y, training.intercept))
    found = np.nan_to_num(np.array(points(batch._collect_from(source, plan, held, threads))))  # noqa: SLF001 - no public function takes words
    return solve(found, training, math.sqrt(entry_variance(plan) / max(len(x), 1)))


def entry_variance(plan: Plan) -> float:
    """Return the worst variance of one estimated mean, times the number of people."""
    return float(plan.questions[0].channel.worst_variance / plan.inclusions[0])


def expected_noise(training: Training, people: float = math.inf) -> dict[str, float]:
    """Return the variance of the gradient at the solution for both methods, summed over coordinates, times the people.

    For products: each of the sums over noisy entries has 4 v (1 + 1), if the weights have length 1. For gradients by
    the vector channel: c R^2 in each coordinate, and half of the people.

    Products have a second term, because the noise E of the matrix A is inverted with it: (A + E)^-1 = A^-1 - A^-1 E
    A^-1 + ..., and |E|^2 is about width * v/people. Relative to the first term, the second is that divided by the
    square of the mean square of the features in a direction, taken to be SPREAD. Without it, statistics were preferred
    for too many dimensions when there were few people.
    """
    width = training.width
    gradients = ROUNDS_LOST * noise_of(training.epsilon, width) * training.radius**2 * width
    if width > MAX_WIDTH or product_count(width, training.intercept) > MAX_ATTRIBUTES:
        return {"statistics": math.inf, "gradients": gradients}
    variance = entry_variance(products_plan(training))
    inverted = 1 + width * variance / people / SPREAD**2
    return {"statistics": 8 * width * variance * inverted, "gradients": gradients}
