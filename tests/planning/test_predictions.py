"""Predictions are what estimates turn out to be."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise
from typing import Any

import pytest

from hush import (
    MISSING,
    Categorical,
    DesignError,
    Guess,
    Numeric,
    Plan,
    Schema,
    SchemaError,
    Tally,
    batch,
    design,
    epsilon_needed,
    estimate,
    people_needed,
    predict,
)
from hush.device.randomise import randomise_from
from hush.planning.predictions import prospects
from hush.testing import SeededCoins, SeededStreams
from tests.cases import MIXED, NUMBERS, plans


def test_duchi_is_predicted_by_its_formula() -> None:
    plan = design(Schema([Numeric("x", 0, 10)]), 1.0, numeric="duchi")
    b = (math.e + 1) / (math.e - 1)
    (row,) = predict(plan, 400)
    assert row.stderr == pytest.approx(5 * b / 20)
    # Wilson's interval of 200 in 400 is this much narrower than the normal one.
    assert row.margin == pytest.approx(1.959964 * row.stderr / math.sqrt(1 + 1.959964**2 / 400), rel=1e-6)
    (row,) = predict(plan, 400, guesses={"x": Guess(7.5)})
    assert row.stderr == pytest.approx(5 * math.sqrt(b * b - 0.25) / 20)


def test_shares_are_predicted_by_their_formula() -> None:
    plan = design(Schema([Categorical("c", ["a", "b", "c"])]), 1.0, categorical="oue")
    channel: Any = plan.channel("c")
    rows = predict(plan, 1000, guesses={"c": {"a": 0.2}})
    for row, f in zip(rows, (0.2, 0.0, 0.0), strict=True):
        chance = f * float(channel.p) + (1 - f) * float(channel.q)
        expected = math.sqrt(chance * (1 - chance) / 1000) / float(channel.p - channel.q)
        assert row.stderr == pytest.approx(expected)


def test_a_spread_that_nobody_can_have_is_refused() -> None:
    """On 0 to 20 around 4 it is at most 8: a fifth of the people at 20, the others at 0."""
    plan = design(Schema([Numeric("x", 0, 20)]), 1.0)
    assert predict(plan, 1000, guesses={"x": Guess(4, 8)})
    with pytest.raises(DesignError, match="attribute 'x': no values"):
        predict(plan, 1000, guesses={"x": Guess(4, 8.01)})


@pytest.mark.parametrize("options", [{}, {"numeric": "piecewise", "categorical": "oue"}, {"k": 3}, {"k": "all"}])
def test_what_is_predicted_comes_true(options: dict[str, Any]) -> None:
    """The standard error of an estimate from 60,000 people is within 12 % of the prediction; seeded.

    Its own standard error is 2 % at most, where few reports are not the likeliest ones: 6 of them, so that a false
    alarm has a probability below 1e-7.
    """
    plan = design(MIXED, 3.0, **options)
    world = SeededCoins(5)
    people = 60_000
    records = []
    for _ in range(people):
        record = {
            "age": 40 + 15 * (1 if world.below(2) else -1),
            "height": 0.5,
            "income": None if world.below(10) < 3 else 250_000 + 100_000 * (1 if world.below(2) else -1),
            "os": ["linux", "mac", "mac", "mac", "other"][world.below(5)],
            "code": 13,
            "smokes": ["yes", "no", None, "no"][world.below(4)],
        }
        records.append(record)
    columns = {name: [record[name] for record in records] for name in plan.schema.names}
    tally = batch._collect_from(SeededStreams(6), plan, batch.encode(plan, columns), 1)
    guesses: dict[str, Any] = {
        "age": Guess(40, 15),
        "height": Guess(0.5),
        "income": Guess(250_000, 100_000, 0.3),
        "os": {"linux": 0.2, "mac": 0.6, "other": 0.2},
        "code": {13: 1.0},
        "smokes": {"yes": 0.25, "no": 0.5, MISSING: 0.25},
    }
    for found, expected in zip(estimate(tally), predict(plan, people, guesses=guesses), strict=True):
        assert (found.attribute, found.category) == (expected.attribute, expected.category)
        assert found.stderr == pytest.approx(expected.stderr, rel=0.12)
        assert found.answers == pytest.approx(expected.answers, rel=0.15)


def test_estimates_scatter_as_predicted() -> None:
    """400 surveys of 200 people: the scatter of the estimates is the predicted standard error, within 20 %; seeded."""
    plan = design(Schema([Numeric("x", 0, 1), Categorical("c", ["a", "b", "c"])]), 2.0)
    points: dict[Any, list[float]] = {}
    coins, world = SeededCoins(1), SeededCoins(2)
    for _ in range(400):
        tally = Tally(plan)
        for _ in range(200):
            record = {"x": 0.2 + 0.4 * world.below(2), "c": "aabc"[world.below(4)]}
            tally.add(randomise_from(coins, plan, record))
        for row in estimate(tally):
            points.setdefault((row.attribute, row.category), []).append(row.point)
    guesses: dict[str, Any] = {"x": Guess(0.4, 0.2), "c": {"a": 0.5, "b": 0.25, "c": 0.25}}
    for expected in predict(plan, 200, guesses=guesses):
        scatter = statistics.stdev(points[expected.attribute, expected.category])
        assert scatter == pytest.approx(expected.stderr, rel=0.2)


@pytest.mark.parametrize("name", [name for name in plans() if name not in ("wide", "ladder")])
def test_the_worst_case_is_no_better_than_any_guess(name: str) -> None:
    """A ladder has no worst case: its prediction assumes people who are usual."""
    plan = plans()[name]
    worst = predict(plan, 1000)
    for share in (0.0, 0.3, 1.0):
        guesses: dict[str, Any] = {}
        for attribute in plan.schema.attributes:
            if isinstance(attribute, Numeric):
                width = attribute.high - attribute.low
                guesses[attribute.name] = Guess(
                    attribute.low + share * width, share * (1 - share) * width, 0.4 if attribute.optional else 0
                )
            else:
                guesses[attribute.name] = {attribute.labels[0]: share}
        for bound, row in zip(worst, predict(plan, 1000, guesses=guesses), strict=True):
            assert 0 < row.stderr <= bound.stderr * 1.001
            assert 0 < row.margin <= bound.margin * 1.05  # exact binomial intervals are not quite in order


X = Schema([Numeric("x", 0, 20)])
C = Schema([Categorical("c", ["a", "b", "c"])])
Y = Schema([Numeric("y", 0, 20, optional=True)])
XC = Schema([*X.attributes, *C.attributes])
NEAR_0: dict[str, Any] = {"x": Guess(2, 2)}
NEAR_10: dict[str, Any] = {"x": Guess(10, 6)}
SHARES: dict[str, Any] = {"c": {"a": 0.5, "b": 0.25, "c": 0.25}}
MOST: dict[str, Any] = {"y": Guess(8, 4, 0.2)}


def surveyed(schema: Schema, epsilon: float, people: int, guesses: dict[str, Any]) -> tuple[Plan, list[list[float]]]:
    """Ask 50 crowds that are as guessed; return half of the width of every interval."""
    plan = design(schema, epsilon)
    world, found = SeededCoins(11), []
    for survey in range(50):
        columns: dict[str, list[Any]] = {}
        for name, guess in guesses.items():
            if isinstance(guess, Guess):
                assert guess.mean is not None
                ends = (guess.mean - guess.spread, guess.mean + guess.spread)
                missing = round(1000 * (guess.missing or 0))
                column: list[Any] = [
                    None if world.below(1000) < missing else ends[world.below(2)] for _ in range(people)
                ]
            else:
                column = ["aabc"[world.below(4)] for _ in range(people)]
            columns[name] = column
        tally = batch._collect_from(SeededStreams(survey), plan, batch.encode(plan, columns), 1)
        found.append([(row.high - row.low) / 2 for row in estimate(tally)])
    return plan, found


@pytest.mark.parametrize(
    ("schema", "epsilon", "people", "guesses"),
    [
        (X, 1.0, 50, NEAR_10),
        (X, 2.0, 150, NEAR_10),
        (X, 2.0, 1500, NEAR_10),
        (X, 4.0, 1000, NEAR_0),
        (X, 4.0, 6000, NEAR_0),
        (X, 6.0, 1000, NEAR_10),
        (C, 1.0, 600, SHARES),
        (C, 2.0, 4000, SHARES),
        (XC, 2.0, 3000, NEAR_10 | SHARES),
        (Y, 2.0, 150, MOST),
        (Y, 4.0, 1200, MOST),
        (Y, 2.0, 5000, MOST),
    ],
)
def test_intervals_are_as_wide_as_predicted(
    schema: Schema, epsilon: float, people: int, guesses: dict[str, Any]
) -> None:
    """50 surveys: the average half-width is within 15 % of the margin; seeded.

    The standard error of that average is 2.5 % at most, as is checked: 6 of them, so that a false alarm has a
    probability below 1e-8 for each of the rows, below 1e-6 for all.
    """
    plan, found = surveyed(schema, epsilon, people, guesses)
    for widths, row in zip(zip(*found, strict=True), predict(plan, people, guesses=guesses), strict=True):
        achieved = statistics.mean(widths)
        assert statistics.stdev(widths) / math.sqrt(50) <= 0.025 * achieved
        assert achieved == pytest.approx(row.margin, rel=0.15)


def test_a_normal_margin_would_be_noticed() -> None:
    """The twin: a normal interval whatever the number of people. Of few near one end it is far too narrow."""
    near_end: dict[str, Any] = {"x": Guess(0.2)}
    for people, wrong in ((60, True), (6000, False)):
        plan, found = surveyed(X, 6.0, people, near_end)
        achieved = statistics.mean(width for (width,) in found)
        (row,) = predict(plan, people, guesses=near_end)
        assert achieved == pytest.approx(row.margin, rel=0.15)
        assert (achieved != pytest.approx(1.959964 * row.stderr, rel=0.15)) is wrong
        assert (row.margin > 1.5 * 1.959964 * row.stderr) is wrong


def test_more_people_and_more_epsilon_help() -> None:
    for few, many in zip(predict(plans()["default"], 10_000), predict(plans()["default"], 40_000), strict=True):
        assert many.margin == pytest.approx(few.margin / 2, rel=0.02)
        assert many.stderr == pytest.approx(few.stderr / 2)
    small, large = (predict(design(MIXED, e), 10_000) for e in (0.5, 2.0))
    assert all(b.margin < a.margin for a, b in zip(small, large, strict=True))


def test_how_many_people_are_needed() -> None:
    plan = design(MIXED, 1.0)
    n = people_needed(plan, 1.0, attribute="age")
    margins = [next(row.margin for row in predict(plan, m) if row.attribute == "age") for m in (n - 1, n)]
    assert margins[1] <= 1.0 < margins[0]
    shares = design(Schema([Categorical("c", [1, 2, 3])]), 1.0)
    n = people_needed(shares, 0.01)
    assert max(row.margin for row in predict(shares, n)) <= 0.01
    assert max(row.margin for row in predict(shares, n - 1)) > 0.01
    with pytest.raises(DesignError, match="more than"):
        people_needed(plan, 1e-9)


@pytest.mark.parametrize("guesses", [None, {"x": Guess(1, 1), "y": Guess(8, 4, 0.2)}])
def test_the_smallest_crowd_is_found(guesses: dict[str, Any] | None) -> None:
    """Compared with a walk through every n. The exact interval of a share is wider than Wilson's, which takes over."""
    plan = design(Schema([*X.attributes, *C.attributes, *Y.attributes]), 3.0)
    known = prospects(plan, guesses)
    walk = [[one.prediction(n, 0.95) for one in known] for n in range(1, 1500)]
    inside = 0
    for name, asked in {"x": (12.0, 5.0, 2.5, 1.5), "y": (8.0, 6.0, 3.5, 1.5), "c": (0.4, 0.2, 0.08)}.items():
        largest = [max(row.margin for row in rows if row.attribute == name) for rows in walk]
        for margin in asked:
            n = people_needed(plan, margin, attribute=name, guesses=guesses)
            first = next((i for i, found in enumerate(largest, 1) if found <= margin), len(walk) + 1)
            assert min(n, len(walk) + 1) == first
            inside += 1 < n < len(walk)
    assert inside >= 8


def test_no_margin_jumps() -> None:
    """One more answer never makes a mean's margin fall by more than its share, however many or few there are."""
    for epsilon in (1.0, 4.0, 8.0):
        for schema in (X, Y):
            (mean, *_) = prospects(design(schema, epsilon))
            margins = [mean.prediction(n, 0.95).margin for n in range(20, 900)]
            for n, (before, after) in enumerate(pairwise(margins), 20):
                assert before * (1 - 2 / n) < after <= before * (1 + 1e-9)


def test_a_larger_epsilon_needs_fewer_people() -> None:
    """With few people too: outputs that are rare then, and were not seen, count all the same, and are known."""
    for people in (20, 150, 1000):
        margins = [predict(design(X, e), people)[0].margin for e in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)]
        assert all(after < before or before == 10 for before, after in pairwise(margins))  # never more than half of all
    epsilon = epsilon_needed(X, 150, 4.0)
    assert 0.5 < epsilon < 1
    assert predict(design(X, epsilon), 150)[0].margin <= 4.0
    assert predict(design(X, 0.99 * epsilon), 150)[0].margin > 4.0


def test_how_much_epsilon_is_needed() -> None:
    schema = Schema([Numeric("x", 0, 100), Categorical("c", ["a", "b"])])
    epsilon = epsilon_needed(schema, 20_000, 2.0, attribute="x", guesses={"x": Guess(40, 20)})
    margins = [
        next(row.margin for row in predict(design(schema, e), 20_000, guesses={"x": Guess(40, 20)}))
        for e in (epsilon * 0.98, epsilon)
    ]
    assert margins[1] <= 2.0 < margins[0]
    old = epsilon_needed(
        schema,
        20_000,
        2.0,
        attribute="x",
        guesses={"x": Guess(40, 20)},
        make=lambda s, e: design(s, e, numeric="duchi"),
    )
    assert old > epsilon
    with pytest.raises(DesignError, match="ask more of them"):
        epsilon_needed(schema, 100, 0.1, attribute="x")
    assert epsilon_needed(Schema([Categorical("c", ["a", "b"])]), 10**9, 0.5) == 0.001


def test_blocks_are_predicted_too() -> None:
    for numeric in ("duchi-multi", "cube"):
        plan = design(NUMBERS, 4.0, numeric=numeric)
        rows = predict(plan, 1000)
        assert [row.attribute for row in rows] == [*"abcde"]
        share = plan.channel("a").readings([0] * plan.channel("a").alphabet.size, 0)[0].share
        assert rows[0].answers == pytest.approx(1000 * float(share))


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda p: predict(p, 0), "people"),
        (lambda p: predict(p, 10.0), "people"),  # type: ignore[arg-type]
        (lambda p: predict(p, 10, level=95), "level"),
        (lambda p: predict(p, 10, guesses={"age": 40}), "Guess"),
        (lambda p: predict(p, 10, guesses={"age": Guess(400)}), "inside the domain"),
        (lambda p: predict(p, 10, guesses={"age": Guess(40, -1)}), "inside the domain"),
        (lambda p: predict(p, 10, guesses={"age": Guess(40, 1, 0.5)}), "missing"),
        (lambda p: predict(p, 10, guesses={"os": {"beos": 1.0}}), "categories"),
        (lambda p: predict(p, 10, guesses={"os": {"mac": 2.0}}), "share"),
        (lambda p: predict(p, 10, guesses={"os": Guess(1)}), "categories"),
        (lambda p: people_needed(p, 0), "margin"),
        (lambda p: people_needed(p, math.inf), "margin"),
    ],
)
def test_questions_that_make_no_sense_are_refused(call: Any, rule: str) -> None:
    with pytest.raises(DesignError, match=rule):
        call(plans()["default"])


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(SchemaError, match="'nobody'"):
        predict(plans()["default"], 10, guesses={"nobody": Guess(1)})
    with pytest.raises(SchemaError, match="'nobody'"):
        people_needed(plans()["default"], 1.0, attribute="nobody")


# -- every estimate has a prediction, by name


def test_the_rows_are_those_of_the_estimates() -> None:
    """Also for a wide number that may be missing."""
    wide = Schema([Numeric("w", 0, 1e6, optional=True, scale="log"), Categorical("c", ["a", "b"], optional=True)])
    for plan in (design(wide, 2.0), *(case for case in plans().values())):
        found = [(row.attribute, row.category) for row in predict(plan, 1000)]
        assert found == [(row.attribute, row.category) for row in estimate(Tally(plan))]


def test_the_missing_of_a_wide_number_is_predicted_by_its_formula() -> None:
    """The output "missing" is one of two values; a guess sets how often it comes."""
    plan = design(Schema([Numeric("w", 0, 1e6, optional=True, scale="log")]), 2.0)
    channel: Any = plan.channel("w")
    here, gone = float(channel.table[0][-1]), float(channel.table[-1][-1])
    for share in (0.25, 0.0):
        row = predict(plan, 1000, guesses={"w": Guess(5000, missing=share)})[1]
        chance = share * gone + (1 - share) * here
        assert row.stderr == pytest.approx(math.sqrt(chance * (1 - chance) / 1000) / (gone - here))
    assert predict(plan, 1000)[1].stderr >= row.stderr


def test_categories_that_share_a_row_are_named_where_others_do_not() -> None:
    plan = design(Schema([Categorical("c", [*"abcdefgh"])]), 1.0)
    assert "each of 8 shares " in str(predict(plan, 1000))
    text = str(predict(plan, 1000, guesses={"c": {"a": 0.4, "b": 0.2, "c": 0.2}}))
    assert "share of a" in text
    assert "each of 2 shares: b, c " in text
    assert "each of 5 shares: d, e, f, g and 1 more" in text
