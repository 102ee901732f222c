"""The experiment about a new word, week after week: its people, its devices, and what is kept of it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from experiments.word_trends import CAP, EPSILON, KEPT, NEW, SPREAD, Device, crowd, unseen, vocabulary, week_of

import hush
from experiments import word_trends
from hush import BudgetError, Ledger, Series
from hush.core.design.categorical import geometry
from hush.testing import SeededCoins


def test_people_hold_the_new_word_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    words = vocabulary(rng, 50)
    assert words[-1] == NEW
    held = crowd(rng, 2000, 6, 50)
    assert [float((week == 50).mean()) for week in held] == [*SPREAD]
    own = [np.where(week == 50, -1, week) for week in held]
    back = (held[4] == 50) & (held[5] != 50)
    assert back.sum() == 40
    # Those who leave the new word take up their old one, but for one in a hundred each week.
    joined = [next(week for week in range(6) if held[week][person] == 50) for person in np.flatnonzero(back)]
    same = [own[5][person] == own[week - 1][person] for person, week in zip(np.flatnonzero(back), joined, strict=True)]
    assert sum(same) > 30


def test_the_devices_charge_and_answer_as_a_ledger_does(tmp_path: Path) -> None:
    """A real ledger of each person, with the same history."""
    schema = hush.Schema([word_trends.TEXT])
    plans = [hush.design(schema, EPSILON, title=f"week {week}") for week in range(7)]
    history = ["time", "time", NEW, "time", "cat", "dog", "time"]
    device, coins = Device(), SeededCoins(1)
    series = Series(Ledger(tmp_path / "ledger", cap=CAP), "words")
    answers = [
        device.answer(coins, plan, schema.encode({"word": word})) for plan, word in zip(plans, history, strict=True)
    ]
    assert device.spent == 3 * Fraction(EPSILON)
    assert [known is None for known in answers] == [False] * 5 + [True, False]
    assert answers[0] == answers[1] == answers[3] == answers[6] != answers[2]
    for plan, word, known in zip(plans, history, answers, strict=True):
        if known is None:
            with pytest.raises(BudgetError):
                series.randomise(plan, {"word": word})
        else:
            series.randomise(plan, {"word": word})
    assert series.ledger.spent == device.spent


def test_the_chance_that_a_change_is_not_seen_is_that_of_the_law() -> None:
    for epsilon, size in ((Fraction(1), 20), (Fraction(4), 40)):
        channel = geometry(epsilon, size)
        one, other = channel.law(3), channel.law(7)
        assert unseen(channel) == sum(chance * other[output] for output, chance in one.items())


def test_a_week_is_counted() -> None:
    plan = hush.design(hush.Schema([word_trends.TEXT]), EPSILON)
    tally = week_of(plan, [((0, 5),), ((0, 5),), ((2, 7),)])
    assert (tally.reports, [*tally.answered]) == (3, [2, 0, 1, 0])
    assert (tally.counts[0][5], tally.counts[2][7], sum(tally.counts[1])) == (2, 1, 0)


def test_what_is_kept_adds_up() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    about, weeks = kept["about"], kept["weeks"]
    assert (about["people"] >= 200_000, len(weeks), about["seconds"] < 300) == (True, 6, True)
    assert [row["truth"] for row in weeks] == pytest.approx([*SPREAD], abs=1e-5)
    for before, row in zip([None, *weeks], weeks, strict=False):
        spent = sum(int(times) * share for times, share in row["words"].items()) * EPSILON
        assert row["spent"] == pytest.approx(spent)
        assert row["seen"] <= row["changed"]
        if before is not None:
            assert 0 <= row["spent"] - before["spent"] <= EPSILON * row["changed"] + 1e-9
    # Found when its share is well above the floor, and not when nobody holds it.
    assert weeks[0]["found"] is None
    for row in weeks:
        if row["truth"] > 2 * row["floor"]:
            share, low, high = row["found"]
            assert low <= share <= high
    assert sum(row["false"] for row in weeks) <= 0.1 * sum(row["returned"] for row in weeks)
