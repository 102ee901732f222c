"""The command `hush change`: what has changed from one tally to another."""

from __future__ import annotations

import click

from hush.cli import completing, results
from hush.cli.program import ATTRIBUTES, JSON, Refused, as_json, program
from hush.cli.results import CSV, LEVEL


@program.command()
@click.argument("before", metavar="BEFORE.json", shell_complete=completing.files)
@click.argument("after", metavar="AFTER.json", shell_complete=completing.files)
@LEVEL
@ATTRIBUTES
@click.option(
    "--together/--each",
    default=None,
    help="All intervals of one attribute's shares hold at once, or each by itself; long lists mean --together.",
)
@JSON
@CSV
def change(
    before: str,
    after: str,
    level: float,
    attributes: tuple[str, ...],
    together: bool | None,
    machine: bool,
    commas: bool,
) -> None:
    """Estimate the change of means and shares from one tally to another, with intervals.

    Both tallies are of one plan, or of two plans with attributes in common: the same name, kind, bounds or categories.
    No report may be in both.

    \b
    Example:
      hush change monday.json tuesday.json
      hush change spring.json autumn.json --attribute age --csv
    """
    from hush.cli import files
    from hush.server import changes

    if machine and commas:
        raise Refused("give either --json or --csv")
    if before == after == "-":
        raise Refused("only one of the tallies can be the standard input")
    tallies = files.read_tally(before), files.read_tally(after)
    rows = changes.change(*tallies, attributes=attributes or None, level=level, simultaneous=together)
    if machine:
        first, second = ({"plan": tally.plan.id, "reports": tally.people} for tally in tallies)
        named = results.named(rows, tallies[1].plan.schema)
        shown = [results.plain(row) | {"told": row.told} | words for row, words in zip(rows, named, strict=True)]
        options = {"level": level, "together": rows.simultaneous}
        as_json({"before": first, "after": second, **options, "left_out": list(rows.left_out), "rows": shown})
    elif commas and rows:
        results.print_csv(rows, tallies[1].plan.schema)
    elif not commas:
        from hush.cli import printing
        from hush.show.tables import counted

        printing.show(rows)
        printing.say(f"From {counted(tallies[0].people, 'report')} before, and {tallies[1].people:,} after.")
