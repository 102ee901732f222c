"""Tallies add up: in any order, on any machine, exactly."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import reduce
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush import Categorical, Plan, PlanError, Report, Schema, Tally, TallyError, design, estimate
from hush.core import codec
from hush.core.blanket import blanket_of
from hush.core.channels import Subsets
from hush.device.randomise import randomise_from
from hush.testing import SeededCoins
from tests.cases import any_record, plans

PLANS = plans()
NAMES = st.sampled_from([name for name in PLANS if name != "wide"])


def reports(name: str, n: int, seed: int = 1) -> list[Report]:
    coins = SeededCoins(seed)
    return [randomise_from(coins, PLANS[name], any_record(PLANS[name], coins.below)) for _ in range(n)]


def tally(name: str, n: int, seed: int = 1) -> Tally:
    result = Tally(PLANS[name])
    result.update(reports(name, n, seed))
    return result


@pytest.mark.parametrize("name", PLANS)
def test_a_tally_counts_what_was_reported(name: str) -> None:
    sent = reports(name, 40)
    result = Tally(PLANS[name])
    for report in sent:
        result.add(report)
    assert result.reports == 40
    for index, question in enumerate(PLANS[name].questions):
        outputs = [output for report in sent for j, output in report.answers if j == index]
        assert result.answered[index] == len(outputs)
        for symbol, count in enumerate(result.counts[index]):
            if isinstance(question.channel.alphabet, Subsets):
                assert count == sum(symbol in output for output in outputs if isinstance(output, tuple))
            else:
                assert count == outputs.count(symbol)


@settings(max_examples=40)
@given(NAMES, st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=6), st.randoms())
def test_order_and_grouping_do_not_matter(name: str, batches: list[tuple[int, int]], random: Any) -> None:
    parts = [tally(name, n, seed) for n, seed in batches]
    whole = Tally(PLANS[name])
    for n, seed in batches:
        for report in reports(name, n, seed):
            whole.add(report)
    random.shuffle(parts)
    assert reduce(Tally.__add__, parts, Tally(PLANS[name])) == whole
    if len(parts) > 2:
        a, b, c = parts[:3]
        assert (a + b) + c == a + (b + c) == c + (b + a)


def test_adding_leaves_the_parts_as_they_were() -> None:
    a, b = tally("default", 5), tally("default", 7, 2)
    before = a.to_json(), b.to_json()
    total = a + b
    total.add(reports("default", 1, 3)[0])
    assert (a.to_json(), b.to_json()) == before
    assert a.copy() == a
    assert a.copy() is not a
    assert sum([a, b]) == a + b


@settings(max_examples=60)
@given(NAMES, st.integers(0, 30), st.integers(0, 5))
def test_tallies_travel_in_both_forms(name: str, n: int, seed: int) -> None:
    plan, original = PLANS[name], tally(name, n, seed)
    assert Tally.from_json(original.to_json(), plan) == original
    assert Tally.from_json(original.to_json()) == original
    assert Tally.decode(plan, original.encode()) == original
    assert Tally.from_json(json.dumps(json.loads(original.to_json()), indent=1), plan) == original


def test_large_counts_travel() -> None:
    plan = PLANS["grr"]
    n = 10**15
    counts = [[0] * question.channel.alphabet.size for question in plan.questions]
    for vector in counts:
        vector[1] = n
    big = Tally(plan, 4 * n, [n] * 4, counts)
    assert Tally.decode(plan, big.encode()) == big
    assert Tally.from_json(big.to_json(), plan) == big
    assert (big + big).reports == 8 * n


def test_other_plans_are_refused_and_nothing_changes() -> None:
    target = tally("default", 3)
    before = target.to_json()
    foreign = reports("titled", 1)[0]
    with pytest.raises(TallyError, match="another plan"):
        target.add(foreign)
    with pytest.raises(TallyError, match="another plan"):
        target.update([*reports("default", 3), foreign])
    with pytest.raises(TallyError, match="different plans"):
        target + tally("titled", 1)
    with pytest.raises(TallyError, match="another plan"):
        Tally.from_json(target.to_json(), PLANS["titled"])
    with pytest.raises(TallyError, match="another plan"):
        Tally.decode(PLANS["titled"], target.encode())
    with pytest.raises(TallyError, match="only reports"):
        target.add(target)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        target + 1  # type: ignore[operator]
    assert target.to_json() == before
    assert target != 1
    with pytest.raises(TypeError):
        hash(target)
    with pytest.raises(TallyError, match="needs a Plan"):
        Tally(PLANS["default"].schema)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"reports": 4}, "has 1 answers"),
        ({"reports": -1}, "number of reports"),
        ({"reports": 3.0}, "number of reports"),
        ({"reports": True}, "number of reports"),
        ({"answered": [3]}, "one vector"),
        ({"answered": [3, 0, 0, -1]}, "number who answered"),
        ({"answered": [1, 1, 1, 0]}, "add up"),
        ({"answered": None}, "array"),
        ({"counts": []}, "one vector"),
        ({"counts": [1, 2, 3, 4]}, "array"),
        ({"hush": 3}, "not a tally of version 2"),
        ({"hush": 1}, "version 1.* reads version 2.* anew"),
        ({"extra": 1}, "exactly the fields"),
    ],
)
def test_tallies_that_cannot_be_are_refused(change: dict[str, Any], rule: str) -> None:
    values = json.loads(tally("grr", 3, 4).to_json())
    with pytest.raises(TallyError, match=rule):
        Tally.from_json(json.dumps(values | {"tally": values["tally"] | change}), PLANS["grr"])


def impossible(name: str, index: int, vector: list[int]) -> Tally:
    plan = PLANS[name]
    good = tally(name, 30, 2)
    counts = [list(values) for values in good.counts]
    counts[index] = vector
    return Tally(plan, good.reports, good.answered, counts)


def test_answers_without_counts_and_counts_without_answers_are_refused() -> None:
    plan = design(Schema([Categorical("a", ["x", "y"]), Categorical("b", ["x", "y"])]), 1.0, k=1)
    for answered in ([0, 5], [5, 0]):
        with pytest.raises(TallyError):
            Tally(plan, 5, answered)
    for counts in ([[1, 0], [0, 0]], [[0, 0], [1, 0]]):
        with pytest.raises(TallyError):
            Tally(plan, 0, [0, 0], counts)


def test_counts_that_no_reports_can_give_are_refused() -> None:
    plan = PLANS["subset"]
    good = tally("subset", 30, 2)
    answered, alphabet = good.answered[2], plan.questions[2].channel.alphabet
    assert isinstance(alphabet, Subsets)
    assert alphabet.weight is not None
    with pytest.raises(TallyError, match="may exceed"):
        impossible("subset", 2, [answered + 1, *[0] * 9])
    with pytest.raises(TallyError, match="for each answer"):
        impossible("subset", 2, [answered, *[0] * 9])
    with pytest.raises(TallyError, match="may exceed"):
        impossible("subset", 2, [-1, *[0] * 9])
    with pytest.raises(TallyError, match="10 integer counts"):
        impossible("subset", 2, [0] * 9)
    with pytest.raises(TallyError, match="10 integer counts"):
        impossible("subset", 2, [1.0, *[0] * 9])  # type: ignore[list-item]


@settings(max_examples=150)
@given(NAMES, st.integers(0, 4), st.data())
def test_a_mutated_tally_is_refused_or_possible(name: str, seed: int, data: st.DataObject) -> None:
    plan: Plan = PLANS[name]
    encoded = bytearray(tally(name, 10, seed).encode())
    at = data.draw(st.integers(0, len(encoded) - 1))
    edit = data.draw(st.binary(max_size=3))
    encoded[at : at + data.draw(st.integers(0, 3))] = edit
    try:
        decoded = Tally.decode(plan, bytes(encoded))
    except TallyError:
        return
    assert decoded.encode() == encoded
    assert sum(decoded.answered) == decoded.reports * plan.k


def relayed(plan: Plan) -> bool:
    """Whether a relay can draw reports of its own: the plan's tables are small enough to list."""
    try:
        blanket_of(plan)
    except PlanError:
        return False
    return True


@pytest.mark.parametrize("name", ["picks", "subset", "duchi"])
def test_a_tally_of_any_plan_may_name_own_reports(name: str) -> None:
    """A tally that names own reports where no relay can draw any is refused as a tally."""
    plan, whole = PLANS[name], tally(name, 10)
    for own in (1, 11):
        encoded, text = whole.encode() + bytes([own]), f'{whole.to_json()[:-1]},"own":{own}}}'
        if own == 1 and relayed(plan):
            assert Tally.decode(plan, encoded) == Tally.from_json(text)
            continue
        rule = "must be an integer from 1 to 10" if own == 11 else "no relay has reports of its own for this plan"
        with pytest.raises(TallyError, match=rule):
            Tally.decode(plan, encoded)
        with pytest.raises(TallyError, match=rule):
            Tally.from_json(text)


ONE = design(Schema([Categorical("c", ["a", "b"])]), 1.0, categorical="grr")
TWO = design(Schema([Categorical("c", ["a", "b"]), Categorical("d", ["a", "b"])]), 1.0, categorical="grr", k=1)


def test_the_bytes_of_a_tally() -> None:
    small = Tally(TWO, 300, [200, 100], [[199, 1], [0, 100]])
    assert small.encode() == b"\x02" + bytes.fromhex(TWO.id) + bytes.fromhex("ac02 c801 c701 01 64 00 64")
    counted = f'{{"answered":[200,100],"counts":[[199,1],[0,100]],"hush":2,"plan":"{TWO.id}","reports":300}}'
    assert small.to_json() == f'{{"hush":2,"plan":{TWO.to_json()},"tally":{counted}}}'
    for broken in (
        b"\x00" + small.encode()[1:],
        b"\x03" + small.encode()[1:],
        small.encode() + b"\0",
        small.encode()[:-1],
    ):
        with pytest.raises(TallyError):
            Tally.decode(TWO, broken)
    for version in ("true", "0", "1", "3", "2.0", '"2"'):
        for before in ("{", ","):  # the file's, and that of the counts
            text = small.to_json().replace(f'{before}"hush":2', f'{before}"hush":{version}')
            with pytest.raises(TallyError, match="version 2"):
                Tally.from_json(text, TWO)
        with pytest.raises((TallyError, PlanError)):
            Tally.from_json(small.to_json().replace('"hush":2', f'"hush":{version}'))
    with pytest.raises(TallyError, match=r"version 1.* reads version 2.* anew"):
        Tally.decode(TWO, b"\x01" + small.encode()[1:])


def test_a_tally_holds_its_plan() -> None:
    """A reader needs nothing else; one that knows the plan takes no other, whatever the counts say of themselves."""
    small = Tally(TWO, 300, [200, 100], [[199, 1], [0, 100]])
    assert Tally.from_json(small.to_json().encode()).plan == TWO
    values = json.loads(small.to_json())
    other = json.loads(replace(TWO, title="other").to_json())
    with pytest.raises(TallyError, match="another plan"):
        Tally.from_json(json.dumps(values | {"plan": other}))
    with pytest.raises(TallyError, match="another plan"):
        Tally.from_json(json.dumps(values | {"plan": other}), TWO)
    with pytest.raises(TallyError, match="another plan"):
        Tally.from_json(small.to_json(), ONE)
    weaker = values["plan"] | {"epsilon": "0.5"}  # a plan that claims more than it keeps
    with pytest.raises(PlanError):
        Tally.from_json(json.dumps(values | {"plan": weaker}))
    others: list[Any] = [values["tally"], values["plan"], [], {"plan": 1}]
    for alone in others:
        with pytest.raises(TallyError, match="exactly the fields"):
            Tally.from_json(json.dumps(alone), TWO)
    with pytest.raises(TallyError, match="not finite"):
        Tally.from_json(json.dumps(values).replace('"0.5"', "1e999").replace('"1.0"', "1e999"))
    with pytest.raises(TallyError, match="another plan"):
        Tally.from_json(json.dumps(values | {"plan": "\ud800"}), TWO)
    wrong: list[Any] = [(TWO, small.to_json()), (TWO, TWO), (small.to_json(), small.to_json())]
    for swapped in wrong:
        with pytest.raises(TallyError, match="text first"):
            Tally.from_json(*swapped)


def test_a_tally_may_be_twice_as_long_as_its_plan() -> None:
    small = Tally(TWO, 300, [200, 100], [[199, 1], [0, 100]])
    assert Tally.from_json(small.to_json() + " " * codec.MAX_TEXT) == small
    with pytest.raises(TallyError, match="longer than"):
        Tally.from_json(small.to_json() + " " * (2 * codec.MAX_TEXT))


def test_the_ends_of_what_a_tally_may_hold() -> None:
    most = 1 << 62
    assert Tally(ONE, most, [most], [[0, most]]).reports == most
    assert Tally(ONE, 0, [0], [[0, 0]]) == Tally(ONE)
    assert Tally(TWO, 3, [0, 3], [[0, 0], [3, 0]]).answered == [0, 3]
    refused: list[tuple[Plan, Any, Any, Any]] = [
        (ONE, most + 1, [most + 1], [[0, most + 1]]),
        (ONE, -1, [-1], [[0, -1]]),
        (ONE, 1, [1], [[1]]),
        (ONE, 1, [1], [[1, 0, 0]]),
        (ONE, 1, [1], [[True, 0]]),
        (ONE, 1, [1], [[1.0, 0]]),
        (ONE, 1, [1, 0], [[1, 0]]),
        (ONE, 1, [1], [[1, 0], [0, 0]]),
        (ONE, 1, [True], [[1, 0]]),
        (TWO, 3, [4, -1], [[4, 0], [0, -1]]),
        (TWO, 2, [2, 1], [[2, 0], [1, 0]]),
        (TWO, 4, [2, 1], [[2, 0], [1, 0]]),
    ]
    for plan, n, answered, counts in refused:
        with pytest.raises(TallyError):
            Tally(plan, n, answered, counts)


def test_only_zero_and_tallies_are_added() -> None:
    some = tally("default", 3)
    assert 0 + some == some
    assert 0 + some is not some
    for other in (1, False, 0.0, None):
        with pytest.raises(TypeError):
            other + some


def test_tallies_that_differ_in_anything_are_not_equal() -> None:
    base = Tally(TWO, 4, [2, 2], [[1, 1], [2, 0]])
    assert base == Tally(TWO, 4, [2, 2], [[1, 1], [2, 0]])
    for other in (
        Tally(TWO, 4, [2, 2], [[1, 1], [1, 1]]),
        Tally(TWO, 4, [3, 1], [[1, 2], [1, 0]]),
        Tally(TWO, 5, [3, 2], [[2, 1], [2, 0]]),
    ):
        assert base != other
    assert base.__eq__(4) is NotImplemented  # so that the other may answer
    titled = design(TWO.schema, 1.0, categorical="grr", k=1, title="another")
    assert base != Tally(titled, 4, [2, 2], [[1, 1], [2, 0]])


def test_a_tally_keeps_nothing_of_the_lists_it_was_given() -> None:
    answered, counts = [1], [[1, 0]]
    made = Tally(ONE, 1, answered, counts)
    answered[0], counts[0][0] = 7, 7
    assert made == Tally(ONE, 1, [1], [[1, 0]])
    copy = made.copy()
    copy.add(Report(ONE, bytes(16), ((0, 1),)))
    assert (made.reports, made.answered, made.counts) == (1, [1], [[1, 0]])
    assert (copy.reports, copy.answered, copy.counts) == (2, [2], [[1, 1]])


def test_a_tally_draws_its_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn is in tests/plots/test_plots.py; here, that it is these rows and this schema."""
    made = Tally(TWO, 400, [200, 200], [[150, 50], [20, 180]])
    drawing = SimpleNamespace(estimates=lambda rows, schema: (rows, schema))  # so that Altair need not be here
    monkeypatch.setitem(sys.modules, "hush.plots", drawing)
    monkeypatch.setitem(vars(hush), "plots", drawing)
    rows, schema = made.plot(level=0.8)  # type: ignore[attr-defined]
    assert schema is TWO.schema
    assert rows == estimate(made, level=0.8)
    first = TWO.schema.names[0]
    assert made.plot(first) == (estimate(made).of(first), TWO.schema)
