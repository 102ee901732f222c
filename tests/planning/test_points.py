"""The sentence about many categories in `hush plan`: which channel reports them, and why."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import hush
from hush import Categorical, Schema
from hush.planning import points
from tests.cli.test_commands import run


def sentences(size: int, epsilon: float, **options: Any) -> list[str]:
    values = hush.Listed([f"v{i}" for i in range(size)], name="pages.txt")
    return list(points.notes(hush.design(Schema([Categorical("page", values)]), epsilon, **options)))


def sets_variance(size: int, epsilon: float) -> float:
    """The total variance of the best sets, from the formulas of Ye and Barg (2018), in floats."""

    def of(weight: int) -> float:
        e = math.exp(epsilon)
        p = e * weight / (e * weight + size - weight)
        r = (p * (weight - 1) + (1 - p) * weight) / (size - 1)
        return float((p * (1 - p) + (size - 1) * r * (1 - r)) / (p - r) ** 2)

    around = size / (math.exp(epsilon) + 1)
    return min(of(weight) for weight in (max(1, math.floor(around)), math.ceil(around)))


def points_variance(size: int, epsilon: float, q: int, t: int) -> float:
    """The total variance of points of t digits out of q, from the formulas of Feldman et al. (2022), in floats."""
    near, far, both = (q ** (t - 1) - 1) // (q - 1), q ** (t - 1), (q ** (t - 2) - 1) // (q - 1)
    p = math.exp(epsilon) * near / (math.exp(epsilon) * near + far)
    r = p * both / near + (1 - p) * (near - both) / far
    return float((p * (1 - p) + (size - 1) * r * (1 - r)) / (p - r) ** 2)


PRIMES = [n for n in range(2, 2048) if all(n % d for d in range(2, 46) if d < n)]
ORDERS = sorted({p**k for p in PRIMES for k in range(1, 9) if p**k <= (2047 if k == 1 else 128)})
FIELDS = [(q, t) for q in ORDERS for t in range(3, 23) if (q**t - 1) // (q - 1) <= 1 << 22]


POINTS = re.compile(
    r"page: one of ([\d,]+) points for ([\d,]+) categories, in (\d) bytes where a set takes ([\d,]+); "
    r"the variance is ([\d.]+) times that of the best set\."
)


def test_short_sets_need_no_reason() -> None:
    """Up to 512 categories a set takes 64 bytes at most, and nothing has less variance."""
    for epsilon in (0.5, 2.0, 6.0):
        assert sentences(512, epsilon) == []
    assert len(sentences(513, 2.0)) == 1


@pytest.mark.parametrize(("size", "epsilon"), [(513, 2.0), (4096, 1.0), (5000, 4.0), (20_000, 2.0)])
def test_points_are_chosen_for_their_bytes_and_the_sentence_says_what_they_cost(size: int, epsilon: float) -> None:
    """Its numbers are right: computed here from the formulas, in floats."""
    (sentence,) = sentences(size, epsilon)
    found = POINTS.fullmatch(sentence)
    assert found, sentence
    count, categories, width, long, times = (float(one.replace(",", "")) for one in found.groups())
    assert (categories, long) == (size, -(-size // 8))
    assert 256 ** (width - 1) < count <= 256**width
    ((q, t),) = [(q, t) for q, t in FIELDS if (q**t - 1) // (q - 1) == count]
    right = points_variance(size, epsilon, q, t) / sets_variance(size, epsilon)
    assert abs(times - right) < 6e-4
    assert times <= 1.02 or size > 4096, "where sets are possible, points may cost 2 %"


@pytest.mark.parametrize(("size", "epsilon"), [(600, 4.0), (2000, 6.0), (1000, 8.0)])  # the last one: sets of one
def test_sets_are_chosen_where_points_are_worse(size: int, epsilon: float) -> None:
    (sentence,) = sentences(size, epsilon)
    found = re.fullmatch(r"page: sets, as points would have ([\d.,]+) times the variance\.", sentence)
    assert found, sentence
    times = float(found[1].replace(",", ""))
    assert times > 1.02
    # No more digits than the categories need, or some of them would not span the geometry.
    fit = [(q, t) for q, t in FIELDS if (q ** (t - 1) - 1) // (q - 1) < size <= (q**t - 1) // (q - 1)]
    least = min(points_variance(size, epsilon, q, t) for q, t in fit)
    assert 0.9995 < times / (least / sets_variance(size, epsilon)) < 1.0015  # within a thousandth, fewer points win


def test_a_wish_is_no_reason() -> None:
    """Somebody who asks for sets is told what points would be like, and not that these are worse."""
    (sentence,) = sentences(1000, 2.0, categorical="subset")
    assert sentence == "page: sets, in 125 bytes; points would take 2, with 1.004 times the variance."
    (sentence,) = sentences(100, 2.0, categorical="geometry")
    assert "in 1 byte where a set takes 13; the variance is 1.039 times" in sentence


def test_the_questions_of_a_text_share_a_sentence() -> None:
    texts = [hush.Text("word", 5, "english"), hush.Text("town", 5, "english")]
    plan = hush.design(Schema([*texts, Categorical("page", [f"v{i}" for i in range(600)])]), 2.0)
    found = list(points.notes(plan))
    assert [sentence.split(":")[0] for sentence in found] == [
        "word, each of 3 questions",
        "town, each of 3 questions",
        "page",
    ]
    assert "one of 299,593 points for 131,072 categories, in 3 bytes" in found[0]


def test_the_command_prints_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for size, epsilon, word in ((512, "2", "subset"), (600, "4", "subset"), (600, "2", "geometry")):
        values = [f"v{i}" for i in range(size)]
        Path("schema.json").write_text(json.dumps([{"name": "page", "values": values}]), encoding="utf-8")
        printed = run("plan", "schema.json", "--epsilon", epsilon).stdout
        (row,) = [line for line in printed.splitlines() if line.split()[:1] == ["page"] and word in line.split()]
        assert row
        words = " ".join(printed.split())
        for sentence in sentences(size, float(epsilon)):
            assert sentence in words
        assert ("points" in words) == (size > 512)
