"""Channels with too many outputs to list, seen through a few categories: which of them does an output support?

All that a report says of two categories is whether it supports each: its likelihoods under both depend on nothing else.
So the law of these marks is a law with a few outputs, known exactly, whose largest ratio is that of the channel. A
sampler must follow it. And each of some other categories, spread over all, must be supported as often as the channel
says: if a sampler favours some points, some of these notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from hush.core.channels import Geometry, Output
from hush.planning.audits.features import Feature
from hush.planning.audits.fits import Fit
from hush.server.binomial import at_least, at_most

SPREAD = 8
"""Other categories that a sampler is compared for."""


class Marks:
    """The marks of outputs for the categories that are probed, and for some others."""

    def __init__(self, channel: Geometry, probed: Sequence[int]) -> None:
        self.channel, self.probed = channel, list(probed)
        spread = (channel.size * (2 * i + 1) // (2 * SPREAD) for i in range(SPREAD))
        self.others = [category for category in dict.fromkeys(spread) if category not in probed]
        self._vectors = [channel.vector(category) for category in (*self.probed, *self.others)]
        self._known: dict[int, tuple[bool, ...]] = {}

    def of(self, output: Output) -> tuple[bool, ...]:
        """Return which of the categories an output supports: those that are probed, and then the others."""
        assert isinstance(output, int)
        if output not in self._known:
            self._known[output] = self.channel.marks(output, self._vectors)
        return self._known[output]

    def seen(self, outputs: Sequence[Output]) -> list[Output]:
        """Return the marks of the probed categories, each as a number."""
        return [
            sum(mark << place for place, mark in enumerate(self.of(output)[: len(self.probed)])) for output in outputs
        ]

    @cached_property
    def _weights(self) -> Mapping[tuple[bool, ...], Fraction]:
        return self.channel.sorts(self.probed)

    def law(self, category: int) -> dict[Output, Fraction]:
        """Return the exact law of the marks of the probed categories, for people of one of them."""
        at = self.probed.index(category)
        found: dict[Output, Fraction] = {}
        for marks, weight in self._weights.items():
            number = sum(mark << place for place, mark in enumerate(marks))
            found[number] = weight * (self.channel.ratio if marks[at] else 1)
        return found

    def fit(self, name: str, outputs: Sequence[Output], miss: float) -> Fit:
        """Compare how often the other categories were supported with the exact probability."""
        n, q, tails = len(outputs), float(self.channel.q), list[float]()
        for place in range(len(self.probed), len(self.probed) + len(self.others)):
            count = sum(self.of(output)[place] for output in outputs)
            tails += [at_least(count, n, q), at_most(count, n, q)]
        smallest = min(1.0, min(tails, default=1.0) * max(len(tails), 1))
        return Fit(name, "targets", smallest, smallest >= miss)

    def feature(self, first: int, second: int) -> Feature:
        """Return the feature with the true likelihoods of two categories."""
        places = self.probed.index(first), self.probed.index(second)
        return Feature(
            "which of both the output supports", "values", lambda output: tuple(self.of(output)[at] for at in places)
        )
