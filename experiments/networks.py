"""A network trained by private gradients, beside a linear model: `python -m experiments.networks [--keep]`, minutes.

Made-up people: 20 numbers, evenly spread. The class follows a line, and products of pairs of numbers, which only a
network can learn. The network has 8 hidden units (tanh), 177 weights. Each person is in one round, and reports the
gradient of all weights by hush's channel, clipped to the mean length at the start. **The reports are not drawn one by
one**: the mean gradient of a round gets normal noise with the exact variance of the channel (R^2 c/b for b people),
which is what a sum of thousands of reports looks like. Steps and rounds are the best of a few, chosen on the test set,
and the clipping length is taken in the clear: both favour the network. The private linear model is `hush.learn`'s, with
its rules alone.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression as Clear

from hush.core.design.directions import noise_of, people_needed
from hush.learn.simulate import LogisticRegression

Array = np.ndarray[Any, Any]

KEPT = Path(__file__).parent.parent / "docs" / "measured" / "networks.json"
FEATURES, HIDDEN = 20, 8
WEIGHTS = (FEATURES + 1) * HIDDEN + HIDDEN + 1
PEOPLE, FRESH = 400_000, 50_000
EPSILONS = (1.0, 2.0, 4.0, 8.0)
STEPS, ROUNDS = (0.5, 2.0, 8.0), (20, 80)
SIZES = (21, 100, WEIGHTS, 500, 1_000)


def people(n: int, seed: int) -> tuple[Array, Array]:
    """Return features and classes: a line and four products decide, with noise."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (n, FEATURES)).astype(np.float32)
    line = x @ np.linspace(-1, 1, FEATURES)
    products = sum(3.0 * x[:, 2 * j] * x[:, 2 * j + 1] for j in range(4))
    return x, np.where(line + products + generator.logistic(size=n) * 0.3 > 0, 1.0, -1.0).astype(np.float32)


def outputs(w: Array, x: Array) -> tuple[Array, Array]:
    """Return the scores of a network and the values of its hidden units."""
    first, second = w[: (FEATURES + 1) * HIDDEN].reshape(FEATURES + 1, HIDDEN), w[(FEATURES + 1) * HIDDEN :]
    hidden = np.tanh(x @ first[:-1] + first[-1])
    return hidden @ second[:-1] + second[-1], hidden


def gradients(w: Array, x: Array, y: Array) -> Array:
    """Return the gradient of each person's logistic loss."""
    scores, hidden = outputs(w, x)
    slope = -y / (1 + np.exp(np.clip(y * scores, -60, 60)))
    second = w[(FEATURES + 1) * HIDDEN :]
    back = slope[:, None] * second[:-1] * (1 - hidden**2)
    inner = np.concatenate([x, np.ones((len(x), 1), dtype=np.float32)], axis=1)[:, :, None] * back[:, None, :]
    return np.concatenate([inner.reshape(len(x), -1), slope[:, None] * hidden, slope[:, None]], axis=1)


def network(x: Array, y: Array, epsilon: float | None, step: float, rounds: int) -> Array:
    """Train once through all people; with an epsilon, by clipped gradients with the noise of the channel."""
    generator = np.random.default_rng(1)
    w = generator.normal(0, 0.5, WEIGHTS)
    radius = float(np.linalg.norm(gradients(w, x[:2000], y[:2000]), axis=1).mean())
    noise = 0.0 if epsilon is None else noise_of(epsilon, WEIGHTS)
    total, average = 0, np.zeros(WEIGHTS)
    for number in range(1, rounds + 1):
        start, end = len(x) * (number - 1) // rounds, len(x) * number // rounds
        mean = np.zeros(WEIGHTS)
        for begin in range(start, end, 5000):
            found = gradients(w, x[begin : min(begin + 5000, end)], y[begin : min(begin + 5000, end)])
            if epsilon is not None:
                found = found * np.minimum(1.0, radius / np.linalg.norm(found, axis=1, keepdims=True))
            mean += found.sum(axis=0) / (end - start)
        w = w - step * (mean + generator.normal(0, radius * np.sqrt(noise / (end - start)), WEIGHTS))
        total += number
        average += number * w
    return average / total if epsilon is not None else w


def results() -> dict[str, Any]:
    """Return the errors of all models, and the people that the rule asks for."""
    x, y = people(PEOPLE, 1)
    fresh, truth = people(FRESH, 2)

    def wrong(w: Array) -> float:
        return float(np.mean((outputs(w, fresh)[0] > 0) != (truth > 0)))

    rows: list[dict[str, Any]] = []
    clear = Clear().fit(x, y)
    rows.append({"epsilon": None, "linear": 1 - float(clear.score(fresh, truth))})
    rows[-1]["network"] = min(wrong(network(x, y, None, step, rounds)) for step in (1.0, 4.0) for rounds in (400, 1600))
    for epsilon in EPSILONS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LogisticRegression(epsilon, random_state=1, progress=False).fit(x, y)
        tried = [wrong(network(x, y, epsilon, step, rounds)) for step in STEPS for rounds in ROUNDS]
        rows.append({"epsilon": epsilon, "linear": 1 - float(model.score(fresh, truth)), "network": min(tried)})
        print(rows[-1], flush=True)
    needed = [{"weights": d, "people": [people_needed(epsilon, d) for epsilon in EPSILONS]} for d in SIZES]
    settings = {"people": PEOPLE, "features": FEATURES, "weights": WEIGHTS, "epsilons": list(EPSILONS)}
    return {"command": "python -m experiments.networks", "settings": settings, "rows": rows, "needed": needed}


def main() -> None:
    """Measure, and print or keep the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="write docs/measured/networks.json, for the documents")
    options = parser.parse_args()
    text = json.dumps(results(), indent=1)
    print(text)
    if options.keep:
        KEPT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
