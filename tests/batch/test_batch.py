"""The front door of the batch engine: what people call, and what they get."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hush
from hush import Categorical, DesignError, Numeric, PlanError, RecordError, Schema, batch, design
from hush.batch import engine, native
from hush.batch.columns import Columns, Encoded
from hush.batch.draws import below, clamped, quotient
from hush.batch.kernels import KERNELS
from hush.batch.keystream import Keystream
from hush.core.exact import WORD
from hush.testing import SeededStreams
from tests.batch.relating import relating_plans

SCHEMA = Schema([Numeric("age", 0, 120), Numeric("income", 0, 1e5, optional=True), Categorical("os", ["a", "b", "c"])])


def population(n: int, seed: int = 1) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    income = pa.array(generator.beta(2, 8, n) * 1e5, mask=generator.random(n) < 0.25)
    return {
        "age": generator.integers(0, 90, n),
        "income": income,
        "os": generator.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
    }


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 1), (4.0, 2), (2.0, 3)])
def test_estimates_meet_the_truth(epsilon: float, k: int) -> None:
    """Every estimate within 6 standard errors: a false alarm has a probability below 1e-7 for the handful of them."""
    people = population(400_000)
    plan = design(SCHEMA, epsilon, k=k)
    truth: dict[Any, float] = {
        ("age", None): float(people["age"].mean()),
        ("income", None): float(np.nanmean(people["income"].to_numpy(zero_copy_only=False))),
        ("income", hush.MISSING): people["income"].null_count / 400_000,
    } | {("os", value): float((people["os"] == value).mean()) for value in "abc"}
    tally = batch.collect(plan, people)
    assert tally.reports == 400_000
    for row in hush.estimate(tally):
        assert abs(row.point - truth[row.attribute, row.category]) < 6 * row.stderr
    # The twin: reports of other people are told apart.
    shifted = batch.collect(plan, people | {"age": people["age"] + 20})
    row = hush.estimate(shifted)[0]
    assert abs(row.point - truth["age", None]) > 6 * row.stderr


def test_plans_with_relations_meet_the_truth() -> None:
    """Every estimate within 6 standard errors: a false alarm has a probability below 1e-6 for a hundred of them."""
    people, relations = population(200_000), [("os", "income"), ("age", "os"), ("age", "income")]
    plan = design(SCHEMA, 2.0, relations=relations, bands={"income": [1e4, 3e4]}, ranges=["age"])
    truth: dict[Any, float] = {
        ("age", None): float(people["age"].mean()),
        ("income", None): float(np.nanmean(people["income"].to_numpy(zero_copy_only=False))),
        ("income", hush.MISSING): people["income"].null_count / 200_000,
    } | {("os", value): float((people["os"] == value).mean()) for value in "abc"}
    rows = hush.estimate(batch.tally(plan, batch.randomise(plan, people)))
    assert {(row.attribute, row.category) for row in rows} >= truth.keys()
    for row in rows:
        assert abs(row.point - truth[row.attribute, row.category]) < 6 * row.stderr
    # The twin: reports of other people are told apart.
    row = hush.estimate(batch.collect(plan, people | {"age": people["age"] + 20}))[0]
    assert abs(row.point - truth["age", None]) > 6 * row.stderr


def test_frames_go_in_and_arrow_comes_out() -> None:
    people = population(1000)
    plan = design(SCHEMA, 1.0)
    frame = pd.DataFrame({name: np.asarray(values) for name, values in people.items()})
    for data in (people, pa.table(people), frame, pl.DataFrame(pa.table(people))):
        table = batch.randomise(plan, data)
        assert table.schema.equals(batch.report_schema(plan), check_metadata=True)
        assert batch.tally(plan, table).reports == 1000


def test_ids_are_random_and_the_same_in_all_rows_of_a_report() -> None:
    plan = design(SCHEMA, 4.0, k=2)
    rows = batch.randomise(plan, population(500), ids=True)["report"].to_pylist()
    assert rows[::2] == rows[1::2]
    assert len(set(rows)) == 500
    assert all(len(row) == 16 for row in rows)


def test_calls_are_independent() -> None:
    plan = design(SCHEMA, 1.0)
    held = batch.encode(plan, population(500))
    assert not batch.randomise(plan, held).equals(batch.randomise(plan, held))


def test_a_bad_table_is_refused_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(*_: Any) -> None:
        raise AssertionError("a stream was asked for")

    monkeypatch.setattr(Keystream, "stream", drawn)
    plan = design(SCHEMA, 1.0)
    people = population(200_000)
    people["age"][-1] = 121
    for call in (batch.randomise, batch.collect):
        with pytest.raises(RecordError, match=r"column 'age': .* \(some rows\)$"):
            call(plan, people)
        with pytest.raises(RecordError, match=r"column 'age': .* \(1 of 200000 rows\)$"):
            call(plan, people, count_bad_rows=True)
    batches = pa.table(people).to_batches()
    for count_bad_rows, said in ((False, "some rows"), (True, "1 of 200000 rows")):
        stream = batch.randomise_batches(plan, batches, count_bad_rows=count_bad_rows)
        with pytest.raises(RecordError, match=rf"\({said}\)$"):
            next(stream)
        for check in (batch.encode, batch.check_batches):
            with pytest.raises(RecordError, match=rf"\({said}\)$"):
                check(plan, pa.table(people), count_bad_rows=count_bad_rows)


def test_a_stream_of_batches_is_randomised_as_it_comes() -> None:
    plan = design(SCHEMA, 1.0)
    given = []

    def source() -> Any:
        for start in range(100):
            given.append(start)
            yield pa.RecordBatch.from_pydict(population(10, start))

    for threads in (1, 3):
        given.clear()
        stream = batch.randomise_batches(plan, source(), threads=threads)
        first = next(stream)
        assert first.num_rows == 10
        assert len(given) <= 2 * threads + 2  # no more is read than is being worked on
        assert sum(piece.num_rows for piece in stream) == 990


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_threads_are_a_positive_integer(threads: Any) -> None:
    with pytest.raises(DesignError, match="threads must be an integer of at least 1"):
        batch.randomise(design(SCHEMA, 1.0), population(10), threads=threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("items", [0, 1, 2, 100])
def test_threads_side_by_side_take_every_item_once(threads: int, items: int) -> None:
    found = engine.side_by_side(list, range(items), threads)
    assert sorted(item for some in found for item in some) == list(range(items))
    assert len(found) == max(1, min(threads, items))


def test_an_error_ends_all_threads_side_by_side() -> None:
    """The first thread has an error, and the second goes on to the next item only when the first has cleared them."""
    taken, failed = [], threading.Event()
    first = threading.get_ident()

    def work(items: Any) -> None:
        for item in items:
            if threading.get_ident() == first:
                failed.set()
                raise ValueError("broken")
            taken.append(item)
            failed.wait(10)
            time.sleep(0.2)

    with pytest.raises(ValueError, match="broken"):
        engine.side_by_side(work, range(50), 2)
    assert len(taken) <= 2

    def other_work(items: Any) -> None:
        for _ in items:
            if threading.get_ident() != first:
                failed.set()
                raise ValueError("broken")
            failed.wait(10)

    failed.clear()
    with pytest.raises(ValueError, match="broken"):
        engine.side_by_side(other_work, range(50), 2)


@pytest.mark.parametrize("rows", [0, 1, batch.LEAST_SHARE, batch.LEAST_SHARE + 1, batch.MAX_SHARE + 7])
def test_tables_are_counted_alike_by_any_number_of_threads(rows: int) -> None:
    plan = design(Schema([Categorical("os", list(range(5))), Categorical("no", list(range(9)))]), 1.0)
    reports = batch.randomise(plan, {"os": np.arange(rows) % 5, "no": np.arange(rows) % 9})
    alone = batch.tally(plan, reports, threads=1)
    assert alone.reports == rows
    for threads in (2, 3, 7):
        assert batch.tally(plan, reports, threads=threads) == alone
        assert batch.tally(plan, reports.to_batches(max_chunksize=max(1, rows // 3)), threads=threads) == alone
    if rows:
        assert batch.tally(plan, reports.combine_chunks().to_batches()[0], threads=2) == alone


def test_the_kernels_do_not_trust_the_columns() -> None:
    """Whatever a float is, and even if the check were skipped, a state of the channel comes of it."""
    plan = design(Schema([Numeric("x", 0, 1)]), 1.0)
    values = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2, -2])
    held = Encoded(plan.schema, (Columns(plan.schema, 8, (values,)),))
    for name in ("minimax", "piecewise", "duchi", "hybrid", "laplace"):
        plan = design(plan.schema, 1.0, numeric=name)
        assert batch.tally(plan, batch.randomise(plan, held)).reports == 8
    names = ("bands", "bands of many cuts", "sides", "product", "table of sides and a number", "means by bands")
    for name in (*names, "rows 4-3-7-2", "rows 65-3-4-1", "rows 4-1-8-3 uneven", "cells number-3 of 2"):
        plan = relating_plans()[name]
        columns = tuple(
            values if isinstance(attribute, Numeric) else np.zeros(8, dtype=np.int16)
            for attribute in plan.schema.attributes
        )
        held = Encoded(plan.schema, (Columns(plan.schema, 8, columns),))
        for _ in range(20):
            assert batch.tally(plan, batch.randomise(plan, held)).reports == 8
    assert clamped(-1.0) == 0.0
    assert clamped(2.0) == 1.0
    assert clamped(np.nan) == 0.0


def test_a_forked_process_draws_words_of_its_own() -> None:
    """A stream that was begun before a fork goes on in both processes, with different words."""
    plan = design(Schema([Categorical("c", list(range(10)))]), 1.0, categorical="grr")
    batches = [pa.record_batch({"c": np.zeros(500, int)})] * 3
    stream = batch.randomise_batches(plan, batches, threads=1)
    next(stream)
    outputs = []
    for _ in range(2):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, next(stream).column("output").to_numpy().tobytes())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            outputs.append(pipe.read())
        os.waitpid(child, 0)
    assert len(outputs[0]) == len(outputs[1]) == 1000
    assert outputs[0] != outputs[1]


def test_a_call_in_the_middle_of_a_call_disturbs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a signal handler may do: both work on the same thread, at the same time."""
    plan = design(SCHEMA, 1.0)
    held = batch.encode(plan, population(3000))
    alone = batch._randomise_from(SeededStreams(1), plan, held, 1, True)
    kernel = KERNELS["knotted"]
    inside: list[bool] = []

    def interrupted(*arguments: Any) -> Any:
        if not inside:
            inside.append(True)
            batch._randomise_from(SeededStreams(2), plan, batch.encode(plan, population(5000)), 1, True)
            inside.clear()
        return kernel(*arguments)

    monkeypatch.setitem(KERNELS, "knotted", interrupted)
    assert batch._randomise_from(SeededStreams(1), plan, held, 1, True).equals(alone)


def test_memory_does_not_grow_with_what_is_left_of_a_block() -> None:
    plan = design(Schema([Numeric("x", 0, 1)]), 1.0, numeric="laplace")
    sizes = set()
    for _ in range(3):
        batch.collect(plan, {"x": np.zeros(30_000)}, threads=1)
        sizes.add(tuple(len(space._secrets["words"]) for space in engine._spare.workspaces))
    assert len(sizes) == 1


def test_many_rows_for_each_person_make_smaller_chunks() -> None:
    plan = design(Schema([Categorical(f"c{i}", list(range(640))) for i in range(40)]), 16.0, categorical="oue", k=40)
    held = batch.encode(plan, {f"c{i}": np.zeros(20_000, int) for i in range(40)})
    sizes = [chunk.end - chunk.start for chunk in engine.chunks_of(plan, held.batches)]
    assert sum(sizes) == 20_000
    assert max(sizes) * 400 <= engine.MAX_ROWS


def test_only_plans_and_batches_will_do() -> None:
    plan = design(SCHEMA, 1.0)
    for call in (batch.randomise, batch.collect, batch.tally, batch.encode, batch.check_batches):
        with pytest.raises(PlanError, match="needs a Plan first"):
            call(None, {})  # type: ignore[arg-type]
    for wrong in (5, "people", {"age": [1]}, [population(2)]):
        with pytest.raises(RecordError, match="people must be Arrow record batches"):
            list(batch.randomise_batches(plan, wrong))  # type: ignore[arg-type]
    assert batch.check_batches(plan, pa.table(population(10))) == 10


def test_rejected_words_are_drawn_again() -> None:
    words = np.array([0, 0, 1 << 63, 5], dtype=np.uint64)
    excess = np.uint64(2**64 % 3)
    picked, at = _below(words, 0, 3, np.uint64(3), excess)
    assert (int(picked), at) == (1, 3)


def test_a_choice_of_one_takes_no_word() -> None:
    picked, at = _below(np.array([5, 6], dtype=np.uint64), 0, 2, np.uint64(1), np.uint64(0))
    assert (int(picked), at) == (0, 0)


@native.compiled
def _below(words: Any, at: int, limit: int, n: Any, excess: Any) -> Any:
    return below(native.pointer(words), at, limit, n, excess)


def test_quotients_by_multiplication_are_those_of_division() -> None:
    choose = random.Random(4)
    divisors = [
        1,
        2,
        3,
        (1 << 52) - 1,
        1 << 51,
        *(choose.randrange(1, 1 << choose.randrange(1, 53)) for _ in range(300)),
    ]
    for divisor in divisors:
        inverse = min(WORD // divisor, WORD - 1)
        times = choose.randrange(1, min(4096, WORD // divisor) + 1) * divisor  # up to the whole of a run
        for n in {0, 1, divisor - 1, divisor, times - 1, times, choose.randrange(times), WORD - 1} - {WORD}:
            assert int(_quotient(np.uint64(n), np.uint64(divisor), np.uint64(inverse))) == n // divisor


@native.compiled
def _quotient(n: Any, divisor: Any, inverse: Any) -> Any:
    return quotient(n, divisor, inverse)


def test_kernels_that_were_kept_know_all_their_sources() -> None:
    """Numba looks at one file only; a change of another must not leave old machine code in use."""
    from hush.batch.numbers import window_kernel

    assert window_kernel._cache._cache_file._source_stamp == native._sources()  # type: ignore[attr-defined]


def test_hush_itself_does_not_import_the_batch_engine() -> None:
    code = "import hush, sys; assert not {'numpy', 'numba', 'pyarrow', 'cryptography'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
