"""The experiments on relations: their simulator has the laws of the channels, and their limit is one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

from experiments.relations import halves, limit, people, records
from experiments.reproduce import relations
from experiments.reproduce.frame import Bench, Row, Settings
from experiments.surveys import encoded, survey

import hush
from hush.core.channels import Rows
from hush.core.design.groups import rows

SCHEMA = hush.Schema(
    [
        hush.Categorical("a", [7, 3, 5]),
        hush.Categorical("b", ["x", "y"]),
        hush.Numeric("u", 0, 10, optional=True),
        hush.Numeric("v", -1, 1),
    ]
)
RECORD: dict[str, Any] = {"a": 3, "b": "x", "u": 2.0, "v": 0.4}


def test_a_survey_has_the_laws_of_the_channels() -> None:
    """All people are alike: counts have the channels' own averages, to six standard errors (1e-6 for 500 counts)."""
    relations_ = [*[(one, other) for one in "ab" for other in "uv"], ("a", "b"), ("u", "v"), ("u", "v", "moments")]
    plan = hush.design(SCHEMA, 1.5, relations=relations_, bands={"u": [3]}, ranges={"v": 64})
    n = 400_000
    for gone in (False, True):
        record = RECORD | {"u": None} if gone else RECORD
        columns = {name: np.repeat(np.array([np.nan if v is None else v]), n) for name, v in record.items()}
        tally = survey(plan, columns, np.random.default_rng(4))
        inputs = SCHEMA.encode(record)
        for question, counts, answered in zip(plan.questions, tally.counts, tally.answered, strict=True):
            seen = [view.look(SCHEMA)(inputs) for view in question.views]
            chances = np.array(question.channel.expected(seen), float)
            error = np.sqrt(chances * (1 - chances) / answered)
            found = np.array(counts) / answered
            assert np.all(np.abs(found - chances) <= 6 * error + 1e-12), (question.views, gone)
            wrong = np.roll(chances, 1)  # a twin with another law is caught
            assert np.any(np.abs(found - wrong) > 6 * error)


def test_columns_are_those_of_the_schema() -> None:
    found = encoded(
        SCHEMA, {"a": np.array([5, 7]), "b": np.array(["y", "x"]), "u": np.array([5.0, 12.0]), "v": np.zeros(2)}
    )
    assert found["a"].tolist() == [2, 0]
    assert found["u"].tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match="a has values that the schema does not list"):
        encoded(SCHEMA, {"a": np.array([4])})


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit, "POINTS", {2: 4, 3: 4, 4: 3, 5: 3})


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.usefixtures("few")
def test_the_limit_is_below_every_channel(epsilon: float) -> None:
    job = limit.Limit(3, epsilon)
    found = limit.limit(job)
    assert found.low <= found.high <= found.low * (1 + 2 * limit.CLOSE)
    best = rows(Fraction(epsilon), 3)
    for channel in (best, Rows(3, 1, 4, 2, best.threshold // 2), Rows(3, 2, 3, 1, best.threshold // 2)):
        if channel.ratio <= best.ratio:
            assert limit.error(channel, job) >= found.low


@pytest.mark.usefixtures("few")
def test_the_rows_channel_is_close_to_it() -> None:
    """With three groups and epsilon 1 a report names two of them: with one it would be 19 % above the limit."""
    job = limit.Limit(3, 1.0)
    assert limit.error(rows(Fraction(1), 3), job) <= 1.06 * limit.limit(job).low


def test_halves_need_many_more_people() -> None:
    times = [halves.naive_cell(epsilon) / halves.hush_cell(epsilon, True) for epsilon in (1.0, 2.0, 4.0)]
    assert times == pytest.approx([42.6, 13.2, 5.15], rel=0.01)
    alone = [halves.naive_cell(epsilon) / halves.hush_cell(epsilon, False) for epsilon in (1.0, 2.0, 4.0)]
    assert alone == pytest.approx([30.0, 9.26, 3.62], rel=0.01)


@pytest.fixture(scope="module")
def figure(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    pytest.importorskip("sklearn")
    patch = pytest.MonkeyPatch()
    patch.setattr(people, "MADE_UP", 20_000)
    patch.setattr(limit, "POINTS", {2: 3})
    patch.setattr(records, "TESTED", 2000)
    patch.setattr(records, "MADE", 2000)
    settings = Settings(runs=2, people=4000, quick=True)
    found = relations.compute(Bench(settings, tmp_path_factory.mktemp("cache"), 1))
    patch.undo()
    return found


def test_the_figure_is_whole(figure: list[Row]) -> None:
    assert {row["part"].partition(",")[0] for row in figure} == {
        "tables", "means", "associations", "ranges", "records", "halves", "limit",
    }  # fmt: skip
    assert all(set(row) == {"data", "part", "what", "people", "epsilon", "value", "stderr"} for row in figure)
    found = relations.claims(figure)
    assert len(found) == 12
    assert all(claim.text.startswith("(hush)") for claim in found)


def test_claims_follow_from_rows(figure: list[Row]) -> None:
    """Verdicts turn with the figures, whatever a tiny run gives."""

    def verdicts(change: Any) -> list[bool | None]:
        return [claim.holds for claim in relations.claims([row | {"value": change(row)} for row in figure])]

    good = {"coverage": 0.95, "ratio": 1.01, "naive": 1000.0, "people, accuracy": 0.8, "made up, accuracy": 0.8}
    assert all(verdicts(lambda row: good.get(row["what"], 1e-4)))
    bad = {"coverage": 0.9, "ratio": 1.1, "naive": 1.0, "people, accuracy": 0.8, "made up, accuracy": 0.7}
    assert not any(verdicts(lambda row: bad.get(row["what"], 1e4)))
    near = [claim.holds for claim in relations.claims([row | {"value": 0.935, "stderr": 0.01} for row in figure])]
    assert near.count(None) == 4  # coverage that noise may explain is open


def test_the_figure_can_be_drawn(figure: list[Row], tmp_path: Path) -> None:
    pytest.importorskip("altair")
    relations.draw(figure).save(str(tmp_path / "relations.json"))
