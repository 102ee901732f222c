"""Choosing how many questions each person answers.

With k of q questions, each answered with epsilon/k, a question is answered by a share k/q of the people, and the error
of its estimate is

    (q/k) * (variance that the channel adds at epsilon/k  +  variance of the people themselves) / n.

The first part grows with k, as epsilon/k shrinks; the second falls, as more people answer. What the people are like is
not known beforehand: a uniform distribution over the domain is assumed (or the prior that was given), and equal shares
of categories. Errors are added up over attributes, those of means on the scale [-1, 1], those of shares averaged over
the categories, each times its importance, and the k with the least sum is taken. Large k never pay, as the noise grows
like k^2 for small epsilon/k: the search stops when three values of k in a row are worse than the best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from hush.channels import Channel, Window
from hush.design.average import average_variance
from hush.design.categorical import CATEGORICAL
from hush.design.numeric import BLOCK, NUMERIC, best_average
from hush.errors import DesignError
from hush.schema import Attribute, Categorical

_PATIENCE = 3


class Makers(NamedTuple):
    """How channels are made: the names that the user chose, and the prior of numeric attributes, if there is one."""

    numeric: str
    categorical: str
    prior: tuple[Fraction, ...] | None

    def channel(self, block: Sequence[Attribute], epsilon: Fraction) -> Channel:
        """Return the channel for the attributes of one question."""
        first = block[0]
        if isinstance(first, Categorical):
            return CATEGORICAL[self.categorical](epsilon, len(first.labels))
        if self.numeric in NUMERIC:
            if self.prior is not None:
                return best_average(epsilon, self.prior, first.optional)
            return NUMERIC[self.numeric](epsilon, first.optional)
        if any(attribute.optional for attribute in block):
            raise DesignError(f"{self.numeric} cannot report missing values: choose another for optional attributes")
        return BLOCK[self.numeric](epsilon, len(block))

    def error(self, block: Sequence[Attribute], epsilon: Fraction) -> float:
        """Return the variance of one report about each attribute of a block, on average over its targets."""
        channel = self.channel(block, epsilon)
        if isinstance(block[0], Categorical):
            share = Fraction(1, len(block[0].labels))
            return float(channel.variance(share) + share * (1 - share))
        if self.prior is None or not isinstance(channel, Window):
            return float(channel.worst_variance) + 1 / 3
        bins = len(self.prior)
        spread = sum(p * (Fraction(2 * i + 1, bins) - 1) ** 2 for i, p in enumerate(self.prior))
        return float(average_variance(channel, self.prior) + spread)


def best_k(
    makers: Makers, blocks: Sequence[Sequence[Attribute]], epsilon: Fraction, importance: Mapping[str, float]
) -> int:
    """Return the number of questions with the least predicted error."""
    best, least, worse = 1, math.inf, 0
    for k in range(1, len(blocks) + 1):
        known: dict[object, float] = {}
        total = 0.0
        for block in blocks:
            first = block[0]
            key = len(first.labels) if isinstance(first, Categorical) else (first.optional, len(block))
            if key not in known:
                known[key] = makers.error(block, epsilon / k)
            total += known[key] * sum(importance[attribute.name] for attribute in block)
        error = total * len(blocks) / k
        if error < least:
            best, least, worse = k, error, 0
        else:
            worse += 1
            if worse == _PATIENCE:
                break
    return best
