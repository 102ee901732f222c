"""Reports that are orthogonal to each point, in numbers: rows of counts, and fields on both sides of `FEW`."""

from __future__ import annotations

import sys
from array import array
from random import Random

import pytest

from hush.core.channels.fields import Field
from hush.core.channels.geometry import Geometry, points_of
from hush.core.channels.hyperplanes import FEW, PIECE, Lanes, added, orthogonal, pieces


@pytest.mark.parametrize(("n", "code", "width"), [(0, "I", 4), ((1 << 32) - 1, "I", 4), (1 << 32, "Q", 8)])
def test_counts_lie_side_by_side_in_one_integer(n: int, code: str, width: int) -> None:
    lanes = Lanes(n)
    assert (lanes.code, lanes.width) == (code, width)
    row = lanes.row(array(code, [5, 0, 7]))
    assert row == 5 + (7 << 16 * width)
    assert [*lanes.counts(row, 3)] == [5, 0, 7]
    assert [*lanes.counts(row, 4)] == [5, 0, 7, 0]
    assert [*lanes.zeros(2)] == [0, 0]
    assert lanes.zeros(2).typecode == code


def test_a_machine_with_the_other_order_of_bytes_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its arrays have the highest byte first: they are turned around, and those that were given stay."""
    given = array("I", [1, 258])
    monkeypatch.setattr(sys, "byteorder", "big")
    assert Lanes(0).row(given) == (1 << 24) + (0x201 << 48)
    assert [*given] == [1, 258]
    monkeypatch.setattr(sys, "byteorder", "little")
    assert Lanes(0).row(given) == 1 + (258 << 32)


def test_very_many_counts_are_added_in_pieces() -> None:
    counts = [*range(PIECE), 7, 8]
    assert [len(piece) for piece in pieces(counts)] == [PIECE, 2]
    assert [*map(len, pieces(counts[:PIECE]))] == [PIECE]
    assert PIECE == 32768
    assert added(counts) == sum(counts)
    assert added([]) == 0


def test_counts_may_be_of_any_kind() -> None:
    counts = [3, 0, 1, 4, 1, 5, 9]
    assert orthogonal(array("Q", counts), 2, 3) == orthogonal(iter(counts), 2, 3) == orthogonal(counts, 2, 3)


@pytest.mark.parametrize(("q", "t"), [(2, 3), (2, 5), (3, 4), (4, 3), (5, 3), (9, 3), (37, 3), (67, 3)])
@pytest.mark.parametrize("scale", [1 << 26, 1 << 33])
def test_each_point_has_the_reports_that_are_orthogonal_to_it(q: int, t: int, scale: int) -> None:
    """By the definition, for some reports that are few and large: one count must not run into the next."""
    assert FEW == 64
    random = Random(q * t)
    size = points_of(q, t)
    channel = Geometry(size, q, t, (1 << 64) - (1 << 60))
    reports = {0: 3, 1: 2, q: 5, size - 1: 4, **{random.randrange(size): random.randrange(1, 9) for _ in range(6)}}
    counts = [scale * reports.get(point, 0) for point in range(size)]
    found = orthogonal(counts, q, t)
    assert len(found) == size
    for point in {*range(min(size, 12)), *random.sample(range(size), min(size, 12)), size - 1}:
        other = channel.vector(point)[::-1]
        assert found[point] == sum(
            scale * n for report, n in reports.items() if Field(q).against(0, channel.vector(report), other) == 0
        )
