"""Few people without kernels: the same reports from the same words, the same counts, and the same faults."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hush import Plan, ReportError, batch
from hush.batch import engine, plainly
from hush.batch.columns import encode
from hush.batch.counters import count_rows
from hush.batch.native import ready
from hush.testing import SeededStreams
from tests.batch.dealing import deal, reports_of
from tests.batch.test_words import PLANS, columns_of, edges, people

DRAWN = [name for name, plan in PLANS.items() if plainly.can_draw(plan.schema)]


def use_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a process that has drawn nothing, on a machine that has compiled nothing."""
    monkeypatch.delenv("HUSH_COMPILE")
    monkeypatch.setattr(plainly, "ready", lambda *_: False)
    monkeypatch.setattr(plainly, "_done", Counter())


@pytest.fixture
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no kernel was compiled, and on which none may be."""

    def refuse(*_: object) -> None:
        raise AssertionError("a kernel was used")

    use_none(monkeypatch)
    monkeypatch.setattr(engine, "_answer", refuse)
    monkeypatch.setattr("hush.batch.counting.count_rows", refuse)
    monkeypatch.setattr("hush.batch.counting.count_symbols", refuse)
    monkeypatch.setattr("hush.batch.counting.empty_planes", refuse)
    monkeypatch.setattr("hush.batch.counting.pile_rows", refuse)
    monkeypatch.setattr("hush.batch.counting.empty_piles", refuse)
    monkeypatch.setattr("hush.batch.columns._from_table", refuse)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("awkward", [False, True], ids=["uniform", "edges"])
@pytest.mark.parametrize("name", DRAWN)
def test_few_people_are_the_scalar_path_word_for_word(name: str, awkward: bool) -> None:
    plan, records = PLANS[name], people(PLANS[name], 12, 5)
    streams = SeededStreams(11, edges(plan) if awkward else ())
    data = encode(plan.schema, columns_of(plan, records))
    table = batch._randomise_from(streams, plan, data, 1, True)
    assert reports_of(plan, table) == deal(plan, records, streams.stream(0))
    assert batch._collect_from(SeededStreams(3), plan, data, 2) == batch.tally(
        plan, batch._randomise_from(SeededStreams(3), plan, data, 1, False)
    )


def test_most_plans_can_do_without() -> None:
    assert len(DRAWN) > 0.8 * len(PLANS)


def spoilt(plan: Plan, table: pa.Table, seed: int) -> pa.Table:
    """Change some numbers of a table, swap or drop rows."""
    some = random.Random(seed)
    columns: dict[str, Any] = {name: table.column(name).to_pylist() for name in table.column_names}
    for _ in range(some.randint(0, 3)):
        name, row = some.choice(table.column_names), some.randrange(len(table))
        values = columns[name]
        most = 2 * plan.questions[0].channel.alphabet.size if name == "output" else 5
        values[row] = some.choice([values[some.randrange(len(values))], values[row] ^ 1, some.randint(-2, most)])
    if some.random() < 0.2:
        columns = {name: values[:-1] for name, values in columns.items()}
    return pa.table(columns, schema=table.schema)


def outcome(plan: Plan, table: pa.Table) -> object:
    try:
        return batch.tally(plan, table.to_batches(max_chunksize=7), threads=1)
    except ReportError as error:
        return str(error)


@pytest.mark.parametrize("name", ["default", "k=3", "unary-65", "relations", "rows 4-3-7-2", "choices", "picks"])
def test_counts_and_faults_are_those_of_the_kernels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS[name]
    data = encode(plan.schema, columns_of(plan, people(plan, 12, 6)))
    table = batch._randomise_from(SeededStreams(3), plan, data, 1, False)
    tables = [spoilt(plan, table, seed) for seed in range(50)]
    compiled = [outcome(plan, table) for table in tables]
    use_none(monkeypatch)
    assert [outcome(plan, table) for table in tables] == compiled
    assert {type(one) for one in compiled} == {str, type(outcome(plan, table))}


def test_many_people_are_worth_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one table, or in many small ones."""
    use_none(monkeypatch)
    assert not plainly.few(plainly.FEW + 1, count_rows)
    assert plainly.few(plainly.FEW - 1, count_rows)
    assert plainly.few(1, count_rows)
    assert not plainly.few(1, count_rows)
    monkeypatch.setattr(plainly, "_done", Counter())
    with plainly.kernels_only():
        assert not plainly.few(1, count_rows)
    assert plainly.few(1, count_rows)
    monkeypatch.setenv("HUSH_COMPILE", "1")
    assert not plainly.few(1, count_rows)


def test_a_kernel_that_was_used_is_ready() -> None:
    plan = PLANS["default"]
    batch.tally(
        plan,
        batch._randomise_from(
            SeededStreams(3), plan, encode(plan.schema, columns_of(plan, people(plan, 9, 1))), 1, False
        ),
    )
    assert ready(count_rows)


def test_numbers_are_told_apart() -> None:
    from hush.batch.columns import number_faults

    values = np.array([0.5, np.nan, np.inf, -np.inf, -0.1, 1.1, 1.0, 0.0])
    assert number_faults(values, 0.0, 1.0) == (1, 2, 2)
    assert number_faults(values[[0, 6, 7]], 0.0, 1.0) == (0, 0, 0)
    assert number_faults(values[:0], 0.0, 1.0) == (0, 0, 0)
    assert number_faults(values[[0, 1]], 0.0, 1.0) == (1, 0, 0)
