"""Relations over HTTP: the library's numbers, for readers alone, and never of fewer people than may be seen."""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import hush
from hush.collector import formats
from hush.collector.http.app import Collector
from hush.collector.http.relation_views import RelationViews
from hush.collector.http.visible import Visible
from hush.collector.settings import Settings
from hush.collector.stores.sqlite import SqliteStore
from tests import relating
from tests.collector.served import EVERYBODY, HASHES, TOKENS, Served, anybody, problem, serving
from tests.collector.watching import Clock
from tests.relating import PLAN, SCHEMA

NONE = hush.design(SCHEMA, 1.0, title="no relations")
PAIRS = {
    "crosstab?attribute=education&by=children": "table",
    "means?attribute=hours&by=education": "means",
    "association?attribute=age&by=hours": "association",
    "association?attribute=age&by=hours&method=moments": "moments",
    "quantiles?attribute=age": "range",
}


def count(served: Served, plan: hush.Plan, tally: hush.Tally, number: int, **headers: str) -> None:
    head = {"content-type": formats.TALLY, "hush-batch": f"{number:032x}", **headers}
    answer = served.client.post(served.path("tally", plan), content=tally.encode(), headers=head)
    assert answer.status_code == 202, answer.text


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("relations"), anybody(), plans=(PLAN, NONE), trainings={}) as found:
        count(found, PLAN, relating.tally(), 1)
        yield found


def shown(served: Served, address: str, /, **query: Any) -> Any:
    response = served.client.get(served.path(address, PLAN), params=query)
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    return response.json()


def plain(row: Any, *names: str) -> dict[str, Any]:
    """Return a row as JSON has it."""
    return {
        name: value if not isinstance(value, float) or math.isfinite(value) else None
        for name, value in vars(row).items()
        if not names or name in names
    }


# -- the numbers


def test_a_table_is_that_of_the_library(served: Served) -> None:
    for one, other in (("education", "children"), ("children", "education"), ("age", "education")):
        for of, level in (("all", 0.95), ("rows", 0.8), ("columns", 0.95)):
            found = shown(served, "crosstab", attribute=one, by=other, shares=of, level=level)
            rows = hush.crosstab(relating.tally(), one, other, shares=of, level=level)  # type: ignore[arg-type]
            assert found["rows"] == [plain(row) for row in rows]
            assert (found["plan"], found["reports"], found["level"], found["what"]) == (PLAN.id, 3000, level, of)
            assert (found["attribute"], found["by"], found["why"]) == (one, other, None)


def test_means_and_differences_are_those_of_the_library(served: Served) -> None:
    rows = hush.means(relating.tally(), "hours", by="age", level=0.9)
    query = {"attribute": "hours", "by": "age", "level": 0.9}
    assert shown(served, "means", **query)["rows"] == [plain(row) for row in rows]
    found = shown(served, "means", **query, what="differences")
    assert found["rows"] == [plain(row) for row in rows.differences()]


def test_associations_are_those_of_the_library(served: Served) -> None:
    for method in ("copula", "moments"):
        found = shown(served, "association", attribute="hours", by="age", method=method)
        rows = hush.association(relating.tally(), "hours", "age", method=method)
        assert found["rows"] == [plain(row) for row in rows]


def test_a_range_is_that_of_the_library(served: Served) -> None:
    found = shown(served, "quantiles", attribute="age", level=0.9)
    rows = hush.quantiles(relating.tally(), "age", level=0.9)
    assert found["quantiles"] == [plain(row, "share", "point", "low", "high", "needed") for row in rows]
    shares = hush.below(relating.tally(), "age", level=0.9)
    assert found["below"] == [plain(row, "cut", "point", "stderr", "low", "high", "needed") for row in shares]
    assert (found["answers"], found["reports"], found["why"]) == (shares[0].answers, 3000, None)


def test_rows_are_csv_too(served: Served) -> None:
    query = {"attribute": "education", "by": "children", "format": "csv"}
    response = served.client.get(served.path("crosstab", PLAN), params=query)
    assert response.headers["content-type"].startswith("text/csv")
    lines = list(csv.DictReader(io.StringIO(response.text)))
    rows = hush.crosstab(relating.tally(), "education", "children")
    assert [float(line["point"]) for line in lines] == [row.point for row in rows]
    assert list(lines[0]) == [name for name in vars(rows[0]) if name != "needed"]  # there is enough of everything


def test_the_statement_lists_what_can_be_asked(served: Served) -> None:
    found = shown(served, "statement")
    assert [tuple(one.values()) for one in found["relations"]] == list(relating.RELATIONS)
    asks = {question["asks"] for question in found["questions"]}
    assert {"age in 64 bands", "age × hours"} <= asks
    assert any(words.startswith("age and hours: same side of ") for words in asks)
    assert served.client.get(served.path("statement", NONE)).json()["relations"] == []


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        ("crosstab?attribute=children&by=age", "not-found", "does not ask for the table"),
        ("crosstab?attribute=children&by=shoe", "not-found", "'shoe'"),
        ("crosstab?attribute=children", "bad-request", "?by=age"),
        ("crosstab?by=children", "bad-request", "?attribute=age"),
        ("crosstab?attribute=education&by=children&shares=most", "bad-request", "shares must be one of"),
        ("crosstab?attribute=education&by=children&level=2", "bad-request", "level must be"),
        ("crosstab?attribute=education&by=children&format=xml", "bad-request", "format must be one of"),
        ("means?attribute=education&by=hours", "not-found", "does not ask for the means"),
        ("means?attribute=hours&by=education&what=x", "bad-request", "what must be one of"),
        ("association?attribute=age&by=education", "not-found", "does not ask for the association"),
        ("quantiles?attribute=hours", "not-found", "does not ask for the range"),
        ("quantiles", "bad-request", "?attribute=age"),
        ("quantiles?attribute=age&shares=0.5", "bad-request", "the query may have"),
    ],
)
def test_other_requests_are_refused(served: Served, what: str, kind: str, words: str) -> None:
    assert words in str(problem(served.client.get(served.path(what, PLAN)), kind)["detail"])


def test_a_plan_without_relations_has_none(served: Served) -> None:
    for what in PAIRS:
        problem(served.client.get(served.path(what, NONE)), "not-found")


def test_the_distribution_of_a_number_in_bands_alone_says_why(tmp_path: Path) -> None:
    plan = hush.design(
        hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"])]),
        2.0,
        relations=[("x", "c", "table")],
        bands={"x": [0.5]},
        singles=0,
    )
    with serving(tmp_path, anybody(), plans=(plan,), trainings={}) as served:
        found = served.client.get(served.path("distribution?attribute=x", plan))
        assert found.status_code == 200
        assert "'x'" in found.json()["why"]


def test_the_document_describes_them(served: Served) -> None:
    paths = served.client.get("/openapi.json").json()["paths"]
    for what in ("crosstab", "means", "association", "quantiles"):
        operation = paths[f"/plans/{{plan}}/{what}"]["get"]
        assert operation["security"] == [{}, {"token": []}]
        assert "attribute" in [one["name"] for one in operation["parameters"] if one["required"]]


# -- who may see them, and when


def test_they_are_for_readers(tmp_path: Path) -> None:
    with serving(tmp_path, Settings(tokens=HASHES), plans=(PLAN,), trainings={}) as served:
        for what in PAIRS:
            path = served.path(what, PLAN)
            problem(served.client.get(path), "no-token")
            for role, status in (("submit", 403), ("submit-batch", 403), ("read", 200), ("admin", 200)):
                head = {"authorization": f"Bearer {TOKENS[role]}"}  # type: ignore[index]
                assert served.client.get(path, headers=head).status_code == status


EVERY, LEAST = 60.0, 20


async def watched(folder: Path, people: int) -> list[tuple[int, dict[str, str]]]:
    """Let people answer one after the other; return what a reader sees of relations after each, and their number."""
    store = SqliteStore(folder / "hush.db")
    store.add_plan(PLAN)
    clock = Clock()
    collector = Collector(store, Settings(open=EVERYBODY, reveal_every=EVERY, reveal_least=LEAST), clock)
    app = collector.app()
    seen: list[tuple[int, dict[str, str]]] = []
    reports = [hush.randomise(PLAN, relating.record(random.Random(i))) for i in range(people)]
    async with (
        collector.lifespan(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as web,
    ):
        for number, report in enumerate(reports):
            head = {"content-type": formats.REPORT}
            answer = await web.post(f"/plans/{PLAN.id}/reports", content=report.encode(), headers=head)
            assert answer.status_code == 202
            clock.now += EVERY / 4
            found = {what: (await web.get(f"/plans/{PLAN.id}/{what}")).text for what in PAIRS}
            seen.append((number + 1, found))
    return seen


def judge(seen: list[tuple[int, dict[str, str]]]) -> None:
    """Fail if a reader saw anything of the first few, or something that moved by fewer people than allowed."""
    for sent, found in seen:
        for what, text in found.items():
            document = json.loads(text)
            assert document["reports"] <= sent
            assert document["reports"] == 0 or document["reports"] >= LEAST, what
            if document["reports"] == 0:
                assert not document.get("rows"), what
                assert not document.get("quantiles"), what
                assert "answered" in document["why"], what
    for what in PAIRS:
        texts = [found[what] for _, found in seen]
        distinct = [text for text, _ in itertools.groupby(texts)]
        counts = [json.loads(text)["reports"] for text in distinct]
        assert all(after - before >= LEAST for before, after in itertools.pairwise(counts)), what


def test_a_reader_sees_no_relation_of_fewer_people_than_allowed(tmp_path: Path) -> None:
    seen = asyncio.run(watched(tmp_path, 3 * LEAST))
    judge(seen)
    assert json.loads(seen[-1][1]["means?attribute=hours&by=education"])["reports"] >= LEAST, (
        "there is something to see"
    )


def test_a_handler_that_reads_the_growing_tally_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: the same reader sees the first report, and every other, if handlers look past what is revealed."""

    class Hasty:
        """What handlers see, if nothing is held back."""

        def __init__(self, visible: Visible) -> None:
            self._visible = visible
            self.shared, self.spaced = visible.shared, visible.spaced

        async def tally(self, request: Any) -> hush.Tally:
            return self._visible._store.tally(PLAN)

    usual = RelationViews.__init__

    def hasty(self: RelationViews, find: Any, visible: Visible) -> None:
        usual(self, find, Hasty(visible))  # type: ignore[arg-type]

    monkeypatch.setattr(RelationViews, "__init__", hasty)
    seen = asyncio.run(watched(tmp_path, 2 * LEAST))
    with pytest.raises(AssertionError):
        judge(seen)


def test_few_reports_break_nothing(tmp_path: Path) -> None:
    """Estimates of one, two, ... people are often impossible; then the answer says why."""
    with serving(tmp_path, anybody(), plans=(PLAN,), trainings={}) as served:
        for number in range(1, 13):
            count(served, PLAN, relating.tally(number % 4 + 1, seed=number), number)
            for what in PAIRS:
                response = served.client.get(served.path(what, PLAN))
                assert response.status_code == 200, response.text
                found = response.json()
                assert (found["why"] is None) == bool(found.get("rows") or found.get("quantiles"))


def test_a_relation_is_computed_once_for_all_readers(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*given: Any, **named: Any) -> hush.Crosstab:
        calls.append(given)
        return hush.crosstab(*given, **named)

    monkeypatch.setattr("hush.collector.http.relation_views.crosstab", counted)
    for _ in range(3):
        shown(served, "crosstab", attribute="education", by="children", level=0.77)
    assert len(calls) == 1


def test_intervals_hold_together_on_request(served: Served) -> None:
    for address, rows in (
        (
            "crosstab?attribute=education&by=children",
            hush.crosstab(relating.tally(), "education", "children", simultaneous=True),
        ),
        (
            "means?attribute=hours&by=education",
            hush.means(relating.tally(), "hours", by="education", simultaneous=True),
        ),
    ):
        response = served.client.get(f"{served.path(address, PLAN)}&intervals=together").json()
        assert response["intervals"] == "together"
        assert response["rows"] == [plain(row) for row in rows]
        each = served.client.get(served.path(address, PLAN)).json()
        assert each["intervals"] == "each"
        assert each["rows"][0]["high"] < response["rows"][0]["high"]
