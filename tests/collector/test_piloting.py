"""A pilot over HTTP: the plan that is current, who may ask for it, and what a dashboard hears."""

from __future__ import annotations

import json
from pathlib import Path

from hush.collector import formats
from hush.collector.narrowing import second_plan
from hush.collector.settings import Settings
from tests.collector.pilots import FIRST, OTHERS, PILOT, answers, commit, narrowing, second_of, tally_of, until
from tests.collector.served import ADMIN, HASHES, anybody, problem


def test_a_collector_narrows_and_says_so(tmp_path: Path) -> None:
    made = answers(FIRST + 1, 1)
    with narrowing(tmp_path) as served:
        web = served.client
        assert web.get(f"/plans/{PILOT.id}/current").json() == {"plan": PILOT.id}
        for report in made[:FIRST]:
            assert served.post(PILOT, report.encode(), formats.REPORT).status_code == 202
        second = second_of(served)
        assert second == second_plan(tally_of(made[:FIRST]), OTHERS)
        answer = web.get(f"/plans/{PILOT.id}/current")
        assert answer.headers["cache-control"] == "no-store"
        assert web.get(f"/plans/{second.id}/current").json() == {"plan": second.id}
        entries = until(lambda: (found := web.get("/plans").json()["plans"])[0]["next"] and found)
        told = [(entry["id"], entry["after"], entry["next"], entry["open"]) for entry in entries]
        assert told == [(PILOT.id, None, second.id, True), (second.id, PILOT.id, None, True)]
        # A report that was on its way counts, and changes nothing.
        late = served.post(PILOT, made[FIRST].encode(), formats.REPORT)
        assert (late.status_code, late.json()["new"]) == (202, True)
        assert served.tally(PILOT) == tally_of(made)
        assert second_of(served) == second
        assert served.post(second, answers(1, 9, plan=second)[0].encode(), formats.REPORT).json()["new"]
        for plan, after, following, link in (
            (PILOT, None, second.id, f'</plans/{second.id}/estimates>; rel="next"'),
            (second, PILOT.id, None, f'</plans/{PILOT.id}/estimates>; rel="prev"'),
        ):
            found = web.get(served.path("estimates", plan))
            assert (found.json()["after"], found.json()["next"]) == (after, following)
            assert found.headers["link"] == link
            assert web.get(served.path("estimates", plan), params={"format": "csv"}).headers["link"] == link


def test_a_plan_without_a_pilot_says_nothing_of_one(tmp_path: Path) -> None:
    with narrowing(tmp_path) as served:
        found = served.client.get(served.path("estimates", PILOT))
        assert (found.json()["after"], found.json()["next"], "link" in found.headers) == (None, None, False)
        problem(served.client.get(f"/plans/{'0' * 64}/current"), "not-found")


def test_the_stream_of_a_dashboard_hears_of_the_second_plan(tmp_path: Path) -> None:
    """No report need come after it."""
    made = answers(FIRST, 1)
    with narrowing(tmp_path) as served:
        commit(served.store, made)
        with served.client.stream("GET", served.path("stream", PILOT), params={"view": "dashboard"}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: ") and (found := json.loads(line[6:]).get("next")):
                    break
        assert found == second_of(served).id


def test_closing_the_pilot_early_ends_the_waiting(tmp_path: Path) -> None:
    with narrowing(tmp_path, anybody(stream_interval=0.02, tokens={"admin": HASHES["admin"]})) as served:
        closed = served.client.post(served.path("close", PILOT), headers=ADMIN)
        assert (closed.json()["open"], closed.json()["next"]) == (False, None)
        problem(served.post(PILOT, answers(1, 1)[0].encode(), formats.REPORT), "plan-closed")
        assert served.client.get(f"/plans/{PILOT.id}/current").json() == {"plan": PILOT.id}


def test_pages_that_may_ask_the_pilot_may_ask_the_second_plan(tmp_path: Path) -> None:
    page, stranger = "https://example.org", "https://example.net"
    settings = anybody(stream_interval=0.02, origins={PILOT.id: frozenset([page])})
    with narrowing(tmp_path, settings) as served:
        commit(served.store, answers(FIRST, 1))
        second = second_of(served)
        for path in (served.path("", second), served.path("current", PILOT)):
            allowed = served.client.get(path, headers={"origin": page})
            assert allowed.headers["access-control-allow-origin"] == page
            refused = served.client.get(path, headers={"origin": stranger})
            assert "access-control-allow-origin" not in refused.headers
        preflight = served.client.options(served.path("reports", second), headers={"origin": page})
        assert preflight.headers["access-control-allow-origin"] == page


def test_naming_the_current_plan_needs_the_role_to_submit(tmp_path: Path) -> None:
    settings = Settings(tokens={"submit": HASHES["submit"], "read": HASHES["read"]})
    with narrowing(tmp_path, settings) as served:
        path = f"/plans/{PILOT.id}/current"
        problem(served.client.get(path), "no-token")
        problem(served.client.get(path, headers={"authorization": "Bearer " + "r" * 20}), "not-allowed")
        assert served.client.get(path, headers={"authorization": "Bearer " + "s" * 20}).is_success


def test_the_second_plan_is_prepared_for_batches(tmp_path: Path) -> None:
    with narrowing(tmp_path) as served:
        commit(served.store, answers(FIRST, 1))
        second = second_of(served)
        until(lambda: served.app.state.collector.is_prepared(second))
