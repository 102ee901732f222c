"""Tallies of batches in which a relay has mixed reports of its own among those of people.

The relay draws its own reports from the blanket of the plan (`hush.core.blanket`), whose law is known. Nobody but the
relay knows which they are, so nobody can remove them. But the average of their counts is known, and `without` subtracts
it: then every estimate is one of people alone.

**What is left** is the chance in the own reports: their counts differ from the average. `hush.estimate` knows of it. It
takes the spread of all reports, own ones included, and stretches it to the people (`spread`). Other readings of a
corrected tally (distributions, relations) do not: their intervals are too narrow, by about sqrt(1 + m/n) for m own
reports and n people if own reports vary as people's do, and by more if epsilon is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from hush.core import codec
from hush.core.blanket import blanket_of
from hush.core.channels.alphabet import Alphabet, Grouped, Subsets
from hush.core.report import Report
from hush.errors import TallyError
from hush.server.tally import Tally


class PeopleTally(Tally):
    """The tally of people, after the average of `own` reports of a relay was subtracted from the `whole` tally.

    It stays one when more is counted or added, and in a file: the whole tallies are added, and corrected again.
    """

    __slots__ = ("own", "whole")
    own: int
    whole: Tally

    def to_json(self) -> str:
        """Return the JSON form: of all reports, and how many of them are own ones. Reading it corrects again."""
        return f'{self.whole.to_json()[:-1]},"own":{self.own}}}'

    def encode(self) -> bytes:
        """Return the compact binary form: of all reports, and how many of them are own ones."""
        return self.whole.encode() + codec.varint(self.own)

    def add(self, report: Report) -> None:
        """Count a report of the same plan, of a person."""
        extra = Tally(self.plan)
        extra.add(report)
        self._merge(extra)

    def _merge(self, other: Tally) -> None:
        total = self + other
        self.reports, self.answered, self.counts = total.reports, total.answered, total.counts
        self.own, self.whole = own_of(total), whole_of(total)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        return without(self.whole + whole_of(other), self.own + own_of(other))

    def __radd__(self, other: object) -> Tally:
        # Python asks a subclass first, so this is also the sum of a plain tally and one of people.
        return self + other if isinstance(other, Tally) else super().__radd__(other)


def own_of(tally: Tally) -> int:
    """Return for how many own reports of a relay a tally was corrected."""
    return tally.own if isinstance(tally, PeopleTally) else 0


def whole_of(tally: Tally) -> Tally:
    """Return a tally with all reports, those of a relay among them."""
    return tally.whole if isinstance(tally, PeopleTally) else tally


def without(tally: Tally, own: int) -> Tally:
    """Return a tally without the average of `own` reports of a relay, rounded to integers.

    Counts that would be negative become 0, which moves the points of small tallies a little. A tally that is too small
    for the correction is corrected for fewer.
    """
    if type(own) is not int or not 0 <= own <= tally.reports:
        raise TallyError("own must be an integer from 0 to the number of reports")
    left = own
    while left:
        try:
            found = _without(tally, left)
            found.own, found.whole = own, tally
            return found
        except TallyError:
            left //= 2
    return tally


def _without(tally: Tally, own: int) -> PeopleTally:
    plan, blanket = tally.plan, blanket_of(tally.plan)
    reports = tally.reports - own
    wanted = [count - own * chance for count, chance in zip(tally.answered, blanket.answered, strict=True)]
    answered = rounded(wanted, reports * plan.k, reports)
    counts = []
    for index, channel in enumerate(blanket.channels):
        mine = tally.answered[index] - answered[index]  # the answers that are taken for own ones
        left = [count - mine * chance for count, chance in zip(tally.counts[index], channel.chances, strict=True)]
        counts.append(_fitted(channel.channel.alphabet, left, answered[index]))
    return PeopleTally(plan, reports, answered, counts)


def _fitted(alphabet: Alphabet, wanted: Sequence[Fraction], n: int) -> list[int]:
    """Return counts of n outputs that are close to these."""
    if isinstance(alphabet, Grouped) and alphabet.weight == alphabet.size // alphabet.group:  # one of every group
        starts = range(0, alphabet.size, alphabet.group)
        return [count for at in starts for count in rounded(wanted[at : at + alphabet.group], n, n)]
    if isinstance(alphabet, Subsets) and alphabet.weight is None:  # any set: the counts have no common sum
        return [min(max(round(count), 0), n) for count in wanted]
    return rounded(wanted, n * (alphabet.weight or 1) if isinstance(alphabet, Subsets) else n, n)


def spread(
    point: float, ends: tuple[float, float], whole: tuple[float, float, float], stretch: float
) -> tuple[float, float]:
    """Return the interval of an estimate of people, from its own ends and from `whole`: that of all reports.

    All reports together are a mixture of people and own reports, so `whole` is the point, low and high of a weighted
    mean, and the estimate of people is it times `stretch` (all answers by those of people), minus a known number. The
    interval stretches alike. It is too wide rather than too narrow, as the shares of the mixture are fixed.
    """
    middle, low, high = whole
    return min(ends[0], point - stretch * (middle - low)), max(ends[1], point + stretch * (high - middle))


def rounded(wanted: Sequence[Fraction], total: int, most: int) -> list[int]:
    """Return integers from 0 to `most` with this total, in proportion to the numbers that are not negative."""
    kept = [max(number, Fraction(0)) for number in wanted]
    whole = sum(kept, Fraction(0))
    if total == 0 or whole == 0:
        if total:
            raise TallyError("these counts are too small to be corrected")
        return [0] * len(kept)
    kept = [number * total / whole for number in kept]
    found = [min(floor(number), most) for number in kept]
    order = sorted(range(len(kept)), key=lambda place: found[place] - kept[place])  # the largest rest first
    while (missing := total - sum(found)) > 0:
        room = [place for place in order if found[place] < most][:missing]
        if not room:
            raise TallyError("these counts are too small to be corrected")
        for place in room:
            found[place] += 1
    return found
