"""The command `hush schema`: a first schema for a file of people."""

from __future__ import annotations

from pathlib import Path

import click

from hush.cli import completing
from hush.cli.numbers import Count
from hush.cli.program import OVERWRITE, RESULT, as_json, program


@program.command()
@click.argument("people", nargs=-1, required=True, metavar="PEOPLE...", shell_complete=completing.files)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=completing.files,
    help="Write the schema here. [default: standard output]",
)
@click.option(
    "--categories",
    default=50,
    show_default=True,
    type=Count(1, 4096),
    metavar="N",
    help="List at most this many categories.",
)
@OVERWRITE
@RESULT
def schema(people: tuple[str, ...], output: str | None, categories: int, overwrite: bool, machine: bool) -> None:
    """Write a first schema for files of people: kinds, categories, missing values, and suggested bounds.

    Every bound and every list of categories says TO BE DECIDED, and `hush plan` refuses the file until you have
    decided. Bounds and categories must be public; those read from data are not.

    \b
    Example:
      hush schema people.parquet -o schema.json
      hush schema 'people/*.csv' --categories 20
    """
    from hush.batch.outlines import NOTE, outline
    from hush.cli.progress import bar
    from hush.files import atomic

    if output is not None:
        atomic.check_target(Path(output), overwrite=overwrite, inputs=list(people), what="the schema")
    with bar("reading"):
        found = outline(list(people), most=categories)
    text = found.to_json()
    if output is None:
        click.echo(text, nl=False)
        click.echo(f"hush: {NOTE}", err=True)
        return
    with atomic.replacing(Path(output), overwrite=overwrite) as file:
        file.write(text.encode())
    left = [column.name for column in found.columns if column.reason]
    if machine:
        named = [column.name for column in found.used]
        as_json({"people": found.rows, "attributes": named, "left_out": left, "output": output})
        return
    from hush.cli import printing

    printing.show(found)
    printing.say(NOTE, f"Written to {output}. `hush plan` reads it when nothing in it says TO BE DECIDED.")
