"""The commands for people by the million: `hush randomise`, `tally` and `estimate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hush.cli import completing, results
from hush.cli.numbers import NUMBER, Count
from hush.cli.program import ATTRIBUTES, JSON, OVERWRITE, PICTURE, PLAN, RESULT, Refused, as_it_is, as_json, program
from hush.cli.results import CSV, EXPECTED, LEVEL, STATED, TALLY

if TYPE_CHECKING:
    from hush.core.plan import Plan
    from hush.server.tally import Tally

THREADS = click.option("--threads", type=Count(1), metavar="N", help="How many threads (one for each core).")


@program.command()
@PLAN
@click.argument("people", nargs=-1, required=True, metavar="PEOPLE...", shell_complete=completing.files)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    shell_complete=completing.files,
    help="Write reports here: .parquet, .arrow or .arrows.",
)
@THREADS
@click.option("--ids", is_flag=True, help="Give every report a random id.")
@click.option(
    "--count-bad-rows",
    is_flag=True,
    help="Say in an error how many rows break a rule. The number is exact and private: keep it out of logs.",
)
@OVERWRITE
@RESULT
def randomise(
    plan: str,
    people: tuple[str, ...],
    output: str,
    threads: int | None,
    ids: bool,
    count_bad_rows: bool,
    overwrite: bool,
    machine: bool,
) -> None:
    """Turn people in files into reports.

    PEOPLE are Parquet, Arrow or CSV files with a column for each attribute, folders, or patterns. All rows are checked
    before anything is drawn. Every run draws anew: publishing two runs spends everybody's epsilon
    twice.

    \b
    Example:
      hush randomise plan.json people.parquet -o reports.parquet
      hush randomise plan.json people.csv.gz -o reports.parquet --ids
    """
    from hush.batch.files import randomise_file
    from hush.cli import files
    from hush.cli.progress import bar
    from hush.files import atomic

    made = files.read_plan_before(plan, people, "hush randomise PLAN.json PEOPLE...")
    atomic.check_target(Path(output), overwrite=overwrite, inputs=[plan], what="the reports")
    with bar("checking") as tell:
        count = randomise_file(
            made,
            people,
            output,
            threads=threads,
            ids=ids,
            overwrite=overwrite,
            progress=tell,
            count_bad_rows=count_bad_rows,
        )
    size = Path(output).stat().st_size
    if machine:
        as_json({"plan": made.id, "people": count, "bytes": size, "output": output})
    else:
        from hush.cli import printing
        from hush.show.tables import counted

        printing.say(f"{counted(count, 'person', 'people')}, {size:,} bytes of reports. Written to {output}.")


@program.command()
@PLAN
@click.argument("reports", nargs=-1, required=True, metavar="REPORTS...", shell_complete=completing.files)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=completing.files,
    help="Write the tally here, with its plan. [default: standard output]",
)
@click.option(
    "--engine",
    type=click.Choice(["memory", "duckdb", "spark"]),
    default="memory",
    show_default=True,
    help="The engine that counts the reports; the tally is the same.",
)
@STATED
@THREADS
@OVERWRITE
@click.option("--json", "machine", is_flag=True, help="With -o: print JSON, not a sentence.")
def tally(
    plan: str,
    reports: tuple[str, ...],
    output: str | None,
    engine: str,
    own: int | None,
    threads: int | None,
    overwrite: bool,
    machine: bool,
) -> None:
    """Count reports, and add tallies.

    REPORTS are Parquet or Arrow files of reports, folders or patterns of them. Files that end in .json are tallies of
    the same plan, of regions or days perhaps, and are added; two of the same collector are not, as the later one has
    the reports of the earlier. Every file says how many of its reports a relay has
    added of its own, so that estimates take them out; one that does not say it is refused without --own.

    \b
    Example:
      hush tally plan.json reports.parquet -o tally.json
      hush tally plan.json north.json south.json -o tally.json
    """
    from hush.cli import files
    from hush.errors import TallyError
    from hush.files import atomic
    from hush.server.tally import Tally

    made = files.read_plan_before(plan, reports, "hush tally PLAN.json REPORTS...")
    paths = files.expand(reports)
    ready = [path for path in paths if path == "-" or path.lower().endswith(".json")]
    others = [path for path in paths if path not in ready]
    if output is not None:
        atomic.check_target(Path(output), overwrite=overwrite, inputs=[plan, *paths], what="the tally")
    total = Tally(made)
    for path in ready:
        found = files.read_tally(path, made)
        try:
            total += found
        except TallyError as error:  # of one store twice
            raise TallyError(f"{path}: {error}") from None
    if own is not None and not others:
        raise Refused("--own is for files of reports: tallies say it themselves")
    if others:
        total += _count(made, others, engine, own, threads)
    text = total.to_json()
    if output is None:
        as_it_is(text)
        return
    with atomic.replacing(Path(output), overwrite=overwrite, mode=atomic.PRIVATE) as file:
        file.write(text.encode())
    if machine:
        as_json({"plan": made.id, "reports": total.people, "own": total.own, "output": output})
    else:
        from hush.cli import printing
        from hush.show.tables import counted

        beside = f", and {total.own:,} of a relay's own" if total.own else ""
        printing.say(f"{counted(total.people, 'report')}{beside}. Written to {output}.")


def _count(plan: Plan, paths: list[str], engine: str, own: int | None, threads: int | None) -> Tally:
    from hush.cli.progress import bar

    with bar("tallying") as tell:
        if engine == "memory":
            from hush.batch.files import tally_files

            return tally_files(plan, paths, own=own, threads=threads, progress=tell)
        if engine == "spark":
            return _by_spark(plan, paths, own)
        from hush.engines import duckdb

        return duckdb.tally(plan, paths, threads=threads, own=own)


def _by_spark(plan: Plan, paths: list[str], own: int | None) -> Tally:
    from pyspark.sql import SparkSession

    from hush.batch.files import Reports
    from hush.cli.files import is_elsewhere
    from hush.engines import spark
    from hush.server.tally import with_own

    # Spark does not show the metadata of files: their plan, and how many of the reports are a relay's own.
    here = None if any(map(is_elsewhere, paths)) else Reports(plan, paths, own=own)
    reports = SparkSession.builder.appName("hush tally").getOrCreate().read.parquet(*paths)
    found = spark.tally(plan, reports, own=own if here is None else 0)
    return found if here is None else with_own(found, here.owned.total(found.reports))


@program.command()
@TALLY
@EXPECTED
@LEVEL
@click.option(
    "--estimator",
    type=click.Choice(["ratio", "paper"]),
    default="ratio",
    show_default=True,
    help="ratio: the average of the answers; paper: as Wang et al. (2019), which varies more.",
)
@click.option(
    "--remedy",
    type=click.Choice(["clip", "project"]),
    help="Look better, but are biased. clip: move into the domain; project: nonnegative shares that add up to 1.",
)
@click.option(
    "--tail",
    type=NUMBER,
    metavar="N",
    help="Add the means of wide numbers without a clip, if the share of people above x falls like x^-N or faster.",
)
@click.option("--top", type=Count(1), metavar="N", help="Only the N largest shares of each attribute.")
@click.option("--search", metavar="TEXT", help="Only shares of categories with this text in their name.")
@click.option(
    "--together/--each",
    default=None,
    help="All intervals of one attribute's shares hold at once, or each by itself; --top means --together.",
)
@ATTRIBUTES
@PICTURE
@JSON
@CSV
def estimate(
    tally: str,
    plan: str | None,
    level: float,
    estimator: str,
    remedy: str | None,
    tail: float | None,
    top: int | None,
    search: str | None,
    together: bool | None,
    attributes: tuple[str, ...],
    picture: str | None,
    machine: bool,
    commas: bool,
) -> None:
    """Estimate means and shares from a tally, with intervals.

    \b
    Example:
      hush estimate tally.json --picture estimates.svg
      hush estimate tally.json --remedy project --csv
    """
    from hush.core.texts import Text
    from hush.server import estimates

    counted = results.read(tally, plan, machine=machine, commas=commas)
    schema = counted.plan.schema
    for name in attributes:
        schema[name]  # raises, and lists the known ones
    if (top is not None or search is not None) and remedy == "project":
        raise click.UsageError(f"--remedy project needs all shares: leave out --{'search' if top is None else 'top'}")
    rows = estimates.estimate(
        counted,
        level=level,
        estimator=estimator,  # type: ignore[arg-type]
        tail=tail,
        simultaneous=together,
        top=top,
        search=search,
    )
    asked = search is not None or top is not None or attributes
    if remedy:
        rows = rows.clip() if remedy == "clip" else rows.project()
    if attributes:
        rows = rows.like([row for row in rows if row.attribute in attributes])
    about = {"level": level, "estimator": estimator, "remedy": remedy, "together": rows.simultaneous}
    if rows or asked or machine or commas:
        results.put(rows, counted, about, machine=machine, commas=commas)
    texts = [] if asked or machine or commas else [one.name for one in schema.attributes if isinstance(one, Text)]
    if texts:
        from hush.cli import printing

        printing.say(f"Texts are read by `hush frequent`: {', '.join(texts)}.")
    if picture and not rows:
        why = "no category has this text in its name" if asked else "the plan asks for texts alone: see `hush frequent`"
        raise Refused(f"there is no picture: {why}")
    if picture:
        from hush import plots

        results.draw([plots.estimates(rows.of(*names), schema) for names in plots.pages(rows)], picture)
