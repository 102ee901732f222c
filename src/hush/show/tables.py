"""Tables for people, and how numbers are written in them: as plain text, as HTML for notebooks, and for rich.

The command line prints the same tables. They need the standard library only; rich is imported when it asks for one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    import rich.console
    import rich.table

MOST = 60
"""At a prompt and in a notebook, longer tables are shortened."""

_GAP = "   "


# -- numbers


def unbounded(x: float) -> str | None:
    """Return the word for what is no finite number: it is unknown, or the interval has no end there."""
    if math.isnan(x):
        return "unknown"
    return "open" if math.isinf(x) else None


def number(x: float, digits: int = 4) -> str:
    """Write a number with four digits, or so many, and with a power of ten only if necessary."""
    if (word := unbounded(x)) is not None:
        return word
    text = f"{x:.{digits}g}"
    size = abs(float(text))
    if size == 0:
        return "0"
    if 10 ** (digits - 1) <= size < 1e15:
        return f"{x:,.0f}"
    if 1e-9 <= size < 1e15:
        return figures(x, digits)
    factor, power = text.split("e")
    return f"{factor}e{int(power)}"


def counted(n: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun: 1 report, 2 reports."""
    return f"{n:,} {noun if n == 1 else nouns or f'{noun}s'}"


def decimals(x: float, places: int) -> str:
    """Write a number with so many decimals. What is rounded to nothing has no sign."""
    text = f"{x:,.{places}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def figures(x: float, digits: int = 2) -> str:
    """Write a number with so many digits that mean something, and never with a power of ten."""
    text = f"{Decimal(f'{x:.{digits}g}'):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def most(share: float) -> str:
    """Write a bound on a share in per cent: with two digits, and never too small. As in web/pages/text.ts."""
    value = 100 * share
    if not value > 0:
        return "0 %"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{figures(math.ceil(value / step - 1e-9) * step)} %"


def up(x: float | Fraction, digits: int) -> str:
    """Write a number with `digits` decimals, rounded up."""
    return f"{math.ceil(Fraction(x) * 10**digits) / 10**digits:,.{digits}f}"


def down(x: float | Fraction, digits: int) -> str:
    """Write a number with `digits` decimals, rounded down."""
    return f"{math.floor(Fraction(x) * 10**digits) / 10**digits:,.{digits}f}"


def sure(share: Fraction) -> str:
    """Write a bound on a probability in per cent, rounded up, with enough decimals that less than 1 stays below 100."""
    digits = 1
    while share < 1 and math.ceil(100 * share * 10**digits) == 100 * 10**digits:
        digits += 1
    return f"{up(100 * share, digits)} %"


def chance(probability: Fraction) -> str:
    """Write a probability in per cent with two decimals: 0 % only for the impossible, 100 % only for the certain."""
    text = f"{100 * float(probability):.2f} %"
    if text == "0.00 %" and probability > 0:
        return "< 0.01 %"
    return "> 99.99 %" if text == "100.00 %" and probability < 1 else text


def within(low: float, high: float, named: Callable[[float], str | None] | None = None) -> Callable[[float], str]:
    """Return a function that writes numbers about an interval, with two digits for half its width.

    `named` gives the words of an attribute for its numbers, if it has some: dates, for instance.
    """
    if named is not None and named(0.0) is not None:
        return lambda value: unbounded(value) or named(value) or "unknown"
    half = (high - low) / 2
    if not (math.isfinite(half) and 1e-9 < half < 1e12):
        return number
    places = max(0, 1 - math.floor(math.log10(half)))
    return lambda value: unbounded(value) or decimals(value, places)


def farther(point: float, low: float, high: float) -> float:
    """Return how far the farther end of an interval is from its point, which may lie outside."""
    return max(high - point, point - low)


def percent(level: float | None, what: str) -> str:
    """Name a column of intervals or margins, with their level if it is known."""
    return what if level is None else f"{100 * level:.12g} % {what}"


# -- tables


class Shown:
    """An object that is shown as a table: whole if it is printed, shortened in a notebook."""

    def table(self) -> Table:
        """Return the table."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        """Return the HTML that Jupyter and marimo show."""
        return self.table().shortened().html()

    def __rich__(self) -> rich.console.RenderableType:
        """Return the object that rich prints."""
        from rich.console import Group
        from rich.text import Text

        table = self.table()
        return Group(table.grid(), *map(Text, table.notes))


@dataclass(frozen=True)
class Table(Shown):
    """Cells as texts. The first `texts` columns are words, the others numbers; notes are sentences below the table."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int = 1
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """Return itself."""
        return self

    def shortened(self, most: int = MOST) -> Table:
        """If there are more than `most` rows, leave out some in the middle, and state how many."""
        left = len(self.rows) - most
        if left <= 0:
            return self
        gap = (f"... {left:,} more", *[""] * (len(self.columns) - 1))
        half = most // 2
        return replace(self, rows=[*self.rows[: most - half], gap, *self.rows[len(self.rows) - half :]])

    def text(self) -> str:
        """Return it as plain text, in aligned columns."""
        widths = [max(map(_width, column)) for column in zip(self.columns, *self.rows, strict=True)]

        def line(cells: Sequence[str]) -> str:
            padded = (
                cell + " " * (width - _width(cell)) if index < self.texts else " " * (width - _width(cell)) + cell
                for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
            )
            return _GAP.join(padded).rstrip()

        rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
        lines = [line(self.columns), rule, *map(line, self.rows)]
        return "\n".join([*lines, "", *self.notes] if self.notes else lines)

    def html(self) -> str:
        """Return it as HTML without scripts. It takes its colours and fonts from the page, light or dark."""
        head = self._line("th", self.columns, ' scope="col"', " border-bottom: 1px solid;")
        body = "\n".join(self._line("td", row) for row in self.rows)
        notes = "".join(f"\n<p>{escape(note)}</p>" for note in self.notes)
        # Without a doctype a page would give a table black letters, even on black, so it must inherit the colour.
        style = "border-collapse: collapse; color: inherit; font: inherit; font-variant-numeric: tabular-nums;"
        return (
            f'<div>\n<table style="{style}">\n'
            f"<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>{notes}\n</div>"
        )

    def _line(self, tag: str, cells: Sequence[str], extra: str = "", style: str = "") -> str:
        made = []
        for index, cell in enumerate(cells):
            side = "left" if index < self.texts else "right"
            # Each cell states its alignment, because notebooks have rules of their own for all cells.
            made.append(
                f'<{tag}{extra} style="text-align: {side}; padding: 0.2em 0.8em;{style}">{escape(cell)}</{tag}>'
            )
        return f"<tr>{''.join(made)}</tr>"

    def grid(self) -> rich.table.Table:
        """Return it for rich, without the notes. Rich does not read its texts as markup."""
        from rich import box, table, text

        made = table.Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for index, name in enumerate(self.columns):
            made.add_column(text.Text(name), justify="left" if index < self.texts else "right", overflow="fold")
        for row in self.rows:
            made.add_row(*map(text.Text, row))
        return made


def _width(text: str) -> int:
    """Return the width of a text in a terminal, in columns."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in text)
