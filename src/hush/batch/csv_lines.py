"""Counting the records of a CSV file, and checking its quotes.

Arrow's parser raises no error if a file ends with an open quote: everybody behind the quote becomes one field, and is
lost. So this module reads the same bytes as the parser, by the same rules: a quote opens a field only as its first
byte, elsewhere it is text; two quotes in a quoted field are one; a line ends with LF, CR or both.
"""

from __future__ import annotations

import gzip
from typing import Any, BinaryIO

import numpy as np

from hush.batch.native import compiled

_BOM = b"\xef\xbb\xbf"
_LF, _CR, _COMMA, _QUOTE = b'\n\r,"'
_LINE, _FIELD, _TEXT, _QUOTED, _CLOSED, _RETURN = range(6)
"""The position of a byte: at the start of a line or field, in a field, in quotes, after a quote in quotes, after CR."""

Array = np.ndarray[Any, Any]


@compiled
def scan(data: Array, state: int, counts: Array) -> int:
    """Continue over some bytes. Return the state, and add to the numbers of records, empty lines and odd quotes."""
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
    """A file that counts its records while it is read. It adds the end of the last line if that is missing.

    Read at least three bytes at once: a UTF-8 byte order mark at the start is skipped, as the parser does.
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
        """How many records were read, with the header and without empty lines."""
        return int(self._counts[0])

    @property
    def empty(self) -> int:
        """How many empty lines were read."""
        return int(self._counts[1])

    @property
    def odd(self) -> int:
        """How many quoted fields continue after their closing quote. A quote meant as text may hide lines."""
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
            data += b"\n"  # at the end of the file; a header without a line end would be refused
        self._state = scan(np.frombuffer(data, dtype=np.uint8)[skipped:], self._state, self._counts)
        self._last = data[-1:] or self._last
        return data

    def close(self) -> None:
        self._file.close()

    @property
    def closed(self) -> bool:
        return self._file.closed
