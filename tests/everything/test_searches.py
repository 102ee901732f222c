"""The three searches in a small size, each with a broken estimator that it must catch. The seeds are fixed.

Their own size is for a release: `tests.everything.searches`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import hush
from tests.everything import coverage, searches
from tests.everything.searches import (
    gap_cases,
    gap_faults,
    gaps,
    narrowed,
    relay_faults,
    relayed,
    relayed_cases,
    widths,
)
from tests.everything.targets import Said, readers

RELAYED = [job for job in relayed_cases() if job[1].epsilon == 4.0 and "at an end" in job[0]]
GAPS = list(gap_cases())[::7]


def narrow(part: float) -> Callable[[Any], Any]:
    """Return readers whose intervals have a part of their width."""
    real = readers

    def found(plan: hush.Plan) -> Any:
        for name, reader in real(plan):

            def read(*given: Any, reader: Any = reader) -> Iterator[Said]:
                return (narrowed(said, part) for said in reader(*given))

            yield name, read

    return found


@pytest.mark.parametrize("job", RELAYED, ids=lambda job: job[0])
def test_own_reports_of_a_relay_leave_intervals_honest(job: Any) -> None:
    assert not list(relay_faults(relayed(job, 60)))


def test_own_reports_that_are_taken_for_people_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "with_own", lambda tally, own: tally)
    found = relayed(RELAYED[0], 100)
    assert not found["failures"]
    assert list(relay_faults(found))


def test_intervals_behind_a_relay_that_are_too_wide_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "readers", narrow(2.0))
    middle = next(job for job in relayed_cases() if "in the middle" in job[0])
    assert any("too wide" in fault for fault in relay_faults(relayed(middle, 600)))


@pytest.mark.parametrize("job", GAPS, ids=lambda job: job[0])
def test_quantiles_of_people_with_gaps_are_covered(job: Any) -> None:
    assert not list(gap_faults(gaps(job, 60)))


def test_quantiles_that_miss_gaps_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "readers", narrow(0.3))
    found = gaps(GAPS[0], 60)
    assert not found["failures"]
    assert list(gap_faults(found))


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_no_interval_lacks_a_width(seed: int) -> None:
    found = widths(seed, 10)
    assert found is not None
    assert found["shown"]
    assert not list(gap_faults(found))


def test_intervals_without_a_width_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "readers", narrow(0.0))
    found = widths(0, 10)
    assert found is not None
    assert not found["failures"]
    assert list(gap_faults(found))
