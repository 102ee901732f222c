"""Prints tables and sentences for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction

import click
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from hush.cli import streams
from hush.planning.laws import Row
from hush.server.tally import Tally
from hush.show.tables import Shown, Table, chance, counted, sure, up

WIDE = 110  # where the output is not a terminal
LONG = 100  # rows: Rich takes a millisecond for each
GAP = 3  # blanks between columns, as Rich has them


def console() -> Console:
    """Return a console that takes nothing in a name for markup."""
    width = None if sys.stdout.isatty() else WIDE
    return Console(width=width, markup=False, emoji=False, highlight=False)


def say(*lines: str) -> None:
    """Print sentences: wrapped on a terminal, as they are elsewhere."""
    for line in lines:
        click.echo(_text(streams.visible(line), soft_wrap=not sys.stdout.isatty()), nl=False)


def show(shown: Shown) -> None:
    """Print a plan, predictions or any other table, and the sentences beneath it."""
    table = shown.table()
    lines = _long(table) if len(table.rows) > LONG else None
    if lines is None:
        lines = _text(table.grid()).splitlines()
    click.echo("\n".join(line.rstrip() for line in lines).strip("\n") + "\n")
    say(*table.notes)


def _long(table: Table) -> list[str] | None:
    """Return a long table as Rich would print it, in a hundredth of the time; None if it is too wide, and is folded."""
    columns = list(zip(table.columns, *table.rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    if sum(widths) + GAP * (len(widths) - 1) + 2 > console().width:
        return None
    padded = [
        [_padded(cell, width, left=index < table.texts) for cell in column]
        for index, (column, width) in enumerate(zip(columns, widths, strict=True))
    ]
    head, *rows = (" " + (" " * GAP).join(cells) for cells in zip(*padded, strict=True))
    rule = " " + "─" * (sum(widths) + GAP * (len(widths) - 1))
    return [*_text(Text(head, style="bold"), soft_wrap=True).splitlines(), rule, *rows]


def _padded(cell: str, width: int, *, left: bool) -> str:
    """Return a cell as wide as its column. Blanks at its end count for the width alone."""
    kept = cell.rstrip()
    blank = " " * (width - cell_len(kept))
    return kept + blank if left else blank + kept


def _text(item: RenderableType, **options: bool) -> str:
    """Return the text that Rich would print. Click prints it, as Rich takes errors of the output for its own."""
    out = console()
    with out.capture() as held:
        out.print(item, **options)  # type: ignore[arg-type]
    return held.get()


def show_estimates(rows: Shown, tally: Tally) -> None:
    """Print estimates, and their source."""
    show(rows)
    title = f" {tally.plan.title!r}" if tally.plan.title else ""
    say(f"From {counted(tally.people, 'report')} of plan {tally.plan.id[:12]}{title}.")


def show_law(rows: Sequence[Row], names: Sequence[str], favour: Fraction, ratio: Fraction) -> None:
    """Print the reports of people with these values. `favour` compares these values, `ratio` all values."""
    shown = []
    for row in rows:
        low, high = min(row.probabilities), max(row.probabilities)
        cells = [chance(probability) for probability in row.probabilities]
        if len(names) > 1:
            cells.append("" if low == 0 else up(high / low, 2))
        shown.append((row.label, *cells))
    last = ["ratio"] if len(names) > 1 else []
    show(Table(("report", *(f"if {name}" for name in names), *last), shown))
    if len(set(names)) > 1:
        say(
            f"No report is more than {up(favour, 2)} times likelier for one of these than for another. Someone who "
            f"thought two of them equally likely can become at most {sure(favour / (1 + favour))} sure of one."
        )
    else:
        say(f"For any other value, each of these is at most {up(ratio, 2)} times likelier or less likely.")
    if not rows[0].partition:
        say("A report is a set of categories: each row gives how often a category is in it.")
