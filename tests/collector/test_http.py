"""The HTTP interface on real sockets: every endpoint, what it refuses, and what it answers."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from pathlib import Path

import httpx
import pytest

import hush
from hush.collector import formats
from hush.collector.settings import Settings
from hush.device.randomise import randomise
from tests.collector.served import (
    ADMIN,
    ALL,
    FEW,
    HASHES,
    PLAN,
    PLANS,
    WIDE,
    Served,
    anybody,
    packed,
    problem,
    report_of,
    rows,
    serving,
    stream_of,
)

# -- plans


def test_a_collector_without_tickets_answers_with_nothing(open_: Served) -> None:
    """A 404 would show as an error in the console of every page that asks."""
    found = open_.client.get(f"/plans/{PLAN.id}/ticket")
    assert (found.status_code, found.content) == (204, b"")
    problem(open_.client.get(f"/plans/{'0' * 64}/ticket"), "not-found")


def test_plans_are_listed(open_: Served) -> None:
    found = open_.client.get("/plans").json()["plans"]
    assert [entry["id"] for entry in found] == [plan.id for plan in PLANS]
    assert found[0] | {"reports": 0} == {
        "id": PLAN.id,
        "title": "one of four",
        "epsilon": 1.0,
        "open": True,
        "keep": "reports",
        "reports": 0,
        "shown": {"every": 0.0, "least": 0, "next": 0},
        "after": None,
        "next": None,
        "own": 0,
        "refused": 0,
        "relay": None,
    }


def test_a_plan_is_immutable(open_: Served) -> None:
    response = open_.client.get(open_.path())
    assert hush.Plan.from_json(response.content, PLAN.id) == PLAN
    assert response.headers["etag"] == f'"{PLAN.id}"'
    assert "immutable" in response.headers["cache-control"]
    for tag in (f'"{PLAN.id}"', f'W/"{PLAN.id}"', f'"x", "{PLAN.id}"', "*"):
        again = open_.client.get(open_.path(), headers={"if-none-match": tag})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == response.headers["etag"]
    assert open_.client.get(open_.path(), headers={"if-none-match": '"other"'}).status_code == 200
    head = open_.client.head(open_.path())
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == len(response.content)


# -- reports


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.title)
def test_every_content_type_is_counted_once(open_: Served, plan: hush.Plan) -> None:
    before = open_.tally(plan)
    wanted = before.copy()
    reports = [report_of(plan) for _ in range(5)]
    columns, stream = rows(plan, 30), rows(plan, 40, ids=True)
    ids = [bytes([number]) * 8 + bytes.fromhex(plan.id[:16]) for number in range(3)]
    bodies = [
        (formats.JSON, reports[0].to_json().encode(), reports[0].id),
        (formats.REPORT, reports[1].encode(), reports[1].id),
        (formats.REPORTS, ids[0] + b"".join(report.encode() for report in reports[2:]), ids[0]),
        (formats.COLUMNS, formats.pack(plan, columns, ids[1]), ids[1]),
        (formats.ARROW, stream_of(stream), ids[2]),
    ]
    wanted.update(reports)
    wanted += hush.batch.tally(plan, columns) + hush.batch.tally(plan, stream)
    for kind, body, id_ in bodies:
        for new in (True, False, False):
            head = {"hush_batch": id_.hex()} if kind in formats.BATCHES else {}
            response = open_.post(plan, body, f"{kind.upper()}; charset=utf-8", **head)
            assert response.status_code == 202, response.text
            found = response.json()
            assert (found["id"], found["new"]) == (id_.hex(), new)
    assert open_.tally(plan) == wanted
    assert wanted.reports == before.reports + 5 + 70


def test_reports_are_refused_in_words(open_: Served) -> None:
    good = report_of(PLAN)
    problem(open_.post(PLAN, good.encode(), "text/plain"), "wrong-type")
    problem(open_.post(PLAN, good.encode(), ""), "wrong-type")
    problem(open_.post(PLAN, good.encode(), formats.REPORT, content_encoding="gzip"), "wrong-type")
    assert "another plan" in str(problem(open_.post(ALL, good.encode(), formats.REPORT), "bad-report")["detail"])
    assert "cut short" in str(problem(open_.post(PLAN, good.encode()[:-1], formats.REPORT), "bad-report")["detail"])
    problem(open_.post(PLAN, b"", formats.JSON), "bad-report")
    assert "Hush-Batch" in str(
        problem(open_.post(PLAN, stream_of(rows(PLAN, 2)), formats.ARROW), "bad-report")["detail"]
    )
    for bad in ("", "0", "g" * 32, "0" * 31, "0" * 33, "0 " * 15 + "00"):
        problem(open_.post(PLAN, stream_of(rows(PLAN, 2)), formats.ARROW, hush_batch=bad), "bad-request")
    missing = open_.client.post(f"/plans/{'0' * 64}/reports", content=b"", headers={"content-type": formats.JSON})
    problem(missing, "not-found")


def test_reports_within_batches_are_looked_at_if_asked(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(check_ids=True)) as served:
        table = rows(PLAN, 5, ids=True)
        body = stream_of(table)
        assert served.post(PLAN, body, formats.ARROW, hush_batch="0" * 32).json()["new"]
        problem(served.post(PLAN, body, formats.ARROW, hush_batch="1" * 32), "overlapping")
        assert "'report'" in served.post(PLAN, stream_of(rows(PLAN, 5)), formats.ARROW, hush_batch="2" * 32).text
        report = report_of(PLAN)
        assert served.post(PLAN, report.encode(), formats.REPORT).json()["new"]
        problem(served.post(PLAN, bytes(15) + b"3" + report.encode(), formats.REPORTS), "overlapping")
        assert "Arrow" in str(
            problem(served.post(PLAN, packed(PLAN, 3, bytes(16)), formats.COLUMNS), "bad-report")["detail"]
        )
        assert served.tally(PLAN).reports == 6


def test_a_report_of_a_large_plan_is_not_too_large(tmp_path: Path) -> None:
    schema = hush.Schema([hush.Categorical(f"c{i}", list(range(4000))) for i in range(200)])
    large = hush.design(schema, 16.0, k=200, categorical="oue")
    report = randomise(large, {f"c{i}": 1 for i in range(200)})
    with serving(tmp_path) as served:
        served.store.add_plan(large)
        assert len(report.encode()) > Settings().max_single
        assert served.post(large, report.encode(), formats.REPORT).status_code == 202


# -- estimates


def test_estimates_in_all_forms(open_: Served) -> None:
    open_.post(FEW, packed(FEW, 500, b"for estimates 01"), formats.COLUMNS)
    tally = open_.tally(FEW)
    response = open_.client.get(open_.path("estimates", FEW))
    assert response.headers["cache-control"] == "no-store"
    found = response.json()
    rows_ = hush.estimate(tally)
    assert found["reports"] == tally.reports
    assert (found["level"], found["estimator"], found["post"]) == (0.95, "ratio", "none")
    assert [
        (row["attribute"], row["category"], row["point"], row["low"], row["answers"]) for row in found["estimates"]
    ] == [(row.attribute, row.category, row.point, row.low, row.answers) for row in rows_]
    other = open_.client.get(
        open_.path("estimates", FEW), params={"level": 0.5, "estimator": "paper", "post": "clip"}
    ).json()
    assert other["level"] == 0.5
    narrow, paper = other["estimates"][0], hush.estimate(tally, level=0.5, estimator="paper")[0]
    assert narrow["point"] == min(max(paper.point, 0.0), 1.0)
    assert narrow["high"] - narrow["low"] < found["estimates"][0]["high"] - found["estimates"][0]["low"]
    assert found["intervals"] == "each"
    together = open_.client.get(open_.path("estimates", FEW), params={"intervals": "together"}).json()
    assert together["intervals"] == "together"
    assert [row["low"] for row in together["estimates"]] == [row.low for row in hush.estimate(tally, simultaneous=True)]
    projected = open_.client.get(open_.path("estimates", FEW), params={"post": "project"}).json()["estimates"]
    assert sum(row["point"] for row in projected if row["attribute"] == "c") == pytest.approx(1)
    text = open_.client.get(open_.path("estimates", FEW), params={"format": "csv"})
    assert text.headers["content-type"].startswith("text/csv")
    assert text.headers["cache-control"] == "no-store"
    lines = list(csv.DictReader(io.StringIO(text.text)))
    assert [float(line["point"]) for line in lines] == [row.point for row in rows_]
    assert lines[0]["category"] == ""


@pytest.mark.parametrize(
    "query",
    [
        *("level=0", "level=1", "level=nan", "level=x", "level=", "level=0_5", "level=²", "level=-1"),
        *("estimator=mle", "post=all", "format=xml", "colour=red", "level=0.5&level=0.6"),
    ],
)
def test_estimates_refuse(open_: Served, query: str) -> None:
    problem(open_.client.get(open_.path("estimates") + "?" + query), "bad-request")
    if "format" not in query:
        problem(open_.client.get(open_.path("stream") + "?" + query), "bad-request")


def test_estimates_of_nothing_are_null(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        for post in ("none", "clip", "project"):
            rows_ = served.client.get(served.path("estimates"), params={"post": post}).json()["estimates"]
            assert rows_[0]["answers"] == 0
            assert rows_[0]["stderr"] is None


def test_the_stream_tells_what_changes(open_: Served) -> None:
    with open_.client.stream("GET", open_.path("stream", WIDE)) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        first = next(json.loads(line[6:]) for line in lines if line.startswith("data: "))
        open_.post(WIDE, report_of(WIDE).encode(), formats.REPORT)
        second = next(json.loads(line[6:]) for line in lines if line.startswith("data: "))
        assert second["reports"] == first["reports"] + 1
        assert next(line for line in lines if line.startswith(":"))  # a sign of life in between
    assert open_.client.head(open_.path("stream")).status_code == 200  # and ends


def test_streams_are_counted_and_let_go(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(streams=1, stream_interval=0.02)) as served:
        with served.client.stream("GET", served.path("stream")) as response:
            lines = response.iter_lines()
            next(lines)
            with httpx.stream("GET", served.url + served.path("stream")) as busy:
                assert busy.status_code == 503
                busy.read()
            problem(busy, "busy")
            assert busy.headers["retry-after"] == "1"
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            with served.client.stream("GET", served.path("stream")) as again:
                if again.status_code == 200:
                    return
            time.sleep(0.05)
        pytest.fail("a stream that nobody reads is still counted")


# -- tallies


def test_tallies_go_in_and_out(open_: Served) -> None:
    tally = hush.Tally(ALL)
    tally.update(report_of(ALL) for _ in range(20))
    before = open_.tally(ALL)
    path = open_.path("tally", ALL)
    for kind, body, id_ in (
        (formats.JSON, tally.to_json().encode(), "a" * 32),
        (formats.TALLY, tally.encode(), "b" * 32),
    ):
        head = ADMIN | {"content-type": kind, "hush-batch": id_}
        for new in (True, False):
            response = open_.client.post(path, content=body, headers=head)
            assert (response.status_code, response.json()["new"], response.json()["reports"]) == (202, new, 20)
    both = before + tally + tally
    response = open_.client.get(path)
    assert response.headers["vary"] == "Accept"
    assert hush.Tally.from_json(response.content, ALL) == both
    binary = open_.client.get(path, headers={"accept": formats.TALLY})
    assert binary.headers["content-type"] == formats.TALLY
    assert hush.Tally.decode(ALL, binary.content) == both


def test_tallies_are_refused(open_: Served) -> None:
    path, tally = open_.path("tally", ALL), hush.Tally(ALL)
    tally.add(report_of(ALL))
    body, head = tally.encode(), ADMIN | {"content-type": formats.TALLY, "hush-batch": "c" * 32}
    problem(open_.client.post(path, content=body, headers=head | {"content-type": "text/plain"}), "wrong-type")
    problem(open_.client.post(path, content=body, headers=head | {"hush-batch": "x"}), "bad-request")
    problem(open_.client.post(path, content=body[:-1], headers=head), "bad-report")
    problem(open_.client.post(path, content=hush.Tally(ALL).encode(), headers=head), "bad-report")
    whole = json.loads(tally.to_json())
    for change, rule in (
        ({"tally": whole["tally"] | {"reports": 2**60, "answered": [2**60] * 4}}, "add up"),
        ({"plan": json.loads(PLAN.to_json())}, "another plan"),
        ({"plan": ALL.id}, "another plan"),
        ({"more": 1}, "exactly the fields"),
    ):
        text = json.dumps(whole | change)
        answer = open_.client.post(path, content=text, headers=head | {"content-type": formats.JSON})
        assert rule in str(problem(answer, "bad-report")["detail"])
    alone = open_.client.post(path, content=json.dumps(whole["tally"]), headers=head | {"content-type": formats.JSON})
    assert "exactly the fields" in str(problem(alone, "bad-report")["detail"])


def test_a_plan_is_closed(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(tokens={"admin": HASHES["admin"]})) as served:
        report = report_of(PLAN)
        served.post(PLAN, report.encode(), formats.REPORT)
        problem(served.client.post(served.path("close")), "no-token")
        closed = served.client.post(served.path("close"), headers=ADMIN)
        assert (closed.status_code, closed.json()["open"], closed.json()["reports"]) == (200, False, 1)
        for again in (report, report_of(PLAN)):
            problem(served.post(PLAN, again.encode(), formats.REPORT), "plan-closed")
        assert served.tally(PLAN).reports == 1
        assert served.client.get("/plans").json()["plans"][0]["open"] is False
        assert served.post(ALL, report_of(ALL).encode(), formats.REPORT).status_code == 202


def test_the_only_open_survey_is_named_and_one_of_several_is_not(tmp_path: Path) -> None:
    settings = anybody(tokens={"admin": HASHES["admin"], "read": HASHES["read"]}, stream_interval=0.01)
    with serving(tmp_path, settings, plans=[PLAN, ALL]) as served:

        def named() -> str | None:
            time.sleep(0.05)  # plans are looked at once in a while
            found = served.client.get("/survey").json()
            assert found.keys() == {"plan"}
            return str(found["plan"]) if found["plan"] else None

        assert named() is None
        served.client.post(served.path("close"), headers=ADMIN)
        assert named() == ALL.id
        served.client.post(served.path("close", ALL), headers=ADMIN)
        assert named() is None
        problem(served.client.get("/plans"), "no-token")


# -- the rest


def test_health_and_the_document(open_: Served) -> None:
    assert open_.client.get("/healthz").json() == {"status": "ok"}
    assert open_.client.get("/openapi.json").json()["openapi"] == "3.1.0"


def test_metrics_are_prometheus_text(open_: Served) -> None:
    open_.post(PLAN, report_of(PLAN).encode(), formats.REPORT)
    response = open_.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(response.text)
    assert found[f'hush_submissions_total{{plan="{PLAN.id}",kind="report",outcome="new"}}'] >= 1
    assert found['hush_responses_total{status="202"}'] >= 1
    assert found["hush_waiting"] == 0
    buckets = [value for name, value in found.items() if name.startswith("hush_commit_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == found["hush_commit_seconds_count"] > 0
    assert "127.0.0.1" not in response.text


def samples(text: str) -> dict[str, float]:
    """Parse the text format of Prometheus; every line must be a comment or a sample of an announced metric."""
    label = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
    found, announced = {}, set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if comment := re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) .+", line):
            announced.add(comment[2])
            continue
        match = re.fullmatch(rf"(([a-z_]+?)(?:_bucket|_sum|_count)?(?:\{{{label}(?:,{label})*\}})?) (\S+)", line)
        assert match is not None, line
        assert match[2] in announced, line
        assert match[1] not in found
        found[match[1]] = float(match[3])
    return found


def test_labels_of_metrics_are_escaped() -> None:
    from hush.collector.http.metrics import Metrics

    metrics = Metrics()
    metrics.submissions['a "b" \\ c', "gradient", "new"] += 1
    assert (
        len(
            [name for name in samples(metrics.text(metrics.of_people(0), full=False, late=False)) if "gradient" in name]
        )
        == 1
    )


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("GET", "/nothing", "not-found"),
        ("GET", "/plans/", "not-found"),
        ("GET", "/dashboard/", "not-found"),
        ("GET", "/pages/", "not-found"),
        ("GET", f"/plans/{PLAN.id}/", "not-found"),
        ("GET", f"/plans/{PLAN.id}/nothing", "not-found"),
        ("GET", f"/plans/{PLAN.id.upper()}", "not-found"),
        ("GET", f"/plans/{PLAN.id}%00", "not-found"),
        ("GET", "/plans/%2e%2e%2fplans", "not-found"),
        ("GET", "/plans/" + "a" * 4000, "not-found"),
        ("GET", "/trainings/nobody/round", "not-found"),
        ("GET", f"/plans/{PLAN.id}/reports", "bad-method"),
        ("DELETE", f"/plans/{PLAN.id}", "bad-method"),
        ("PUT", "/plans", "bad-method"),
        ("PATCH", "/nowhere", "not-found"),
        ("POST", "/healthz", "bad-method"),
        ("TRACE", "/healthz", "bad-method"),
    ],
)
def test_whatever_is_not_there_is_a_problem(open_: Served, method: str, path: str, kind: str) -> None:
    response = open_.client.request(method, path)
    problem(response, kind)
    assert ("allow" in response.headers) == (kind == "bad-method")


def test_a_mistake_of_the_collector_is_a_problem_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path) as served:
        monkeypatch.setattr(served.store, "tally", lambda plan: 1 / 0)
        problem(served.client.get(served.path("estimates")), "broken")
        monkeypatch.setattr(served.store, "commit", lambda group: 1 / 0)
        refused = served.post(PLAN, report_of(PLAN).encode(), formats.REPORT)
        problem(refused, "failed")
        assert refused.headers["retry-after"] == "1"


def test_a_full_queue_says_when_to_come_back(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(queue=0, retry_after=7)) as served:
        refused = served.post(PLAN, report_of(PLAN).encode(), formats.REPORT)
        problem(refused, "busy")
        assert refused.headers["retry-after"] == "7"
