"""Choosing how many questions each person answers.

With k of q questions, each answered with epsilon/k, a share k/q of the people answer a question, and the error of its
estimate is

    (q/k) * (variance that the channel adds at epsilon/k  +  variance of the people themselves) / n.

The first part grows with k, because epsilon/k shrinks; the second falls, because more people answer. The values of the
people are not known beforehand. So the search assumes a uniform distribution over the domain (or the given prior), and
equal shares of categories. It adds up the errors of all attributes, each times its importance: errors of means on the
scale [-1, 1], errors of shares averaged over the categories. It takes the k with the least sum. Large k never pay,
because the noise grows like k^2 for small epsilon/k: the search stops when three values of k in a row are worse than
the best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from hush.core.channels import Cells, Channel, Cube, Window
from hush.core.design.average import average_variance
from hush.core.design.categorical import CATEGORICAL
from hush.core.design.joint import cells, cube, person_variance
from hush.core.design.ladders import ladder
from hush.core.design.numeric import BLOCK, NUMERIC, best_average
from hush.core.design.sets import member_error, picks, picks_error
from hush.core.design.texts import chunks, prefix_channel
from hush.core.schema import MAX_CATEGORIES, Attribute, Categorical, Choices, Numeric
from hush.core.texts import Text
from hush.errors import DesignError, PlanError

_PATIENCE = 3
_WEIGHT = 1000


class Makers(NamedTuple):
    """The names of the channels that the user chose, and the prior of numeric attributes, if there is one.

    `whole` has the names of the choices that are asked in one question; others have a question for each value. The sets
    that are reported of the former have `least` members or more.
    """

    numeric: str
    categorical: str
    prior: tuple[Fraction, ...] | None
    whole: frozenset[str] = frozenset()
    least: int = 1

    def channel(self, block: Sequence[Attribute], epsilon: Fraction) -> Channel:
        """Return the channel for the attributes of one question."""
        first = block[0]
        if isinstance(first, Choices):
            if first.name in self.whole:
                return picks(epsilon, len(first.labels), first.most, self.least)
            return CATEGORICAL[self.categorical](epsilon, 2 + first.optional)
        if isinstance(first, Text):
            return prefix_channel(epsilon, first)
        if len(block) > 1 and (self.numeric in NUMERIC or isinstance(block[-1], Categorical)):
            return cells(epsilon, tuple(None if isinstance(a, Numeric) else len(a.labels) for a in block))
        if isinstance(first, Categorical):
            return self._listed(first, epsilon)
        if first.scale == "log" and len(block) == 1:
            return ladder(epsilon, first)
        if self.numeric in NUMERIC:
            if self.prior is not None:
                return best_average(epsilon, self.prior, first.optional)
            return NUMERIC[self.numeric](epsilon, first.optional)
        if any(attribute.optional for attribute in block):
            raise DesignError(f"{self.numeric} cannot report missing values: choose another for optional attributes")
        return BLOCK[self.numeric](epsilon, len(block))

    def _listed(self, listed: Categorical, epsilon: Fraction) -> Channel:
        size = len(listed.labels)
        if size > MAX_CATEGORIES + 1 and self.categorical not in ("geometry", "best"):
            raise DesignError(
                f"attribute {listed.name!r}: {size:,} categories are too many for categorical={self.categorical!r}: "
                'choose "geometry" or "best"'
            )
        try:
            return CATEGORICAL[self.categorical](epsilon, size)
        except (DesignError, PlanError) as error:
            raise DesignError(f"attribute {listed.name!r}: {error}") from None

    def error(self, block: Sequence[Attribute], epsilon: Fraction) -> float:
        """Return the variance of one report about each attribute of a block, on average over its targets.

        For choices with a question for each value, it is the part of that average which is due to one of them. For a
        text, it is the variance of a rare prefix, as a part of all its questions.
        """
        if isinstance(choices := block[0], Choices):
            if choices.name in self.whole:
                return picks_error(epsilon, choices, self.least)
            return member_error(epsilon, choices) / len(choices.values)
        channel = self.channel(block, epsilon)
        if isinstance(block[0], Text):
            return float(channel.variance(0)) / len(chunks(block[0]))
        if isinstance(channel, Cells):
            errors = []
            for position, attribute in enumerate(block):
                f = Fraction(0) if isinstance(attribute, Numeric) else Fraction(1, len(attribute.labels))
                among = 1 / 3 if isinstance(attribute, Numeric) else float(f * (1 - f))
                errors.append(float(channel.variance_of(position, f)) + among)
            return sum(errors) / len(errors)
        if isinstance(channel, Cube):
            return float(person_variance(channel))
        if isinstance(block[0], Categorical):
            share = Fraction(1, len(block[0].labels))
            return float(channel.variance(share) + share * (1 - share))
        if self.prior is None or not isinstance(channel, Window):
            return float(channel.worst_variance) + 1 / 3
        bins = len(self.prior)
        squares = (p * (Fraction(2 * i + 1, bins) - 1) ** 2 for i, p in enumerate(self.prior))
        spread = sum(squares, Fraction(1, 3 * bins * bins))  # between the bins, and within each
        return float(average_variance(channel, self.prior) + spread)


def best_k(
    makers: Makers, blocks: Sequence[Sequence[Attribute]], epsilon: Fraction, importance: Mapping[str, float]
) -> tuple[int, float]:
    """Return the number of questions with the least predicted error, and that error (times the number of people)."""
    best, least, worse = 1, math.inf, 0
    for k in range(1, len(blocks) + 1):
        error = error_of(makers, blocks, epsilon, k, importance)
        if error < least:
            best, least, worse = k, error, 0
        else:
            worse += 1
            if worse == _PATIENCE:
                break
    return best, least


def error_of(
    makers: Makers, blocks: Sequence[Sequence[Attribute]], epsilon: Fraction, k: int, importance: Mapping[str, float]
) -> float:
    """Return the predicted error (times the number of people) if everybody answers k questions."""
    return sum(_errors(makers, blocks, epsilon / k, importance)) * len(blocks) / k


def weighted_error(
    makers: Makers,
    blocks: Sequence[Sequence[Attribute]],
    epsilon: Fraction,
    weights: Sequence[int],
    importance: Mapping[str, float],
) -> float:
    """Return the predicted error (times the number of people) if one question is drawn by weights."""
    errors = _errors(makers, blocks, epsilon, importance)
    return sum(error * sum(weights) / weight for error, weight in zip(errors, weights, strict=True))


def _errors(
    makers: Makers, blocks: Sequence[Sequence[Attribute]], epsilon: Fraction, importance: Mapping[str, float]
) -> list[float]:
    """Return the error of each question times the importance of its attributes."""
    known: dict[object, float] = {}
    errors = []
    for block in blocks:
        key = tuple(_alike(a) for a in block)
        if key not in known:
            known[key] = makers.error(block, epsilon)
        errors.append(known[key] * sum(importance[attribute.name] for attribute in block))
    return errors


def _alike(attribute: Attribute) -> object:
    """Return the same for attributes with the same error."""
    if isinstance(attribute, Choices | Text):
        return attribute.name
    return (len(attribute.labels), False) if isinstance(attribute, Categorical) else (0, attribute.optional)


def question_weights(
    makers: Makers, blocks: Sequence[Sequence[Attribute]], epsilon: Fraction, importance: Mapping[str, float]
) -> tuple[int, ...]:
    """Return the weights for drawing one question with the least predicted error.

    With probabilities p_j the error is the sum of e_j/p_j. By the inequality of Cauchy and Schwarz it is least if p_j
    is in proportion to the square root of e_j. Every question keeps a chance above 0.
    """
    roots = [math.sqrt(error) for error in _errors(makers, blocks, epsilon, importance)]
    return tuple(max(1, round(root / max(roots) * _WEIGHT)) for root in roots)


def cube_error(blocks: Sequence[Sequence[Attribute]], epsilon: Fraction, importance: Mapping[str, float]) -> float:
    """Return the predicted error of the cube, as `best_k` counts it; infinite if it cannot report these attributes."""
    attributes = [attribute for block in blocks for attribute in block]
    if len(attributes) < 2 or not all(isinstance(item, Numeric) and not item.optional for item in attributes):
        return math.inf
    return float(person_variance(cube(epsilon, len(attributes)))) * sum(importance.values())
