"""What the questions of a plan say of each target, in numbers: which are read, with which weights, on which scale."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from hush import MISSING, Categorical, Choices, EstimateError, Numeric, Plan, Schema, Tally
from hush.core.channels import Reading, Summed
from hush.core.channels.squares import Squares
from hush.core.design.categorical import grr
from hush.core.plan import Question
from hush.core.views import Bands
from hush.core.word_views import Member
from hush.server.estimates import Estimate
from hush.server.intervals import Pool, sample_of, summarise
from hush.server.sources import (
    Scale,
    any_of,
    category_of,
    in_order,
    ladders,
    long_lists,
    read_by,
    repeated,
    sources,
    targets,
    too_long,
)
from tests.cases import small_cells, small_cube, small_geometry, small_rows, small_window

EPSILON = Fraction(2)
SCHEMA = Schema(
    [Numeric("x", -1, 3), Categorical("g", ["a", "b", "c"]), Choices("pets", ["cat", "dog"], 2, optional=True)]
)
QUESTIONS = (
    Question(["x"], small_window(EPSILON, 5, 2)),
    Question(["g"], grr(EPSILON, 3)),
    Question(["g", "x"], small_rows(EPSILON, 3, 1, 4, 2)),
    Question([Member("pets", "dog")], grr(EPSILON, 3)),
    Question([Member("pets", "cat")], grr(EPSILON, 3)),
    Question([Bands("x", (0.0,))], grr(EPSILON, 2)),
)
PLAN = Plan(SCHEMA, EPSILON, 1, QUESTIONS, weights=(3, 1, 4, 2, 2, 1))
COUNTS = [[9, 7, 5, 3, 6], [8, 7, 5], [4, 3, 2, 1, 5, 6, 3, 1, 2, 2, 1, 2], [6, 5, 2], [3, 4, 1], [2, 1]]
TALLY = Tally(PLAN, 106, [30, 20, 32, 13, 8, 3], COUNTS)
EVERY = [("x", None), ("g", 0), ("g", 1), ("g", 2), ("pets", 0), ("pets", 1), ("pets", 2)]


def test_every_target_has_the_questions_that_look_at_it_as_it_is() -> None:
    found = {(target.attribute.name, target.symbol): target for target in sources(PLAN, TALLY)}
    assert [*found] == EVERY  # pets as they are listed, whichever question comes first
    assert [len(target.sources) for target in found.values()] == [2, 2, 2, 2, 1, 1, 2]
    assert [target.answers for target in found.values()] == [62, 52, 52, 52, 8, 13, 21]
    assert [source.inclusion for source in found["x", None].sources] == [Fraction(3, 13), Fraction(4, 13)]
    assert [source.n for source in found["x", None].sources] == [30, 32]
    assert all(source.n == 0 for target in sources(PLAN) for source in target.sources)
    alone = sources(PLAN, TALLY, apart=[2])
    assert [len(target.sources) for target in alone] == [1, 1, 1, 1, 1, 1, 2]
    cat, dog, gone = (found["pets", place] for place in range(3))
    assert cat.sources[0].channel is QUESTIONS[4].channel
    assert [source.channel for source in gone.sources] == [QUESTIONS[3].channel, QUESTIONS[4].channel]
    assert dog.sources[0].reading == replace(QUESTIONS[3].channel.readings(COUNTS[3], 13)[1], attribute=0)


def test_of_several_answers_of_a_person_one_question_is_read() -> None:
    """The one about the target alone, wherever it stands; of missing choices the first."""
    turned = (QUESTIONS[2], *QUESTIONS[:2], *QUESTIONS[3:])
    plan = Plan(SCHEMA, EPSILON * 3, 2, turned)
    found = sources(plan)
    assert [(target.attribute.name, target.symbol) for target in found] == EVERY
    chosen = [source.channel for target in found for source in target.sources]
    window, three, no, yes = (QUESTIONS[place].channel for place in (0, 1, 3, 4))
    assert chosen == [window, three, three, three, yes, no, no]
    assert found[0].sources[0].inclusion == Fraction(2, 6)


def test_targets_are_in_the_order_of_the_schema_whatever_is_asked_first() -> None:
    turned = Plan(SCHEMA, EPSILON, 1, QUESTIONS[::-1])
    assert [(target.attribute.name, target.symbol) for target in sources(turned)] == EVERY
    pets = Choices("pets", ["cat", "dog", "cow"])
    asked = [Question([Member("pets", value)], grr(EPSILON, 2)) for value in ("cow", "cat", "dog")]
    first = Plan(Schema([pets, Numeric("x", -1, 3)]), EPSILON, 1, (QUESTIONS[0], *asked))
    assert [target.symbol for target in sources(first)] == [0, 1, 2, None]


def test_of_a_question_about_bands_and_a_value_the_value_is_read() -> None:
    mixed = Question([Bands("x", (0.0,)), "g"], small_cells(EPSILON, (2, 3), 1))
    plan = Plan(Schema(SCHEMA.attributes[:2]), EPSILON, 1, (QUESTIONS[0], mixed))
    found = {(target.attribute.name, target.symbol): target.sources for target in sources(plan)}
    assert [*found] == EVERY[:4]
    assert {len(items) for items in found.values()} == {1}
    assert found["g", 0][0].channel is mixed.channel


def test_a_report_about_some_attributes_says_something_of_each_now_and_then() -> None:
    """Two of three numbers are reported, by the channel of signs, in one of two questions."""
    schema = Schema([*(Numeric(name, 0, 1) for name in "abc"), Categorical("g", ["a", "b"])])
    channel = small_cube(EPSILON, 3, 2, 2)
    plan = Plan(schema, EPSILON, 1, (Question(["a", "b", "c"], channel), Question(["g"], grr(EPSILON, 2))))
    found = sources(plan)
    assert [target.sources[0].inclusion for target in found] == [Fraction(1, 3)] * 3 + [Fraction(1, 2)] * 2


def test_noise_is_that_of_a_reference_population() -> None:
    found = {(target.attribute.name, target.symbol): target.sources for target in sources(PLAN)}
    for source in found["x", None]:
        assert source.reading.squares is not None
        assert source.noise == pytest.approx(sum(source.reading.squares.variances(0.0)) / 2)
    for name, share in (("g", 1 / 3), ("pets", 1 / 3)):  # pets are yes, no or missing
        reading = found[name, 0][0].reading
        assert isinstance(reading, Reading)
        low, high = min(reading.values), max(reading.values)
        assert found[name, 0][0].noise == pytest.approx((high - share) * (share - low))
    optional = Schema([Numeric("x", -1, 3, optional=True)])
    plan = Plan(optional, EPSILON, 1, (Question(["x"], small_window(EPSILON, 5, 2, True)),))
    _, missing = sources(plan)
    reading = missing.sources[0].reading
    assert isinstance(reading, Reading)
    assert missing.sources[0].noise == pytest.approx((max(reading.values) - 0.5) * (0.5 - min(reading.values)))


def test_sources_are_pooled_by_their_answers_and_noise() -> None:
    mean, *_ = sources(PLAN, TALLY)
    pool = mean.pooled()
    assert isinstance(pool, Pool)
    raw = [source.n / source.noise for source in mean.sources]
    assert [weight for weight, _ in pool.parts] == pytest.approx([one / sum(raw) for one in raw])
    assert [sample for _, sample in pool.parts] == [sample_of(source.reading) for source in mean.sources]
    one = Tally(PLAN, 30, [30, 0, 0, 0, 0, 0], [COUNTS[0], [0] * 3, [0] * 12, [0] * 3, [0] * 3, [0] * 2])
    mean, *_ = sources(PLAN, one)
    assert mean.used == [mean.sources[0]]
    assert mean.pooled() == sample_of(mean.sources[0].reading)
    single = next(targets(one, "ratio"))
    assert [weight for weight, _, _ in single.parts] == pytest.approx([1 / source.noise for source in mean.sources])
    nobody, *_ = sources(PLAN)
    assert nobody.used == [nobody.sources[0]]
    read = next(targets(TALLY, "ratio"))
    weights = [(1 / source.noise, sample_of(source.reading), source.reading) for source in read.sources]
    assert [*read.parts] == weights
    cat = [*targets(TALLY, "ratio")][4]
    assert [*cat.parts] == [(1.0, cat.sample, cat.sources[0].reading)]
    assert (cat.attribute.name, cat.symbol, cat.answers) == ("pets", 0, 8)


def test_the_papers_estimator_reads_single_sources() -> None:
    """Who was not asked counts as 0, and the others as their value times 13/2."""
    for plain, paper in zip(targets(TALLY, "ratio"), targets(TALLY, "paper"), strict=True):
        assert (str(plain.sample) == str(paper.sample)) == (len(plain.sources) > 1)
    cat = [*targets(TALLY, "paper")][4]
    reading = cat.sources[0].reading
    assert isinstance(reading, Reading)
    squares = Squares.of_two(reading.values, (0.0, 1.0)).scaled(6.5)
    values = [0.0, *(6.5 * value for value in reading.values)]
    assert str(cat.sample) == str(summarise([98, *reading.counts], values, squares))
    window = sources(PLAN, TALLY, apart=[2])[0].sources[0]
    assert isinstance(window.reading, Reading)
    assert window.reading.squares is not None
    found = summarise(
        [76, *window.reading.counts],
        [0.0, *(13 / 3 * value for value in window.reading.values)],
        window.reading.squares.scaled(13 / 3),
    )
    assert str(read_by("paper", TALLY, window)) == str(found)
    bare = replace(window, reading=replace(window.reading, squares=None, counts=[20, 10], values=(-2.0, 2.0)))
    known = Squares.of_two((-2.0, 2.0), (-1.0, 1.0)).scaled(13 / 3)
    assert str(known) in str(read_by("paper", TALLY, bare))
    assert read_by("paper", TALLY, replace(window, inclusion=Fraction(1))) == sample_of(window.reading)
    assert read_by("ratio", TALLY, window) == sample_of(window.reading)
    with pytest.raises(EstimateError, match='"ratio" or "paper"'):
        next(targets(TALLY, "mean"))  # type: ignore[arg-type]


def test_the_papers_estimator_does_not_read_sums() -> None:
    squares = Squares(((-1.0, 2.0), (1.0, 2.0)), ((-1.0, 4.0), (1.0, 4.0)))
    window = sources(PLAN, TALLY, apart=[2])[0].sources[0]
    summed = replace(window, reading=Summed(0, None, 10, 0.25, 1.0, -2.0, 3.0, squares))
    assert read_by("ratio", TALLY, summed) == sample_of(summed.reading)
    with pytest.raises(EstimateError, match="for questions about one attribute"):
        read_by("paper", TALLY, summed)


# -- long lists


def listed(asked_twice: bool = False) -> Plan:
    schema = Schema([Categorical("b", ["x", "y"]), Categorical("c", [f"v{i}" for i in range(18)], optional=True)])
    long = Question(["c"], small_geometry(EPSILON, 19, 4, 3))
    more = (Question(["c", "b"], small_cells(EPSILON, (19, 2), 1)),) if asked_twice else ()
    return Plan(schema, EPSILON, 1, (long, Question(["b"], grr(EPSILON, 2)), *more))


def test_long_lists_that_one_question_asks_for_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = listed()
    assert (long_lists(plan), long_lists(listed(True)), long_lists(PLAN)) == ([0], [], [])
    assert too_long(plan) == []
    monkeypatch.setattr("hush.server.sources.MAX_CATEGORIES", 17)  # 17 categories, others and missing
    assert too_long(plan) == []
    monkeypatch.setattr("hush.server.sources.MAX_CATEGORIES", 16)
    assert too_long(plan) == [0]
    one = any_of(plan, 0, (70, 30))
    assert (one.attribute.name, one.symbol, one.answers) == ("c", 0, 100)
    (source,) = one.sources
    low, high = map(float, plan.questions[0].channel.supports)  # type: ignore[attr-defined]
    assert source.reading == Reading(0, 0, (70, 30), (low, high))
    assert source.inclusion == Fraction(1, 2)
    assert source.noise == pytest.approx((high - 1 / 19) * (1 / 19 - low))
    assert any_of(plan, 0).answers == 0


def test_rows_are_in_the_order_of_the_schema_and_repeated_for_long_lists() -> None:
    plan = listed()
    rows = [Estimate("c", "v0", 0.5, 0.1, 0.3, 0.7, 40), Estimate("b", "x", 0.5, 0.1, 0.3, 0.7, 40)]
    assert in_order(rows, plan) == rows[::-1]
    labels = [*(f"v{i}" for i in range(18)), MISSING]
    assert repeated(rows, plan, [0]) == [rows[1], *(replace(rows[0], category=label) for label in labels)]
    assert repeated(rows, plan, []) == rows[::-1]


# -- scales


def test_a_number_has_a_scale_and_a_share_has_its_own() -> None:
    number = Numeric("x", -1, 3)
    mean, share = Scale(number, None), Scale(number, 1)
    assert (mean.low, mean.high, mean.half) == (-1.0, 3.0, 2.0)
    assert [mean.value(value) for value in (-1.0, 0.0, 1.0)] == [-1.0, 1.0, 3.0]
    assert (share.low, share.high, share.half, share.value(0.25)) == (0.0, 1.0, 1.0, 0.25)
    assert Scale(Categorical("g", [1, 2]), 0).value(0.25) == 0.25
    huge = Scale(Numeric("x", -1e308, 1e308 * 0.7), None)
    assert math.isfinite(huge.half)
    assert huge.value(1.0) == pytest.approx(0.7e308)
    assert mean.bounds((-math.inf, math.inf)) == (-1.0, 3.0)
    assert mean.bounds((-2.0, 0.5)) == (-3.0, 2.0)
    assert mean.around((-2.0, 0.5), 1.5) == (-1.0, 2.0)
    assert mean.around((-2.0, 0.5), 1.5, cut=False) == (-3.0, 2.0)
    assert mean.around((0.0, 0.5), 2.5) == (1.0, 2.5)
    assert mean.around((0.0, 0.5), 0.5) == (0.5, 2.0)
    assert mean.around((-math.inf, math.inf), math.nan) == (-1.0, 3.0)
    assert mean.around((2.0, 3.0), math.nan) == (-1.0, 3.0)
    assert mean.around((2.0, 3.0), 6.0) == (2.0, 3.0)  # nothing of it lies in the domain: it is as long from the end


def test_a_symbol_stands_for_a_category() -> None:
    assert category_of(Numeric("x", 0, 1), None) is None
    assert category_of(Numeric("x", 0, 1, optional=True), 0) == MISSING
    assert category_of(Categorical("g", ["a", "b"]), 1) == "b"
    assert ladders(PLAN) == []
