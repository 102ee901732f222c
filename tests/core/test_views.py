"""Views: what each kind sees of a record, what is refused, and that the steps do not depend on the value."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import Categorical, Date, Integer, Numeric, PlanError, Schema, SchemaError
from hush.core import views
from hush.core.looking import View
from hush.core.schema import MISSING
from hush.core.views import DIFFERENT, MAX_CUTS, SAME, Bands, Product, Sides, Value

SCHEMA = Schema(
    [
        Numeric("age", 16, 96),
        Numeric("hours", 0, 80, optional=True),
        Numeric("score", -1.5, 2.5, out_of_range="clip"),
        Categorical("edu", ["low", "mid", "high"], optional=True),
    ]
)
RECORD: dict[str, Any] = {"age": 40, "hours": 20, "score": 0.5, "edu": "mid"}


def seen(view: View, **values: Any) -> Any:
    """What a view gives for a record, as a device evaluates it."""
    return view.look(SCHEMA)(SCHEMA.encode(RECORD | values))


KINDS: list[View] = [
    Value("edu"),
    Value("hours"),
    Bands("age", (24.0, 40.0, 60.0)),
    Bands("hours", (0.0, 38.5)),
    Sides(("age", "hours"), (40.0, 38.0)),
    Product(("age", "score"), (56.0, 0.5), 0.25),
    Product(("hours", "hours"), (40.0, 40.0), 0.25),
]


# -- what they see


def test_a_value_is_the_input_as_it_is() -> None:
    for name, code in (("age", 0.3), ("hours", 0.25), ("edu", 1)):
        assert seen(Value(name)) == code
        assert Value(name).seen(SCHEMA) is SCHEMA[name]
    assert seen(Value("hours"), hours=None) is None
    assert seen(Value("edu"), edu=None) == 3


def test_a_number_on_a_cut_belongs_to_the_band_below() -> None:
    view = Bands("age", (24.0, 40.0, 60.0))
    for age, band in ((16, 0), (24, 0), (24.01, 1), (40, 1), (40.5, 2), (60, 2), (60.001, 3), (96, 3)):
        assert seen(view, age=age) == band
    assert [seen(Bands("age", (16.0,)), age=age) for age in (16, 16.001, 96)] == [0, 1, 1]  # a band of one point
    last = math.nextafter(96.0, 0.0)
    assert [seen(Bands("age", (95.5,)), age=age) for age in (95.5, last, 96)] == [0, 1, 1]


def test_a_missing_number_is_the_band_after_the_last() -> None:
    view = Bands("hours", (20.0, 40.0))
    assert [seen(view, hours=hours) for hours in (0, 20, 30, 80, None)] == [0, 0, 1, 2, 3]
    found = view.seen(SCHEMA)
    assert isinstance(found, Categorical)
    assert found.labels == ("up to 20", "20 to 40", "above 40", MISSING)
    assert found.name == "hours"
    assert Bands("age", (20.5,)).seen(SCHEMA).labels == ("up to 20.5", "above 20.5")  # type: ignore[union-attr]


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=40, unique=True), st.floats(0, 1))
def test_bands_are_those_of_a_search_from_the_left(cuts: list[float], x: float) -> None:
    """Any number of cuts: the search among 2^m - 1 limits finds how many cuts lie below."""
    ordered = tuple(sorted(cut + 0.0 for cut in cuts))
    schema = Schema([Numeric("x", 0, 1)])
    assert Bands("x", ordered).look(schema)([x]) == sum(cut < x for cut in ordered)


def test_sides_compare_both_numbers_with_their_cuts() -> None:
    view = Sides(("age", "hours"), (40.0, 38.0))
    for age, hours in product((16, 40, 40.5, 96), (0, 38, 38.25, 80)):
        assert seen(view, age=age, hours=hours) == ((age <= 40) != (hours <= 38))
        assert seen(view, age=age, hours=None) == 2
    found = view.seen(SCHEMA)
    assert isinstance(found, Categorical)
    assert found.labels == (SAME, DIFFERENT, MISSING)
    assert Sides(("age", "score"), (40.0, 0.0)).seen(SCHEMA).labels == (SAME, DIFFERENT)  # type: ignore[union-attr]


def test_a_product_is_measured_from_its_centres_and_clipped() -> None:
    view = Product(("age", "score"), (56.0, 0.5), 0.25)
    for age, score in product((16, 36, 56, 96), (-1.5, 0.5, 1.5, 2.5)):
        x, y = Fraction(age - 16, 80) - Fraction(1, 2), (Fraction(score) + Fraction(3, 2)) / 4 - Fraction(1, 2)
        assert seen(view, age=age, score=score) == (4 * x * y + 1) / 2
    narrow = Product(("age", "score"), (56.0, 0.5), 0.0625)
    assert seen(narrow, age=96, score=2.5) == 1.0
    assert seen(narrow, age=96, score=-1.5) == 0.0
    assert seen(narrow, age=56, score=-1.5) == 0.5
    square = Product(("hours", "hours"), (0.0, 0.0), 1.0)
    assert [seen(square, hours=hours) for hours in (0, 40, 80, None)] == [0.5, 0.625, 1.0, None]
    found = square.seen(SCHEMA)
    assert isinstance(found, Numeric)
    assert (found.low, found.high, found.optional) == (-1, 1, True)
    assert not Product(("age", "score"), (56.0, 0.5), 0.25).seen(SCHEMA).optional


def test_each_number_of_a_product_has_its_own_centre_and_may_be_missing_by_itself() -> None:
    view = Product(("age", "hours"), (36.0, 60.0), 0.5)
    assert view.places(SCHEMA) == (0.25, 0.75)
    assert seen(view, age=56, hours=80) == (0.25 * 0.25 / 0.5 + 1) / 2
    assert seen(view, age=56, hours=None) is None
    assert view.seen(SCHEMA).optional
    assert Product(("hours", "age"), (60.0, 36.0), 0.5).seen(SCHEMA).optional


def test_the_names_of_two_attributes_are_cut() -> None:
    names = ("m" * 61, "n" * 61)
    schema = Schema([Numeric(name, 0, 1) for name in names])
    for view in (Sides(names, (0.5, 0.5)), Product(names, (0.5, 0.5), 1.0)):
        assert view.seen(schema).name == f"{'m' * 60} × {'n' * 60}"


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(2.0**-20, 1))
def test_a_product_is_an_input(x: float, y: float, p: float, q: float, reach: float) -> None:
    schema = Schema([Numeric("x", 0, 1), Numeric("y", 0, 1)])
    assert 0 <= Product(("x", "y"), (p + 0.0, q + 0.0), reach).look(schema)([x, y]) <= 1  # type: ignore[operator]


@pytest.mark.parametrize("view", KINDS)
def test_what_is_seen_is_an_input_of_the_attribute_that_it_says(view: View) -> None:
    attribute = view.seen(SCHEMA)
    for age, hours, edu in product((16, 40, 96), (0, 38.5, 80, None), ("low", None)):
        found = seen(view, age=age, hours=hours, edu=edu)
        if isinstance(attribute, Categorical):
            assert type(found) is int
            assert 0 <= found < len(attribute.labels)
        elif found is None:
            assert attribute.optional
        else:
            assert 0 <= found <= 1


def test_clipped_numbers_are_seen_at_the_end() -> None:
    assert seen(Bands("score", (0.0, 2.0)), score=1e9) == 2
    assert seen(Bands("score", (0.0, 2.0)), score=-1e9) == 0


# -- what is refused

BAD: list[tuple[Callable[[], View], str]] = [
    (lambda: Bands("age", ()), "'age'.* 1 to 4095 cuts"),
    (lambda: Bands("age", tuple(float(i) for i in range(MAX_CUTS + 1))), "'age'.* 1 to 4095 cuts"),
    (lambda: Bands("age", [24.0]), "'age'.* cuts"),  # type: ignore[arg-type]
    (lambda: Bands("age", (24,)), "'age': a cut must be a finite float"),
    (lambda: Bands("age", (True,)), "'age': a cut must be a finite float"),
    (lambda: Bands("age", (math.nan,)), "'age': a cut must be a finite float"),
    (lambda: Bands("age", (math.inf,)), "'age': a cut must be a finite float"),
    (lambda: Bands("age", (-0.0,)), "0 without a sign"),
    (lambda: Bands("age", ("24",)), "'age': a cut"),  # type: ignore[arg-type]
    (lambda: Sides(("age", "hours"), (24.0,)), "'age', 'hours'.* a cut of each"),  # type: ignore[arg-type]
    (lambda: Sides(("age", "hours"), [24.0, 2.0]), "a cut of each"),  # type: ignore[arg-type]
    (lambda: Sides(("age", "hours"), (24.0, 2)), "'hours': a cut must be"),
    (lambda: Sides(("age",), (24.0, 2.0)), "two attributes"),  # type: ignore[arg-type]
    (lambda: Sides(["age", "hours"], (24.0, 2.0)), "two attributes"),  # type: ignore[arg-type]
    (lambda: Sides(("age", 3), (24.0, 2.0)), "two attributes"),  # type: ignore[arg-type]
    (lambda: Product(("age",), (24.0, 2.0), 0.25), "two attributes"),  # type: ignore[arg-type]
    (lambda: Product(("age", "hours"), (24.0,), 0.25), "a centre of each"),  # type: ignore[arg-type]
    (lambda: Product(("age", "hours"), (24.0, math.nan), 0.25), "'hours': a centre must be"),
    (lambda: Product(("age", "hours"), (24.0, 2.0), 1), "'age': the reach of a product must be a finite float"),
    (lambda: Product(("age", "hours"), (24.0, 2.0), 0.0), "2\\^-20 to 1"),
    (lambda: Product(("age", "hours"), (24.0, 2.0), 2.0**-21), "2\\^-20 to 1"),
    (lambda: Product(("age", "hours"), (24.0, 2.0), math.nextafter(1.0, 2.0)), "2\\^-20 to 1"),
    (lambda: Product(("age", "hours"), (24.0, 2.0), math.inf), "finite float"),
]


@pytest.mark.parametrize(("make", "rule"), BAD)
def test_a_bad_view_is_refused_with_its_attribute(make: Callable[[], View], rule: str) -> None:
    with pytest.raises(PlanError, match=rule):
        make()


UNFIT: list[tuple[View, str]] = [
    (Bands("age", (15.9,)), "'age': cuts must be from 16.0 to below 96.0"),
    (Bands("age", (96.0,)), "'age': cuts must be from 16.0 to below 96.0"),
    (Bands("age", (15.9, 24.0)), "'age': cuts must be from 16.0 to below 96.0"),
    (Bands("age", (40.0, 24.0)), "'age': cuts must increase"),
    (Bands("age", (24.0, 24.0)), "'age': cuts must increase"),
    (Bands("edu", (24.0,)), "'edu': this view is of a number"),
    (Sides(("age", "hours"), (40.0, 80.0)), "'hours': cuts must be from 0.0 to below 80.0"),
    (Sides(("age", "edu"), (40.0, 1.0)), "'edu': this view is of a number"),
    (Product(("age", "hours"), (15.0, 40.0), 0.25), "'age': the centre must be from 16.0 to 96.0"),
    (Product(("age", "hours"), (20.0, 80.5), 0.25), "'hours': the centre must be from 0.0 to 80.0"),
    (Product(("edu", "hours"), (0.5, 0.5), 0.25), "'edu': this view is of a number"),
]


@pytest.mark.parametrize(("view", "rule"), UNFIT)
def test_a_view_that_does_not_suit_the_schema_is_refused(view: View, rule: str) -> None:
    for method in (view.seen, view.look):
        with pytest.raises(PlanError, match=rule):
            method(SCHEMA)


def test_unknown_attributes_are_named() -> None:
    for view in (
        Value("x"),
        Bands("x", (1.0,)),
        Sides(("age", "x"), (40.0, 1.0)),
        Product(("x", "x"), (1.0, 1.0), 1.0),
    ):
        with pytest.raises(SchemaError, match="'x'"):
            view.seen(SCHEMA)


def test_cuts_that_fall_together_as_positions_are_refused() -> None:
    """In a wide domain two neighbouring floats may have one position: a band between them would be empty."""
    schema = Schema([Numeric("x", -1e16, 1.0)])
    with pytest.raises(PlanError, match="'x': cuts must increase"):
        Bands("x", (-4.0, -4.25 + 0.75)).seen(schema)
    with pytest.raises(PlanError, match="'x': cuts must increase"):
        Bands("x", (0.0,)).seen(schema)  # its position is 1: nothing would lie above
    with pytest.raises(PlanError, match="'x': cuts must increase"):
        Bands("x", (-4.0, 0.0)).seen(schema)
    assert Bands("x", (-4.0,)).seen(schema).name == "x"
    assert Bands("score", (-0.5,)).seen(SCHEMA).name == "score"  # only 0 must have no sign


def test_the_most_cuts_and_the_ends_of_reach_and_centres() -> None:
    schema = Schema([Numeric("x", 0, 4096, optional=True)])
    view = Bands("x", tuple(float(i) for i in range(1, 1 + MAX_CUTS)))
    look = view.look(schema)
    assert [look([u]) for u in (0.0, 0.5, 1.0, None)] == [0, 2047, 4095, 4096]
    assert len(view.seen(schema).labels) == 4097  # type: ignore[union-attr]
    for reach in (2.0**-20, 1.0):
        assert Product(("x", "x"), (0.0, 4096.0), reach).look(schema)([0.0]) == 0.5


# -- JSON


@pytest.mark.parametrize("view", KINDS)
def test_a_view_reads_back(view: View) -> None:
    again = views.from_json(json.loads(json.dumps(view.to_json())))
    assert again == view
    assert hash(again) == hash(view)
    assert again.to_json() == view.to_json()


def test_the_json_of_views() -> None:
    assert [json.dumps(view.to_json()) for view in KINDS[1:6:2]] == [
        '{"kind": "value", "of": ["hours"]}',
        '{"kind": "bands", "of": ["hours"], "cuts": [0.0, 38.5]}',
        '{"kind": "product", "of": ["age", "score"], "centres": [56.0, 0.5], "reach": 0.25}',
    ]
    assert KINDS[4].to_json() == {"kind": "sides", "of": ["age", "hours"], "cuts": [40.0, 38.0]}


def test_every_name_in_json_is_a_string() -> None:
    for names in (["age", 7], [7, "age"]):
        with pytest.raises(PlanError, match="this view is of 2 attributes"):
            views.from_json(KINDS[4].to_json() | {"of": names})


@pytest.mark.parametrize("view", KINDS)
def test_every_field_of_a_view_is_checked(view: View) -> None:
    values = view.to_json()
    junks: list[Any] = [None, 7, "x", [], [values], {}, values | {"extra": 1}, values | {"kind": "other"}]
    junks += [{key: value for key, value in values.items() if key != left} for left in values]
    for junk in junks:
        with pytest.raises(PlanError):
            views.from_json(junk)
    for field, junk in product(
        values, [None, -1, True, 1.5, "", "x", [], [[]], {}, [None], [1, 2, 3], ["a", "b", "c"]]
    ):
        try:
            changed = views.from_json(values | {field: junk})
        except PlanError:
            continue
        assert changed.to_json() == values | {field: junk}  # nothing was silently mended


def test_views_differ_by_all_that_they_say() -> None:
    found = [
        *KINDS,
        Bands("age", (24.0, 40.0)),
        Bands("hours", (24.0, 40.0)),
        Sides(("hours", "age"), (40.0, 38.0)),
        Sides(("age", "hours"), (40.0, 39.0)),
        Product(("age", "score"), (56.0, 0.5), 0.125),
        Product(("age", "score"), (56.0, 0.25), 0.25),
    ]
    assert len(set(found)) == len(found)
    assert len({json.dumps(view.to_json()) for view in found}) == len(found)


def test_labels_are_as_people_write_numbers() -> None:
    assert views.labels((0.0, 1e6, 2.5e6)) == ["up to 0", "0 to 1000000", "1000000 to 2500000", "above 2500000"]
    assert views.labels((1e16,)) == ["up to 1e+16", "above 1e+16"]
    assert len(set(views.labels([i / 7 for i in range(200)]))) == 201


def test_a_band_of_whole_numbers_is_named_by_its_first_and_its_last_one() -> None:
    ages = Integer("age", 0, 99)
    assert views.labels((17.0, 18.0, 64.0, 65.0), ages) == ["up to 17", "18", "19 to 64", "65", "above 65"]
    assert views.labels((17.0, 64.5), ages) == ["up to 17", "17 to 64.5", "above 64.5"]
    assert views.labels((17.0,), Numeric("age", 0, 99)) == ["up to 17", "above 17"]


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (Value("edu"), "edu"),
        (Bands("age", (24.0, 40.0, 60.0)), "age in 4 bands"),
        (Sides(("age", "hours"), (40.0, 38.5)), "age and hours: same side of 40 and 38.5?"),
        (Product(("age", "score"), (56.0, 0.5), 0.25), "age × score"),
        (Product(("hours", "hours"), (40.0, 40.0), 0.25), "hours squared"),
    ],
)
def test_what_people_read_of_a_view(view: View, words: str) -> None:
    assert view.words == view.told(SCHEMA) == words


def test_cuts_are_told_in_the_words_of_their_attributes() -> None:
    schema = Schema([Date("born", "1990-01-01", "2020-12-31"), Numeric("hours", 0, 80)])
    day = schema["born"].encode("2000-02-29")
    assert isinstance(schema["born"], Numeric)
    cut = schema["born"].low + float(day) * (schema["born"].high - schema["born"].low)  # type: ignore[arg-type]
    view = Sides(("born", "hours"), (float(round(cut)), 38.0))
    assert view.told(schema) == "born and hours: same side of 2000-02-29 and 38?"


# -- steps (tests/core/channels/test_same_work.py compares those of whole records)


class Counted(float):
    """A number that counts how often it is compared: a search in C takes no bytecodes."""

    compared = 0

    def __lt__(self, other: float) -> bool:
        Counted.compared += 1
        return float(self) < float(other)

    def __gt__(self, other: float) -> bool:
        Counted.compared += 1
        return float(self) > float(other)


@pytest.mark.parametrize("cuts", [1, 2, 3, 4, 7, 8, 100])
def test_a_band_is_found_in_as_many_comparisons_wherever_it_is(cuts: int) -> None:
    schema = Schema([Numeric("x", 0, 1, optional=True)])
    look = Bands("x", tuple((i + 1) / (cuts + 1) for i in range(cuts))).look(schema)
    found = set()
    for i in range(2 * cuts + 3):
        Counted.compared = 0
        look([Counted(i / (2 * cuts + 2))])
        found.add(Counted.compared)
    assert found == {cuts.bit_length()}
