"""How many rounds, how long the steps, how short the gradients: from what is public, before anybody is asked.

**Rounds.** The noise of a mean gradient has a length of order sqrt(d log d / |G|)/epsilon, so a group must have of order
d log d / epsilon^2 people before its mean says anything (Wang et al., ICDE 2019). The rule takes GROUP times that, and between
MIN_ROUNDS and MAX_ROUNDS rounds: fewer do not converge, more gain nothing. Large epsilons count as 2 at most, because
the noise then stops falling like 1/epsilon.

**Steps.** Gradient descent is stable for steps below 2/L, where L, the largest curvature, is at most that of the loss times
the largest mean square of a projection of the features. That is unknown, but a fraction of the mean squared length q^2 of
the features; the rule takes 2/(curvature * q^2), constant, and averages the second half of the rounds.

**Lengths.** At the start, with weights of 0, every logistic slope is 1/2 and every hinge slope 1, so gradients are that
times the features: their typical length q, from a public bound or a private pilot, gives the radius. Later gradients are
mostly shorter; those that are longer are clipped.
"""

from __future__ import annotations

import math

GROUP = 40
MIN_ROUNDS, MAX_ROUNDS = 10, 200


def rounds_for(people: int, dimensions: int, epsilon: float) -> int:
    """Return how many rounds so many people are divided into."""
    size = GROUP * max(dimensions, 2) * math.log(max(dimensions, 2)) / min(epsilon, 2.0) ** 2
    return max(1, min(people, MAX_ROUNDS, max(MIN_ROUNDS, round(people / size))))


def step_for(curvature: float, length: float) -> float:
    """Return the constant step for features of this typical length."""
    return 2.0 / (curvature * length**2)


def theorem_step(dimensions: int, group: float, epsilon: float) -> float:
    """Return the step c of the theorem that Wang et al. left in their source, for steps c/sqrt(t) and weights in [-1, 1].

    c = 2 sqrt(d/M), M = d^2/|G| * ((e^eps + 1)/(e^eps - 1))^2 + d (|G| - 1)/|G|.
    """
    ratio = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    m = dimensions**2 / group * ratio**2 + dimensions * (group - 1) / group
    return 2 * math.sqrt(dimensions / m)
