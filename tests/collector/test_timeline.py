"""Reports over time: nothing is lost when spans are merged, and there are never too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hush.collector.timeline import FIRST_WIDTH, MAX_SPANS, Timeline


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.5

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.tuples(st.floats(-10, 1e6), st.integers(1, 1000)), max_size=50))
def test_merging_keeps_totals_and_places(steps: list[tuple[float, int]]) -> None:
    clock = Clock()
    line = Timeline(7, clock)
    arrivals, latest = [], clock.now
    for pause, reports in steps:
        clock.now += pause  # a clock may be set back
        latest = max(latest, clock.now)
        arrivals.append((latest, reports))
        line.note(reports)
        assert len(line.counts) <= MAX_SPANS
    assert (line.before, line.counted) == (7, sum(reports for _, reports in steps))
    for index, count in enumerate(line.counts):
        here = [n for time, n in arrivals if int((time - line.start) / line.width) == index]
        assert count == sum(here)


def test_spans_double_when_time_runs_out_of_them() -> None:
    clock = Clock()
    line = Timeline(0, clock)
    for _ in range(MAX_SPANS):
        line.note(1)
        clock.now += FIRST_WIDTH
    assert (line.width, line.counts) == (FIRST_WIDTH, [1] * MAX_SPANS)
    line.note(5)
    assert (line.width, line.counts) == (2 * FIRST_WIDTH, [2] * (MAX_SPANS // 2) + [5])
    clock.now += 365 * 86400
    line.note(1)
    assert line.counted == MAX_SPANS + 6
    assert line.counts[0] == MAX_SPANS + 5
