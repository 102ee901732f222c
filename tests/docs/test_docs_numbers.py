"""Numbers that the documents name in a sentence are those of the program. (Tables are made:
tests/docs/test_docs.py.)"""

from __future__ import annotations

import csv
import dataclasses
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

import hush
from hush import Categorical, Distribution, Numeric, Schema, Tally, estimate, predict, randomise
from hush.batch.engine import CHUNK
from hush.collector.timeline import FIRST_WIDTH, MAX_SPANS
from hush.core.blanket import MOST as BLANKET
from hush.core.design.numeric import best_worst_case
from hush.core.plan import MAX_EPSILON
from hush.core.schema import MAX_CATEGORIES
from hush.core.training.courses import LEAST_PILOT, PILOT
from hush.engines.sql import WHOLE_MEMBERS, WHOLE_SETS
from hush.learn.models import PrivateModel
from hush.planning.audits.proofs import CELLS
from hush.planning.relations import needs
from hush.relay import serve as relay
from hush.server.rules import LEAST_ROUNDS, MOST_ROUNDS

ROOT = Path(__file__).parent.parent.parent
WEB = (ROOT / "web" / "pages" / "opened.ts").read_text(encoding="utf-8")
BUILD = (ROOT / "web" / "build.mjs").read_text(encoding="utf-8")


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match[1].replace("_", "")


SURE = math.ceil(1000 / (1 + math.exp(-1))) / 10  # in per cent, rounded up
SENTENCES = [
    ("README.md", f"at most {SURE} % sure of one"),
    ("README.md", "on the device: 27 bytes"),
    ("docs/limits.md", f"one of at most {MAX_CATEGORIES} given values"),
    ("docs/audit.md", f"up to {CELLS:,} probabilities"),
    ("docs/batch.md", f"Each chunk of {CHUNK} people"),
    ("docs/browser.md", f"what they cost: {found('const CAP = ([0-9]+);', WEB)} for all plans"),
    ("docs/browser.md", f"less than {int(found('const MOST = ([0-9_]+);', BUILD)):,} bytes gzipped"),
    ("docs/collector.md", f"at most {MAX_SPANS} spans of equal width"),
    (
        "docs/learning.md",
        f"{100 * PILOT:g} % of the people (5 % if there are more than 500,000, nobody if there are fewer than "
        f"{round(LEAST_PILOT / PILOT):,}) answer a pilot",
    ),
    ("docs/learning.md", f"one rule for the sum of steps, and {LEAST_ROUNDS} to {MOST_ROUNDS} rounds"),
    ("docs/relay.md", f"more than {BLANKET:,} entries"),
    ("docs/relay.md", f"looks every {relay.EVERY:g} seconds"),
    ("docs/relay.md", f"{relay.MAX_BODY >> 20} MiB a request"),
    ("docs/scale.md", f"at most {WHOLE_MEMBERS} members, at most {WHOLE_SETS} different ones"),
]


@pytest.mark.parametrize(("page", "sentence"), SENTENCES)
def test_numbers_in_sentences(page: str, sentence: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert sentence in text


def test_numbers_that_are_written_as_words() -> None:
    schema = Schema([Numeric("age", low=18, high=100), Categorical("system", ["linux", "mac", "other"])])
    plan = hush.design(schema, 1.0)
    assert len(randomise(plan, {"age": 41, "system": "mac"}).encode()) == 27, "README.md: 27 bytes"
    assert 1.5 < predict(plan, 20_000)[0].margin < 2.5, "README.md: to within two years"
    assert FIRST_WIDTH == 1.0, "docs/collector.md: spans begin with one second"
    assert PrivateModel().validation_fraction == 0.1, "docs/learning.md: a tenth of the people answer only their loss"
    assert float(MAX_EPSILON) == float(found("const CAP = ([0-9]+);", WEB)), "the dearest plan may be answered"


def test_numbers_about_wide_numbers() -> None:
    """docs/wide.md and docs/planning.md."""
    bound = 4 * math.e / (math.e - 1) ** 2  # the range -1 to 1 has H = 2
    assert 1.08 < float(best_worst_case(Fraction(1)).worst_variance) / bound < 1.09, "within 9 % of that at epsilon 1"
    kept = ROOT / "docs" / "reproduction" / "real" / "wide.csv"
    with kept.open(encoding="utf-8", newline="") as file:
        errors = {
            (float(row["epsilon"]), row["way"]): float(row["value"])
            for row in csv.DictReader(file)
            if (row["part"], row["population"], row["people"], row["what"]) == ("columns", "income", "100000", "rmse")
        }
    assert errors[1.0, "full"] > 0.5, "more than half of the mean"
    assert round(100 * errors[1.0, "one"]) == 9, "brings it to 9 %"
    assert round(100 * errors[1.0, "two"]) == 5, "and two rounds to 5 %"
    assert errors[4.0, "two"] / errors[4.0, "one"] > 0.95, "nothing with 100,000 people at epsilon 4"
    number = hush.design(Schema([Numeric("a", low=0, high=1)]), 1.0)
    assert predict(number, 1_000_000)[0].margin > 0.002, "twice the typical number, a thousandth of the range"


def test_numbers_about_few_answers() -> None:
    """docs/small.md."""
    with (ROOT / "docs" / "reproduction" / "synthetic" / "small.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["what"] == "coverage"]
    assert sum(row["part"] == "search" for row in rows) == 2600, "2,600 settings with people at two points"
    anew = [row for row in rows if row["part"] == "anew"]
    assert [row["crowds"] for row in anew] == 8 * ["20000"], "the eight worst are drawn anew, with 20,000 crowds each"
    assert min(float(row["value"]) for row in anew) >= 0.94, "at least 94 % in every one"


def test_numbers_about_relations() -> None:
    """docs/by-group.md. The factors of its introduction are those of a table in docs/relations.md."""
    five = Schema([Categorical(f"a{i}", list("abcde")) for i in range(10)])
    (found,) = needs(hush.design(five, 1.0, relations="all"))
    assert found.startswith("45 tables: margins of 3 points need about 590,000 typical people, ")
    numbers = Schema([Numeric("a", low=0, high=1), Numeric("b", low=0, high=1)])
    guesses = {name: hush.Guess(0.5, 0.2) for name in "ab"}
    (sides,) = hush.foresee(
        hush.design(numbers, 2.0, relations=[("a", "b")], bands={"a": [0.5], "b": [0.5]}), 100_000, guesses=guesses
    )
    (moments,) = hush.foresee(hush.design(numbers, 2.0, relations=[("a", "b", "moments")]), 100_000, guesses=guesses)
    assert 7.5 < (moments.stderr / sides.stderr) ** 2 < 8.5, "about eight times as many at epsilon 2"


def test_what_hush_cannot_do_is_still_so() -> None:
    """docs/limits.md. If one of these fails hush has learnt something: change the page."""
    from hush.cli.commands import program
    from hush.learn import simulate

    pair = Schema([Categorical("smokes", ["yes", "no"]), Categorical("drinks", ["yes", "no"])])
    tally = Tally(hush.design(pair, 3.0, joint=[["smokes", "drinks"]]))
    tally.add(randomise(tally.plan, {"smokes": "yes", "drinks": "no"}))
    assert {row.attribute for row in estimate(tally)} == {"smokes", "drinks"}, "each attribute alone"
    assert {field.name for field in dataclasses.fields(Distribution)} == {"attribute", "edges", "shares", "number"}, (
        "no intervals"
    )
    models = {
        name for name, item in vars(simulate).items() if isinstance(item, type) and item.__module__ == simulate.__name__
    }
    models = {name for name in models if not name.startswith("_")}
    assert models == {"LinearRegression", "LogisticRegression", "LinearSVC"}
    options = {option.name or "" for option in program.commands["serve"].params}
    assert not any(word in option for option in options for word in ("tls", "ssl", "certificate"))
    assert {path.name for path in (ROOT / "clients").iterdir() if path.is_dir()} == {"go"}
    assert "missed" in (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert hush.__version__.startswith("0.")
