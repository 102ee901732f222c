"""Log lines are few, and hold nothing that a client could have written as a line of its own."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from hush.collector.http import logs
from hush.collector.http.logs import LINES, LONGEST, Bounded
from hush.errors import StoreError
from tests.collector.served import serving


@pytest.fixture
def written(caplog: pytest.LogCaptureFixture) -> tuple[logging.Logger, list[float]]:
    """A logger that is bounded, and its clock."""
    logger, now = logging.getLogger("tests.bounded"), [0.0]
    logger.filters = [Bounded(lambda: now[0])]
    caplog.set_level(logging.INFO, "tests.bounded")
    return logger, now


def test_a_flood_is_counted_and_not_written(
    written: tuple[logging.Logger, list[float]], caplog: pytest.LogCaptureFixture
) -> None:
    logger, now = written
    for number in range(1000):
        logger.warning("no %s", number)
        logger.warning("another kind") if number == 500 else None
    assert [record.getMessage() for record in caplog.records] == [
        *(f"no {number}" for number in range(LINES)),
        "another kind",
    ]
    now[0] += 1.0
    logger.warning("no %s", "more")
    assert caplog.records[-1].getMessage() == f"no more ({1000 - LINES} more like it were left out)"
    now[0] += 1.0
    logger.warning("no %s", "more")
    assert caplog.records[-1].getMessage() == "no more"


def test_kinds_without_end_are_bounded_together(
    written: tuple[logging.Logger, list[float]], caplog: pytest.LogCaptureFixture
) -> None:
    logger, _ = written
    for number in range(3 * logs.KINDS):
        logger.warning(f"kind {number}")
    assert len(caplog.records) == logs.KINDS + LINES


def test_nothing_is_written_as_it_came(
    written: tuple[logging.Logger, list[float]], caplog: pytest.LogCaptureFixture
) -> None:
    """A name with a line end in it would be a line that nobody wrote; escapes of a terminal would hide others."""
    logger, _ = written
    name = "a\nhush: all is well\r\x1b[2K\u202e"
    logger.warning("refused %s", name)
    try:
        raise ValueError(name)
    except ValueError:
        logger.exception("failed")
    logger.warning("long %s", "x" * 10_000)
    text = caplog.text
    assert "\nhush: all is well" not in text
    assert not set("\r\x1b\u202e") & set(text)
    assert "refused a\\nhush: all is well" in text
    assert "ValueError: a" in text
    assert len(caplog.records[-1].getMessage()) < LONGEST + 100


def test_a_collector_whose_store_fails_fills_no_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(tmp_path) as served:

        def fail(*_: object) -> None:
            raise StoreError("the disk is full\nof lies")

        served.store.tally = fail  # type: ignore[assignment]
        for _ in range(200):
            assert served.client.get(served.path("tally")).status_code == 503
    lines = [record for record in caplog.records if record.name == "hush.collector"]
    assert 0 < len(lines) < 200
    assert all("\n" not in record.getMessage() for record in lines)
