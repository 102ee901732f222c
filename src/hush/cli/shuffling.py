"""`hush shuffle`: what a collector learns from shuffled batches."""

from __future__ import annotations

import click

from hush.cli.numbers import NUMBER, WHOLE
from hush.cli.program import JSON, PLAN, as_json, program


@program.command("shuffle")
@PLAN
@click.option("--delta", type=NUMBER, required=True, help="The probability with which the promise may fail: 1e-6.")
@click.option("--crowd", type=WHOLE, metavar="N", help="How many people answer honestly in a batch, at least.")
@click.option(
    "--own", type=WHOLE, metavar="N", help="How many reports the relay adds to a batch, if all others may lie."
)
@click.option("--batches", type=WHOLE, default=1, show_default=True, help="In how many batches a person takes part.")
@JSON
def command(plan: str, delta: float, crowd: int | None, own: int | None, batches: int, machine: bool) -> None:
    """Bound what a collector learns about one person from shuffled batches of reports.

    It prints two promises. The local one holds whatever anybody does. The central one holds if the relay and the
    collector do not work together.

    \b
    Example:
      hush shuffle plan.json --crowd 10000 --delta 1e-6
      hush shuffle plan.json --own 150 --delta 1e-6 --batches 52
    """
    from hush.cli import files, printing
    from hush.planning.shuffle import shuffle

    found = shuffle(files.read_plan(plan), delta=delta, crowd=crowd, own=own, batches=batches)
    if machine:
        names = ("epsilon", "lower", "delta", "local", "crowd", "own", "batches")
        as_json({"plan": found.plan.id} | {name: getattr(found, name) for name in names})
        return
    printing.show(found.table())
