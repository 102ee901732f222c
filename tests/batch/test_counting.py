"""Counting rows: upright counters at their limits, and everything that a reader of reports refuses."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hush import Categorical, Numeric, Plan, ReportError, Schema, Tally, batch, design
from hush.batch import counting
from hush.batch.counters import FULL, GROUP, MANY, ROUND, carry, count_rows
from hush.batch.counting import Counts
from hush.batch.piles import MOST, STEP
from hush.batch.plainly import kernels_only
from hush.batch.reports import report_schema, row_arrays
from hush.core.design.categorical import grr, oue, subset
from hush.core.plan import Question
from tests.batch.relating import grouped, rows
from tests.cases import NUMBERS


def plan_of(*channels: Any, k: int = 1) -> Plan:
    fields = [Categorical(f"c{i}", list(range(channel.size))) for i, channel in enumerate(channels)]
    questions = tuple(Question((field.name,), channel) for field, channel in zip(fields, channels, strict=True))
    return Plan(Schema(fields), Fraction(k), k, questions)


ONE = Fraction(1)
SYMBOLS = plan_of(grr(ONE, 5), grr(ONE, 3))
WORDS = plan_of(oue(ONE, 64))
BOTH = plan_of(oue(ONE, 10), grr(ONE, 3), subset(ONE, 20))
WIDE = plan_of(subset(ONE, 100), grr(ONE, 3))
PAIRS = design(NUMBERS, 4.0, numeric="cube")
SMALL_ROWS = grouped(rows(4, 2, 5, 2))
ROWS = grouped(rows(9, 3, 17, 5))


def table(plan: Plan, found: Sequence[tuple[int, ...]]) -> pa.Table:
    schema = report_schema(plan)
    columns = list(zip(*found, strict=True)) or [()] * len(schema)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def weight(plan: Plan, question: int = 0) -> int:
    found = plan.questions[question].channel.alphabet.weight  # type: ignore[attr-defined]
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize("size", [1, 3, 20, 63, 64])
def test_upright_counters_count_beyond_their_planes(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(oue(ONE, max(size, 2)), oue(ONE, 2))
    rows = 3 * GROUP * FULL + 5
    generator = np.random.default_rng(size)
    words = generator.integers(0, 1 << 64, rows, dtype=np.uint64) >> np.uint64(64 - max(size, 2))
    for attribute in (0, 1):
        counts = Counts(plan)
        output = words if attribute == 0 else words & np.uint64(3)
        counts.add(np.full(rows, attribute, np.int16), np.empty(0, np.int16), output.view(np.int64))
        width = max(size, 2) if attribute == 0 else 2
        expected = [int((output >> np.uint64(i) & np.uint64(1)).sum()) for i in range(width)]
        assert counts.tally().counts[attribute] == expected
    alone = Counts(plan_of(oue(ONE, max(size, 2))))
    for part in np.array_split(words.view(np.int64), 7):
        alone.add(np.zeros(len(part), np.int16), np.empty(0, np.int16), part)
    assert alone.tally().counts[0] == [int((words >> np.uint64(i) & np.uint64(1)).sum()) for i in range(max(size, 2))]


def test_an_empty_table_is_an_empty_tally() -> None:
    for plan in (SYMBOLS, WORDS, BOTH, WIDE, PAIRS):
        assert batch.tally(plan, table(plan, [])) == Tally(plan)
        assert batch.tally(plan, []) == Tally(plan)


def members(*positions: int) -> int:
    word = sum(1 << position for position in positions)
    return word - (1 << 64) if word >> 63 else word


def wide(*positions: int) -> list[tuple[int, ...]]:
    """The rows of a set of up to 192 members, the first question's."""
    return [(0, part, members(*(i - 64 * part for i in positions if i >> 6 == part))) for part in range(3)]


TWO = "a set of the wrong size, or with two members of one group"
WEIGHT = weight(WIDE)
FIRST, SECOND = members(*range(WEIGHT - 1)), members(99 - 64)

REFUSALS: list[tuple[Plan, list[tuple[int, ...]], str]] = [
    (SYMBOLS, [(2, 0)], "reports: a question that is not in the plan (1 rows)"),
    (SYMBOLS, [(-1, 0), (0, 1), (99, 1)], "reports: a question that is not in the plan (2 rows)"),
    (SYMBOLS, [(1, 2), (1, 3), (1, -1)], "attribute 'c1': a symbol outside the alphabet (2 rows)"),
    (BOTH, [(3, 0)], "reports: a question that is not in the plan (1 rows)"),
    (BOTH, [(1, 3), (1, 0)], "attribute 'c1': a symbol outside the alphabet (1 rows)"),
    (BOTH, [(0, members(10))], "attribute 'c0': a member that does not exist (1 rows)"),
    (BOTH, [(0, members(63))], "attribute 'c0': a member that does not exist (1 rows)"),
    (BOTH, [(2, members(0))], "attribute 'c2': a set of the wrong size"),
    (WIDE, [(0, 0, FIRST)], "attribute 'c0': parts that are missing or out of order"),
    (WIDE, [(0, 1, SECOND), (0, 0, FIRST)], "attribute 'c0': parts that are missing or out of order"),
    (WIDE, [(0, 0, FIRST), (1, 0, 1), (0, 1, SECOND)], "attribute 'c1': parts that are missing or out of order"),
    (WIDE, [(0, 0, FIRST), (0, 1, 0)], "attribute 'c0': a set of the wrong size"),
    (WIDE, [(0, 0, FIRST), (0, 1, members(36))], "attribute 'c0': a member that does not exist (1 rows)"),
    (WIDE, [(1, 1, 0)], "attribute 'c1': parts that are missing or out of order"),
    (
        PAIRS,
        [(0, members(*range(weight(PAIRS))))],
        f"attribute 'a', 'b', 'c', 'd', 'e': {TWO}",
    ),
    (SMALL_ROWS, [(0, members(0, 9)), (0, members(4, 9)), (0, members(5, 8))], f"attribute 'c', 'x': {TWO} (1 rows)"),
    (SMALL_ROWS, [*[(0, members(0, 5))] * 8, *[(0, members(15, 19))] * 9], f"attribute 'c', 'x': {TWO} (9 rows)"),
    (SMALL_ROWS, [(0, members(0, 5, 10))], f"attribute 'c', 'x': {TWO} (1 rows)"),
    # Row 3 has the members 51 to 67: some in the first part, some in the second.
    (ROWS, wide(0, 51, 63), f"attribute 'c', 'x': {TWO} (1 rows)"),
    (ROWS, wide(0, 63, 64), f"attribute 'c', 'x': {TWO} (1 rows)"),
    (ROWS, wide(51, 67, 68), f"attribute 'c', 'x': {TWO} (1 rows)"),
    (ROWS, [*wide(0, 51, 68), *wide(85, 136, 152), *wide(0, 17, 34)], f"attribute 'c', 'x': {TWO} (1 rows)"),
    (ROWS, wide(0, 17), f"attribute 'c', 'x': {TWO} (1 rows)"),
    (ROWS, wide(0, 17, 153), "attribute 'c', 'x': a member that does not exist (1 rows)"),
]


@pytest.mark.parametrize(("plan", "bad", "message"), REFUSALS, ids=[str(i) for i in range(len(REFUSALS))])
def test_what_is_no_report_is_refused(plan: Plan, bad: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(ReportError) as caught:
        batch.tally(plan, table(plan, bad))
    assert str(caught.value).startswith(message)
    with pytest.raises(ReportError) as caught:
        batch.tally(plan, table(plan, bad).to_batches(max_chunksize=1))
    assert str(caught.value).startswith(message)
    counts = Counts(plan)
    assert counts.whole(*row_arrays(plan, table(plan, bad).combine_chunks().to_batches()[0])) is None


@pytest.mark.parametrize("positions", [(0, 50, 51), (50, 67, 68), (63, 68, 152), (0, 17, 34), (64, 85, 136)])
def test_sets_with_one_member_of_each_group_are_counted(positions: tuple[int, ...]) -> None:
    """Beside the bad ones above: neighbours in different groups, also across the parts of a set."""
    good = table(ROWS, wide(*positions))
    expected = [int(member in positions) for member in range(153)]
    assert batch.tally(ROWS, good).counts[0] == expected
    assert batch.tally(ROWS, good.to_batches(max_chunksize=1)).counts[0] == expected
    vector = Counts(ROWS).whole(*row_arrays(ROWS, good.to_batches()[0]))
    assert vector is not None
    assert vector.tolist() == [1, 1, *expected]


@pytest.mark.parametrize("place", [0, 7, 8, 20])
def test_a_bad_word_is_found_in_and_behind_whole_groups(place: int) -> None:
    plan = plan_of(subset(ONE, 20))
    rows = [(0, members(*range(weight(plan))))] * 21
    rows[place] = (0, members(0))
    with pytest.raises(ReportError, match=r"attribute 'c0': a set of the wrong size, .* \(1 rows\)"):
        batch.tally(plan, table(plan, rows))


def test_good_parts_are_counted_across_batches() -> None:
    rows = [(0, 0, FIRST), (0, 1, SECOND), (1, 0, 2)]
    found = batch.tally(WIDE, table(WIDE, rows).to_batches(max_chunksize=1), threads=4)
    assert found.reports == 2
    assert found.counts[0] == [1] * (WEIGHT - 1) + [0] * (100 - WEIGHT) + [1]


def many_parts(plan: Plan, people: int) -> pa.Table:
    """Reports of several parts, enough of them for lanes."""
    made_up = np.random.default_rng(5)
    columns: dict[str, Any] = {
        item.name: made_up.uniform(item.low, item.high, people)
        if isinstance(item, Numeric)
        else made_up.integers(0, len(item.labels), people)
        for item in plan.schema.attributes
    }
    return batch.randomise(plan, columns, threads=1).combine_chunks()


MANY_PARTS = {
    "rows": ROWS,
    "a set": plan_of(subset(ONE, 100)),
    "bits": plan_of(oue(ONE, 130)),
    "whole words": plan_of(oue(ONE, 128)),
}


@pytest.mark.parametrize("name", MANY_PARTS)
def test_parts_in_lanes_are_counted_as_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = MANY_PARTS[name]
    reports = many_parts(plan, 2 * FULL * ROUND + 77)
    fast = batch.tally(plan, reports, threads=1)
    left: list[int] = []

    def watched(attribute: Any, *others: Any) -> None:
        left.append(len(attribute))
        count_rows(attribute, *others)

    monkeypatch.setattr(counting, "count_rows", watched)
    assert batch.tally(plan, reports, threads=1) == fast
    assert 0 < sum(left) < ROUND * int(Counts(plan)._rows[0])  # all but the last few were counted in lanes
    monkeypatch.setattr(counting, "MANY", 1 << 60)
    left.clear()
    assert batch.tally(plan, reports, threads=1) == fast
    assert sum(left) == reports.num_rows


FAULTY = {"another question": (0, 1), "another part": (1, 7), "a member more": (2, None), "no member": (2, -(1 << 63))}


@pytest.mark.parametrize("fault", FAULTY)
@pytest.mark.parametrize("name", ["rows", "a set"])
def test_a_bad_part_among_many_is_found_as_one_by_one(name: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, (column, value) = MANY_PARTS[name], FAULTY[fault]
    arrays = [np.array(array) for array in row_arrays(plan, many_parts(plan, MANY).to_batches()[0])]
    place = 3 * int(Counts(plan)._rows[0]) - 1
    word = int(arrays[2][place])
    new = word | (~word & (word + 1)) if value is None else word | value if column == 2 else value
    arrays[column][place] = new
    messages = []
    for many in (MANY, 1 << 60):
        monkeypatch.setattr(counting, "MANY", many)
        counts = Counts(plan)
        counts.add(arrays[0], arrays[1], arrays[2])
        with pytest.raises(ReportError) as refused:
            counts.tally()
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def both_ways(plan: Plan, pieces: Sequence[Sequence[Any]], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Count pieces of rows in lanes and one by one. Return the tally of each, or its error."""
    found: list[Any] = []
    for many in (0, 1 << 60):
        monkeypatch.setattr(counting, "MANY", many)
        counts = Counts(plan)
        for attribute, part, output in pieces:
            counts.add(attribute, part, output)
        try:
            found.append(counts.tally())
        except ReportError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("name", MANY_PARTS)
@pytest.mark.parametrize("people", [1, ROUND - 1, ROUND, ROUND + 1, 3 * ROUND, FULL * ROUND, (FULL + 1) * ROUND + 1])
def test_rounds_of_parts_end_anywhere(name: str, people: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a batch ends within a set."""
    plan = MANY_PARTS[name]
    arrays = row_arrays(plan, many_parts(plan, people).to_batches()[0])
    for cuts in ([], [1], [ROUND * int(Counts(plan)._rows[0]) + 1], [len(arrays[0]) // 2, len(arrays[0]) - 1]):
        pieces = list(zip(*(np.split(array, cuts) for array in arrays), strict=True))
        lanes, plain = both_ways(plan, pieces, monkeypatch)
        assert isinstance(plain, Tally)
        assert lanes == plain
        assert plain.reports == people


@pytest.mark.parametrize("name", MANY_PARTS)
@pytest.mark.parametrize("row", [0, 1, -1, "before the second round", "in the second round", "after it"])
def test_bad_rows_at_the_edges_of_rounds_are_found(name: str, row: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = MANY_PARTS[name]
    size, rows = int(Counts(plan)._sizes[0]), int(Counts(plan)._rows[0])
    good = row_arrays(plan, many_parts(plan, 2 * ROUND + 3).to_batches()[0])
    edge = ROUND * rows
    named = {"before the second round": edge - 1, "in the second round": 2 * edge - 1, "after it": 2 * edge}
    place = named[row] if isinstance(row, str) else row
    refused = 0
    for column, new in [
        (0, 1),
        (0, -1),
        (1, rows),
        (1, -1),
        (1, 0),
        (1, 1),
        (2, 0),
        (2, -1),
        (2, 1 << (size - 1) % 64),
    ]:
        arrays = [np.array(array) for array in good]
        arrays[column][place] = np.array(new, dtype=np.uint64 if new > 0 else np.int64).astype(np.int64)
        lanes, plain = both_ways(plan, [arrays], monkeypatch)
        assert lanes == plain
        refused += isinstance(plain, str)
    assert refused >= 5


def test_answers_must_come_in_whole_reports() -> None:
    plan = plan_of(grr(ONE, 5), grr(ONE, 3), k=2)
    with pytest.raises(ReportError, match="multiple of 2"):
        batch.tally(plan, table(plan, [(0, 0), (1, 0), (0, 1)]))
    with pytest.raises(ReportError, match="attribute 'c0': is answered more often than there are reports"):
        batch.tally(plan, table(plan, [(0, 0), (0, 1)]))


def test_reports_of_another_plan_or_version_are_refused() -> None:
    good = table(SYMBOLS, [(0, 1)])
    with pytest.raises(ReportError, match="another plan"):
        batch.tally(plan_of(grr(ONE, 5), grr(ONE, 4)), good)
    with pytest.raises(ReportError, match="not reports of version 2"):
        batch.tally(SYMBOLS, good.replace_schema_metadata({"hush": "3"}))
    with pytest.raises(ReportError, match="reports of version 1; this hush reads version 2"):
        batch.tally(SYMBOLS, good.replace_schema_metadata({"hush": "1"}))
    assert batch.tally(SYMBOLS, good.replace_schema_metadata({}), own=0).reports == 1
    marked = pa.field("attribute", pa.int16(), metadata={"hush.core.plan": "0" * 64})
    with pytest.raises(ReportError, match="another plan"):
        batch.tally(SYMBOLS, pa.table(good.columns, schema=pa.schema([marked, good.schema.field("output")])))
    unneeded = pa.table({"attribute": [0], "part": [0], "output": [1]})
    assert batch.tally(SYMBOLS, unneeded, own=0).reports == 1


def test_columns_must_be_there_signed_and_without_null() -> None:
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
        found = pa.table({"attribute": pa.array([0, 1], kind), "output": pa.array([4, 2], kind)})
        assert batch.tally(SYMBOLS, found, own=0).reports == 2
    wrong = {
        "one column 'output'": pa.table({"attribute": [0]}),
        "signed integers in the column 'output'": pa.table({"attribute": [0], "output": pa.array([1], pa.uint8())}),
        "column 'part' of reports must be 0": pa.table({"attribute": [0], "part": [1], "output": [1]}),
        "must not have null": pa.table({"attribute": [0, None], "output": [1, 1]}),
        "question that is not": pa.table({"attribute": [1 << 16], "output": [1]}),
    }
    for message, reports in wrong.items():
        with pytest.raises(ReportError, match=message):
            batch.tally(SYMBOLS, reports, own=0)
    for nothing in (5, [1], "reports"):
        with pytest.raises(ReportError, match="must be an Arrow table"):
            batch.tally(SYMBOLS, nothing)


def test_faults_of_all_threads_are_added_up() -> None:
    rows = [(0, 9)] * 40
    with pytest.raises(ReportError, match=r"\(40 rows\)"):
        batch.tally(SYMBOLS, table(SYMBOLS, rows).to_batches(max_chunksize=1), threads=3)


def test_the_adders_are_right_for_every_bit() -> None:
    carries, sums = carry(np.uint64(0b11110000), np.uint64(0b11001100), np.uint64(0b10101010))
    assert (int(carries), int(sums)) == (0b11101000, 0b10010110)


def test_alphabets_of_very_different_sizes_need_no_more_room_than_they_have() -> None:
    """A plan with one large alphabet and many small ones is counted row by row."""
    fields: list[Any] = [Categorical(f"c{i}", [0, 1]) for i in range(300)]
    questions = [Question((field.name,), grr(ONE, 2)) for field in fields]
    plan = Plan(
        Schema([*fields, Categorical("wide", list(range(4096)))]),
        ONE,
        1,
        (*questions, Question(("wide",), grr(ONE, 4096))),
    )
    rows = [(0, 1), (299, 0), (300, 4095), (300, 4095)]
    found = batch.tally(plan, table(plan, rows))
    assert found.counts[300][4095] == 2
    assert (found.counts[0], found.counts[299]) == ([0, 1], [1, 0])
    with pytest.raises(ReportError, match=r"attribute 'c0': a symbol outside the alphabet \(1 rows\)"):
        batch.tally(plan, table(plan, [(0, 2)]))
    assert Counts(plan)._symbols.size == 0


@pytest.mark.parametrize("size", [2, 3, 5, 16, 31, 32, 33, 62, 63, 64, 65, 100, 130, 200])
def test_sets_are_refused_as_the_alphabet_says(size: int) -> None:
    """Groups of any size, in parts or across them: the same sets are good for the counters and for the scalar path."""
    plan = grouped(rows(5, 3, size, 1))
    alphabet = plan.questions[0].channel.alphabet
    edges = {place + step for place in range(0, alphabet.size + 1, 64) for step in (-1, 0, 1)}
    edges |= {place + step for place in range(0, alphabet.size + 1, size) for step in (-1, 0, 1)}
    near = sorted(edge for edge in edges if 0 <= edge < alphabet.size)
    generator = random.Random(size)
    seen = {True: 0, False: 0}
    counts = Counts(plan)
    for _ in range(300):
        chosen = tuple(sorted(generator.sample(near, 3)))
        bits = sum(1 << member for member in chosen)
        words = [bits >> 64 * part & (1 << 64) - 1 for part in range(-(-alphabet.size // 64))]
        output = np.array(words, dtype=np.uint64).view(np.int64)
        part = np.arange(len(words), dtype=np.int16) if len(words) > 1 else np.empty(0, np.int16)
        good = counts.whole(np.zeros(len(words), np.int16), part, output) is not None
        try:
            alphabet.check(chosen)
            expected = True
        except ReportError:
            expected = False
        assert good is expected
        seen[good] += 1
    assert min(seen.values()) > 20


PILES = plan_of(oue(ONE, 64), oue(ONE, 10), grr(ONE, 3), subset(ONE, 20), grr(ONE, 64), grr(ONE, 65), grr(ONE, 2))


def drawn_rows(plan: Plan, count: int, seed: int) -> tuple[Any, Any]:
    """Return good rows of random questions."""
    generator = np.random.default_rng(seed)
    attribute = generator.integers(0, len(plan.questions), count).astype(np.int16)
    output = np.zeros(count, dtype=np.int64)
    for index, question in enumerate(plan.questions):
        here, alphabet = np.flatnonzero(attribute == index), question.channel.alphabet
        if not hasattr(alphabet, "weight"):
            output[here] = generator.integers(0, alphabet.size, len(here))
        elif alphabet.weight is None:
            words = generator.integers(0, 1 << 64, len(here), dtype=np.uint64) >> np.uint64(64 - alphabet.size)
            output[here] = words.view(np.int64)
        else:
            order = generator.random((len(here), alphabet.size)).argsort(axis=1) < alphabet.weight
            output[here] = order @ (1 << np.arange(alphabet.size))
    return attribute, output


def counted(plan: Plan, attribute: Any, output: Any) -> list[list[int]]:
    """Count rows in the plainest way."""
    found = []
    for index, question in enumerate(plan.questions):
        mine, alphabet = output[attribute == index], question.channel.alphabet
        if hasattr(alphabet, "weight"):
            found.append(
                [int((mine.view(np.uint64) >> np.uint64(i) & np.uint64(1)).sum()) for i in range(alphabet.size)]
            )
        else:
            found.append(np.bincount(mine, minlength=alphabet.size).tolist())
    return found


@pytest.mark.parametrize("order", ["drawn", "sorted", "backwards"])
def test_piles_are_counted_beyond_their_planes(order: str) -> None:
    """Batches end anywhere. Sets of all members fill the upright counters, and so does a symbol that never changes."""
    attribute, output = drawn_rows(PILES, (FULL + 20) * ROUND * len(PILES.questions), 1)
    output[attribute == 1] = (1 << 10) - 1
    output[attribute == 6] = 1
    if order != "drawn":
        places = np.argsort(attribute, kind="stable")[:: 1 if order == "sorted" else -1]
        attribute, output = attribute[places], output[places]
    expected = counted(PILES, attribute, output)
    counts = Counts(PILES)
    for piece in np.array_split(np.arange(len(attribute)), [1, 5, 5 + STEP, 9 + 3 * STEP, 70_001]):
        counts.add(attribute[piece], np.empty(0, np.int16), output[piece])
    assert counts._piled
    found = counts.tally()
    assert found.counts == expected
    assert found.answered == np.bincount(attribute).tolist()
    assert counts.drain().tolist() == [
        len(attribute),
        *found.answered,
        *(count for vector in expected for count in vector),
    ]
    assert not counts.drain().any()
    schema = report_schema(PILES)
    reports = pa.table([pa.array(attribute), pa.array(output)], schema=schema)
    assert batch.tally(PILES, reports, threads=3).counts == expected
    assert batch.tally(PILES, reports.to_batches(max_chunksize=5000), threads=2).counts == expected


@pytest.mark.parametrize("place", [0, 1, STEP - 1, STEP, 3 * STEP, 5 * STEP - 1])
@pytest.mark.parametrize("alike", [False, True])
def test_bad_rows_on_piles_are_counted_by_question_and_rule(place: int, alike: bool) -> None:
    attribute, output = drawn_rows(PILES, 5 * STEP, place)
    bad = [
        (7, 0, "reports: a question that is not in the plan (1 rows)"),
        (-1, 0, "reports: a question that is not in the plan (1 rows)"),
        (1, 1 << 10, "attribute 'c1': a member that does not exist (1 rows)"),
        (2, 3, "attribute 'c2': a symbol outside the alphabet (1 rows)"),
        (2, 64, "attribute 'c2': a symbol outside the alphabet (1 rows)"),
        (2, -1, "attribute 'c2': a symbol outside the alphabet (1 rows)"),
        (3, 1, f"attribute 'c3': {TWO} (1 rows)"),
        (4, 64, "attribute 'c4': a symbol outside the alphabet (1 rows)"),
        (5, 65, "attribute 'c5': a symbol outside the alphabet (1 rows)"),
        (6, -2, "attribute 'c6': a symbol outside the alphabet (1 rows)"),
    ]
    for index, word, message in bad:
        mine, words = attribute.copy(), output.copy()
        if alike:
            mine, words = np.full_like(attribute, 5), np.full_like(output, 64)
        mine[place], words[place] = index, word
        counts = Counts(PILES)
        counts.add(mine, np.empty(0, np.int16), words)
        with pytest.raises(ReportError) as caught:
            counts.tally()
        assert str(caught.value) == message
        with pytest.raises(ReportError):
            counts.drain()
        assert not counts.drain().any()


def test_piles_and_rows_one_by_one_count_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few questions of one part have piles, too many have none, and so has a single one."""
    attribute, output = drawn_rows(PILES, 10_000, 3)
    monkeypatch.setattr(counting, "MOST", len(PILES.questions) - 1)
    counts = Counts(PILES)
    counts.add(attribute, np.empty(0, np.int16), output)
    assert not counts._piled
    assert counts.tally().counts == counted(PILES, attribute, output)
    assert len(PILES.questions) <= MOST
    assert not Counts(WORDS)._piled
    assert not Counts(WIDE)._piled
    monkeypatch.setattr(counting, "MAX_ROOM", 7)
    assert Counts(SYMBOLS)._piled
    attribute, output = drawn_rows(SYMBOLS, 5000, 4)
    counts = Counts(SYMBOLS)
    counts.add(attribute, np.empty(0, np.int16), output.astype(np.int16))
    assert counts.tally().counts == counted(SYMBOLS, attribute, output)


def test_symbols_are_read_out_before_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the last rows fit: they are read out at the end."""
    attribute, output = drawn_rows(SYMBOLS, 5000, 5)
    monkeypatch.setattr(counting, "MAX_HELD", 1000)
    for step in (1, 250, 400, 999, 1000, 1001, 5000):
        counts = Counts(SYMBOLS)
        for start in range(0, 5000, step):
            counts.add(attribute[start : start + step], np.empty(0, np.int16), output[start : start + step])
        found = counts.tally()
        assert found.counts == counted(SYMBOLS, attribute, output)
        assert found == Tally(SYMBOLS, 5000, found.answered, found.counts)  # as a tally that checks its counts


@pytest.mark.parametrize("size", [2, 3, 4, 5, 63, 64, 65])
def test_symbols_outside_the_alphabet_are_counted_by_question(size: int) -> None:
    """Where the room for the symbols of a question has places to spare, and where it has none."""
    plan = plan_of(grr(ONE, size), grr(ONE, 64), grr(ONE, 2))
    good = [(0, size - 1), (1, 63), (2, 1), (2, 0)]
    assert batch.tally(plan, table(plan, good)).counts == [
        [0] * (size - 1) + [1],
        [0] * 63 + [1],
        [1, 1],
    ]
    for bad, count in (([(0, size)] * 3, 3), ([(0, 127), (0, -1)], 2), ([(0, 200)], 1)):
        counts = Counts(plan)
        with kernels_only():
            counts.add(*row_arrays(plan, table(plan, good + bad).to_batches()[0]))
        with pytest.raises(ReportError, match=rf"attribute 'c0': a symbol outside the alphabet \({count} rows\)"):
            counts.tally()
