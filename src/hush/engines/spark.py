"""Randomise and tally with Spark, on any number of machines.

    from hush.engines import spark
    reports = spark.randomise_once(plan, people, "reports.parquet")
    tally = spark.tally(plan, reports)

A tally is one SQL query of built-in functions: no Python runs on the workers. Randomising runs the batch kernels on
Arrow batches, in the workers' Python, keyed by the operating system of each worker.

**A report is made once.** Spark may compute a stage again at any time: for a second action, for a lost worker, for
the sample that a sort takes. Randomising again gives the same people a second report with fresh noise, and if both
are seen, each has cost epsilon. `randomise_once` writes the reports to storage and returns the written ones, so that
nothing later can run the stage again. Use it, unless the first thing you do with the result of `randomise` is to write
it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType, ShortType, StructField, StructType

from hush.batch.reports import report_schema
from hush.core.columnar import check_marks, marks
from hush.core.lists import fetched, listed_in
from hush.core.owned import Owned, stated
from hush.core.plan import Plan
from hush.engines.sql import Layout, check_columns, paired
from hush.engines.totals import tally_of
from hush.errors import RecordError
from hush.server.tally import Tally, with_own

# The lower part of this id is the number of the row in its partition, so at most 2^30 rows share a bucket. In practice
# a bucket is a partition, whose rows Spark sums first anyway.
BUCKET = "monotonically_increasing_id() >> 30"
TYPES: dict[pa.DataType, type[DataType]] = {
    pa.int16(): ShortType,
    pa.int32(): IntegerType,
    pa.int64(): LongType,
    pa.binary(16): BinaryType,
}


def tally(plan: Plan, dataframe: DataFrame, *, own: int | None = None) -> Tally:
    """Count reports in columns, in one pass.

    All rows count, or none: a row that breaks a rule of `spec/reports.md` raises ReportError. Spark does not show the
    metadata of files. Reports from `randomise` carry the plan's id in the metadata of a column, and are refused if they
    belong to another plan. Report ids are ignored: duplicate rows count twice.

    `own`: how many of all these reports are a relay's own. Those of `randomise` say that none are; others are refused
    without it, as a collector may have written them.
    """
    layout, owned = Layout(plan), Owned(own)
    fields = {field.name: field for field in dataframe.schema.fields}
    has_part = check_columns(layout, {name: field.dataType.simpleString() for name, field in fields.items()})
    said = fields["attribute"].metadata or {}
    check_marks(plan, said.get("hush"), said.get("hush.core.plan"))
    said = {} if own is not None else said  # a union of tables has the metadata of the first
    owned.check(said)
    text = layout.query("{reports}", has_part=has_part, ones=paired(BUCKET))
    found = tally_of(layout, dataframe.sparkSession.sql(text, reports=dataframe).collect())
    owned.add(said, sum(found.answered))
    return with_own(found, owned.total(found.reports))


def randomise(plan: Plan, dataframe: DataFrame) -> DataFrame:
    """Return reports in columns, one for each row of a table of people, as a stage that has not run yet.

    Every time the stage runs, it makes new reports, which cost epsilon again if they are seen. Write the result
    before anything else, or call `randomise_once`.
    """
    missing = [
        attribute.name
        for attribute in plan.schema.attributes
        if attribute.name not in dataframe.columns and not attribute.optional
    ]
    if missing:
        raise RecordError(f"attribute {missing[0]!r}: there is no such column")
    names = [name for name in plan.schema.names if name in dataframe.columns]
    people = dataframe.select(*(f"`{name.replace('`', '``')}`" for name in names))
    lists = {listed.sha256: zlib.compress(listed.text()) for listed in listed_in(plan.schema.attributes)}
    return people.mapInArrow(_Randomiser(plan.to_json(), plan.id, lists), _schema(plan))


def randomise_once(plan: Plan, dataframe: DataFrame, path: str) -> DataFrame:
    """Randomise, write the reports as Parquet to a new path, and return the written reports.

    Spark runs a failed task again, but commits only one attempt of each. If the whole job fails, remove its remains
    before you start it again, and let nobody read them.
    """
    randomise(plan, dataframe).write.mode("errorifexists").parquet(path)
    return dataframe.sparkSession.read.parquet(path)


class _Randomiser:
    """The stage. It carries the plan as text, so that every worker checks the plan before it uses it.

    Long lists come with it, packed, as workers have no folder in common. Each process reads a list once.
    """

    def __init__(self, plan: str, plan_id: str, lists: Mapping[str, bytes]) -> None:
        self.plan = plan
        self.plan_id = plan_id
        self.lists = lists

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from hush.batch import randomise_batches  # here, because only workers need the kernels

        plan = Plan.from_json(self.plan, id=self.plan_id)
        for listed in listed_in(plan.schema.attributes):
            if not listed.here:
                fetched(listed, zlib.decompress(self.lists[listed.sha256]))
        yield from randomise_batches(plan, batches)


def _schema(plan: Plan) -> StructType:
    """Return the schema of reports, with the plan's id where Spark keeps it, also through Parquet files."""
    return StructType(
        [
            StructField(
                field.name,
                TYPES[field.type](),
                False,
                marks(plan) | stated(0) if field.name == "attribute" else None,
            )
            for field in report_schema(plan)
        ]
    )
