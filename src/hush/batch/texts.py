"""Texts of whole columns: each becomes the bits of its code, and views hash its first bits, as the scalar path does.

A column of texts has three words for each person: the code of at most 128 bits, filled up with zeros at its end,
and 1 if the text is missing. Every distinct text of a column is coded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hush.batch.draws import ONE, ZERO, Array, either
from hush.batch.native import compiled, flag, ints_at, pointer, words_at
from hush.core import texts as rules
from hush.core.schema import ABSENT
from hush.core.texts import MAX_BITS, Text
from hush.errors import RecordError

WORDS = 3
_HALF = (1 << 64) - 1
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
STEP, LEVEL = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_30, _27, _31, _64 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(64)


def coded(text: Text, column: pa.Array) -> tuple[Array, dict[str, int]]:
    """Return the codes of a column of texts, and the number of rows that break each rule."""
    n, nulls = len(column), column.null_count
    found = np.zeros((n, WORDS), dtype=np.uint64)
    faults = {} if text.optional else {ABSENT: nulls}
    if nulls == n:
        found[:, 2] = 1
        return found, faults
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        return found, faults | {rules.NOT_A_TEXT: n - nulls}
    entries = pc.dictionary_encode(column.cast(pa.large_string()))
    codes, broken = np.zeros((len(entries.dictionary), 2), dtype=np.uint64), np.zeros(len(entries.dictionary), bool)
    shift = MAX_BITS - text.bits
    for place, value in enumerate(entries.dictionary.to_pylist()):
        try:
            code = (text.encode(value) or 0) << shift
        except RecordError:
            broken[place] = True
        else:
            codes[place] = code >> 64, code & _HALF
    places = np.asarray(entries.indices.fill_null(0))
    missing = np.asarray(column.is_null())
    found[:, :2] = codes[places]
    found[:, 2] = missing
    return found, faults | {rules.TOO_LONG: int((broken[places] & ~missing).sum())}


@compiled
def prefix_look(scene: Any) -> None:
    """The points of prefixes. floats: the points, the bits of each chunk."""
    source, people, f = words_at(scene.columns[0]), pointer(scene.people), pointer(scene.floats)
    found = ints_at(np.uint64(scene.numbers.ctypes.data))
    points, chunks = np.uint64(f[0]), len(scene.floats) - 1
    for i in range(len(scene.people)):
        at = np.int64(people[i]) * 3
        high, low, missing = source[at], source[at + 1], source[at + 2]
        state = ZERO
        for level in range(chunks):
            width = np.uint64(f[1 + level])
            # The chunk is on top of 128 bits, which then move on.
            chunk = either(flag(width == ZERO), ZERO, high >> (_64 - either(flag(width == ZERO), ONE, width)))
            high = (high << width) | either(
                flag(width == ZERO), ZERO, low >> (_64 - either(flag(width == ZERO), ONE, width))
            )
            low = low << width
            x = state + (chunk + ONE) * STEP + np.uint64(level) * LEVEL
            x = (x ^ (x >> _30)) * FIRST
            x = (x ^ (x >> _27)) * SECOND
            state = x ^ (x >> _31)
        found[i] = np.int32(either(flag(missing == ONE), points, state % points))


@compiled
def among_look(scene: Any) -> None:
    """The places of listed texts. floats: how many there are, halvings; their codes in order, in two words, places."""
    source, people, f = words_at(scene.columns[0]), pointer(scene.people), pointer(scene.floats)
    codes = words_at(np.uint64(scene.floats.ctypes.data))
    found = pointer(scene.categories)
    many, levels = np.int64(f[0]), np.int64(f[1])
    for i in range(len(scene.people)):
        at = np.int64(people[i]) * 3
        high, low, missing = source[at], source[at + 1], source[at + 2]
        place = np.int64(0)
        for level in range(levels - 1, -1, -1):
            here = 2 + 3 * (place + (1 << level) - 1)
            less = flag(codes[here] < high) | (flag(codes[here] == high) & flag(codes[here + 1] < low))
            place += np.int64(less) << level
        here = 2 + 3 * place
        same = flag(codes[here] == high) & flag(codes[here + 1] == low)
        known = either(same, np.uint64(f[here + 2]), np.uint64(many))
        found[i] = np.int64(either(flag(missing == ONE), np.uint64(many + 1), known))
