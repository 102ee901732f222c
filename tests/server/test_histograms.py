"""Histograms of reports: what a DAP task of Prio3Histogram takes and returns (docs/dap.md).

`prio3_histogram.json` has measurements and results of the test vectors of VDAF. The last test runs the reference
implementation of VDAF, if it is installed (`vdaf_poc`, Python 3.12 or newer).
"""

from __future__ import annotations

import json
import math
import secrets
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush import Categorical, Numeric, Plan, PlanError, Report, Schema, Tally, TallyError, design, estimate
from hush.core.buckets import buckets_of
from hush.core.channels import CHANNELS, Grouped, Points, Subsets, Symbols
from hush.core.plan import Question
from hush.device.randomise import randomise_from
from hush.server.tally import MAX_REPORTS
from hush.testing import SeededCoins
from tests.cases import FAR, SMALL, any_record, plans

PLANS = {name: plan for name, plan in plans().items() if plan.k == 1}
for numeric in ("hybrid", "piecewise", "piecewise-sub", "duchi", "laplace", "scdf", "staircase"):
    PLANS[numeric] = design(Schema([Numeric("x", 0, 10), Categorical("c", ["a", "b"])]), 2.0, numeric=numeric, k=1)
PLANS["ladder"] = design(FAR, 1.0, k=1)  # its channels are those of `plans`
PLANS["geometry"] = design(Schema([Categorical("c", list("abcdefghij"))]), 2.0, categorical="geometry", k=1)
VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("prio3_histogram.json").read_text())["vectors"]


def reports(plan: Plan, n: int, seed: int = 1) -> list[Report]:
    coins = SeededCoins(seed)
    return [randomise_from(coins, plan, any_record(plan, coins.below)) for _ in range(n)]


def counted(plan: Plan, some: list[Report]) -> list[int]:
    """What aggregators return: the sum of one-hot vectors."""
    counts = [0] * plan.buckets
    for report in some:
        counts[report.measurement()] += 1
    return counts


def tallied(plan: Plan, some: list[Report]) -> Tally:
    tally = Tally(plan)
    tally.update(some)
    return tally


@pytest.mark.parametrize("name", PLANS)
def test_a_histogram_is_a_tally(name: str) -> None:
    plan = PLANS[name]
    some = reports(plan, 200)
    assert Tally.from_histogram(plan, counted(plan, some)) == tallied(plan, some)


def test_every_kind_of_channel_is_among_them() -> None:
    channels = [question.channel for name in PLANS for question in PLANS[name].questions]
    assert {type(channel.alphabet) for channel in channels} == {Symbols, Subsets, Grouped, Points}
    assert {channel.kind for channel in channels} == {*CHANNELS}


@settings(max_examples=60)
@given(st.sampled_from(sorted(PLANS)), st.integers(0, 40), st.integers(0, 5))
def test_any_reports_travel_as_a_histogram(name: str, n: int, seed: int) -> None:
    some = reports(PLANS[name], n, seed)
    assert Tally.from_histogram(PLANS[name], counted(PLANS[name], some)) == tallied(PLANS[name], some)


@pytest.mark.parametrize("name", PLANS)
def test_every_report_has_a_bucket_of_its_own(name: str) -> None:
    plan = PLANS[name]
    answers = [(index, output) for index, some in enumerate(buckets_of(plan).outputs) for output in some]
    for index, output in answers:
        plan.questions[index].channel.alphabet.check(output)
    found = [Report(plan, bytes(16), (answer,)).measurement() for answer in answers]
    assert found == list(range(plan.buckets))


@pytest.mark.parametrize("name", SMALL)
def test_alphabets_list_every_output_once_in_order(name: str) -> None:
    channel = SMALL[name](Fraction(1))
    listed = list(channel.alphabet.listed())
    assert len(listed) == channel.alphabet.outputs
    assert listed == sorted(set(listed))
    assert set(channel.law(next(channel.states()))) <= set(listed)


def grr(size: int, name: str = "c") -> Question:
    return design(Schema([Categorical(name, range(size))]), 2.0, categorical="grr").questions[0]


def of(length: int, parts: int) -> Plan:
    """A plan of questions of one symbol with this many buckets in all."""
    sizes = [length // parts] * (parts - 1)
    sizes.append(length - sum(sizes))
    schema = Schema([Categorical(f"c{i}", range(size)) for i, size in enumerate(sizes)])
    return Plan(schema, Fraction(2), 1, tuple(grr(size, f"c{i}") for i, size in enumerate(sizes)))


def in_bucket(plan: Plan, place: int) -> Report:
    """The report with this number, by the definition in words: question after question, symbol after symbol."""
    index = 0
    while place >= plan.questions[index].channel.alphabet.size:
        place -= plan.questions[index].channel.alphabet.size
        index += 1
    return Report(plan, bytes(16), ((index, place),))


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["length"]))
def test_measurements_and_results_of_the_vectors(vector: dict[str, Any], parts: int) -> None:
    plan = of(vector["length"], parts)
    assert plan.buckets == vector["length"]
    some = [in_bucket(plan, measurement) for measurement in vector["measurements"]]
    assert [report.measurement() for report in some] == vector["measurements"]
    assert Tally.from_histogram(plan, vector["agg_result"]) == tallied(plan, some)


def test_the_numbers_of_the_page() -> None:
    """docs/dap.md says how many buckets questions take."""
    number, category = Schema([Numeric("x", 0, 1)]), Schema([Categorical("c", range(16))])
    assert (design(number, 4.0).buckets, design(category, 4.0).buckets, design(category, 1.0).buckets) == (64, 16, 1820)


def test_bad_counts_are_refused() -> None:
    plan = of(4, 1)
    for counts in ([1, 2, 3], [1, 2, 3, 4, 5], [], "1234", b"1234", {0: 1, 1: 2, 2: 3, 3: 4}, iter([1, 2, 3, 4]), 4):
        with pytest.raises(TallyError, match="a sequence of 4 counts"):
            Tally.from_histogram(plan, counts)  # type: ignore[arg-type]
    # A Prio3 field element that stands for -1, as noise may leave it, is too large.
    for bad in (-1, True, 1.0, "1", None, math.nan, MAX_REPORTS + 1, 2**128 - 7 * 2**66):
        with pytest.raises(TallyError, match="a count of a histogram must be an integer"):
            Tally.from_histogram(plan, [1, bad, 0, 0])  # type: ignore[list-item]
    with pytest.raises(TallyError, match="at most"):
        Tally.from_histogram(plan, [MAX_REPORTS, 1, 0, 0])
    assert Tally.from_histogram(plan, (MAX_REPORTS, 0, 0, 0)).reports == MAX_REPORTS
    with pytest.raises(TallyError, match="needs a Plan"):
        Tally.from_histogram([1], plan)  # type: ignore[arg-type]


def test_plans_without_a_histogram_are_refused() -> None:
    schema = Schema([Numeric("x", 0, 1), Categorical("c", list("abc"))])
    several = design(schema, 4.0, k=2)
    large = design(Schema([Numeric("x", 0, 1), Categorical("bits", range(17))]), 2.0, k=1, categorical="oue")
    for plan, rule in ((several, "k = 2"), (large, "'bits'.*unary.*65536")):
        report = reports(plan, 1)[0]
        for action in (
            lambda plan=plan: plan.buckets,
            report.measurement,
            lambda plan=plan: Tally.from_histogram(plan, []),
        ):
            with pytest.raises(PlanError, match=rule):
                action()


def test_the_reference_implementation_adds_up_reports() -> None:
    """Two aggregators that see shares alone return the tally of all reports, and refuse a report in two buckets."""
    if sys.version_info < (3, 12):
        pytest.skip("VDAF's reference implementation needs Python 3.12")
    prio3 = pytest.importorskip("vdaf_poc.vdaf_prio3", reason="needs VDAF's vdaf_poc")
    run = pytest.importorskip("vdaf_poc.vdaf").run_vdaf
    schema = Schema([Numeric("hours", 0, 24, optional=True), Categorical("system", ["linux", "mac", "other"])])
    for plan in (design(schema, 4.0, k=1), design(Schema([Categorical("c", range(6))]), 1.0, categorical="subset")):
        some = reports(plan, 15)
        task = prio3.Prio3Histogram(2, plan.buckets, round(math.sqrt(plan.buckets)))
        key = secrets.token_bytes(task.VERIFY_KEY_SIZE)
        result = run(task, key, None, b"hush", [report.measurement() for report in some])
        assert Tally.from_histogram(plan, result) == tallied(plan, some)
        assert len(estimate(Tally.from_histogram(plan, result))) == len(estimate(tallied(plan, some)))

        class Twice(type(task.flp.valid)):  # type: ignore[misc]  # an evil device: one report in two buckets
            def encode(self, measurement: int) -> Any:
                encoded = super().encode(measurement)
                encoded[(measurement + 1) % len(encoded)] = encoded[measurement]
                return encoded

        task.flp.valid.__class__ = Twice
        with pytest.raises(Exception, match="verif"):
            run(task, key, None, b"hush", [some[0].measurement()])
