"""Same words in, same reports out: the batch engine against the scalar path, for every channel, word for word."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest

from hush import Categorical, Choices, Numeric, Plan, Schema, Tally, batch, design
from hush.batch import engine, few_rows
from hush.batch.columns import encode
from hush.batch.program import compile_plan
from hush.core.channels import Additive, Picks, Rows, Subset, Window
from hush.core.channels.rows import MAX_MEMBERS
from hush.core.channels.window import ROUNDING
from hush.core.coins import groups
from hush.core.design.categorical import grr, oue, subset
from hush.core.design.numeric import laplace, signs
from hush.core.exact import WORD, aligned_threshold, exp_bounds, largest_threshold
from hush.core.plan import Question
from hush.testing import RecordedCoins, SeededStreams
from tests.batch.dealing import deal, reports_of
from tests.batch.relating import grouped, relating_plans, rows
from tests.cases import MIXED, any_record, plans, small_corners, small_cube, small_geometry, uneven_window


def one_question(schema: Schema, channel: Any) -> Plan:
    return Plan(schema, Fraction(1), 1, (Question(schema.names, channel),))


def categories(size: int) -> Schema:
    return Schema([Categorical("c", list(range(size)))])


def numbers(count: int) -> Schema:
    return Schema([Numeric(f"x{i}", 0, i + 1) for i in range(count)])


def all_but_one(size: int) -> Plan:
    """Sets that leave out one category: which one needs no word if the true one is in the set."""
    return one_question(
        categories(size), Subset(size, size - 1, largest_threshold(exp_bounds(Fraction(1))[0], size - 1, 1))
    )


def more_plans() -> dict[str, Plan]:
    """Plans at the edges of the engine: sets of 63 to 200 members, wide cubes, close knots, weights, many questions."""
    found = {}
    for size in (63, 64, 65, 128, 129, 200):
        found[f"subset-{size}"] = one_question(categories(size), subset(Fraction(1), size))
        found[f"unary-{size}"] = one_question(categories(size), oue(Fraction(1), size))
    found["grr-5"] = one_question(categories(5), grr(Fraction(1), 5))
    found["close knots"] = one_question(Schema([Numeric("x", -3, 5)]), uneven_window(Fraction(1)))
    threshold = aligned_threshold(exp_bounds(Fraction(1))[0], 1, 3, ROUNDING)
    found["far knots"] = one_question(numbers(1), Window(4, 1, threshold, (-(1 << 30), -1, 1, 1 << 30)))
    found["signs-70"] = design(numbers(70), 1.0, numeric="duchi-multi")
    found["cube-70"] = design(numbers(70), 12.0, numeric="cube")
    found["weighted"] = design(MIXED, 1.0, k="weighted", importance={"age": 9.0})
    found["many"] = design(Schema([Categorical(f"c{i}", [1, 2, 3]) for i in range(130)]), 8.0, k=5)
    for size, held, optional in ((8, 2, False), (62, 2, True), (64, 3, False), (65, 1, True), (130, 8, False)):
        choices = Choices("chosen", [str(i) for i in range(size)], held, optional)
        name = f"picks {held} of {size}" + " optional" * optional
        found[name] = design(Schema([choices]), 1.0 if held > 1 else 7.0, choices="picks")
    found["hybrid optional"] = design(MIXED, 4.0, numeric="hybrid", k=4)
    return found


def small_plans() -> dict[str, Plan]:
    """Plans with a choice of one, which takes no word, and others at the edges of words."""
    one = Fraction(1)
    found = {"all but one": all_but_one(4), "all but one of 70": all_but_one(70)}
    for size in (1, 2, 64, 65, 128):
        found[f"signs-{size}"] = one_question(numbers(size), signs(one, size))
    found["one dimension"] = one_question(numbers(3), small_cube(one, 3, 1, 1))
    found["all agree"] = one_question(numbers(4), small_cube(one, 4, 4, 4))
    found["sample of 64"] = one_question(numbers(100), small_cube(one, 100, 64, 36))
    found["one corner"] = one_question(numbers(3), small_corners(one, 3, 1))
    found["all corners"] = one_question(numbers(1), small_corners(one, 1, 1))
    for size, order, digits in (
        (7, 2, 3),
        (500, 2, 9),
        (300, 3, 6),
        (80, 4, 4),
        (580, 8, 4),
        (250, 16, 3),
        (91, 9, 3),
        (3000, 61, 3),
    ):
        schema = Schema([Categorical("c", range(size - 1), optional=True)])
        found[f"geometry-{order}-{digits}"] = one_question(schema, small_geometry(one, size, order, digits))
    found["corners-70"] = one_question(numbers(70), small_corners(one, 70, 40))
    fine, coarse = laplace(one), laplace(Fraction("0.01"))
    found["light runs"] = one_question(numbers(1), replace(fine, runs=((20, 2), (fine.steps - 20, 1))))
    found["one step"] = one_question(numbers(1), Additive(((1, 1),), coarse.decays, coarse.reach))
    found["one question, weighted"] = replace(found["all but one"], weights=(3,))
    return found


STOPPED = [
    *(
        "corners-70",
        "default",
        "unary-65",
        "cube-70",
        "laplace",
        "multi-split",
        "weighted",
        "k=3",
        "relations",
        "rows 4-3-7-2",
    ),
    *("rows 20-11-34-9", "rows 40-3-30-7 optional", "rows 3-2-2-1"),
    *("rows 130-9-8-3 uneven optional", "rows 80-1-5-2 optional", "cells 5-13 of 20", "means by own bands"),
    *("choices", "picks", "picks 8 of 130"),
]
PLANS = plans() | more_plans() | small_plans() | relating_plans()


def edges(plan: Plan) -> list[int]:
    """Words that fall on thresholds, or are drawn again because they are in the excess of a range."""
    found = {0, 1, 2, 1 << 11, WORD - 1, WORD - 2, WORD >> 1, (WORD >> 1) - 1}
    for question in plan.questions[:8]:
        for name in ("threshold", "true", "other"):
            value = getattr(question.channel, name, 0)
            found |= {max(value - 1, 0), value, value + 1}
        if isinstance(question.channel, Picks):
            for limit in accumulate(question.channel.shares):
                found |= {limit - 1, limit % WORD}
        if isinstance(question.channel, Additive):
            for decay in question.channel.decays:
                found |= {decay - 1, decay}
            ends = list(accumulate(length * weight for length, weight in question.channel.runs))
            for end in ends[:-1]:  # the first word of a run, and the one before it
                found |= {-(-WORD * end // ends[-1]), -(-WORD * end // ends[-1]) - 1}
    return sorted(found)


def people(plan: Plan, count: int, seed: int) -> list[dict[str, Any]]:
    generator = random.Random(seed)
    return [any_record(plan, generator.randrange) for _ in range(count)]


def columns_of(plan: Plan, records: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: [record[name] for record in records] for name in plan.schema.names}


@pytest.mark.parametrize("awkward", [False, True], ids=["uniform", "edges"])
@pytest.mark.parametrize("name", PLANS)
def test_a_chunk_is_the_scalar_path_word_for_word(name: str, awkward: bool) -> None:
    plan = PLANS[name]
    records = people(plan, 120, 5)
    streams = SeededStreams(11, edges(plan) if awkward else ())
    table = batch._randomise_from(streams, plan, encode(plan.schema, columns_of(plan, records)), 1, True)
    assert reports_of(plan, table) == deal(plan, records, streams.stream(0))


@pytest.mark.parametrize("channel", [rows(4096, 4095, 2, 1), rows(4096, 2, 15, 4, optional=True), rows(2, 1, 32767, 9)])
def test_the_largest_rows_fit(channel: Rows) -> None:
    plan = grouped(channel)
    records = people(plan, 4, 5)
    table = batch._randomise_from(SeededStreams(11), plan, encode(plan.schema, columns_of(plan, records)), 1, True)
    assert reports_of(plan, table) == deal(plan, records, SeededStreams(11).stream(0))
    assert batch.tally(plan, table).reports == 4


def test_a_block_of_the_largest_rows_fits() -> None:
    """Most groups of integers are those of the most cells."""
    most = 0
    for count in range(2, 65):
        cells = 2 * (MAX_MEMBERS // count) - 1  # nearly half of them are "missing"
        for weight in range(2, count):
            most = max(most, len(groups(range(count - weight, count))) + len(groups((cells,) * weight)))
    assert most == few_rows.MOST_GROUPS
    channel = rows(64, 63, 1022, 1021, optional=True)
    code = compile_plan(grouped(channel)).tasks[0].code
    assert code.words == few_rows.OWN + few_rows.MOST_GROUPS
    test_the_largest_rows_fit(channel)


@pytest.mark.parametrize("name", STOPPED)
def test_it_does_not_matter_where_the_words_run_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS[name]
    records = people(plan, 150, 6)
    data = encode(plan.schema, columns_of(plan, records))
    whole = batch._randomise_from(SeededStreams(3), plan, data, 1, True)
    for block in (1, 2, 7, 100):  # less than one person takes, too
        monkeypatch.setattr(engine, "BLOCK", block)
        assert batch._randomise_from(SeededStreams(3), plan, data, 1, True).equals(whole)


@pytest.mark.parametrize("words", [engine.BLOCK, 1000], ids=["many words", "few words"])
def test_blocks_with_and_without_words_drawn_again(words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word draws 11 cells, and is drawn again for one person of 322. Words run out within a block, too."""
    monkeypatch.setattr(engine, "BLOCK", words)
    plan = PLANS["rows 20-11-34-9"]
    records = people(plan, 2000, 6)
    table = batch._randomise_from(SeededStreams(7), plan, encode(plan.schema, columns_of(plan, records)), 1, True)
    coins = RecordedCoins(SeededStreams(7).stream(0))
    assert reports_of(plan, table) == deal(plan, records, coins)
    again = len(coins.words) - len(records) * (compile_plan(plan).tasks[0].code.words + 2)  # two are for the id
    assert 3 <= again <= len(records) / few_rows.BLOCK / 2


@pytest.mark.parametrize("name", ["default", "k=3", "unary-65", "wide", "hybrid", "duchi", "relations"])
def test_threads_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS[name]
    monkeypatch.setattr(engine, "CHUNK", 64)
    data = encode(plan.schema, columns_of(plan, people(plan, 1000, 7)))
    alone = batch._randomise_from(SeededStreams(3), plan, data, 1, True)
    for threads in (2, 3, 8):
        assert batch._randomise_from(SeededStreams(3), plan, data, threads, True).equals(alone)
        assert batch._collect_from(SeededStreams(3), plan, data, threads) == batch.tally(plan, alone, threads=threads)


@pytest.mark.parametrize("name", ["relations", "table of sides and a number", "means by own bands"])
def test_it_does_not_matter_how_many_people_are_seen_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS[name]
    data = encode(plan.schema, columns_of(plan, people(plan, 500, 6)))
    whole = batch._randomise_from(SeededStreams(3), plan, data, 1, True)
    for seen in (1, 7, 100):
        monkeypatch.setattr(engine, "SEEN", seen)
        assert batch._randomise_from(SeededStreams(3), plan, data, 1, True).equals(whole)


def test_views_see_numbers_as_the_scalar_path_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers on the cuts and beside them, clipped and missing ones, in a table whose chunks begin anywhere."""
    monkeypatch.setattr(engine, "CHUNK", 100)
    cuts = [18.0, 40.0, 65.0]
    ages = [
        0.0,
        120.0,
        60.0,
        *(near for cut in cuts for near in (cut, math.nextafter(cut, 0), math.nextafter(cut, 99))),
    ]
    incomes = [None, -1.0, 0.0, 1e4, math.nextafter(1e4, 0), math.nextafter(1e4, 2e4), 5e4, 1e5, 2e5, 1e300]
    generator = random.Random(2)
    for name in (
        "bands",
        "bands optional",
        "sides optional",
        "product optional",
        "table of bands",
        "means by own bands",
    ):
        plan = PLANS[name]
        records = people(plan, 250, 3)
        for record in records:
            record |= {"age": generator.choice(ages), "income": generator.choice(incomes)}
        table = batch._randomise_from(SeededStreams(4), plan, encode(plan.schema, columns_of(plan, records)), 1, True)
        expected = []
        for number, start in enumerate(range(0, 250, 100)):
            expected += deal(plan, records[start : start + 100], SeededStreams(4).stream(number))
        assert reports_of(plan, table) == expected


def test_every_chunk_has_its_own_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS["default"]
    monkeypatch.setattr(engine, "CHUNK", 50)
    records = people(plan, 120, 8)
    batches = pa.Table.from_pylist(records).to_batches(max_chunksize=70)
    table = batch._randomise_from(SeededStreams(4), plan, encode(plan.schema, pa.Table.from_batches(batches)), 2, True)
    expected = []
    for number, (start, end) in enumerate([(0, 50), (50, 70), (70, 120)]):
        expected += deal(plan, records[start:end], SeededStreams(4).stream(number))
    assert reports_of(plan, table) == expected


@pytest.mark.parametrize("name", PLANS)
def test_the_tally_is_that_of_the_reports(name: str) -> None:
    plan = PLANS[name]
    records = people(plan, 300, 9)
    data = encode(plan.schema, columns_of(plan, records))
    table = batch._randomise_from(SeededStreams(5), plan, data, 1, True)
    tally = Tally(plan)
    tally.update(reports_of(plan, table))
    assert batch.tally(plan, table) == tally
    assert batch._collect_from(SeededStreams(5), plan, data, 1) == tally
    pieces = [piece for piece in table.to_batches() for piece in _cut(piece, 7)]
    assert batch.tally(plan, pieces) == tally


def _cut(piece: pa.RecordBatch, size: int) -> list[pa.RecordBatch]:
    return [piece.slice(start, size) for start in range(0, piece.num_rows, size)]
