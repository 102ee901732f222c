"""The largest local epsilon whose shuffled batches keep a central promise.

Local epsilons are whole thousandths. delta grows with the local epsilon, and its logarithm nearly in proportion, so a
search along straight lines needs a handful of designs. It ends between two neighbours: one that was proved to keep the
promise and one that was not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from hush.core.plan import MAX_EPSILON, MIN_EPSILON, Plan
from hush.errors import DesignError
from hush.planning.shuffle.crowds import check_crowd, delta_at, read_delta
from hush.planning.shuffle.searches import FINE, TOLERANCE, log_ratio, sensitivity

PLACES = 1000
"""Local epsilons are multiples of one thousandth."""

LOCAL = 6.0
"""The most that a local epsilon may be, unless somebody says otherwise."""

_STRAIGHT = 8  # steps along straight lines; then the search halves


class Designs:
    """Plans that keep a central promise, for crowds of any size. Each local epsilon is designed once."""

    def __init__(self, make: Callable[[float], Plan], central: float, delta: float, local: float = LOCAL) -> None:
        """`make(epsilon)` makes a plan; `local` is the most that its epsilon may be."""
        self._target = read_delta(delta)
        for value, name in ((central, "central"), (local, "local")):
            if isinstance(value, bool) or not isinstance(value, int | float) or not _in_range(value):
                raise DesignError(f"{name} must be a number from {float(MIN_EPSILON)} to {float(MAX_EPSILON)}")
        self._make = make
        self._made: dict[int, Plan] = {}
        # `shuffle` rounds up by as much, so that it never says more than what was asked for here.
        self._central = float(central) * (1 - TOLERANCE)
        self._most = math.floor(Fraction(repr(float(local))) * PLACES)
        self._sure = min(math.floor(Fraction(repr(float(central))) * PLACES), self._most)
        self._found: dict[int, int] = {}

    def best(self, *, crowd: int | None = None, own: int | None = None) -> Plan:
        """Return the plan with the largest local epsilon that keeps the promise in this crowd, or with these reports.

        A plan that is as private locally as it must be centrally always does.
        """
        check_crowd(crowd, own)
        if crowd is None:
            assert own is not None
            return self._plan(self._largest(None, own, self._sure, self._most + 1))
        if crowd not in self._found:
            # What a crowd hides, a larger one hides too.
            low = max((found for size, found in self._found.items() if size < crowd), default=self._sure)
            high = min((found + 1 for size, found in self._found.items() if size > crowd), default=self._most + 1)
            self._found[crowd] = self._largest(crowd, None, low, max(high, low + 1))
        return self._plan(self._found[crowd])

    def _plan(self, local: int) -> Plan:
        if local not in self._made:
            self._made[local] = self._make(local / PLACES)
        return self._made[local]

    def _look(self, local: int, crowd: int | None, own: int | None) -> float:
        """Return the logarithm of delta by the target; not above 0 if the promise is proved."""
        return log_ratio(delta_at(self._plan(local), crowd, own, self._central, FINE), self._target)

    def _largest(self, crowd: int | None, own: int | None, low: int, high: int) -> int:
        """Return the largest local epsilon from `low`, which keeps the promise, to below `high`."""
        n = crowd if own is None else own
        assert n is not None
        seen: list[tuple[int, float]] = []
        place = high - 1  # the largest of all is often the answer
        while high - low > 1:
            y = self._look(place, crowd, own)
            low, high = (place, high) if y <= 0 else (low, place)
            seen.append((place, y))
            place = self._next(seen, low, high, n)
        return low

    def _next(self, seen: list[tuple[int, float]], low: int, high: int, n: int) -> int:
        """Return where to look next, between low and high."""
        x, y = seen[-1]
        root = (low + high) / 2
        if len(seen) == 1:
            root = _guess(self._central, float(self._target), n) * PLACES
        elif len(seen) < _STRAIGHT and (slope := (y - seen[-2][1]) / (x - seen[-2][0])) > 0:
            root = x - y / slope
        return min(max(math.floor(root), low + 1), high - 1)


def _in_range(value: float) -> bool:
    return bool(MIN_EPSILON <= value <= MAX_EPSILON)


def _guess(central: float, delta: float, n: int) -> float:
    """Return about the local epsilon of a large crowd: there e^local is about n*mu^2/2. It may be far off."""
    return math.log(max(n * sensitivity(central, delta) ** 2 / 2, 1.0))
