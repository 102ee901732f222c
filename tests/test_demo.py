"""The demo runs, and its intervals mostly contain the truth."""

from __future__ import annotations

import re
import sys

import pytest

from hush import demo


def test_the_demo_prints_truth_beside_estimates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["demo", "--people", "3000", "--epsilon", "4", "--level", "0.99"])
    demo.main()
    text = capsys.readouterr().out
    found = re.search(r"(\d+) of (\d+) intervals contain the truth", text)
    assert found
    # 14 intervals of level 0.99: fewer than 8 inside has a probability below 1e-9, dependence included.
    assert 8 <= int(found[1]) <= int(found[2]) == 14
    assert "3,000 reports" in text


def test_the_people_are_always_the_same() -> None:
    assert list(demo.people(5, seed=1)) == list(demo.people(5, seed=1))
