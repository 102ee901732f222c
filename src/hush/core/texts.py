"""Texts that nobody listed: words, city names, crash signatures.

A text becomes a fixed number of bits, by rules that are part of the schema and so of the plan's id:

1. **Normal form**: of the first 4*length characters letters become small (unless `case="keep"`), Unicode's normal
   form C is taken, and white space at the ends is dropped.
2. **Symbols**: characters outside the alphabet are dropped and the rest is cut after `length` symbols. Without an
   alphabet the symbols are the bytes of UTF-8, cut between two characters.
3. **Code**: each symbol has a word of bits that depends on the symbol before it, in a public prefix code. The end is a
   symbol too. What is longer than `bits` is cut, what is shorter is filled with zeros.

A good code makes likely texts short, so that fewer questions reach their ends. It is public and fixed beforehand: it
knows a language, not the people. Every text has a code, also an unlikely one, unless its bits are cut.

**Prefixes.** A question asks for the first bits of a text, hashed to one of K points: `Prefix` is the view. The hash is
public and mixes one chunk of bits after the other, so whoever knows the state of a prefix extends it in one step.

**Time.** Every text takes the same steps: it is filled up to one length, as many symbols are looked up, and as many
chunks are mixed. Python computes the normal form, which takes longer for many loose accents.
"""

from __future__ import annotations

import heapq
import math
import re
import struct
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any, ClassVar, Literal, NamedTuple

from hush.core import codec
from hush.core.naming import ABSENT, check_flag, check_name
from hush.errors import RecordError, SchemaError

MAX_LENGTH = 64
MAX_BITS = 128
MAX_WORD = 24  # bits of one symbol
SPARE = 1.25  # of the bits that texts take on the average: few are cut
MAX_TEXT = 4096  # characters of a value
BYTES = 256
LOOK = 4  # characters of a value that are looked at, for each that counts: some may be outside the alphabet
NOT_A_TEXT = "must be a string"
BROKEN = "must not hold half of a pair of surrogates, which is no character"
TOO_LONG = f"must be a string of at most {MAX_TEXT} characters"
CASES = ("lower", "keep")
_SPACE = " \t\n\r"
_WIDEST = "\0\U0010ffff"  # follows each text, and is no part of it: nothing joins it, and it has no other form
_LOOSE = "e\u0301"  # a text that is not in its normal form
_HALF = re.compile("[\ud800-\udfff]")
_DIGITS = "0123456789abcdefghijklmno"  # the length of a word, in the text of a code

_BYTES = struct.Struct("4B")
_PLANES = 17  # of Unicode

_MASK = (1 << 64) - 1
_STEP, _LEVEL = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(state: int, chunk: int, level: int) -> int:
    """Return the state of a prefix that is one chunk of bits longer: 64 bits, by multiplications and shifts."""
    x = (state + (chunk + 1) * _STEP + level * _LEVEL) & _MASK
    x = ((x ^ (x >> 30)) * _FIRST) & _MASK
    x = ((x ^ (x >> 27)) * _SECOND) & _MASK
    return x ^ (x >> 31)


def extensions(state: int, width: int, level: int) -> list[int]:
    """Return the states of a prefix that is longer by every chunk of `width` bits: `mixed` of each, in less time."""
    start = state + level * _LEVEL
    added = [(start + chunk * _STEP) & _MASK for chunk in range(1, (1 << width) + 1)]
    first = [((x ^ (x >> 30)) * _FIRST) & _MASK for x in added]
    second = [((x ^ (x >> 27)) * _SECOND) & _MASK for x in first]
    return [x ^ (x >> 31) for x in second]


def extended(state: int, code: int, bits: int, chunks: Sequence[int]) -> int:
    """Return the state after some chunks of a code of `bits` bits."""
    for level, chunk in enumerate(chunks):
        bits -= chunk
        state = mixed(state, code >> bits & ((1 << chunk) - 1), level)
    return state


def huffman(weights: Sequence[float]) -> str:
    """Return the lengths of the words of a best prefix code for symbols of some weights, as the text of a code.

    All weights count as at least a part of the largest, so that no word is too long.
    """
    least = max(weights) / (1 << (MAX_WORD - 10))
    order = count()
    heap: list[tuple[float, int, tuple[int, ...]]]
    heap = [(max(weight, least), next(order), (symbol,)) for symbol, weight in enumerate(weights)]
    heapq.heapify(heap)
    lengths = [0] * len(weights)
    while len(heap) > 1:
        (one, _, first), (other, _, second) = heapq.heappop(heap), heapq.heappop(heap)
        for symbol in first + second:
            lengths[symbol] += 1
        heapq.heappush(heap, (one + other, next(order), first + second))
    return "".join(_DIGITS[length] for length in lengths)


def words_of(lengths: str) -> list[tuple[int, int]]:
    """Return the word of each symbol as a number and its bits: the canonical code of these lengths."""
    order = sorted(range(len(lengths)), key=lambda symbol: (_DIGITS.index(lengths[symbol]), symbol))
    found = [(0, 0)] * len(lengths)
    word, bits = 0, 0
    for symbol in order:
        length = _DIGITS.index(lengths[symbol])
        word <<= length - bits
        found[symbol], bits = (word, length), length
        word += 1
    return found


class Read(NamedTuple):
    """What some bits say: a text so far, and whether it ends there."""

    text: str
    ended: bool


@dataclass(frozen=True)
class Text:
    """A text that need not be in any list, of which the first `length` characters count.

    `alphabet` is "english" (small letters and the space, in a code that knows which letters follow each other), a
    string of characters, or None for all of Unicode. Characters outside are dropped. Small and capital letters are the
    same unless `case="keep"`. `hush.frequent` finds the texts that many people hold.

    `code` has the lengths of the words of a prefix code: one row for all symbols, or one for each symbol that may come
    before. For Unicode there are four rows, for 0 to 3 bytes that a character still lacks. `bits` is how many bits of
    the code count.
    """

    name: str
    length: int
    alphabet: str | None
    case: Literal["lower", "keep"]
    code: tuple[str, ...]
    bits: int
    optional: bool

    kind: ClassVar[str] = "text"
    values: ClassVar[tuple[str, ...]] = ()  # none are listed
    labels: ClassVar[tuple[str, ...]] = ()
    _planes: list[list[int]] = field(init=False, repr=False, compare=False)
    _pages: list[list[int]] = field(init=False, repr=False, compare=False)
    _letters: list[str] = field(init=False, repr=False, compare=False)
    _words: list[list[tuple[int, int, int]]] = field(init=False, repr=False, compare=False)
    _written: list[list[tuple[str, int]]] = field(init=False, repr=False, compare=False)
    _inverse: list[dict[tuple[int, int], int]] = field(init=False, repr=False, compare=False)
    _other: tuple[str, str] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        name: str,
        length: int = 16,
        alphabet: str | None = None,
        case: Literal["lower", "keep"] = "lower",
        code: Sequence[str] | None = None,
        bits: int | None = None,
        optional: bool = False,
    ) -> None:
        if alphabet == "english":
            from hush.core.letters import CODE, LETTERS

            alphabet, code = LETTERS, CODE if code is None else code
        self._declare(name, length, alphabet, case, code, bits, optional)

    def _declare(
        self,
        name: str,
        length: int,
        alphabet: str | None,
        case: str,
        code: Sequence[str] | None,
        bits: int | None,
        optional: bool,
    ) -> None:
        """Check everything, and make the tables. An alphabet of the letters of "english" is one as any other."""
        check_name(name)
        check_flag(optional, name)
        if type(length) is not int or not 1 <= length <= MAX_LENGTH:
            raise SchemaError(f"attribute {name!r}: length must be a whole number from 1 to {MAX_LENGTH}")
        if case not in CASES:
            raise SchemaError(f'attribute {name!r}: case must be "lower" or "keep"')
        self._check_alphabet(name, alphabet, case)
        symbols = (BYTES if alphabet is None else len(alphabet)) + 1
        if code is None:
            from hush.core.letters import UNICODE

            code = UNICODE if alphabet is None else (huffman([*[1.0] * (symbols - 1), 0.5]),)
        rows = tuple(code)
        _check_code(name, rows, symbols, 4 if alphabet is None else symbols)
        if bits is None:
            bits = min(max(usual_bits(rows, length, alphabet is None), 8), MAX_BITS)
        if type(bits) is not int or not 8 <= bits <= MAX_BITS:
            raise SchemaError(f"attribute {name!r}: bits must be a whole number from 8 to {MAX_BITS}")
        for key, value in {
            "name": name,
            "length": length,
            "alphabet": alphabet,
            "case": case,
            "code": rows,
            "bits": bits,
            "optional": optional,
        }.items():
            object.__setattr__(self, key, value)
        # A character is looked up by the bytes of its code point: no step depends on which one it is.
        planes, pages = [[0] * 256 for _ in range(_PLANES)], [[-1] * 256]
        for place, character in enumerate(alphabet or ""):
            low, middle, high, _ = _BYTES.unpack(character.encode("utf-32-le"))
            if not planes[high][middle]:
                planes[high][middle] = len(pages)
                pages.append([-1] * 256)
            pages[planes[high][middle]][low] = place
        object.__setattr__(self, "_planes", planes)
        object.__setattr__(self, "_pages", pages)
        object.__setattr__(self, "_letters", [*(alphabet or ""), ""])
        words = [
            [(*word, self._row(row, symbol)) for symbol, word in enumerate(words_of(lengths))]
            for row, lengths in enumerate(rows)
        ]
        object.__setattr__(self, "_words", words)
        written = [[(f"{word:0{length}b}", row) for word, length, row in one] for one in words]
        object.__setattr__(self, "_written", written)
        inverse = [{(length, word): symbol for symbol, (word, length, _) in enumerate(row)} for row in words]
        object.__setattr__(self, "_inverse", inverse)
        blank = "\0" * (LOOK * length) + _WIDEST
        object.__setattr__(self, "_other", (blank, _LOOSE + blank[len(_LOOSE) :]))

    def _row(self, row: int, symbol: int) -> int:
        """Return the row of the code for the symbol after this one."""
        if self.alphabet is not None:
            return symbol if len(self.code) > 1 else 0
        tail = 0x80 <= symbol < 0xC0
        return (
            max(row - 1, 0) if tail else (symbol >= 0xC0) + (symbol >= 0xE0) + (symbol >= 0xF0) if symbol < BYTES else 0
        )

    @property
    def _start(self) -> int:
        return len(self.code) - 1 if self.alphabet is not None else 0

    @staticmethod
    def _check_alphabet(name: str, alphabet: object, case: str) -> None:
        if alphabet is None:
            return
        if type(alphabet) is not str or not 2 <= len(alphabet) <= BYTES or not alphabet.isprintable():
            raise SchemaError(f"attribute {name!r}: an alphabet has 2 to {BYTES} printable characters")
        if len(set(alphabet)) != len(alphabet):
            raise SchemaError(f"attribute {name!r}: a character of the alphabet is repeated")
        small = [item.lower() if case == "lower" else item for item in alphabet]
        if [unicodedata.normalize("NFC", item) for item in small] != list(alphabet):
            raise SchemaError(
                f"attribute {name!r}: a character of the alphabet has another normal form, so no text would hold it "
                '(case="keep" keeps capital letters)'
            )

    @property
    def end(self) -> int:
        """The symbol after the last one."""
        return len(self.code[0]) - 1

    @property
    def longest(self) -> str:
        """A text of as many characters as count, as an example."""
        return (self.alphabet or "z").replace(" ", "")[-1] * self.length

    def _framed(self, value: str) -> str:
        """Return what is looked at of a text, as long and as wide as of any other: Python is quicker with less."""
        seen = value[: LOOK * self.length]
        return "".join((seen, "\0" * (LOOK * self.length - len(seen)), _WIDEST))

    def normal(self, value: str) -> str:
        """Return the part of a text that counts, in its normal form."""
        seen = LOOK * self.length
        spare = seen - len(value[:seen])
        framed = self._framed(value)
        framed = framed.lower() if self.case == "lower" else framed
        found = unicodedata.normalize("NFC", framed)
        unicodedata.normalize("NFC", self._other[found is framed])  # as long as it takes if it is not (or is) normal
        counts = found[: min(len(found) - spare - len(_WIDEST), seen)]
        if self.alphabet is not None:
            counts = "".join([self._letters[place] for place in self._placed(found[:seen].ljust(seen, "\0"))])
        return counts.strip(_SPACE)[: self.length].rstrip(_SPACE)

    def encode(self, value: object) -> int | None:
        """Return the bits of a text as a number, or None if it is missing."""
        missing = value is None
        if missing and not self.optional:
            raise RecordError(f"attribute {self.name!r}: {ABSENT}")
        text = "" if missing else value
        if not isinstance(text, str):
            raise RecordError(f"attribute {self.name!r}: {NOT_A_TEXT}")
        if len(text) > MAX_TEXT:
            raise RecordError(f"attribute {self.name!r}: {TOO_LONG}")
        plain = str.__str__(text)  # a subclass may define its own slices
        if _HALF.search(self._framed(plain)):  # what is not looked at takes no time
            raise RecordError(f"attribute {self.name!r}: {BROKEN}")
        found = self._coded(self._symbols(self.normal(plain)))
        return None if missing else found

    def _symbols(self, text: str) -> list[int]:
        """Return the symbols of a text in its normal form, and ends after it, as many as a text can have."""
        if self.alphabet is None:
            raw, most = text.encode("utf-8"), 4 * self.length
            found = list(raw.ljust(most, b"\0"))
            return found[: len(raw)] + [self.end] * (most - len(raw))
        places = self._placed(text.ljust(self.length, "\0"))
        return places[: len(text)] + [self.end] * (self.length - len(text))

    def _placed(self, text: str) -> list[int]:
        """Return the places of characters in the alphabet, and -1 for others."""
        planes, pages = self._planes, self._pages  # all integers are small ones, which Python keeps ready
        raw = text.encode("utf-32-le")
        return [pages[planes[high][middle]][low] for low, middle, high, _ in _BYTES.iter_unpack(raw)]

    def _coded(self, symbols: Sequence[int]) -> int:
        # As many words are put together for every text: what comes after the end is put together apart, and dropped.
        parts = ([""] * len(symbols), [""] * len(symbols))
        row, going, end = self._start, 1, self.end
        for place, symbol in enumerate(symbols):
            written, row = self._written[row][symbol]
            parts[going][place] = written
            going &= symbol != end
        _, code = map("".join, parts)
        return int(code[: self.bits].ljust(self.bits, "0"), 2)

    def read(self, code: int, bits: int) -> Read | None:
        """Return what the first bits of a code say, or None if no text begins with them."""
        end, row = self.end, self._start
        most = self.length * (4 if self.alphabet is None else 1)
        found: list[int] = []
        at, ended = 0, False
        while at < bits and not ended:
            if len(found) == most:
                ended = True
                break
            table = self._inverse[row]
            for length in range(1, min(MAX_WORD, bits - at) + 1):
                symbol = table.get((length, code >> (bits - at - length) & ((1 << length) - 1)))
                if symbol is not None:
                    break
            else:
                if bits - at >= MAX_WORD:
                    return None
                break  # the rest is the beginning of a word
            at, row = at + length, self._words[row][symbol][2]
            if symbol == end:
                ended = True
            else:
                found.append(symbol)
        if ended and code & ((1 << (bits - at)) - 1):
            return None
        return self._text(found, ended or len(found) == most)

    def _text(self, symbols: list[int], ended: bool) -> Read | None:
        if self.alphabet is not None:
            return Read("".join(self.alphabet[symbol] for symbol in symbols), ended)
        raw = bytes(symbols)
        for spare in range(1 if ended else 4):  # the last character may not be whole yet
            try:
                text = raw[: len(raw) - spare].decode("utf-8")
            except UnicodeDecodeError as error:
                if not ended and error.end == len(raw) - spare:
                    continue
                return None
            return Read(text, ended) if len(text) <= self.length else None
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "length": self.length,
            "alphabet": self.alphabet,
            "case": self.case,
            "code": list(self.code),
            "bits": self.bits,
            "optional": self.optional,
        }

    @classmethod
    def from_json(cls, value: Any) -> Text:
        """Read an attribute back, strictly."""
        names = ("kind", "name", "length", "alphabet", "case", "code", "bits", "optional")
        _, name, length, alphabet, case, code, bits, optional = codec.fields(value, names, SchemaError, "a text")
        if type(bits) is not int:
            raise SchemaError(f"attribute {name!r}: the bits of a text must be written out")
        found = cls.__new__(cls)
        rows = tuple(codec.listed(code, SchemaError, "the code"))
        cls._declare(found, name, length, alphabet, case, rows, bits, optional)
        return found


def usual_bits(code: Sequence[str], length: int, bytes_: bool) -> int:
    """Return the bits that `length` characters take, and a few more, if the code is right about texts."""
    rows = [[2.0 ** -_DIGITS.index(digit) for digit in row[:-1]] for row in code]
    cost = [math.fsum(p * -math.log2(p) for p in row) / math.fsum(row) for row in rows]
    if bytes_ or len(rows) == 1:
        return math.ceil(SPARE * length * cost[0])
    share = rows[-1]
    for _ in range(length):  # from the first symbol on
        total = math.fsum(share)
        share = [
            math.fsum(s / total * row[a] for s, row in zip(share, rows[:-1], strict=True)) for a in range(len(share))
        ]
    total = math.fsum(share)
    return math.ceil(SPARE * length * math.fsum(s / total * c for s, c in zip(share, cost[:-1], strict=True)))


def _check_code(name: str, rows: tuple[Any, ...], symbols: int, most: int) -> None:
    if len(rows) not in ((4,) if most == 4 and symbols > BYTES else (1, most)):
        raise SchemaError(
            f"attribute {name!r}: a code has 4 rows for Unicode, else 1 or one for each symbol and the end"
        )
    for row in rows:
        if type(row) is not str or len(row) != symbols or not set(row) <= set(_DIGITS[1:]):
            raise SchemaError(
                f"attribute {name!r}: a row of the code has a length from 1 to {MAX_WORD} for each symbol"
            )
        if sum(Fraction(1, 1 << _DIGITS.index(digit)) for digit in row) > 1:
            raise SchemaError(f"attribute {name!r}: the words of the code are too short to be told apart")
