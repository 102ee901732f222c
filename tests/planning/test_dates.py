"""Laws and predictions of dates and times of day, against exact numbers."""

from __future__ import annotations

import json
import math
from datetime import date
from fractions import Fraction
from pathlib import Path

import pytest

import hush
from hush.core.calendar import Counted
from hush.planning import laws
from tests.cli.test_commands import run

SCHEMA = hush.Schema(
    [
        hush.Date("born", "1930-01-01", "2009-12-31"),
        hush.Time("up", "22:00", "12:00"),  # over midnight
        hush.Time("run", "00:00:00", "00:59:59", step=1),
    ]
)
PLAN = hush.design(SCHEMA, 2.0)
VALUES = {
    "born": [("1930-01-01", -14610), ("1980-02-29", 3711), ("2009-12-31", 14609)],
    "up": [("22:00", 1320), ("00:00", 1440), ("07:30", 1890), ("12:00", 2160)],
    "run": [("00:00:00", 0), ("00:31:07", 1867), ("00:59:59", 3599)],
}
CASES = [(name, text, number) for name, values in VALUES.items() for text, number in values]


@pytest.mark.parametrize(("name", "text", "number"), CASES)
def test_the_law_of_a_date_has_the_date_as_its_mean(name: str, text: str, number: int) -> None:
    """In rational arithmetic, and exactly at both ends: days since 1970, or steps since the midnight before."""
    if name == "born":
        assert (date.fromisoformat(text) - date(1970, 1, 1)).days == number
    field, channel = SCHEMA[name], PLAN.channel(name)
    assert isinstance(field, Counted)
    law = PLAN.law(name, text)
    assert sum(law.values()) == 1
    half = (Fraction(field.high) - Fraction(field.low)) / 2
    read = {output: Fraction(field.low) + (Fraction(channel.decode(output)[0]) + 1) * half for output in law}
    mean = sum((p * read[output] for output, p in law.items()), Fraction(0))
    # A window has finitely many states, and a value lies between two of them: DESIGN.md says how far a mean may move.
    assert abs(mean - number) <= 2 * half / 10**7
    if number in (field.low, field.high):
        assert mean == number


def test_rows_of_a_law_are_dates_and_add_up_exactly() -> None:
    texts = [text for text, _ in VALUES["born"]]
    rows = laws.rows(PLAN, "born", texts, most=6)
    for place, text in enumerate(texts):
        assert sum(row.probabilities[place] for row in rows) == 1
        assert sum(row.outputs for row in rows) == len(PLAN.law("born", text))
    ends = [date.fromisoformat(part) for row in rows for part in row.label.split(" .. ")]
    assert ends == sorted(ends)
    channel, law = PLAN.channel("born"), PLAN.law("born", texts[0])
    least = min(channel.decode(output)[0] for output in law)
    days = -14610 + float((least + 1) * Fraction(29219, 2))
    assert (ends[0] - date(1970, 1, 1)).days == math.floor(days + 0.5)


def test_times_beyond_midnight_keep_their_order() -> None:
    """A report about a time stands for a number that may lie beyond a day: 25:10, and not 01:10 once more."""
    rows = laws.rows(PLAN, "up", ["23:00", "07:30"], most=8)

    def minutes(label: str) -> int:
        hours, _, rest = label.lstrip("-").partition(":")
        return (-1 if label.startswith("-") else 1) * (60 * int(hours) + int(rest))

    ends = [minutes(part) for row in rows for part in row.label.split(" .. ")]
    assert ends == sorted(ends)
    assert ends[-1] > 24 * 60
    assert laws.rows(PLAN, "run", ["00:31:07"], most=4)[-1].label.count(":") >= 2


@pytest.mark.parametrize("name", VALUES)
def test_predicted_margins_are_those_of_the_worst_variance(name: str) -> None:
    """A third of the people answer each; half at each end of the range vary by 1, besides the noise of the channel."""
    people = 9000
    (row,) = hush.predict(PLAN, people).of(name)
    field, channel = SCHEMA[name], PLAN.channel(name)
    assert isinstance(field, Counted)
    answers = Fraction(people, 3)
    exact = float(field.high - field.low) / 2 * math.sqrt(float((channel.variance(1) + 1) / answers))
    assert row.answers == pytest.approx(float(answers))
    assert row.stderr == pytest.approx(exact, rel=1e-6)
    assert row.margin == pytest.approx(1.959964 * exact, rel=2e-3)


def test_the_commands_speak_of_days_and_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_text(PLAN.to_json())
    told = run("predict", "plan.json", "--people", "9000").output
    assert " days" in told
    assert " minutes" in told
    assert " seconds" in told
    found = json.loads(run("predict", "plan.json", "--people", "9000", "--json").output)["rows"]
    assert [row["margin"] for row in found] == [row.margin for row in hush.predict(PLAN, 9000)]
    shown = run("law", "plan.json", "born", "--value", "1980-02-29", "--rows", "4").output
    assert "if 1980-02-29" in shown
    exact = json.loads(run("law", "plan.json", "born", "--value", "1980-02-29", "--json").output)
    assert sum(Fraction(row["probabilities"][0]) for row in exact["rows"]) == 1
