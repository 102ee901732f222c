"""The limit of every private training of a logistic model, by Fisher information.

**One report.** A person has features z (a constant among them) and a class y in {0, 1}, which is 1 with the chance
p = 1/(1 + exp(-<w, z>)). The score is S = (y - p) z, with mean 0 and covariance H, the information that one person has
about the weights w. Take coordinates in which H is the identity: S = H^-1/2 (y - p) z. A report o has the chance
q_o(z, y), and q_o(a) <= e^epsilon q_o(b) for all people a and b. Its information about w is

    I = sum over o of E[S q_o] E[S q_o]^T / E[q_o].

Each q_o is a mixture of functions c (1 + (e^epsilon - 1) 1_A), for sets A of people. |E[S q]|^2 / E[q] is convex and
homogeneous in q, E[S] = 0, and the E[q_o] add up to 1. So

    trace I <= B = max over A of ((e^epsilon - 1) |E[S; A]| / (1 + (e^epsilon - 1) P(A)))^2.

**The best set.** Call the fraction the gain of A, and t its largest value. If v is the direction of E[S; A] for the
best A, then (e^epsilon - 1) E[<v, S> - t; A] = t, and no set has more, so A = {<v, S> > t}. `climb` takes turns: first
the best t for v, a fixed point, then the direction of E[S; A] as the next v. The gain never falls. It ends at a maximum
that may not be the highest, so `search` is a lower estimate of B; its three kinds of starts check each other.

`certain` is an upper estimate for all people there can be: <v, S> has variance 1, so E[<v, S>; A]^2 is at most
P(A) (1 - P(A)), and B <= (e^epsilon - 1)^2 / (4 e^epsilon). No report has more information than the person: B <= d.

**Many reports.** The information of n people adds up, also if each channel is chosen after the reports before it (one
report each), so its trace is at most n B. With d weights the sum of their variances is at least the trace of the
inverse, which is at least d^2/(n B); equal parts reach it. By van Trees' inequality (the local asymptotic minimax
bound) no private protocol has a smaller mean square for all weights near w than noise of covariance d/(n B) H^-1.

**What it does not say.** A protocol that knows something about w beforehand can be better: one that stops early expects
small weights. Equal parts are best for the logistic loss; for misclassified people other parts may be slightly better.
Classes of real people do not follow a logistic model: the limit is that of the model that fits them best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
PEOPLE, FEW, RANDOM, BEST = 50_000, 5_000, 48, 4
ROUNDS, LEVELS, CLOSE = 200, 20, 1e-4


def climb(scores: Array, chances: Array, epsilon: float, starts: Array) -> tuple[Array, Array]:
    """Return the squared gains of the sets that columns of starts lead to, and the directions of their mean scores.

    Scores have a row for each kind of person, mean 0 and the identity as covariance; chances are those of the kinds.
    """
    more = math.expm1(epsilon)
    gains, moving = np.zeros(starts.shape[1]), np.arange(starts.shape[1])
    directions = starts / np.maximum(np.linalg.norm(starts, axis=0), 1e-300)
    for turn in range(ROUNDS):
        along = scores @ directions[:, moving]
        level = gains[moving]
        for _ in range(2 if turn else LEVELS):  # later ones begin near the best level for their direction
            sets = (along > level) * chances[:, None]
            shares = sets.sum(0)
            before, level = level, more * np.einsum("ij,ij->j", along, sets) / (1 + more * shares)
            if np.all(level <= before * (1 + CLOSE)):
                break
        sums = scores.T @ sets
        lengths = np.linalg.norm(sums, axis=0)
        found = more * lengths / (1 + more * shares)
        better = found > gains[moving] * (1 + CLOSE)
        moving = moving[better]
        if not len(moving):
            break
        gains[moving], directions[:, moving] = found[better], sums[:, better] / lengths[better]
    return np.square(gains), directions


def certain(epsilon: float, d: int) -> float:
    """Return a trace that the information of no private report about d weights exceeds, for all people there can be."""
    return min(math.sinh(epsilon / 2) ** 2, float(d))


@dataclass(frozen=True)
class Model:
    """A logistic model with its people: their features, and the chances of the second class.

    `root` leads from coordinates in which the information of a person is the identity to the weights.
    """

    features: Array
    chances: Array
    root: Array

    @classmethod
    def of(cls, features: Array, chances: Array) -> Model:
        """Return the model of people with these features; combinations of features without any information are out."""
        spread = chances * (1 - chances)
        values, vectors = np.linalg.eigh((features * spread[:, None]).T @ features / len(features))
        useful = values > 1e-12 * values[-1]
        return cls(features, chances, vectors[:, useful] / np.sqrt(values[useful]))

    @property
    def d(self) -> int:
        """The number of weights that people have information about."""
        return int(self.root.shape[1])

    def scores(self, people: int | None = None) -> tuple[Array, Array]:
        """Return the scores of the first people with class 1 and then with class 0, and the chances of these."""
        features, p = self.features[:people] @ self.root, self.chances[:people]
        rows = np.concatenate([features * (1 - p)[:, None], features * -p[:, None]])
        return rows, np.concatenate([p, 1 - p]) / len(p)

    def starts(self) -> dict[str, Array]:
        """Return directions to start from: the weights and the share of classes, coordinates, and random ones."""
        inside = np.clip(self.chances, 1e-15, 1 - 1e-15)
        spread, logits = self.chances * (1 - self.chances), np.log(inside / (1 - inside))
        parts = [self.root.T @ (self.features.T @ (spread * part)) for part in (logits, np.ones_like(logits))]
        weights, share = (part / max(float(np.linalg.norm(part)), 1e-300) for part in parts)
        known = np.stack([weights, share, weights + share, weights - share], axis=1)
        identity = np.eye(self.d)
        return {
            "known": np.concatenate([known, -known], axis=1),
            "coordinates": np.concatenate([identity, -identity], axis=1),
            "random": np.random.default_rng(2019).normal(0, 1, (self.d, RANDOM)),
        }

    def search(self, epsilon: float) -> dict[str, float]:
        """Return lower estimates of B, by the kind of starts; these climb with few people, and the best go on with all.

        No estimate exceeds the information of the person.
        """
        few, everybody = self.scores(FEW), self.scores()
        found = {}
        for kind, starts in self.starts().items():
            squares, directions = climb(*few, epsilon, starts)
            best = directions[:, np.argsort(squares)[-BEST:]]
            found[kind] = min(float(climb(*everybody, epsilon, best)[0].max()), float(self.d))
        return found

    def noise(self, information: float, people: int, generator: np.random.Generator) -> Array:
        """Return what the weights are off by, if so many people give so much information each, in equal parts."""
        return self.root @ generator.normal(0, math.sqrt(self.d / (people * information)), self.d)
