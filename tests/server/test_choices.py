"""Choices from people to estimates: unbiased, covered, in tables and files, and refused where nothing can be learnt."""

from __future__ import annotations

import csv
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hush import (
    Boolean,
    Categorical,
    Choices,
    DesignError,
    Ledger,
    LedgerError,
    Numeric,
    Plan,
    RecordError,
    Schema,
    SchemaError,
    audit,
    batch,
    design,
    estimate,
    people_needed,
    predict,
)
from hush.batch.columns import encode
from hush.cli.schemas import friendly
from hush.core.training.features import Features
from hush.device.series import Series
from hush.testing import SeededStreams

VALUES = ["tv", "radio", "web", "paper", "phone", "post"]


def crowd(n: int, optional: bool) -> list[list[str] | None]:
    """Lists in fixed proportions: 1/2 web alone, 1/4 tv and radio, 1/4 none (of which half are missing if optional)."""
    kinds: list[list[str] | None] = [["web"], ["web"], ["tv", "radio"], []] * 2
    kinds[-1] = None if optional else []
    return [kinds[i % 8] for i in range(n)]


def truth(optional: bool) -> dict[str, float]:
    shares = {"tv": 0.25, "radio": 0.25, "web": 0.5, "paper": 0.0, "phone": 0.0, "post": 0.0}
    return shares | ({"(missing)": 0.125} if optional else {})


def tallied(plan: Plan, people: list[Any], seed: int) -> Any:
    held = encode(plan.schema, {"uses": people})
    return batch._collect_from(SeededStreams(seed), plan, held, 1)


@pytest.mark.parametrize("optional", [False, True], ids=["", "optional"])
@pytest.mark.parametrize("way", ["members", "picks"])
def test_points_lie_where_they_should(way: Any, optional: bool) -> None:
    """Each of at most 7 points is within 6 standard errors of its share: a false alarm has a chance below 1e-7."""
    plan = design(Schema([Choices("uses", VALUES, 2, optional)]), 2.0, choices=way)
    rows = estimate(tallied(plan, crowd(80_000, optional), 1))
    assert {row.category for row in rows} == set(truth(optional))
    for row in rows:
        assert isinstance(row.category, str)
        assert abs(row.point - truth(optional)[row.category]) < 6 * row.stderr
    assert all(row.low <= row.point for row in rows if row.point > 0)


@pytest.mark.parametrize("way", ["members", "picks"])
def test_intervals_cover_and_a_moved_truth_is_noticed(way: Any) -> None:
    """At a level of 0.9, 20 collections miss more than 13 times with a chance below 1e-8; with a moved truth all do."""
    plan = design(Schema([Choices("uses", VALUES, 2)]), 4.0, choices=way)
    shares = truth(False)
    single = together = moved = 0
    for seed in range(20):
        tally = tallied(plan, crowd(800, False), seed)
        web = estimate(tally, level=0.9)[2]
        single += not web.low <= shares["web"] <= web.high
        moved += not web.low <= shares["web"] + 0.45 <= web.high
        rows = estimate(tally, level=0.9, simultaneous=True)
        together += not all(row.low <= shares[str(row.category)] <= row.high for row in rows)
    assert single <= 13
    assert together <= 13
    assert moved > 13


def test_predictions_are_those_of_estimates() -> None:
    plan = design(Schema([Choices("uses", VALUES, 2)]), 2.0)
    shares = truth(False)
    expected = {row.category: row.stderr for row in predict(plan, 80_000, guesses={"uses": shares})}
    for row in estimate(tallied(plan, crowd(80_000, False), 3)):
        assert row.stderr == pytest.approx(expected[row.category], rel=0.05)
    enough = people_needed(plan, 0.05)
    assert (
        max(row.margin for row in predict(plan, enough)) <= 0.05 < max(row.margin for row in predict(plan, enough - 1))
    )


@pytest.mark.parametrize("way", ["members", "picks"])
def test_an_audit_finds_nothing(way: Any) -> None:
    """It fails with a chance of 1e-6."""
    plan = design(Schema([Choices("uses", VALUES[:4], 2, True)]), 1.0, choices=way)
    assert audit(plan, draws=2000, confidence=1 - 1e-6).passed


def test_columns_are_lists() -> None:
    schema = Schema([Choices("uses", ["a", "b", "c"], 2, True)])
    lists: list[Any] = [["a", "c"], [], None, ["b"]]
    expected = np.array([[1, 0, 1], [0, 0, 0], [2, 2, 2], [0, 1, 0]])
    kinds = [pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.dictionary(pa.int8(), pa.string()))]
    for column in [lists, *(pa.array(lists, kind) for kind in kinds)]:
        assert (encode(schema, {"uses": column}).batches[0].arrays[0] == expected).all()


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        ([["a"], None], "is missing"),
        (["a", "b"], "must be a list of strings"),
        ([[1], [2]], "must be a list of strings"),
        ([["a", None]], "must be a list of strings"),
        ([["x"]], "must list some of the 3 values declared"),
        ([["a", "a"]], "must not list a value twice"),
        ([["a", "b", "c"]], "must list at most 2 values"),
    ],
)
def test_bad_columns_are_refused_by_name_and_rule(column: list[Any], rule: str) -> None:
    with pytest.raises(RecordError, match=f"column 'uses': {rule}"):
        encode(Schema([Choices("uses", ["a", "b", "c"], 2)]), {"uses": column})


def test_csv_separates_values(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("uses\na;c\n\nb\n")
    schema = Schema([Choices("uses", ["a", "b", "c"], 2)])
    from hush.batch.files import People

    (held,) = People(schema, str(path)).batches()
    assert held.column("uses").to_pylist() == [["a", "c"], [], ["b"]]


AWKWARD = ["a;b", "", "[c]", 'say "d"', "e, f", "ä 中"]


@pytest.mark.parametrize("values", [AWKWARD, ["a;b", "c"], ["", "c"], ["[a", "c"], ["a", "b c"]])
@pytest.mark.parametrize("optional", [False, True])
def test_lists_survive_csv_without_doubt(tmp_path: Path, values: list[str], optional: bool) -> None:
    """All lists of up to two values, in JSON: read back as they were, and drawn as those of a Parquet file."""
    from hush.batch.files import People

    schema = Schema([Choices("uses", values, optional=optional), Boolean("b")])
    held: list[list[str] | None] = [[], *([one] for one in values), *(list(two) for two in permutations(values, 2))]
    held += [None] * optional
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["uses", "b"])
        writer.writerows(["" if one is None else json.dumps(one, ensure_ascii=False), "true"] for one in held)
    (read,) = People(schema, str(path)).batches()
    assert read.column("uses").to_pylist() == held
    choices = schema["uses"]
    assert isinstance(choices, Choices)
    assert choices.plain == (values == ["a", "b c"])
    lists = [one for one in held if one is not None]
    assert [choices.split(json.dumps(one)) for one in lists] == lists
    if choices.plain:  # both ways of writing may stand in one column
        assert [choices.split(";".join(one)) for one in lists] == lists


@pytest.mark.parametrize(
    "text", ["a;b", "[", '["a;b"', "[1]", '{"a;b": 1}', "null", '["a;b"]]', "[" * 10_000, r'["\ud800"]']
)
def test_what_is_no_list_is_refused_without_its_text(tmp_path: Path, text: str) -> None:
    from hush.batch.files import People

    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["uses", "b"], [text, "true"]])
    with pytest.raises(RecordError, match=r"column 'uses': must be a JSON list of strings, such as \[.*\]") as why:
        list(People(Schema([Choices("uses", ["a;b", "c"]), Boolean("b")]), str(path)).batches())
    assert "a;b" not in str(why.value)


def test_a_schema_file_may_have_choices() -> None:
    wanted = Schema([Choices("uses", ["a", "b"], 1), Choices("all", ["a", "b"])])
    files = [
        {"name": "uses", "values": ["a", "b"], "most": 1},
        {"name": "all", "kind": "choices", "values": ["a", "b"]},
    ]
    assert friendly(files) == wanted
    with pytest.raises(SchemaError, match="'uses'"):
        friendly([{"name": "uses", "kind": "numeric", "values": ["a", "b"], "most": 1}])


def test_what_choices_cannot_do_is_refused(tmp_path: Path) -> None:
    schema = Schema([Choices("uses", VALUES, 2), Categorical("c", ["a", "b"]), Numeric("x", 0, 1)])
    with pytest.raises(DesignError, match="'uses': a relation cannot be with choices"):
        design(schema, 1.0, relations=[("uses", "c")])
    assert len(design(schema, 1.0, relations="all").questions) == 4  # three alone, and means of x by c
    with pytest.raises(SchemaError, match="'uses': choices cannot be features"):
        Features(schema)
    series = Series(Ledger(tmp_path / "ledger", cap=100), "weekly")
    with pytest.raises(LedgerError, match="'uses': a series remembers the answer about each value"):
        series.randomise(design(schema, 1.0, choices="picks"), {"uses": [], "c": "a", "x": 0})
    assert series.randomise(design(schema, 1.0, choices="members"), {"uses": ["tv"], "c": "a", "x": 0}).id
