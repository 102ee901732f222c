"""Strict reading: every rule by itself, as later checks would hide a missing one."""

from __future__ import annotations

from typing import Any

import pytest

from hush import HushError
from hush.core import codec


@pytest.mark.parametrize("value", ["18446744073709551616", "01", "", "-1", "1.0", "٣", " 1", "1" * 21, 1, None])
def test_a_big_integer_is_written_in_one_way(value: Any) -> None:
    with pytest.raises(HushError):
        codec.big(value, HushError, "it")


def test_big_integers_reach_the_limit() -> None:
    assert codec.big("18446744073709551615", HushError, "it") == 2**64 - 1
    assert codec.big("0", HushError, "it") == 0


def test_texts_have_a_limit() -> None:
    assert codec.load('"' + "x" * (16 * 1024 * 1024 - 2) + '"', HushError)
    with pytest.raises(HushError, match="longer than 16777216"):
        codec.load(" " * (16 * 1024 * 1024 + 1), HushError)


@pytest.mark.parametrize("data", [b"\x80\x00", b"\x80\x00\x01", b"\xff" * 10 + b"\x01", b"\xff" * 12, b"", b"\x80"])
def test_varints_are_as_short_as_possible_and_end(data: bytes) -> None:
    with pytest.raises(HushError):
        codec.Cursor(data, HushError, "it").varint()


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**63, 2**70 - 1])
def test_varints_travel(value: int) -> None:
    cursor = codec.Cursor(codec.varint(value), HushError, "it")
    assert cursor.varint() == value
    cursor.end()


def test_hexadecimal_digits_are_lower_case() -> None:
    assert codec.hexadecimal("0aff", 2, HushError, "it") == b"\x0a\xff"
    for junk in ("0AFF", "0af", "0afff", "0a f", "zzzz", None):
        with pytest.raises(HushError):
            codec.hexadecimal(junk, 2, HushError, "it")


def test_json_is_canonical() -> None:
    assert codec.dump({"b": [1, 0.5], "a": "Zoë"}) == '{"a":"Zoë","b":[1,0.5]}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [-float("inf")]])
def test_json_has_no_numbers_that_are_not_finite(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        codec.dump(value)


def test_json_is_read_from_text_and_from_bytes_in_utf_8() -> None:
    for text in ('{"a": ["Zoë", 1, 2.5, null]}', '{"a": ["Zoë", 1, 2.5, null]}'.encode()):
        assert codec.load(text, HushError) == {"a": ["Zoë", 1, 2.5, None]}


@pytest.mark.parametrize("value", [None, 5, ["{}"], bytearray(b"{}"), memoryview(b"{}")])
def test_what_is_no_text_is_not_read(value: Any) -> None:
    with pytest.raises(HushError, match="must be given as text or bytes"):
        codec.load(value, HushError)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '[{"a":1,"b":2,"a":3}]',
        "NaN",
        "[-Infinity]",
        "Infinity",
        "",
        "[1,]",
        "{a:1}",
        b"\xff",
        "[" * 10**6,
    ],
)
def test_json_is_read_strictly(text: str | bytes) -> None:
    for public in (False, True):
        with pytest.raises(HushError, match="not valid JSON"):
            codec.load(text, HushError, public=public)


def test_only_of_a_public_text_the_place_of_a_fault_is_named() -> None:
    text, rule = '{"a":\n 1,\n secret}', "not valid JSON (or a key is repeated, or a number is not finite)"
    with pytest.raises(HushError) as told:
        codec.load(text, HushError, public=True)
    assert str(told.value) == "not valid JSON: line 3, column 2"
    for fault, public in ((text, False), ('{"a":1,"a":1}', True), ("[NaN]", True)):
        with pytest.raises(HushError) as caught:
            codec.load(fault, HushError, public=public) if public else codec.load(fault, HushError)
        assert str(caught.value) == rule


def test_an_object_has_exactly_its_fields() -> None:
    assert codec.fields({"b": 2, "a": 1}, ("a", "b"), HushError, "it") == (1, 2)
    junks: list[Any] = [{"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 2}, {}, None, [], ["a", "b"], "ab"]
    for junk in junks:
        with pytest.raises(HushError, match="it must be an object with exactly the fields a, b"):
            codec.fields(junk, ("a", "b"), HushError, "it")


def test_integers_have_both_ends() -> None:
    assert [codec.integer(value, -3, 7, HushError, "it") for value in (-3, 0, 7)] == [-3, 0, 7]
    for junk in (-4, 8, 1.0, True, "1", None):
        with pytest.raises(HushError, match="it must be an integer from -3 to 7"):
            codec.integer(junk, -3, 7, HushError, "it")


def test_arrays_are_lists() -> None:
    assert codec.listed([1, "a"], HushError, "it") == [1, "a"]
    junks: list[Any] = [(1, 2), {}, "ab", None]
    for junk in junks:
        with pytest.raises(HushError, match="it must be an array"):
            codec.listed(junk, HushError, "it")


def test_bytes_are_read_from_front_to_back_to_the_end() -> None:
    cursor = codec.Cursor(b"abcd", HushError, "it")
    assert (cursor.take(1), cursor.left, cursor.take(2), cursor.left) == (b"a", 3, b"bc", 1)
    with pytest.raises(HushError, match="it has 1 bytes too many"):
        cursor.end()
    with pytest.raises(HushError, match="it is cut short"):
        cursor.take(2)
    assert cursor.take(1) == b"d"
    cursor.end()
    for junk in (bytearray(b"abcd"), "abcd", None):
        with pytest.raises(HushError, match="it must be bytes"):
            codec.Cursor(junk, HushError, "it")  # type: ignore[arg-type]


def test_an_older_version_is_told_from_what_is_none() -> None:
    for found in (1, 2):
        assert codec.other_version(found, 3, "a plan").startswith(f"this is a plan of version {found}; this hush reads")
    for other in (0, -1, 3, 4, True, "1", 1.0, None):
        assert codec.other_version(other, 3, "a plan") == "this is not a plan of version 3"
