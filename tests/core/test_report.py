"""Reports: small, strict, and never an exception of another kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush import Categorical, Numeric, Plan, Report, ReportError, Schema, design
from hush.core.channels import Subsets
from hush.core.report import MAX_TEXT, sizes
from hush.device.randomise import randomise_from
from hush.testing import SeededCoins
from tests.cases import MIXED, RECORD, any_record, plans

PLANS = plans()
ID = bytes(range(16))


def some_report(name: str, seed: int = 1) -> Report:
    coins = SeededCoins(seed)
    return randomise_from(coins, PLANS[name], any_record(PLANS[name], coins.below))


@pytest.mark.parametrize("name", PLANS)
def test_reports_travel_in_both_forms(name: str) -> None:
    plan = PLANS[name]
    for seed in range(30):
        report = some_report(name, seed)
        assert Report.decode(plan, report.encode()) == report
        assert Report.from_json(plan, report.to_json()) == report
        assert Report.from_json(plan, report.to_json().encode()) == report
        assert json.loads(report.to_json())["plan"] == plan.id


def test_a_census_record_at_epsilon_1_takes_at_most_40_bytes() -> None:
    """16 attributes, 6 numeric and 10 categorical with up to 64 values."""
    sizes = [2, 2, 3, 4, 6, 9, 16, 25, 51, 64]
    schema = Schema(
        [*(Numeric(f"n{i}", 0, 1) for i in range(6)), *(Categorical(f"c{k}", range(s)) for k, s in enumerate(sizes))]
    )
    for categorical in ("subset", "oue", "grr"):
        plan = design(schema, 1.0, categorical=categorical)
        coins = SeededCoins(5)
        lengths = {len(randomise_from(coins, plan, any_record(plan, coins.below)).encode()) for _ in range(300)}
        assert max(lengths) <= 40


@settings(max_examples=1500)
@given(st.sampled_from([*PLANS]), st.integers(0, 20), st.data())
def test_a_mutated_report_is_refused_or_valid(name: str, seed: int, data: st.DataObject) -> None:
    plan, report = PLANS[name], some_report(name, seed)
    encoded = bytearray(report.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        action = data.draw(st.sampled_from(["flip", "set", "cut", "insert", "append"]))
        at = data.draw(st.integers(0, max(len(encoded) - 1, 0)))
        if action == "append" or not encoded:
            encoded += data.draw(st.binary(min_size=1, max_size=3))
        elif action == "flip":
            encoded[at] ^= 1 << data.draw(st.integers(0, 7))
        elif action == "set":
            encoded[at] = data.draw(st.integers(0, 255))
        elif action == "cut":
            del encoded[at:]
        else:
            encoded[at:at] = data.draw(st.binary(min_size=1, max_size=2))
    try:
        decoded = Report.decode(plan, bytes(encoded))
    except ReportError:
        return
    assert decoded.plan.id == plan.id
    assert decoded.encode() == encoded  # one way to write each report


@settings(max_examples=250)
@given(st.sampled_from([*PLANS]), st.binary(max_size=64))
def test_random_bytes_are_refused_or_valid(name: str, data: bytes) -> None:
    plan = PLANS[name]
    for candidate in (data, bytes([2]) + bytes.fromhex(plan.id)[:8] + data):
        with suppress(ReportError):
            assert Report.decode(plan, candidate).encode() == candidate


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=100)
@given(st.sampled_from([*PLANS]), st.sampled_from(["hush", "plan", "id", "answers"]), JSON)
def test_a_mutated_json_report_is_refused_or_valid(name: str, field: str, junk: Any) -> None:
    plan = PLANS[name]
    values = json.loads(some_report(name).to_json())
    values[field] = junk
    for text in (json.dumps(values), json.dumps(junk)):
        try:
            report = Report.from_json(plan, text)
        except ReportError:
            continue
        assert report.plan is plan


@settings(max_examples=150)
@given(st.sampled_from([*PLANS]), st.data())
def test_an_edited_json_report_is_refused_or_valid(name: str, data: st.DataObject) -> None:
    text = some_report(name).to_json()
    at = data.draw(st.integers(0, len(text) - 1))
    edited = text[:at] + data.draw(st.text(max_size=2)) + text[at + data.draw(st.integers(0, 2)) :]
    try:
        read = Report.from_json(PLANS[name], edited)
    except ReportError:
        return
    assert Report.from_json(PLANS[name], read.to_json()) == read
    assert Report.decode(PLANS[name], read.encode()) == read


def changed(report: Report, at: int, value: int) -> bytes:
    data = bytearray(report.encode())
    data[at] = value
    return bytes(data)


def versioned(report: Report, version: int) -> str:
    return report.to_json().replace('"hush":2', f'"hush":{version}')


BAD: list[tuple[str, Callable[[Plan, Report], object], str]] = [
    ("version", lambda p, r: Report.decode(p, changed(r, 0, 3)), "not a report of version 2"),
    ("old version", lambda p, r: Report.decode(p, changed(r, 0, 1)), "version 1.* reads version 2.* anew"),
    ("plan", lambda p, r: Report.decode(PLANS["titled"], r.encode()), "another plan"),
    ("question", lambda p, r: Report.decode(p, changed(r, 25, 6)), "question of an answer"),
    ("cut", lambda p, r: Report.decode(p, r.encode()[:-1]), "cut short"),
    ("empty", lambda p, r: Report.decode(p, b""), "cut short"),
    ("trailing", lambda p, r: Report.decode(p, r.encode() + b"\0"), "1 bytes too many"),
    ("not bytes", lambda p, r: Report.decode(p, r.encode().hex()), "must be bytes"),  # type: ignore[arg-type]
    ("json plan", lambda p, r: Report.from_json(PLANS["titled"], r.to_json()), "another plan"),
    ("json version", lambda p, r: Report.from_json(p, versioned(r, 3)), "not a report of version 2"),
    ("old json version", lambda p, r: Report.from_json(p, versioned(r, 1)), "version 1.* reads version 2.* anew"),
    ("json repeated key", lambda p, r: Report.from_json(p, r.to_json()[:-1] + ',"hush":1}'), "not valid JSON"),
    ("json depth", lambda p, r: Report.from_json(p, "[" * 10**5), "not valid JSON"),
    ("id size", lambda p, r: Report(p, ID[:-1], r.answers), "16 bytes"),
    ("id type", lambda p, r: Report(p, "x" * 16, r.answers), "16 bytes"),  # type: ignore[arg-type]
    ("no answers", lambda p, r: Report(p, ID, ()), "has 1 answers"),
    ("too many answers", lambda p, r: Report(p, ID, (*r.answers, *r.answers)), "has 1 answers"),
    ("answers as list", lambda p, r: Report(p, ID, [*r.answers]), "has 1 answers"),  # type: ignore[arg-type]
    ("answer of three", lambda p, r: Report(p, ID, ((0, 1, 2),)), "pair"),  # type: ignore[arg-type]
    ("question negative", lambda p, r: Report(p, ID, ((-1, 0),)), "must increase"),
    ("question too large", lambda p, r: Report(p, ID, ((6, 0),)), "must increase"),
    ("question boolean", lambda p, r: Report(p, ID, ((False, 0),)), "must increase"),
    ("output too large", lambda p, r: Report(p, ID, ((3, 3),)), "from 0 to 2"),
    ("output negative", lambda p, r: Report(p, ID, ((3, -1),)), "from 0 to 2"),
    ("output boolean", lambda p, r: Report(p, ID, ((3, True),)), "from 0 to 2"),
    ("output a million in a set", lambda p, r: Report(p, ID, ((4, (1, 10**6)),)), "from 0 to 7"),
    ("set too small", lambda p, r: Report(p, ID, ((4, (1,)),)), "2 members"),
    ("set repeated", lambda p, r: Report(p, ID, ((4, (1, 1)),)), "increase"),
    ("set as list", lambda p, r: Report(p, ID, ((4, [1, 2]),)), "set of integers"),  # type: ignore[arg-type]
    ("set of floats", lambda p, r: Report(p, ID, ((4, (1, 2.0)),)), "set of integers"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "rule"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_reports_are_refused_by_rule(make: Callable[[Plan, Report], object], rule: str) -> None:
    plan = PLANS["default"]
    report = Report(plan, ID, ((3, 1),))
    with pytest.raises(ReportError, match=rule):
        make(plan, report)


def test_no_question_is_answered_twice() -> None:
    plan = PLANS["k=3"]
    first = some_report("k=3").answers[0]
    with pytest.raises(ReportError, match="none may be answered twice"):
        Report(plan, ID, (first, first, first))


def test_a_report_shows_what_it_sends_and_nothing_else() -> None:
    report = Report(PLANS["default"], ID, ((3, 1),))
    assert repr(report) == f"<Report {ID.hex()} of plan {PLANS['default'].id[:12]}: ((3, 1),)>"
    assert report.encode() == bytes([2]) + bytes.fromhex(PLANS["default"].id)[:8] + ID + bytes([3, 1])


@pytest.mark.parametrize(("questions", "width"), [(256, 1), (257, 2)])
def test_the_index_takes_one_byte_up_to_256_questions(questions: int, width: int) -> None:
    plan = design(Schema([Categorical(f"c{i}", [1, 2]) for i in range(questions)]), 1.0)
    report = Report(plan, ID, ((questions - 1, 1),))
    assert len(report.encode()) == 25 + width + 1
    assert Report.decode(plan, report.encode()) == report


def test_all_questions_answered_need_no_index() -> None:
    plan = design(MIXED, 3.0, k="all")
    report = randomise_from(SeededCoins(1), plan, RECORD)
    widths = sum(question.channel.alphabet.width for question in plan.questions)
    assert len(report.encode()) == 25 + widths


def test_the_text_of_a_report_has_a_greatest_length() -> None:
    plan, report = PLANS["default"], Report(PLANS["default"], ID, ((3, 1),))
    text = report.to_json()
    assert MAX_TEXT == 1 << 20
    assert Report.from_json(plan, text + " " * (MAX_TEXT - len(text))) == report
    with pytest.raises(ReportError, match="longer"):
        Report.from_json(plan, text + " " * (MAX_TEXT - len(text) + 1))


def test_the_json_of_a_report() -> None:
    plan = PLANS["default"]
    text = Report(plan, ID, ((3, 1),)).to_json()
    assert text == f'{{"answers":[[3,1]],"hush":2,"id":"{ID.hex()}","plan":"{plan.id}"}}'
    for answers in (
        "[]",
        "[[3]]",
        "[[3,1,0]]",
        "[[6,1]]",
        "[[-1,1]]",
        "[[true,1]]",
        "[3,1]",
        "{}",
        '["31"]',
        "[[3,1],[3,1]]",
    ):
        with pytest.raises(ReportError):
            Report.from_json(plan, text.replace("[[3,1]]", answers))
    for version in ("0", "1", "3", "true", "2.0"):
        with pytest.raises(ReportError, match="version 2"):
            Report.from_json(plan, text.replace('"hush":2', f'"hush":{version}'))
    last = (
        Report(plan, ID, ((5, (0,)),))
        if isinstance(plan.channel("smokes").alphabet, Subsets)
        else Report(plan, ID, ((5, 0),))
    )
    assert Report.from_json(plan, last.to_json()) == Report.decode(plan, last.encode()) == last


@pytest.mark.parametrize("name", ["default", "k=3", "split", "subset", "multi", "wide", "oue"])
def test_the_sizes_of_a_plan_are_those_of_its_reports(name: str) -> None:
    plan = PLANS[name]
    least, most = sizes(plan)
    widths = sorted(question.channel.alphabet.width for question in plan.questions)
    index = 0 if plan.k == len(plan.questions) else 1 if len(plan.questions) <= 256 else 2
    assert least == 1 + 8 + 16 + plan.k * index + sum(widths[: plan.k])
    assert most == 1 + 8 + 16 + plan.k * index + sum(sorted(widths, reverse=True)[: plan.k])
    lengths = {len(some_report(name, seed).encode()) for seed in range(60)}
    assert least <= min(lengths) <= max(lengths) <= most


def test_questions_must_increase_and_may_be_the_first_and_the_last() -> None:
    plan = PLANS["k=3"]
    every = {index: output for seed in range(40) for index, output in some_report("k=3", seed).answers}
    first, second, last = ((j, every[j]) for j in (0, 1, 5))
    assert Report(plan, ID, (first, second, last)).answers == (first, second, last)
    for answers in ((first, last, second), (first, first, last), (second, first, last)):
        with pytest.raises(ReportError, match="increase"):
            Report(plan, ID, answers)
    with pytest.raises(ReportError, match="pair"):
        Report(plan, ID, (first, second, [5, every[5]]))  # type: ignore[arg-type]
    for junk in (b"", b"\x02", b"\x01" + some_report("k=3").encode()[1:]):
        with pytest.raises(ReportError):
            Report.decode(plan, junk)
