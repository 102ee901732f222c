"""The results of a pilot: centres, scales, the start and the typical length of gradients, from private estimates.

`hush.core.training.stages` says what people report. Simulations and collectors both read the reports here.

**Shrinking.** The answers of a few people are noisy, so they are trusted only as far as their standard errors allow.
Centres are shrunk towards 0. Spreads that differ no more than their noise explains are taken as equal, and are never
below their own error.

**Rare categories.** An indicator is divided by a constant, 0.7, and not by its standard deviation: that of a rare
category would be blown up, and so would the length of the gradients of the people who have it.

**Length.** L^2, the mean square length of a person's features, follows: 1 for the intercept, for each number and for
each place in an order, and p(1 - p)/0.49 for an indicator with share p. Nobody is asked about it.

Every number is computed by plain arithmetic in a fixed order: a collector that is restarted finds the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hush.core.training.features import Part, place
from hush.core.training.stages import (
    MEANS,
    SHARES,
    SPREADS,
    Known,
    asks_target,
    categories_of,
    clipped,
    finite,
    indicators,
    middle_of,
    numbers_of,
    shrunk,
    stage_names,
)
from hush.core.training.training import SIZES, Training
from hush.server.estimates import unbounded
from hush.server.tally import Tally

LEAST_SCALE = 0.05  # numbers that are narrower than this are not scaled up further
LEAST_ORDER = 0.2  # the same for the place in an order
INDICATOR = 0.7  # the scale of an indicator
GAUSSIAN = math.sqrt(math.pi / 2)  # standard deviation over mean absolute deviation


@dataclass(frozen=True)
class Pilot:
    """The results of the pilot. They come from private reports, so they may be used freely. `asked`: its people.

    `spread` is the mean distance of a number that is the target from its mean; 1 if the target is a class.
    """

    centre: tuple[float, ...]
    scale: tuple[float, ...]
    target: float
    length: float
    slope: float
    asked: int
    spread: float = 1.0


def estimates(tally: Tally) -> Known:
    """Return the estimates of a stage: what the next stages and the result depend on."""
    return tuple(finite(row.point, row.stderr) for row in unbounded(tally))


def read(training: Training, known: Sequence[Known], asked: int) -> Pilot:
    """Return the results of a pilot, from the estimates of all its stages."""
    loss, answers = training.loss_function, dict(zip(stage_names(training), known, strict=True))
    numbers, categories = numbers_of(training), categories_of(training)
    centre, scale = [0.0] * training.dimensions, [INDICATOR] * training.dimensions
    target, slope, spread = 0.0, loss.slope_at_zero, 1.0
    if MEANS in answers:
        means, far = middle_of(answers[MEANS]), answers[SPREADS]
        for j, mean, size in zip(numbers, means, spreads(far[: len(numbers)]), strict=False):
            centre[j], scale[j] = mean, size
        if asks_target(training):
            target = means[-1]
        if not loss.classes:  # slopes are twice as large as the distance from the mean
            spread = math.hypot(*far[-1])
            slope *= spread
    if SHARES in answers:
        rows = answers[SHARES]
        if not asks_target(training):
            point, error = rows[1]
            target, rows = shrunk(2 * point - 1, 2 * error), rows[2:]
        _read_shares(rows, categories, centre, scale)
    centre = [x if abs(x) >= SIZES[0] else 0.0 for x in centre]
    length = math.sqrt(training.intercept + mean_square(training.parts, centre, scale))
    return Pilot(tuple(centre), tuple(scale), clipped(target, -1.0, 1.0), length, slope, asked, spread)


def spreads(rows: Known) -> list[float]:
    """Return the scales of numbers from estimates of their mean distances. Differences that noise explains are lost."""
    points, squares = [point for point, _ in rows], [error**2 for _, error in rows]
    if len(rows) > 2:
        middle = math.fsum(points) / len(points)
        variance = math.fsum((point - middle) ** 2 for point in points) / (len(points) - 1)
        between = max(0.0, variance - math.fsum(squares) / len(squares))
        trust = [between / (between + square) if between else 0.0 for square in squares]
        points = [middle + share * (point - middle) for share, point in zip(trust, points, strict=True)]
        squares = [share * square for share, square in zip(trust, squares, strict=True)]
    return [
        clipped(math.hypot(GAUSSIAN * max(point, 0.0), math.sqrt(square)), LEAST_SCALE, 1.0)
        for point, square in zip(points, squares, strict=True)
    ]


def mean_square(parts: Sequence[Part], centre: Sequence[float], scale: Sequence[float]) -> float:
    """Return the mean square length of the features that these centres and scales predict, without the intercept."""
    total = 0.0
    for part in parts:
        if part.number:
            total += 1.0
            continue
        for j in range(part.start, part.start + indicators(part)):
            share = clipped(centre[j], 0.0, 1.0)
            total += share * (1 - share) / scale[j] ** 2
        total += part.ordered
    return total


def _read_shares(rows: Known, categories: Sequence[Part], centre: list[float], scale: list[float]) -> None:
    """Write the centres of indicators, and centre and scale of the place of an ordered value, from the shares."""
    waiting = iter(rows)
    for part in categories:
        count = indicators(part)
        shares = [clipped(shrunk(*next(waiting)), 0.0, 1.0) for _ in range(count)]
        next(waiting)  # the last category has no feature
        centre[part.start : part.start + count] = shares
        if part.ordered:
            shares.append(max(0.0, 1.0 - math.fsum(shares)))
            places = [place(index, part.values) for index in range(count + 1)]
            total = math.fsum(shares)
            mean = math.fsum(share * at for share, at in zip(shares, places, strict=True)) / total
            variance = math.fsum(share * (at - mean) ** 2 for share, at in zip(shares, places, strict=True)) / total
            centre[part.end - 1] = mean
            scale[part.end - 1] = max(math.sqrt(variance), LEAST_ORDER)
