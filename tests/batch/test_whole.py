"""Small batches in one step, and binary reports as rows: the same as the ways that are older and slower."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import hush
from hush.batch.binary import ids_of, rows_of
from hush.batch.counting import Counts
from hush.collector.vectors import layout_of
from hush.core import codec
from hush.core.columnar import parts
from hush.device.randomise import randomise, randomise_from
from hush.errors import ReportError
from hush.testing import SeededCoins
from tests.collector.served import ALL, FEW, PLAN, WIDE, record_of, rows

CUBE = hush.design(hush.Schema([hush.Numeric(f"x{i}", -1, 1) for i in range(5)]), 2.0, title="cube", numeric="cube")
PLANS = {plan.title: plan for plan in (PLAN, ALL, WIDE, FEW, CUBE)}
Array = np.ndarray[Any, Any]


def table_of(plan: hush.Plan, people: int) -> tuple[Array, Array, Array]:
    if plan is CUBE:
        columns: dict[str, Any] = {f"x{i}": np.linspace(-1, 1, people) for i in range(5)}
        table = hush.batch.randomise(plan, columns)
    else:
        table = rows(plan, people)
    names = table.schema.names
    part = np.asarray(table.column("part").combine_chunks()) if "part" in names else np.empty(0, dtype=np.int16)
    attribute, output = (np.asarray(table.column(name).combine_chunks()) for name in ("attribute", "output"))
    return attribute.copy(), part.copy(), output.copy()


def in_steps(plan: hush.Plan, *columns: Array) -> Array | None:
    counts = Counts(plan)
    try:
        counts.add(*columns)
        return counts.drain()
    except ReportError:
        return None


@pytest.mark.parametrize("title", PLANS)
def test_one_step_counts_and_refuses_as_several_do(title: str) -> None:
    """Every batch is changed in a few places; whatever was found wrong leaves nothing for the next."""
    plan, chance = PLANS[title], random.Random(title)
    counts = Counts(plan)
    good = bad = 0
    for people in (1, 2, 7, 8, 9, 64, 300):
        for _ in range(60):
            columns = table_of(plan, people)
            for _ in range(chance.choice([0, 0, 1, 3])):
                column = chance.choice([column for column in columns if len(column)])
                values = [-1, 0, 1, 2, 5, 63, 127, -(2**15), 2**15 - 1, int(chance.choice(column))]
                column[chance.randrange(len(column))] = chance.choice(values)
            if chance.random() < 0.1:
                columns = tuple(column[:-1] for column in columns)  # type: ignore[assignment]
            expected, found = in_steps(plan, *columns), counts.whole(*columns)
            assert (found is None) == (expected is None)
            if expected is not None:
                assert found is not None
                assert found.tolist() == expected.tolist()
            good, bad = good + (expected is not None), bad + (expected is None)
    assert min(good, bad) > 20


def test_one_step_that_looks_at_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a kernel that takes everything."""
    monkeypatch.setattr("hush.batch.counting.count_whole", lambda *_: True)
    with pytest.raises(AssertionError):
        test_one_step_counts_and_refuses_as_several_do(PLAN.title)


def record(plan: hush.Plan) -> dict[str, Any]:
    return {f"x{i}": 0.5 for i in range(5)} if plan is CUBE else record_of(plan)


def one_by_one(plan: hush.Plan, data: bytes) -> list[hush.Report] | None:
    cursor, found = codec.Cursor(data, ReportError, "reports"), []
    try:
        while cursor.left:
            found.append(hush.Report.take(plan, cursor))
    except ReportError:
        return None
    return found


def as_rows(plan: hush.Plan, data: bytes) -> tuple[Array, list[bytes]] | None:
    counts, ids = Counts(plan), []
    try:
        for found in rows_of(plan, data):
            counts.add(found.attribute, found.part if max(parts(plan)) > 1 else np.empty(0, np.int16), found.output)
            ids += [row.tobytes() for row in ids_of(data, found.starts)]
        return counts.drain(), ids
    except ReportError:
        return None


@pytest.mark.parametrize("title", PLANS)
def test_binary_reports_are_read_as_one_by_one(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, chance = PLANS[title], random.Random(title)
    monkeypatch.setattr("hush.batch.binary.ROWS", 40)  # so that there are several pieces
    reports = [randomise_from(SeededCoins(seed), plan, record(plan)) for seed in range(30)]
    good = bad = 0
    for _ in range(300):
        data = bytearray(b"".join(chance.choice(reports).encode() for _ in range(chance.randrange(1, 30))))
        for _ in range(chance.choice([0, 1, 1, 2])):
            place = chance.randrange(len(data) or 1)
            data = data or bytearray(1)
            change = chance.randrange(4)
            if change == 0:
                data[place] ^= 1 << chance.randrange(8)
            elif change == 1:
                del data[place:]
            elif change == 2:
                data[place:place] = bytes([chance.randrange(256)])
            else:
                data[place] = 0
        expected, found = one_by_one(plan, bytes(data)), as_rows(plan, bytes(data))
        assert (found is None) == (expected is None)
        good, bad = good + (expected is not None), bad + (expected is None)
        if expected is None or found is None:
            continue
        vector = layout_of(plan).zero()
        for report in expected:
            layout_of(plan).add(vector, report)
        assert found[0].tolist() == vector.tolist()
        assert found[1] == [report.id for report in expected]
    assert min(good, bad) > 20


def test_what_is_wrong_is_said_by_the_report() -> None:
    data = randomise(PLAN, record(PLAN)).encode()
    with pytest.raises(ReportError, match="another plan"):
        list(rows_of(PLAN, data + b"\2" + bytes(40)))
    with pytest.raises(ReportError, match="cut short"):
        list(rows_of(PLAN, data[:-1]))
    with pytest.raises(ReportError, match="version 1; this hush reads version 2"):
        list(rows_of(PLAN, data + b"\1" + bytes(40)))
    with pytest.raises(ReportError, match="version"):
        list(rows_of(PLAN, b"\7" + data))
