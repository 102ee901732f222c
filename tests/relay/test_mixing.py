"""A batch has a random order, and own reports that hide the others.

The chi-square tests and the attack use the system's generator: each raises a false alarm with a probability of 1e-6 or
less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations

import pytest

import hush
from hush.core.blanket import blanket_of
from hush.core.sealing import SealedBatch, sealed_size
from hush.relay import mixing
from hush.relay.mixing import mixed, own_reports, seal
from tests.relay.relayed import KEY, OPENER, PLAN
from tests.statistical.test_sampler import chi_square

ITEMS = 4
BATCHES = 24 * 300


def orders() -> tuple[float, float]:
    """The chi-square of the orders of many batches of the same reports, and its limit."""
    sealed = [bytes([i]) * sealed_size(PLAN) for i in range(ITEMS)]
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(BATCHES):
        batch = SealedBatch.decode(PLAN, mixed(PLAN, KEY, sealed, 0))
        counts[tuple(one[0] for one in batch.reports)] += 1
    law = {order: Fraction(1, 24) for order in permutations(range(ITEMS))}
    return chi_square(counts, law)  # type: ignore[arg-type]


def test_every_order_is_equally_likely() -> None:
    statistic, limit = orders()
    assert statistic < limit


def by_swaps_anywhere(items: Sequence[bytes]) -> list[bytes]:
    """A well-known slip: swap each with any other, not with one of those that are left."""
    import secrets

    found = list(items)
    for i in range(len(found)):
        j = secrets.randbelow(len(found))
        found[i], found[j] = found[j], found[i]
    return found


@pytest.mark.parametrize("order", [list, sorted, by_swaps_anywhere])
def test_a_relay_that_keeps_some_order_is_caught(
    order: Callable[[Sequence[bytes]], list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixing, "permuted", order)
    statistic, limit = orders()
    assert statistic > limit


def test_own_reports_follow_the_blanket() -> None:
    plan = hush.design(hush.Schema([hush.Categorical("c", ["a", "b", "c"])]), 2.0)
    made = own_reports(plan, 3000)
    assert len({report.id for report in made}) == 3000
    blanket = blanket_of(plan).channels[0]
    law = {output: weight / blanket.size for output, weight in blanket.least.items()}
    statistic, limit = chi_square(Counter(report.answers[0][1] for report in made), law)
    assert statistic < limit
    assert own_reports(plan, 0) == []


def test_sealing_is_that_of_devices() -> None:
    report = hush.randomise(PLAN, {"age": 3, "os": "mac"})
    sealed = seal(report, KEY)
    assert OPENER.open(PLAN, sealed) == report
    assert len(sealed) == len(hush.seal(report, KEY)) == sealed_size(PLAN)
    assert seal(report, KEY) != sealed


YES = hush.design(hush.Schema([hush.Categorical("c", ["no", "yes"])]), 4.0)
TRIALS, FAKES = 200, 9


def guessed(own: int) -> float:
    """How often a collector guesses a person's answer, if it has sent all other reports of each batch itself.

    It removes its own reports, which it knows by their ids. Of the rest it counts those that say yes, and guesses yes
    if they are more than half: no guess is better, as the law of the own reports is symmetric.
    """
    hits = 0
    for trial in range(TRIALS):
        truth = ("no", "yes")[trial % 2]
        fakes = [hush.randomise(YES, {"c": "yes"}) for _ in range(FAKES)]
        person = hush.randomise(YES, {"c": truth})
        body = mixed(YES, KEY, [seal(report, KEY) for report in [*fakes, person]], own)
        known = {report.id for report in fakes}
        seen = [OPENER.open(YES, sealed) for sealed in SealedBatch.decode(YES, body).reports]
        rest = [report for report in seen if report.id not in known]
        assert len(rest) == own + 1
        hits += (sum(report.answers[0][1] == 1 for report in rest) > len(rest) / 2) == (truth == "yes")
    return hits / TRIALS


def test_own_reports_hide_a_person_among_fakes() -> None:
    """With 40 own reports a guess is right in 56 % of all cases; above 78 % is six standard deviations more."""
    assert guessed(own=40) < 0.78


def test_without_own_reports_fakes_leave_a_person_alone() -> None:
    """The twin: then the collector sees the report itself, which says the truth in 98 % of all cases."""
    assert guessed(own=0) > 0.9
