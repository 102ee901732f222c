"""A ledger, a series and a collector for the tests of a device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hush import Ledger, Series

if TYPE_CHECKING:
    from tests.collector.served import Served


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger", cap=10)


@pytest.fixture
def series(ledger: Ledger) -> Series:
    return Series(ledger, "mood")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    from tests.collector.served import serving  # the tests of ledgers and reports run without what collectors need

    with serving(tmp_path) as found:
        yield found
