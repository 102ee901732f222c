"""How many records a CSV file has, and whether its quotes are in order.

Arrow's parser ends a file in which a quote is open as if all were well: everybody behind it has become one field, and
is gone. So the bytes that it reads are also read here, by the same rules: a quote opens a field only as its first byte,
elsewhere it is text; two quotes in a quoted field are one; a line ends with LF, CR or both.
"""

from __future__ import annotations

import gzip
from typing import Any, BinaryIO

import numpy as np

from hush.batch.native import compiled

_BOM = b"\xef\xbb\xbf"
_LF, _CR, _COMMA, _QUOTE = b'\n\r,"'
_LINE, _FIELD, _TEXT, _QUOTED, _CLOSED, _RETURN = range(6)
"""Where a byte is met: at the start of a line or field, in a field, in quotes, after a quote in quotes, after CR."""

Array = np.ndarray[Any, Any]


@compiled
def scan(data: Array, state: int, counts: Array) -> int:
    """Go on over some bytes; return the state, and add to the numbers of records, of empty lines and of odd quotes."""
    for byte in data:
        if state == _RETURN:
            state = _LINE
            if byte == _LF:
                continue
        if state == _QUOTED:
            if byte == _QUOTE:
                state = _CLOSED
        elif byte in (_LF, _CR):
            counts[1 if state == _LINE else 0] += 1
            state = _LINE if byte == _LF else _RETURN
        elif byte == _COMMA:
            state = _FIELD
        elif byte == _QUOTE and state in (_LINE, _FIELD, _CLOSED):
            state = _QUOTED
        else:
            counts[2] += state == _CLOSED
            state = _TEXT
    return state


class Lines:
    """A file that counts the records in what is read of it. The last one is given an end if it has none.

    At least three bytes must be read at once: a mark of UTF-8 at the start is passed over, as the parser does.
    """

    def __init__(self, file: BinaryIO | gzip.GzipFile) -> None:
        self._file = file
        self._begun = False
        self._last = b"\n"
        self._state = _LINE
        self._counts = np.zeros(3, dtype=np.int64)

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def records(self) -> int:
        """How many records were read, the header included, and empty lines not."""
        return int(self._counts[0])

    @property
    def empty(self) -> int:
        """How many empty lines were read."""
        return int(self._counts[1])

    @property
    def odd(self) -> int:
        """How many quoted fields go on after their quote. One of the two was meant as text, and may hide lines."""
        return int(self._counts[2])

    @property
    def open(self) -> bool:
        """Whether a quote is open."""
        return self._state == _QUOTED

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        skipped = len(_BOM) if not self._begun and data.startswith(_BOM) else 0
        self._begun = self._begun or bool(data)
        if not 0 <= size <= len(data) and (data[-1:] or self._last) not in b"\r\n":
            data += b"\n"  # it is the end of the file; a header without an end would be refused
        self._state = scan(np.frombuffer(data, dtype=np.uint8)[skipped:], self._state, self._counts)
        self._last = data[-1:] or self._last
        return data

    def close(self) -> None:
        self._file.close()

    @property
    def closed(self) -> bool:
        return self._file.closed
