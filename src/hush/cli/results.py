"""Prints rows of estimates as a table, as JSON or as CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hush.cli import completing
from hush.cli.numbers import NUMBER, Count
from hush.cli.program import Refused, as_json

if TYPE_CHECKING:
    from hush.core.schema import Schema
    from hush.server.tally import Tally
    from hush.show.rows import Row, Rows

TALLY = click.argument("tally", metavar="TALLY.json", shell_complete=completing.files)
EXPECTED = click.option(
    "--plan",
    metavar="PLAN.json",
    shell_complete=completing.files,
    help="Refuse a tally of any other plan.",
)
LEVEL = click.option("--level", type=NUMBER, default=0.95, show_default=True, help="Probability of the intervals.")
STATED = click.option(
    "--own",
    type=Count(0),
    metavar="N",
    help="How many are a relay's own, among the reports of files that do not say it.",
)
CSV = click.option("--csv", "commas", is_flag=True, help="Print CSV, not a table.")


def read(tally: str, plan: str | None, *, machine: bool, commas: bool) -> Tally:
    """Read the tally of a command that prints rows, of a plan if one is given."""
    from hush.cli import files

    if machine and commas:
        raise Refused("give either --json or --csv")
    return files.read_tally(tally, files.read_plan(plan) if plan else None)


def put(rows: Rows[Any], counted: Tally, about: dict[str, Any], *, machine: bool, commas: bool) -> None:
    """Print rows and their source; `about` has the options that made them, for JSON."""
    if machine:
        source = {"plan": counted.plan.id, "reports": counted.reports}
        told = zip(rows, named(rows, counted.plan.schema), strict=True)
        as_json({**source, **about, "rows": [plain(row) | words for row, words in told]})
    elif commas:
        print_csv(rows, counted.plan.schema)
    else:
        from hush.cli import printing

        printing.show_estimates(rows, counted)


def plain(row: Row) -> dict[str, Any]:
    """Return a row as JSON values: unknown numbers are null, as JSON has neither NaN nor infinity."""
    return {name: known(value) for name, value in vars(row).items()}


def known(value: Any) -> Any:
    """Return a value, or None for a number that is unknown."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def named(rows: Rows[Any], schema: Schema) -> list[dict[str, Any]]:
    """Return for each row what its JSON has beside its numbers: `named`, those that are dates or times of day."""
    found = []
    for row, words in zip(rows, rows.worded(schema), strict=True):
        # Unknown numbers stay what they are: of these nothing is equal to itself.
        texts = {name: value for name, value in words.items() if isinstance(value, str) and value != getattr(row, name)}
        found.append({"named": texts} if texts else {})
    return found


def print_csv(rows: Rows[Any], schema: Schema | None = None) -> None:
    """Print rows as CSV, under the names of their fields. Dates and times of day are texts."""
    from hush.show import csv

    seldom = ("floor", "ceiling", "beyond", "needed")
    rare = [name for name in seldom if all(getattr(row, name, None) is None for row in rows)]
    names = [name for name in (vars(rows[0]) if rows else rows.columns()) if name not in rare]
    texts = [{}] * len(rows) if schema is None else [words.get("named", {}) for words in named(rows, schema)]
    found = [plain(row) | words for row, words in zip(rows, texts, strict=True)]
    click.echo(csv.table(names, ([row[name] for name in names] for row in found), end="\n"), nl=False)


def draw(charts: Sequence[Any], picture: str) -> None:
    """Write pictures; if there are several pages, say where they are."""
    from hush import plots

    files = plots.save_pages(charts, picture)
    if len(files) > 1:
        click.echo(f"hush: {len(files)} pages: {', '.join(map(str, files))}", err=True)
