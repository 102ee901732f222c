"""Tables as CSV, which people open in spreadsheets.

A spreadsheet takes a cell that begins with =, +, - or @ for a formula, and calculates it: the category
`=HYPERLINK(...)` would become a link, and attackers have done worse. A plan's author chooses the names of attributes
and categories, and need not be the reader of the estimates. So this module puts an apostrophe in front of such a text,
which spreadsheets read as "this is text". Where the decimal sign is a comma, spreadsheets split cells at semicolons,
others split at tabs or bars, and quotes within a line then do not help: every part that would be a formula gets an
apostrophe. Full-width signs count too, because some spreadsheets accept them. A plain number stays: +65 is no formula.
JSON keeps names unchanged. The pages of the collector do the same as this module (`web/pages/text.ts`).
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence

# The blanks are those of Python and of JavaScript together, so that both find the same formulas.
_FORMULA = re.compile(r"(^|[;|\t\r\n])((?:(?![;|\t\r\n])[\s\x00-\x20\x85\ufeff])*[=+\-@\uff1d\uff0b\uff0d\uff20])")
_NUMBER = re.compile(r"[+\-][0-9]+(\.[0-9]+)?")


def cell(value: object) -> object:
    """Return a value as a cell of a table: what is unknown or has no end is empty, and a text cannot be a formula."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return _FORMULA.sub(r"\1'\2", value)


def table(names: Sequence[str], rows: Iterable[Iterable[object]], end: str = "\r\n") -> str:
    """Return a table as CSV (RFC 4180, except for `end` if it is given)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=end)
    writer.writerow([cell(name) for name in names])
    writer.writerows([cell(value) for value in row] for row in rows)
    return out.getvalue()
