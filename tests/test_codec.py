"""Strict reading: every rule by itself, as later checks would hide a missing one."""

from __future__ import annotations

from typing import Any

import pytest

from hush import HushError, codec


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


@pytest.mark.parametrize("data", [b"\x80\x00", b"\xff" * 10, b"\xff" * 12, b"", b"\x80"])
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
