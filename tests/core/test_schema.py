"""What a record may be. Everything else is refused, by attribute and rule, before randomness is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush import MISSING, Categorical, Numeric, RecordError, Schema, SchemaError, design
from hush.core import finders
from hush.core.categorical import Points
from hush.core.numeric import short
from hush.device.randomise import randomise_from
from hush.testing import ListedCoins
from tests.cases import MIXED, RECORD

BAD_VALUES: list[tuple[str, Any, str]] = [
    ("age", None, "missing"),
    ("age", math.nan, "NaN"),
    ("age", math.inf, "finite"),
    ("age", -math.inf, "finite"),
    ("age", 120.00000000000001, "from 0.0 to 120.0"),
    ("age", np.float32(120.00001), "from 0.0 to 120.0"),
    ("age", np.float32("nan"), "NaN"),
    ("age", Fraction(10**400), "from 0.0 to 120.0"),
    ("age", 10**400, "from 0.0 to 120.0"),
    ("age", -5e-324, "from 0.0 to 120.0"),
    ("age", "41", "must be a number"),
    ("age", True, "must be a number"),
    ("age", Decimal(41), "must be a number"),
    ("age", 41 + 0j, "must be a number"),
    ("age", [41], "must be a number"),
    ("age", np.array([41.0]), "must be a number"),
    ("height", math.nan, "NaN"),
    ("height", math.inf, "finite"),
    ("os", None, "missing"),
    ("os", "Mac", "one of the 3 values"),
    ("os", b"mac", "must be a string"),
    ("os", 1, "must be a string"),
    ("os", ["mac"], "must be a string"),
    ("os", MISSING, "one of the 3 values"),
    ("code", 4, "one of the 8 values"),
    ("code", "13", "must be an integer"),
    ("code", 13.0, "must be an integer"),
    ("code", True, "must be an integer"),
    ("income", math.nan, "NaN"),
    ("smokes", "maybe", "one of the 2 values"),
]


@pytest.mark.parametrize(("name", "value", "rule"), BAD_VALUES)
def test_a_bad_value_is_refused_before_any_randomness_is_drawn(name: str, value: Any, rule: str) -> None:
    plan = design(MIXED, 1.0)
    with pytest.raises(RecordError, match=rule) as caught:
        randomise_from(ListedCoins([]), plan, RECORD | {name: value})  # drawing a word would be a LookupError
    assert repr(name) in str(caught.value)


def test_every_attribute_is_checked_not_only_those_sampled() -> None:
    plan = design(MIXED, 1.0, k=1)
    for _ in range(50):
        with pytest.raises(RecordError):
            randomise_from(ListedCoins(range(100)), plan, RECORD | {"smokes": "maybe"})


@given(
    st.sampled_from(["age", "os", "code"]),
    st.one_of(
        st.text(min_size=6),
        st.integers(10**6),
        st.floats(1e6, allow_infinity=False),
        st.binary(min_size=8),
        st.lists(st.integers(10**6), min_size=2),
    ),
)
def test_no_message_contains_the_value(name: str, value: Any) -> None:
    with pytest.raises(RecordError) as caught:
        MIXED.encode(RECORD | {name: value})
    assert str(value) not in str(caught.value)
    assert caught.value.__cause__ is None


@given(st.dictionaries(st.one_of(st.sampled_from([*RECORD]), st.text()), st.one_of(st.none(), st.floats(), st.text())))
def test_junk_is_refused_or_encoded_never_anything_else(record: dict[str, Any]) -> None:
    for form in (record, [*record.items()], [*record]):
        try:
            inputs = MIXED.encode(form)  # type: ignore[arg-type]
        except RecordError:
            continue
        assert len(inputs) == len(MIXED)


def test_unknown_and_repeated_attributes_are_refused() -> None:
    for unknown in ("agee", 7):
        with pytest.raises(RecordError, match=r"not in the schema; there are: 'age', 'height'") as caught:
            MIXED.encode(RECORD | {unknown: 1})  # type: ignore[arg-type]
        assert str(unknown) not in str(caught.value)  # swapped names and values must not be shown
    with pytest.raises(RecordError, match="attribute 'age': is given more than once"):
        MIXED.encode([*RECORD.items(), ("age", 41)])
    with pytest.raises(RecordError, match="an attribute is given more than once"):
        MIXED.encode([("me@home", 1), ("me@home", 1)])
    junks: list[Any] = [5, None, [1, 2], [("age",)], [(1, 2)], [([], 1)], [("", 1)], "age"]
    for junk in junks:
        with pytest.raises(RecordError, match="mapping, or pairs"):
            MIXED.encode(junk)


def test_values_become_positions_and_indices() -> None:
    assert MIXED.encode(RECORD) == [41 / 120, 1.75 / 4, None, 1, 5, 1]
    assert MIXED.encode([*RECORD.items()]) == MIXED.encode(RECORD)
    assert MIXED.encode({key: value for key, value in RECORD.items() if value is not None}) == MIXED.encode(RECORD)
    clipped = MIXED.encode(RECORD | {"height": 1e300, "income": 0, "smokes": None})
    assert clipped[1:3] == [1.0, 0.0]
    assert clipped[5] == 2
    assert MIXED.encode(RECORD | {"height": -(10**400)})[1] == 0.0


@pytest.mark.parametrize("value", [np.float64(41), np.float32(41), np.int64(41), Fraction(41), 41])
def test_numbers_of_all_kinds_are_welcome(value: Any) -> None:
    assert Numeric("age", 0, 120).encode(value) == 41 / 120


@pytest.mark.parametrize("value", [np.int64(41), np.uint8(41), 41])
def test_integers_of_all_kinds_are_welcome(value: Any) -> None:
    assert Categorical("code", [40, 41]).encode(value) == 1


@pytest.mark.parametrize("rule", ["error", "clip"])
@pytest.mark.parametrize("kind", [float, np.float64, Fraction, int])
def test_the_bounds_themselves_are_inside(rule: Any, kind: Any) -> None:
    attribute = Numeric("x", -3, 7, out_of_range=rule)
    assert attribute.encode(kind(-3)) == 0.0
    assert attribute.encode(kind(7)) == 1.0


def test_strings_of_numpy_are_strings() -> None:
    assert Categorical("os", ["linux", "mac"]).encode(np.str_("mac")) == 1


class Liar(float):
    """Says that it is within any bounds."""

    def __le__(self, other: object) -> bool:
        return True

    def __ge__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return False


@pytest.mark.parametrize("low", [0.7, 0.9, 0.01, -0.1, 36.6, 98.6])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, Liar, Fraction, float])
def test_no_type_of_number_gets_past_the_bounds(low: float, kind: Any) -> None:
    """Numbers compare in their own precision; what is compared must be what is used, or a state could be made up."""
    high = low + 0.3
    for attribute in (Numeric("x", low, high), Numeric("x", low, high, out_of_range="clip")):
        for value in (low, high, low - 1e-9, high + 1e-9, low + 0.1, -1e4):
            try:
                position = attribute.encode(kind(value))
            except RecordError:
                continue
            assert type(position) is float
            assert 0 <= position <= 1


@given(
    st.floats(-1e300, 1e300, allow_nan=False),
    st.floats(1e-250, 1e300, allow_nan=False),
    st.floats(0, 1),
)
def test_positions_never_leave_the_unit_interval(low: float, width: float, share: float) -> None:
    high = low + width
    if not low < high or high - low < 1e-300:
        return
    attribute = Numeric("x", low, high)
    for value in (low, high, min(max(low + share * width, low), high)):
        position = attribute.encode(value)
        assert position is not None
        assert 0 <= position <= 1
    assert attribute.encode(low) == 0
    assert attribute.encode(high) == 1


BAD_ATTRIBUTES: list[tuple[Callable[[], object], str]] = [
    (lambda: Numeric("", 0, 1), "printable"),
    (lambda: Numeric("x" * 129, 0, 1), "printable"),
    (lambda: Numeric("a\nb", 0, 1), "printable"),
    (lambda: Numeric("\ud800", 0, 1), "printable"),
    (lambda: Numeric(5, 0, 1), "printable"),  # type: ignore[arg-type]
    (lambda: Numeric("x", 1, 1), "less than high"),
    (lambda: Numeric("x", 2, 1), "less than high"),
    (lambda: Numeric("x", math.nan, 1), "less than high"),
    (lambda: Numeric("x", 0, math.inf), "less than high"),
    (lambda: Numeric("x", 0, 10**400), "less than high"),
    (lambda: Numeric("x", -1e308, 1e308), "1e308"),
    (lambda: Numeric("x", 0, 5e-324), "1e-300"),
    (lambda: Numeric("x", "0", 1), "low must be a number"),  # type: ignore[arg-type]
    (lambda: Numeric("x", False, 1), "low must be a number"),
    (lambda: Numeric("x", 0, 1, "wrap"), "out_of_range"),  # type: ignore[arg-type]
    (lambda: Numeric("x", 0, 1, optional=1), "optional"),  # type: ignore[arg-type]
    (lambda: Categorical("", ["a", "b"]), "printable"),
    (lambda: Categorical("a\nb", ["a", "b"]), "printable"),
    (lambda: Categorical("x" * 129, ["a", "b"]), "printable"),
    (lambda: Categorical("x", ["a"]), "2 to 4096"),
    (lambda: Categorical("x", []), "2 to 4096"),
    (lambda: Categorical("x", range(4097)), "2 to 4096"),
    (lambda: Categorical("x", ["a", "a"]), "repeated"),
    (lambda: Categorical("x", ["a", 1]), "all strings or all integers"),  # type: ignore[arg-type]
    (lambda: Categorical("x", [1.0, 2.0]), "all strings or all integers"),  # type: ignore[arg-type]
    (lambda: Categorical("x", [True, False]), "all strings or all integers"),
    (lambda: Categorical("x", "ab"), "must be a list"),
    (lambda: Categorical("x", {"a", "b"}), "must be a list"),  # type: ignore[arg-type]
    (lambda: Categorical("x", ["a", MISSING]), "printable"),
    (lambda: Categorical("x", ["a", "b" * 257]), "printable"),
    (lambda: Categorical("x", ["a", "\x00"]), "printable"),
    (lambda: Categorical("x", ["a", "b"], optional=1), "optional must be True or False"),  # type: ignore[arg-type]
    (lambda: Categorical("x", [1, 2**53]), "below 2\\^53"),
    (lambda: Numeric("x", 0, 1, scale="square"), "linear"),  # type: ignore[arg-type]
    (lambda: Numeric("x", 0, 1, unit=0.5), "a unit is for"),
    *(
        (lambda unit=unit: Numeric("x", 0, 1, scale="log", unit=unit), "'x': the unit must be a number above 0")
        for unit in (0, -0.5, 1, 2.0, math.nan, math.inf, True, "0.5", 10**400, Fraction(1, 10**400))
    ),
    (lambda: Schema([]), "1 to 1024"),
    (lambda: Schema([Numeric(f"x{i}", 0, 1) for i in range(1025)]), "1 to 1024"),
    (lambda: Schema([Numeric("x", 0, 1), Categorical("x", [1, 2])]), "more than once"),
    (lambda: Schema(Numeric("x", 0, 1)), "a list of attributes"),  # type: ignore[arg-type]
    (lambda: Schema(["x"]), "Numeric, Categorical, Choices and Text"),  # type: ignore[list-item]
    (lambda: Schema([Numeric("x", 0, 1), "y"]), "Numeric, Categorical, Choices and Text"),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("make", "rule"), BAD_ATTRIBUTES)
def test_attributes_that_make_no_sense_are_refused(make: Callable[[], object], rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        make()


def test_limits_are_reached() -> None:
    assert len(Schema([Numeric(f"x{i}", 0, 1) for i in range(1024)])) == 1024
    assert len(Categorical("x", range(4096), optional=True).labels) == 4097
    assert Categorical("x", ["only"], optional=True).labels == ("only", MISSING)
    Numeric("x", -8e307, 8e307)


def test_the_ends_of_every_rule_are_allowed() -> None:
    assert MISSING == "(missing)"
    for make in (lambda name: Numeric(name, 0, 1), lambda name: Categorical(name, [1, 2])):
        assert make("x" * 128).name == "x" * 128
    assert Categorical("x", ["a" * 256, "b"]).encode("a" * 256) == 0
    top = 2**53 - 1
    assert Categorical("x", [top, -top]).encode(-top) == 1
    assert Numeric("x", 0, 1e-300).encode(1e-300) == 1
    with pytest.raises(SchemaError, match="below 2\\^53"):
        Categorical("x", [0, -(2**53)])
    with pytest.raises(SchemaError, match="1e-300"):
        Numeric("x", 0, 9e-301)


@pytest.mark.parametrize("count", [8, 9])
def test_of_many_names_or_values_eight_are_listed(count: int) -> None:
    values = [f"v{i}" for i in range(count)]
    listed = ", ".join(map(repr, values[:8])) + (", ..." if count > 8 else "")
    with pytest.raises(RecordError) as caught:
        Categorical("x", values).encode("w")
    assert str(caught.value) == f"attribute 'x': must be one of the {count} values declared: {listed}"
    schema = Schema([Numeric(name, 0, 1) for name in values])
    with pytest.raises(SchemaError) as unknown:
        schema["w"]
    assert str(unknown.value) == f"no attribute is called 'w'; there are: {listed}"
    with pytest.raises(RecordError, match=f"there are: {listed}$"):
        schema.encode({"w": 1})


def test_attributes_and_schemas_are_values() -> None:
    """Equal if they say the same, to be found in sets, shown without what is only there for speed, and replaced."""

    def make() -> tuple[Any, ...]:
        attributes = (Categorical("os", ["linux", "mac"]), Numeric("x", -0.5, 1))
        return (*attributes, Schema(attributes))

    one, other = make(), make()
    assert one == other
    assert len({*one, *other}) == 3
    assert repr(one[0]) == "Categorical(name='os', values=('linux', 'mac'), optional=False, other=False)"
    assert repr(one[2]) == f"Schema(attributes=({one[0]!r}, {one[1]!r}))"
    assert Schema.from_json(one[2].to_json()) == one[2]
    fewer = replace(one[2], attributes=one[:1])
    assert fewer.names == ("os",)
    assert fewer.encode({"os": "mac"}) == [1]
    assert fewer["os"] is one[0]
    with pytest.raises(SchemaError, match="no attribute is called 'x'"):
        fewer["x"]


def test_arrays_of_values_are_welcome() -> None:
    array: Callable[[list[Any]], Any] = np.array
    assert Categorical("code", array([40, 41])).values == (40, 41)
    assert Categorical("os", array(["linux", "mac"])).encode("mac") == 1
    with pytest.raises(SchemaError, match="all strings or all integers"):
        Categorical("code", array([1.5, 2.5]))


def test_a_schema_finds_attributes_by_name() -> None:
    assert MIXED["os"].name == "os"
    with pytest.raises(SchemaError, match="'nobody'"):
        MIXED["nobody"]


def test_a_schema_reads_back_strictly() -> None:
    values = MIXED.to_json()
    assert Schema.from_json(values) == MIXED
    assert Numeric("x", -0.0, 1).to_json()["low"].hex() == "0x0.0p+0"
    for change in ({"extra": 1}, {"kind": "other"}, {"kind": 5}, {"low": 0}, {"low": -0.0}, {"optional": "no"}):
        with pytest.raises(SchemaError):
            Schema.from_json([values[0] | change])
    wide = Schema([Numeric("x", 0, 1000, scale="log", unit=1)])
    assert Schema.from_json(wide.to_json()) == wide
    assert wide.to_json()[0]["unit"].hex() == "0x1.0000000000000p+0"
    changes: list[dict[str, Any]] = [{"unit": 1}, {"unit": "1.0"}, {"unit": -0.0}, {"unit": 1e3}, {"scale": None}]
    for other in [*changes, {"scale": "linear"}]:
        with pytest.raises(SchemaError):
            Schema.from_json([wide.to_json()[0] | other])
    broken: list[Any] = [None, {}, [None], [[]], "x"]
    for junk in broken:
        with pytest.raises(SchemaError):
            Schema.from_json(junk)


def test_texts_are_found_by_hashes_of_one_length() -> None:
    """A hash takes longer the longer a text is, and a plan may choose a short and a long one."""
    values = ["", "a", "a ", " a", "é", "\U0001f600" * 256]
    attribute = Categorical("c", values)
    assert [attribute.encode(value) for value in values] == [*range(6)]
    assert len({len(attribute._find.padded(value)) for value in values}) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [" ", "a  ", "a\0", "\ud800", "b" * 257])
def test_padding_makes_no_two_texts_equal(value: str) -> None:
    with pytest.raises(RecordError, match="must be one of the 3 values declared") as caught:
        Categorical("c", ["", "a", "b" * 256]).encode(value)
    assert caught.value.__cause__ is None


def test_texts_whose_hashes_are_equal_are_padded_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []

    def weak(data: bytes) -> int:
        lengths.append(len(data))
        return 0 if len(data) < 16 else hash(data)

    monkeypatch.setattr(finders, "hash", weak, raising=False)
    attribute = Categorical("c", ["a", "b"])
    assert [attribute.encode("a"), attribute.encode("b")] == [0, 1]
    assert lengths[-1] == 16


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=2, max_size=40, unique=True), st.integers())
def test_integers_are_found_where_they_stand(values: list[int], other: int) -> None:
    attribute = Categorical("c", values)
    assert [attribute.encode(value) for value in values] == [*range(len(values))]
    if other not in values:
        with pytest.raises(RecordError):
            attribute.encode(other)


class Watched(int):
    """Counts how often it is compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        Watched.compared += 1
        return int(self) < other


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 21, 100])
def test_all_integers_are_found_in_equally_many_steps(size: int) -> None:
    """As many as the number has binary digits. A plan that lists integers learns nothing from the time."""
    values = [7 * i for i in range(size)]
    attribute = Categorical("c", values, optional=True)
    for place, value in enumerate(values):
        Watched.compared = 0
        assert attribute._find(Watched(value)) == place
        assert Watched.compared == size.bit_length()


@pytest.mark.parametrize("values", [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]])
def test_integers_beyond_the_limit_are_not_found(values: list[int]) -> None:
    for value in (2**53, 2**53 + 1, -(2**53), 0):
        with pytest.raises(RecordError, match=f"one of the {len(values)} values declared"):
            Categorical("c", values, optional=True).encode(value)


@pytest.mark.parametrize("values", [["only"], [5], ["a", "b"], [1, 2, 3]])
def test_a_missing_value_is_the_last_category(values: Any) -> None:
    attribute = Categorical("c", values, optional=True)
    assert attribute.encode(None) == len(values)
    assert attribute.labels[attribute.encode(None)] == MISSING


def test_numbers_are_shown_as_people_write_them() -> None:
    assert [short(number) for number in (24.0, -3.0, 0.5)] == ["24", "-3", "0.5"]
    assert [short(number) for number in (1e15 - 1, 1e15, 1.5e15)] == ["9" * 15, repr(1e15), repr(1.5e15)]
    age = Numeric("age", 2, 10)
    assert age.examples == (2.0, 6.0, 10.0)
    assert [age.spanned(*ends) for ends in ((None, 4.0), (5.0, None), (5.0, 5.0), (5.0, 7.0))] == [
        "up to 4",
        "above 4",
        "5",
        "5 to 7",
    ]
    assert not age.whole
    assert "_absent" not in repr(age)


def test_bins_of_whole_numbers_begin_at_the_lowest_and_hold_the_highest() -> None:
    age = Numeric("age", 2, 10)
    assert [list(age.starts(bins)) for bins in (1, 2, 4, 9)] == [[2], [2, 7], [2, 5, 8], [2, 3, 4, 5, 6, 7, 8, 9, 10]]


def test_the_cut_of_a_band_is_a_number_and_zero_has_no_sign() -> None:
    age = Numeric("age", 2, 10)
    assert [age.cut(3), age.near(3.0, 1.0)] == [3.0, 3.0]
    assert math.copysign(1, age.cut(-0.0)) == 1
    for bad in (True, "3", None):
        with pytest.raises(SchemaError, match="bands are a list of numbers"):
            age.cut(bad)


def test_a_number_that_is_missing_has_no_place_and_a_unit_is_less_than_the_range() -> None:
    assert Numeric("x", 2, 4, optional=True).encode(None) is None
    assert Numeric("x", 2, 4).to_json()["kind"] == "numeric"
    with pytest.raises(SchemaError, match="less than high - low"):
        Numeric("x", 10, 12, scale="log", unit=5)


def test_all_other_strings_are_one_category() -> None:
    class Own(str):
        """A string that is not quite one."""

    attribute = Categorical("c", ["a"], optional=True, other=True)
    assert attribute.labels == ("a", "(other)", MISSING)
    assert [attribute.encode(value) for value in ("a", "b", Own("a"), Own("b"), None)] == [0, 1, 0, 1, 2]
    assert Categorical("c", ["a", "(other)"]).to_json()["kind"] == "categorical"


@pytest.mark.parametrize(
    ("values", "other", "rule"),
    [
        (["a"], 1, "other must be True or False"),
        ([1, 2], True, "other=True is for values that are strings"),
        (["a", "(other)"], True, r"no value may be '\(other\)'"),
        ([str(i) for i in range(4096)], True, r"needs 1 to 4095 values; for more, pass hush\.Listed\(values\)$"),
        (range(4097), False, "needs 2 to 4096 values$"),
        (["a"], False, "needs 2 to 4096 values$"),
    ],
)
def test_bad_values_of_a_category_are_refused(values: Any, other: Any, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        Categorical("c", values, other=other)


def test_points_have_numbers_for_names_and_a_missing_text_is_the_last() -> None:
    for points in (Points("t", 4), Points("t", 3, optional=True)):
        assert (points.kind, points.name, points.labels, points.other) == ("points", "t", range(4), False)
    assert [len(points.values) for points in (Points("t", 4), Points("t", 3, optional=True))] == [4, 3]


def test_texts_are_padded_to_one_length_and_none_of_the_list_is_cut() -> None:
    find = finders.Texts(["a", "bcdefgh"])
    texts = ["", "a", "bcdefgh", "bcdefghi", "bcdefghij", "z" * 100]
    assert {len(find.padded(text)) for text in texts} == {4 * (len("bcdefgh") + 3)}
    assert find.padded("bcdefgh").decode("utf-32-le").startswith("bcdefgh")
    assert find.padded("bcdefghi") != find.padded("bcdefgh")  # a longer text is not cut to one of the list


def test_a_text_that_is_not_in_the_list_is_compared_with_the_first() -> None:
    class Watched(list[str]):
        def __getitem__(self, place: Any) -> Any:
            asked.append(place)
            return super().__getitem__(place)

    asked: list[int] = []
    find = finders.Texts(Watched(["a", "b", "c"]))
    assert [find("c"), find("d")] == [2, None]
    assert asked == [2, 0]


class _Frame:
    """What a table of people looks like, of any library."""

    columns = ("age", "os")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


class _Row:
    """A row of a frame."""

    def to_dict(self) -> dict[str, Any]:
        return {"age": 1}

    def __iter__(self) -> Iterator[int]:
        return iter([1])


def test_a_table_is_no_record_and_the_error_says_what_takes_one() -> None:
    """Not even a list of one record, or a frame whose columns have names of two letters: they looked like pairs."""
    schema = Schema([Numeric("age", 0, 100), Categorical("os", ["s", "a"])])
    tables: list[Any] = [_Frame(), [{"age": 1, "os": "a"}], [{"os": 1, "s": "a"}]]
    for table in tables:
        with pytest.raises(RecordError, match=r"this is a table: hush\.batch\.randomise\(plan, table\) takes many"):
            schema.encode(table)
    row: Any = _Row()
    with pytest.raises(RecordError, match=r"or pairs of name and value: row\.to_dict\(\) is one"):
        schema.encode(row)
    names: Any = ["os"]
    with pytest.raises(RecordError, match=r"or pairs of name and value$"):
        schema.encode(names)
    assert schema.encode([("age", 50), ("os", "a")]) == schema.encode({"age": 50, "os": "a"})
