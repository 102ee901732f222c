"""Outputs by themselves: reading checks them, without help from the report around them."""

from __future__ import annotations

import pytest

from hush import ReportError, TallyError
from hush.channels import Subsets, Symbols


def test_bytes_outside_the_alphabet_are_refused() -> None:
    with pytest.raises(ReportError):
        Symbols(5).unpack(b"\x05")
    with pytest.raises(ReportError):
        Subsets(5, 2).unpack(b"\xff")
    with pytest.raises(ReportError):
        Subsets(5, 2).unpack(b"\x01")
    with pytest.raises(ReportError):
        Subsets(5).unpack(b"\x20")


@pytest.mark.parametrize(("size", "width"), [(2, 1), (256, 1), (257, 2), (65536, 2), (65537, 3)])
def test_symbols_take_the_fewest_bytes(size: int, width: int) -> None:
    assert Symbols(size).width == width
    assert Symbols(size).unpack(Symbols(size).pack(size - 1)) == size - 1


def test_sets_are_bits_lowest_first() -> None:
    assert Subsets(9).pack((0, 3, 8)) == bytes([0b1001, 1])
    assert Subsets(9).unpack(bytes([0b1001, 1])) == (0, 3, 8)


def test_counts_are_checked() -> None:
    Symbols(3).check_counts([1, 0, 2], 3)
    Subsets(3, 2).check_counts([2, 2, 2], 3)
    Subsets(3).check_counts([3, 0, 3], 3)
    for alphabet, counts in (
        (Symbols(3), [1, 1, 2]),
        (Symbols(3), [-1, 2, 2]),
        (Subsets(3, 2), [2, 2, 1]),
        (Subsets(3, 2), [4, 1, 1]),
        (Subsets(3), [4, 0, 0]),
        (Subsets(3), [-1, 0, 0]),
    ):
        with pytest.raises(TallyError):
            alphabet.check_counts(counts, 3)
