"""What the dashboard shows is what the library computes, once for all who look."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

import hush
from hush.collector import formats
from hush.collector.http import charts, statements
from hush.collector.http.problems import KINDS
from hush.collector.http.security import hashed
from hush.core.exact import exp_bounds
from hush.core.training.rounds import Round
from hush.device.gradient import gradient, held_out
from hush.planning.predictions import by_target
from hush.server import estimates, manipulations
from hush.server.distributions import distribution
from tests.collector.served import ALL, FEW, PLAN, PLANS, TRAINING, WIDE, Served, anybody, packed, report_of, serving

ADMIN = {"authorization": "Bearer an admin"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = anybody(stream_interval=0.05, tokens={"admin": frozenset([hashed("an admin")])})
    with serving(tmp_path_factory.mktemp("views"), settings) as found:
        for number, plan in enumerate(PLANS):
            found.post(plan, packed(plan, 3000, bytes([number + 1] * 16)), formats.COLUMNS)
        yield found


def shown(served: Served, what: str, plan: hush.Plan = PLAN, **query: Any) -> Any:
    response = served.client.get(served.path(what, plan), params=query)
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    return response.json()


def kind(response: httpx.Response) -> str:
    found: str = response.json()["type"].rpartition(":")[2]
    assert response.status_code == KINDS[found][0]
    return found


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.title)
def test_the_statement_is_exact(served: Served, plan: hush.Plan) -> None:
    found = shown(served, "statement", plan)
    assert (found["plan"], found["title"], found["k"]) == (plan.id, plan.title, plan.k)
    assert Fraction(found["allowed"]) == plan.cost
    for ratio, text, epsilon in [
        (plan.ratio, found["ratio"], found["epsilon"]),
        *(
            (question.channel.ratio, row["ratio"], row["epsilon"])
            for question, row in zip(plan.questions, found["questions"], strict=True)
        ),
    ]:
        assert Fraction(text) == ratio
        above = Fraction(epsilon)
        assert exp_bounds(above)[1] >= ratio
        assert exp_bounds(above - Fraction(2, 10**30))[0] < ratio, "and not by more than the last digit"
    assert [Fraction(row["inclusion"]) for row in found["questions"]] == list(plan.inclusions)
    assert [row["attributes"] for row in found["questions"]] == [list(one.attributes) for one in plan.questions]
    assert [row["name"] for row in found["attributes"]] == list(plan.schema.names)
    assert "at most" in found["sentences"][1]
    leverage = {(row["attribute"], row["estimate"]): row["shift"] for row in found["leverage"]}
    for target, rows in by_target(manipulations.leverage(plan)).items():
        assert leverage[target] == max(row.shift for row in rows)


def test_costs_are_said_in_few_digits() -> None:
    schema = hush.Schema([hush.Categorical("c", ["a", "b", "c"]), hush.Numeric("x", 0, 1)])
    for plan, cost in (
        (PLAN, "ε = 1 at most."),
        (hush.design(schema, 0.5), "ε = 0.5 at most."),
        (hush.design(schema, 0.123456789), "ε = 0.123456789 at most."),
    ):
        assert statements.statement(plan).sentences[0].endswith(f" questions, which costs {cost}")
    roomy = dataclasses.replace(hush.design(schema, 0.5), cost=Fraction(2))
    assert statements.statement(roomy).sentences[0].endswith(" costs ε = 0.5 at most, of 2 that the plan allows.")


def test_endless_ratios_are_left_out() -> None:
    schema = hush.Schema([hush.Numeric(f"x{i}", 0, 1) for i in range(300)])
    found = statements.statement(hush.design(schema, 16.0, k="all"))
    assert found.ratio is None
    assert all(question.ratio is not None for question in found.questions)
    assert 15 < float(found.epsilon) <= 16


@pytest.mark.parametrize("plan", [PLAN, WIDE], ids=lambda plan: plan.title)
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_margins_are_predictions_beside_intervals(served: Served, plan: hush.Plan, level: float) -> None:
    found = shown(served, "margins", plan, level=level)
    tally = served.tally(plan)
    assert (found["reports"], found["level"]) == (tally.reports, level)
    predicted = by_target(hush.predict(plan, tally.reports, level=level))
    achieved = by_target(hush.estimate(tally, level=level))
    assert len(found["margins"]) == len(predicted)
    for row in found["margins"]:
        target = (row["attribute"], row["estimate"])
        assert row["predicted"] == pytest.approx(max(one.margin for one in predicted[target]))
        known = not math.isnan(achieved[target][0].point)  # everybody's income is missing
        assert row["achieved"] == (max((one.high - one.low) / 2 for one in achieved[target]) if known else None)
        field = plan.schema[target[0]]
        mean = isinstance(field, hush.Numeric) and target[1] == "mean"
        assert row["scale"] == (field.high - field.low if mean and isinstance(field, hush.Numeric) else 1)


def test_manipulation_is_bounded(served: Served) -> None:
    tally = served.tally(PLAN)
    for share in (0.01, 0.0, 0.5, 1.0):
        found = shown(served, "manipulation", share=share)
        assert found["liars"] == math.ceil(Fraction(str(share)) * tally.reports)
        wanted = by_target(hush.manipulation(tally, found["liars"]))
        for row in found["shifts"]:
            shift = max(one.shift for one in wanted[row["attribute"], row["estimate"]])
            assert row["shift"] == (shift if math.isfinite(shift) else None)


def test_distributions_and_why_there_are_none(served: Served) -> None:
    tally = served.tally(PLAN)
    found = shown(served, "distribution", attribute="age")
    wanted = distribution(tally, "age")
    assert (found["reports"], found["why"]) == (tally.reports, None)
    assert found["answers"] == hush.estimate(tally)[0].answers < tally.reports, "from those who answered"
    assert (tuple(found["edges"]), tuple(found["shares"])) == (wanted.edges, wanted.shares)
    none = shown(served, "distribution", attribute="os")
    assert (none["shares"], none["edges"]) == ([], [])
    assert "categorical" in none["why"]
    assert kind(served.client.get(served.path("distribution"))) == "bad-request"
    assert kind(served.client.get(served.path("distribution"), params={"attribute": "shoe"})) == "not-found"


def test_nothing_is_known_of_nobody(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert all(row["predicted"] is None is row["achieved"] for row in shown(served, "margins")["margins"])
        found = shown(served, "manipulation")
        assert found["liars"] == 0
        assert all(row["shift"] is None for row in found["shifts"])
        assert "nobody" in shown(served, "distribution", attribute="age")["why"]
        assert shown(served, "timeline")["counts"] == []


def test_the_timeline_counts_what_is_new(served: Served) -> None:
    before = shown(served, "timeline", FEW)
    report = report_of(FEW)
    for _ in range(3):
        served.post(FEW, report.encode(), formats.REPORT)
    after = shown(served, "timeline", FEW)
    assert sum(after["counts"]) == sum(before["counts"]) + 1
    assert (after["before"], after["elsewhere"]) == (0, 0)
    assert after["start"] == before["start"]


def test_the_timeline_knows_what_was_before_and_elsewhere(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        served.post(PLAN, packed(PLAN, 70, bytes(16)), formats.COLUMNS)
    with serving(tmp_path) as served:
        served.post(PLAN, report_of(PLAN).encode(), formats.REPORT)
        body = packed(PLAN, 5, bytes([1] * 16))
        served.store.commit([formats.batch(PLAN, formats.COLUMNS, body, None, False)])  # behind the collector's back
        found = shown(served, "timeline")
        assert (found["before"], sum(found["counts"]), found["elsewhere"]) == (70, 1, 5)
        database = (tmp_path / "hush.db").read_bytes()
        assert str(int(found["start"])).encode() not in database, "no time is written"


def test_charts_are_those_of_the_library(served: Served) -> None:
    from hush.plots import panels

    found = served.client.get("/charts").json()
    assert found["charts"] == json.loads(json.dumps(panels.named()))
    assert found["themes"] == {"light": panels.theme("light"), "dark": panels.theme("dark")}


def test_charts_say_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charts.made.cache_clear()
    monkeypatch.setitem(sys.modules, "altair", None)
    with serving(tmp_path) as served:
        response = served.client.get("/charts")
        assert kind(response) == "not-found"
        assert "pip install" in response.json()["detail"]


def test_charts_that_cannot_be_made_are_an_error_of_the_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    charts.made.cache_clear()
    monkeypatch.setattr(charts, "_CHARTS", "raise SystemExit(1)")
    with serving(tmp_path) as served:
        assert kind(served.client.get("/charts")) == "failed"


@pytest.mark.parametrize(
    "path",
    [
        *(f"/plans/{PLAN.id}/{what}" for what in ("statement", "margins", "manipulation", "timeline", "stream")),
        f"/plans/{PLAN.id}/distribution?attribute=age",
        "/trainings/tiny/statement",
        "/trainings/tiny/stream",
        "/charts",
    ],
)
def test_readers_may_look_and_nobody_else(tmp_path: Path, path: str) -> None:
    tokens: Any = {"read": frozenset([hashed("reader")]), "submit": frozenset([hashed("device")])}
    with serving(tmp_path, anybody(stream_interval=0.05, tokens=tokens)) as served:
        assert kind(served.client.get(path)) == "no-token"
        assert kind(served.client.get(path, headers={"authorization": "Bearer device"})) == "not-allowed"
        with served.client.stream("GET", path, headers={"authorization": "Bearer reader"}) as response:
            assert response.status_code == 200


@pytest.mark.parametrize(
    "path",
    [f"manipulation?share={text}" for text in ("2", "-1", "x", "nan", "1_0")] + ["stream?view=all", "margins?level=1"],
)
def test_what_is_not_known_is_refused(served: Served, path: str) -> None:
    assert kind(served.client.get(served.path(path))) == "bad-request"


def events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line[7:]
        if line.startswith("data: "):
            yield name, json.loads(line[6:])


def test_a_stream_of_everything(tmp_path: Path) -> None:
    settings = anybody(stream_interval=0.05, tokens={"admin": frozenset([hashed("an admin")])})
    with serving(tmp_path, settings) as served:
        query = {"view": "dashboard", "level": "0.9", "share": "0.1"}
        with served.client.stream("GET", served.path("stream", FEW), params=query) as response:
            told = events(response)
            first = dict(next(told) for _ in range(5))
            assert list(first) == ["plan", "estimates", "margins", "manipulation", "timeline"]
            assert (first["plan"]["open"], first["plan"]["reports"]) == (True, 0)
            served.post(FEW, packed(FEW, 50, bytes(16)), formats.COLUMNS)
            second = dict(next(told) for _ in range(5))
            assert second["plan"]["reports"] == second["estimates"]["reports"] == second["margins"]["reports"] == 50
            assert (second["estimates"]["level"], second["margins"]["level"]) == (0.9, 0.9)
            assert second["manipulation"]["liars"] == 5
            assert sum(second["timeline"]["counts"]) == 50
            served.client.post(served.path("close", FEW), headers=ADMIN)
            third = dict(next(told) for _ in range(5))
            assert (third["plan"]["open"], third["plan"]["reports"]) == (False, 50)
        with served.client.stream("GET", served.path("stream", FEW)) as response:
            told = events(response)
            assert next(told)[0] == "estimates"
            served.post(ALL, packed(ALL, 5, bytes(16)), formats.COLUMNS)  # of another plan: nothing to tell


def test_a_stream_of_a_training(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        address = f"/trainings/{TRAINING.title}"
        current = Round.from_json(served.client.get(f"{address}/round").content)
        statement = served.client.get(f"{address}/statement").json()
        assert (statement["plan"], Fraction(statement["ratio"])) == (current.plan.id, current.plan.ratio)
        with served.client.stream("GET", f"{address}/stream") as response:
            told = events(response)
            name, entry = next(told)
            assert (name, entry["number"], entry["received"], entry["done"]) == ("training", 1, 0, False)
            name, past = next(told)
            assert (name, past["rounds"]) == ("history", [])
            send = {"content-type": formats.REPORT}
            loss = held_out(current, {"a": 0.1, "b": 0.2}, "yes").encode()
            assert served.client.post(f"{address}/losses?round=1", content=loss, headers=send).status_code == 202
            for _ in range(4):
                body = gradient(current, {"a": 0.1, "b": 0.2}, "yes").encode()
                assert served.client.post(f"{address}/gradients?round=1", content=body, headers=send).status_code == 202
            while name != "history" or not past["rounds"]:
                name, past = next(told)
            assert past["rounds"][0]["people"] == 4
            assert past["rounds"][0]["loss"] is not None
        assert kind(served.client.get("/trainings/none/stream")) == "not-found"


def test_many_viewers_cost_like_one(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    at_once, most, lock = [0], [0], threading.Lock()
    real = statements.spread

    def counted(tally: hush.Tally, attribute: str) -> Any:
        with lock:
            calls.append(attribute)
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        try:
            return real(tally, attribute)
        finally:
            with lock:
                at_once[0] -= 1

    monkeypatch.setattr(statements, "spread", counted)

    def look(name: str) -> tuple[str, int]:
        return name, len(shown(served, "distribution", ALL, attribute=name)["shares"])

    with ThreadPoolExecutor(20) as viewers:
        found = set(viewers.map(look, ["age", "income"] * 50))
    assert found == {("age", statements.BINS), ("income", 0)}  # of random reports, all incomes may be missing
    assert (sorted(calls), most[0]) == (["age", "income"], 1)
    computed = []

    def estimated(tally: hush.Tally, *options: Any) -> Any:
        computed.append(options)
        return estimates.chosen(tally, *options)

    monkeypatch.setattr("hush.collector.http.views.chosen", estimated)
    with ThreadPoolExecutor(20) as viewers:
        answers = set(viewers.map(lambda _: str(shown(served, "estimates", ALL, level=0.77)), range(50)))
    assert (len(answers), len(computed)) == (1, 1)
