"""Records and reports that are refused, and by which rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hush.core.calendar import DAY, Counted, Date, Time
from hush.core.channels import Grouped
from hush.core.kinds import Boolean
from hush.core.plan import Plan
from hush.core.report import Report, index_width
from hush.core.schema import Categorical, Choices, Numeric
from hush.core.texts import Text
from hush.testing import SeededCoins
from spec.good import record


def bad_records(plan: Plan) -> Iterator[dict[str, Any]]:
    """Records that must be refused before a word is drawn. {"number": "NaN"} stands for what JSON cannot say."""
    fine = record(plan, SeededCoins(7), 2)
    first = plan.schema.attributes[0]
    yield {"why": "unknown attribute", "record": fine | {"nobody": 1}}
    values: list[Any] = [None, True, "surely not a value", [], {"number": "NaN"}, {"number": "Infinity"}]
    for value in values:
        if value is None and first.optional:
            continue
        if isinstance(first, Text) and isinstance(value, str):
            value = "x" * 4097
        yield {"why": "bad value", "record": fine | {first.name: value}}
    for attribute in plan.schema.attributes[:6]:
        if isinstance(attribute, Counted):
            for value in NO_DATES if isinstance(attribute, Date) else NO_TIMES:
                yield {"why": attribute.rule, "record": fine | {attribute.name: value}}
            around = isinstance(attribute, Time) and attribute.high - attribute.low + 1 == DAY // attribute.step
            if attribute.out_of_range == "error" and not around:
                for number in (attribute.low - 1, attribute.high + 1):
                    yield {"why": "out of range", "record": fine | {attribute.name: attribute.named(number)}}
        elif isinstance(attribute, Numeric) and attribute.out_of_range == "error":
            yield {"why": "out of range", "record": fine | {attribute.name: attribute.high * 2 + 1}}
            yield {
                "why": "out of range",
                "record": fine | {attribute.name: attribute.low - (1 if attribute.whole else 1e-9)},
            }
        elif isinstance(attribute, Categorical):
            if not attribute.other:
                yield {"why": "unknown category", "record": fine | {attribute.name: "(missing)"}}
            else:
                for value in (7, True, ["firefox"]):
                    yield {"why": "no text", "record": fine | {attribute.name: value}}
            yield {"why": "wrong type", "record": fine | {attribute.name: 1.5}}
        elif isinstance(attribute, Choices):
            first_, *others = attribute.values
            yield {"why": "not a list", "record": fine | {attribute.name: first_}}
            yield {"why": "no text", "record": fine | {attribute.name: [1]}}
            yield {"why": "an unknown value", "record": fine | {attribute.name: ["(missing)"]}}
            yield {"why": "twice the same", "record": fine | {attribute.name: [first_, first_]}}
            yield {"why": "too many", "record": fine | {attribute.name: [first_, *others[: attribute.most]]}}
        if isinstance(attribute, Numeric) and attribute.whole and not isinstance(attribute, Counted):
            for value in (2.5, -0.5, 1e-300, "3", True):
                yield {"why": "not a whole number", "record": fine | {attribute.name: value}}
        if isinstance(attribute, Text):
            for value in (7, True, ["a"], "日" * 4097):
                yield {"why": "no text, or too long", "record": fine | {attribute.name: value}}
        if isinstance(attribute, Boolean):
            for value in (0, 1, "true", "yes", [True]):
                yield {"why": "not a boolean", "record": fine | {attribute.name: value}}


NO_DATES: list[Any] = [
    "",
    "1999-02-29",
    "1900-02-29",
    "2000-00-10",
    "2000-13-10",
    "2000-04-31",
    "2000-01-00",
    "0000-01-01",
    "10000-01-01",
    "+2000-01-01",
    "-2000-01-01",
    "2000-1-1",
    "20000101",
    "2000-W01-1",
    "2000-01-01T00:00",
    "2000-01-01Z",
    " 2000-01-01",
    "2000-01-01\n",
    "２０００-01-01",
    "2000/01/01",
    0,
    10957,
    10957.5,
]
NO_TIMES: list[Any] = [
    "",
    "24:00",
    "24:00:00",
    "12:60",
    "12:00:60",
    "7:30",
    "07:3",
    "0730",
    "07",
    "07:30:00.5",
    "07:30Z",
    "07:30:00+00:00",
    "07:30 PM",
    " 07:30",
    "07:30\n",
    "０７:30",
    "-07:30",
    0,
    450,
    7.5,
]


def bad_reports(plan: Plan, report: Report) -> Iterator[dict[str, str]]:
    """Bytes that are no report of this plan."""
    data = report.encode()
    index = report.answers[0][0]
    yield {"why": "empty", "report": ""}
    yield {"why": "version 1", "report": (bytes([1]) + data[1:]).hex()}
    yield {"why": "a later version", "report": (bytes([3]) + data[1:]).hex()}
    yield {"why": "wrong plan", "report": (data[:1] + bytes([data[1] ^ 1]) + data[2:]).hex()}
    yield {"why": "cut short", "report": data[:-1].hex()}
    yield {"why": "trailing byte", "report": (data + b"\0").hex()}
    if plan.k < len(plan.questions):
        width = 1 if len(plan.questions) <= 256 else 2
        beyond = len(plan.questions).to_bytes(width, "big")
        yield {"why": "no such question", "report": (data[:25] + beyond + data[25 + width :]).hex()}
        if plan.k > 1:
            size = width + plan.questions[index].channel.alphabet.width
            answer = data[25 : 25 + size]
            yield {"why": "question answered twice", "report": (data[:25] + answer * plan.k).hex()}
    alphabet = plan.questions[report.answers[-1][0]].channel.alphabet
    top = (1 << 8 * alphabet.width) - 1
    for output in (top, 0):
        encoded = data[: -alphabet.width] + output.to_bytes(alphabet.width, "big")
        if not valid(plan, encoded):
            yield {"why": "output outside the alphabet", "report": encoded.hex()}


def two_of_one(plan: Plan, report: Report) -> Iterator[dict[str, str]]:
    """Bytes of the right number of members, two of them of one group: both signs of an attribute, cells of one row."""
    data = report.encode()
    at = len(data)
    width = index_width(plan)
    for index, _ in reversed(report.answers):
        alphabet = plan.questions[index].channel.alphabet
        end, at = at, at - alphabet.width
        if isinstance(alphabet, Grouped) and alphabet.weight is not None and alphabet.weight > 1:
            step = alphabet.group
            for first in {0, step - 2}:
                others = range(step, step * (alphabet.weight - 1), step)
                pair = alphabet.pack((first, first + 1, *others))
                yield {"why": "two members of one group", "report": (data[:at] + pair + data[end:]).hex()}
        at -= width


def valid(plan: Plan, data: bytes) -> bool:
    """Whether these bytes are a report."""
    try:
        Report.decode(plan, data)
    except ValueError:
        return False
    return True


def bad_json(report: Report) -> Iterator[dict[str, str]]:
    """Texts that are no report of this plan."""
    values = json.loads(report.to_json())
    answers = values["answers"]
    changes: dict[str, dict[str, Any]] = {
        "version 1": {"hush": 1},
        "a later version": {"hush": 3},
        "version as text": {"hush": "2"},
        "wrong plan": {"plan": "0" * 64},
        "short id": {"id": values["id"][:-2]},
        "upper-case id": {"id": "ABCDEF" + values["id"][6:]},
        "no answers": {"answers": []},
        "question as text": {"answers": [["0", answers[0][1]], *answers[1:]]},
        "negative question": {"answers": [[-1, answers[0][1]], *answers[1:]]},
        "output as text": {"answers": [[answers[0][0], "1"], *answers[1:]]},
        "output as fraction": {"answers": [[answers[0][0], 1.5], *answers[1:]]},
        "output as boolean": {"answers": [[answers[0][0], True], *answers[1:]]},
        "output too large": {"answers": [[answers[0][0], 10**6], *answers[1:]]},
        "output a set too large": {"answers": [[answers[0][0], [0, 10**6]], *answers[1:]]},
        "answer of three": {"answers": [[*answers[0], 0], *answers[1:]]},
        "extra field": {"extra": 1},
    }
    for why, change in changes.items():
        yield {"why": why, "text": json.dumps(values | change)}
    yield {"why": "missing field", "text": json.dumps({key: values[key] for key in ("hush", "plan", "id")})}
    yield {"why": "repeated key", "text": report.to_json()[:-1] + ',"hush":2}'}
    yield {"why": "not JSON", "text": report.to_json()[:-1]}
