"""How many of the reports in columns are a relay's own, as files and tables say of themselves (`spec/reports.md`).

Nobody can tell which of the reports are a relay's own, so the number must come with them. A file says for how many rows
it holds: a table that was joined from several, or cut, has another number of rows than its first part said.
"""

from __future__ import annotations

from collections.abc import Mapping

from hush.errors import ReportError

OWN = "hush.core.own"
ROWS = "hush.core.rows"
LARGEST = 1 << 62


def stated(own: int, rows: int | None = None) -> dict[str, str]:
    """Return the metadata of reports of which `own` are a relay's own; `rows` is their number of rows, if known."""
    return {OWN: str(own)} | ({} if rows is None else {ROWS: str(rows)})


class Owned:
    """The number of a relay's own reports in several files or tables together.

    `given`: how many are among the reports that do not say it themselves. Without it, such reports are refused, and the
    error says how to say it.
    """

    def __init__(self, given: int | None = None, how: str = "by own=N or --own N") -> None:
        if given is not None and (type(given) is not int or not 0 <= given <= LARGEST):
            raise ReportError("own must be an integer, 0 or more: how many of the reports are a relay's own")
        self._given, self._how = given, how
        self._stated = self._parts = self._silent = 0

    def check(self, notes: Mapping[str, str], name: str = "") -> None:
        """Refuse what one file or table says, as far as that is possible before its rows are counted."""
        if OWN not in notes and self._given is None:
            raise ReportError(
                f"{_place(name)}these reports do not say how many of them are a relay's own. Say it, {self._how}: 0 if "
                "no relay added any"
            )
        own, known = _number(notes, OWN, name), _number(notes, ROWS, name)
        if own and known is None:
            raise ReportError(f"{_place(name)}the metadata {OWN} needs {ROWS} beside it, as it is not 0")

    def add(self, notes: Mapping[str, str], rows: int, name: str = "") -> None:
        """Take what one file or table says, which has so many rows."""
        self.check(notes, name)
        self._parts += 1
        own, known = _number(notes, OWN, name), _number(notes, ROWS, name)
        if own is None:
            self._silent += 1
        # A part of people's reports is people's reports; of a part of others nobody knows how many own ones it has.
        elif known is not None and (rows > known or (own and rows < known)):
            if self._given is None:
                raise ReportError(
                    f"{_place(name)}the number of a relay's own reports is stated for {known} rows, and there are "
                    f"{rows}: the reports were joined or cut. Give them as they were written, or say the number, "
                    f"{self._how}"
                )
            self._silent += 1
        else:
            self._stated += own

    def total(self, reports: int) -> int:
        """Return how many of the reports are own ones."""
        if self._given is not None and self._parts and not self._silent:
            raise ReportError("all of these reports say how many of them are a relay's own: do not say it again")
        found = self._stated + (self._given or 0)
        if found > reports:
            raise ReportError(f"there are {reports} reports, and {found} of them are said to be a relay's own")
        return found


def _place(name: str) -> str:
    return f"{name}: " if name else ""


def _number(notes: Mapping[str, str], key: str, name: str) -> int | None:
    if key not in notes:
        return None
    text = notes[key]
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and str(int(text)) == text):
        raise ReportError(f"{_place(name)}the metadata {key} must be an integer, 0 or more")
    return int(text)
