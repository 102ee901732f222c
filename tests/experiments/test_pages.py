"""A small run of the example with a million pages: through a real collector, in a process of its own."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette", reason="the collector needs its extra")

from experiments import pages


def test_slow_pages_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    """30,000 people and 5,000 pages. At a level of 95 % for all intervals together, a run fails once in 20 by chance:
    so one wrong interval is allowed. Two are rarer than 2e-3 by Poisson's law, so a run is repeated up to twice: all
    three fail once in 1e8."""
    for _ in range(3):
        found = pages.run(30_000, 5000, 4.0)
        if found["wrong"] <= 1 and found["told"] >= 8 and found["right"] >= found["told"] - 2:
            break
    else:
        raise AssertionError(capsys.readouterr().out)
    assert "a device gets plan and list, and answers" in capsys.readouterr().out
