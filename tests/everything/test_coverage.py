"""Intervals of made-up plans and crowds. The seeds are fixed: if no test fails once, none ever does by chance.

A target fails if its collections are next to impossible for an interval that covers in 93 of 100 (P < 1e-5, when it is
collected anew). `tests.everything.coverage` looks at thousands of targets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.everything import coverage
from tests.everything.coverage import Score, faults, tried
from tests.everything.targets import Said, Target, readers

RUNS = 100
CASES = (0, 2, 4, 5, 6, 8, 9, 10, 13, 14, 18, 20)
FEW = 8
"""A case with shares, and few targets."""
SAID = Said(Target("estimate", ("a",)), 5.0, 4.0, 6.0, 5.5, 0.0, 10.0)


@pytest.mark.parametrize("seed", CASES)
def test_intervals_keep_their_word(seed: int) -> None:
    found = tried(seed, RUNS, 500)
    assert found is not None
    assert found["targets"]
    assert not list(faults(found))


def test_intervals_that_are_too_narrow_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: the same search, and intervals of 60 %."""
    real = readers

    def narrow(plan: Any) -> Any:
        for name, reader in real(plan):

            def read(tally: Any, truths: Any, reader: Any = reader) -> Any:
                for said in reader(tally, truths):
                    low, high = (said.point + 0.43 * (end - said.point) for end in (said.low, said.high))
                    yield said if said.refused else replace(said, low=low, high=high)

            yield name, read

    monkeypatch.setattr(coverage, "readers", narrow)
    found = tried(FEW, RUNS, 500)
    assert found is not None
    assert len([fault for fault in faults(found) if " share " in fault]) > 3


def test_scores() -> None:
    score = Score()
    for said in (SAID, replace(SAID, truth=3.0), replace(SAID, low=5.0, high=5.0, truth=5.0)):
        score.add(said)
    assert (score.runs, score.missed, score.flat, score.faults) == (3, 1, 1, 0)
    for said in (replace(SAID, low=7.0), replace(SAID, point=9.0)):
        score.add(said)
    assert score.faults == 2
    assert not Score(400, 30).dishonest
    assert Score(4000, 400).dishonest
