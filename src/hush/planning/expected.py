"""The tally that a collection would have if every count were its average: what predictions of relations read.

The functions that will read real tallies read this one, so predictions have the formulas and intervals of estimates,
and follow them when they change. Nothing is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

from hush.core.channels import Cells, Channel, Geometry, Picks, Rows, Symbols
from hush.core.channels.indicator import Indicator
from hush.core.plan import Plan
from hush.core.schema import Input, Numeric
from hush.core.views import Product
from hush.core.word_views import Member
from hush.planning.assumed import Guess, Guesses, Law, checked, grid, law_of, missing_of, together
from hush.planning.wide import whole
from hush.server.tally import Tally

ALONE = 1024
"""Positions of a number that a question looks at alone."""

BESIDE = 48
"""Positions of a number that a question looks at together with something else."""

BELL = 0.2
"""The standard deviation of typical numbers of which moments are asked, as a part of their range."""

_ROOM = 10_000  # pairs of inputs of a question about two attributes, at most: else a number has fewer positions
_FEWEST = 4


class Crowd:
    """The assumed people of a plan: typical ones, except for what is guessed or given as a law.

    It remembers the average reports of its questions, which do not depend on how many people there are. `laws` has the
    inputs of attributes that are neither typical nor guessed, with their shares.
    """

    def __init__(self, plan: Plan, guesses: Guesses | None = None, laws: Mapping[str, Law] | None = None) -> None:
        self.plan, self.guesses, self.laws = plan, checked(guesses, plan.schema), dict(laws or {})
        self._known: dict[int, list[float]] = {}
        self._items: dict[int, dict[Any, float]] = {}

    def like(self, laws: Mapping[str, Law]) -> Crowd:
        """Return other people, with these laws of some attributes. What is known of the other questions is kept."""
        found = Crowd(self.plan)
        found.guesses, found.laws = self.guesses, {**self.laws, **laws}
        for index, chances in self._known.items():
            if set(laws).isdisjoint(self.plan.questions[index].attributes):
                found._known[index] = chances
        return found

    def tally(self, people: int, about: Sequence[str] = ()) -> Tally:
        """Return the tally of the average counts of this many people, rounded to whole numbers.

        With `about`, only the questions that look at one of these attributes are counted so. The others, and those that
        no relation is read from, have counts that are possible, and mean nothing.
        """
        plan = self.plan
        answered = whole([people * float(share) for share in plan.inclusions], people * plan.k)
        counts: list[Sequence[int]] = []
        for index, (question, n) in enumerate(zip(plan.questions, answered, strict=True)):
            if self._is_read(index) and (not about or not set(about).isdisjoint(question.attributes)):
                counts.append(_counts(question.channel, self._chances(index), n))
            else:
                counts.append(_any_counts(question.channel, n))
        return Tally(plan, people, answered, counts)

    def _is_read(self, index: int) -> bool:
        """Say whether relations are read from a question: from sets, and for moments from numbers."""
        question = self.plan.questions[index]
        if len(question.attributes) > 2 or isinstance(question.channel, Geometry | Picks):
            return False
        if isinstance(question.channel, Indicator | Cells | Rows):
            return not any(isinstance(view, Member) for view in question.views)
        return bool(self._moments & set(question.attributes))

    @cached_property
    def _moments(self) -> set[str]:
        """The numbers of which products are asked."""
        views = (view for question in self.plan.questions for view in question.views)
        return {name for view in views if isinstance(view, Product) for name in view.of}

    def shares(self, index: int) -> dict[Any, float]:
        """Return the shares of the items of a question whose reports are sets: of its groups, if they have numbers."""
        if index not in self._items:
            states = self._states(index)
            if isinstance(self.plan.questions[index].channel, Rows):
                found: dict[Any, float] = {}
                for (row, _), weight in states.items():
                    found[row] = found.get(row, 0.0) + weight
                states = found
            self._items[index] = states
        return self._items[index]

    def _chances(self, index: int) -> list[float]:
        """Return the average counts of one report to a question."""
        if index not in self._known:
            channel = self.plan.questions[index].channel
            if isinstance(channel, Indicator | Cells | Rows):
                self._known[index] = _averages(channel, self._states(index))
            else:
                self._known[index] = _of_numbers(channel, self._seen(index))
        return self._known[index]

    def _states(self, index: int) -> dict[Any, float]:
        """Return the shares of the states in which people answer a question."""
        channel, states = self.plan.questions[index].channel, dict[Any, float]()
        if isinstance(channel, Rows):  # numbers are rounded alike in all groups
            starts: dict[Input, list[tuple[int | None, float]]] = {}
            for (row, u), weight in self._seen(index).items():
                if u not in starts:
                    starts[u] = _starts(channel, u)
                for start, share in starts[u]:
                    states[row, start] = states.get((row, start), 0.0) + weight * share
            return states
        for key, weight in self._seen(index).items():
            for state, chance in channel.rounding(key).items():
                states[state] = states.get(state, 0.0) + weight * float(chance)
        return states

    def _seen(self, index: int) -> dict[tuple[Input, ...], float]:
        """Return the shares of what a question sees of people."""
        plan, question = self.plan, self.plan.questions[index]
        places = [plan.schema.names.index(name) for name in question.attributes]
        inputs: list[Input] = [0.5 if isinstance(item, Numeric) else 0 for item in plan.schema.attributes]
        seen: dict[tuple[Input, ...], float] = {}
        for combination, weight in self._inputs(question.attributes):
            for place, value in zip(places, combination, strict=True):
                inputs[place] = value
            key = tuple(plan.seen(index, inputs))
            seen[key] = seen.get(key, 0.0) + weight
        return seen

    def _inputs(self, names: Sequence[str]) -> list[tuple[tuple[Input, ...], float]]:
        """Return the inputs of some attributes together, with the share of the people who have them."""
        if len(names) == 2 and frozenset(names) in self.guesses and not set(names) & set(self.laws):
            return self._associated(names)
        size = ALONE if all(name not in self._moments for name in names) else BESIDE
        if len(names) > 1:
            others = math.prod(
                1 if isinstance(item := self.plan.schema[name], Numeric) else len(getattr(item, "labels", ()))
                for name in names
            )
            size = max(min(BESIDE, _ROOM // others), _FEWEST)
        laws = [self.laws.get(name) or law_of(self.plan.schema[name], self._guess(name), size) for name in names]
        return [
            (tuple(value for value, _ in combination), math.prod(weight for _, weight in combination))
            for combination in product(*laws)
        ]

    def _guess(self, name: str) -> Any:
        """Return what is guessed of an attribute. Numbers of moments are typically a bell: their spread decides all."""
        guess, attribute = self.guesses.get(name), self.plan.schema[name]
        if name not in self._moments or not isinstance(attribute, Numeric) or (guess and guess.mean is not None):
            return guess
        width = attribute.high - attribute.low
        return Guess(attribute.low + width / 2, BELL * width, missing_of(attribute, guess))

    def _associated(self, names: Sequence[str]) -> list[tuple[tuple[Input, ...], float]]:
        """Return the inputs of two numbers whose association is guessed. Missing ones are independent of it."""
        schema, laws, grids = self.plan.schema, [], []
        for name in names:
            number = schema[name]
            assert isinstance(number, Numeric)
            laws.append(law_of(number, self._guess(name), BESIDE))
            grids.append(grid(number, self._guess(name), BESIDE))
        gone = [math.fsum(weight for value, weight in law if value is None) for law in laws]
        pairs = product(grids[0][0], grids[1][0])
        both = together(grids[0][1], grids[1][1], self.guesses[frozenset(names)])
        present = (1 - gone[0]) * (1 - gone[1])
        found: list[tuple[tuple[Input, ...], float]] = [
            ((x, y), present * share) for (x, y), share in zip(pairs, both, strict=True) if share
        ]
        for (x, a), (y, b) in product(*laws):
            if x is None or y is None:
                found.append(((x, y), a * b))
        return found


def _starts(channel: Rows, u: Input) -> list[tuple[int | None, float]]:
    """Return the windows to which a number is rounded, with their shares."""
    found = []
    for state, share in channel.rounding([0, u]).items():
        assert isinstance(state, tuple)
        found.append((state[1], float(share)))
    return found


def _averages(channel: Indicator | Cells | Rows, states: Mapping[Any, float]) -> list[float]:
    """Return the average counts of one report of people in these states."""
    if isinstance(channel, Rows):
        return _of_rows(channel, states)
    one = channel.whole if isinstance(channel, Cells) else channel
    p, q, total = float(one.p), float(one.q), math.fsum(states.values())
    return [q * total + (p - q) * states.get(item, 0.0) for item in range(one.size)]


def _of_numbers(channel: Channel, seen: Mapping[tuple[Input, ...], float]) -> list[float]:
    """Return the same of a question about one number. One that has no likelihood is read together with others."""
    found = [0.0] * channel.alphabet.size
    for (u, *_), weight in seen.items():
        assert u is None or isinstance(u, float)
        law = channel.likelihood(u)
        if law is None:
            law = [float(chance) for chance in channel.expected([u])]
        for member, chance in enumerate(law):
            if chance:
                found[member] += weight * chance
    return found


def _of_rows(channel: Rows, states: Mapping[Any, float]) -> list[float]:
    """Return the same for a rows channel, whose states are many: rows that are not one's own are all alike."""
    merged = [1] * channel.size + [channel.width] * channel.optional
    inside, outside, other = float(channel.inside), float(channel.outside), float(channel.q / channel.cells)
    total = math.fsum(states.values())
    found = [total * other * part for part in merged] * channel.rows
    for (row, start), weight in states.items():
        first = channel.size if start is None else start
        for y, part in enumerate(merged):
            here = inside if first <= y < first + channel.width else outside
            found[row * channel.group + y] += weight * part * (here - other)
    return found


def _counts(channel: Channel, chances: Sequence[float], n: int) -> list[int]:
    """Return whole counts near n times the chances, which add up as those of real reports do."""
    if isinstance(channel.alphabet, Symbols):
        return whole(chances, n)
    if isinstance(channel, Rows):  # no row is named more often than there are reports
        rows = [chances[at : at + channel.group] for at in range(0, len(chances), channel.group)]
        named = whole([math.fsum(row) for row in rows], n * channel.weight)
        return [count for row, total in zip(rows, named, strict=True) for count in whole(row, total)]
    weight = getattr(channel.alphabet, "weight", None)
    return [round(n * chance) for chance in chances] if weight is None else whole(chances, n * weight)


def _any_counts(channel: Channel, n: int) -> Sequence[int]:
    """Return counts that n reports may have."""
    alphabet = channel.alphabet
    counts = alphabet.zeros()
    if isinstance(alphabet, Symbols):
        counts[0] = n
        return counts
    weight = alphabet.weight or 0  # type: ignore[attr-defined]
    group = getattr(alphabet, "group", 1)
    for at in range(weight):  # one set of its own kind: a member of each of the first groups
        counts[at * group] = n
    return counts
