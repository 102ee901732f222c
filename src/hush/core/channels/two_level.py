"""Channels with two probabilities: an output is likely under a state, `ratio` times as likely as if it is not.

Whatever the state, the outputs that are likely under it have the same probability together, and so have they under w,
the least probability of each output. So the contrast of two states depends on one number alone: the measure of the
outputs that are likely under the first state only, which is the measure of those that are likely under the second only.
The more there are, the more is spread (`hush.core.channels.contrast`): the pair with the most covers all others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction

from hush.core.channels.base import Channel, State
from hush.core.channels.contrast import Contrast, merged

Sorts = Mapping[tuple[bool, ...], Fraction]
"""Which of some states make an output likely, and the measure of all such outputs if they were not likely."""


class TwoLevel(Channel):
    """A channel whose outputs have one of two probabilities (or a multiple of both, by output)."""

    @abstractmethod
    def sorts(self, states: Sequence[State]) -> Sorts:
        """Return the measures of all sorts of outputs for these states."""

    @abstractmethod
    def opposites(self) -> Sequence[tuple[State, State]]:
        """Return some pairs of states, among them one with the fewest outputs that are likely under both."""

    @abstractmethod
    def bystanders(self) -> Sequence[State]:
        """Return some states that the others of a crowd may have, for data sets that are hard to hide in."""

    @property
    def always(self) -> Fraction:
        """The measure of the outputs that are likely under every state, if they were not likely."""
        return Fraction(0)

    def blanket(self) -> Contrast:
        """Return a contrast of two states with the blanket that covers those of all others."""
        pairs = [self.sorts(pair) for pair in self.opposites()]
        apart = max(pairs, key=lambda sorts: sorts.get((True, False), Fraction(0)))
        found = []
        for (x, z), weight in apart.items():
            if x and z:
                found.append((self.always * self.ratio, Fraction(1), Fraction(1)))
                weight -= self.always
            found.append((weight, self.ratio if x else Fraction(1), self.ratio if z else Fraction(1)))
        return merged(found)

    def crowds(self) -> list[Contrast]:
        """Return exact contrasts of two states with the law of a third, which all the others have."""
        found = []
        for pair in self.opposites():
            for state in (*pair, *self.bystanders()):
                sorts = self.sorts((*pair, state))
                levels = {True: self.ratio, False: Fraction(1)}
                found.append(
                    merged(
                        (weight * levels[s], levels[x] / levels[s], levels[z] / levels[s])
                        for (x, z, s), weight in sorts.items()
                    )
                )
        return found
