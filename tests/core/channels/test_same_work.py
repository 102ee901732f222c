"""A stop-watch sees nothing in the words: their number is the same for every input, and says nothing about outputs."""

from __future__ import annotations

import datetime
import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from types import FrameType
from typing import Any, ClassVar

import pytest

from hush import Boolean, Categorical, Choices, Date, Integer, Listed, Numeric, Plan, Schema, Text, Time, design
from hush.core import coins
from hush.core.channels import Channel, Output, Picks, State, Subset, Unary, Window
from hush.core.channels.base import Coins, searchable
from hush.core.channels.window import ROUNDING
from hush.core.coins import Coins as AnyCoins
from hush.core.design.categorical import grr
from hush.core.exact import WORD, aligned_threshold
from hush.core.looking import Look
from hush.core.plan import Question
from hush.core.schema import Input, Record
from hush.core.views import Bands
from hush.core.word_views import Prefix
from hush.device.randomise import randomise_from
from hush.errors import SchemaError
from hush.testing import ListedCoins, RecordedCoins, SeededCoins
from tests.cases import DESIGNED, SMALL, related_plan

AWKWARD = [0, 1, 5, WORD >> 1, (WORD >> 1) - 1, WORD - 1, WORD - 2]


class Awkward(AnyCoins):
    """Seeded words, half of them at the ends, where `below` draws again."""

    def __init__(self, seed: int) -> None:
        self._seeded = SeededCoins(seed)

    def word(self) -> int:
        word = self._seeded.word()
        return AWKWARD[word % len(AWKWARD)] if word & 1 << 40 else word


def words_read(draw: Callable[[State, Coins], Output], state: State, seed: int) -> list[int]:
    recorded = RecordedCoins(Awkward(seed))
    draw(state, recorded)
    return recorded.words


def same_words(channel: Channel, states: list[State]) -> bool:
    """Whether a draw reads the same words for all states, for many streams of words."""
    for seed in range(20):
        first, *others = (words_read(channel.draw, state, seed) for state in states)
        if any(words != first for words in others):
            return False
    return True


def some_states(channel: Channel, most: int = 12) -> list[State]:
    """States from all parts of their list, "missing" among them."""
    states: list[State] = []
    for state in channel.states():
        states.append(state)
        if len(states) == 4096:
            break
    return [*states[:: max(1, len(states) // most)], states[-1]]


@pytest.mark.parametrize("name", SMALL)
def test_a_draw_reads_the_same_words_for_every_state(name: str) -> None:
    for epsilon in (Fraction(1, 2), Fraction(4)):
        channel = SMALL[name](epsilon)
        assert same_words(channel, some_states(channel))


@pytest.mark.parametrize("name", [name for name in DESIGNED if "hybrid" not in name])  # its states are too many to list
def test_so_does_a_channel_of_real_size(name: str) -> None:
    channel = DESIGNED[name](Fraction(1))
    assert same_words(channel, some_states(channel, 4))


class Frugal(Subset):
    """The twin: it draws no member that it does not need."""

    def draw(self, state: State, coins: Coins) -> Output:
        if coins.toss(self.threshold):
            return state  # type: ignore[return-value]
        other = coins.below(self.size - 1)
        return other + (other >= state)  # type: ignore[operator]


class Early(Unary):
    """The twin: it stops reading digits when the first category is decided."""

    def _block(self, size: int, coins: Coins) -> int:
        ones, undecided = 0, (1 << size) - 1
        for digit in self._digits:
            word = coins.word()
            ones |= undecided & ~word & -digit
            undecided &= word ^ (digit - 1)
            if not undecided:
                break
        return ones

    def draw(self, state: State, coins: Coins) -> Output:
        assert isinstance(state, int)
        found = self._block(self.size, coins) & ~(1 << state)
        return tuple(i for i in range(self.size) if found >> i & 1)


def counts_by_output(draw: Callable[[State, Coins], Output], state: State, chosen: Callable[[Output], bool]) -> Counter:  # type: ignore[type-arg]
    """How often each number of words goes with outputs of a kind and with the others: 4,000 draws."""
    seen: Counter[tuple[bool, int]] = Counter()
    source = SeededCoins(7)
    for _ in range(4000):
        recorded = RecordedCoins(source)
        seen[chosen(draw(state, recorded)), len(recorded.words)] += 1
    return seen


def told_apart(seen: Counter[tuple[bool, int]]) -> bool:
    """Whether the number of words depends on the kind of output: any difference of shares beyond 5.5 deviations.

    For independent ones that has a probability below 1e-6: some ten numbers of words, 4e-8 each.
    """
    sides = [sum(n for (kind, _), n in seen.items() if kind is side) for side in (False, True)]
    for number in {number for _, number in seen}:
        shares = [seen[side == 1, number] / sides[side] for side in (0, 1)]
        pooled = (seen[False, number] + seen[True, number]) / sum(sides)
        spread = (pooled * (1 - pooled) * (1 / sides[0] + 1 / sides[1])) ** 0.5
        if abs(shares[1] - shares[0]) > 5.5 * spread > 0:
            return True
    return False


def test_twins_that_save_words_are_caught() -> None:
    frugal = Frugal(5, 1, WORD // 2)
    assert same_words(frugal, some_states(frugal))  # the words are the same for all states, but they depend on the coin
    assert told_apart(counts_by_output(frugal.draw, 3, lambda output: output == 3))
    early = Early(4, WORD // 2, WORD // 4 + WORD // 64)
    assert told_apart(counts_by_output(early.draw, 3, lambda output: 0 in output))  # type: ignore[operator]


@pytest.mark.parametrize("name", SMALL)
def test_the_number_of_words_does_not_depend_on_the_output(name: str) -> None:
    """Mostly it is a constant. Where corners are drawn again it varies, whatever becomes of them."""
    channel = SMALL[name](Fraction(1))
    state = some_states(channel)[0]
    likely = max(channel.law(state).items(), key=lambda item: item[1])[0]
    assert not told_apart(counts_by_output(channel.draw, state, lambda output: output == likely))


@pytest.mark.parametrize("n", range(1, 17))
def test_below_says_nothing_by_the_words_that_it_draws_again(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With words of 4 bits, all of them are followed: each number has equally many words, however many were refused."""
    for name, value in {"WORD": 16, "LOW": 15, "BITS": 4}.items():
        monkeypatch.setattr(coins, name, value)

    found: Counter[int] = Counter()
    for word in range(16):
        try:
            found[ListedCoins([word]).below(n)] += 1
        except LookupError:
            continue  # refused: the next word decides, in the same way
    assert set(found) == set(range(n))
    assert len(set(found.values())) == 1


# -- what depends on the plan alone is made when it is read


def cached(channel: Channel) -> set[str]:
    return set(vars(channel))


@pytest.mark.parametrize("name", [*SMALL, *DESIGNED])
def test_a_draw_makes_nothing_that_later_draws_find_made(name: str) -> None:
    """After `prepare` no draw adds to what the channel keeps, whatever the state."""
    make = SMALL.get(name) or DESIGNED[name]
    channel = make(Fraction(1))
    fresh = type(channel).from_json(channel.to_json())
    fresh.prepare()
    before = [cached(part) for part in _parts(fresh)]
    for inputs in _inputs(name, fresh):
        for seed in range(9):  # all parts of a mixture are met
            fresh.answer(inputs, SeededCoins(seed))
    assert [cached(part) for part in _parts(fresh)] == before


def _parts(channel: Channel) -> Iterator[Channel]:
    yield channel
    yield from getattr(channel, "parts", ())
    whole = vars(channel).get("whole")  # if it was made: asking for it would make it
    if isinstance(whole, Channel):
        yield whole


def _inputs(name: str, channel: Channel) -> list[list[Input]]:
    if isinstance(channel, Picks):
        marks: list[Any] = [bytes(channel.size), b"\1" * channel.held + bytes(channel.size - channel.held)]
        return [[one] for one in marks]
    numbers: list[list[Input]]
    if channel.kind in ("subset", "unary", "geometry"):
        return [[0], [channel.size - 1]]  # type: ignore[attr-defined]
    if channel.kind == "cells":
        return [[0.25 if size is None else 0 for size in channel.sizes]]  # type: ignore[attr-defined]
    if channel.kind == "rows":
        last = channel.rows - 1  # type: ignore[attr-defined]
        numbers = [[0, 0.0], [last, 0.3], [last, 1.0]]
        return [*numbers, [0, None]] if name.endswith("optional") else numbers
    if channel.kind in ("signs", "cube", "corners"):
        return [[0.0] * channel.size, [1.0] * channel.size]  # type: ignore[attr-defined]
    numbers = [[0.0], [0.3], [1.0]]
    return [*numbers, [None]] if name.endswith("optional") else numbers


def test_searches_take_equally_many_steps() -> None:
    """`bisect` compares with the middle of what is left: of 2^m - 1 limits it asks m, wherever the search ends."""

    class Counted(float):
        asked = 0

        def __lt__(self, other: float) -> bool:
            type(self).asked += 1
            return float(self) < float(other)

    from bisect import bisect_right

    for size in range(1, 40):
        limits = searchable([float(i) for i in range(size)], float("inf"))
        asked = set()
        for u in (-1.0, 0.0, size / 2, size - 1.0, size + 5.0):
            Counted.asked = 0
            assert bisect_right(limits, Counted(u)) == max(0, min(size, int(u // 1) + 1))
            asked.add(Counted.asked)
        assert len(asked) == 1


def test_reading_a_plan_prepares_it() -> None:
    plan = Plan.from_json(design(Schema([Numeric("x", 0, 1, optional=True)]), 1.0).to_json())
    channel = plan.channel("x")
    assert {"_steps", "_search", "alphabet"} <= cached(channel)


# -- the same steps, from the record on


def steps_of(plan: Plan, record: Record, seed: int) -> list[tuple[str, str]]:
    """Return every function that is called for a report, built-in ones too, and every line that is run, in order."""
    found: list[tuple[str, str]] = []

    def line(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        found.append((event, f"{frame.f_code.co_name} {frame.f_lineno}"))
        return line

    def call(_: FrameType, event: str, called: Any) -> None:
        found.append((event, getattr(called, "__name__", "")))

    kept = sys.gettrace(), sys.getprofile()
    source = SeededCoins(seed)
    gc.disable()  # it may call something of another test
    sys.settrace(line)
    sys.setprofile(call)
    try:
        randomise_from(source, plan, record)
    finally:
        sys.setprofile(kept[1])
        sys.settrace(kept[0])
        gc.enable()
    return found


def same_steps(plan: Plan, values: Sequence[object], seeds: int = 5) -> bool:
    """Whether all values of the only attribute take the same steps, with the same words."""
    (name,) = plan.schema.names
    randomise_from(SeededCoins(0), plan, {name: values[0]})  # loads what is loaded once
    for seed in range(seeds):
        first, *others = (steps_of(plan, {name: value}, seed) for value in values)
        if any(steps != first for steps in others):
            return False
    return True


@pytest.mark.parametrize("mechanism", ["minimax", "duchi", "piecewise", "hybrid"])
def test_a_number_takes_the_same_steps_wherever_it_lies(mechanism: str) -> None:
    for optional in (False, True):
        schema = Schema([Numeric("x", 0, 1, out_of_range="clip", optional=optional)])
        values = [0.0, 0.3, 1.0, -7.5, 1e300, *([None] if optional else [])]
        assert same_steps(design(schema, 1.0, numeric=mechanism), values)


def test_so_does_a_number_with_additive_noise() -> None:
    schema = Schema([Numeric("x", 0, 1, out_of_range="clip")])
    assert same_steps(design(schema, 1.0, numeric="laplace"), [0.0, 0.3, 1.0, -7.5, 1e300])


@pytest.mark.parametrize("values", [["no", "yes", "\U0001f600" * 256], [-5, 0, (1 << 53) - 1]], ids=["texts", "codes"])
def test_a_category_takes_the_same_steps_whichever_it_is(values: list[Any]) -> None:
    for mechanism in ("grr", "subset", "geometry"):
        if mechanism == "geometry":  # it needs at least five categories
            values = [*values, *[type(values[0])(i) for i in range(7, 12)]]
        plan = design(Schema([Categorical("c", values, optional=True)]), 1.0, categorical=mechanism)
        assert same_steps(plan, [*values, None])


def test_other_values_take_the_same_steps_as_those_declared() -> None:
    """However long they are, and also those that no text of Unicode holds."""
    values = ["x", "yy", "zz", "", "z" * 100_000, "\ud800", "\U0001f600" * 300, None]
    plan = design(Schema([Categorical("c", ["x", "yy"], optional=True, other=True)]), 1.0)
    assert same_steps(plan, values)


def test_booleans_and_whole_numbers_take_the_same_steps_if_they_are_missing() -> None:
    assert same_steps(design(Schema([Boolean("b", optional=True)]), 1.0), [True, False, None])
    plan = design(Schema([Integer("n", 0, 10, out_of_range="clip", optional=True)]), 1.0)
    assert same_steps(plan, [0, 10, 3, 4.0, -7, 1 << 52, None])


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("way", ["picks", "members"])
def test_lists_take_the_same_steps_however_long_they_are(way: Any, optional: bool) -> None:
    schema = Schema([Choices("c", ["a", "b" * 50, *"cdefgh"], 3, optional)])
    held = [[], ["a"], ["h"], ["h", "g", "f"], ["a", "b" * 50, "c"], *([None] if optional else [])]
    assert same_steps(design(schema, 1.0, choices=way), held)


class Sparing(Choices):
    """The twin: it looks at the values of a list, and no others."""

    def encode(self, value: object) -> Any:
        assert isinstance(value, list)
        marks = bytearray(len(self.values))
        for item in value:
            marks[self.values.index(item)] = 1
        return bytes(marks)


def test_a_list_that_is_only_looked_through_is_caught() -> None:
    plan = design(Schema([Sparing("c", ["a", "b", "c", "d"], 2)]), 1.0, choices="picks")
    assert same_steps(plan, [["a", "d"], ["b", "c"]])
    assert not same_steps(plan, [["a", "d"], ["b"]])


def test_so_do_records_of_related_attributes_whatever_is_asked() -> None:
    """Through every kind of view, in rows and in tables: all questions of the plan are met."""
    plan = related_plan()
    records: list[Record] = [
        {"age": age, "hours": hours, "edu": edu, "region": region}
        for age, hours, edu, region in (
            (16.0, 0.0, "none", "north"),
            (24.0, None, "school", None),
            (96.0, 80.0, "university", "south"),
        )
    ]
    met = set()
    for seed in range(150):
        randomise_from(SeededCoins(seed), plan, records[0])
        first, *others = (steps_of(plan, record, seed) for record in records)
        assert all(steps == first for steps in others)
        met |= {index for index, _ in randomise_from(SeededCoins(seed), plan, records[0]).answers}
    assert met == {*range(len(plan.questions))}


class Peeking(Bands):
    """The twin: it does not look for the band of a missing number."""

    def look(self, schema: Schema) -> Look:
        inner, place, last = super().look(schema), schema.names.index(self.attribute), len(self.cuts) + 1
        return lambda inputs: last if inputs[place] is None else inner(inputs)


@pytest.mark.parametrize("view", [Bands, Peeking])
def test_a_view_that_spares_a_step_is_caught(view: type[Bands]) -> None:
    schema = Schema([Numeric("x", 0, 1, optional=True)])
    plan = Plan(schema, Fraction(1), 1, (Question([view("x", (0.25, 0.5))], grr(Fraction(1), 4)),))
    assert same_steps(plan, [0.0, 0.3, 1.0])
    assert same_steps(plan, [0.3, None]) is (view is Bands)


class Skipping(Numeric):
    """The twin: it looks closer at a number that is outside."""

    def encode(self, value: object) -> float | None:
        assert isinstance(value, float)
        if self.low <= value <= self.high:
            return (value - self.low) / (self.high - self.low)
        return super().encode(value)


def test_a_number_that_is_looked_at_closer_is_caught() -> None:
    plan = design(Schema([Skipping("x", 0, 1, out_of_range="clip")]), 1.0)
    assert not same_steps(plan, [0.5, 1.5])
    assert same_steps(plan, [0.5, 0.7])


class Measured(int):
    """An integer that notes how long, in the digits of CPython, and of which sign it is when it is divided."""

    divided: ClassVar[set[tuple[int, bool]]] = set()

    def __or__(self, other: int) -> Measured:
        return Measured(int(self) | other)

    def __add__(self, other: int) -> Measured:
        return Measured(int(self) + other)

    def __sub__(self, other: int) -> Measured:
        return Measured(int(self) - other)

    def __floordiv__(self, other: int) -> Measured:
        self.divided.add((-(-self.bit_length() // 30), self < 0))
        return Measured(int(self) // other)


def divisions(cell: Callable[[State, int], int], window: Window) -> set[tuple[int, bool]]:
    """Return what is divided when a cell is drawn, after the word itself, with words at the ends of both groups."""
    Measured.divided.clear()
    for word in (0, 1, 1 << 40, window.threshold - 1, window.threshold, WORD - 1):
        for state in (0, window.last):
            cell(state, Measured(word))
    return set(Measured.divided)


def plainly(window: Window) -> Callable[[State, int], int]:
    """The twin: as the words of the specification say, with quotients that are 0, or negative, or neither."""

    def cell(state: State, word: int) -> int:
        assert isinstance(state, int)
        inside = word // (window.threshold // window.width) + state
        outside = (word - window.threshold) // ((WORD - window.threshold) // window.cells_outside)
        outside += window.width * (outside >= state)
        return min(inside if word < window.threshold else outside, window.size)

    return cell


def test_a_window_divides_integers_of_one_length_whatever_the_coin() -> None:
    """A report and its coin together tell the record: a division that is faster for one side would tell the coin."""
    seeded = SeededCoins(3)
    for size, width in ((2, 1), (3, 1), (1024, 257), (32768, 1), (32768, 32767)):
        window = Window(size, width, aligned_threshold(Fraction(3), width, size - width, ROUNDING))
        assert divisions(window.cell, window) == {(3, False), (2, False)}  # the word with its guard, and then quotients
        assert len(divisions(plainly(window), window)) > 2
        words = [seeded.word() for _ in range(200)]
        for word in (*words, 0, window.threshold - 1, window.threshold, WORD - 1):
            for state in (0, window.last):
                assert window.cell(state, word) == plainly(window)(state, word)


def test_dates_and_times_take_the_same_steps() -> None:
    plan = design(Schema([Date("d", "1970-01-01", "2000-01-01", out_of_range="clip", optional=True)]), 1.0)
    assert same_steps(plan, ["1970-01-01", "0001-01-01", "9999-12-31", "1984-02-29", datetime.date(1980, 5, 1), None])
    clock = Time("t", "18:00", "06:00", out_of_range="clip", optional=True)
    assert same_steps(design(Schema([clock]), 1.0), ["00:00", "23:59:59", "12:00", datetime.time(7), None])


TEXTS = [None, "", "a", " b ", "y" * 16, "y" * 300, "7" * 64, "\u00c9t\u00e9", "cafe\u0301", "\U0001f600" * 64]


@pytest.mark.parametrize("alphabet", [None, "english"])
def test_texts_take_the_same_steps(alphabet: str | None) -> None:
    view = Prefix("t", (8, 8), 8)
    plan = Plan(
        Schema([Text("t", 16, alphabet, optional=True)]), Fraction(1), 1, (Question((view,), grr(Fraction(1), 9)),)
    )
    assert same_steps(plan, TEXTS)


def test_a_text_that_is_looked_at_as_long_as_it_is_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Text, "_framed", lambda self, value: value[:64])
    view = Prefix("t", (8, 8), 8)
    plan = Plan(Schema([Text("t", 16, optional=True)]), Fraction(1), 1, (Question((view,), grr(Fraction(1), 9)),))
    right = plan.schema["t"]
    assert isinstance(right, Text)
    assert len({len(right._framed(text or "")) for text in TEXTS}) > 1
    monkeypatch.undo()
    assert len({(len(framed := right._framed(text or "")), framed.__sizeof__()) for text in TEXTS}) == 1


@pytest.mark.parametrize("given", ["a", "no such value", None])
def test_what_may_be_missing_takes_its_steps_also_if_nobody_asks(given: str | None) -> None:
    """Otherwise time would tell who left it out from who has it."""
    calls: list[str] = []
    schema = Schema([Numeric("x", 0, 1), Text("t", 16, optional=True), Categorical("c", ["u", "v"])])

    def noted(name: str, encode: Callable[[object], Input]) -> Callable[[object], Input]:
        def encoded(value: object) -> Input:
            calls.append(name)
            return encode(value)

        return encoded

    schema._encoders.update({name: noted(name, encode) for name, encode in schema._encoders.items()})
    schema.encode({"x": 0.5} | ({"t": given} if given is not None else {}), ["x"])
    assert calls == ["x", "t"]


def test_a_long_list_that_is_not_here_does_not_matter_where_nobody_asks() -> None:
    away = Listed.from_json({"count": 3, "name": "away.txt", "sha256": "00" * 32})
    schema = Schema([Numeric("x", 0, 1), Categorical("c", away, optional=True)])
    assert schema.encode({"x": 0.5}, ["x"]) == [0.5, None]
    with pytest.raises(SchemaError, match="is not here"):
        schema.encode({"x": 0.5, "c": "a"}, ["x"])
