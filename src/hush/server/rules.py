"""Rules for the number of rounds, the steps and the clipping, from public knowledge and the pilot alone.

**Noise.** The mean gradient of n people by the vector channel has a standard error of R * sqrt(c/n) in each coordinate,
where R is the radius and c the noise of the channel (`hush.core.training.directions`).

**Radius.** A gradient is a slope times a vector of features. The pilot predicts the mean square length L^2 of that
vector. Gradients are clipped to R = 0.7 * slope * L, with the slope at the start: what clipping loses is less than the
cost of the noise, which is in proportion to R.

**Path.** The sum of all steps, times the curvature of the loss, is the path P: along it, a direction of the features
with variance 1 comes within e^-P of its best weight. The noise of all people adds up along the path too, to P * R/
curvature * sqrt(c/n) in each coordinate of the weights; R/curvature is the size of a typical change of the score. So
P = PATH * sqrt(n/c)/(0.7 L): with more people, or less noise, the path is longer. This is early stopping, from public
numbers alone: a direction that is not learnt within this path cannot be distinguished from noise. Two things make it
longer:

- *Short features.* What counts is the noise of a score, which is L times that of a weight. It may be as large as it is
  where L is FEW: where L is less, the path is FEW/L times as long. Where L is more, the path stays as it is: among many
  features some follow each other, and those need it.
- *A flat start.* The logistic loss begins at the log-odds of the label. Where one class is rare, its curvature there,
  p(1 - p), is less than 1/4, and so is the progress of a step. The path is 1/(4 p(1 - p)) times as long, 1/FLATTEST at
  most.

**Rounds.** As many as the path is long, from 20 to 100: a step of 1.5 is stable where features are scaled, and fewer,
larger groups lose nothing. So a path is never longer than 100. Features that follow each other make a direction of
large variance, in which steps are longer. The logistic and the hinge loss get flatter where a step goes too far;
squares do not, and a step that is too long for one direction ruins the weights. So squares have FIRM times as many
rounds, 100 at most.

**Averaging.** The outcome averages the weights over all rounds, the t-th round with weight t. The mean of t is two
thirds of the rounds, so steps are 1.5 times as long as the path would need without averaging.

PATH, the shares of `hush.server.pilot` and the bounds of the rounds come from a prototype, which was tried on made-up
and on real people; FEW, FLATTEST and FIRM from made-up people alone. `experiments/paths.py` shows what the path and its
two parts are worth, with other people; `experiments/targets.py` measures all of it, fixed.

**Squares** follow the same rule, with 0.7 L too, although their gradients are clipped at L. Their radius is in
proportion to the spread of the target, so a pilot that misjudges it shrinks the weights: that is why half of the people
who are asked about numbers are asked about the target (`hush.core.design.courses`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hush.core.design.directions import noise_of
from hush.core.training.courses import THEOREM, Wishes
from hush.core.training.training import VECTOR, Training
from hush.server.pilot import Pilot

PATH = 0.09
FEW = math.sqrt(20)  # the length of features below which the path is longer still
FLATTEST = 0.4  # of the greatest curvature: the path gets no longer where the loss begins flatter than that
LONGER = 1.5
FIRM = 10  # times as many rounds for squares
LEAST_ROUNDS, MOST_ROUNDS = 20, 100
CLIPPED = 0.7  # of the typical length: what is left of gradients
LEAST_RADIUS = 1e-9  # and length: a pilot that saw no spread at all still gives a training
# The paper's rule for the mechanisms of coordinates.
GROUP = 40
MIN_ROUNDS, MAX_ROUNDS = 10, 200


@dataclass(frozen=True)
class Schedule:
    """Rounds and the constant size of a step. `path` is the sum of steps times the curvature, before averaging."""

    rounds: int
    step: float
    path: float


def schedule(
    people: int,
    dimensions: int,
    epsilon: float,
    *,
    curvature: float,
    reach: float,
    length: float,
    flat: float = 1.0,
    firm: bool = False,
    rounds: int | None = None,
) -> Schedule:
    """Return the rounds and the step for the vector channel. `reach` is the radius divided by the slope: 0.7 L.

    `length` is L, and `flat` the curvature at the start as a part of the greatest. `firm`: whether the curvature stays
    as it is. With `rounds` only the step is chosen.
    """
    path = PATH * math.sqrt(max(people, 1) / noise_of(epsilon, dimensions)) / reach
    path *= max(1.0, FEW / max(length, LEAST_RADIUS)) / max(flat, FLATTEST)
    path = min(path, MOST_ROUNDS)
    if rounds is None:
        wanted = math.ceil(path * FIRM if firm else path)
        rounds = max(1, min(people, max(LEAST_ROUNDS, min(MOST_ROUNDS, wanted))))
    return Schedule(rounds, LONGER * path / (curvature * rounds), path)


def rounds_for(people: int, dimensions: int, epsilon: float) -> int:
    """Return the number of groups for the paper's mechanisms: |G| is of order d log d / epsilon^2.

    Large epsilons count as 2 at most, because the noise then stops falling like 1/epsilon.
    """
    size = GROUP * max(dimensions, 2) * math.log(max(dimensions, 2)) / min(epsilon, 2.0) ** 2
    return max(1, min(people, MAX_ROUNDS, max(MIN_ROUNDS, round(people / size))))


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


def planned(draft: Training, people: int, found: Pilot | None, wishes: Wishes) -> Training:
    """Return a training with its rounds, steps and clipping: those that were given, or those of the rules.

    `draft` is what was known before the pilot, and `people` take part in the rounds. Without a pilot, features stay as
    they are, and gradients are clipped to the length that one of every kind of feature would have.
    """
    loss, vector, flat = draft.loss_function, draft.gradient == VECTOR, 1.0
    if found is None:
        slope, length = loss.slope_at_zero, math.sqrt(len(draft.parts) + draft.intercept)
    else:
        slope, length = found.slope, found.length
        draft = replace(draft, centre=found.centre, scale=found.scale)
        if draft.intercept and draft.projection is None:
            draft = replace(draft, start=(0.0,) * (draft.width - 1) + (loss.constant(found.target),))
            flat = loss.curved(found.target) / loss.curvature
    if draft.map is not None:  # its units are scaled so that their variances add up to its strength
        length = math.hypot(length, math.sqrt(draft.map.strength))
    radius = slope * length * (loss.clip if found is not None else 1.0)
    radius = max(radius, LEAST_RADIUS) if wishes.radius is None else wishes.radius
    reach = max(CLIPPED * radius / max(slope * loss.clip, LEAST_RADIUS), LEAST_RADIUS)
    plan = schedule(
        people,
        draft.width,
        draft.epsilon,
        curvature=loss.curvature,
        reach=reach,
        length=length,
        flat=flat,
        firm=loss.bound is None,
        rounds=wishes.rounds,
    )
    rounds = plan.rounds if vector or wishes.rounds else rounds_for(people, draft.width, draft.epsilon)
    box, decay = draft.box, not vector
    if wishes.step is None:
        step = plan.step if vector else 1.0
    elif wishes.step == THEOREM:
        step, decay = theorem_step(draft.width, people / rounds, draft.epsilon), True
        box = 1.0 if box is None else box
    else:
        step = float(wishes.step)
    tail = float(vector) if wishes.tail is None else wishes.tail
    return replace(
        draft,
        rounds=rounds,
        step=step,
        radius=radius,
        decay=decay,
        box=box,
        tail=tail,
        rising=vector and wishes.tail is None,
    )
