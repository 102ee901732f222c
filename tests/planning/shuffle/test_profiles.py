"""The bound, against brute force over all data sets of a few people: it is never below the truth."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import pytest

from hush.core.channels.contrast import Contrast, compared, widest
from hush.planning.shuffle import profiles
from hush.planning.shuffle.profiles import above, below
from tests.cases import SMALL
from tests.planning.shuffle.brute import (
    Law,
    batch_of,
    hockey_stick,
    random_table,
    randomised_response,
    stronger_clones,
    true_delta,
    variation_ratio,
)


def of(law: Law) -> dict[int, Fraction]:
    return dict(enumerate(law))


def blanket(table: Sequence[Law], x: int, z: int) -> Contrast:
    least = {y: min(law[y] for law in table) for y in range(len(table[0]))}
    return compared(of(table[x]), of(table[z]), least)


def is_above(bound: Fraction, truth: Fraction) -> bool:
    """The check that every bound has to pass."""
    return bound >= truth


def cases(count: int, seed: int) -> Iterator[tuple[list[list[Fraction]], int, Fraction]]:
    source = random.Random(seed)
    while count:
        table = random_table(source)
        ratio = max(max(column) / min(column) for column in zip(*table, strict=True))
        if ratio == 1:
            continue
        count -= 1
        e = 1 + (ratio - 1) * Fraction(source.randint(0, 95), 100)
        yield table, source.choice((2, 3, 3)), e


def check(count: int, seed: int, equations: bool = False) -> None:
    """Take the pair of states of the worst data set. If its others are all alike, the formula can be an equation."""
    for table, n, e in cases(count, seed):
        truth, (x, z), others = true_delta(table, n, e)
        assert is_above(above(blanket(table, x, z), n, e, 1e-2), truth)
        if equations and len(set(others)) == 1:
            exact = compared(of(table[x]), of(table[z]), of(table[others[0]]))
            assert below(exact, n, e, 1e-2) <= truth <= above(exact, n, e, 1e-2)


def test_random_channels_are_never_below_brute_force() -> None:
    check(12, seed=1, equations=True)


@pytest.mark.parametrize("seed", range(10, 20))
def test_ten_thousand_random_channels_are_never_below_brute_force(seed: int) -> None:
    check(1000, seed)


def test_the_widest_contrast_is_above_too() -> None:
    for table, n, e in cases(15, seed=3):
        least = [min(column) for column in zip(*table, strict=True)]
        ratio = max(max(column) / min(column) for column in zip(*table, strict=True))
        wide = widest(ratio, sum(least, Fraction(0)))
        assert is_above(above(wide, n, e, 1e-2), true_delta(table, n, e)[0])


TINY = [
    "duchi",
    "duchi-optional",
    "grr-2",
    "oue-2",
    "signs-2",
    "cube-2-1-1",
    "rows-2-1-2-1",
    "ladder-3-1",
    "window-5-2",
]


@pytest.mark.parametrize("name", TINY)
def test_channels_of_hush(name: str) -> None:
    channel = SMALL[name](Fraction(2))
    laws = [channel.law(state) for state in channel.states()]
    table = [[law[y] for y in laws[0]] for law in laws]
    n = 3 if len(table[0]) < 5 and len(table) < 5 else 2
    for e in (Fraction(1), Fraction(2), channel.ratio * Fraction(9, 10)):
        assert is_above(above(channel.blanket(), n, e, 1e-2), true_delta(table, n, e)[0])


# -- the counterexample

SIZE, RATIO, N, E = 6, Fraction(8), 10, Fraction(5)


def test_published_bounds_that_are_below_the_truth() -> None:
    """Six categories: the person holds the first or the second, nine others the third. All 3,003 batches are listed.

    The bounds of variation ratios and of stronger clones do not pass the check that the blanket passes: they take the
    person's reports of the other four categories for a report that nobody else can be confused with.
    """
    table = randomised_response(SIZE, RATIO)
    crowd = [table[2]] * (N - 1)
    batches = [batch_of([*crowd, table[s]]) for s in (0, 1)]
    assert len(batches[0]) == 3003
    truth = hockey_stick(batches[0], batches[1], E)
    assert abs(truth - Fraction("0.004337")) < Fraction(1, 10**6)

    q = 1 / (RATIO + SIZE - 1)
    bounds: dict[str, Callable[[], Fraction]] = {
        "variation ratio": lambda: variation_ratio(RATIO, (RATIO - 1) * q, N, E),
        "stronger clones": lambda: stronger_clones(RATIO, q, N, E),
        "blanket": lambda: above(blanket(table, 0, 1), N, E, 1e-3),
    }
    passed = {name: is_above(bound(), truth) for name, bound in bounds.items()}
    assert passed == {"variation ratio": False, "stronger clones": False, "blanket": True}
    assert abs(bounds["variation ratio"]() - Fraction("0.001140")) < Fraction(1, 10**6)
    exact = compared(of(table[0]), of(table[1]), of(table[2]))
    assert below(exact, N, E, 1e-4) <= truth <= above(exact, N, E, 1e-4)


# -- fewer values


def test_fewer_values_stay_on_the_safe_side(monkeypatch: pytest.MonkeyPatch) -> None:
    source = random.Random(9)
    rows = [[Fraction(source.randint(1, 40)) for _ in range(30)] for _ in range(3)]
    laws = [{y: v / sum(row) for y, v in enumerate(row)} for row in rows]
    contrast = compared(*laws)
    e, n = Fraction(3, 2), 40
    low, high = below(contrast, n, e, 1e-3), above(contrast, n, e, 1e-3)
    monkeypatch.setattr(profiles, "VALUES", 20)
    law = profiles._values(contrast, e)
    for fewer in (profiles._spread(law), profiles._joined(law)):
        assert len(fewer) <= 22
        assert sum(p for p, _ in fewer) == 1
        assert sum(p * g for p, g in fewer) == sum(p * g for p, g in law)
    assert below(contrast, n, e, 1e-3) <= low <= high <= above(contrast, n, e, 1e-3)
    assert above(contrast, n, e, 1e-3) < 2 * high
