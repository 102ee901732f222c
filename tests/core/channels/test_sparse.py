"""Sparse counts: they behave as a list of integers, stay small, and are written in one way only."""

from __future__ import annotations

import tracemalloc
from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.core.channels.alphabet import Points
from hush.core.channels.sparse import Sparse
from hush.errors import TallyError

COUNTS = st.lists(st.sampled_from([0, 0, 0, 1, 2, 300]), min_size=1, max_size=60)


@given(counts=COUNTS, more=st.data())
def test_it_is_a_list_of_counts(counts: list[int], more: st.DataObject) -> None:
    found = Sparse.of(counts)
    assert list(found) == counts == found[:]
    assert [*found.dense()] == counts
    assert found.total() == sum(counts)
    assert found == Sparse(len(counts), [(i, n) for i, n in enumerate(counts) if n])
    other = more.draw(st.lists(st.integers(0, 5), min_size=len(counts), max_size=len(counts)))
    assert list(found + Sparse.of(other)) == [a + b for a, b in zip(counts, other, strict=True)]
    place = more.draw(st.integers(0, len(counts) - 1))
    copy = found.copy()
    copy[place] += 1
    assert copy[place] == counts[place] + 1 == copy[place - len(counts)]
    assert list(found) == counts
    copy[place] = 0
    assert list(copy) == [*counts[:place], 0, *counts[place + 1 :]]


@given(counts=COUNTS)
def test_it_travels_as_runs(counts: list[int]) -> None:
    alphabet, found = Points(len(counts)), Sparse.of(counts)
    runs = alphabet.written(found)
    assert alphabet.read(runs) == found
    assert all(a > 0 or b > 0 for a, b in pairwise(runs))
    numbers = iter(alphabet.packed(found))
    assert alphabet.unpacked(lambda: next(numbers)) == found
    assert next(numbers, None) is None


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [-4],
        [-6],
        [0, -4],
        [-2, -3],
        [-4, -1],
        [-5, 1],
        [1] * 6,
        [True, -4],
        [1.0, -4],
        ["1", -4],
        [1 << 63, -4],
        [-5, -1],
    ],
)
def test_other_runs_are_refused(runs: list[int]) -> None:
    with pytest.raises(TallyError):
        Sparse.from_runs(5, runs)


def test_the_length_is_fixed_and_counts_are_integers() -> None:
    found = Sparse(5)
    for break_ in (lambda: found.append(1), lambda: found.pop(), lambda: found.insert(0, 1)):
        with pytest.raises(TypeError, match="fixed"):
            break_()
    for place in (5, -6):
        with pytest.raises(IndexError):
            found[place]
    for junk in ([1.5], [True], [1 << 63], ["1"]):
        with pytest.raises(TallyError, match="integers"):
            Sparse.of(junk)  # type: ignore[arg-type]


def test_memory_is_bounded() -> None:
    """Few counts take little; all of them take at most 16 bytes each, whatever the order in which they come."""
    size = 1 << 16
    tracemalloc.start()
    few = Sparse(size, [(i * 600, 1) for i in range(100)])
    little = tracemalloc.get_traced_memory()[0]
    every = Sparse(size)
    for place in range(0, 7 * size, 7):
        every[place % size] += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert little < 20_000
    assert few.total() == 100
    assert every.total() == size
    assert peak < 24 * size
    assert Sparse.of(array("q", [0] * 100)) == Sparse(100)


def test_it_is_an_array_once_a_sixteenth_is_counted() -> None:
    found = Sparse(64, [(place, 1) for place in (3, 7, 60, 63)])
    assert found._all is None
    found[0] = 2
    assert found._all is not None
    assert not found._few
    assert found[:8] == [2, 0, 0, 1, 0, 0, 0, 1]
    assert Sparse.of([1] * 3 + [0] * 61)._all is None
    assert Sparse.of([1] * 4 + [0] * 60)._all is not None
    assert Sparse.of([1] * 15 + [0] * 225)._all is not None
    assert Sparse.of([1] * 14 + [0] * 226)._all is None
    assert Sparse.of([1] * 4 + [0] * 66)._all is not None
    for one in (found, Sparse(64, [(3, 1)])):
        assert Sparse.of(one) == one
        assert Sparse.of(one) is not one
        copy = one.copy()
        copy[5] = 9
        assert (one[5], copy[5], copy[-59]) == (0, 9, 9)
        dense = one.dense()
        dense[3] = 7
        assert one[3] == 1


def test_few_counts_are_in_order_and_may_become_none() -> None:
    found = Sparse(100, [(9, 1), (3, 2), (-100, 4)])
    assert found._all is None
    assert found.items() == [(0, 4), (3, 2), (9, 1)]
    assert found[-100] == 4
    found[3] = 0
    found[4] = 0
    assert found.items() == [(0, 4), (9, 1)]
    assert found[3] == 0


def test_the_least_count_is_at_most_0() -> None:
    for counts, least in (([], 0), ([0, 0], 0), ([1, 2], 0), ([3, -2, 1], -2)):
        assert Sparse.of(counts).least() == least
        assert Sparse(100, enumerate(counts)).least() == least


def test_only_counts_of_one_length_are_added_and_compared() -> None:
    few, many = Sparse(40, [(3, 1)]), Sparse.of([1] * 40)
    for one, other in ((few, many), (many, few), (many, many), (few, few)):
        assert list(one + other) == [a + b for a, b in zip(one, other, strict=True)]
    assert (list(few), list(many)) == ([*[0] * 3, 1, *[0] * 36], [1] * 40)
    for wrong in (Sparse(41), [0] * 40, 1):
        assert (few == wrong) is False
        with pytest.raises(TypeError):
            few + wrong  # type: ignore[operator]
    assert Sparse(3) != Sparse(4)
    assert Sparse(40, [(3, 1)]) == few != Sparse(40, [(4, 1)])


def test_runs_of_zeros_are_as_long_as_they_are() -> None:
    for counts, runs in (([0] * 5, [-5]), ([1, 0, 0, 2], [1, -2, 2]), ([0, 3], [-1, 3]), ([4, 0], [4, -1]), ([5], [5])):
        found = Sparse.of(counts)
        assert found.runs() == runs
        assert list(Sparse.from_runs(len(counts), runs)) == counts
    assert list(Sparse.from_runs(2, [(1 << 63) - 1, -1])) == [(1 << 63) - 1, 0]
