"""Choices of whole columns: lists become marks, and the picks channel draws from them, as the scalar one does.

A column of choices has a row for each person and an int16 for each value: 0, or 1 if the person holds it, and 2 in all
of them if the list is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hush.batch.draws import GROUP, LOW_SIX, ONE, SIX, ZERO, Array, add_bits, add_members
from hush.batch.native import compiled, flag, pointer, shifted, shorts_at
from hush.core import schema as rules
from hush.core.schema import Choices

OTHERS = 32  # words of working memory for the items that a person does not hold: there are at most 1025


@compiled
def mark_values(offsets: Array, codes: Array, marks: Array) -> Any:
    """Mark the values of lists, and return how many lists have an undeclared value, and how many have one twice."""
    unknown, repeated = 0, 0
    for person in range(len(offsets) - 1):
        bad, twice = 0, 0
        for at in range(offsets[person], offsets[person + 1]):
            code = codes[at]
            if code < 0:
                bad = 1
            else:
                twice |= marks[person, code]
                marks[person, code] = 1
        unknown += bad
        repeated += twice
    return unknown, repeated


def listed(choices: Choices, column: pa.Array) -> tuple[Array, dict[str, int]]:
    """Return the marks of a column of lists, and the number of rows that break each rule."""
    if pa.types.is_dictionary(column.type):  # its dictionary may hold nulls, which count as missing too
        column = column.dictionary_decode()
    n, nulls = len(column), column.null_count
    marks = np.zeros((n, len(choices.values)), dtype=np.int16)
    faults = {} if choices.optional else {rules.ABSENT: nulls}
    if nulls < n:
        kind = column.type
        if not is_list(kind) or not (_is_text(kind.value_type) or pa.types.is_null(kind.value_type)):
            return marks, faults | {rules.NOT_A_LIST: n - nulls}
        lengths = np.asarray(pc.list_value_length(column).fill_null(0), dtype=np.int64)
        values = pc.list_flatten(column)
        if values.null_count:
            return marks, faults | {rules.NOT_A_LIST: n - nulls}
        declared = pa.array(choices.values, type=pa.large_string())
        codes = pc.index_in(values.cast(pa.large_string()), value_set=declared).fill_null(-1)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        unknown, repeated = mark_values(offsets, np.asarray(codes, dtype=np.int64), marks)
        faults |= {choices.undeclared: unknown, rules.REPEATED: repeated}
        faults[choices.too_many] = int((lengths > choices.most).sum())
    if nulls:
        marks[np.asarray(column.is_null())] = 2
    return marks, faults


def is_list(kind: pa.DataType) -> bool:
    """Return whether a column has lists."""
    checks = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(check(kind) for check in checks)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


@compiled
def member_look(scene: Any) -> None:
    """Whether people hold one of some choices: 0 or 1, or 2 if the list is missing."""
    source, people, found = shorts_at(scene.columns[0]), pointer(scene.people), pointer(scene.categories)
    width, place = np.int64(scene.floats[0]), np.int64(scene.floats[1])
    for i in range(len(scene.people)):
        found[i] = source[np.int64(people[i]) * width + place]


@compiled
def picks_kernel(job: Any, done: int, words: Array, at: int, limit: int) -> Any:
    """Sets of values and blanks; a person holds some of them.

    Which of the held items are in the set is one word, `own`, as nobody holds more than 64. `others` are those among
    the items that are not held. Then every item takes the next bit of one of the two.
    """
    people, places, output = job.people, job.places, job.output
    z, stream, column = pointer(job.integers), pointer(words), shorts_at(job.columns[0])
    others, found = pointer(job.scratch), shifted(pointer(job.scratch), OTHERS)
    size, held, weight, values = np.int64(z[0]), np.int64(z[1]), np.int64(z[2]), np.int64(z[3])
    items, most = size + held, np.int64(z[4])
    mine = shifted(z, 5 + most)
    theirs = shifted(mine, 1 + GROUP * np.int64(mine[0]))
    while done < len(people):
        start = at
        hits = ZERO
        for h in range(most):
            hits += flag(stream[at] >= z[5 + h])
        at += 1
        own, at = add_bits(stream, at, limit, ONE, mine, np.uint64(held) - hits)
        for part in range((size >> 6) + 1):
            others[part] = ZERO
        at = add_members(stream, at, limit, np.uint64(size - weight + 1), theirs, hits, others)
        if at > limit:
            return done, start
        for part in range((items + 63) >> 6):
            found[part] = ZERO
        row = np.int64(people[done]) * values
        symbol, next_own, next_other = ZERO, ZERO, ZERO
        for item in range(items):
            if item < values:
                mark = np.uint64(np.int64(column[row + item])) & ONE
            elif item < size:
                mark = np.uint64(np.int64(column[row])) >> ONE
            else:
                mark = flag(next_own < np.uint64(held))
            bit = (own >> (next_own & LOW_SIX)) & mark
            bit |= (others[np.int64(next_other >> SIX)] >> (next_other & LOW_SIX)) & (mark ^ ONE)
            next_own += mark
            next_other += mark ^ ONE
            found[item >> 6] |= bit << np.uint64(item & 63)
            symbol |= np.uint64(item) & (ZERO - bit)
        if weight == 1:
            output[places[done]] = np.int64(symbol)
        else:
            for part in range((items + 63) >> 6):
                output[places[done] + part] = np.int64(found[part])
        done += 1
    return done, at
