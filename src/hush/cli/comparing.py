"""The command `hush compare`: mechanisms and designs on a table of one's own."""

from __future__ import annotations

import click

from hush.cli import completing, results
from hush.cli.numbers import Count
from hush.cli.program import JSON, PICTURE, Refused, as_json, listed, numbers, program
from hush.cli.results import CSV

# As in `hush.batch.comparing`, which would have to be loaded for the help; a test compares.
DESIGNS = ("hush", "weighted", "hybrid", "piecewise", "duchi", "laplace", "scdf", "staircase")
USUAL = "hush,hybrid,piecewise,duchi,laplace"


@program.command()
@click.argument("people", nargs=-1, required=True, metavar="PEOPLE...", shell_complete=completing.files)
@click.option("--epsilon", default="0.5,1,2,4", show_default=True, metavar="X,X", help="The epsilons to compare.")
@click.option(
    "--schema",
    metavar="SCHEMA.json",
    shell_complete=completing.files,
    help="The questions. [default: all columns, with bounds from the data]",
)
@click.option(
    "--designs",
    default=USUAL,
    show_default=True,
    metavar="NAMES",
    shell_complete=completing.words(*DESIGNS),
    help=f"Some of: {', '.join(DESIGNS)}.",
)
@click.option(
    "--repetitions",
    default=10,
    show_default=True,
    type=Count(1, 10_000),
    metavar="N",
    help="How often each is run.",
)
@click.option("--seed", type=Count(0), metavar="N", help="The same seed gives the same errors.")
@PICTURE
@JSON
@CSV
def compare(
    people: tuple[str, ...],
    epsilon: str,
    schema: str | None,
    designs: str,
    repetitions: int,
    seed: int | None,
    picture: str | None,
    machine: bool,
    commas: bool,
) -> None:
    """Compare mechanisms and designs on your own data: the error of every estimate, at several epsilons.

    A simulation: everybody in the files is randomised again and again, and the estimates are held against the true
    means and shares. The result is computed from raw data, so it is not private.

    \b
    Example:
      hush compare people.parquet --epsilon 0.5,1,2,4 --picture errors.svg
      hush compare people.csv --schema schema.json --designs hush,hybrid --seed 1
    """
    from hush.batch import comparing
    from hush.cli import files
    from hush.cli.progress import bar

    if machine and commas:
        raise Refused("give either --json or --csv")
    fields = None if schema is None else files.read_schema(schema)
    with bar("comparing") as tell:
        rows = comparing.compare(
            list(people),
            numbers(epsilon, "--epsilon"),
            schema=fields,
            designs=listed(designs),
            repetitions=repetitions,
            seed=seed,
            progress=tell,
        )
    if machine:
        about = {"people": rows.people, "repetitions": repetitions, "seed": seed, "impossible": rows.impossible}
        as_json({**about, "rows": [results.plain(row) for row in rows]})
    elif commas:
        results.print_csv(rows)
    else:
        from hush.cli import printing

        printing.show(rows)  # with the warning below
    if machine or commas:
        click.echo(f"hush: {comparing.WARNING}", err=True)
    if picture:
        from hush import plots

        results.draw([plots.comparison(rows.of(*names)) for names in plots.pages(rows)], picture)
