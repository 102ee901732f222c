"""The commands for the store of a collector: `hush export`, `compact` and `rename`."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hush.cli import completing
from hush.cli.listening import failing
from hush.cli.program import RESULT, Refused, as_json, program
from hush.cli.streams import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hush.collector.stores.base import Store
    from hush.core.plan import Plan

STORE = click.option(
    "--store",
    default="sqlite://hush.db",
    show_default=True,
    metavar="URL",
    # As in `hush.collector.stores.base`, which would have to be loaded for the help; a test compares.
    help="sqlite://FILE (sqlite://hush.db is a file here, sqlite:///var/lib/hush.db one with a full path) or "
    "postgresql://... for several collectors on one database.",
)

SEGMENTS = click.option(
    "--segments",
    metavar="FOLDER",
    shell_complete=completing.folders,
    help="Where compacted reports are (beside a SQLite file).",
)


@program.command()
@STORE
@SEGMENTS
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FOLDER",
    shell_complete=completing.folders,
    help="Write Parquet files into this folder.",
)
@click.option("--plan", "plan_id", metavar="ID", help="The plan, if the store has several: the start of its id.")
@RESULT
def export(store: str, segments: str | None, output: str, plan_id: str | None, machine: bool) -> None:
    """Write the reports that a collector keeps as Parquet, for DuckDB, Spark or `hush tally`.

    \b
    Example:
      hush export --store sqlite://hush.db -o reports
    """
    from hush.collector.segments import export as write
    from hush.collector.submissions import Form
    from hush.show.tables import counted

    with _opened(store, plan_id) as (opened, plan):
        found = write(opened, plan, _folder(store, segments), Path(output))
        left = sum(stored.reports for stored in opened.bodies(plan) if stored.form is Form.TALLY)
        left += sum(site.reports or 0 for site in opened.sites(plan))
    if machine:
        as_json({"plan": plan.id, "reports": found.reports, "own": found.own, "in_tallies": left})
        return
    among = f", {found.own:,} of them a relay's own," if found.own else ""
    click.echo(f"{counted(found.reports, 'report')} of plan {plan.id[:12]}{among} written to {visible(output)}")
    if found.own is None:
        click.echo(
            "hush: some were stored by an older hush, which did not write down how many are a relay's own: "
            "`hush tally` needs that number, as --own N",
            err=True,
        )
    if left:
        came = "report came as a tally" if left == 1 else "reports came as tallies"
        click.echo(f"hush: {left:,} {came}, which have no rows: they are not among these", err=True)


@program.command()
@STORE
@SEGMENTS
@click.option("--plan", "plan_id", metavar="ID", help="The plan, if the store has several: the start of its id.")
@RESULT
def compact(store: str, segments: str | None, plan_id: str | None, machine: bool) -> None:
    """Move the reports that a collector keeps from its database into Parquet files beside it.

    \b
    Example:
      hush compact --store sqlite://hush.db
    """
    from hush.collector.segments import compact as move
    from hush.collector.stores.opening import file_of
    from hush.show.tables import counted

    with _opened(store, plan_id) as (opened, plan):
        made = move(opened, plan, _folder(store, segments), tidy=file_of(store) is not None)
    if machine:
        written = [{"file": segment.file, "reports": segment.reports} for segment in made]
        as_json({"plan": plan.id, "segments": written})
        return
    for segment in made:
        click.echo(f"{visible(segment.file)}: {counted(segment.reports, 'report')}")
    if not made:
        click.echo("nothing to compact")


@program.command()
@STORE
@RESULT
def rename(store: str, machine: bool) -> None:
    """Give a store a new name, after it was restored from a copy.

    A collector that hands its tally on to another one does so under the name of its store, and each tally takes the
    place of the one before. A restored store has lost reports that it had handed on. Withdraw its old name there with
    `hush withdraw`: until then its tallies are refused, so that nobody counts twice.

    \b
    Example:
      hush rename --store sqlite://hush.db
    """
    from hush.collector.stores.opening import open_store

    with failing():
        opened = open_store(store, create=False)
        try:
            names = [name.hex() for name in opened.rename()]
        finally:
            opened.close()
    if machine:
        as_json({"name": names[0], "before": names[1:]})
        return
    earlier = names[1] if len(names) == 2 else "the one of these that counts there: " + ", ".join(names[1:])
    click.echo(f"The store has the name {names[0]} now. Where it hands its tally on, withdraw {earlier}.")


@contextmanager
def _opened(url: str, plan_id: str | None) -> Iterator[tuple[Store, Plan]]:
    """Open a store for one of its plans; an error is one line."""
    from hush.collector.stores.opening import open_store

    with failing():
        opened = open_store(url, create=False)
        try:
            yield opened, _chosen(opened, plan_id)
        finally:
            opened.close()


def _chosen(store: Store, plan_id: str | None) -> Plan:
    plans = [held.plan for held in store.plans() if held.plan.id.startswith(plan_id or "")]
    if len(plans) != 1:
        raise Refused("name one plan of the store with --plan: the start of its id")
    return plans[0]


def _folder(url: str, segments: str | None) -> Path:
    """Return where the segments of a store are: beside its file, or where the operator says."""
    if segments is not None:
        return Path(segments)
    from hush.collector.stores.opening import file_of

    file = file_of(url)
    if file is None:
        raise Refused("a store that is no file needs --segments: the folder of its Parquet files")
    path = Path(file)
    return path.with_name(f"{path.name}.segments")
