"""The client of a collector, for devices: fetch a plan, check it, answer it once, and send the report until it arrives.

    collector = hush.Client("https://example.org", ledger=hush.Ledger("answers.db", cap=2.0))
    receipt = collector.answer(plan_id, {"age": 41, "smoker": "no"})

The id of a plan is the hash of its text, and the client checks the whole text, including its privacy: a device need
not trust the server for either. It answers a plan once: a second try sends the *same* report, which the collector
counts once. With a ledger, the report is on disk before it is sent, and there is a cap. Without one, this process
remembers the report for as long as it runs (`hush.device.answered`). Only the standard library is used.

    collector = hush.Client("https://example.org", relay="https://relay.example.net", key="8f2a...", ledger=...)

With a relay, the device seals the report for the collector's key and sends it to the relay, which mixes it with others.
The device fetches plans from the relay too, so the collector never hears of it. A second try sends the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hush.core import codec
from hush.core.dealing import SIGNATURE_SIZE
from hush.core.following import check_follows
from hush.core.plan import Plan
from hush.core.report import ID_SIZE, Report
from hush.core.schema import Record, Schema
from hush.core.sealing import CollectorKey, batch_id
from hush.device.answered import Person
from hush.device.asking import Asked
from hush.device.ledger import Ledger
from hush.device.network import Server
from hush.device.randomise import randomise
from hush.device.sealing import seal
from hush.device.series import Series
from hush.errors import BudgetError, CollectorError, InputError, LedgerError, PlanError

if TYPE_CHECKING:
    from hush.core.training.training import Training

ID_OF_PLAN = 32  # bytes
OCTETS = "application/octet-stream"
REPORT = "application/vnd.hush.report"
SEALED = "application/vnd.hush.sealed"
_TICKETED = "a report with a ticket, which names it,"


@dataclass(frozen=True)
class Receipt:
    """The collector's confirmation that a report is durable.

    `new` is true if this request counted it, and false if an earlier one did. The earlier one may be a try of the same
    call whose answer was lost or came too late. The confirmation of a relay says that it holds the report: the
    collector counts it later, with others.
    """

    id: str
    new: bool


@dataclass(frozen=True)
class SealedReceipt:
    """The collector's confirmation that a sealed batch is durable. `refused` reports of it did not open."""

    id: str
    new: bool
    reports: int
    refused: int


class Client:
    """A collector at an address. `attempts` and `pause` limit the retries: pauses roughly double.

    `timeout` bounds how long a connection may be silent, and how long the answer of one attempt may take to arrive.

    Without a ledger, the process remembers its answers while it runs, for all `Client` objects together. A process
    that answers for several people names each of them (`person`), or has a ledger for each. With `fresh` nothing is
    remembered: every call draws anew and costs the plan's epsilon again, even after a failure.

    With `relay` and `key`, reports go to a relay, sealed for the collector that has this key (a `hush.CollectorKey`, or
    its 64 hexadecimal digits). Take the key from the app, beside the plan's id, and never from the network.
    """

    def __init__(
        self,
        url: str,
        *,
        relay: str | None = None,
        key: CollectorKey | str | None = None,
        ledger: Ledger | None = None,
        token: str | None = None,
        timeout: float = 10.0,
        attempts: int = 6,
        pause: float = 0.5,
    ) -> None:
        if (relay is None) != (key is None):
            raise InputError("relay and key go together: the relay's address, and the key of the collector")
        # the token is the collector's, and no business of a relay
        self._relay = None if relay is None else Server("relay", relay, None, timeout, attempts, pause)
        self._key = CollectorKey.from_hex(key) if isinstance(key, str) else key
        self._server = Server("collector", url, token, timeout, attempts, pause)
        self._ledger = ledger
        self._plans: dict[str, Plan] = {}

    def plan(self, plan_id: str) -> Plan:
        """Return a plan, after checking that it has this id and is as private as it claims."""
        if re.fullmatch("[0-9a-f]{64}", plan_id) is None:
            raise PlanError("the id of a plan is 64 hexadecimal digits")
        if plan_id not in self._plans:
            self._plans[plan_id] = Plan.from_json((self._relay or self._server).get(f"/plans/{plan_id}"), plan_id)
        return self._plans[plan_id]

    def answer(
        self,
        plan: Plan | str,
        record: Record,
        *,
        series: Series | None = None,
        schema: Schema | None = None,
        person: str | None = None,
        fresh: bool = False,
        follow: bool = False,
    ) -> Receipt:
        """Answer a plan with a record, once, and send the report. A bad record is refused before anything is drawn.

        A second call sends the same report again. For a repeated collection, pass a series (`hush.Series`): the answers
        come from its memory. If the server chooses the plans, pass a schema: a plan with any other schema is refused
        before the record is read. Otherwise a server could choose bounds, and find a number from the plans that a
        device refuses.

        Without a ledger, a second record for the same plan raises LedgerError, unless `person` names the owner of each,
        or `fresh` asks for a new draw, which costs the plan's epsilon again.

        With `follow`, the plan may be a pilot (`hush serve --narrow`): if another plan follows it, this answers the
        other. A person who has answered either of them sends the same report again, to the same plan.

        After `questions`, the report answers those, and the record may leave out all others.
        """
        book = self._book(person, fresh, series)
        found = self._asked(plan, schema)
        record = _lasting(record)
        if follow:
            if series is not None:
                raise LedgerError("a series has plans of its own, and does not follow a pilot: omit follow or series")
            found = self._followed(found, record, book)
        if series is not None:
            return self._deliver(series.randomise(found, record), series.ledger)
        if book is None:
            return self._deliver(randomise(found, record), book)
        return self._deliver(book.randomise(found, record, follow=follow), book)

    def _deliver(self, report: Report, book: Ledger | Person | None) -> Receipt:
        """Send a report to the collector, or sealed to the relay: the same bytes each time, if there is a book."""
        asked = None if book is None else book.asked(report.plan)
        ticket = None if asked is None or asked.id != report.id else asked.ticket
        if self._relay is None or self._key is None:
            return self.submit(report, {} if ticket is None else {"Hush-Ticket": ticket})
        if ticket is not None:  # the collector dealt the id of the report to this device, and would know it again
            self._direct(_TICKETED)
        sealed = seal(report, self._key) if book is None else book.sealed(report, self._key)
        data = self._relay.send(f"/sealed/{report.plan.id}", sealed, OCTETS)
        held, new = codec.fields(codec.load(data, CollectorError), ("reports", "new"), CollectorError, "a receipt")
        if held != 1 or type(new) is not int:
            raise CollectorError("the relay's receipt is for something else")
        return Receipt(report.id.hex(), new == 1)

    def _direct(self, what: str) -> None:
        if self._relay is not None:
            raise InputError(f"{what} cannot go through a relay: use a client without one")

    def _book(self, person: str | None, fresh: bool, series: Series | None = None) -> Ledger | Person | None:
        """Return where answers are remembered: in the ledger, in this process, or nowhere."""
        ledger = self._ledger
        if series is not None and ledger is not None and ledger.path != series.ledger.path:
            raise LedgerError("the series must be in the collector's own ledger, so that there is one cap")
        if person is None and not fresh:
            return Person() if ledger is None else ledger
        if ledger is not None or series is not None:
            raise LedgerError("a ledger belongs to one person and answers a plan once: omit person and fresh with it")
        if person is not None and fresh:
            raise LedgerError("give either person, which keeps the report, or fresh, which keeps none")
        return None if fresh else Person(person)

    def current(self, plan: Plan | str) -> Plan:
        """Return the plan that people are asked who have answered neither: this one, or the one that follows it.

        The collector names it. A plan that follows must name this one, cost the same epsilon, and have the same
        attributes; only wide numbers may have a narrower range, and clip. All other plans are refused.
        """
        self._direct("following a pilot")  # the collector would hear of the device
        pilot = plan if isinstance(plan, Plan) else self.plan(plan)
        if pilot.after is not None:
            return pilot
        answer = codec.load(self._server.get(f"/plans/{pilot.id}/current"), CollectorError)
        (id_,) = codec.fields(answer, ("plan",), CollectorError, "the current plan")
        codec.hexadecimal(id_, ID_OF_PLAN, CollectorError, "the id of the current plan")
        if id_ == pilot.id:
            return pilot
        found = self.plan(id_)
        check_follows(found, pilot)
        return found

    def _followed(self, plan: Plan, record: Record, book: Ledger | Person | None) -> Plan:
        """Return the plan to answer: the one of the pilot and its followers that was chosen, or the current one."""
        chosen = None if book is None else book.chosen(plan)
        if chosen is None:
            plan.schema.encode(record)  # whether a record fits does not depend on a range that the collector chose
            return self.current(plan)
        return plan if chosen == plan.id else self.plan(chosen)

    def _asked(self, plan: Plan | str, schema: Schema | None) -> Plan:
        found = plan if isinstance(plan, Plan) else self.plan(plan)
        if schema is not None and found.schema != schema:
            raise PlanError("this plan has another schema than the one that this device answers")
        return found

    def answer_ticket(
        self,
        plan: Plan | str,
        record: Record,
        *,
        schema: Schema | None = None,
        person: str | None = None,
        fresh: bool = False,
        follow: bool = False,
    ) -> Receipt:
        """Answer the questions that the collector deals, for collectors that accept no others.

        The ticket is kept with the report, so a second try sends both again. If the questions were drawn without a
        ticket, this raises LedgerError: the first draw stays. A series takes no tickets: they would deal other
        questions each time, and in the end all of them. `schema`, `person`, `fresh` and `follow` are as in `answer`.
        """
        self._direct(_TICKETED)
        book = self._book(person, fresh)
        found = self._asked(plan, schema)
        record = _lasting(record)
        if follow:
            found = self._followed(found, record, book)
        if book is None:
            found.schema.encode(record)  # before anything is fetched
            dealt = self._dealt(found)
            return self.submit(dealt.answer(record), {"Hush-Ticket": dealt.ticket or ""})
        if self._unticketed(book, found):
            found.schema.encode(record)  # before anything is fetched
            book.ask(found, self._dealt(found), follow)
        return self._deliver(book.randomise(found, record, follow=follow), book)

    def questions(
        self,
        plan: Plan | str,
        *,
        schema: Schema | None = None,
        person: str | None = None,
        follow: bool = False,
        ticket: bool = False,
    ) -> Asked | None:
        """Draw the questions that this device will answer, before the person is asked. They stay the same for good.

            asked = collector.questions(plan_id)
            if asked is not None:  # this device has not answered yet
                record = {attribute.name: ... for attribute in asked.attributes}
                collector.answer(plan_id, record)

        With `ticket`, the collector deals them. It then knows which questions a person has seen who sends nothing;
        `answer_ticket` with a whole record does not show that. All else is as in `answer`.
        """
        if ticket:
            self._direct(_TICKETED)
        book = self._book(person, False)
        assert book is not None
        found = self._asked(plan, schema)
        if follow:
            chosen = book.chosen(found)
            found = self.current(found) if chosen is None else found if chosen == found.id else self.plan(chosen)
        return book.ask(found, self._dealt(found) if ticket and self._unticketed(book, found) else None, follow)

    @staticmethod
    def _unticketed(book: Ledger | Person, plan: Plan) -> bool:
        """Return whether a plan needs a ticket: it is not answered, and its questions are not drawn."""
        if book.answered(plan) == plan.id:
            return False
        kept = book.asked(plan)
        if kept is not None and kept.ticket is None:  # the person may have answered these, and nothing else
            raise LedgerError("the questions of this plan were drawn without a ticket, and the first draw stays")
        return kept is None

    def _dealt(self, plan: Plan) -> Asked:
        """Return the questions of a new ticket."""
        data = self._server.get(f"/plans/{plan.id}/ticket")
        if not data:
            raise CollectorError("this collector deals no tickets")
        ticket = codec.load(data, CollectorError)
        id_, _, signature = codec.fields(ticket, ("id", "questions", "signature"), CollectorError, "a ticket")
        id_ = codec.hexadecimal(id_, ID_SIZE, CollectorError, "the id of a ticket")
        signature = codec.hexadecimal(signature, SIGNATURE_SIZE, CollectorError, "the signature of a ticket")
        return Asked(plan, id_, signature.hex())

    def submit(self, report: Report, headers: dict[str, str] | None = None) -> Receipt:
        """Send a report until the collector confirms that it is durable. Sending it again is harmless.

        With a relay, the report goes there, sealed.
        """
        if self._relay is not None:
            return self._deliver(report, Person() if self._ledger is None else self._ledger)
        path = f"/plans/{report.plan.id}/reports"
        return _receipt(self._server.send(path, report.encode(), REPORT, headers), report.id)

    def submit_batch(self, plan: Plan, body: bytes, batch_id: bytes, content_type: str) -> Receipt:
        """Send a batch of reports, made by `hush.collector.formats.pack` or as an Arrow IPC stream."""
        self._direct("a batch of plain reports")
        answer = self._server.send(f"/plans/{plan.id}/reports", body, content_type, {"Hush-Batch": batch_id.hex()})
        return _receipt(answer, batch_id)

    def submit_sealed_batch(self, plan: Plan, body: bytes) -> SealedReceipt:
        """Send a batch of sealed reports, as relays do. Sending it again is harmless."""
        id_ = batch_id(body)
        head = {"Hush-Batch": id_.hex()}
        answer = codec.load(self._server.send(f"/plans/{plan.id}/sealed", body, SEALED, head), CollectorError)
        found = codec.fields(answer, ("id", "new", "reports", "refused"), CollectorError, "a receipt")
        if found[0] != id_.hex() or [type(value) for value in found[1:]] != [bool, int, int]:
            raise CollectorError("the collector's receipt is for something else")
        return SealedReceipt(*found)

    def round(self, training: str) -> Any:
        """Return the current round of a training, checked."""
        from hush.core.training.rounds import Round

        return Round.from_json(self._server.get(f"/trainings/{quote(training, safe='')}/round"))

    def train(
        self,
        training: str | Training,
        record: Record,
        label: object,
        *,
        epsilon: float | None = None,
        person: str | None = None,
        fresh: bool = False,
    ) -> Receipt:
        """Take part in a training, once in all its rounds, with a record and a label as it describes them.

        The server sets the cost of a round, and could ask again under another name. So there must be a bound:
        `epsilon`, the most that this report may cost, or a ledger, whose cap holds for all answers together. `person`
        and `fresh` are as in `answer`.

        The server also defines which records and labels fit, and can notice that a device refuses. It can do so once
        for each name. To prevent that, pass the `Training` itself, from the app, in place of its name: the device then
        refuses a round of any other training before it reads the record.
        """
        from hush.device.gradient import gradient

        self._direct("a gradient")
        book = self._book(person, fresh)
        if self._ledger is None and epsilon is None:
            raise LedgerError("taking part in a training needs a ledger, or the most epsilon that it may cost")
        name = training if isinstance(training, str) else training.title
        round_ = self.round(name)
        if training not in (round_.training, round_.training.title):
            raise CollectorError("the collector sent a round of another training")
        if epsilon is not None and round_.training.epsilon > epsilon:
            raise BudgetError("a round of this training costs more epsilon than was allowed")
        report = gradient(round_, record, label, book)
        path = f"/trainings/{quote(name, safe='')}/gradients?round={round_.number}"
        return _receipt(self._server.send(path, report.encode(), REPORT), report.id)


def _lasting(record: Record) -> Record:
    """Return a record that can be read twice: nothing would be left of an iterator, and all would count as missing."""
    return list(record) if isinstance(record, Iterator) else record


def _receipt(data: bytes, sent: bytes) -> Receipt:
    id_, new, _ = codec.fields(codec.load(data, CollectorError), ("id", "new", "reports"), CollectorError, "a receipt")
    if id_ != sent.hex() or type(new) is not bool:
        raise CollectorError("the collector's receipt is for something else")
    return Receipt(id_, new)
