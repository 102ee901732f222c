"""Where a client remembers what it has answered."""

from __future__ import annotations

from pathlib import Path

import pytest

import hush
from hush.device.answered import Person
from hush.device.remembering import choose_book
from hush.errors import LedgerError


def test_which_book_it_is(tmp_path: Path) -> None:
    ledger = hush.Ledger(tmp_path / "one", cap=8.0)
    series = hush.Series(ledger, "weekly")
    assert choose_book(ledger, None, False) is ledger
    assert choose_book(ledger, None, False, series) is ledger
    assert choose_book(None, None, True) is None
    for series_or_none in (None, series):
        own = choose_book(None, None, False, series_or_none)
        assert isinstance(own, Person)
        assert own._name is None
    named = choose_book(None, "Ann", False)
    assert isinstance(named, Person)
    assert named._name == "Ann"


def test_what_does_not_go_together(tmp_path: Path) -> None:
    ledger = hush.Ledger(tmp_path / "one", cap=8.0)
    same = hush.Series(hush.Ledger(tmp_path / "one"), "weekly")
    other = hush.Series(hush.Ledger(tmp_path / "two", cap=8.0), "weekly")
    assert choose_book(ledger, None, False, same) is ledger
    with pytest.raises(LedgerError, match="own ledger"):
        choose_book(ledger, None, False, other)
    for person, fresh in (("Ann", False), (None, True), ("Ann", True)):
        for book, series in ((ledger, None), (None, other), (ledger, same)):
            with pytest.raises(LedgerError, match="one person"):
                choose_book(book, person, fresh, series)
    with pytest.raises(LedgerError, match="either person"):
        choose_book(None, "Ann", True)
