"""The rows channel: a category and a number at once, for the mean of the number in every group.

A table has a row for each of G categories and N cells in each row, with levels as in the window channel. A report names
w rows and one cell in each of them. A person with category c and a number, rounded to a window of W cells that starts
at s, is *in* a report if it names row c with a cell of the window. With probability T/2^64 the report is uniform among
those that the person is in, and otherwise uniform among the others.

**Privacy.** Of all reports a fraction phi = wW/(GN) has a given person in it, whatever c and s. So a report has one of
two probabilities, and the ratio is exactly T*(GN - wW)/((2^64-T)*wW).

**The own row.** Each of its cells is named with probability alpha = T/(2^64 W) in the window, and
beta = (1 - T/2^64)*w/(GN - wW) outside. So the row is named with probability P = W*alpha + (N-W)*beta, and another
given row with Q = (w-P)/(G-1), with each of its cells equally likely. Levels add up to 0, so the sum of the levels
named in row j is 0 on average for people of other groups, and (alpha - beta)*A(s) for its own, with A(s) as in the
window channel. Divided by (alpha - beta)*A(N-W) it is unbiased for the number of the people in group j, and 0 for all
others. ((1 if named) - Q)/(P - Q) is unbiased for membership in group j. The mean of a group is the ratio of these
averages.

**All groups.** Given the rows that are named, cells of different rows are independent, and those of rows other than the
own are 0 on average. So products of values of two rows average to 0: the sum over all rows is unbiased for the number,
and its mean square is the sum of the mean squares of the rows.

**The draw.** Of the reports without the person, a share w(N-W)/(GN - wW) names the own row with a cell outside the
window. A uniform integer below GN - wW decides: below w(N-W) it gives one of these N-W cells, and the own row is
named. The other rows are drawn as in the subset channel: w of the others if the own row is not named, w-1 if it is.
Each gets a uniform cell. All integers are always drawn, in the same order.

**Missing numbers.** With `optional`, each row has W further cells, merged into one output, the row's last: the window
of "missing". N counts them in all formulas above; their level is 0. The present people of a group are estimated by
three values: for the row not named, named with a number, and named with "missing".

For w = 1 the channel is a stack of windows; for N = 2 its outputs are sets of categories with a sign. docs/relations.md
compares it with the limit of all unbiased channels with linear decoding, and with mechanisms for keys with values: Ye
et al., PrivKV (2019); Gu et al., PCKV (2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations, compress, product
from math import comb
from typing import Any, ClassVar

from hush.core import codec
from hush.core.channels.alphabet import Alphabet, Grouped, Output, Symbols
from hush.core.channels.base import (
    Coins,
    Presence,
    Reading,
    State,
    Summed,
    exact_t,
    require,
    rounding_up,
    rounds_up,
)
from hush.core.channels.levels import Levelled, Levels
from hush.core.channels.squares import Squares
from hush.core.channels.subset import pairs_of
from hush.core.channels.two_level import Sorts, TwoLevel
from hush.core.channels.window import worst
from hush.core.exact import WORD
from hush.core.schema import MAX_CATEGORIES, Attribute, Categorical, Input, Numeric
from hush.errors import PlanError

MAX_MEMBERS = 1 << 16


@dataclass(frozen=True)
class Rows(Levelled, TwoLevel):
    """`weight` of `rows` rows with a cell in each; windows of `width` of the `size` cells of a row.

    `threshold`/2^64 is the probability that the report has the person in it. A state is a pair: the row, and the start
    of the window, None for "missing".
    """

    rows: int
    weight: int
    size: int
    width: int
    threshold: int
    levels: Levels = "even"
    optional: bool = False

    kind: ClassVar[str] = "rows"
    made: ClassVar[tuple[str, ...]] = ("_search", "grid")

    def __post_init__(self) -> None:
        codec.integer(self.rows, 2, MAX_CATEGORIES + 1, PlanError, "the number of rows")
        codec.integer(self.weight, 1, self.rows - 1, PlanError, "the weight of a rows channel")
        codec.integer(self.threshold, 1, WORD - 1, PlanError, "the threshold of a rows channel")
        self._check_levels()
        require(self.rows * self.group <= MAX_MEMBERS, f"a rows channel has at most {MAX_MEMBERS} cells")
        require(self.ratio > 1, "a report that has the person in it must be likelier than one that has not")

    # -- definition

    @property
    def group(self) -> int:
        """How many outputs a row has: its cells, and "missing"."""
        return self.size + self.optional

    @property
    def cells(self) -> int:
        """How many cells a row has, with those of "missing": N in the formulas."""
        return self.size + self.width * self.optional

    @property
    def _without(self) -> int:
        """GN - wW, in proportion to the reports that do not have a person in them."""
        return self.rows * self.cells - self.weight * self.width

    @cached_property
    def alphabet(self) -> Alphabet:
        """The sets of `weight` cells of different rows, or simply the cells if `weight` is 1."""
        members = self.rows * self.group
        return Symbols(members) if self.weight == 1 else Grouped(members, self.weight, self.group)

    def mismatch(self, attributes: Sequence[Attribute]) -> str | None:
        """Return why the channel cannot serve these attributes, or None if it can."""
        if len(attributes) != 2 or not isinstance(attributes[0], Categorical) or not isinstance(attributes[1], Numeric):
            return "a rows channel is for a category and a number, in this order"
        if len(attributes[0].labels) != self.rows:
            return f"the category has {len(attributes[0].labels)} values, the channel {self.rows} rows"
        if attributes[1].optional is not self.optional:
            return "the channel and the number must both be optional, or neither"
        return None

    # -- exact guarantees

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of one output's probability under two inputs, exactly."""
        return Fraction(self.threshold * self._without, (WORD - self.threshold) * self.weight * self.width)

    def states(self) -> Iterator[State]:
        """Every row with every start of a window, and then "missing"."""
        for row in range(self.rows):
            for start in range(self.last + 1):
                yield row, start
            if self.optional:
                yield row, None

    def _state(self, state: State) -> tuple[int, int | None]:
        require(type(state) is tuple and len(state) == 2, "the state of a rows channel is a row and a start")
        assert isinstance(state, tuple)
        row, start = state
        codec.integer(row, 0, self.rows - 1, PlanError, "the row of a state")
        if start is not None or not self.optional:
            codec.integer(start, 0, self.last, PlanError, "the start of a state")
        return row, start

    def law(self, state: State) -> dict[Output, Fraction]:
        """Return the exact probability of every output."""
        own, start = self._state(state)
        first = self.size if start is None else start
        total = comb(self.rows, self.weight) * self.cells**self.weight
        inside = total * self.weight * self.width // (self.rows * self.cells)  # reports that have the person in them
        likely = Fraction(self.threshold, WORD * inside)
        unlikely = Fraction(WORD - self.threshold, WORD * (total - inside))
        law: dict[Output, Fraction] = {}
        for rows in combinations(range(self.rows), self.weight):
            for cells in product(range(self.group), repeat=self.weight):
                merged = self.width ** sum(cell == self.size for cell in cells)
                here = any(
                    row == own and first <= cell < first + self.width for row, cell in zip(rows, cells, strict=True)
                )
                named = tuple(row * self.group + cell for row, cell in zip(rows, cells, strict=True))
                law[named[0] if self.weight == 1 else named] = merged * (likely if here else unlikely)
        return law

    def sorts(self, states: Sequence[State]) -> Sorts:
        """Sort reports by the states that are in them.

        Rows without any of these states are alike. Another row is not named, or named with one of its cells.
        """
        places = [self._state(state) for state in states]
        named: dict[int, Counter[tuple[bool, ...]]] = {}
        for row, _ in places:
            named[row] = Counter()
            for y in range(self.group):
                starts = [(own == row, self.size if start is None else start) for own, start in places]
                sort = tuple(here and start <= y < start + self.width for here, start in starts)
                named[row][sort] += self.width if y == self.size else 1
        ways: Counter[tuple[int, tuple[bool, ...]]] = Counter({(0, (False,) * len(places)): 1})
        for cells in named.values():
            after: Counter[tuple[int, tuple[bool, ...]]] = Counter(ways)
            for ((used, sort), count), (more, cell_count) in product(ways.items(), cells.items()):
                after[used + 1, tuple(a or b for a, b in zip(sort, more, strict=True))] += count * cell_count
            ways = after
        total = comb(self.rows, self.weight) * self.cells**self.weight
        unlikely = Fraction((WORD - self.threshold) * self.rows * self.cells, WORD * total * self._without)
        found: dict[tuple[bool, ...], Fraction] = {}
        for (used, sort), count in ways.items():
            rest = self.weight - used
            if 0 <= rest <= self.rows - len(named):
                all_ = count * comb(self.rows - len(named), rest) * self.cells**rest
                found[sort] = found.get(sort, Fraction(0)) + all_ * unlikely
        return found

    def opposites(self) -> list[tuple[State, State]]:
        """The first and the last window of one row, a number and "missing", and two rows."""
        found: list[tuple[State, State]] = [((0, 0), (0, self.last)), ((0, 0), (1, self.last))]
        if self.optional:
            found.append(((0, 0), (0, None)))
        return found

    def bystanders(self) -> list[State]:
        """The middle of the first row, and windows of the last."""
        return [(0, self.last // 2), (self.rows - 1, 0), (self.rows - 1, self.last)]

    def chances(self, state: State) -> list[Fraction]:
        """Return the exact probability that the report names each cell."""
        own, start = self._state(state)
        first = self.size if start is None else start
        merged = [1] * self.size + [self.width] * self.optional
        found = [self.q / self.cells * part for part in merged] * self.rows
        for y, part in enumerate(merged):
            inside = first <= y < first + self.width
            found[own * self.group + y] = (self.inside if inside else self.outside) * part
        return found

    @cached_property
    def inside(self) -> Fraction:
        """The probability alpha of a cell of the window."""
        return Fraction(self.threshold, WORD * self.width)

    @cached_property
    def outside(self) -> Fraction:
        """The probability beta of a cell of the own row outside the window."""
        return Fraction((WORD - self.threshold) * self.weight, WORD * self._without)

    @cached_property
    def p(self) -> Fraction:
        """The probability P that the own row is named."""
        return self.width * self.inside + (self.cells - self.width) * self.outside

    @cached_property
    def q(self) -> Fraction:
        """The probability Q that another given row is named."""
        return (self.weight - self.p) / (self.rows - 1)

    @cached_property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """The probability that two given rows are named: the own one and another, or two others."""
        return pairs_of(self.p, self.rows, self.weight)

    @cached_property
    def gain(self) -> Fraction:
        """The divisor that turns a level into a value."""
        return (self.inside - self.outside) * self._window_sums[-1]

    @cached_property
    def memberships(self) -> tuple[Fraction, Fraction]:
        """The values of membership in a group: if its row is not named, and if it is."""
        return -self.q / (self.p - self.q), (1 - self.q) / (self.p - self.q)

    @cached_property
    def presences(self) -> tuple[Fraction, ...]:
        """The values of presence in a group: not named, named with a number, and (if optional) with "missing".

        They solve three equations: the average is 1 for the present people of the group, 0 for its missing people, and
        0 for everybody else.
        """
        if not self.optional:
            return self.memberships
        p, q, hit, miss = self.p, self.q, self.width * self.inside, self.width * self.outside
        gap = 1 / (hit - miss)
        merged = Fraction(self.width, self.cells)
        here = gap * (hit * (1 - q) - (1 - p) * q * merged) / (p - q)
        return (q * merged * gap - q * here) / (1 - q), here, here - gap

    def decode(self, output: Output) -> tuple[Fraction, ...]:
        """Return memberships of all groups, then their values, and for an optional number then their presences."""
        self.alphabet.check(output)
        members = (output,) if isinstance(output, int) else output
        named = {member // self.group: member % self.group for member in members}
        groups = range(self.rows)
        values = [
            self.cell_levels[named[j]] / self.gain if named.get(j, self.size) < self.size else Fraction(0)
            for j in groups
        ]
        found = [*(self.memberships[j in named] for j in groups), *values]
        if self.optional:
            found += [self.presences[0 if j not in named else 1 + (named[j] == self.size)] for j in groups]
        return tuple(found)

    def truth(self, state: State) -> tuple[Fraction, ...]:
        """Return the average of `decode`: 1, the number and 1 for the own group, and 0 for all others."""
        row, start = self._state(state)
        mean = Fraction(0) if start is None else Fraction(self._window_sums[start], self._window_sums[-1])
        own = [Fraction(j == row) for j in range(self.rows)]
        found = [*own, *(mean * one for one in own)]
        return tuple([*found, *((start is not None) * one for one in own)] if self.optional else found)

    @cached_property
    def knots(self) -> list[tuple[Fraction, Fraction]]:
        """The input mu_s of every start, and the mean square of the value of the own row."""
        squares = [0, *accumulate(a * a for a in self.cell_levels)]
        scale, total = self.gain**2, self._window_sums[-1]
        extra, base = (self.inside - self.outside) / scale, squares[-1] * self.outside / scale
        return [
            (Fraction(a, total), base + (squares[s + self.width] - squares[s]) * extra)
            for s, a in enumerate(self._window_sums)
        ]

    @cached_property
    def elsewhere(self) -> Fraction:
        """The mean square of the value of a row other than the own."""
        return self.q / self.cells * sum(a * a for a in self.cell_levels) / self.gain**2

    def variance(self, t: Fraction | float) -> Fraction:
        """Return the exact variance of the sum over all rows for a present number t, rounding included."""
        value = exact_t(t)
        for (left, low), (right, high) in zip(self.knots, self.knots[1:], strict=False):
            if value <= right:
                own = low + (high - low) * (value - left) / (right - left)
                return own + (self.rows - 1) * self.elsewhere - value * value
        raise AssertionError("knots end at 1")

    @cached_property
    def worst_variance(self) -> Fraction:
        """The largest variance over all t in [-1, 1]."""
        return worst([(t, own + (self.rows - 1) * self.elsewhere) for t, own in self.knots])

    def rounding(self, inputs: Sequence[Input]) -> dict[State, Fraction]:
        """Return the exact probability of the one or two states to which the inputs may be rounded."""
        row, u = inputs
        if u is None:
            return {(row, None): Fraction(1)}
        s, up = self._between(u)
        share = rounding_up(up)
        return {(row, start): p for start, p in ((s, 1 - share), (s + 1, share)) if p}

    # -- the device

    def state(self, inputs: Sequence[Input], coins: Coins) -> State:
        """Return the row, and the start of the window after rounding. One word, also for None (missing)."""
        row, u = inputs
        s, up = self._between(0.5 if u is None else u)
        start = s + rounds_up(up, coins.word())
        return row, None if u is None else start

    def draw(self, state: State, coins: Coins) -> Output:
        """Return a set of cells. A word for the coin, and 2 + 2w integers."""
        assert isinstance(state, tuple)
        row, start = state
        first = self.size if start is None else start
        cells, width, weight = self.cells, self.width, self.weight
        here = coins.toss(self.threshold)
        within = first + coins.below(width)
        place = coins.below(self._without)
        beside = place % (cells - width)
        beside += width * (beside >= first)
        own = here | (place < weight * (cells - width))  # both are computed, whatever the coin
        marks = bytearray(self.rows - 1)
        other, *picks = coins.several(range(self.rows - weight, self.rows))
        marks[other] = not own
        for top, pick in enumerate(picks, self.rows - weight):
            marks[top if marks[pick] else pick] = 1
        named = compress(range(self.rows), b"".join((marks[:row], bytes([own]), marks[row:])))
        mine = within if here else beside
        members = []
        for j, cell in zip(named, coins.several((cells,) * weight), strict=True):
            members.append(j * self.group + min(mine if j == row else cell, self.size if self.optional else cells))
        return members[0] if weight == 1 else tuple(members)

    # -- the server

    def readings(self, counts: Sequence[int], n: int) -> Sequence[Reading | Summed]:
        """Return the share of every group, and the mean over all groups (of the present; and the share of missing)."""
        pair = float(self.memberships[0]), float(self.memberships[1])
        found: list[Reading | Summed] = []
        for j in range(self.rows):
            named = sum(counts[j * self.group : (j + 1) * self.group])
            found.append(Reading(0, j, (n - named, named), pair))
        found.append(self._total(counts, n))
        if self.optional:
            found.append(self._missing(counts, n))
        return found

    def groups(self, counts: Sequence[int], n: int) -> list[Reading]:
        """Return the mean of the number in every group, as a ratio of values and presence."""
        found = []
        for j in range(self.rows):
            cells = counts[j * self.group : (j + 1) * self.group]
            found.append(Reading(1, None, (n - sum(cells), *cells), self._values, self._presence, self.squares))
        return found

    @cached_property
    def _values(self) -> list[float]:
        """The values of a row: not named, each cell, and "missing"."""
        cells = [float(level / self.gain) for level in self.cell_levels]
        return [0.0, *cells, *[0.0] * self.optional]

    @cached_property
    def _presence(self) -> list[float]:
        """The presences of a row: not named, each cell, and "missing"."""
        absent, *named = map(float, self.presences)
        return [absent, *[named[0]] * self.size, *named[1:]]

    @cached_property
    def squares(self) -> Squares:
        """Bounds of the variance of the mean of a group, before any report."""
        absent, *named = self.presences
        here, gone = named[0], named[-1]
        q, merged = self.q, Fraction(self.width * self.optional, self.cells)
        others = (1 - q) * absent**2 + q * ((1 - merged) * here**2 + merged * gone**2)
        miss = self.width * self.outside * self.optional
        present = (1 - self.p) * absent**2 + (self.p - miss) * here**2 + miss * gone**2
        kinds = [(float(self.elsewhere), float(others))]
        if self.optional:
            hit = self.width * self.inside
            square = (1 - self.p) * absent**2 + (self.p - hit) * here**2 + hit * gone**2
            value = self.outside * sum(a * a for a in self.cell_levels) / self.gain**2
            kinds.append((float(value), float(square)))
        points = [(float(t), float(own)) for t, own in self.knots]
        return Squares.of(points, float(present - 2 * here), kinds)

    def _total(self, counts: Sequence[int], n: int) -> Summed:
        """Return the average of the sum over all rows."""
        levels, gain = self.cell_levels, float(self.gain)
        rest = (self.rows - 1) * self.elsewhere
        points = [(float(t), float(own + rest)) for t, own in self.knots]
        largest = self.weight * levels[-1] / gain
        mean = square = None
        if n:
            by_level = [sum(counts[y :: self.group]) for y in range(self.size)]
            mean = sum(count * level for count, level in zip(by_level, levels, strict=True)) / gain / n
            square = sum(count * level * level for count, level in zip(by_level, levels, strict=True)) / gain**2 / n
        if not self.optional:
            return Summed(1, None, n, mean, square, -largest, largest, Squares.of(points))
        # Presence over all rows depends on the number M of rows that are named with "missing" alone.
        absent, here, gone = self.presences
        base, step = self.rows * absent + self.weight * (here - absent), gone - here
        ends = sorted((float(base), float(base + self.weight * step)))
        seen = [base**2 + 2 * base * step * m + step**2 * m2 for m, m2 in self._gaps]
        squares = Squares.of(points, float(seen[1] - 2 * self._product), [(float(self._absent), float(seen[0]))])
        presence = Presence(None, None, None, *ends)
        if n and mean is not None:
            average = base + step * Fraction(sum(counts[self.size :: self.group]), n)
            share = float(average)
            presence = Presence(
                share, float(seen[0] + average * (seen[1] - seen[0])), mean * float(self._product), *ends
            )
        return Summed(1, None, n, mean, square, -largest, largest, squares, presence)

    @cached_property
    def _gaps(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """The averages of M and M^2, where M rows are named with "missing": for a missing and for a present person."""
        merged, (together, apart) = Fraction(self.width, self.cells), self.pairs
        others = self.rows - 1
        found = []
        for own in (self.width * self.inside, self.width * self.outside):
            mean = own + others * self.q * merged
            # The own row is named with "missing" in a share own/P of the reports that name it, whatever the others.
            pairs = 2 * others * together * own / self.p * merged + others * (others - 1) * apart * merged**2
            found.append((mean, mean + pairs))
        return found[0], found[1]

    @property
    def _product(self) -> Fraction:
        """E[value*presence | t]/t, for sums over all rows: given the own cell, only the other rows' "missing" vary."""
        absent, here, gone = self.presences
        base, step = self.rows * absent + self.weight * (here - absent), gone - here
        return base + step * (self.weight - 1) * Fraction(self.width, self.cells)

    @property
    def _absent(self) -> Fraction:
        """E[value^2] of the sum over all rows for a missing person."""
        own = self.outside * sum(a * a for a in self.cell_levels) / self.gain**2
        return own + (self.rows - 1) * self.elsewhere

    def _missing(self, counts: Sequence[int], n: int) -> Summed:
        """Return the share of missing: 1 minus presence over all rows."""
        absent, here, gone = self.presences
        base, step = 1 - self.rows * absent - self.weight * (here - absent), here - gone
        low, high = sorted((float(base), float(base + self.weight * step)))
        squares = [base**2 + 2 * base * step * m + step**2 * m2 for m, m2 in self._gaps]
        line = Squares.of([(0.0, float(squares[1])), (1.0, float(squares[0]))])
        if not n:
            return Summed(1, 0, 0, None, None, low, high, line)
        mean = base + step * Fraction(sum(counts[self.size :: self.group]), n)
        return Summed(1, 0, n, float(mean), float(squares[1] + mean * (squares[0] - squares[1])), low, high, line)

    # -- the plan

    def to_json(self) -> dict[str, Any]:
        """Return the channel as JSON values."""
        return {
            "kind": self.kind,
            "rows": self.rows,
            "weight": self.weight,
            "size": self.size,
            "width": self.width,
            "threshold": str(self.threshold),
            "levels": self.levels if self.levels == "even" else list(self.levels),
            "optional": self.optional,
        }

    @classmethod
    def from_json(cls, value: Any) -> Rows:
        """Read a channel back."""
        names = ("rows", "weight", "size", "width", "threshold", "levels", "optional")
        rows, weight, size, width, threshold, levels, optional = cls._fields(value, *names)
        if levels != "even":
            levels = tuple(codec.listed(levels, PlanError, 'levels (if not "even")'))
        return cls(rows, weight, size, width, codec.big(threshold, PlanError, "a threshold"), levels, optional)
