"""Files say how many of their reports are a relay's own: the sum, and what is refused."""

from __future__ import annotations

import re

import pytest

from hush.core.owned import OWN, ROWS, Owned, stated
from hush.errors import ReportError


def test_what_files_state_is_added_up() -> None:
    owned = Owned()
    owned.add(stated(0, 10), 10)
    owned.add(stated(7, 20), 20)
    owned.add(stated(3, 5), 5)
    owned.add(stated(0), 99)
    assert owned.total(40) == 10
    assert Owned().total(0) == 0
    assert Owned(0).total(0) == 0


def test_a_file_that_says_nothing_needs_the_number() -> None:
    with pytest.raises(ReportError, match=r"^a\.parquet: these reports do not say .* by own=N or --own N: 0 if"):
        Owned().add({}, 5, "a.parquet")
    with pytest.raises(ReportError, match="Say it, in the letter: 0 if"):
        Owned(how="in the letter").check({})
    owned = Owned(4)
    owned.add({}, 5)
    owned.add(stated(3, 9), 9)
    assert owned.total(14) == 7


def test_the_number_is_refused_where_all_say_it() -> None:
    for given in (0, 3):
        owned = Owned(given)
        owned.add(stated(3, 9), 9)
        with pytest.raises(ReportError, match="do not say it again"):
            owned.total(9)


@pytest.mark.parametrize(
    ("notes", "rows"),
    [(stated(0, 9), 10), (stated(3, 9), 10), (stated(3, 9), 8), (stated(3, 9), 0), (stated(0, 0), 1)],
)
def test_tables_that_were_joined_or_cut_are_refused(notes: dict[str, str], rows: int) -> None:
    """A table that was joined says what its first part said: 1,200 people would count where there are 600."""
    with pytest.raises(ReportError, match=f"for {notes[ROWS]} rows, and there are {rows}: the reports were joined"):
        Owned().add(notes, rows)
    owned = Owned(2)  # somebody who knows better
    owned.add(notes, rows)
    assert owned.total(2) == 2


def test_a_part_of_peoples_reports_is_peoples_reports() -> None:
    owned = Owned()
    owned.add(stated(0, 9), 4)
    assert owned.total(4) == 0


@pytest.mark.parametrize("text", ["", "-1", "1.0", "01", "x", "1e3", "²", "9" * 20])
def test_what_is_no_number_is_refused(text: str) -> None:
    for notes in ({OWN: text}, {OWN: "0", ROWS: text}):
        with pytest.raises(ReportError, match=re.escape("must be an integer, 0 or more")):
            Owned(0).check(notes)
    with pytest.raises(ReportError, match=r"needs hush\.core\.rows beside it"):
        Owned(0).check({OWN: "1"})


def test_there_are_no_more_own_reports_than_reports() -> None:
    owned = Owned(6)
    owned.add({}, 5)
    with pytest.raises(ReportError, match="there are 5 reports, and 6 of them are said to be a relay's own"):
        owned.total(5)
    for bad in (-1, 1.0, True, "3", 1 << 63):
        with pytest.raises(ReportError, match="own must be an integer"):
            Owned(bad)  # type: ignore[arg-type]
