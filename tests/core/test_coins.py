"""Words, exactly uniform integers, and a source that nobody can seed."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hush
from hush.core.coins import Coins, groups
from hush.core.exact import WORD
from hush.device.coins import SystemCoins
from hush.testing import ListedCoins, RecordedCoins, SeededCoins


@given(st.one_of(st.integers(1, 1000), st.integers(1, WORD)), st.data())
def test_below_gives_every_integer_the_same_number_of_words(n: int, data: st.DataObject) -> None:
    # The words that give r are an interval: find its ends, count it, and try the words just outside.
    r = data.draw(st.integers(0, n - 1))
    excess = WORD % n
    first = -(-(r * WORD + excess) // n)
    last = -(-((r + 1) * WORD) // n) - 1
    assert last - first + 1 == WORD // n
    assert ListedCoins([first]).below(n) == ListedCoins([last]).below(n) == r
    for outside in (first - 1, last + 1):
        if 0 <= outside < WORD:
            retried = ListedCoins([outside, first])
            assert retried.below(n) != r or retried.left == 0


def test_below_redraws_exactly_the_excess_words() -> None:
    n = 3  # 2^64 mod 3 = 1: one word of all must be redrawn
    coins = ListedCoins([0, 5])
    assert coins.below(n) == 0
    assert coins.left == 0
    assert ListedCoins([1]).below(n) == 0


SIZES = st.one_of(
    st.lists(st.integers(1, 5000), min_size=1, max_size=40).map(tuple),
    st.tuples(st.integers(1, 70), st.integers(1, 70)).map(lambda pair: range(pair[0], sum(pair))),
)


def digits(value: int, sizes: Sequence[int]) -> list[int]:
    """The digits of a number below the product of the sizes, each below its own."""
    found = []
    for n in reversed(sizes):
        value, digit = divmod(value, n)
        found.append(digit)
    return found[::-1]


@given(SIZES, st.integers(0, WORD - 1))
def test_several_are_the_digits_of_one_that_is_uniform(sizes: Sequence[int], seed: int) -> None:
    """Each tuple of integers is one number below their product, and `below` gives each of those as many words."""
    words, expected = RecordedCoins(SeededCoins(seed)), []
    for group in groups(sizes):
        expected += digits(words.below(group.product), group.sizes)
        assert group.product == math.prod(group.sizes)
    again = ListedCoins(words.words)
    assert again.several(sizes) == expected
    assert again.left == 0
    assert [n for group in groups(sizes) for n in group.sizes] == list(sizes)


@given(SIZES)
def test_groups_are_as_long_as_their_product_allows(sizes: Sequence[int]) -> None:
    found = groups(sizes)
    assert all(group.product <= 1 << 56 and group.excess == WORD % group.product for group in found)
    assert all(one.product * other.sizes[0] > 1 << 56 for one, other in pairwise(found))


class Watched(int):
    """An integer that writes down what is done with it, and with how long integers."""

    did: ClassVar[list[tuple[str, int]]] = []

    def __new__(cls, value: int) -> Watched:
        return super().__new__(cls, value)


def _watch(name: str) -> None:
    plain = getattr(int, name)

    def watched(self: Watched, other: int) -> Any:
        found = plain(self, other)
        if type(found) is tuple:
            Watched.did.append((name, 0))
            return tuple(map(Watched, found))
        if type(found) is not int:
            return found
        Watched.did.append((name, len(bin(found)) if found >= WORD else 0))
        return Watched(found)

    setattr(Watched, name, watched)


for _name in ("add", "radd", "mul", "rmul", "and", "rand", "rshift", "floordiv", "mod", "divmod", "lt", "ge"):
    _watch(f"__{_name}__")


class WatchedCoins(ListedCoins):
    """Coins whose words are watched."""

    def word(self) -> int:
        return Watched(super().word())


def divided(coins: Coins, n: int) -> int:
    """The twin: how an integer was once drawn. Python divides in no time where the result is 0."""
    return divmod(coins.word() * n, WORD)[0]


def done(draw: Callable[[Coins], object], word: int) -> list[tuple[str, int]]:
    """Return what is done to draw from this word."""
    Watched.did.clear()
    draw(WatchedCoins([word]))
    return Watched.did.copy()


@given(st.integers(2, 1 << 32), st.integers(0, WORD - 1), st.integers(0, WORD - 1))
def test_the_same_is_done_for_every_word(n: int, one: int, other: int) -> None:
    """No division, whose time depends on its result, and integers of one length to the end: a report and the integer
    behind it would reveal the record.
    """
    product, short = n * 5, {"__mul__", "__rmul__"}  # a word times n is as long as it is, but short words are rare
    assume(all(word * size % WORD >= WORD % size for word in (one, other) for size in (n, product)))
    for draw in (lambda coins: coins.below(n), lambda coins: coins.several((n, 5))):
        here, there = ([step for step in done(draw, word) if step[0] not in short] for word in (one, other))
        assert here == there
        assert not {"__divmod__", "__mod__", "__floordiv__"} & {name for name, _ in here}
    assert "__divmod__" in {name for name, _ in done(lambda coins: divided(coins, n), one)}


def test_several_redraw_exactly_the_excess_words() -> None:
    excess = WORD % 15
    low = next(word for word in range(1, 100) if word * 15 % WORD >= excess)
    assert excess == 1  # only the word 0
    coins = ListedCoins([0, low])
    assert coins.several((3, 5)) == [0, 0]
    assert coins.left == 0
    assert ListedCoins([WORD - 1]).several((3, 5)) == [2, 4]
    assert ListedCoins([]).several((1, 1)) == [0, 0]


def test_what_is_certain_takes_no_word_and_a_word_is_below_two_to_the_64() -> None:
    assert ListedCoins([]).below(1) == 0
    assert [ListedCoins([word]).below(2) for word in (0, WORD // 2 - 1, WORD // 2, WORD - 1)] == [0, 0, 1, 1]
    assert [ListedCoins([word]).below(WORD) for word in (0, 12345, WORD - 1)] == [0, 12345, WORD - 1]


@pytest.mark.parametrize("n", [0, -1, WORD + 1])
def test_below_is_for_positive_numbers_up_to_a_word(n: int) -> None:
    with pytest.raises(ValueError, match="below"):
        ListedCoins([1]).below(n)


def test_a_toss_compares_a_word_with_the_threshold() -> None:
    assert ListedCoins([99]).toss(100)
    assert not ListedCoins([100]).toss(100)


def test_system_words_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def fake(size: int) -> bytes:
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(os, "urandom", fake)
    coins = SystemCoins()
    words = [coins.word() for _ in range(17)]
    assert len(asked) == 2
    assert set(words[:16]) == {int.from_bytes(bytes(range(i, i + 8)), "little") for i in range(0, 128, 8)}
    assert all(0 <= word < WORD for word in words)


def test_a_fork_does_not_repeat_reports() -> None:
    plan = hush.design(hush.Schema([hush.Numeric("x", 0, 1)]), 1.0)
    hush.randomise(plan, {"x": 0.5})  # any shared pool would be filled now
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, hush.randomise(plan, {"x": 0.5}).id)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 16) != hush.randomise(plan, {"x": 0.5}).id
    os.close(reader)
    os.close(writer)


def test_nothing_public_takes_a_seed() -> None:
    for name in hush.__all__:
        try:
            item = getattr(hush, name)
        except ModuleNotFoundError:  # it needs an extra that is not installed: a run with all extras looks at it
            continue
        # The seed of a training or a map makes public matrices, that of made-up records no noise, and that of a
        # comparison only errors, never a report: none protects anybody.
        if not callable(item) or name in ("RandomMap", "Training", "compare", "synthesise"):
            continue
        methods = (
            [value for key, value in vars(item).items() if not key.startswith("_")] if inspect.isclass(item) else []
        )
        for function in [item, *methods]:
            if callable(function):
                try:
                    parameters = inspect.signature(function).parameters
                except ValueError:
                    continue
                assert not {"seed", "random_state", "rng", "coins", "words"} & set(parameters), name


def test_seeded_words_repeat_and_are_recorded() -> None:
    source = RecordedCoins(SeededCoins(7))
    words = [source.word() for _ in range(5)]
    assert words == source.words == [SeededCoins(7).word(), *words[1:]]
    with pytest.raises(LookupError):
        ListedCoins([]).word()


def test_several_at_the_ends() -> None:
    """Groups of exactly 2^56 outcomes, ranges of 2, and the first word that is not drawn again."""
    assert [group.sizes for group in groups((1 << 28, 1 << 28))] == [(1 << 28, 1 << 28)]
    assert [group.sizes for group in groups((1 << 28, 1 << 28, 2))] == [(1 << 28, 1 << 28), (2,)]
    coins = ListedCoins([WORD - 1, 0])
    assert [coins.several((2,)), coins.several((2, 1))] == [[1], [0, 0]]
    assert coins.left == 0
    third = pow(3, -1, WORD)  # times 3 it is 1 modulo 2^64, which is the excess
    assert ListedCoins([third]).several((3,)) == [third * 3 >> 64] == [2]
    nothing = ListedCoins([])
    assert nothing.several((1, 1)) == [0, 0]
