"""Words, exactly uniform integers, and a source that nobody can seed."""

from __future__ import annotations

import inspect
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hush
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
        # The seed of a training makes public matrices, that of made-up records no noise, and that of a comparison only
        # errors, never a report: none protects anybody.
        if not callable(item) or name in ("Training", "compare", "synthesise"):
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
