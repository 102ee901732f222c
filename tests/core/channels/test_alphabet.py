"""Outputs by themselves: reading checks them, without help from the report around them."""

from __future__ import annotations

from typing import Any

import pytest

from hush import ReportError, TallyError
from hush.core.channels import Alphabet, Grouped, Output, Subsets, Symbols
from hush.core.channels.alphabet import Points, members
from hush.core.channels.sparse import Sparse


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


def test_how_many_outputs_there_are() -> None:
    assert (Symbols(5).outputs, Subsets(5).outputs, Subsets(5, 2).outputs) == (5, 32, 10)
    assert Grouped(10, 2, 2).outputs == 40  # two of five dimensions, two signs each
    assert Grouped(9, 3, 3).outputs == 27
    assert Subsets(3, 3).outputs == 1
    assert Grouped(6, 2).group == 2


@pytest.mark.parametrize(("size", "width"), [(1, 1), (8, 1), (9, 2), (16, 2), (17, 3)])
def test_sets_take_a_bit_for_each_member(size: int, width: int) -> None:
    assert Subsets(size).width == width
    assert Subsets(size).unpack(Subsets(size).pack((size - 1,))) == (size - 1,)


def test_symbols_have_their_most_significant_byte_first() -> None:
    assert Symbols(1000).pack(258) == b"\x01\x02"
    assert Symbols(1000).unpack(b"\x01\x02") == 258


GOOD: list[tuple[Alphabet, Output]] = [
    (Symbols(3), 0),
    (Symbols(3), 2),
    (Subsets(5), ()),
    (Subsets(5), (0,)),
    (Subsets(5), (0, 1, 2, 3, 4)),
    (Subsets(5, 2), (3, 4)),
    (Grouped(6, 2, 2), (0, 2)),
    (Grouped(6, 2, 2), (1, 2)),
    (Grouped(6, 3, 2), (1, 3, 5)),
]
BAD: list[tuple[Alphabet, Any]] = [
    (Symbols(3), -1),
    (Symbols(3), 3),
    (Symbols(3), True),
    (Symbols(3), (1,)),
    (Subsets(5), (-1,)),
    (Subsets(5), (5,)),
    (Subsets(5), (0, 5)),
    (Subsets(5), (-1, 0)),
    (Subsets(5), (2, 2)),
    (Subsets(5), (3, 1)),
    (Subsets(5), (1, True)),
    (Subsets(5), [1]),
    (Subsets(5), 1),
    (Subsets(5, 2), (1,)),
    (Subsets(5, 2), (1, 2, 3)),
    (Subsets(5, 2), (2, 2)),
    (Grouped(6, 2, 2), (0, 1)),
    (Grouped(6, 2, 2), (4, 5)),
    (Grouped(6, 2, 2), (0,)),
    (Grouped(6, 3, 2), (0, 1, 4)),
    (Grouped(6, 3, 2), (0, 4, 5)),
    (Grouped(6, 2, 2), (5, 6)),
    (Grouped(6, 2, 3), (1, 2)),
]


def test_the_ends_of_what_is_an_output() -> None:
    for alphabet, output in GOOD:
        alphabet.check(output)
        assert alphabet.unpack(alphabet.pack(output)) == output
        assert alphabet.from_json(list(output) if isinstance(output, tuple) else output) == output
    for alphabet, junk in BAD:
        with pytest.raises(ReportError):
            alphabet.check(junk)
        if isinstance(junk, tuple) and isinstance(alphabet, Subsets):
            with pytest.raises(ReportError):
                alphabet.from_json([*junk])
    for alphabet, junk in (
        (Symbols(3), [1]),
        (Symbols(3), "1"),
        (Subsets(5), (1, 2)),
        (Subsets(5), "12"),
        (Subsets(5), 1),
    ):
        with pytest.raises(ReportError):
            alphabet.from_json(junk)


def test_outputs_are_counted() -> None:
    counts = [0, 5, 0, 1, 0]
    Symbols(5).count(counts, 1)
    assert counts == [0, 6, 0, 1, 0]
    Subsets(5).count(counts, (0, 3))
    assert counts == [1, 6, 0, 2, 0]
    Subsets(5).count(counts, ())
    assert counts == [1, 6, 0, 2, 0]


def test_the_ends_of_counts() -> None:
    good: list[tuple[Alphabet, list[int], int]] = [
        (Symbols(2), [0, 0], 0),
        (Symbols(2), [0, 7], 7),
        (Subsets(2), [0, 0], 7),
        (Subsets(2), [7, 7], 7),
        (Subsets(3, 2), [7, 7, 0], 7),
        (Grouped(4, 1, 2), [2, 2, 2, 1], 7),
        (Grouped(4, 2, 2), [3, 4, 7, 0], 7),
        (Grouped(6, 1, 2), [1, 1, 1, 1, 1, 2], 7),
    ]
    bad: list[tuple[Alphabet, list[int], int]] = [
        (Symbols(2), [-1, 8], 7),
        (Symbols(2), [0, 6], 7),
        (Subsets(2), [-1, 0], 7),
        (Subsets(2), [0, 8], 7),
        (Subsets(3, 2), [7, 6, 0], 7),
        (Subsets(3, 1), [8, -1, 0], 7),
        (Grouped(4, 2, 2), [4, 4, 6, 0], 7),
        (Grouped(4, 2, 2), [6, 0, 4, 4], 7),
        (Grouped(4, 1, 2), [2, 2, 2, 2], 7),
    ]
    for alphabet, counts, n in good:
        alphabet.check_counts(counts, n)
    for alphabet, counts, n in bad:
        with pytest.raises(TallyError):
            alphabet.check_counts(counts, n)


def test_members_are_the_ones_of_an_integer() -> None:
    assert [members(bits) for bits in (0, 1, 2, 0b1011, 1 << 100)] == [(), (0,), (1,), (0, 1, 3), (100,)]


def test_every_output_is_listed_in_order() -> None:
    assert list(Symbols(3).listed()) == [0, 1, 2]
    assert Subsets(2).listed() == [(), (0,), (0, 1), (1,)]
    assert Subsets(4, 3).listed() == [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    assert Grouped(6, 2, 2).listed()[:5] == [(0, 2), (0, 3), (0, 4), (0, 5), (1, 2)]
    assert Grouped(6, 2, 3).listed() == [(a, b) for a in (0, 1, 2) for b in (3, 4, 5)]
    alphabets: list[Alphabet] = [Symbols(3), Points(5), Subsets(3), Subsets(4, 2), Grouped(6, 2, 2), Grouped(6, 1, 3)]
    for alphabet in alphabets:
        listed = alphabet.listed()
        assert len({*listed}) == len(listed) == alphabet.outputs
        for output in listed:
            alphabet.check(output)


@pytest.mark.parametrize("alphabet", [Symbols(4), Subsets(4), Subsets(4, 2), Grouped(4, 2, 2), Points(4)])
def test_counts_are_kept_added_and_written(alphabet: Alphabet) -> None:
    zeros = alphabet.zeros()
    assert list(zeros) == [0] * 4
    zeros[1] += 1
    assert list(alphabet.zeros()) == [0] * 4
    given = [0, 0, 3, 1]
    kept = alphabet.kept(given)
    assert list(kept) == given
    kept[0] = 9
    assert given[0] == 0
    kept[0] = 0
    assert list(alphabet.summed(kept, alphabet.kept([1, 0, 1, 0]))) == [1, 0, 4, 1]
    assert list(alphabet.kept(alphabet.read(alphabet.written(kept)))) == given
    numbers = iter([*alphabet.packed(kept), 77])
    assert list(alphabet.unpacked(lambda: next(numbers))) == given
    assert next(numbers) == 77  # no more than is its own was taken


def test_how_counts_are_written() -> None:
    assert Symbols(4).written([0, 0, 3, 1]) == list(Symbols(4).packed([0, 0, 3, 1])) == [0, 0, 3, 1]
    few = Sparse.of([0, 0, 3, 1, 0])
    assert Points(5).written(few) == [-2, 3, 1, -1]
    assert list(Points(5).packed(few)) == [0, 2, 3, 1, 0, 1]


@pytest.mark.parametrize("alphabet", [Symbols(3), Subsets(3), Points(3)])
@pytest.mark.parametrize("counts", [[1, 2], [1, 2, 3, 4], [], [1, 2, 3.0], [1, True, 3], [1, "2", 3]])
def test_other_counts_are_not_kept(alphabet: Alphabet, counts: list[Any]) -> None:
    with pytest.raises(TallyError):
        alphabet.kept(counts)


def test_the_counts_of_points_are_checked() -> None:
    for counts in ([0, 0, 0], [3, 0, 0], [1, 1, 1]):
        Points(3).check_counts(Sparse.of(counts), sum(counts))
    Points(100).check_counts(Sparse(100, [(7, 2), (9, 1)]), 3)
    for counts, n in (([1, 1, 1], 2), ([1, 1, 1], 4), ([4, -1, 0], 3), ([-1, 0, 0], -1)):
        with pytest.raises(TallyError, match="must add up"):
            Points(3).check_counts(Sparse.of(counts), n)


@pytest.mark.parametrize("numbers", [[0, 4], [1, 0, 3], [0, 0, 3], [0, 1, 0, 2], [1 << 63, 0, 2]])
def test_points_that_are_written_otherwise_are_refused(numbers: list[int]) -> None:
    """A run beyond the end, an empty one, one that is cut in two, and a count that is too large."""
    with pytest.raises(TallyError):
        Points(3).unpacked(iter(numbers).__next__)
