"""Comparing designs: errors are those of simulations, seeded ones repeat, and impossible designs say why."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hush
from hush import plots
from hush.batch import comparing
from hush.batch.comparing import DESIGNS, USUAL, Comparison, Design

SCHEMA = hush.Schema(
    [hush.Categorical("system", ["linux", "mac"]), hush.Numeric("age", 0, 100), hush.Numeric("hours", 0, 80)]
)
WORLD = np.random.default_rng(3)
PEOPLE = {
    "age": WORLD.uniform(20, 60, 400),
    "hours": WORLD.uniform(0, 80, 400),
    "system": WORLD.choice(["linux", "mac"], 400).tolist(),
}


def compared(**options: Any) -> Comparison:
    return hush.compare(PEOPLE, [1.0], schema=SCHEMA, **{"repetitions": 3, "seed": 1} | options)


def test_there_is_a_row_for_every_estimate_design_and_epsilon() -> None:
    found = hush.compare(PEOPLE, [1, 2.0, 1], schema=SCHEMA, designs=USUAL, repetitions=2, seed=1)
    assert len(found) == 3 * len(USUAL) * 2
    assert {(row.attribute, row.target) for row in found} == {
        ("age", "mean"),
        ("hours", "mean"),
        ("system", "shares"),
    }
    assert not found.impossible
    assert found.people == 400
    assert all(row.error > 0 for row in found)
    text = str(found)
    for words in ("epsilon 1", "epsilon 2", "hybrid", "400 people", "2 repetitions"):
        assert words in text
    assert list(found.to_pandas().columns)[2:5] == ["target", "design", "epsilon"]


def test_a_seed_repeats_and_none_does_not() -> None:
    assert compared(designs=["hush"]) == compared(designs=["hush"], threads=1)
    assert compared(designs=["hush"]) != compared(designs=["hush"], seed=2)
    assert compared(designs=["hush"], seed=None) != compared(designs=["hush"], seed=None)


def test_errors_are_differences_from_the_truth_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """With noiseless estimates they are zero; the twin is off by one in the mean of age."""
    truth: dict[tuple[str, str | None], float] = {
        ("age", None): PEOPLE["age"].mean(),
        ("hours", None): PEOPLE["hours"].mean(),
    }
    for label in ("linux", "mac"):
        truth["system", label] = PEOPLE["system"].count(label) / 400
    for off in (0.0, 1.0):

        def exact(tally: hush.Tally, off: float = off, **_: Any) -> list[hush.Estimate]:
            return [
                hush.Estimate(name, category, value + off * (name == "age"), 0, 0, 0, 1)
                for (name, category), value in truth.items()
            ]

        monkeypatch.setattr(comparing, "estimate", exact)
        errors = {row.attribute: row.error for row in compared(designs=["hush"])}
        assert errors == pytest.approx({"age": off, "hours": 0, "system": 0}, abs=1e-9)


def test_the_error_is_about_what_is_predicted() -> None:
    """Over 200 repetitions the root of the mean square is within 25 % of the prediction.

    The relative standard error of the root is 1/sqrt(2*200), or 5 %: five of them, with a fixed seed besides. The twin
    is the prediction at another epsilon.
    """
    found = hush.compare(PEOPLE, [2.0], schema=SCHEMA, designs=["hush"], repetitions=200, seed=5)
    error = {row.attribute: row for row in found}["hours"].error
    guess = {"hours": hush.Guess(mean=40, spread=23)}

    def predicted(epsilon: float) -> float:
        rows = hush.predict(hush.design(SCHEMA, epsilon), 400, guesses=guess)
        return next(row.stderr for row in rows if row.attribute == "hours")

    assert error == pytest.approx(predicted(2.0), rel=0.25)
    assert error != pytest.approx(predicted(1.0), rel=0.25)


def test_standard_errors() -> None:
    assert comparing._root([4.0, 4.0]) == (2.0, 0.0)
    root, stderr = comparing._root([1.0, 3.0])
    assert root == pytest.approx(math.sqrt(2))
    assert stderr == pytest.approx(1 / (2 * math.sqrt(2)))
    assert math.isnan(comparing._root([4.0])[1])
    assert math.isnan(comparing._root([math.nan, 1.0])[0])


def test_designs_that_do_not_fit_are_left_out_with_the_reason() -> None:
    people = PEOPLE | {"age": [None, *PEOPLE["age"][1:]]}
    found = hush.compare(people, [1.0], designs=["hush", "laplace"], repetitions=1, seed=1)
    assert {row.design for row in found} == {"hush"}
    assert "missing" in found.impossible["laplace"]
    assert "laplace is left out" in str(found)
    assert ("age", "share of (missing)") in {(row.attribute, row.target) for row in found}
    with pytest.raises(hush.DesignError, match=r"laplace: .*missing"):
        hush.compare(people, [1.0], designs=["laplace"])


def test_designs_of_ones_own() -> None:
    found = compared(designs={"mine": {"numeric": "scdf", "k": 1}})
    assert {row.design for row in found} == {"mine"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"designs": ["sketch"]}, "hush, weighted, hybrid"),
        ({"designs": "hush"}, "some of"),
        ({"designs": []}, "some of"),
        ({"repetitions": 0}, "repetitions"),
        ({"seed": -1}, "seed"),
    ],
)
def test_nonsense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(hush.DesignError, match=words):
        compared(**options)


def test_epsilons_are_refused() -> None:
    for epsilons in ([], 1.0, [0.0], [99]):
        with pytest.raises(hush.DesignError, match="epsilon"):
            hush.compare(PEOPLE, epsilons, schema=SCHEMA)  # type: ignore[arg-type]


def test_people_who_break_a_rule_are_refused_without_values() -> None:
    with pytest.raises(hush.RecordError, match="column 'age'") as refused:
        hush.compare(PEOPLE | {"age": [777.5] * 400}, [1.0], schema=SCHEMA)
    assert "777" not in str(refused.value)


def test_progress_is_told() -> None:
    said: list[tuple[int, int | None, str]] = []
    compared(designs=["hush"], progress=lambda *words: said.append(words))
    assert [done for done, *_ in said] == [0, 1, 2]
    assert said[0][1:] == (3, "hush, epsilon 1")


def test_the_picture_has_every_error() -> None:
    found = compared(designs=["hush", "hybrid"])
    data = [row for rows in found.plot().to_dict()["datasets"].values() for row in rows]
    assert sorted(row["error"] for row in data) == sorted(row.error for row in found)
    assert "not private" in str(found.plot().to_dict())
    assert "not private" in str(found)
    assert "not private" in repr(found)
    assert "not private" in found._repr_html_()
    with pytest.raises(hush.DesignError, match="nothing to draw"):
        plots.comparison([])


def test_every_named_design_fits_plain_numbers_and_categories() -> None:
    for name, one in DESIGNS.items():
        assert isinstance(one, Design)
        plan = hush.design(hush.Schema(sorted(SCHEMA.attributes, key=lambda a: a.kind, reverse=True)), 2, **one.options)
        assert plan.epsilon == 2, name
    assert set(USUAL) <= set(DESIGNS)
