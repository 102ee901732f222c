"""Estimates and predictions are lists, shown as tables, and in data frames to the last bit."""

from __future__ import annotations

import copy
import json
import math
import pickle
import sys
from typing import Any

import pytest

import hush
from hush import MISSING, Estimate, Estimates, Predictions
from hush.device.randomise import randomise_from
from hush.show.rows import Rows
from hush.testing import SeededCoins
from tests.test_imports import isolated

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 0, 120),
        hush.Numeric("income", 0, 1e5, optional=True),
        hush.Categorical("os", ["<script>", "[red]mac", "other"]),
        hush.Categorical("region", [1, 2, 30], optional=True),
    ]
)
PLAN = hush.design(SCHEMA, 2.0)
RECORD = {"age": 41, "income": 5e4, "os": "<script>", "region": 30}


def counted(n: int) -> hush.Tally:
    coins, tally = SeededCoins(7), hush.Tally(PLAN)
    for _ in range(n):
        tally.add(randomise_from(coins, PLAN, RECORD))
    return tally


TALLY = counted(2000)
ROWS = hush.estimate(TALLY, level=0.9)
KINDS: list[Rows[Any]] = [
    ROWS,
    ROWS.clip(),
    ROWS.project(),
    hush.predict(PLAN, 5000, level=0.8),
    hush.manipulation(TALLY, 20),
    hush.estimate(hush.Tally(PLAN)),  # nobody has answered: every point is NaN
    Estimates(),
]
IDS = ["estimates", "clipped", "projected", "predictions", "manipulations", "unknown", "empty"]
kinds = pytest.mark.parametrize("rows", KINDS, ids=IDS)


def same(left: object, right: object) -> bool:
    """Return whether values are equal, of one type, and NaN where the other is."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return type(left) is type(right) and left == right


# -- lists


def test_they_are_lists_and_equal_to_lists() -> None:
    plain = list(ROWS)
    assert type(plain) is list
    assert isinstance(ROWS, list)
    assert plain == ROWS
    assert plain == Estimates(plain)  # the level is not part of what is compared
    assert Estimates(plain[:-1]) != plain
    kept = [{key: value for key, value in vars(row).items() if value is not None or key == "category"} for row in ROWS]
    assert json.loads(json.dumps(kept)) == ROWS.to_dicts()
    assert [row.attribute for row in ROWS] == ["age", "income", "income", *["os"] * 3, *["region"] * 4]


def test_parts_and_copies_are_of_the_same_kind_and_keep_the_level() -> None:
    copies = [ROWS[:], ROWS[2:7:2], ROWS.copy(), copy.copy(ROWS), copy.deepcopy(ROWS), pickle.loads(pickle.dumps(ROWS))]  # noqa: S301
    for found in [*copies, ROWS.of("age"), ROWS.clip(), ROWS.project()]:
        assert type(found) is Estimates
        assert found.level == 0.9
    assert copies[0] == copies[2] == copies[3] == copies[4] == copies[5] == ROWS
    assert copies[1] == [ROWS[2], ROWS[4], ROWS[6]]
    predicted = hush.predict(PLAN, 5000, level=0.8)
    for found in (predicted[1:], predicted.of("os"), pickle.loads(pickle.dumps(predicted))):  # noqa: S301
        assert (type(found), found.people, found.level) == (Predictions, 5000, 0.8)


def test_what_builds_a_list_builds_a_plain_one() -> None:
    """Sums of two may have two levels, and an order of one's own is the caller's to name."""
    for found in (ROWS + ROWS, sorted(ROWS, key=lambda row: row.point), [*ROWS], list(reversed(ROWS))):
        assert type(found) is list
    ordered = Estimates(sorted(ROWS, key=lambda row: row.answers), level=ROWS.level)
    ordered.sort(key=lambda row: row.attribute)
    assert "90 % interval" in str(ordered)


def test_a_copy_is_a_copy() -> None:
    other = ROWS.copy()
    other.pop()
    other.level = 0.5
    assert len(ROWS) == len(other) + 1
    assert ROWS.level == 0.9


def test_rows_of_some_attributes() -> None:
    assert ROWS.of("region", "age") == [ROWS[0], *ROWS[6:]]  # in their own order
    assert ROWS.of() == []
    with pytest.raises(hush.SchemaError, match=r"called 'shoe'; there are: 'age', 'income', 'os', 'region'$"):
        ROWS.of("age", "shoe")
    with pytest.raises(TypeError):
        ROWS["age"]  # type: ignore[call-overload]  # a list has places, not names


def test_the_level_of_a_plain_list_is_not_known() -> None:
    clipped = Estimates(list(ROWS), schema=SCHEMA).clip()
    assert clipped.level is None
    assert [column.strip() for column in clipped.table().columns][3] == "interval"


# -- tables


def test_estimates_read_as_on_the_command_line() -> None:
    rows = Estimates(
        [
            Estimate("age", None, 44.2157, 0.5, 43.23, 45.2, 1234),
            Estimate("os", "mac", 0.3333, 0.01, 0.31, 0.352, 987),
            Estimate("os", MISSING, math.nan, math.inf, 0.0, 1.0, 0),
        ],
        level=0.95,
    )
    assert repr(rows).splitlines() == [
        "attribute   estimate               value    95 % interval   answers",
        "-------------------------------------------------------------------",
        "age         mean                   44.22   43.23 .. 45.20     1,234",
        "os          share of mac           0.333   0.310 .. 0.352       987",
        "os          share of (missing)   unknown     0.00 .. 1.00         0",
    ]


@kinds
def test_all_forms_tell_every_row(rows: Rows[Any]) -> None:
    assert repr(rows) == str(rows)
    html = rows._repr_html_()
    assert "<script>" not in html
    if any(row.category == "<script>" for row in rows) and isinstance(rows, Estimates):
        assert "share of &lt;script&gt;" in html
    assert html.count("<tr>") == 1 + len(rows.table().rows)


def test_long_ones_are_shortened_unless_they_are_printed() -> None:
    rows = Estimates(Estimate("c", i, 0.0, 0.1, -0.1, 0.1, 9) for i in range(5000))
    assert len(repr(rows).splitlines()) < 70
    assert "... 4,940 more" in repr(rows)
    assert "... 4,940 more" in rows._repr_html_()
    assert len(str(rows).splitlines()) == 5002


def test_ipython_shows_the_table() -> None:
    from IPython.core.formatters import DisplayFormatter

    formatter: Any = DisplayFormatter()
    bundle, _ = formatter.format(ROWS)
    assert bundle["text/plain"] == repr(ROWS)
    assert bundle["text/html"] == ROWS._repr_html_()


# -- data frames


@kinds
def test_arrow_pandas_and_polars_hold_the_same_to_the_last_bit(rows: Rows[Any]) -> None:
    expected = rows.to_dicts()
    for row in expected:
        row["category"] = None if row["category"] is None else str(row["category"])
        row |= {name: math.nan for name in row if name not in ("attribute", "category") and row[name] is None}
        row |= {"needed": float(row["needed"])} if "needed" in row else {}
    frame = rows.to_pandas()
    for name in ("attribute", "category"):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), None)
    for found in (rows.to_arrow().to_pylist(), rows.to_polars().to_dicts(), frame.to_dict("records")):
        assert len(found) == len(expected)
        for got, row in zip(found, expected, strict=True):
            assert list(got) == list(row)
            assert all(same(got[name], row[name]) for name in row), (got, row)


@kinds
def test_columns_have_the_same_types_whatever_is_in_them(rows: Rows[Any]) -> None:
    numbers = {"answers": "Int64"} if isinstance(rows, Estimates) else {}
    types = {name: str(kind) for name, kind in rows.to_polars().schema.items()}
    texts = [name for name in ("attribute", "category", "assumed") if name in types]
    assert types == {name: numbers.get(name, "Float64") for name in types} | dict.fromkeys(texts, "String")
    assert rows.to_pandas().dtypes.astype(str).to_dict() == {name: kind.lower() for name, kind in types.items()}
    kept, none = rows.to_arrow().schema, rows[:0].to_arrow().schema  # rare columns are there if a row has one
    assert [field for field in kept if field.name != "needed"] == list(none)


def test_dictionaries_keep_categories_as_they_are() -> None:
    assert [row["category"] for row in ROWS.of("region").to_dicts()] == [1, 2, 30, MISSING]
    assert [Estimate(**row) for row in ROWS.to_dicts()] == ROWS


@pytest.mark.parametrize(
    ("package", "convert", "install"),
    [
        ("pandas", Rows.to_pandas, "pip install pandas"),
        ("polars", Rows.to_polars, "pip install polars"),
        ("pyarrow", Rows.to_arrow, r"pip install 'hush-ldp\[batch\]'"),
    ],
)
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str, convert: Any, install: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=install) as caught:
        convert(ROWS)
    assert caught.value.name == package


SHOWING = """
import hush
plan = hush.design(hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"])]), 1.0)
tally = hush.Tally(plan)
tally.add(hush.randomise(plan, {"x": 0.5, "c": "a"}))
for shown in (hush.estimate(tally), hush.predict(plan, 1000), plan):
    print(len(str(shown) + repr(shown) + shown._repr_html_()) > 100)
print(*sys.modules)
"""


def test_showing_needs_the_standard_library_alone() -> None:
    *shown, loaded = isolated(f"exec({SHOWING!r})").splitlines()
    assert shown == ["True"] * 3
    assert not {"rich", "pandas", "polars", "pyarrow", "altair", "hush.plots"} & set(loaded.split())
