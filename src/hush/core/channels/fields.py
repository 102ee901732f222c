"""Finite fields with q elements, the integers 0..q-1.

If q is a prime, sums and products are those modulo q. If q = p^k with k > 1, the base-p digits of an element are the
coefficients of a polynomial in x, lowest first. Sums are digit by digit modulo p, and products modulo x^k + r(x). Here
r is the least element for which x^1, ..., x^(q-1) all differ: every element but 0 is then a power of x, so products are
sums of logarithms.

Both operations take the same steps for all elements, 0 included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from operator import mul

MAX_ORDER = 2047
MAX_POWER = 128  # the largest field that is not of prime order: its tables have q^2 entries


class Field:
    """The arithmetic of a field with `order` elements."""

    def __init__(self, order: int) -> None:
        found = power_of(order)
        if found is None or order > (MAX_ORDER if found[1] == 1 else MAX_POWER):
            raise ValueError("there is no such field")
        self.order = order
        self.prime, self.degree = found

    @cached_property
    def inverses(self) -> tuple[int, ...]:
        """The inverse of each element, and 0 for 0."""
        if self.degree == 1:
            return (0, *(pow(element, -1, self.order) for element in range(1, self.order)))
        return tuple(row.index(1) if 1 in row else 0 for row in self.products)

    @cached_property
    def products(self) -> tuple[tuple[int, ...], ...]:
        """The products of all elements: `products[a][b]` is a*b. (For prime orders, `times` needs no table.)"""
        q = self.order
        if self.degree == 1:
            return tuple(tuple(a * b % q for b in range(q)) for a in range(q))
        powers = self._powers()
        logs = {element: place for place, element in enumerate(powers)}
        nothing = (0,) * q
        return (
            nothing,
            *((0, *(powers[(logs[a] + logs[b]) % (q - 1)] for b in range(1, q))) for a in range(1, q)),
        )

    @cached_property
    def differences(self) -> tuple[tuple[int, ...], ...]:
        """The differences of all elements: `differences[a][b]` is a - b."""
        return tuple(tuple(self._combined(a, b, -1) for b in range(self.order)) for a in range(self.order))

    def _combined(self, a: int, b: int, sign: int) -> int:
        """Return a + sign*b, digit by digit."""
        found, unit, p = 0, 1, self.prime
        for _ in range(self.degree):
            found += (a + sign * b) % p * unit
            a, b, unit = a // p, b // p, unit * p
        return found

    def _powers(self) -> list[int]:
        """Return x^0, ..., x^(q-2), modulo the first polynomial for which they all differ."""
        q, p, top = self.order, self.prime, self.order // self.prime
        for rest in range(q):
            multiples = [0]
            for _ in range(p - 1):
                multiples.append(self._combined(multiples[-1], rest, 1))
            powers, element, seen = [1], p, {1}
            while element and element not in seen:
                powers.append(element)
                seen.add(element)
                high, low = divmod(element, top)
                element = self._combined(low * p, multiples[high], -1)
            if len(powers) == q - 1:
                return powers
        raise AssertionError("every finite field has such a polynomial")

    def prepare(self) -> None:
        """Make the tables that `against` and `scaled` read."""
        assert self.inverses
        if self.degree > 1:
            assert self.products
            assert self.differences

    def against(self, start: int, one: Iterable[int], other: Iterable[int]) -> int:
        """Return start - (one_0*other_0 + one_1*other_1 + ...)."""
        if self.degree == 1:
            return int(start - sum(map(mul, one, other))) % self.order
        products, differences = self.products, self.differences
        for a, b in zip(one, other, strict=True):
            start = differences[start][products[a][b]]
        return start

    def scaled(self, factor: int, elements: Sequence[int]) -> list[int]:
        """Return all elements times a factor."""
        if self.degree == 1:
            return [factor * element % self.order for element in elements]
        row = self.products[factor]
        return [row[element] for element in elements]


@cache  # there are a few hundred fields
def field(order: int) -> Field:
    """Return the field with this number of elements, or raise ValueError."""
    return Field(order)


@lru_cache(maxsize=4096)
def power_of(order: int) -> tuple[int, int] | None:
    """Return the prime p and the exponent k with order = p^k, or None if there are none."""
    if order < 2:
        return None
    prime = next((p for p in range(2, int(order**0.5) + 1) if order % p == 0), order)
    degree = 0
    while order % prime == 0:
        order, degree = order // prime, degree + 1
    return (prime, degree) if order == 1 else None
