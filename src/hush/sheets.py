"""Tables as CSV, which people open in spreadsheets.

A spreadsheet takes a cell that begins with =, +, - or @ for a formula, and calculates it: `=HYPERLINK(...)` as a
category would become a link, and worse has been done. Names of attributes and categories are whatever a plan says,
and whoever reads the estimates has not always written the plan. So such a text gets an apostrophe in front, which
spreadsheets read as "this is text". A text that is a plain number stays: +65 is no formula. JSON has names as they are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

_FORMULA = re.compile(r"[=@]|[+-](?!\d+(\.\d+)?\Z)")


def cell(value: object) -> object:
    """Return a value as it stands in a table: nothing for None, and no text that is a formula."""
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def table(names: Sequence[str], rows: Iterable[Iterable[object]], end: str = "\r\n") -> str:
    """Return a table as CSV: RFC 4180, but for the ends of lines if they are given."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end)
    writer.writerow([cell(name) for name in names])
    writer.writerows([cell(value) for value in row] for row in rows)
    return out.getvalue()
