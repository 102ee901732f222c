"""What a device refuses: what the description has no room for, before anything is drawn or spent, and nothing else."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush import Categorical, DesignError, Ledger, Numeric, RecordError, Round, Schema, gradient, held_out
from hush.core.design.rounds import round_plan
from hush.core.training.training import LARGEST, SIZES
from hush.device.coins import SystemCoins
from hush.device.gradient import gradient_record, loss_record
from tests.learn.cases import LOSSES, first, no_word, numbers, person

PERSON = person([0.8, -0.5, 0.3])
ANSWERS = [gradient, held_out]

# -- one by one: what was once taken


BAD: list[tuple[Any, Any, str]] = [
    (
        PERSON,
        0,
        "'y': must be one of the 2 values declared: -1, 1",
    ),  # it trained on 0 as if half of the people were lost
    (PERSON, 0.3, "'y': must be an integer"),
    (PERSON, 1.0, "'y': must be an integer"),
    (PERSON, True, "'y': must be an integer"),
    (PERSON, np.True_, "'y': must be an integer"),
    (PERSON, "1", "'y': must be an integer"),
    (PERSON, "secret", "'y': must be an integer"),
    (PERSON, None, "'y': is missing"),
    (PERSON, [1], "'y': must be an integer"),
    (PERSON, np.array([1]), "'y': must be an integer"),
    (PERSON, 7312, "'y': must be one of the 2 values declared: -1, 1"),
    (PERSON, float("nan"), "'y': must be an integer"),
    (person([7.312e6, -0.5, 0.3]), 1, r"'x0': must be from -1\.0 to 1\.0"),
    (person([0.7312, 1.0000001, 0.3]), 1, r"'x1': must be from -1\.0 to 1\.0"),
    (person([0.7312, float("nan"), 0.3]), 1, "'x1': must not be NaN"),
    (person([0.7312, np.float64("nan"), 0.3]), 1, "'x1': must not be NaN"),
    (person([0.7312, 0.3, float("-inf")]), 1, "'x2': must be finite"),
    (person([7312 * 10**400, 0.1, 0.3]), 1, "'x0': must be from"),
    (person([0.7312, True, 0.3]), 1, "'x1': must be a number"),
    (person([0.7312, np.False_, 0.3]), 1, "'x1': must be a number"),
    (person([0.7312, "0.7312", 0.3]), 1, "'x1': must be a number"),
    (person([0.7312, "secret", 0.3]), 1, "'x1': must be a number"),
    (person([0.7312, 0.1 + 7312j, 0.3]), 1, "'x1': must be a number"),
    (person([0.7312, Decimal("0.7312"), 0.3]), 1, "'x1': must be a number"),
    (person([0.7312, [0.7312], 0.3]), 1, "'x1': must be a number"),
    (person([0.7312, np.array([0.7312]), 0.3]), 1, "'x1': must be a number"),
    (person([0.7312, None, 0.3]), 1, "'x1': is missing"),
    (person([0.7312, -0.5]), 1, "'x2': is missing"),
    (person([0.7312, -0.5, 0.3, 0.7312]), 1, "not in the schema"),
    ([("x0", 0.7312), ("x0", 0.7312)], 1, "'x0': is given more than once"),
    ([0.7312, -0.5, 0.3], 1, "a record must be a mapping"),
    (np.array([0.7312, -0.5, 0.3]), 1, "a record must be a mapping"),
    (0.7312, 1, "a record must be a mapping"),
    (None, 1, "a record must be a mapping"),
]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_records_are_refused_before_anything_is_drawn(
    case: int, answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SystemCoins, "word", no_word)
    record, label, rule = BAD[case]
    for mechanism in ("vector", "hybrid"):
        with pytest.raises(RecordError, match=rule) as caught:
            answer(first(gradient=mechanism), record, label)
        for private in ("7312", "secret", "0000001", "nan"):
            assert private not in str(caught.value)


def test_numbers_of_numpy_are_the_numbers_that_they_hold() -> None:
    """As in every schema of hush: rounded to a plain float first, which then must lie within the bounds."""
    round_ = first(gradient="hybrid")
    plain = gradient_record(round_, person([0.5, -0.25, 1]), 1)
    assert gradient_record(round_, person([np.float32(0.5), np.float64(-0.25), np.int8(1)]), np.int64(1)) == plain


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_other_values_are_no_third_class(loss: str) -> None:
    """A device with such a label would fail in the middle of its gradient, and show by that which label it is."""
    with pytest.raises(DesignError, match="must be two classes"):
        first(loss=loss, label=Categorical("smokes", ["no", "yes"], other=True))


# -- whatever it is


DESCRIPTIONS: dict[str, tuple[Round, dict[str, Any], Any]] = {
    "classes": (
        first(
            schema=Schema(
                [Numeric("age", 0, 120), Numeric("income", 0, 1e6, optional=True), Categorical("os", ["a", "b"])]
            ),
            label=Categorical("bought", [0, 1]),
        ),
        {"age": 41, "income": 2000.5, "os": "b"},
        1,
    ),
    "words": (
        first(loss="hinge", schema=Schema([Categorical("os", [3, 4])]), label=Categorical("smokes", ["no", "yes"])),
        {"os": 3},
        "no",
    ),
    "number": (
        first(loss="squared", schema=Schema([Numeric("age", 0, 120, "clip")]), label=Numeric("income", -10, 1e5)),
        {"age": 130},
        2000.5,
    ),
}
"""A round, and somebody who fits its description."""
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.integers(-1, 5),
    st.floats(-20, 130),
    st.text(max_size=3),
    st.sampled_from(
        ["a", "b", "no", "yes", "0", "1", "41", "(missing)", np.float32(41), np.int64(1), np.float64("nan")]
    ),
    st.sampled_from([np.True_, Decimal(41), 41j, b"a", [41], {"a": 41}, np.array([41.0]), 10**400, -(10**400)]),
)
CHANGES = st.dictionaries(st.sampled_from(["age", "income", "os", "bought", "x"]), ANYTHING, max_size=2)


def does_not_fit(round_: Round, record: Any, label: Any) -> bool:
    """Whether the public description has no room for this, by the tested rules of attributes."""
    try:
        round_.training.schema.encode(record)
        round_.training.label.encode(label)
    except RecordError:
        return True
    return False


def dumped(ledger: Ledger) -> list[str]:
    connection = sqlite3.connect(ledger.path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """All words that are drawn."""
    drawn: list[int] = []
    genuine = SystemCoins.word

    def word(self: SystemCoins) -> int:
        drawn.append(genuine(self))
        return drawn[-1]

    monkeypatch.setattr(SystemCoins, "word", word)
    return drawn


def test_a_refusal_draws_no_words_and_leaves_the_ledger_as_it_was(words: list[int], tmp_path: Path) -> None:
    """Refused is what the description has no room for, and then nothing has happened; what is taken draws words.

    The ledgers know their training already. `test_descriptions` has what they keep when they first see one.
    """
    ledgers = {kind: Ledger(tmp_path / kind, cap=4.0) for kind in DESCRIPTIONS}
    for kind, (round_, _, _) in DESCRIPTIONS.items():
        with pytest.raises(RecordError):
            gradient(round_, {}, None, ledgers[kind])
    before = {kind: dumped(ledger) for kind, ledger in ledgers.items()}
    sides: set[tuple[str, bool]] = set()

    @settings(max_examples=75)
    @given(st.sampled_from(sorted(DESCRIPTIONS)), CHANGES, st.none() | st.tuples(ANYTHING), st.sampled_from(ANSWERS))
    def check(kind: str, changes: dict[str, Any], other: tuple[Any] | None, answer: Callable[..., Any]) -> None:
        round_, record, label = DESCRIPTIONS[kind]
        record, label = record | changes, label if other is None else other[0]
        refused = does_not_fit(round_, record, label)
        sides.add((kind, refused))
        words.clear()
        if not refused:
            answer(round_, record, label)
            assert words
            return
        with pytest.raises(RecordError):
            answer(round_, record, label, ledgers[kind])
        assert words == []
        assert dumped(ledgers[kind]) == before[kind]
        assert ledgers[kind].spent == 0

    check()
    assert len(sides) == 2 * len(DESCRIPTIONS)
    for kind, (round_, record, label) in DESCRIPTIONS.items():  # and no answer was used up
        gradient(round_, record, label, ledgers[kind])
        assert ledgers[kind].spent == 4


# -- nothing else that a server sends


NUMBER = st.one_of(st.floats(-LARGEST, LARGEST), st.sampled_from([LARGEST, -LARGEST, 0.0, 5e-324]))
POSITIVE = st.floats(5e-324, 1.7e308)
SCALE = st.one_of(st.floats(*SIZES), st.sampled_from(SIZES))
CENTRE = st.one_of(st.just(0.0), SCALE, SCALE.map(lambda x: -x))


@st.composite
def sent(draw: Callable[..., Any]) -> Round:
    """A round of the same description, with whatever else a server may choose."""
    loss = draw(st.sampled_from(["logistic", "hinge"]))
    weights = tuple(draw(st.lists(NUMBER, min_size=4, max_size=4)))
    round_ = first(
        loss=loss,
        gradient=draw(st.sampled_from(["vector", "hybrid"])),
        centre=tuple(draw(st.lists(CENTRE, min_size=3, max_size=3))),
        scale=tuple(draw(st.lists(SCALE, min_size=3, max_size=3))),
        radius=draw(POSITIVE),
        bound=draw(POSITIVE),
        cap=draw(st.floats(1e-300, 1e308)),
        penalty=draw(st.floats(0, 1e308)),
    )
    number = draw(st.integers(1, 6))
    chosen = tuple(sorted(draw(st.sets(st.integers(0, 3), min_size=1))))
    plan = round_plan(round_.training, number, len(chosen))
    return replace(round_, number=number, weights=weights, average=weights, coordinates=chosen, plan=plan)


FEATURE = st.one_of(st.floats(-1, 1), st.floats(-1.5, 1.5), st.sampled_from([1.0000001, float("nan"), 5e-324, -0.0]))


@given(round_=sent(), x=st.lists(FEATURE, min_size=3, max_size=3), label=st.sampled_from([-1, 1, 0]))
def test_only_the_description_decides_who_answers(round_: Round, x: list[float], label: int) -> None:
    """Whatever weights, centres and bounds a server sends: somebody answers if and only if the description fits."""
    fits = label != 0 and all(-1 <= value <= 1 for value in x)
    for answer in (partial(gradient_record, round_), partial(loss_record, round_)):
        if fits:
            assert all(math.isfinite(value) for value in answer(person(x), label).values())
        else:
            with pytest.raises(RecordError):
                answer(person(x), label)
    if fits:
        gradient(round_, person(x), label)
        held_out(round_, person(x), label)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mechanism", ["vector", "hybrid"])
def test_nobody_is_refused_for_what_they_hold(loss: str, mechanism: str) -> None:
    """Whoever makes the round could otherwise choose weights that overflow for some people, and see who is missing."""
    huge = (LARGEST, -LARGEST, LARGEST, -LARGEST)
    edge = 1.7e308
    wide = Schema([Numeric("x0", -5e307, 5e307), Numeric("x1", 0, 1e308, "clip"), Numeric("x2", 0, 1e-299)])
    for changes in (
        {},
        {"schema": wide},
        {"centre": (1e100, -1e100, 1e-100), "scale": (1e-100, 1e-50, 1e100)},
        {"radius": 5e-324, "bound": 5e-324},
        {"radius": edge, "bound": edge},
        {"projection": 3, "scale": (1e-100, 1.0, 1.0), "start": huge[:3]},
    ):
        asked: dict[str, Any] = {"start": huge, "loss": loss, "gradient": mechanism, "schema": numbers(3)} | changes
        round_ = first(**asked)
        ends = [(item.low, item.high) for item in round_.training.schema.attributes if isinstance(item, Numeric)]
        for x in ([low for low, _ in ends], [high for _, high in ends], [5e-324, 0.0, 0.0]):
            for y in (-1, 1):
                for record in (gradient_record(round_, person(x), y), loss_record(round_, person(x), y)):
                    assert all(math.isfinite(value) for value in record.values())
                gradient(round_, person(x), y)
                held_out(round_, person(x), y)
