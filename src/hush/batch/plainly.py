"""The same rows in plain Python, for few people and kernels that are not compiled yet.

Numba takes some seconds to compile the kernels of a plan, once on each machine. Some thousand people have their reports
much earlier if they are drawn as a single device draws them: from the same words, so that the reports are the same. As
on a device, words and inputs are then also ordinary Python objects for a moment, which nothing clears.

`HUSH_COMPILE=1` compiles in any case.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from hush.batch.counters import OUTSIDE, SPARE_BITS, SYMBOL, UNKNOWN, WRONG_PARTS, WRONG_SET
from hush.batch.native import ready
from hush.core.channels import Output, Subsets
from hush.core.coins import Coins
from hush.core.columnar import WORD_BITS
from hush.core.dealing import questions
from hush.core.plan import Plan
from hush.core.schema import Attribute, Categorical, Input, Numeric, Schema

FEW = 1 << 14
"""How many answers a process draws or counts without a kernel at most: that takes less time than to compile one."""

Array = np.ndarray[Any, Any]
_done: Counter[tuple[Any, ...]] = Counter()
_always: list[None] = []


def few(answers: int, *kernels: Any) -> bool:
    """Return whether to do without these kernels. A process that has many small tables has many people too."""
    if _done[kernels] + answers > FEW or _always or "HUSH_COMPILE" in os.environ or ready(*kernels):
        return False
    _done[kernels] += answers
    return True


@contextmanager
def kernels_only() -> Iterator[None]:
    """Compile in any case, in here."""
    _always.append(None)
    try:
        yield
    finally:
        _always.pop()


class Dealt(Protocol):
    """A block of words and the place of the next one, as in `hush.batch.engine`."""

    words: Array
    at: int
    limit: int

    def refill(self) -> None:
        """Top up the block."""


class _Words(Coins):
    """The words of a block, one after the other."""

    def __init__(self, words: Dealt) -> None:
        self._words = words

    def word(self) -> int:
        """Return the next word."""
        held = self._words
        if held.at == held.limit:
            held.refill()
        held.at += 1
        return int(held.words[held.at - 1])


# -- drawing


def can_draw(schema: Schema) -> bool:
    """Return whether all columns are numbers and categories. Choices and texts are kept in the kernels' own form."""
    return all(isinstance(attribute, Numeric | Categorical) for attribute in schema.attributes)


def draw(
    plan: Plan, columns: list[Array], words: Dealt
) -> tuple[list[list[int]], list[list[Output]], Callable[[], int]]:
    """Draw the questions of each person and the answers, question by question. Return both, and a source of words."""
    coins = _Words(words)
    people = [list(inputs) for inputs in zip(*map(_inputs, plan.schema.attributes, columns), strict=True)]
    asked = [questions(plan, coins) for _ in people]
    answers: list[list[Output]] = [[] for _ in people]
    for index, question in enumerate(plan.questions):
        for inputs, mine, found in zip(people, asked, answers, strict=True):
            if index in mine:
                found.append(question.channel.answer(plan.seen(index, inputs), coins))
    return asked, answers, coins.word


def _inputs(attribute: Attribute, column: Array) -> Iterator[Input]:
    """Return the inputs of a checked column, as `Schema.encode` has them."""
    if isinstance(attribute, Numeric):
        low, high = attribute.low, attribute.high
        return (None if x != x else (min(max(x, low), high) - low) / (high - low) for x in column.tolist())
    return iter(column.tolist())


def rows_of(plan: Plan, index: int, output: Output) -> list[int]:
    """Return an answer as the rows of `spec/reports.md`: a symbol, or the signed words of a set."""
    alphabet = plan.questions[index].channel.alphabet
    if not isinstance(alphabet, Subsets):
        assert isinstance(output, int)
        return [output]
    assert isinstance(output, tuple)
    bits = sum(1 << member for member in output)
    parts = range(-(-alphabet.size // WORD_BITS))
    words = (bits >> WORD_BITS * part & (1 << WORD_BITS) - 1 for part in parts)
    return [word - (word >> WORD_BITS - 1 << WORD_BITS) for word in words]


# -- counting


def count_rows(
    attribute: Array,
    part: Array,
    output: Array,
    sizes: Array,
    starts: Array,
    rows: Array,
    weights: Array,
    slots: Array,
    masks: Array,
    answered: Array,
    counts: Array,
    open_set: Array,
    faults: Array,
) -> None:
    """Count rows of any plan, by the rules of the kernel of this name. Members are counted at once."""
    opened, seen, members, taken = (int(value) for value in open_set)
    found: dict[int, int] = {}
    blocks = part.tolist() if len(part) else [0] * len(attribute)
    for index, block, value in zip(attribute.tolist(), blocks, output.tolist(), strict=True):
        if not 0 <= index < len(sizes):
            faults[len(sizes), UNKNOWN] += 1
            continue
        if block != seen or (block and index != opened):
            faults[index, WRONG_PARTS] += 1
            continue
        weight, size, start = int(weights[index]), int(sizes[index]) - WORD_BITS * block, int(starts[index])
        answered[index] += block == 0
        if weight == SYMBOL:
            if 0 <= value < size:
                found[start + value] = found.get(start + value, 0) + 1
            else:
                faults[index, OUTSIDE] += 1
            continue
        word = value % (1 << WORD_BITS)
        if word >> max(size, 0):
            faults[index, SPARE_BITS] += 1
        if weight >= 0:
            tops, begins, before, after = (int(mask) for mask in masks[int(slots[index]) + block])
            members += word.bit_count()
            last = block == rows[index] - 1
            twice = word & ((word | tops) - begins) or (taken and word & before)
            if twice or (last and members != weight):
                faults[index, WRONG_SET] += 1
            # A group that fills the whole part goes on with the members that it has.
            taken = int(bool(word & after or (taken and before & after)))
        opened, seen = index, seen + 1
        if seen == rows[index]:
            seen = members = taken = 0
        first = start + WORD_BITS * block
        for member in range(min(size, WORD_BITS)):
            if word >> member & 1:
                found[first + member] = found.get(first + member, 0) + 1
    open_set[:] = opened, seen, members, taken
    for place, count in found.items():
        counts[place] += count
