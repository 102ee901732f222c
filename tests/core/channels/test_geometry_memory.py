"""Decoding very many categories takes memory in proportion to the number of points, and not more."""

from __future__ import annotations

import tracemalloc
from array import array
from fractions import Fraction

import pytest

from hush.core.channels import Geometry, hyperplanes
from hush.core.channels.sparse import Sparse
from hush.core.design.categorical import geometry

BYTES = 48  # for each point, at most: the copy of the tally takes 8 of them, and a row of counts 4


def peak(channel: Geometry, reports: int) -> float:
    """Return the most bytes that decoding all shares takes beside the tally, for each point."""
    counts = array("q", bytes(8 * channel.points))
    place = 1
    for _ in range(reports):
        place = (place * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
        counts[(place >> 33) % channel.points] += 1
    tally = Sparse.of(counts)
    del counts
    channel.field.prepare()  # its tables stay, and are small
    tracemalloc.start()
    try:
        found = channel.totals(tally)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == channel.size
    # Each report is orthogonal to one point in about e^epsilon + 1, so the counts of all points are about alike.
    assert 0.5 * reports < sum(found) / channel.size * channel.points / channel.inside < 2 * reports
    return most / channel.points


def test_memory_is_bounded_by_the_number_of_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field of a power's order, and one of prime order. The twin keeps each count in 8 bytes, where 4 are enough."""
    usual = hyperplanes.Lanes.__init__
    for epsilon, size in (("2", 10_000), ("4", 20_000)):
        channel = geometry(Fraction(epsilon), size)
        assert peak(channel, 5000) < BYTES
        with monkeypatch.context() as patch:
            patch.setattr(hyperplanes.Lanes, "__init__", lambda self, n: usual(self, n + (1 << 40)))
            assert peak(channel, 5000) > BYTES


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_a_million_categories_are_decoded_in_little_memory(epsilon: str) -> None:
    """1.4 and 3.5 million points: 67 and 168 MB at most, so 168 bytes for each category."""
    channel = geometry(Fraction(epsilon), 1_000_000)
    most = peak(channel, 300_000)
    assert most < BYTES
    assert most * channel.points / channel.size < 168
