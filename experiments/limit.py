"""The limit: the least worst variance of any unbiased epsilon-LDP report of one number. `make limit` runs it.

A mechanism gives output y the probability p(y|x), for x in [-1, 1]. It is eps-LDP if m(y) <= p(y|x) <= e^eps m(y)
for some m, unbiased if the mean of y is x, and its worst variance V is the largest of E[y^2|x] - x^2. All this is
linear in p, m and V. By symmetry we may take p(-y|-x) = p(y|x), so inputs x >= 0 suffice.

*Inputs* are n points of [0, 1] with a gap h. Fewer inputs mean fewer constraints, so the least V for them, V(n), is
at most the limit. A mechanism for these inputs serves all others by rounding at random to a neighbour, which adds at
most h^2/4 to the variance, so V(n) + h^2/4 is at least the limit.

*Outputs* are not put on a grid and not bounded, which would restrict the mechanism. At each y the probabilities are
mixtures of patterns: e^eps for some inputs and 1 for the others. A program whose columns are pairs of an output and
a pattern has three rows for each input, and its value is at least V(n). Its dual has multipliers a, b, w for each
input, and is feasible if F(y) = sum over inputs of min(g, e^eps g) >= 0 for *all* real y, where g(y) = w y^2 - b y - a.
F is quadratic between the roots of the g, so its minima are known in closed form: those below zero are the columns to
add, and lowering all a until there are none gives a lower bound of V(n) by weak duality. So every row printed has
a bracket, lower <= limit <= upper: the lower bound trusts floating-point sums alone, not the solver; the upper bound
trusts the solver to meet its constraints to 1e-7. The upper bound is loose by most of h^2/4: the bracket is narrower
than 0.4 % up to eps = 5, then 0.6, 1.2 and 1.9 % at 6, 7 and 8, where the limit rests on extrapolation.

V(n) grows like limit - c h^2. "limit" is the extrapolation from the two finest n; "change" compares it with that from
the two before. `plain`, the program with inputs and outputs on grids, is an independent check.
"""

from __future__ import annotations

import argparse
import json
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from hush.core.design.numeric import duchi, hybrid, piecewise

INPUTS = {  # the numbers of inputs in [0, 1], for each epsilon: narrow windows need fine inputs
    "0.1": (6, 11, 21),
    "0.25": (6, 11, 21),
    "0.5": (6, 11, 21),
    "1": (6, 11, 21),
    "1.5": (6, 11, 21),
    "2": (6, 11, 21),
    "3": (11, 16, 26),
    "4": (11, 21, 31),
    "5": (16, 26, 36),
    "6": (21, 31, 41),
    "7": (21, 31, 41),
    "8": (26, 36, 46),
}
QUICK = (6, 11)
GAP = 3e-5  # the relative gap between primal and dual at which a program counts as solved
ROUNDS = 80
PLAIN = (11, 120)  # inputs in [0, 1] and outputs of the independent check
FILE = Path(__file__).parent / "results" / "limit.json"

Array = NDArray[np.float64]


class Solved(NamedTuple):
    """V(n) lies between `low` and `high`."""

    low: float
    high: float
    outputs: int
    reach: float
    rounds: int
    status: str


def minima(dual: Array, e: float) -> tuple[Array, Array, Array]:
    """Return the minimisers y >= 0 of F between the roots, F there, and the patterns of inputs x, then of -x."""
    a, b, w = np.hstack([dual, dual * [[1.0], [-1.0], [1.0]]])
    square = b * b + 4 * a * w
    stable = (b + np.copysign(np.sqrt(np.maximum(square, 0)), b)) / 2
    with np.errstate(all="ignore"):
        roots = np.concatenate([stable / w, -a / stable])[np.tile(square > 0, 2)]
    edges = np.concatenate([[0.0], np.unique(roots[np.isfinite(roots) & (roots > 0)])])
    inner = np.append((edges[1:] + edges[:-1]) / 2, edges[-1] + 1)[:, None]
    patterns = np.where((w * inner - b) * inner - a < 0, e, 1.0)
    second, first, none = patterns @ w, patterns @ b, patterns @ a
    y = np.clip(first / (2 * second), edges, np.append(edges[1:], np.inf))
    return y, (second * y - first) * y - none, patterns


def certified(dual: Array, e: float, x: Array) -> float:
    """Return a lower bound of V(n): the value of these multipliers, once all a are lowered until F >= 0."""
    shift = np.array([[1.0], [0.0], [0.0]])
    value = float((dual * [np.ones_like(x), x, -x * x]).sum())
    worst = float(minima(dual, e)[1].min())
    if worst >= 0:
        return value
    high = -worst / len(x)  # enough: each of the 2n terms of F grows by at least this
    low = high * 1e-8
    while high > 1.01 * low and high * len(x) > 1e-7 * abs(value):
        middle = (low * high) ** 0.5
        if minima(dual - middle * shift, e)[1].min() >= 0:
            high = middle
        else:
            low = middle
    return value - high * len(x)


def first_columns(x: Array, e: float) -> tuple[Array, Array]:
    """Return columns to begin with: those of Duchi et al., then windows of many widths around many outputs."""
    both = np.concatenate([x, -x])
    far = (e + 1) / (e - 1)
    steps = np.unique(both)
    y, width = (
        grid.ravel() for grid in np.meshgrid(np.linspace(0, 1.3 * far, 80), np.geomspace(x[1] / 2, far + 1, 24))
    )
    patterns = [both > (steps[1:, None] + steps[:-1, None]) / 2, abs(both - y[:, None]) < width[:, None]]
    return np.concatenate([np.full(len(steps) - 1, far), y]), np.where(np.vstack(patterns), e, 1.0)


def solve(epsilon: float, n: int) -> Solved:
    """Bracket V(n) by generating columns; new ones are priced at the multipliers and nearer to the best so far."""
    e, x = float(np.exp(epsilon)), np.linspace(0, 1, n)
    y, patterns = first_columns(x, e)
    best, low = np.zeros((3, n)), -np.inf
    rounds = 0
    while True:
        rounds += 1
        up, down = patterns[:, :n].T, patterns[:, n:].T
        free = np.zeros((2 * n, 1))
        program: Any = linprog(
            np.append(np.zeros(len(y)), 1.0),
            A_eq=np.hstack([np.vstack([up + down, (up - down) * y]), free]),
            b_eq=np.concatenate([np.ones(n), x]),
            A_ub=np.hstack([(up + down) * y**2, -np.ones((n, 1))]),
            b_ub=x * x,
            method="highs-ds",
        )
        if program.status != 0:
            raise RuntimeError(program.message)
        w = np.maximum(-program.ineqlin.marginals, 0)
        dual = np.vstack([program.eqlin.marginals.reshape(2, n), w / w.sum()])
        new = [(y, patterns)]
        for step in (1.0, 0.4, 0.2, 0.1, 0.05):
            trial = dual if not np.isfinite(low) else step * dual + (1 - step) * best
            value = certified(trial, e, x)
            at, f, found = minima(trial, e)
            good = f < (1e-3 * program.fun if step < 1 else 0)
            new.append((at[good], found[good]))
            if value > low:
                best, low = trial, value
        used = program.x[:-1] > 1e-12
        done = program.fun - low < GAP * program.fun
        if done or rounds == ROUNDS:
            break
        if len(y) > 20 * n:  # forget the columns that are far from being useful
            a, b, w = best
            cost = y**2 * (w @ (up + down)) - y * (b @ (up - down)) - a @ (up + down)
            keep = used | (cost < np.quantile(cost, 0.4))
            new[0] = (y[keep], patterns[keep])
        y, patterns = (np.concatenate(part) for part in zip(*new, strict=True))
        _, index = np.unique(np.column_stack([y.round(9), patterns]), axis=0, return_index=True)
        y, patterns = y[index], patterns[index]
    status = "optimal" if done else "gap"
    return Solved(low, float(program.fun), 2 * int(used.sum()), float(y[used].max()), rounds, status)


def plain(epsilon: float, n: int, outputs: int) -> float:
    """Return the least worst variance for n inputs in [0, 1] and outputs on a grid, without any of the above."""
    e, x, half = float(np.exp(epsilon)), np.linspace(0, 1, n), outputs // 2
    y = (np.arange(half) + 0.5) / half * 1.5 * (e + 1) / (e - 1)
    y = np.concatenate([-y, y])
    mirror = sparse.vstack([sparse.eye(half)] * 2)  # m(y) = m(-y)

    def rows(weight: Array, value: float) -> Any:
        """Return the sums of weight(y) p(y|x), for each x, with p = m + q, and a column for V."""
        shared = np.tile(mirror.T @ weight, (n, 1))
        return sparse.hstack([sparse.kron(sparse.eye(n), weight[None]), shared, np.full((n, 1), value)])

    private = sparse.hstack(  # q <= (e^eps - 1) m
        [sparse.eye(n * len(y)), -(e - 1) * sparse.vstack([mirror] * n), sparse.csr_matrix((n * len(y), 1))]
    )
    program: Any = linprog(
        np.append(np.zeros(n * len(y) + half), 1.0),
        A_eq=sparse.vstack([rows(np.ones(len(y)), 0), rows(y, 0)]).tocsr(),
        b_eq=np.concatenate([np.ones(n), x]),
        A_ub=sparse.vstack([private, rows(y * y, -1)]).tocsr(),
        b_ub=np.concatenate([np.zeros(n * len(y)), x * x]),
        method="highs-ds",
    )
    if program.status != 0:
        raise RuntimeError(program.message)
    return float(program.fun)


def extrapolate(coarse: tuple[int, float], fine: tuple[int, float]) -> float:
    """Return the limit of V(n) = limit - c h^2 through two values."""
    (n, v), (m, u) = coarse, fine
    ratio = ((m - 1) / (n - 1)) ** 2
    return (ratio * u - v) / (ratio - 1)


def row(name: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Compute all there is to say about one epsilon."""
    epsilon = float(name)
    solved = [solve(epsilon, n) for n in sizes]
    middles = [(n, (s.low + s.high) / 2) for n, s in zip(sizes, solved, strict=True)]
    limits = [extrapolate(*pair) for pair in pairwise(middles)]
    limit, last = limits[-1], solved[-1]
    result: dict[str, Any] = {
        "eps": epsilon,
        "limit": limit,
        "lower": max(s.low for s in solved),
        "upper": min(s.high + 0.25 / (n - 1) ** 2 for n, s in zip(sizes, solved, strict=True)),
        "change": abs(limit / limits[-2] - 1) if len(limits) > 1 else None,
        "inputs": [2 * n - 1 for n in sizes],
        "values": [value for _, value in middles],
        "gaps": [(s.high - s.low) / s.high for s in solved],
        "outputs": [s.outputs for s in solved],
        "largest_output": last.reach,
        "rounds": [s.rounds for s in solved],
        "status": "optimal" if all(s.status == "optimal" for s in solved) else "gap",
        "plain": {"inputs": 2 * PLAIN[0] - 1, "outputs": PLAIN[1], "value": plain(epsilon, *PLAIN)},
    }
    for mechanism, make in (("duchi", duchi), ("piecewise", piecewise), ("hybrid", hybrid)):
        result[mechanism] = float(make(Fraction(name)).worst_variance)
    return result


def told(name: str, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Compute a row, and print it."""
    start = time.monotonic()
    result = row(name, sizes)
    values = " ".join(f"{value:.6g}" for value in result["values"])
    print(
        f"eps {name}: inputs {result['inputs']} give {values}; limit {result['limit']:.5g} in "
        f"[{result['lower']:.5g}, {result['upper']:.5g}], {result['status']}, {time.monotonic() - start:.0f} s",
        flush=True,
    )
    return result


def table(results: list[dict[str, Any]]) -> str:
    """Return the limits beside the mechanisms of the paper, with ratios to the limit."""
    lines = ["| eps | limit | change | Duchi | PM | HM | Duchi/limit | PM/limit | HM/limit |", "|---" * 9 + "|"]
    for r in results:
        change = "" if r["change"] is None else f"{r['change']:.2%}"
        variances = [r[name] for name in ("duchi", "piecewise", "hybrid")]
        cells = [f"{v:.5g}" for v in variances] + [f"{v / r['limit']:.3f}" for v in variances]
        lines.append(f"| {r['eps']:g} | {r['limit']:.5g} | {change} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Compute, print, and write the results; a quick run is coarse and writes nothing."""
    parser = argparse.ArgumentParser(description="The limit of unbiased eps-LDP mechanisms of one number in [-1, 1].")
    parser.add_argument("--quick", action="store_true", help="coarse grids; writes nothing")
    quick = parser.parse_args().quick
    results = [told(name, QUICK if quick else sizes) for name, sizes in INPUTS.items()]
    print(table(results))
    if not quick:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
