"""Plans with long lists over HTTP: devices get the list, and readers the largest shares or those they search for."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

import hush
from hush.cli import rounds
from hush.cli.program import Refused
from hush.collector.http import lists as handler
from hush.collector.http.period_views import _entries
from hush.collector.http.single_flight import Spaced
from hush.collector.http.visible import LONG_PERIODS, Visible
from hush.collector.periods import Period
from hush.core import lists
from hush.errors import SchemaError
from hush.server import changes
from hush.server.changes import Counted
from hush.server.estimates import Wanted, read_totals
from tests.collector.served import HASHES, TOKENS, Served, anybody, problem, serving

PAGES = hush.Listed([f"/page/{i}" for i in range(5000)], name="pages.txt")
SCHEMA = hush.Schema([hush.Categorical("page", PAGES, other=True), hush.Categorical("slow", ["no", "yes"])])
PLAN = hush.design(SCHEMA, 3.0, title="pages")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("lists"), anybody(stream_interval=0.05), plans=[PLAN], trainings={}) as found:
        tally = hush.Tally(PLAN)
        for i in range(2000):
            tally.add(hush.randomise(PLAN, {"page": f"/page/{i % 4}", "slow": "yes"}))
        headers = {"content-type": "application/json", "hush-batch": "01" * 16}
        found.client.post(found.path("tally", PLAN), content=tally.to_json(), headers=headers).raise_for_status()
        yield found


def test_a_list_is_served_by_its_hash(served: Served) -> None:
    answer = served.client.get(f"/lists/{PAGES.sha256}", headers={"accept-encoding": "identity"})
    assert hashlib.sha256(answer.content).hexdigest() == PAGES.sha256
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    packed = served.raw(
        f"GET /lists/{PAGES.sha256} HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n".encode()
    )
    head, _, body = packed.partition(b"\r\n\r\n")
    assert b"content-encoding: gzip" in head.lower()
    assert gzip.decompress(body) == PAGES.text()
    again = served.client.get(f"/lists/{PAGES.sha256}", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304


def test_a_list_that_could_not_be_packed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> object:
        raise MemoryError

    with serving(tmp_path, plans=[PLAN], trainings={}) as found:
        with monkeypatch.context() as patch:
            patch.setattr(handler, "_text", broken)
            assert found.client.get(f"/lists/{PAGES.sha256}").status_code == 500
        assert found.client.get(f"/lists/{PAGES.sha256}").content == PAGES.text()


def test_no_other_list_is_served(served: Served) -> None:
    """Lists that this process happens to know, but that no plan names, are nobody's business."""
    private = hush.Listed(["a", "b"], name="private.txt")
    assert private.here
    for name in (private.sha256, "0" * 64, "pages.txt", PAGES.sha256.upper()):
        problem(served.client.get(f"/lists/{name}"), "not-found")


def test_a_list_needs_the_role_of_those_who_send(tmp_path: Path) -> None:
    settings = anybody(tokens=HASHES)
    with serving(tmp_path, settings, plans=[PLAN], trainings={}) as found:
        problem(found.client.get(f"/lists/{PAGES.sha256}"), "no-token")
        head = {"authorization": f"Bearer {TOKENS['submit']}"}
        answer = found.client.get(f"/lists/{PAGES.sha256}", headers=head)
        assert answer.status_code == 200
        assert "private" in answer.headers["cache-control"]


def test_a_client_gets_the_list_with_the_plan(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    served.client.get(f"/lists/{PAGES.sha256}").raise_for_status()  # the server, in this process, keeps its text
    monkeypatch.setattr(lists, "_known", {})  # as on a device that never saw it
    with pytest.raises(SchemaError, match="is not here"):
        PAGES.values  # noqa: B018
    known = hush.Client(served.url).plan(PLAN.id)
    assert known.schema["page"].labels[3] == "/page/3"  # type: ignore[union-attr]
    lists._known.clear()

    def wrong(path: str, *_: object) -> bytes:
        return b"/page/0\n" if path.startswith("/lists") else PLAN.to_json().encode()

    client = hush.Client(served.url)
    monkeypatch.setattr(client._server, "get", wrong)
    with pytest.raises(SchemaError, match="its hash is another one"):
        client.plan(PLAN.id)


def rows(served: Served, **query: object) -> list[dict[str, object]]:
    answer: httpx.Response = served.client.get(served.path("estimates", PLAN), params=query)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json()["estimates"]
    return found


def test_readers_see_the_largest_shares(served: Served) -> None:
    found = rows(served, intervals="together")
    assert [row["attribute"] for row in found] == ["page"] * 200 + ["slow"] * 2
    assert {row["category"] for row in found[:4]} == {f"/page/{i}" for i in range(4)}
    tally = served.tally(PLAN)
    expected = hush.estimate(tally, top=200, simultaneous=True)
    assert [(row["category"], row["low"]) for row in found[:200]] == [
        (row.category, row.low) for row in expected.of("page")
    ]
    assert rows(served) == found  # the largest of many
    assert rows(served, top=3)[:3] == found[:3]
    assert rows(served, top=3, intervals="each")[0]["low"] > found[0]["low"]  # type: ignore[operator]
    assert rows(served, intervals="each")[0]["low"] == rows(served, top=3, intervals="each")[0]["low"]
    assert len(rows(served, top=3)) == 5
    assert len(rows(served, top=1000)) == 1002


def test_readers_search_all_of_them(served: Served) -> None:
    found = rows(served, search="PAGE/499", intervals="together")
    assert {row["category"] for row in found} == {"/page/499", *(f"/page/499{i}" for i in range(10))}
    alone = rows(served, search="/page/4999")
    every = {row.category: row.point for row in hush.estimate(served.tally(PLAN)).of("page")}
    assert [(row["category"], row["point"]) for row in alone] == [("/page/4999", every["/page/4999"])]
    assert rows(served, search="yes")[0]["attribute"] == "slow"
    assert rows(served, search="nowhere") == []
    for query in ({"search": ""}, {"search": "x" * 257}, {"top": 0}, {"top": 10_001}, {"top": "1e3"}):
        problem(served.client.get(served.path("estimates", PLAN), params=query), "bad-request")
    for query in ({"post": "project"}, {"post": "project", "search": "a"}):
        problem(served.client.get(served.path("estimates", PLAN), params=query), "bad-request")


@pytest.mark.parametrize("what", ["statement", "margins", "manipulation", "periods", "estimates?format=csv"])
def test_no_view_is_as_long_as_the_list(served: Served, what: str) -> None:
    answer = served.client.get(f"/plans/{PLAN.id}/{what}")
    assert answer.status_code == 200, answer.text
    assert len(answer.content) < 40_000


def test_totals_are_read_once_for_all(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def noted(tally: hush.Tally) -> dict[int, Sequence[int]]:
        calls.append(tally.reports)
        return read_totals(tally)

    monkeypatch.setattr(changes, "read_totals", noted)
    served.app.state.collector._visible.spaced._held.clear()
    for i in range(6):
        rows(served, search=f"/page/{i}", level=0.5 + i / 100)
        query = {"against": PLAN.id, "search": f"/page/{i}"}
        served.client.get(served.path("changes", PLAN), params=query).raise_for_status()
    assert len(calls) == 1


def test_a_store_whose_list_is_missing_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds.check_lists(served.store)
    monkeypatch.setattr(lists, "_known", {})
    with pytest.raises(Refused, match=r"the list 'pages.txt' of plan .* name it with --list"):
        rounds.check_lists(served.store)
    served.app.state.collector._visible.spaced._held.clear()
    answer = served.client.get(served.path("estimates", PLAN), params={"level": 0.77})
    assert "start the collector with --list" in str(problem(answer, "failed")["detail"])
    answer = served.client.get(served.path("changes", PLAN), params={"against": PLAN.id})
    assert "start the collector with --list" in str(problem(answer, "failed")["detail"])


def test_lists_are_read_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.txt").write_bytes(PAGES.text())
    monkeypatch.setattr(lists, "_known", {})
    rounds.read_lists((str(tmp_path / "p.txt"),))
    assert PAGES.here


def test_changes_from_plan_to_plan_show_the_largest_shares(tmp_path: Path) -> None:
    """All intervals of 5,000 pages hold at once, at a level of 1 - 1e-6: that is the probability of a false alarm."""
    later = hush.design(SCHEMA, 4.0, title="pages, later")
    with serving(tmp_path, anybody(), plans=[PLAN, later], trainings={}) as found:
        for number, (plan, page) in enumerate(((PLAN, "/page/7"), (later, "/page/4711"))):
            tally = hush.Tally(plan)
            for _ in range(1500):
                tally.add(hush.randomise(plan, {"page": page, "slow": "no"}))
            headers = {"content-type": "application/json", "hush-batch": f"0{number}" * 16}
            found.client.post(found.path("tally", plan), content=tally.to_json(), headers=headers).raise_for_status()
        query = {"against": PLAN.id, "intervals": "together", "level": "0.999999"}
        answer = found.client.get(found.path("changes", later), params=query).json()
        assert answer["left_out"] == []
        plain = {name: value for name, value in query.items() if name != "intervals"}
        assert found.client.get(found.path("changes", later), params=plain).json() == answer
        each = found.client.get(found.path("changes", later), params=plain | {"intervals": "each"}).json()
        assert (answer["intervals"], each["intervals"]) == ("together", "each")
        assert found.client.get(found.path("periods", later)).json()["intervals"] == "together"
        pages = [row for row in answer["changes"] if row["attribute"] == "page"]
        assert 50 <= len(pages) <= 100
        told = {row["category"]: row["told"] for row in pages if row["told"]}
        assert told == {"/page/7": "down", "/page/4711": "up"}
        few = found.client.get(found.path("changes", later), params=query | {"top": 1}).json()["changes"]
        assert {row["category"] for row in few} == {"/page/7", "/page/4711", "no", "yes"}
        some = found.client.get(found.path("changes", later), params=query | {"search": "471"}).json()["changes"]
        assert {row["category"] for row in some} == {
            "/page/471",
            "/page/1471",
            "/page/2471",
            "/page/3471",
            "/page/4471",
        } | {f"/page/471{i}" for i in range(10)}
        problem(found.client.get(found.path("changes", later), params=query | {"top": 0}), "bad-request")
        problem(found.client.get(found.path("periods", later), params={"search": ""}), "bad-request")


def days(*pages: str, people: int) -> list[tuple[Period, hush.Tally]]:
    found = []
    for number, page in enumerate(pages):
        tally = hush.Tally(PLAN)
        for _ in range(people):
            tally.add(hush.randomise(PLAN, {"page": page, "slow": "no"}))
        found.append((Period(20_000 + number, 1), tally))
    return found


def test_periods_show_the_largest_shares_and_their_changes() -> None:
    found = [(period, Counted(tally)) for period, tally in days("/page/7", "/page/7", "/page/4711", people=1000)]
    entries = _entries(found, 3, 2, Wanted(1 - 1e-6, simultaneous=True, most=50))
    assert len(entries) == 2
    moved = [{row.category: row.told for row in entry.changes if row.told} for entry in entries]
    assert moved == [{}, {"/page/7": "down", "/page/4711": "up"}]
    assert len([row for row in entries[1].estimates if row.attribute == "page"]) == 50
    (last,) = _entries(found, 3, 1, Wanted(0.95, search="4711", most=50))
    assert [(row.category, row.attribute) for row in last.changes] == [("/page/4711", "page")]
    assert [bool(entry.changes) for entry in _entries(found, 3, 9, Wanted(0.95, most=50))] == [False, True, True]
    assert [bool(entry.changes) for entry in _entries(found, 7, 9, Wanted(0.95, most=50))] == [True, True]


def test_few_periods_are_read_and_each_of_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a million values takes a second: a reader who asks in many ways must not make a collector read again."""
    reads: list[int] = []

    def counting(tally: hush.Tally) -> dict[int, Sequence[int]]:
        reads.append(tally.reports)
        return read_totals(tally)

    monkeypatch.setattr(changes, "read_totals", counting)
    found = days(*["/page/7"] * 12, people=3)

    async def read() -> None:
        visible = object.__new__(Visible)
        visible.spaced, visible._periods = Spaced(rest=0.0), {}
        for _ in range(3):
            counted = await visible.counted_periods(found)
        assert [period for period, _ in counted] == [period for period, _ in found[-LONG_PERIODS:]]
        assert reads == [3] * LONG_PERIODS
        found[-1] = found[-1][0], days("/page/8", people=4)[0][1]
        found.append((Period(30_000, 1), hush.Tally(PLAN)))
        counted = await visible.counted_periods(found)
        assert reads == [*[3] * LONG_PERIODS, 4, 0]
        assert [one.tally.reports for _, one in counted] == [*[3] * (LONG_PERIODS - 2), 4, 0]

    asyncio.run(read())
