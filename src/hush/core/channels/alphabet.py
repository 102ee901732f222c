"""The outputs of a channel: how they are checked, written down and counted.

There are two kinds. A `Symbols` output is one of `size` symbols, an integer; `Points` are very many symbols. A
`Subsets` output is a set of some of `size` members, a tuple of increasing integers: any set, or only those with
`weight` members. In `Grouped` sets the members come in groups of equal size, and a set has at most one of each group:
the two signs of a dimension, or the cells of a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise, product
from math import comb
from typing import Any

from hush.core.channels.sparse import Sparse
from hush.errors import ReportError, TallyError

Output = int | tuple[int, ...]


class Alphabet(ABC):
    """The outputs of a channel, as reports and tallies need them."""

    size: int

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many outputs there are."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many bytes an output takes in a binary report."""

    @abstractmethod
    def listed(self) -> Sequence[Output]:
        """Return every output, in increasing order. Use it for small alphabets."""

    @abstractmethod
    def check(self, output: Output) -> None:
        """Refuse a value that is not an output."""

    @abstractmethod
    def pack(self, output: Output) -> bytes:
        """Write an output in `width` bytes."""

    @abstractmethod
    def unpack(self, data: bytes) -> Output:
        """Read an output from `width` bytes."""

    @abstractmethod
    def from_json(self, value: Any) -> Output:
        """Read an output from JSON values: an integer or an array of integers, written unchanged."""

    @abstractmethod
    def count(self, counts: MutableSequence[int], output: Output) -> None:
        """Add a checked output to a vector of `size` counts."""

    @abstractmethod
    def check_counts(self, counts: Sequence[int], n: int) -> None:
        """Refuse counts that cannot come from n outputs."""

    def zeros(self) -> MutableSequence[int]:
        """Return counts of nothing."""
        return [0] * self.size

    def kept(self, counts: Sequence[int]) -> MutableSequence[int]:
        """Return counts as a tally keeps them, if they are integers and there are `size` of them."""
        if len(counts) != self.size or set(map(type, counts)) != {int}:
            raise TallyError(f"needs {self.size} integer counts")
        return list(counts)

    def summed(self, one: Sequence[int], other: Sequence[int]) -> MutableSequence[int]:
        """Return the sum of two such vectors."""
        return [a + b for a, b in zip(one, other, strict=True)]

    def written(self, counts: Sequence[int]) -> list[int]:
        """Return counts as integers of JSON."""
        return list(counts)

    def read(self, values: Sequence[int]) -> Sequence[int]:
        """Return counts from integers of JSON, which `kept` checks."""
        return values

    def packed(self, counts: Sequence[int]) -> Iterable[int]:
        """Return counts as unsigned integers, for the binary form."""
        return counts

    def unpacked(self, take: Callable[[], int]) -> Sequence[int]:
        """Read counts from unsigned integers, which `take` returns one by one."""
        return [take() for _ in range(self.size)]


@dataclass(frozen=True)
class Symbols(Alphabet):
    """One of `size` symbols."""

    size: int

    @property
    def outputs(self) -> int:
        """How many outputs there are: one per symbol."""
        return self.size

    @property
    def width(self) -> int:
        """How many bytes an output takes in a binary report."""
        return ((self.size - 1).bit_length() + 7) // 8

    def listed(self) -> Sequence[Output]:
        """Return every symbol."""
        return range(self.size)

    def check(self, output: Output) -> None:
        """Refuse a value that is not one of the symbols."""
        if type(output) is not int or not 0 <= output < self.size:
            raise ReportError(f"an output must be an integer from 0 to {self.size - 1}")

    def pack(self, output: Output) -> bytes:
        """Write a symbol, most significant byte first."""
        assert isinstance(output, int)
        return output.to_bytes(self.width, "big")

    def unpack(self, data: bytes) -> Output:
        """Read a symbol."""
        output = int.from_bytes(data, "big")
        self.check(output)
        return output

    def from_json(self, value: Any) -> Output:
        """Read a symbol from a JSON integer."""
        self.check(value)
        symbol: int = value
        return symbol

    def count(self, counts: MutableSequence[int], output: Output) -> None:
        """Count the symbol."""
        assert isinstance(output, int)
        counts[output] += 1

    def check_counts(self, counts: Sequence[int], n: int) -> None:
        """Refuse a histogram that does not add up to n."""
        if min(counts) < 0 or sum(counts) != n:
            raise TallyError("the counts of an attribute must add up to the number who answered it")


@dataclass(frozen=True)
class Points(Symbols):
    """One of very many symbols, most of which are never reported: tallies keep and write only what was counted."""

    def check_counts(self, counts: Sequence[int], n: int) -> None:
        """Refuse a histogram that does not add up to n."""
        assert isinstance(counts, Sparse)
        if counts.least() < 0 or counts.total() != n:
            raise TallyError("the counts of an attribute must add up to the number who answered it")

    def zeros(self) -> MutableSequence[int]:
        """Return counts of nothing."""
        return Sparse(self.size)

    def kept(self, counts: Sequence[int]) -> MutableSequence[int]:
        """Return counts as a tally keeps them, if there are `size` of them."""
        if len(counts) != self.size:
            raise TallyError(f"needs {self.size} integer counts")
        return Sparse.of(counts)

    def summed(self, one: Sequence[int], other: Sequence[int]) -> MutableSequence[int]:
        """Return the sum of two histograms."""
        assert isinstance(one, Sparse)
        assert isinstance(other, Sparse)
        return one + other

    def written(self, counts: Sequence[int]) -> list[int]:
        """Return counts with -m for each run of m zeros."""
        assert isinstance(counts, Sparse)
        return counts.runs()

    def read(self, values: Sequence[int]) -> Sequence[int]:
        """Read such counts."""
        return Sparse.from_runs(self.size, values)

    def packed(self, counts: Sequence[int]) -> Iterable[int]:
        """Return counts, and 0 and m for each run of m zeros."""
        for count in self.written(counts):
            yield from (count,) if count > 0 else (0, -count)

    def unpacked(self, take: Callable[[], int]) -> Sequence[int]:
        """Read such counts."""

        def runs() -> Iterable[int]:
            left = self.size
            while left > 0:
                count = take() or -take()
                left -= max(1, -count)
                yield count

        return Sparse.from_runs(self.size, runs())


@dataclass(frozen=True)
class Subsets(Alphabet):
    """A set of members of 0..size-1: with `weight` members, or with any number of them if `weight` is None."""

    size: int
    weight: int | None = None

    @property
    def outputs(self) -> int:
        """How many outputs there are: one per set."""
        return 1 << self.size if self.weight is None else comb(self.size, self.weight)

    @property
    def width(self) -> int:
        """How many bytes an output takes in a binary report: one bit per member."""
        return (self.size + 7) // 8

    def listed(self) -> Sequence[Output]:
        """Return every set, in the order of their first members, then of their second ones, and so on."""
        sizes = range(self.size + 1) if self.weight is None else (self.weight,)
        return sorted(chain.from_iterable(combinations(range(self.size), size) for size in sizes))

    def check(self, output: Output) -> None:
        """Refuse a value that is not such a set."""
        if type(output) is not tuple or not all(type(member) is int for member in output):
            raise ReportError("an output must be a set of integers")
        if self.weight is not None and len(output) != self.weight:
            raise ReportError(f"an output must have {self.weight} members")
        if any(low >= high for low, high in pairwise(output)):
            raise ReportError("the members of an output must increase")
        if output and not 0 <= output[0] <= output[-1] < self.size:
            raise ReportError(f"the members of an output must be from 0 to {self.size - 1}")

    def pack(self, output: Output) -> bytes:
        """Write a set as bits: member 0 is the lowest bit of the first byte."""
        assert isinstance(output, tuple)
        bits = 0
        for member in output:
            bits |= 1 << member
        return bits.to_bytes(self.width, "little")

    def unpack(self, data: bytes) -> Output:
        """Read a set."""
        output = members(int.from_bytes(data, "little"))
        self.check(output)
        return output

    def from_json(self, value: Any) -> Output:
        """Read a set from a JSON array."""
        if type(value) is not list:
            raise ReportError("an output must be an array of integers")
        output = tuple(value)
        self.check(output)
        return output

    def count(self, counts: MutableSequence[int], output: Output) -> None:
        """Count every member."""
        assert isinstance(output, tuple)
        for member in output:
            counts[member] += 1

    def check_counts(self, counts: Sequence[int], n: int) -> None:
        """Refuse counts of members that cannot come from n sets."""
        if min(counts) < 0 or max(counts) > n:
            raise TallyError("no count of an attribute may exceed the number who answered it")
        if self.weight is not None and sum(counts) != n * self.weight:
            raise TallyError(f"the counts of an attribute must add up to {self.weight} for each answer")


@dataclass(frozen=True)
class Grouped(Subsets):
    """One member of each of `weight` groups: group j has the members j*group to (j+1)*group - 1."""

    group: int = 2

    @property
    def outputs(self) -> int:
        """How many outputs there are: one per choice of groups and of a member of each."""
        assert self.weight is not None
        return comb(self.size // self.group, self.weight) * int(self.group**self.weight)

    def listed(self) -> Sequence[Output]:
        """Return every such set, in the order of their first members, then of their second ones, and so on."""
        assert self.weight is not None
        groups = [range(at, at + self.group) for at in range(0, self.size, self.group)]
        return sorted(chain.from_iterable(product(*some) for some in combinations(groups, self.weight)))

    def check(self, output: Output) -> None:
        """Refuse a value that is not such a set, or has two members of one group."""
        super().check(output)
        assert isinstance(output, tuple)
        if any(low // self.group == high // self.group for low, high in pairwise(output)):
            raise ReportError("an output must not have two members of one group")

    def check_counts(self, counts: Sequence[int], n: int) -> None:
        """Refuse counts of members that cannot come from n outputs."""
        super().check_counts(counts, n)
        if any(sum(counts[at : at + self.group]) > n for at in range(0, self.size, self.group)):
            raise TallyError("no group may be counted more often than the number who answered")


def members(bits: int) -> tuple[int, ...]:
    """Return the positions of the ones of an integer, in order."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return tuple(found)
