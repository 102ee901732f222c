"""What own reports of a relay add to variances, against sums over the whole law of the blanket.

`test_coverage.py` measures how often such intervals cover the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations

import pytest

import hush
from hush.core.blanket import ChannelBlanket, blanket_of
from hush.core.channels import Cells, Output, Rows, Subset, Unary
from hush.server.own import Among
from hush.server.relations.groups import grouped
from hush.server.relations.sets import Counted, counted, law_of, sums
from hush.server.tally import with_own
from tests.cases import SMALL

SETS = [name for name, make in SMALL.items() if isinstance(make(Fraction(1)), Subset | Unary | Rows | Cells)]


def items_of(channel: Subset | Unary | Rows | Cells, output: Output) -> set[int]:
    """The categories, cells or rows that an output names."""
    members = (output,) if isinstance(output, int) else output
    return {member // channel.group for member in members} if isinstance(channel, Rows) else set(members)


def spread(blanket: ChannelBlanket, value: Callable[[Output], float]) -> tuple[float, float]:
    """The mean and the variance of a value in an own report."""
    mean = sum(value(output) * float(chance / blanket.size) for output, chance in blanket.least.items())
    square = sum(value(output) ** 2 * float(chance / blanket.size) for output, chance in blanket.least.items())
    return mean, square - mean * mean


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
@pytest.mark.parametrize("name", SETS)
def test_the_blanket_treats_all_items_alike(name: str, epsilon: str) -> None:
    channel = SMALL[name](Fraction(epsilon))
    assert isinstance(channel, Subset | Unary | Rows | Cells)
    blanket = ChannelBlanket.of(channel)
    size = channel.rows if isinstance(channel, Rows) else channel.alphabet.size
    own = Counted(law_of(channel), (1,) * size, size, Among(blanket, 1.0, 0.0))
    chances, pairs = [Fraction(0)] * size, dict.fromkeys(combinations(range(size), 2), Fraction(0))
    for output, chance in blanket.least.items():
        for item in items_of(channel, output):
            chances[item] += chance / blanket.size
        for pair in combinations(sorted(items_of(channel, output)), 2):
            pairs[pair] += chance / blanket.size
    assert len(set(chances)) == len(set(pairs.values())) == 1
    assert own._blanket == pytest.approx((float(chances[0]), float(pairs[0, 1])), abs=1e-12)


@pytest.mark.parametrize("loose", [0.0, 1.0])
@pytest.mark.parametrize("name", SETS)
def test_sums_of_shares_have_the_variance_of_the_law(name: str, loose: float) -> None:
    channel = SMALL[name](Fraction(2))
    assert isinstance(channel, Subset | Unary | Rows | Cells)
    blanket, law = ChannelBlanket.of(channel), law_of(channel)
    size = channel.rows if isinstance(channel, Rows) else channel.alphabet.size
    weights = [0.3 * item - 0.7 * (item % 3) for item in range(size)]
    x = sums(weights, [1 / size] * size)
    plain = Counted(law, (10,) * size, 40)
    mixed = Counted(law, (10,) * size, 100, Among(blanket, 60.0, loose))
    assert mixed.n == 40

    def value(output: Output) -> float:
        named = sum(weights[item] for item in items_of(channel, output))
        return (named - law.q * x.s) / (law.p - law.q)

    mean, variance = spread(blanket, value)
    added = 1.5 * (variance + loose * (mean - x.f) ** 2) / 40
    assert mixed.variance(x) - plain.variance(x) == pytest.approx(added, abs=1e-12)


SCHEMA = hush.Schema([hush.Categorical("team", list("abc")), hush.Numeric("pay", 0, 10)])


def corrected(plan: hush.Plan, people: int, own: int) -> hush.Tally:
    """A tally of people and of own reports, each with the average counts of all of its questions."""
    blanket, answered, counts = blanket_of(plan), [], []
    for channel, part in zip(blanket.channels, blanket.answered, strict=True):
        here = [round(people / len(plan.questions)), round(own * float(part))]
        total = [0] * channel.channel.alphabet.size
        for place, output in enumerate(list(channel.least) * sum(here)):
            if place == sum(here):
                break
            for member in (output,) if isinstance(output, int) else output:
                total[member] += 1
        answered.append(sum(here))
        counts.append(total)
    found = with_own(hush.Tally(plan, sum(answered), answered, counts), own)
    assert found.own
    return found


@pytest.mark.parametrize("singles", [0.0, 0.4])
def test_differences_of_groups_have_the_covariances_of_the_law(singles: float) -> None:
    plan = hush.design(SCHEMA, 2.0, relations=[("team", "pay")], singles=singles)
    found = grouped(corrected(plan, 300, 400), "pay", "team")
    assert found.own is not None
    assert found.own.loose == float(singles > 0)
    blanket, channel = found.own.blanket, found.channel
    reading = channel.groups(found.counts, found.whole)[0]
    assert reading.presence is not None

    def value(row: int, b: float) -> Callable[[Output], float]:
        def of(output: Output) -> float:
            members = [m for m in ((output,) if isinstance(output, int) else output) if m // channel.group == row]
            place = 1 + members[0] % channel.group if members else 0
            assert reading.presence is not None
            return reading.values[place] - b * reading.presence[place]

        return of

    for i, j in permutations(range(3), 2):
        first, second, away = value(i, 0.3), value(j, -0.2), [found.ratios[i].away(0.3), found.ratios[j].away(-0.2)]
        (a, one), (b, other) = spread(blanket, first), spread(blanket, second)
        both = spread(blanket, lambda y, first=first, second=second: first(y) + second(y))[1]  # type: ignore[misc]
        own, loose = found.own.number / found.n, found.own.loose
        added = found.ratios[i].own
        assert added is not None
        assert found.ratios[i].added(0.3) == pytest.approx(own * (one + loose * a**2), rel=1e-9)
        assert added.at(0.3, away[0]) == pytest.approx(own * (one + loose * (a - away[0]) ** 2), rel=1e-9)
        together = own * ((both - one - other) / 2 + loose * (a - away[0]) * (b - away[1]))
        assert found._added(i, j, 0.3, -0.2) == pytest.approx(together, rel=1e-9, abs=1e-12)


def test_one_question_has_no_doubt_about_the_number_of_own_reports() -> None:
    """All own reports answer it: what they add is their variance alone."""
    plan = hush.design(hush.Schema([hush.Categorical("c", list("abcd"))]), 4.0)
    tally = corrected(plan, 100, 300)
    unit, channel = [1.0, 0.0, 0.0, 0.0], blanket_of(plan).channels[0]
    law, own = law_of(channel.channel), tally.among(0)
    assert own is not None
    assert own.loose == 0.0
    _, variance = spread(channel, lambda output: (output == 0) / (law.p - law.q))
    found = counted(tally, 0)
    x = sums(unit, found.shares)
    assert found.variance(x) == pytest.approx(law.variance(x) / 100 + 300 * variance / 100**2)
