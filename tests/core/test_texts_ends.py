"""Texts, in numbers: where each rule ends, and what the first bits of a code say."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hush.core.letters import LETTERS
from hush.core.texts import MAX_TEXT, Text, extended, extensions, huffman, mixed, usual_bits, words_of
from hush.errors import RecordError, SchemaError

FILE = Path(__file__).parent.parent.parent / "spec" / "vectors" / "texts.json"
WIDE = "".join(map(chr, range(0x4E00, 0x4F00)))
ENGLISH = Text("word", 16, "english")
ANY = Text("word", 8, bits=128)
TWO = Text("word", 3, "ab")  # b is 0, a is 10 and the end is 11


# -- schemas


def test_what_is_not_said() -> None:
    text = Text("word")
    assert (text.length, text.alphabet, text.case, text.optional, text.kind) == (16, None, "lower", False, "text")
    assert (text.values, text.labels) == ((), ())
    assert (len(text.code), text.end) == (4, 256)
    assert (TWO.code, TWO.bits, TWO.end) == (("212",), 8, 2)
    assert (ENGLISH.alphabet, len(ENGLISH.code), ENGLISH.end) == (LETTERS, 28, 27)
    assert Text("word", 16, "english", code=("5" * 28,)).code == ("5" * 28,)


@pytest.mark.parametrize(
    "given",
    [
        {"length": 1},
        {"length": 64},
        {"alphabet": "ab"},
        {"alphabet": WIDE},
        {"bits": 8},
        {"bits": 128},
        {"alphabet": "aB", "case": "keep"},
        {"alphabet": "ab", "code": ("o12",)},
        {"alphabet": "ab", "code": ("122",)},
        {"alphabet": "ab", "code": ("122", "212", "221")},
        {"alphabet": "abc", "code": ("2222",) * 4},
    ],
)
def test_the_last_that_is_taken(given: dict[str, Any]) -> None:
    text = Text("word", **given)
    assert Text.from_json(json.loads(json.dumps(text.to_json()))) == text


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"length": 0}, "length must be"),
        ({"length": 65}, "length must be"),
        ({"length": 4.0}, "length must be"),
        ({"case": "upper"}, "case must be"),
        ({"alphabet": WIDE + "豈"}, "2 to 256 printable"),
        ({"alphabet": "a"}, "2 to 256 printable"),
        ({"alphabet": "a\n"}, "2 to 256 printable"),
        ({"alphabet": 7}, "2 to 256 printable"),
        ({"alphabet": "aba"}, "is repeated"),
        ({"alphabet": "aB"}, "another normal form"),
        ({"alphabet": "a\u212b", "case": "keep"}, "another normal form"),
        ({"bits": 7}, "bits must be"),
        ({"bits": 129}, "bits must be"),
        ({"bits": 9.0}, "bits must be"),
        ({"alphabet": "ab", "code": ()}, "a code has 4 rows for Unicode, else 1"),
        ({"alphabet": "ab", "code": ("122",) * 2}, "a code has 4 rows for Unicode, else 1"),
        ({"alphabet": "abc", "code": ("2222",) * 3}, "a code has 4 rows for Unicode, else 1"),
        ({"code": ("9" * 257,)}, "a code has 4 rows for Unicode, else 1"),
        ({"alphabet": "ab", "code": (122,)}, "a row of the code has"),
        ({"alphabet": "ab", "code": ("1222",)}, "a row of the code has"),
        ({"alphabet": "ab", "code": ("12",)}, "a row of the code has"),
        ({"alphabet": "ab", "code": ("120",)}, "a row of the code has"),
        ({"alphabet": "ab", "code": ("12p",)}, "a row of the code has"),
        ({"alphabet": "ab", "code": ("12?",)}, "a row of the code has"),
        ({"alphabet": "ab", "code": ("112",)}, "too short to be told apart"),
    ],
)
def test_the_first_that_is_refused(given: dict[str, Any], rule: str) -> None:
    with pytest.raises(SchemaError, match=rule) as caught:
        Text("word", **given)
    assert "'word'" in str(caught.value)


def test_the_tables_of_a_text_are_no_part_of_its_value() -> None:
    again = Text("word", 3, "ab")
    assert again == TWO
    assert hash(again) == hash(TWO)
    assert replace(TWO, name="other", length=2) == Text("other", 2, "ab", code=TWO.code, bits=TWO.bits)
    assert "=[" not in repr(TWO)
    assert "_other" not in repr(TWO)


@pytest.mark.parametrize("change", [{"alphabet": "english"}, {"bits": None}, {"bits": "8"}, {"code": "333"}])
def test_nothing_is_left_to_be_worked_out_in_a_schema_that_is_read(change: dict[str, object]) -> None:
    with pytest.raises(SchemaError):
        Text.from_json(TWO.to_json() | change)


def test_a_text_has_4096_characters_at_most() -> None:
    assert TWO.encode("a" * MAX_TEXT) == TWO.encode("aaa")
    with pytest.raises(RecordError, match="at most 4096"):
        TWO.encode("a" * (MAX_TEXT + 1))


def test_half_characters_are_refused_where_they_are_looked_at() -> None:
    for half in ("\ud800", "\udbff", "\udc00", "\udfff"):
        with pytest.raises(RecordError, match="half of a pair"):
            TWO.encode("a" * 11 + half)
        assert TWO.encode("a" * 12 + half) == TWO.encode("aaa")
    for whole in ("\ud7ff", "\ue000"):
        assert TWO.encode("a" * 11 + whole) == TWO.encode("aaa")


def test_an_example_is_as_long_as_a_text_may_be() -> None:
    assert (TWO.longest, ENGLISH.longest, ANY.longest) == ("bbb", "z" * 16, "z" * 8)


# -- codes


def test_a_code_gives_likely_symbols_short_words() -> None:
    assert huffman([1.0, 1.0, 0.5]) == "212"
    assert huffman([8.0, 4.0, 2.0, 1.0, 1.0]) == "12344"
    assert huffman([1.0, 1.0, 1.0, 1.0]) == "2222"
    # A weight counts as 2^-14 of the largest at least: 26 of these 40 are alike.
    assert huffman([3 * 2.0**-i for i in range(40)]) == "123456789bccde" + 26 * "f"


def test_words_rise_with_their_lengths_and_then_their_symbols() -> None:
    assert words_of("212") == [(0b10, 2), (0b0, 1), (0b11, 2)]
    assert words_of("3313o") == [(0b100, 3), (0b101, 3), (0b0, 1), (0b110, 3), (0b111 << 21, 24)]


def test_the_bits_of_a_text_are_those_that_a_likely_one_takes() -> None:
    """A quarter more than the entropy of all symbols, for the code's own probabilities."""
    assert usual_bits(("212",), 3, bytes_=False) == math.ceil(1.25 * 3 * (0.25 * 2 + 0.5) / 0.75)
    assert usual_bits(("333",), 7, bytes_=False) == math.ceil(1.25 * 7 * 3)
    # After a comes b, and after b comes a, each with a word of one bit; the first letter is one of both.
    chain = ("o12", "1o2", "223")
    costs = [(0.5 + 24 * 2.0**-24) / (0.5 + 2.0**-24)] * 2
    assert usual_bits(chain, 9, bytes_=False) == math.ceil(1.25 * 9 * costs[0])
    # After a comes a, mostly: the share of each is where it settles.
    sticky = ("133", "222", "222")
    share = [0.5, 0.5]
    for _ in range(40):
        raw = [share[0] * 0.5 + share[1] * 0.25, share[0] * 0.125 + share[1] * 0.25]
        share = [one / sum(raw) for one in raw]
    costs = [(0.5 * 1 + 0.125 * 3) / 0.625, 2.0]
    assert usual_bits(sticky, 40, bytes_=False) == math.ceil(1.25 * 40 * (share[0] * costs[0] + share[1] * costs[1]))
    assert usual_bits(("33", "11", "11", "11"), 8, bytes_=True) == math.ceil(1.25 * 8 * 3)
    assert (ENGLISH.bits, Text("word", 8).bits, Text("word", 64).bits) == (71, 58, 128)


def test_the_bits_of_a_short_text_depend_on_its_first_letter() -> None:
    """After a comes b, with a word of 1 bit, and after b comes a, with one of 5: two letters from b on end with b."""
    rare = 2.0**-24
    cheap, dear = (0.5 + 24 * rare) / (0.5 + rare), (5 / 32 + 24 * rare) / (1 / 32 + rare)
    assert usual_bits(("o12", "5o1", "o12"), 2, bytes_=False) == math.ceil(1.25 * 2 * dear) == 13
    assert usual_bits(("o12", "5o1", "1o2"), 2, bytes_=False) == math.ceil(1.25 * 2 * cheap) == 3


def test_a_schema_that_is_made_now_has_the_same_code() -> None:
    assert (Text("word", 3, "ab").code, Text("word", 3, "ab").bits) == (("212",), 8)
    assert Text("word", 1, "ab").bits == 8
    every = Text("word", 4, "abcdefghijklmnopqrstuvw", code=("123456789abcdefghijklmno",), bits=26)
    assert every.encode("b") == 0b10 << 24 | (1 << 24) - 2
    with pytest.raises(SchemaError):
        Text("")


# -- rows


def test_the_first_symbol_has_the_row_of_the_end() -> None:
    """The words of the rows: 0, 10, 11 after a; 10, 0, 11 after b; and 10, 11, 0 at the beginning."""
    text = Text("word", 3, "ab", code=("122", "212", "221"), bits=8)
    codes = {"": 0, "a": 0b10110000, "b": 0b11110000, "ab": 0b10101100, "ba": 0b11101100}
    for value, code in codes.items():
        assert text.encode(value) == code
        assert text.read(code, 8) == (value, True)


ROWS = Text("word", 3, code=("9" * 257, "a" * 257, "b" * 257, "c" * 257), bits=128)
"""All words of a row have one length, so that the word of a symbol is its number: 9 to 12 bits."""


def written(*words: tuple[int, int]) -> str:
    return "".join(f"{symbol:0{bits}b}" for symbol, bits in words)


def test_a_row_is_for_the_bytes_that_a_character_still_lacks() -> None:
    for row in range(4):
        found = [ROWS._row(row, symbol) for symbol in range(257)]
        assert found == [0] * 0x80 + [max(row - 1, 0)] * 0x40 + [1] * 0x20 + [2] * 0x10 + [3] * 0x10 + [0]


@pytest.mark.parametrize(
    "value", ["", "a", "\x80ß", "é\u07ff", "ࠀ東\uffff", "東東東", "\U00010000😀\U0010ffff", "a東b"]
)
def test_the_words_of_unicode_are_those_of_their_rows(value: str) -> None:
    words = []
    for character in value:
        raw = character.encode()
        words += [(byte, 9 + (len(raw) - place if place else 0)) for place, byte in enumerate(raw)]
    if len(words) < 12:  # as many as three characters can have: no end is written
        words.append((256, 9))
    bits = written(*words)
    text = Text("word", 3, code=ROWS.code, bits=128, case="keep")
    assert text.encode(value) == int(bits[:128].ljust(128, "0"), 2)
    assert text.read(int(bits, 2), len(bits)) == (value, True)


def test_a_text_ends_where_no_more_bytes_can_follow() -> None:
    text = Text("word", 1, code=ROWS.code, bits=128)
    code = text.encode("😀")
    assert code is not None
    assert text.read(code, 128) == ("😀", True)
    assert text.read(code >> 86, 42) == ("😀", True)
    assert text.read(code >> 87, 41) == ("", False)


def test_bytes_that_cannot_follow_each_other_say_nothing() -> None:
    for words in (((0x61, 9), (0xFF, 9), (0x61, 12)), ((0x80, 9), (0x61, 9)), ((0xC3, 9), (0x61, 10), (0x61, 9))):
        bits = written(*words)
        assert ROWS.read(int(bits, 2), len(bits)) is None


# -- hashes


def test_hashes_are_those_of_the_vectors() -> None:
    file = json.loads(FILE.read_text(encoding="utf-8"))
    for case in file["good"]:
        text = Text.from_json(case["attribute"])
        code = text.encode(case["value"])
        assert code is not None
        states = [extended(0, code, text.bits, chunks) for chunks in file["chunks"]]
        assert [state % points for state in states for points in file["points"]] == case["points"]


def test_all_extensions_of_a_prefix_are_made_at_once() -> None:
    for state, width, level in ((0, 0, 0), (0, 3, 0), ((1 << 64) - 1, 4, 5), (7, 5, 31)):
        assert extensions(state, width, level) == [mixed(state, chunk, level) for chunk in range(1 << width)]


# -- what bits say


@pytest.mark.parametrize(
    ("code", "bits", "found"),
    [
        (0, 0, ("", False)),
        (0b0, 1, ("b", False)),
        (0b1, 1, ("", False)),
        (0b11, 2, ("", True)),
        (0b101, 3, ("a", False)),
        (0b1011, 4, ("a", True)),
        (0b10100, 5, ("aab", True)),
        (0b101000, 6, ("aab", True)),
        (0b101001, 6, None),
        (0b110, 3, ("", True)),
        (0b111, 3, None),
        (0b000, 3, ("bbb", True)),
        (0b00, 2, ("bb", False)),
    ],
)
def test_what_some_bits_say(code: int, bits: int, found: tuple[str, bool] | None) -> None:
    assert TWO.read(code, bits) == found


def test_bits_that_begin_no_word_say_nothing_once_they_are_as_many_as_the_longest_has() -> None:
    text = Text("word", 3, "ab", code=("333",), bits=24)
    assert text.read((1 << 23) - 1, 23) == ("", False)
    assert text.read((1 << 24) - 1, 24) is None
    rare = Text("word", 3, "ab", code=("o12",), bits=60)
    assert rare.read(0b110 << 21, 24) == ("a", False)
    assert rare.read(0b110 << 20, 23) == ("", False)
    assert rare.read(rare.encode("aba") or 0, 60) == ("aba", True)


@pytest.mark.parametrize("value", ["", "é", "東", "😀", "a😀", "é東😀z", "x" * 8, "😀" * 8])
def test_the_first_bits_of_a_code_say_the_first_characters(value: str) -> None:
    text = Text("word", 8, bits=128)
    code = text.encode(value)
    assert code is not None
    said = []
    for bits in range(129):
        read = text.read(code >> (128 - bits), bits)
        assert read is not None
        assert value.startswith(read.text)
        assert not read.ended or read.text == value
        said.append(len(read.text))
    assert said == sorted(said)
    assert said[-1] == len(value) or value == "😀" * 8


def test_the_first_bits_of_an_english_text_say_its_first_letters() -> None:
    for value in ("nurse", "cook and driver", "zz", "abcdefghijklmnop"):
        code = ENGLISH.encode(value)
        assert code is not None
        for bits in range(ENGLISH.bits + 1):
            read = ENGLISH.read(code >> (ENGLISH.bits - bits), bits)
            assert read is not None
            assert value.startswith(read.text)
            assert not read.ended or read.text == value


def test_no_text_is_longer_than_its_schema_says() -> None:
    code = Text("word", 3, bits=100).encode("abc")
    assert code is not None
    assert Text("word", 3, bits=100).read(code, 100) == ("abc", True)
    assert Text("word", 2, bits=100).read(code, 100) is None


def test_bytes_that_are_no_characters_say_nothing() -> None:
    end = ANY.end
    for symbols in ([0xFF], [0xC3, 0x28], [0x61, 0x80], [0xED, 0xA0, 0x80], [0xC3]):
        code = ANY._coded([*symbols, end] + [end] * (31 - len(symbols)))
        assert ANY.read(code, ANY.bits) is None
