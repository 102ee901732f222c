"""Private training beside training without privacy. `make bench` runs it; `--full` takes 4 million people.

Every row is one run in turns: hush's logistic regression with its defaults, by one thread, from a matrix of 90 features
to coefficients, which looks at every person once; one pass of scikit-learn's SGD over the same matrix; SGD with its own
defaults, which stops when it thinks it is done; and copying the matrix. Times are processor time, the best of several
turns, and the linear algebra libraries are held to one thread. What counts is the ratio of one private pass to one
pass in the clear: at most 3 is the goal.
"""

from __future__ import annotations

import argparse
import os
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

from functools import partial  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from measure import ROOT, Action, machine, progress, race, write  # noqa: E402
from sklearn.linear_model import SGDClassifier  # noqa: E402

from hush.learn.simulate import LogisticRegression  # noqa: E402

sys.path.append(str(ROOT / "docs"))

import learning_tables  # noqa: E402  # neighbours, not parts of the package
import speed_tables  # noqa: E402

FEATURES = 90
SIZES = (100_000, 1_000_000)
FULL = 4_000_000
EPSILONS = (1.0, 4.0)
Row = dict[str, Any]


def people(n: int) -> tuple[Any, Any]:
    """Return n people: a matrix of float32 in [-1, 1], in rows, and labels by a random direction and noise."""
    generator = np.random.default_rng(1)
    x = generator.random((n, FEATURES), dtype=np.float32)
    x *= 2
    x -= 1
    scores = x @ generator.standard_normal(FEATURES, dtype=np.float32)
    return x, np.where(scores + 3 * generator.standard_normal(n, dtype=np.float32) > 0, 1, -1)


def rows(sizes: tuple[int, ...], repeats: int) -> list[Row]:
    """Measure everything at each size."""
    found = []
    for n in sizes:
        progress(f"{n} people")
        x, y = people(n)
        target = np.zeros_like(x)
        actions: dict[str, Action] = {"copy_ns": lambda x=x, target=target: np.copyto(target, x)}  # type: ignore[misc]
        for epsilon in EPSILONS:
            model = LogisticRegression(epsilon, threads=1, progress=False, random_state=1)
            actions[f"hush {epsilon:g}"] = partial(model.fit, x, y)
        once = SGDClassifier(loss="log_loss", max_iter=1, tol=None, random_state=1)
        actions["pass_ns"] = partial(once.fit, x, y)
        usual = SGDClassifier(loss="log_loss", random_state=1)
        actions["sgd_ns"] = partial(usual.fit, x, y)
        turns = repeats if n < SIZES[-1] else 2 if n < FULL else 1  # long runs vary little
        best = {name: 1e9 * seconds / n for name, seconds in race(actions, turns).items()}
        for epsilon in EPSILONS:
            row = {"n": n, "epsilon": epsilon, "ns": best[f"hush {epsilon:g}"], "sgd_passes": int(usual.n_iter_)}
            found.append(row | {name: best[name] for name in ("copy_ns", "pass_ns", "sgd_ns")})
    return found


def main() -> None:
    """Measure, print the table, and write it to benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help=f"also {FULL} people, in 8 GB of memory")
    parser.add_argument("--keep", action="store_true", help="also write docs/measured/learn.json, for the documents")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    results: dict[str, Any] = {"command": f"python benchmarks/learn.py{' --full' * options.full}", "machine": machine()}
    results["rows"] = rows((*SIZES, FULL) if options.full else SIZES, options.repeats)
    write("learn", results, options.keep)
    print(speed_tables.heading(results), learning_tables.speed(results), sep="\n\n")


if __name__ == "__main__":
    main()
