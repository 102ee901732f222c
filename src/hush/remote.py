"""A collector, seen from a device: fetch a plan, check it, answer it once, and send the report until it has arrived.

    collector = hush.client.Collector("https://example.org", ledger=hush.Ledger("answers.db", cap=2.0))
    receipt = collector.answer(plan_id, {"age": 41, "smoker": "no"})

The id of a plan is the hash of its text, and the text is checked as a whole, its privacy included: a device need not
trust the server for either. With a ledger the report is on disk before it is sent, so that sending again, after a
crash too, sends the *same* report, which the collector counts once. Only the standard library is used.
"""

from __future__ import annotations

import json
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from hush import codec
from hush.client import randomise
from hush.errors import HushError, PlanError
from hush.ledger import Ledger
from hush.plan import Plan
from hush.report import Report
from hush.schema import Record
from hush.tickets import answer_ticket

MAX_ANSWER = 16 << 20
RETRIED = (408, 425, 429, 500, 502, 503, 504)


class CollectorError(HushError):
    """A collector that could not be reached, or that refused what was sent."""

    def __init__(self, message: str, status: int | None = None, kind: str = "") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


@dataclass(frozen=True)
class Receipt:
    """The collector's word that a report is durable. `new`: it was counted by this request, not by an earlier one."""

    id: str
    new: bool


class Collector:
    """A collector at an address. `attempts` and `pause` bound how long is tried: pauses double, more or less."""

    def __init__(
        self,
        url: str,
        *,
        ledger: Ledger | None = None,
        token: str | None = None,
        timeout: float = 10.0,
        attempts: int = 6,
        pause: float = 0.5,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CollectorError("the address of a collector begins with https:// (or http://)")
        self._url = url.rstrip("/")
        self._ledger, self._token, self._timeout = ledger, token, timeout
        self._attempts, self._pause = max(1, attempts), pause
        self._plans: dict[str, Plan] = {}

    def plan(self, plan_id: str) -> Plan:
        """Return a plan, after checking that it is the one of this id, and as private as it says."""
        if re.fullmatch("[0-9a-f]{64}", plan_id) is None:
            raise PlanError("the id of a plan is 64 hexadecimal digits")
        if plan_id not in self._plans:
            self._plans[plan_id] = Plan.from_json(self._get(f"/plans/{plan_id}"), plan_id)
        return self._plans[plan_id]

    def answer(self, plan: Plan | str, record: Record) -> Receipt:
        """Answer a plan with a record, once, and send the report. A bad record is refused before anything is drawn."""
        found = plan if isinstance(plan, Plan) else self.plan(plan)
        report = randomise(found, record) if self._ledger is None else self._ledger.randomise(found, record)
        return self.submit(report)

    def answer_ticket(self, plan: Plan | str, record: Record) -> Receipt:
        """Answer the questions that the collector deals: for collectors that take no others."""
        found = plan if isinstance(plan, Plan) else self.plan(plan)
        found.schema.encode(record)  # before anything is fetched
        ticket = codec.load(self._get(f"/plans/{found.id}/ticket"), PlanError)
        try:
            id_, signature = bytes.fromhex(ticket["id"]), str(ticket["signature"])
        except (TypeError, KeyError, ValueError):
            raise CollectorError("this is not a ticket") from None
        return self.submit(answer_ticket(found, record, id_), headers={"Hush-Ticket": signature})

    def submit(self, report: Report, headers: dict[str, str] | None = None) -> Receipt:
        """Send a report until the collector says that it is durable. Sending it again is harmless."""
        path = f"/plans/{report.plan.id}/reports"
        return _receipt(self._send(path, report.encode(), "application/vnd.hush.report", headers or {}))

    def submit_batch(self, plan: Plan, body: bytes, batch_id: bytes, content_type: str) -> Receipt:
        """Send a batch of reports, made by `hush.collector.formats.pack` or as an Arrow IPC stream."""
        return _receipt(self._send(f"/plans/{plan.id}/reports", body, content_type, {"Hush-Batch": batch_id.hex()}))

    def round(self, training: str) -> Any:
        """Return the current round of a training, checked."""
        from hush.learn.rounds import Round

        return Round.from_json(self._get(f"/trainings/{quote(training, safe='')}/round"))

    def train(self, training: str, x: Sequence[float], y: float) -> Receipt:
        """Take part in the current round of a training: once, if there is a ledger."""
        from hush.learn.rounds import gradient

        round_ = self.round(training)
        report = gradient(round_, x, y, self._ledger)
        path = f"/trainings/{quote(training, safe='')}/gradients?round={round_.number}"
        return _receipt(self._send(path, report.encode(), "application/vnd.hush.report", {}))

    # -- the network

    def _get(self, path: str) -> bytes:
        return self._retry(lambda: self._request(urllib.request.Request(self._url + path)))  # noqa: S310

    def _send(self, path: str, body: bytes, content_type: str, headers: dict[str, str]) -> bytes:
        head = {"Content-Type": content_type, **headers}
        return self._retry(
            lambda: self._request(urllib.request.Request(self._url + path, body, head, method="POST"))  # noqa: S310
        )

    def _request(self, request: urllib.request.Request) -> bytes:
        request.add_header("Accept", "application/json")
        if self._token is not None:
            request.add_header("Authorization", f"Bearer {self._token}")
        with urllib.request.urlopen(request, timeout=self._timeout) as response:  # noqa: S310
            data: bytes = response.read(MAX_ANSWER + 1)
        if len(data) > MAX_ANSWER:
            raise CollectorError("the collector's answer is too long")
        return data

    def _retry(self, action: Callable[[], bytes]) -> bytes:
        """Do something until it succeeds, is refused for good, or was tried often enough."""
        for attempt in range(1, self._attempts + 1):
            wait = self._pause * 2 ** (attempt - 1) * (0.5 + random.random())  # noqa: S311
            try:
                return action()
            except urllib.error.HTTPError as error:
                with error:
                    refused = _refusal(error)
                if error.code not in RETRIED or attempt == self._attempts:
                    raise refused from None
                wait = max(wait, _seconds(error.headers.get("Retry-After")))
            except (OSError, EOFError) as error:
                if attempt == self._attempts:
                    raise CollectorError(f"the collector cannot be reached: {type(error).__name__}") from None
            time.sleep(wait)
        raise AssertionError


def _receipt(data: bytes) -> Receipt:
    id_, new, _ = codec.fields(codec.load(data, CollectorError), ("id", "new", "reports"), CollectorError, "a receipt")
    return Receipt(id_, bool(new))


def _refusal(error: urllib.error.HTTPError) -> CollectorError:
    """Return what the collector says about a refusal, from its problem document."""
    try:
        problem = json.loads(error.read(1 << 16))
        words = [str(problem["title"]), str(problem.get("detail") or "")]
        kind = str(problem["type"]).rpartition(":")[2]
    except (ValueError, KeyError, TypeError, OSError):
        words, kind = [f"the collector answered {error.code}"], ""
    return CollectorError(": ".join(word for word in words if word), error.code, kind)


def _seconds(text: str | None) -> float:
    return min(float(text), 60.0) if text is not None and text.isdigit() else 0.0
