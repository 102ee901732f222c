"""Rules for the number of rounds, the steps and the clipping, from public knowledge, before anybody is asked.

**Noise.** The mean gradient of n people by the vector channel has, in each coordinate, a standard error of about
sqrt(pi/2) * sigma * R/sqrt(n), where sigma^2 = B^2/k is the variance of the cube channel per reported sign and R the
radius.

**Total path.** A descent of T steps of size s accumulates the noise of all its people: s*T times the standard error
above, in each coordinate. Features of length q turn that into an error of the score of s*T * sqrt(pi/2) * sigma * R *
q/sqrt(n). R is about a slope times q, and a slope is about the curvature times the necessary change of a score. An
error of that size drowns the model, so s*T is limited to PATH * sqrt(n)/(sigma * curvature * q^2). This is early
stopping: a direction of the weights that is not learnt within this path cannot be distinguished from noise with n
people.

**Rounds.** The paper's rule: a group has of order d log d / epsilon^2 people (GROUP times that here; large epsilons
count as 2 at most, because the noise then stops falling like 1/epsilon), between MIN_ROUNDS and MAX_ROUNDS groups.
There are more rounds if the path needs them.

**Steps.** Gradient descent is stable for steps below 2/L. L is at most the curvature of the loss times the largest
mean square of a projection of the features. Only the sum of these mean squares over all directions is known, q^2.
Centred and scaled features have no direction with more than a few times the share of one feature, so the largest step
is max(1, min(8, q^2/4)) / (curvature * q^2).

**Radius.** A gradient is clipped to the median length at the start, times 0.7 where slopes are bounded: the loss by
clipping is less than the cost of the noise, which is in proportion to R.

PATH, GROUP, these shares and the largest step were chosen once, by trying them on census data of 30,000 to
3 million people at epsilon 0.5 to 4 (`experiments/learning.py` repeats the comparison with them fixed).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hush.core.design.joint import cube
from hush.core.training.rotations import padded

PATH = 0.6
GROUP = 40
MIN_ROUNDS, MAX_ROUNDS = 10, 200
LONGEST = 8.0


@dataclass(frozen=True)
class Schedule:
    """Rounds and the constant size of a step."""

    rounds: int
    step: float


def rounds_for(people: int, dimensions: int, epsilon: float) -> int:
    """Return the number of groups for this number of people: |G| is of order d log d / epsilon^2."""
    size = GROUP * max(dimensions, 2) * math.log(max(dimensions, 2)) / min(epsilon, 2.0) ** 2
    return max(1, min(people, MAX_ROUNDS, max(MIN_ROUNDS, round(people / size))))


def sigma_of(epsilon: float, dimensions: int) -> float:
    """Return the noise of one person's vector report: B/sqrt(k) of the cube channel."""
    channel = cube(Fraction(repr(float(epsilon))), padded(dimensions))
    return float(channel.bound) / math.sqrt(channel.sample)


def schedule(people: int, dimensions: int, epsilon: float, *, curvature: float, length: float) -> Schedule:
    """Return the rounds and the step for the vector channel. `length` is the typical length of a person's features."""
    unit = 1 / (curvature * length**2)
    path = unit * PATH * math.sqrt(max(people, 1)) / sigma_of(epsilon, dimensions)
    longest = unit * max(1.0, min(LONGEST, length**2 / 4))
    rounds = max(rounds_for(people, dimensions, epsilon), min(MAX_ROUNDS, math.ceil(path / longest)))
    rounds = max(1, min(people, rounds))
    return Schedule(rounds, min(longest, path / rounds))


def theorem_step(dimensions: int, group: float, epsilon: float) -> float:
    """Return c of the theorem that Wang et al. left in their source: steps are c/sqrt(t), and weights lie in [-1, 1].

    c = 2 sqrt(d/M), M = d^2/|G| * ((e^eps + 1)/(e^eps - 1))^2 + d (|G| - 1)/|G|.
    """
    ratio = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    m = dimensions**2 / group * ratio**2 + dimensions * (group - 1) / group
    return 2 * math.sqrt(dimensions / m)


def selection_threshold(dimensions: int, people: float, epsilon: float) -> float:
    """Return tau of Wang et al.: sqrt(d log d)/(epsilon * sqrt(people)), for the people of the n1 groups together."""
    return math.sqrt(dimensions * math.log(max(dimensions, 2)) / people) / epsilon
