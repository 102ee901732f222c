"""Spark gives the tally of the scalar path, exactly, from workers that are processes of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hush
from hush import Tally, batch
from hush.errors import RecordError, ReportError
from tests.columnar import HELD, LARGE, columnar_plans, sample
from tests.engines.bad import BAD, Bad, changed
from tests.sessions import ROOT, blocks_of

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'hush-ldp[spark]'")

MIN_JAVA = 17
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # Java compiles less: nothing here runs long enough to repay more
PEOPLE = 40
PLANS = columnar_plans()
# A query of Spark takes a second: plans that lie in rows as others do are left to DuckDB, which runs the same query.
CHOSEN = [
    "default", "k=3", "split", "multi-split", "cube", "cells", "hybrid", "laplace", "oue", "weighted", "mixed-split",
    "unary-64", "unary-65", "unary-200", "subset-40", "subset-64", "subset-100", "signs-70", "cube-32", "cube-70",
    "rows 3-2-2-1", "rows 9-3-17-5", "cells 4-16 of 9", "cells 2-33 of 65", "relations",
]  # fmt: skip
REFUSED = [
    "null symbol", "null word", "null part", "unknown question", "unknown part", "symbol negative", "spare bit",
    "spare sign", "weight of a small set", "weight with a sign", "both signs at the end", "weight of a wide set",
    "missing part", "answers left over", "a question answered twice", "cells of one row", "neighbours in one row",
    "all cells", "the sign and the cell before it", "cells of one row in a later part", "cells of one row in two parts",
]  # fmt: skip


def java_version() -> int:
    """The version of Java that Spark would run, or 0."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        return 0
    text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = re.search(r'version "(\d+)', text)
    return int(found[1]) if found else 0


pytestmark = [
    pytest.mark.timeout(900),  # Java starts slowly
    pytest.mark.skipif(java_version() < MIN_JAVA, reason=f"Spark needs Java {MIN_JAVA} or newer"),
    # Sockets between Python and the driver's Java are closed when they are collected, not before.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """Two workers with a core each."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", QUICK)
        .config("spark.executor.extraJavaOptions", QUICK)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.mark.parametrize("name", CHOSEN)
def test_the_tally_is_that_of_the_scalar_path(name: str, session: Any, tmp_path: Path) -> None:
    from hush.engines.spark import tally

    plan = PLANS[name]
    table, expected = sample(plan, PEOPLE)
    pq.write_table(table[:-7], tmp_path / "a.parquet")
    pq.write_table(table[-7:], tmp_path / "b.parquet")
    assert tally(plan, session.read.parquet(str(tmp_path)), own=0) == expected
    with pytest.raises(ReportError, match="do not say how many of them are a relay's own"):
        tally(plan, session.read.parquet(str(tmp_path)))


@pytest.mark.parametrize("name", REFUSED)
def test_bad_rows_are_refused(name: str, session: Any, tmp_path: Path) -> None:
    from hush.engines.spark import tally

    case: Bad = BAD[name]
    plan = PLANS[case.plan]
    pq.write_table(changed(sample(plan, PEOPLE)[0], case.change), tmp_path / "bad.parquet")
    with pytest.raises(ReportError, match=case.message):
        tally(plan, session.read.parquet(str(tmp_path)), own=0)


def test_the_rows_are_read_once_and_no_python_runs(session: Any, tmp_path: Path) -> None:
    """A second scan would see other reports where the rows are made while they are read."""
    from hush.engines.spark import BUCKET
    from hush.engines.sql import Layout, paired

    plan = PLANS["mixed-split"]
    pq.write_table(sample(plan, PEOPLE)[0], tmp_path / "a.parquet")
    text = Layout(plan).query("{reports}", has_part=True, ones=paired(BUCKET))
    query = session.sql(text, reports=session.read.parquet(str(tmp_path)))
    steps = query._jdf.queryExecution().executedPlan().toString()
    assert steps.count("FileScan parquet") == 1
    assert not re.search(r"Python|Pandas|Arrow", steps)


def test_no_rows_are_the_empty_tally(session: Any, tmp_path: Path) -> None:
    from hush.engines.spark import tally

    plan = PLANS["unary-65"]
    pq.write_table(sample(plan, 0)[0], tmp_path / "none.parquet")
    assert tally(plan, session.read.parquet(str(tmp_path)), own=0) == Tally(plan)


def test_other_columns_are_refused(session: Any) -> None:
    from hush.engines.spark import tally

    plan = PLANS["grr"]
    with pytest.raises(ReportError, match="need a column 'output'"):
        tally(plan, session.sql("SELECT 1 AS attribute"))
    with pytest.raises(ReportError, match="'output' must hold signed integers"):
        tally(plan, session.sql("SELECT 1 AS attribute, 1.0 AS output"))


# -- randomising


def people(session: Any, n: int, tasks: int = 4) -> Any:
    return session.range(0, n, numPartitions=tasks).selectExpr(
        "CAST(id % 100 AS DOUBLE) AS age", "0.25D AS height", "CAST(NULL AS DOUBLE) AS income",
        "'mac' AS os", "13L AS code", "'no' AS smokes", "id",
    )  # fmt: skip


def test_a_missing_column_is_named(session: Any) -> None:
    from hush.engines.spark import randomise

    with pytest.raises(RecordError, match="'age': there is no such column"):
        randomise(PLANS["default"], session.range(3))


needs_batch = pytest.mark.skipif(
    not hasattr(batch, "randomise_batches"), reason="hush.batch has no randomise_batches yet"
)


@needs_batch
def test_reports_are_made_by_the_workers_and_written_once(session: Any, tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    from hush.engines import duckdb, spark

    plan, n = PLANS["default"], 5000
    path = str(tmp_path / "reports")
    reports = spark.randomise_once(plan, people(session, n), path)
    tally = spark.tally(plan, reports)
    assert tally.reports == n
    assert spark.tally(plan, reports) == tally == duckdb.tally(plan, path)
    # What Spark wrote knows its plan, for Spark and for DuckDB.
    for engine, source in ((spark.tally, reports), (duckdb.tally, path)):
        with pytest.raises(ReportError, match="belong to another plan"):
            engine(PLANS["titled"], source)
    with pytest.raises(AnalysisException, match="PATH_ALREADY_EXISTS"):
        spark.randomise_once(plan, people(session, n), path)


@needs_batch
@pytest.mark.parametrize("name", LARGE)
def test_workers_get_long_lists_with_the_plan(name: str, session: Any, tmp_path: Path) -> None:
    """The workers are processes of their own: they have not seen the list."""
    from hush.engines import spark

    plan = LARGE[name]
    table = pa.table({name: HELD[name]})
    pq.write_table(table, tmp_path / "people.parquet")
    frame = session.read.parquet(str(tmp_path / "people.parquet"))
    reports = spark.randomise_once(plan, frame, str(tmp_path / "reports"))
    found = spark.tally(plan, reports)
    assert found.reports == len(HELD[name])
    assert found == batch.tally(plan, pq.read_table(tmp_path / "reports"))
    if name == "page":
        # Epsilon 8 and 300 people: another page would be the largest in less than 1 of a million runs.
        assert hush.estimate(found, top=1)[0].category == "page 7"


def test_tasks_do_not_share_randomness(session: Any) -> None:
    """The same people in two partitions get different reports: alike with a probability far below 1e-9."""
    from pyspark.sql.functions import spark_partition_id

    from hush.engines.spark import randomise

    rows = randomise(PLANS["default"], people(session, 200, tasks=2)).withColumn("task", spark_partition_id()).collect()
    first, second = ([(row.attribute, row.output) for row in rows if row.task == task] for task in (0, 1))
    assert len(first) == len(second) == 100
    assert first != second


def test_the_schema_of_the_stage_is_that_of_reports() -> None:
    from hush.batch.reports import report_schema
    from hush.engines.spark import _schema

    for plan in PLANS.values():
        fields = _schema(plan).fields
        assert [field.name for field in fields] == report_schema(plan).names
        assert [field.dataType.simpleString() for field in fields] == [
            {pa.int16(): "smallint", pa.int32(): "int", pa.int64(): "bigint"}[kind]
            for kind in report_schema(plan).types
        ]
        assert fields[0].metadata == {"hush": "2", "hush.core.plan": plan.id, "hush.core.own": "0"}


# -- the page


@needs_batch
def test_the_page_is_true(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what docs/spark.md shows: the file in a process of its own, the rest here. The lake is a folder."""
    from hush.engines import spark

    monkeypatch.chdir(tmp_path)
    plan = PLANS["default"]
    Path("plan.json").write_text(plan.to_json())
    people(session, PEOPLE).write.parquet(str(tmp_path / "people"))
    blocks = [block for block in blocks_of(ROOT / "docs" / "spark.md") if block.kind == "py"]
    assert [block.file for block in blocks] == ["count.py", ""]
    namespace: dict[str, Any] = {"session": session, "plan": plan, "spark": spark}
    for block in reversed(blocks):  # what is counted must be made first
        text = block.text.replace("s3a://lake", str(tmp_path / "lake")).replace("people/", str(tmp_path / "people"))
        if not block.file:
            exec(compile(text, "spark.md", "exec"), namespace)  # noqa: S102
            continue
        Path(block.file).write_text(text)
        arguments = ["plan.json", str(tmp_path / "lake" / "reports"), "total.tally"]
        subprocess.run([sys.executable, block.file, *arguments], check=True, timeout=300)  # noqa: S603
    tally = Tally.decode(plan, Path("total.tally").read_bytes())
    assert tally == namespace["tally"]
    assert tally.reports == PEOPLE
