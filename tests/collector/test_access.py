"""Who may do what at a collector: tokens, pages of other origins, and tickets."""

from __future__ import annotations

import hmac
import re
from pathlib import Path

import pytest

import hush
from hush.collector import formats
from hush.collector.settings import Settings
from hush.tickets import answer_ticket, questions_of
from tests.collector.served import (
    ADMIN,
    ALL,
    FEW,
    HASHES,
    PLAN,
    RECORD,
    TOKENS,
    Served,
    packed,
    problem,
    report_of,
    serving,
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
            ("GET", served.path()): (401, 401, 200, 403, 200),
            ("POST", served.path("reports")): (401, 401, 202, 403, 202),
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


# -- web pages


def test_pages_may_send_reports_to_their_plans(tmp_path: Path) -> None:
    origins = {PLAN.id: frozenset(["https://a.example"]), "*": frozenset(["https://b.example"]), FEW.id: frozenset("*")}
    with serving(tmp_path, Settings(origins=origins)) as served:

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
    with serving(tmp_path, Settings(tickets=True, ticket_key=b"k" * 32)) as served:
        ticket = served.client.get(served.path("ticket"))
        assert ticket.headers["cache-control"] == "no-store"
        dealt = ticket.json()
        id_ = bytes.fromhex(dealt["id"])
        assert dealt["questions"] == questions_of(PLAN, id_)
        report = answer_ticket(PLAN, RECORD, id_)
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
            PLAN.schema.encode(RECORD)[PLAN.spans[picked]], hush.coins.SystemCoins()
        )
        liar = hush.Report(PLAN, bytes.fromhex(other["id"]), ((picked, answer),))
        refused = served.post(PLAN, liar.to_json().encode(), formats.JSON, hush_ticket=other["signature"])
        assert "other questions" in str(problem(refused, "bad-report")["detail"])
        elsewhere = answer_ticket(ALL, RECORD, id_)  # a ticket is for one plan
        problem(served.post(ALL, elsewhere.encode(), formats.REPORT, hush_ticket=dealt["signature"]), "bad-report")
        problem(served.post(PLAN, packed(PLAN, 3, bytes(16)), formats.COLUMNS), "wrong-type")
        assert served.tally(PLAN).n == 1


def test_tickets_take_leverage_from_liars() -> None:
    """m liars who all lie about one of d attributes weigh, when questions are dealt, as much as m k/d would."""
    d, k, people, liars = 20, 1, 40_000, 400
    plan = hush.Plan.design(hush.Schema([hush.Numeric(f"x{i}", 0, 1) for i in range(d)]), 1.0, k=k)
    tally = hush.batch.collect(plan, {f"x{i}": [0.5] * people for i in range(d)})
    asked = sum(0 in questions_of(plan, number.to_bytes(16, "big")) for number in range(liars))
    free, dealt = (hush.manipulation(tally, count)[0].shift for count in (liars, asked))
    # asked is binomial(400, 1/20): it is above 45 with a probability below 1e-7, and fixed here anyway.
    assert free / dealt == pytest.approx(liars / asked)
    assert 10 < free / dealt < 40  # d/k = 20
    assert free > 10 * dealt
