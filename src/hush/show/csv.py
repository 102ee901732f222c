"""Tables as CSV, which people open in spreadsheets.

A spreadsheet takes a cell that begins with =, +, - or @ for a formula, and calculates it: `=HYPERLINK(...)` as a
category would become a link, and worse has been done. Names of attributes and categories are whatever a plan says,
and whoever reads the estimates has not always written the plan. So such a text gets an apostrophe in front, which
spreadsheets read as "this is text". Where commas are decimal, spreadsheets part cells at semicolons, others at tabs or
bars, and then quotes within a line hold nothing together: the apostrophe stands in front of every part that would be a
formula. Full-width signs count too, as some read them so. A text that is a plain number stays: +65 is no formula. JSON
has names as they are. The pages of the collector do the same (`web/pages/text.ts`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

# The blanks are those of Python and of JavaScript together, so that both find the same.
_FORMULA = re.compile(r"(^|[;|\t\r\n])((?:(?![;|\t\r\n])[\s\x00-\x20\x85\ufeff])*[=+\-@\uff1d\uff0b\uff0d\uff20])")
_NUMBER = re.compile(r"[+\-][0-9]+(\.[0-9]+)?")


def cell(value: object) -> object:
    """Return a value as it stands in a table: nothing for None, and no text that is a formula."""
    if value is None:
        return ""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return _FORMULA.sub(r"\1'\2", value)


def table(names: Sequence[str], rows: Iterable[Iterable[object]], end: str = "\r\n") -> str:
    """Return a table as CSV: RFC 4180, but for the ends of lines if they are given."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end)
    writer.writerow([cell(name) for name in names])
    writer.writerows([cell(value) for value in row] for row in rows)
    return out.getvalue()
