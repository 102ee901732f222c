"""A sequence of binary reports, as rows that can be counted.

`Report.decode` reads one report in ten microseconds, so a batch of sixty thousand would take a second, even if it is
refused in the end. Here one kernel cuts them into rows. If it finds something that is not a report of the plan,
`Report.decode` reads that part and decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hush.batch.native import compiled
from hush.core import codec
from hush.core.channels import Subsets
from hush.core.columnar import parts
from hush.core.plan import Plan
from hush.core.report import ID_SIZE, TAG_SIZE, VERSION, Report, index_width, sizes
from hush.errors import ReportError

Array = np.ndarray[Any, Any]

HEAD = 1 + TAG_SIZE  # bytes in front of the id
ROWS = 1 << 16  # rows that are cut at once; more only if one report has more


class Rows(NamedTuple):
    """Rows of whole reports, and the start of each report in the data."""

    attribute: Array
    part: Array
    output: Array
    starts: Array


@compiled
def cut(
    data: Array,
    at: int,
    head: Array,
    k: int,
    indexed: int,
    shape: Array,
    attribute: Array,
    part: Array,
    output: Array,
    starts: Array,
) -> tuple[int, int, int]:
    """Cut reports into rows, from a position on, until there is no room for one more or one is malformed.

    `shape` has, for each question, the bytes of an output, the rows it takes, and whether it is a set. Return the
    numbers of rows and reports, and the start of the next report.
    """
    rows = reports = 0
    questions = shape.shape[1]
    room = 0
    for i in range(questions):
        room = max(room, shape[1, i])
    while at < len(data) and reports < len(starts) and rows + room * k <= len(attribute):
        place, good = at + len(head) + 16, at + len(head) + 16 <= len(data)
        for i in range(len(head) if good else 0):
            good = good and data[at + i] == head[i]
        made, last = rows, -1
        for position in range(k if good else 0):
            index = position
            if indexed:
                if place + indexed > len(data):
                    good = False
                    break
                index = 0
                for i in range(indexed):
                    index = index << 8 | data[place + i]
                place += indexed
            if index <= last or index >= questions or place + shape[0, index] > len(data):
                good = False
                break
            last = index
            width = shape[0, index]
            if shape[2, index]:
                for block in range(shape[1, index]):
                    word = np.uint64(0)
                    for i in range(min(8, width - 8 * block)):
                        word |= np.uint64(data[place + 8 * block + i]) << np.uint64(8 * i)
                    attribute[made], part[made], output[made] = index, block, np.int64(word)
                    made += 1
            else:
                symbol = np.int64(0)
                for i in range(width):
                    symbol = symbol << 8 | np.int64(data[place + i])
                attribute[made], part[made], output[made] = index, 0, symbol
                made += 1
            place += width
        if not good:
            break
        starts[reports] = at
        rows, reports, at = made, reports + 1, place
    return rows, reports, at


def rows_of(plan: Plan, data: bytes) -> Iterator[Rows]:
    """Return binary reports as rows. A malformed report raises ReportError; outputs are not checked."""
    at = 0
    while at < len(data):
        rows, end = piece_of(plan, data, at)
        if not len(rows.starts):
            cursor = codec.Cursor(data[at : at + sizes(plan)[1]], ReportError, "a batch of reports")
            Report.take(plan, cursor)
            raise ReportError("not a batch of reports")
        yield rows
        at = end


def piece_of(plan: Plan, data: bytes, at: int) -> tuple[Rows, int]:
    """Return the rows of some reports from a position on (none if there is no report), and their end."""
    alphabets = [question.channel.alphabet for question in plan.questions]
    taken = parts(plan)
    shape = np.array(
        [[alphabet.width for alphabet in alphabets], taken, [isinstance(a, Subsets) for a in alphabets]],
        dtype=np.int64,
    )
    head = np.frombuffer(bytes([VERSION]) + bytes.fromhex(plan.id)[:TAG_SIZE], dtype=np.uint8)
    room = max(ROWS, plan.k * max(taken))
    attribute, part = np.empty(room, dtype=np.int16), np.empty(room, dtype=np.int16)
    output, starts = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    array = np.frombuffer(data, dtype=np.uint8)
    rows, reports, end = cut(array, at, head, plan.k, index_width(plan), shape, attribute, part, output, starts)
    return Rows(attribute[:rows], part[:rows], output[:rows], starts[:reports]), end


def ids_of(data: bytes, starts: Array) -> Array:
    """Return the ids of reports that begin at these places, as pairs of numbers."""
    places = starts[:, None] + np.arange(HEAD, HEAD + ID_SIZE)
    return np.frombuffer(data, dtype=np.uint8)[places].view(np.uint64)
