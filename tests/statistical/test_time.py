"""A stop-watch learns next to nothing: times of two records, on the worst valid plan of every channel.

`stopwatch` says how it is measured. Of n times each the best threshold may guess right by chance: for
equal laws more often than `by_chance` with a probability below 1e-8, in some 200 such comparisons. Beyond that .1 is
allowed for what remains (caches, garbage collection, the length of integers), and more where the middle times differ
by at most 3 % of a report's time: how often that is guessed depends on how quiet the machine is, and `make stopwatch`
says it of one. Noise of a busy machine hits both records alike, as they take turns in random order; but its spells do
not, so a leak must show in each of three runs. One that is there shows in all of them, as the twins do.
"""

from __future__ import annotations

import functools
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hush import Categorical, Listed, Plan, randomise
from hush.core.channels import Output, Subset, Window
from hush.core.channels.base import Coins, State
from hush.core.exact import WORD
from hush.core.finders import Texts
from hush.core.report import Report
from hush.device.coins import SystemCoins
from tests.statistical import stopwatch
from tests.statistical.favours import favours
from tests.statistical.machine import Computed, computed, machine, others
from tests.statistical.stopwatch import (
    CASES,
    GIVEN,
    Case,
    Randomise,
    Seen,
    action_of,
    asking,
    by_chance,
    compare,
    first,
    given,
    guess,
    later,
    unasked,
    uneven,
)

ALARM, LEFT, SMALL, FEW, RUNS = 1e-8, 0.1, 0.03, 50, (1, 2, 3)
SLOW = {"unary", "cube", "corners", "signs, even", "signs, odd", "subset of all but one", "cells, sets"}
SMALLER = {"unary": 256, "cube": 64, "corners": 64, "signs, even": 64, "signs, odd": 63}
SMALLER |= {"subset of half": 128, "cells, sets": 12, "picks, none or many": 64, "picks, missing or not": 64}


@pytest.mark.parametrize("name", CASES)
def test_time_does_not_tell_records_apart(name: str) -> None:
    n = 150 if name in SLOW else 2000
    case = CASES[name]()
    assert not all(shows(later(case, n, action_of(name), run)) for run in RUNS)


def shows(seen: Seen) -> bool:
    """Return whether a time reveals more than what is allowed to be left."""
    return seen.shows(ALARM, LEFT, SMALL)


@pytest.mark.parametrize("name", CASES)
def test_nor_does_the_first_report_after_reading_the_plan(name: str) -> None:
    case = _quickly_read(name)
    assert not all(shows(first(case, FEW, action_of(name), run)) for run in RUNS)


@pytest.mark.parametrize("name", GIVEN)
def test_nor_do_time_and_report_together(name: str) -> None:
    """Among reports that favour one record, or the other, or neither. A twin works longer if one favours the truth."""
    n = 1000 if name in SMALLER or name.startswith("text") else 2000
    case = GIVEN[name](SMALLER[name]) if name in SMALLER else GIVEN[name]()
    assert not all(any(map(shows, given(case, n, seed=run))) for run in RUNS)
    assert all(any(map(shows, given(case, n, telling(case), run))) for run in RUNS)


def telling(case: Case) -> Randomise:
    """The twin for any channel: work that depends on whether the report favours the record that it is of.

    It takes four times as long. Machines that others use were seen to change their speed by a factor of two in a run.
    """
    side = favours(*case)

    def again(plan: Plan, record: dict[str, Any]) -> Report:
        report = randomise(plan, record)
        if side(report) == (1 if record is case.one else -1):
            for _ in range(3):
                randomise(plan, record)
        return report

    return again


def _quickly_read(name: str) -> Case:
    """The plan, with fewer cells where there are many: it is read again for every report."""
    return CASES[name](2048) if name.startswith(("window", "mixture")) else CASES[name]()


def telling_texts(report: Callable[[str], object], texts: tuple[str, str], n: int) -> Seen:
    """Return how well the time of a report tells two texts apart. Each text is a new one, as one that was read."""
    times: tuple[list[int], list[int]] = ([], [])
    raw, order = [text.encode() for text in texts], random.Random(1)
    for _ in range(n):
        for side in order.sample((0, 1), 2):
            text = raw[side].decode()
            start = time.perf_counter_ns()
            report(text)
            times[side].append(time.perf_counter_ns() - start)
    return compare(*times)


def by_letters(text: str) -> int:
    """The twin: a hash that looks at one character after the other."""
    return functools.reduce(lambda found, letter: (31 * found + ord(letter)) % WORD, text, 0)


LONG = ("y" * 256, "\u6c34" + "y" * 255, "\U0001f600" * 256)


@pytest.mark.parametrize("text", LONG, ids=["narrow", "wider", "widest"])
def test_neither_the_length_nor_the_width_of_a_text_shows(text: str) -> None:
    """From a record to its report, which takes several times as long as finding the category alone.

    On a quiet machine a stop-watch sees even that a text is copied, which is a small leak. That the same number of
    bytes is hashed for every text is checked without a clock.
    """
    n, texts = 5000, ("no", text)
    values = (*texts, "maybe")
    attribute = Categorical("c", values)
    plan = asking((attribute,), Subset(3, 1, WORD * 2 // 5))
    find = attribute._find
    assert isinstance(find, Texts)
    assert len({len(find.padded(value)) for value in values}) == 1
    assert not all(shows(telling_texts(lambda text: randomise(plan, {"c": text}), texts, n)) for _ in RUNS)
    assert shows(telling_texts(lambda text: (by_letters(text), randomise(plan, {"c": "no"})), texts, n))


# -- twins


def lazily(plan: Plan, record: dict[str, Any]) -> Report:
    """Makes the grid of a window at the first draw of a number, as was once done."""
    (question,) = plan.questions
    channel = question.channel
    assert isinstance(channel, Window)
    if record["x0"] is not None:
        uneven(channel.size, channel.width, channel.optional)._search  # noqa: B018  # a fresh one, which has nothing yet
    return randomise(plan, record)


def sparing(plan: Plan, record: dict[str, Any]) -> Report:
    """Codes the characters that a text has, as was once done."""
    by_letters("y" * (20 * len(record.get("t") or "")))
    return action_of("text, not asked for, left out or not")(plan, record)


def test_a_text_that_takes_as_long_as_it_is_is_caught() -> None:
    """Asked for, or not: a report of one that is left out is quicker."""
    assert shows(later(unasked(), 500, sparing))


def counting(plan: Plan, record: dict[str, Any]) -> Report:
    """Counts the years up to a date."""
    by_letters("y" * int((record["d"] or "0000")[:4]))
    return randomise(plan, record)


def test_a_date_that_is_counted_is_caught() -> None:
    assert shows(later(CASES["date, early or late"](), 500, counting))


def late_list(plan: Plan, record: dict[str, Any]) -> Report:
    """Makes the table of a long list for a value that is present."""
    attribute = plan.schema["c"]
    assert isinstance(attribute, Categorical)
    assert isinstance(attribute.values, Listed)
    if record["c"] is not None:
        Texts(attribute.values)
    return randomise(plan, record)


def test_a_table_that_is_made_when_it_is_needed_is_caught() -> None:
    assert shows(first(CASES["long list, missing or not"](), 200, late_list))


def test_a_grid_that_is_made_when_it_is_needed_is_caught() -> None:
    assert shows(first(_quickly_read("window, missing or not"), FEW, lazily))


class Hasty(Subset):
    """Takes longer if the truth is in the set: as often for every category, so that the time alone says nothing."""

    def draw(self, state: State, coins: Coins) -> Output:
        output = super().draw(state, coins)
        assert isinstance(output, tuple)
        if state in output:
            super().draw(state, coins)
        return output


def test_a_time_that_tells_the_coin_is_seen_only_with_the_report() -> None:
    right, one, other = GIVEN["subset of half"](SMALLER["subset of half"])
    (question,) = right.questions
    assert isinstance(question.channel, Subset)
    channel = Hasty(question.channel.size, question.channel.weight, question.channel.threshold)
    case = Case(asking(right.schema.attributes, channel), one, other)
    assert not shows(later(case, 2000))
    towards, away, _ = given(case, 2000)
    assert shows(towards)
    assert shows(away)


class Sparing(Subset):
    """Draws no member that it does not need: w - 1 others with the truth, all of them without it."""

    def draw(self, state: State, coins: Coins) -> Output:
        if coins.toss(self.threshold):
            return super().draw(state, coins)
        return tuple(member for member in range(self.size) if member != state)


class Forced(SystemCoins):
    """The first word is given: it is the coin that decides whether the truth is in the set."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self._first = [first]

    def word(self) -> int:
        return self._first.pop() if self._first else super().word()


def test_a_subset_that_spares_words_is_caught() -> None:
    """Here the times of one record are compared, by the coin: they must not tell whether the truth is in the set."""
    (question,) = CASES["subset of all but one"]().plan.questions
    right = question.channel
    assert isinstance(right, Subset)
    for channel, caught in ((right, False), (Sparing(right.size, right.weight, right.threshold), True)):
        times: tuple[list[int], list[int]] = ([], [])
        for turn in range(2 * FEW):
            side = turn % 2
            coins = Forced(0 if side else WORD - 1)
            start = time.perf_counter_ns()
            output = channel.draw(7, coins)
            times[side].append(time.perf_counter_ns() - start)
            assert isinstance(output, tuple)
            assert (7 in output) is (side == 1)
        assert shows(compare(*times)) is caught


def test_the_best_threshold_is_found() -> None:
    assert guess([1, 2, 3], [4, 5, 6]) == guess([4, 5, 6], [1, 2, 3]) == 1
    assert guess([1, 2, 3, 4], [1, 2, 3, 4]) == 0.5
    assert guess([1, 1, 9, 9], [9, 9, 9, 9]) == 0.75
    assert by_chance(10**9, 1e-8) < 0.501


def test_the_size_of_a_leak_does_not_depend_on_the_noise() -> None:
    """A hundredth of a report's time may be guessed every time; more may not, if it can be seen."""
    quiet = compare([10_000] * 100, [10_100] * 100)
    assert quiet == pytest.approx((1, 100, 0.01))
    assert not shows(quiet)
    assert shows(compare([10_000] * 100, [10_400] * 100))
    assert not shows(compare(range(10_000, 20_000, 50), range(11_000, 21_000, 50)))  # the noise is ten times as large


def test_what_others_compute_is_known() -> None:
    before, after = Computed(10, 2, 100), Computed(14, 5, 102)  # of 4 seconds on two processors 3 were our own
    assert others(before, after, 2) == 0.25
    assert others(before, Computed(12, 5, 102), 2) == 0  # clocks that disagree a little
    assert others(None, after) is None
    assert {*machine()} == {"processor", "cores", "system", "python", "load"}
    start = computed()
    if start is not None:
        busy = time.process_time() + 0.05
        while time.process_time() < busy:
            pass
        end = computed()
        assert end is not None
        assert end.own - start.own >= 0.05


def test_what_is_kept_names_the_run_of_every_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of plans that are not measured again, what was kept before stays, with its run; runs without plans go."""
    kept = tmp_path / "kept.json"
    monkeypatch.setattr(stopwatch, "KEPT", kept)
    old, new = {"later": 0.5}, {"later": 0.6, "run": "today"}
    kept.write_text(json.dumps({"a": old, "b": old, "gone": old}))  # as files were once
    first = stopwatch.merged(["a", "b"], {"b": new}, {"today": {"load": 0.1}})
    assert first == {"runs": {"today": {"load": 0.1}}, "plans": {"a": old, "b": new}}
    kept.write_text(json.dumps(first))
    then = {"later": 0.7, "run": "then"}
    assert stopwatch.merged(["a", "b"], {"a": then}, {"then": {}})["runs"] == {"today": {"load": 0.1}, "then": {}}
    assert stopwatch.merged(["a", "b"], {"b": then}, {"then": {}})["runs"] == {"then": {}}


def test_a_row_has_a_size_for_every_share() -> None:
    """Also for plans that are there only to be looked at with the report."""
    for name in ("date, early or late", "window, bounds far apart", "subset of half"):
        row = stopwatch.measured(name, 40)
        for share, size in stopwatch.SHOWN:
            assert (share in row) == (size in row) == (name in (GIVEN if share == "given" else CASES)), (name, share)


def test_every_kind_of_attribute_is_looked_at_with_the_report() -> None:
    """But where no report favours one of the records."""
    kinds = {type(case().plan.schema.attributes[0]) for case in CASES.values()}
    assert kinds == {type(case().plan.schema.attributes[0]) for case in GIVEN.values()}
