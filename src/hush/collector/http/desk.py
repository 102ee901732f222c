"""Hands submissions to the intake, and writes their receipts. A 202 is sent once its reports are durable."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hush.collector.http import requests
from hush.collector.http.documents import Receipt, SealedReceipt
from hush.collector.http.gate import Gate
from hush.collector.http.problems import Refused
from hush.collector.http.responses import encoded
from hush.collector.http.visible import Visible
from hush.collector.intake import Intake
from hush.collector.queues import Full, Stopped
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.collector.submissions import Gradient, Grown, Opened, Outcome, Renamed, Result, Submission, Withdrawal

REFUSALS = {
    Outcome.CLOSED: "plan-closed",
    Outcome.OVERLAPPING: "overlapping",
    Outcome.LATE: "late",
    Outcome.UNKNOWN: "not-found",
    Outcome.PREVIEW: "preview",
    Outcome.OLDER: "older",
    Outcome.FALLEN: "fallen",
    Outcome.WITHDRAWN: "withdrawn",
    Outcome.RENAMED: "renamed",
}
RESTORED = (
    "if its store was restored from a copy, or something was withdrawn there, give it a new name (hush rename), and "
    "withdraw the old one here (hush withdraw)"
)


class Desk:
    """Takes submissions while it is open. `intake` is None until then."""

    def __init__(self, settings: Settings, gate: Gate, visible: Visible) -> None:
        self._settings, self._gate, self._visible = settings, gate, visible
        self._metrics = gate.metrics
        self.intake: Intake | None = None

    @property
    def waiting(self) -> int:
        """How many submissions wait for a commit."""
        return 0 if self.intake is None else self.intake.waiting

    def open(self, store: Store) -> None:
        """Begin to take submissions. Called within the loop."""
        settings = self._settings
        self.intake = Intake(
            store, most=settings.queue, most_bytes=settings.queue_bytes, watch=self._metrics.note_commit
        )

    async def close(self) -> None:
        """Commit the submissions that wait, and take no more."""
        if self.intake is not None:
            await self.intake.stop(self._settings.stop_timeout)

    async def submit(self, request: Request, submission: Submission, name: str, kind: str) -> Response:
        """Hand a submission to the intake, and answer when it is durable. `name`: of its plan, or its training."""
        assert self.intake is not None
        self._gate.limit.charge(requests.address(request), submission.reports)
        outcome: Result | Exception
        try:
            outcome = await self.intake.submit(submission)
        except Exception as error:  # noqa: BLE001 - `receipt` turns it into a refusal
            outcome = error
        return encoded(self.receipt(request, submission, outcome, name, kind), 202)

    def receipt(
        self, request: Request, submission: Submission, outcome: Result | Exception, name: str, kind: str
    ) -> Receipt | SealedReceipt:
        """Return the receipt of a submission, or refuse. The sender pays for every report that was counted."""
        added = outcome.reports if isinstance(outcome, Grown) else submission.reports
        new = outcome is Outcome.NEW or isinstance(outcome, Grown)
        if not new and submission.reports > 1:
            self._gate.limit.give_back(requests.address(request), submission.reports)
        elif 0 <= added < submission.reports:  # the others were paid for when they were handed on first
            self._gate.limit.give_back(requests.address(request), submission.reports - added + 1)
        if isinstance(outcome, Exception):  # the intake has logged it, unless the queue was full
            if isinstance(outcome, Full | Stopped):
                raise self._gate.busy()
            raise self._gate.failed()
        said = _outcome(outcome)
        self._metrics.submissions[name, kind, said.value] += 1
        if said in REFUSALS:
            raise Refused(REFUSALS[said], detail(submission, outcome))
        if new and added > 0:
            self._metrics.reports[name] += added
            if not isinstance(submission, Gradient):
                self._visible.note(name, added)
        if isinstance(submission, Opened):
            if new:
                self._metrics.refused[name] += submission.refused
            return SealedReceipt(submission.id.hex(), new, submission.reports, submission.refused)
        if isinstance(submission, Withdrawal):
            return Receipt(submission.id.hex(), new, -added)  # those that were taken out
        return Receipt(submission.id.hex(), new, submission.reports)


def _outcome(result: Result) -> Outcome:
    """Return the word for a result."""
    if isinstance(result, Outcome):
        return result
    return Outcome.NEW if isinstance(result, Grown) else Outcome.RENAMED


def detail(submission: Submission, outcome: Result) -> str:
    """Return what to do about the refusal of a tally; nothing for others."""
    if outcome in (Outcome.OLDER, Outcome.FALLEN):
        return RESTORED
    if outcome is Outcome.WITHDRAWN:
        return "give its store a new name (hush rename) if its reports are to count"
    if isinstance(outcome, Renamed):
        return f"they would count twice: withdraw {outcome.name.hex()} if these are to count in its place"
    if outcome is Outcome.UNKNOWN and isinstance(submission, Withdrawal):
        return "nothing was handed on under this name"
    return ""
