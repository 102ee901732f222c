"""Who may do what at a collector: tokens, pages of other origins, and tickets."""

from __future__ import annotations

import hmac
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

import hush
from hush import batch
from hush.collector import formats
from hush.collector.settings import Role, Settings
from hush.core.dealing import questions_of
from hush.device.asking import Asked
from tests.collector.served import (
    ADMIN,
    ALL,
    FEW,
    HASHES,
    PLAN,
    RECORD,
    TOKENS,
    Served,
    anybody,
    packed,
    problem,
    report_of,
    rows,
    serving,
    stream_of,
)


def test_roles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or a == b)  # type: ignore[func-returns-value]
    with serving(tmp_path, Settings(tokens=HASHES)) as served:
        report, known = report_of(PLAN).encode(), {str(role): token for role, token in TOKENS.items()}

        def ask(role: str, method: str, path: str) -> int:
            token = {"authorization": f"Bearer {known.get(role, role)}"} if role else {}
            kind = {"content-type": formats.REPORT} if path.endswith("reports") else {}
            content = report if kind else b""
            response = served.client.request(method, path, headers=token | kind, content=content)
            if response.status_code == 401:
                problem(response, "no-token")
                assert response.headers["www-authenticate"].startswith("Bearer")
            elif response.status_code == 403:
                problem(response, "not-allowed")
            return response.status_code

        table = {
            ("GET", "/plans"): (401, 401, 403, 200, 200),
            ("GET", "/survey"): (401, 401, 200, 403, 200),
            ("GET", served.path()): (401, 401, 200, 403, 200),
            ("POST", served.path("reports")): (401, 401, 202, 403, 202),
            ("POST", served.path("tally")): (401, 401, 403, 403, 415),
            ("GET", served.path("estimates")): (401, 401, 403, 200, 200),
            ("GET", served.path("tally")): (401, 401, 403, 200, 200),
            ("GET", "/metrics"): (401, 401, 403, 200, 200),
            ("GET", "/trainings"): (401, 401, 403, 200, 200),
            ("GET", "/trainings/tiny/round"): (401, 401, 200, 403, 200),
            ("GET", "/trainings/tiny/history"): (401, 401, 403, 200, 200),
            ("GET", "/healthz"): (200, 200, 200, 200, 200),
            ("GET", "/readyz"): (200, 200, 200, 200, 200),
            ("GET", "/openapi.json"): (200, 200, 200, 200, 200),
            ("POST", served.path("close")): (401, 401, 403, 403, 200),
        }
        for (method, path), wanted in table.items():
            found = tuple(ask(role, method, path) for role in ("", "unknown", "submit", "read", "admin"))
            assert found == wanted, path
        assert served.client.get("/plans", headers={"authorization": f"Basic {TOKENS['read']}"}).status_code == 401
        assert served.client.get("/plans", headers={"authorization": f"bearer  {TOKENS['read']}"}).status_code == 200
    # Every comparison is of hashes, in constant time, with all that are known; none is of a token.
    assert compared
    assert {known for _, known in compared} == {hash_ for hashes in HASHES.values() for hash_ in hashes}
    assert all(re.fullmatch("[0-9a-f]{64}", given) for given, _ in compared)


def test_without_admin_tokens_nobody_is_an_admin(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        problem(served.client.post(served.path("close")), "no-token")
        problem(served.client.post(served.path("close"), headers=ADMIN), "no-token")


def test_batches_and_tallies_have_a_role_of_their_own(tmp_path: Path) -> None:
    """One request of a few megabytes counts a million reports: that is not for everybody who may send one."""
    batches = {
        formats.REPORTS: bytes(16) + report_of(FEW).encode(),
        formats.COLUMNS: packed(FEW, 5, b"1" * 16),
        formats.ARROW: stream_of(rows(FEW, 5)),
    }
    assert set(batches) == set(formats.BATCHES)
    tally = batch.tally(FEW, rows(FEW, 5)).encode()
    with serving(tmp_path, Settings(open=frozenset(["submit", "read"]), tokens=HASHES)) as served:

        def sent(role: Role | None) -> list[httpx.Response]:
            token = {} if role is None else {"authorization": f"Bearer {TOKENS[role]}"}
            every = [(path, kind, body) for kind, body in batches.items() for path in [served.path("reports", FEW)]]
            every.append((served.path("tally", FEW), formats.TALLY, tally))
            return [
                served.client.post(path, content=body, headers=token | {"content-type": kind, "hush-batch": id_})
                for number, (path, kind, body) in enumerate(every)
                for id_ in [
                    "0" * 32 if kind == formats.REPORTS else "31" * 16 if kind == formats.COLUMNS else f"{number:032x}"
                ]
            ]

        assert served.post(FEW, report_of(FEW).encode(), formats.REPORT).status_code == 202
        for role, kind in ((None, "no-token"), ("submit", "not-allowed"), ("read", "not-allowed")):
            for response in sent(role):  # type: ignore[arg-type]
                assert problem(response, kind)["detail"] == "this needs the role submit-batch"
        assert served.store.tally(FEW).reports == 1
        assert [response.json()["new"] for response in sent("submit-batch")] == [True] * 4
        assert [response.json()["new"] for response in sent("admin")] == [False] * 4
        gateway = {"authorization": f"Bearer {TOKENS['submit-batch']}"}
    with serving(tmp_path, Settings(tokens=HASHES)) as served:  # a gateway fetches plans, and sends single reports
        assert served.client.get(served.path(), headers=gateway).status_code == 200
        assert served.post(FEW, report_of(FEW).encode(), formats.REPORT, **gateway).status_code == 202
        problem(served.client.get("/plans", headers=gateway), "not-allowed")


def test_a_role_that_nobody_was_given_is_closed(tmp_path: Path) -> None:
    with serving(tmp_path, Settings()) as served:
        for path in ("/plans", served.path(), served.path("tally"), "/metrics", "/trainings/tiny/round"):
            problem(served.client.get(path), "no-token")
        problem(served.post(PLAN, report_of(PLAN).encode(), formats.REPORT), "no-token")
    wrong: list[dict[str, Any]] = [
        {"open": frozenset(["admin"])},
        {"open": frozenset(["king"])},
        {"tokens": {"king": ()}},
    ]
    for named in wrong:
        with pytest.raises(hush.InputError, match="role"):
            Settings(**named)


def test_caches_keep_nothing_that_needed_a_token(tmp_path: Path) -> None:
    paths = (
        "/plans",
        "",
        "estimates",
        "tally",
        "statement",
        "margins",
        "timeline",
        "/charts",
        "/metrics",
        "/trainings",
    )

    def kept(served: Served, path: str, **headers: str) -> str:
        response = served.client.get(path if path.startswith("/") else served.path(path), headers=headers)
        found: str = response.headers["cache-control"]
        return found

    with serving(tmp_path, Settings(tokens=HASHES)) as served:
        for path in paths:
            found = kept(served, path, **ADMIN)
            assert "public" not in found, path
            assert "no-store" in found or "private" in found, path
            assert kept(served, path) == "no-store", "a refusal is not kept either"
        assert kept(served, "", **ADMIN) == "private, max-age=31536000, immutable"
        tag = {"if-none-match": f'"{PLAN.id}"'}
        assert "public" not in kept(served, "", **ADMIN, **tag)
        assert kept(served, "/nothing") == "no-store"
    with serving(tmp_path, anybody()) as served:
        assert kept(served, "") == "public, max-age=31536000, immutable"
        assert kept(served, "/metrics") == "no-store"


# -- names


def test_a_name_that_points_here_by_somebody_elses_will_is_refused(tmp_path: Path) -> None:
    """A page of evil.example whose name was pointed at 127.0.0.1 would be let read, as if it were its own server."""

    def ask(served: Served, host: str, path: str = "/plans") -> int:
        response = served.client.get(path, headers={"host": host})
        if response.status_code == 421:
            problem(response, "wrong-host")
        return response.status_code

    here = ("localhost", "127.0.0.1", "[::1]", "LOCALHOST:8000", "127.0.0.1:80", "[::1]:8000", "localhost.")
    foreign = (
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "localhost:x",
    )
    numeric = ("192.0.2.7", "192.0.2.7:8000", "[2001:db8::1]:80")
    with serving(tmp_path, anybody()) as served:
        for host in here:
            assert ask(served, host) == 200, host
        assert served.raw(b"GET /plans HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200"), "no browser leaves it out"
        for path in ("/plans", served.path("stream"), "/healthz", "/", "/nothing", "/openapi.json"):
            assert {ask(served, host, path) for host in (*foreign, *numeric)} == {421}, path
        assert 'hush_responses_total{status="421"}' in served.client.get("/metrics").text
    with serving(tmp_path, anybody(addresses=True)) as served:
        assert {ask(served, host) for host in (*here, *numeric)} == {200}
        assert {ask(served, host) for host in foreign} == {421}
    with serving(tmp_path, anybody(hosts=frozenset(["reports.example.org"]))) as served:  # behind a proxy
        assert ask(served, "Reports.example.org") == 200
        assert {ask(served, host) for host in (*foreign, "localhost", "other.example.org")} == {421}
        raw = served.raw(
            b"GET /plans HTTP/1.1\r\nHost: reports.example.org\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        )
        assert raw.startswith((b"HTTP/1.1 421", b"HTTP/1.1 400"))


# -- web pages


def test_pages_may_send_reports_to_their_plans(tmp_path: Path) -> None:
    origins = {PLAN.id: frozenset(["https://a.example"]), "*": frozenset(["https://b.example"]), FEW.id: frozenset("*")}
    with serving(tmp_path, anybody(origins=origins)) as served:

        def allowed(origin: str, path: str, method: str = "GET", **more: str) -> str | None:
            response = served.client.request(method, path, headers={"origin": origin, **more})
            assert "Origin" in response.headers["vary"]
            found: str | None = response.headers.get("access-control-allow-origin")
            return found

        for path in (served.path(), served.path("estimates"), served.path("nothing"), served.path("reports")):
            assert allowed("https://a.example", path) == "https://a.example"
            assert allowed("https://b.example", path) is None
        assert allowed("https://b.example", served.path(plan=ALL)) == "https://b.example"
        assert allowed("https://a.example", served.path(plan=ALL)) is None
        assert allowed("https://c.example", served.path(plan=FEW)) == "https://c.example"
        assert allowed("https://b.example", "/plans") == "https://b.example"
        assert served.client.get(served.path()).headers["vary"] == "Origin"  # caches must know, whoever asks
        assert served.client.get(served.path("tally")).headers["vary"] == "Accept, Origin"
        asks = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
        flight = served.client.options(served.path("reports"), headers={"origin": "https://a.example"} | asks)
        assert flight.status_code == 204
        assert flight.headers["access-control-allow-origin"] == "https://a.example"
        assert "POST" in flight.headers["access-control-allow-methods"]
        assert "content-type" in flight.headers["access-control-allow-headers"]
        assert "hush-ticket" in flight.headers["access-control-allow-headers"]
        assert allowed("https://b.example", served.path("reports"), "OPTIONS", **asks) is None


def test_without_origins_no_page_may(open_: Served) -> None:
    response = open_.client.get(open_.path(), headers={"origin": "https://a.example"})
    assert not [name for name in response.headers if name.startswith("access-control")]


# -- tickets


def test_tickets_deal_the_questions(tmp_path: Path) -> None:
    with serving(tmp_path, anybody(tickets=True, ticket_key=b"k" * 32)) as served:
        ticket = served.client.get(served.path("ticket"))
        assert ticket.headers["cache-control"] == "no-store"
        dealt = ticket.json()
        id_ = bytes.fromhex(dealt["id"])
        assert dealt["questions"] == questions_of(PLAN, id_)
        report = Asked(PLAN, id_, dealt["signature"]).answer(RECORD)
        for new in (True, False):  # it counts once
            sent = served.post(PLAN, report.encode(), formats.REPORT, hush_ticket=dealt["signature"])
            assert sent.json()["new"] is new
        problem(served.post(PLAN, report_of(PLAN).encode(), formats.REPORT), "bad-request")
        for forged in ("0" * 32, dealt["signature"]):
            refused = served.post(PLAN, report_of(PLAN).encode(), formats.REPORT, hush_ticket=forged)
            assert "no ticket" in str(problem(refused, "bad-report")["detail"])
        other = served.client.get(served.path("ticket")).json()
        [index] = other["questions"]
        picked = (index + 1) % len(PLAN.questions)
        answer = PLAN.questions[picked].channel.answer(
            PLAN.seen(picked, PLAN.schema.encode(RECORD)), hush.device.coins.SystemCoins()
        )
        liar = hush.Report(PLAN, bytes.fromhex(other["id"]), ((picked, answer),))
        refused = served.post(PLAN, liar.to_json().encode(), formats.JSON, hush_ticket=other["signature"])
        assert "other questions" in str(problem(refused, "bad-report")["detail"])
        elsewhere = Asked(ALL, id_, dealt["signature"]).answer(RECORD)  # a ticket is for one plan
        problem(served.post(ALL, elsewhere.encode(), formats.REPORT, hush_ticket=dealt["signature"]), "bad-report")
        problem(served.post(PLAN, packed(PLAN, 3, bytes(16)), formats.COLUMNS), "wrong-type")
        assert served.tally(PLAN).reports == 1


def test_tickets_take_leverage_from_liars() -> None:
    """m liars who all lie about one of d attributes weigh, when questions are dealt, as much as m k/d would."""
    d, k, people, liars = 20, 1, 40_000, 400
    plan = hush.design(hush.Schema([hush.Numeric(f"x{i}", 0, 1) for i in range(d)]), 1.0, k=k)
    tally = hush.batch.collect(plan, {f"x{i}": [0.5] * people for i in range(d)})
    asked = sum(0 in questions_of(plan, number.to_bytes(16, "big")) for number in range(liars))
    free, dealt = (hush.manipulation(tally, count)[0].shift for count in (liars, asked))
    # asked is binomial(400, 1/20): it is above 45 with a probability below 1e-7, and fixed here anyway.
    assert free / dealt == pytest.approx(liars / asked)
    assert 10 < free / dealt < 40  # d/k = 20
    assert free > 10 * dealt
