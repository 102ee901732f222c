"""Frequent texts over HTTP: the library's, for readers alone, searched for once, and never of too few people."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import hush
from hush.collector import formats
from hush.collector.http import frequent_views
from hush.collector.http.app import Collector
from hush.collector.http.frequent_documents import frequent_row
from hush.collector.http.frequent_views import FrequentViews
from hush.collector.http.visible import Visible
from hush.collector.settings import Settings
from hush.collector.stores.sqlite import SqliteStore
from hush.server.frequent import Search, candidates
from tests import texting
from tests.collector.served import EVERYBODY, HASHES, TOKENS, Served, anybody, problem, serving
from tests.collector.served import PLAN as OTHER
from tests.collector.watching import Clock
from tests.texting import FORMULA, JOBS, MARKUP, PLAN, SECOND, SIGN, WORD

RANKED = texting.ranked()


def count(served: Served, tally: hush.Tally, number: int) -> None:
    head = {"content-type": formats.TALLY, "hush-batch": f"{number:032x}"}
    answer = served.client.post(served.path("tally", tally.plan), content=tally.encode(), headers=head)
    assert answer.status_code == 202, answer.text


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = anybody(by="day")
    with serving(tmp_path_factory.mktemp("texts"), settings, plans=(PLAN, SECOND, OTHER), trainings={}) as found:
        count(found, texting.tally(), 1)
        count(found, RANKED, 2)
        yield found


def shown(served: Served, plan: hush.Plan = PLAN, /, **query: Any) -> Any:
    response = served.client.get(served.path("frequent", plan), params=query)
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    return response.json()


def judge(found: Any, told: hush.FrequentTexts) -> None:
    """Fail if a document is not what the library says."""
    assert found["rows"] == [vars(row) for row in told]
    assert [found[name] for name in ("others", "missing", "floor", "liars")] == [
        told.others,
        told.missing,
        told.floor,
        told.liars,
    ]
    assert found["why"] is None


def test_texts_are_those_of_the_library(served: Served) -> None:
    for text in (WORD, SIGN):
        for top, level in ((32, 0.95), (3, 0.8)):
            found = shown(served, attribute=text.name, top=top, level=level)
            judge(found, hush.frequent(texting.tally(), text.name, top, level=level))
            assert (found["plan"], found["reports"], found["level"]) == (PLAN.id, texting.tally().reports, level)
            assert all(len(row["category"]) <= text.length for row in found["rows"])
    assert shown(served, attribute="word")["rows"][0]["category"] == MARKUP
    assert any(row["cut"] for row in shown(served, attribute="word")["rows"])


def test_two_rounds_are_read_together(served: Served) -> None:
    found = shown(served, attribute="word", second=SECOND.id)
    judge(found, hush.frequent(texting.tally(), "word", second=RANKED))
    assert (found["second"], found["reports_second"]) == (SECOND.id, RANKED.reports)
    alone = shown(served, SECOND, attribute="word")
    judge(alone, hush.frequent(RANKED, "word"))
    assert (alone["second"], alone["reports_second"]) == (None, None)


def test_texts_are_csv_too_and_no_formulas(served: Served) -> None:
    response = served.client.get(served.path("frequent?attribute=word&format=csv", PLAN))
    assert response.headers["content-type"].startswith("text/csv")
    lines = list(csv.DictReader(io.StringIO(response.text)))
    rows = hush.frequent(texting.tally(), "word")
    assert list(lines[0]) == list(vars(rows[0]))
    assert [float(line["share"]) for line in lines] == [row.share for row in rows]
    texts = [line["category"] for line in lines]
    assert "'" + FORMULA in texts
    assert FORMULA not in texts


@pytest.mark.parametrize(
    ("what", "kind", "words"),
    [
        ("frequent", "bad-request", "?attribute=age"),
        ("frequent?attribute=shoe", "not-found", "'shoe'"),
        ("frequent?attribute=word&top=0", "bad-request", "top must be a number from 1 to 400"),
        ("frequent?attribute=word&top=401", "bad-request", "top must be a number from 1 to 400"),
        ("frequent?attribute=word&top=-1", "bad-request", "top must be"),
        ("frequent?attribute=word&level=1", "bad-request", "level must be"),
        ("frequent?attribute=word&format=xml", "bad-request", "format must be one of"),
        ("frequent?attribute=word&false=0.5", "bad-request", "the query may have"),
        (f"frequent?attribute=word&second={'0' * 64}", "not-found", "does not have this plan"),
        (f"frequent?attribute=word&second={PLAN.id}", "not-found", "no second round"),
        (f"frequent?attribute=word&second={OTHER.id}", "not-found", "no second round"),
        (f"frequent?attribute=%3Cb%3Esign%3C/b%3E&second={SECOND.id}", "not-found", "no second round"),
    ],
)
def test_other_requests_are_refused(served: Served, what: str, kind: str, words: str) -> None:
    assert words in str(problem(served.client.get(served.path(what, PLAN)), kind)["detail"])


def test_an_attribute_that_is_no_text_is_refused(served: Served) -> None:
    found = problem(served.client.get(served.path("frequent?attribute=os", OTHER)), "not-found")
    assert "'os': is not a text" in str(found["detail"])


def test_all_else_works_for_a_plan_of_texts_alone(served: Served) -> None:
    """There is no mean and no listed share, so there are no rows."""
    for what, rows in (("estimates", "estimates"), ("margins", "margins"), ("manipulation", "shifts")):
        assert served.client.get(served.path(what, PLAN)).json()[rows] == []
    for plan in (PLAN, SECOND):
        for what in ("statement", "estimates?post=project", "estimates?format=csv", "timeline", "periods"):
            response = served.client.get(served.path(what, plan))
            assert response.status_code == 200, response.text
        changes = served.client.get(served.path(f"changes?against={OTHER.id}", plan))
        assert changes.status_code == 200, changes.text
    kinds = [one["holds"] for one in served.client.get(served.path("statement", PLAN)).json()["attributes"]]
    assert kinds == ["text", "text"]
    found = served.client.get(served.path("distribution?attribute=word", PLAN)).json()
    assert found["why"] == "attribute 'word': is a text; /frequent has those that many people hold"


def test_periods_of_a_plan_of_texts_alone_are_empty(tmp_path: Path) -> None:
    """The number of rows by which periods are limited is 0 here."""
    store = SqliteStore(tmp_path / "hush.db")
    store.add_plan(PLAN)
    wall = Clock()

    async def look() -> Any:
        collector = Collector(store, Settings(open=EVERYBODY, reveal_every=0, reveal_least=0, by="day"), wall=wall)
        app = collector.app()
        async with (
            collector.lifespan(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as web,
        ):
            for number in range(2):
                head = {"content-type": formats.TALLY, "hush-batch": f"{number:032x}"}
                body = few(2).encode()
                answer = await web.post(f"/plans/{PLAN.id}/tally", content=body, headers=head)
                assert answer.status_code == 202
                await asyncio.to_thread(collector._visible.reveals.follow, PLAN)
                wall.now += 86_400
            return (await web.get(f"/plans/{PLAN.id}/periods")).json()

    found = asyncio.run(look())
    assert [period["estimates"] for period in found["periods"]] == [[], []]


def test_nothing_is_found_where_nobody_agrees_or_answers(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(), plans=(PLAN, SECOND), trainings={}) as served:
        served.app.state.collector._visible.spaced._rest = 0  # so that nothing is old
        for query in ({}, {"second": SECOND.id}):
            found = shown(served, attribute="word", **query)
            assert (found["rows"], found["others"], found["floor"], found["liars"]) == ([], None, None, 0)
        count(served, RANKED, 1)
        judge(shown(served, attribute="word", second=SECOND.id), hush.frequent(RANKED, "word"))
        count(served, texting.nobody(), 2)
        assert shown(served, attribute="<b>sign</b>")["rows"] == []
        assert shown(served, attribute="<b>sign</b>")["floor"] > 0


def test_a_second_round_needs_a_first_one() -> None:
    for first, second in ((RANKED, RANKED), (texting.tally(), texting.tally())):
        with pytest.raises(hush.errors.EstimateError, match="not of a second round"):
            hush.frequent(first, "word", second=second)


def test_candidates_are_texts_that_a_plan_can_list() -> None:
    """People may hold other texts too, and must not keep a second round from being made."""
    assert set(candidates(texting.tally(), "word")) >= {MARKUP, FORMULA, *JOBS}
    assert texting.TURNED in [row.category for row in hush.frequent(texting.tally(), SIGN.name)]
    assert all(text.isprintable() for text in candidates(texting.tally(), SIGN.name))
    hush.second_round(texting.tally(), SIGN.name, 2.0)


def test_the_document_describes_it(served: Served) -> None:
    operation = served.client.get("/openapi.json").json()["paths"]["/plans/{plan}/frequent"]["get"]
    assert operation["security"] == [{}, {"token": []}]
    assert [one["name"] for one in operation["parameters"] if one["required"]] == ["plan", "attribute"]


# -- who may see them, and when


def test_they_are_for_readers(tmp_path: Path) -> None:
    with serving(tmp_path, Settings(tokens=HASHES), plans=(PLAN,), trainings={}) as served:
        path = served.path("frequent?attribute=word", PLAN)
        problem(served.client.get(path), "no-token")
        for role, status in (("submit", 403), ("submit-batch", 403), ("read", 200), ("admin", 200)):
            head = {"authorization": f"Bearer {TOKENS[role]}"}  # type: ignore[index]
            assert served.client.get(path, headers=head).status_code == status


LEAST = 20


async def watched(folder: Path, *parts: hush.Tally) -> list[Any]:
    """Return what a reader sees after each part was counted, long after the last."""
    store = SqliteStore(folder / "hush.db")
    store.add_plan(PLAN)
    clock, seen = Clock(), []
    collector = Collector(store, Settings(open=EVERYBODY, reveal_every=60.0, reveal_least=LEAST), clock)
    collector._visible.spaced._rest = 0
    app = collector.app()
    async with (
        collector.lifespan(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as web,
    ):
        for number, part in enumerate(parts):
            head = {"content-type": formats.TALLY, "hush-batch": f"{number:032x}"}
            answer = await web.post(f"/plans/{PLAN.id}/tally", content=part.encode(), headers=head)
            assert answer.status_code == 202
            clock.now += 61
            seen.append(json.loads((await web.get(f"/plans/{PLAN.id}/frequent?attribute=word")).text))
    return seen


def few(people: int) -> hush.Tally:
    """Return a tally of few people, all of whom answer the same."""
    found = hush.Tally(PLAN)
    found.update(hush.randomise(PLAN, {"word": "nurse", SIGN.name: ""}) for _ in range(people))
    return found


def check_hidden(seen: list[Any]) -> None:
    assert [one["reports"] for one in seen] == [0, LEAST, LEAST]
    assert seen[0]["floor"] is None
    assert seen[1] == seen[2]


def test_a_reader_sees_no_text_of_fewer_people_than_allowed(tmp_path: Path) -> None:
    check_hidden(asyncio.run(watched(tmp_path, few(LEAST - 1), few(1), few(LEAST - 1))))


def test_a_handler_that_reads_the_growing_tally_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: as it would be if the handler looked past what is revealed."""

    class Hasty:
        def __init__(self, visible: Visible) -> None:
            self._visible = visible
            self.shared, self.spaced = visible.shared, visible.spaced

        async def tally(self, request: Any) -> hush.Tally:
            return self._visible._store.tally(PLAN)

    usual = FrequentViews.__init__

    def hasty(self: FrequentViews, find: Any, visible: Visible) -> None:
        usual(self, find, Hasty(visible))  # type: ignore[arg-type]

    monkeypatch.setattr(FrequentViews, "__init__", hasty)
    with pytest.raises(AssertionError):
        check_hidden(asyncio.run(watched(tmp_path, few(LEAST - 1), few(1), few(LEAST - 1))))


def test_texts_are_searched_for_once_for_all_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Counted(Search):
        def __init__(self, *given: Any) -> None:
            calls.append(given)
            super().__init__(*given)

    monkeypatch.setattr(frequent_views, "Search", Counted)
    with serving(tmp_path, anybody(), plans=(PLAN, SECOND), trainings={}) as served:
        count(served, texting.tally(), 1)
        wide = {shown(served, attribute="word", level=level)["rows"][0]["high"] for level in (0.5, 0.9, 0.99)}
        assert len(wide) == 3
        assert len(shown(served, attribute="word", top=2)["rows"]) == 2
        served.client.get(served.path("frequent?attribute=word&format=csv", PLAN))
        assert len(calls) == 1
        shown(served, attribute="word", second=SECOND.id)
        assert len(calls) == 2


def test_numbers_that_do_not_exist_are_null() -> None:
    row = hush.FrequentText("a", "b", math.nan, math.inf, 0.0, 1.0)
    found = frequent_row(row)
    assert (found.share, found.stderr, found.low, found.high) == (None, None, 0.0, 1.0)
