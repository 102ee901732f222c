"""The geometry channel, in numbers: where each rule ends, and its small parts by themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from hush.core.channels import Geometry
from hush.core.channels.fields import Field, field
from hush.core.channels.geometry import MAX_POINTS, Numbers, geometries, points_of, rank
from hush.core.channels.sparse import Sparse
from hush.core.exact import WORD
from hush.errors import PlanError, ReportError

MOST = WORD - (1 << 40)  # a threshold that is large enough for all
SMALL = Geometry(13, 3, 3, 3 * WORD // 4)


@pytest.mark.parametrize(
    ("size", "order", "digits", "threshold"),
    [
        (4, 2, 3, MOST),
        (7, 2, 3, MOST),
        ((1 << 22) - 1, 2, 22, MOST),
        (2041, 2039, 3, MOST),
        (130, 128, 3, MOST),
        (133, 131, 3, MOST),
        (7, 2, 3, WORD - 1),
        (7, 2, 3, 3 * WORD // 7 + 1),
    ],
)
def test_the_last_channel_that_is_taken(size: int, order: int, digits: int, threshold: int) -> None:
    channel = Geometry(size, order, digits, threshold)
    assert Geometry.from_json(channel.to_json()) == channel
    assert channel.ratio > 1


@pytest.mark.parametrize(
    ("size", "order", "digits", "threshold", "rule"),
    [
        (4, 1, 3, MOST, "order"),
        (4, 0, 3, MOST, "order"),
        (2054, 2053, 3, MOST, "the order of a geometry channel"),
        (7, 6, 3, MOST, "must be a prime, or a power of one up to 128"),
        (170, 169, 3, MOST, "must be a prime, or a power of one up to 128"),
        (3, 2, 2, MOST, "the digits of a geometry channel"),
        (1 << 22, 2, 23, MOST, "the digits of a geometry channel"),
        (10**6, 163, 4, MOST, "at most 4194304 points"),
        (3, 2, 3, MOST, "the size of a geometry channel"),
        (8, 2, 3, MOST, "the size of a geometry channel"),
        (7, 2, 3, WORD, "the threshold of a geometry channel"),
        (7, 2, 3, -1, "the threshold of a geometry channel"),
        (7, 2, 3, 3 * WORD // 7, "an orthogonal point must be likelier"),
    ],
)
def test_the_first_channel_that_is_refused(size: int, order: int, digits: int, threshold: int, rule: str) -> None:
    with pytest.raises(PlanError, match=rule):
        Geometry(size, order, digits, threshold)


def test_it_travels() -> None:
    assert SMALL.to_json() == {"kind": "geometry", "size": 13, "order": 3, "digits": 3, "threshold": str(3 << 62)}
    assert MAX_POINTS == 4194304
    assert SMALL.made == ("numbers", "field")
    values: list[Any] = ["kind", "size", "order", "digits", "threshold"]
    for name in values:
        with pytest.raises(PlanError):
            Geometry.from_json({key: value for key, value in SMALL.to_json().items() if key != name})
        with pytest.raises(PlanError):
            Geometry.from_json(SMALL.to_json() | {name: None})


def test_how_points_are_counted() -> None:
    assert [points_of(3, digits) for digits in range(-1, 5)] == [0, 0, 1, 4, 13, 40]
    assert (SMALL.points, SMALL.inside, SMALL.outside, SMALL.alphabet.size) == (13, 4, 9, 13)
    assert SMALL.p == Fraction(3, 4)
    assert SMALL.q == Fraction(3, 4) * Fraction(1, 4) + Fraction(1, 4) * Fraction(3, 9)
    assert SMALL.ratio == Fraction(3, 16) / Fraction(1, 36)
    assert SMALL.numbers == Numbers((1, 3, 9, 27), (0, 1, 4), (1, 2, 5))
    assert [SMALL.numbers.written(point, 3) for point in (0, 1, 3, 4, 12)] == [(1, 0), (3, 1), (5, 1), (9, 2), (17, 2)]
    assert SMALL.numbers.written(4, 2) == (6, 1)  # of a point of fewer digits


def test_the_law_and_what_a_report_stands_for() -> None:
    """Point 0 is (1, 0, 0): those with a highest digit of 0 are orthogonal to it, which are points 0 to 3."""
    inside, outside = Fraction(3, 16), Fraction(1, 36)
    assert SMALL.law(0) == dict(enumerate([inside] * 4 + [outside] * 9))
    assert SMALL.chances(0) == [inside] * 4 + [outside] * 9
    decoded = SMALL.decode(0)
    gap = SMALL.p - SMALL.q
    assert decoded == ((1 - SMALL.q) / gap,) * 4 + (-SMALL.q / gap,) * 9
    assert Geometry(5, 3, 3, 3 * WORD // 4).decode(0) == decoded[:5]
    with pytest.raises(NotImplementedError):
        SMALL.supported(1, 1)
    for junk in (-1, 13, True, (1,)):
        with pytest.raises(ReportError):
            SMALL.decode(junk)


def test_the_tables_of_digits_are_made_with_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at the first draw, which would take longer than the others."""
    monkeypatch.setattr("hush.core.channels.geometry.field", Field)  # the usual one keeps fields of other tests
    assert {"inverses", "products", "differences"} <= {*vars(Geometry(21, 4, 3, MOST).field)}


def test_reports_are_sorted_by_what_they_are_orthogonal_to() -> None:
    """By counting all points, for categories on a line, off it, and twice the same."""
    for states in ([0], [0, 1], [0, 1, 2], [0, 1, 4], [0, 1, 4, 5], [3, 3], [3, 0, 3]):
        vectors = [SMALL.vector(state) for state in states]
        found: dict[tuple[bool, ...], Fraction] = {}
        for point in range(13):
            marks = tuple(SMALL._meets(vector, point) for vector in vectors)
            found[marks] = found.get(marks, Fraction(0)) + (1 - SMALL.p) / SMALL.outside
        assert SMALL.sorts(states) == found
    assert SMALL.bystanders() == [2, 4]
    assert [rank([SMALL.vector(state) for state in (0, 1, third)], field(3)) for third in (2, 4)] == [2, 3]


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_ranks(order: int) -> None:
    over = field(order)
    assert rank([], over) == 0
    assert rank([[0, 0, 0]], over) == 0
    assert rank([[0, 1, 0], [0, 1, 0]], over) == 1
    assert rank([[0, 1, 0], [0, 1, 1], [0, 0, 1]], over) == 2
    assert rank([[1, 1, 0], [0, 1, 1], [0, 0, 1]], over) == 3
    assert rank([[1, 1], [1, order - 1]], over) == (1 if order == 2 else 2)
    assert rank([[1, order - 1, 0], [1, order - 1, 1], [0, 0, order - 1]], over) == 2


def test_totals_beyond_a_word_are_exact() -> None:
    """Each line of three points has its reports: all but the highest digits and the lowest are added apart."""
    channel = Geometry(6, 2, 3, MOST)
    for scale in (1, (WORD - 1) // 28, WORD // 28 + 1, WORD + 5, (1 << 90) + 3):
        counts = [scale * (point + 1) for point in range(7)]
        vectors = [channel.vector(point) for point in range(7)]
        expected = [
            sum(n for n, vector in zip(counts, vectors, strict=True) if channel._meets(vector, category))
            for category in range(6)
        ]
        assert list(channel.totals(counts)) == expected
    assert list(channel.totals([WORD, *[0] * 6])) == [WORD, WORD, WORD, 0, 0, 0]
    assert list(channel.totals(Sparse.of([1, 2, 3, 4, 5, 6, 7]))) == list(channel.totals([1, 2, 3, 4, 5, 6, 7]))
    first = channel.readings([1, 2, 3, 4, 5, 6, 7], 28)[0]
    assert first.counts[1] == channel.totals([1, 2, 3, 4, 5, 6, 7])[0]
    assert sum(first.counts) == 28


def test_geometries_have_just_enough_digits() -> None:
    found = dict(geometries(1000))
    assert found[2] == 10
    assert found[3] == 7
    assert (found[31], found[32], found[37]) == (4, 3, 3)
    assert 6 not in found
    for size in (5, 1000, 10**6, MAX_POINTS - 1):
        for order, digits in geometries(size):
            Geometry(size, order, digits, WORD - 1)
    assert [*geometries((1 << 22) - 1)] == [(2, 22)]
    assert [*geometries(1 << 22)] == []
    orders = [order for order, _ in geometries(200)]
    assert 128 in orders
    assert 169 not in orders
    assert orders[-1] == 197
    assert [*geometries(2040)][-1] == (2029, 3)
    assert [*geometries(2041)][-1] == (2039, 3)
