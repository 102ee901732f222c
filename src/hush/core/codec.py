"""Writing canonical JSON, and reading JSON and bytes strictly, for plans, reports and tallies."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hush.errors import HushError

MAX_TEXT = 16 * 1024 * 1024
"""Longest JSON text that is read, in characters."""


def dump(value: object) -> str:
    """Return canonical JSON: sorted keys, no spaces, UTF-8 as it is, no NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def load(text: str | bytes, error: type[HushError], longest: int = MAX_TEXT, *, public: bool = False) -> Any:
    """Read JSON strictly: a repeated key, NaN or infinity is an error, and so is anything unreadable.

    For a public text, such as a plan, the error names the line and column where it is not JSON.
    """
    if not isinstance(text, str | bytes):
        raise error("JSON must be given as text or bytes")
    if len(text) > longest:
        raise error(f"JSON longer than {longest} is not read")
    try:
        plain = text.decode() if isinstance(text, bytes) else text  # UTF-8 and nothing else
        return _DECODER.decode(plain)
    except (ValueError, RecursionError) as fault:
        place = ""
        if public and isinstance(fault, json.JSONDecodeError):
            place = f": line {fault.lineno}, column {fault.colno}"
        # The parser's message may quote the text. A report or tally is not secret, but stating the rule is enough.
        raise error(f"not valid JSON{place or ' (or a key is repeated, or a number is not finite)'}") from None


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("repeated key")
    return result


def _refuse_constant(_: str) -> float:
    raise ValueError("not a finite number")


_DECODER = json.JSONDecoder(object_pairs_hook=_unrepeated, parse_constant=_refuse_constant)


def fields(value: Any, names: Iterable[str], error: type[HushError], what: str) -> tuple[Any, ...]:
    """Return the values of exactly these fields of a JSON object, in this order."""
    expected = tuple(names)
    if not isinstance(value, dict) or set(value) != set(expected):
        raise error(f"{what} must be an object with exactly the fields {', '.join(expected)}")
    return tuple(value[name] for name in expected)


def integer(value: Any, low: int, high: int, error: type[HushError], what: str) -> int:
    """Return value if it is an integer (not a boolean) in low..high."""
    if type(value) is not int or not low <= value <= high:
        raise error(f"{what} must be an integer from {low} to {high}")
    return value


def other_version(found: object, known: int, what: str) -> str:
    """Return the message for a document of another version: an older one says what to do."""
    if type(found) is int and 0 < found < known:
        return f"this is {what} of version {found}; this hush reads version {known}: make the plan and its reports anew"
    return f"this is not {what} of version {known}"


def big(value: Any, error: type[HushError], what: str) -> int:
    """Read an integer below 2^64 written as a decimal string, as JSON numbers are exact only below 2^53."""
    if type(value) is not str or not value.isascii() or not value.isdigit() or len(value) > 20:
        raise error(f"{what} must be an integer below 2^64, written as a string of decimal digits")
    number = int(value)
    if number >= 1 << 64 or str(number) != value:
        raise error(f"{what} must be an integer below 2^64, written without leading zeros")
    return number


def listed(value: Any, error: type[HushError], what: str) -> list[Any]:
    """Return value if it is a JSON array."""
    if type(value) is not list:
        raise error(f"{what} must be an array")
    return value


def hexadecimal(value: Any, size: int, error: type[HushError], what: str) -> bytes:
    """Read `size` bytes written in lower-case hexadecimal."""
    if type(value) is str and len(value) == 2 * size:
        try:
            data = bytes.fromhex(value)
        except ValueError:
            data = b""
        if data.hex() == value:
            return data
    raise error(f"{what} must be {2 * size} lower-case hexadecimal digits")


class Cursor:
    """Reads bytes from front to back, and refuses missing and left-over bytes."""

    def __init__(self, data: bytes, error: type[HushError], what: str) -> None:
        if type(data) is not bytes:
            raise error(f"{what} must be bytes")
        self._data = data
        self._at = 0
        self._error = error
        self._what = what

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        piece = self._data[self._at : self._at + size]
        if len(piece) != size:
            raise self._error(f"{self._what} is cut short")
        self._at += size
        return piece

    def varint(self) -> int:
        """Return the next unsigned integer in LEB128, which must be as short as possible and below 2^70."""
        result = 0
        for position in range(10):
            byte = self.take(1)[0]
            result |= (byte & 127) << (7 * position)
            if byte < 128:
                if byte == 0 and position:
                    break
                return result
        raise self._error(f"{self._what} holds a badly written integer")

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def end(self) -> None:
        """Refuse bytes that are left over."""
        if self.left:
            raise self._error(f"{self._what} has {self.left} bytes too many")


def varint(value: int) -> bytes:
    """Write an unsigned integer in LEB128."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
