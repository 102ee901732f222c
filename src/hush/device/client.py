"""The client of a collector, for devices: fetch a plan, check it, answer it once, and send the report until it arrives.

    client = hush.Client("https://example.org", ledger=hush.Ledger("answers.db", cap=2.0))
    receipt = client.answer(plan_id, {"age": 41, "smoker": "no"})

The id of a plan is the hash of its text, and the client checks the whole text, including its privacy: a device need
not trust the server for either. It answers a plan once: a second try sends the *same* report, which the collector
counts once. With a ledger, the report is on disk before it is sent, and there is a cap. Without one, this process
remembers the report for as long as it runs (`hush.device.answered`). Only the standard library is used.

    client = hush.Client("https://example.org", relay="https://relay.example.net", key="8f2a...", ledger=...)

With a relay, the device seals the report for the collector's key and sends it to the relay, which mixes it with others.
The device fetches plans from the relay too, so the collector never hears of it. The sealed bytes are in the ledger,
which a relay needs: a second try sends the same, and none follows once the relay has confirmed them
(`hush.device.delivery`).

Each part of the work has its own module beside this one: `published` fetches plans, `remembering` chooses where answers
are remembered, `tickets` fetches questions, `delivery` and `batches` send reports, and `trainings` takes part in
trainings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Record, Schema
from hush.core.sealing import CollectorKey
from hush.device.asking import Asked
from hush.device.batches import send_batch, send_sealed_batch
from hush.device.delivery import TICKETED, Delivery, Relayed
from hush.device.ledger import Ledger
from hush.device.network import REPORT, Server
from hush.device.published import Published
from hush.device.randomise import randomise
from hush.device.receipts import Receipt, SealedReceipt, receipt
from hush.device.remembering import Book, choose_book
from hush.device.series import Series
from hush.device.tickets import fetch_ticket, needs_ticket, ticket_of
from hush.errors import InputError, LedgerError, PlanError

if TYPE_CHECKING:
    from hush.core.training.courses import Course
    from hush.core.training.rounds import Round
    from hush.core.training.stages import Stage
    from hush.core.training.training import Training


class Client:
    """The device's side of a collector. `attempts` and `pause` limit the retries: pauses roughly double.

    `timeout` bounds how long a connection may be silent, and how long the answer of one attempt may take to arrive.

    Without a ledger, the process remembers its answers while it runs, for all `Client` objects together. A process
    that answers for several people names each of them (`person`), or has a ledger for each. With `fresh` nothing is
    remembered: every call draws anew and costs the plan's epsilon again, even after a failure.

    With `relay` and `key`, reports go to a relay, sealed for the collector that has this key (a `hush.CollectorKey`, or
    its 64 hexadecimal digits). Take the key from the app, beside the plan's id, and never from the network. A relay
    needs a ledger: each of several people has a client and a ledger of their own.
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
        self._server = Server("collector", url, token, timeout, attempts, pause)
        relayed = None
        if relay is not None and key is not None:  # the token is the collector's, and no business of a relay
            to = Server("relay", relay, None, timeout, attempts, pause)
            relayed = Relayed(to, CollectorKey.from_hex(key) if isinstance(key, str) else key)
        self._delivery = Delivery(self._server, relayed)
        self._published = Published(self._server if relayed is None else relayed.server, lists=relayed is None)
        self._ledger = ledger

    def plan(self, plan_id: str) -> Plan:
        """Return a plan, after checking that it has this id and is as private as it claims."""
        return self._published.plan(plan_id)

    def current(self, plan: Plan | str) -> Plan:
        """Return the plan that people are asked who have answered neither: this one, or the one that follows it.

        The collector names it. A plan that follows must name this one, cost the same epsilon, and have the same
        attributes; only wide numbers may have a narrower range, and clip. All other plans are refused.
        """
        self._delivery.require_direct("following a pilot")  # the collector would hear of the device
        return self._published.current(plan if isinstance(plan, Plan) else self.plan(plan))

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
        book = choose_book(self._ledger, person, fresh, series)
        self._delivery.check_keeps(book if series is None else series.ledger)
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
        self._delivery.require_direct(TICKETED)
        book = choose_book(self._ledger, person, fresh)
        found = self._asked(plan, schema)
        record = _lasting(record)
        if follow:
            found = self._followed(found, record, book)
        if book is None:
            found.schema.encode(record)  # before anything is fetched
            dealt = fetch_ticket(self._server, found)
            return self._delivery.send(dealt.answer(record), book, dealt.ticket)
        if needs_ticket(book, found):
            found.schema.encode(record)  # before anything is fetched
            book.ask(found, fetch_ticket(self._server, found), follow)
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

            asked = client.questions(plan_id)
            if asked is not None:  # this device has not answered yet
                record = {attribute.name: ... for attribute in asked.attributes}
                client.answer(plan_id, record)

        With `ticket`, the collector deals them. It then knows which questions a person has seen who sends nothing;
        `answer_ticket` with a whole record does not show that. All else is as in `answer`.
        """
        if ticket:
            self._delivery.require_direct(TICKETED)
        book = choose_book(self._ledger, person, False)
        assert book is not None
        self._delivery.check_keeps(book)
        found = self._asked(plan, schema)
        if follow:
            found = self._chosen(found, book) or self.current(found)
        wanted = ticket and needs_ticket(book, found)
        return book.ask(found, fetch_ticket(self._server, found) if wanted else None, follow)

    def submit(self, report: Report, headers: dict[str, str] | None = None, *, sealed: bytes | None = None) -> Receipt:
        """Send a report until the collector confirms that it is durable. Without a relay, sending it again is harmless.

        With a relay, the report goes there as the ledger has sealed it, once. Without a ledger, seal it yourself for
        the key of this client (`hush.seal`), and keep the bytes before you pass them as `sealed`. If you seal the same
        report twice and send both, the collector can tell whose it is.
        """
        relayed = self._delivery.relayed
        if relayed is None:
            if sealed is not None:
                raise InputError("a sealed report goes to a relay: name it with relay= and key=")
            return self._delivery.send_directly(report, headers, self._ledger)
        if sealed is not None:
            return relayed.send_bytes(report, relayed.key, sealed)
        return self._deliver(report, self._ledger)

    def submit_batch(self, plan: Plan, body: bytes, batch_id: bytes, content_type: str) -> Receipt:
        """Send a batch of reports, made by `hush.collector.formats.pack` or as an Arrow IPC stream."""
        self._delivery.require_direct("a batch of plain reports")
        return send_batch(self._server, f"/plans/{plan.id}/reports", body, batch_id, content_type)

    def submit_sealed_batch(self, plan: Plan, body: bytes) -> SealedReceipt:
        """Send a batch of sealed reports, as relays do. Sending it again is harmless."""
        return send_sealed_batch(self._server, plan, body)

    def round(self, training: str) -> Any:
        """Return the current round of a training, or the current stage of its pilot, checked."""
        from hush.device.trainings import fetch_phase

        self._delivery.require_direct("a round")  # the collector would hear of the device
        return fetch_phase(self._server, training)

    def train(
        self,
        training: str | Training | Course,
        record: Record,
        label: object,
        *,
        epsilon: float | None = None,
        person: str | None = None,
        fresh: bool = False,
        check: bool = False,
    ) -> Receipt:
        """Take part in a training, once, with a record and a label as it describes them: in its pilot, or in a round.

        With `check`, the report is the loss of the model so far, and no gradient: held-out people show how good the
        model is, and take part in nothing else. If there is a training for each of several classes (`Course`), the
        device draws one of them, whatever the record.

        The server sets the cost of a round, and could ask again under another name. So there must be a bound:
        `epsilon`, the most that this report may cost, or a ledger, whose cap holds for all answers together. `person`
        and `fresh` are as in `answer`.

        The server also defines which records and labels fit, and can notice that a device refuses. It can do so once
        for each name. To prevent that, pass the `Training` or the `Course` itself, from the app, in place of its name:
        the device then refuses a round of any other training before it reads the record. From a course, it accepts what
        the pilot has decided.
        """
        from hush.device.trainings import answer_phase, check_cost, choose_phase, fetch_check, place

        self._delivery.require_direct("a gradient")
        book = choose_book(self._ledger, person, fresh)
        if self._ledger is None and epsilon is None:
            raise LedgerError("taking part in a training needs a ledger, or the most epsilon that it may cost")
        fetch: Callable[[str], Any] = partial(fetch_check, self._server) if check else self.round
        phase = choose_phase(fetch, training, book)
        check_cost(phase, epsilon)
        report = answer_phase(phase, record, label, book)
        return receipt(self._server.send(place(phase), report.encode(), REPORT), report.id)

    def submit_training_batch(
        self, phase: Round | Stage, body: bytes, batch_id: bytes, content_type: str, *, losses: bool = False
    ) -> Receipt:
        """Send a batch of answers to a stage or round: from a gateway that has them from other people's devices."""
        from hush.device.trainings import place

        self._delivery.require_direct("a batch of gradients")
        return send_batch(self._server, place(phase, losses=losses), body, batch_id, content_type)

    def _asked(self, plan: Plan | str, schema: Schema | None) -> Plan:
        found = plan if isinstance(plan, Plan) else self.plan(plan)
        if schema is not None and found.schema != schema:
            raise PlanError("this plan has another schema than the one that this device answers")
        return found

    def _chosen(self, plan: Plan, book: Book | None) -> Plan | None:
        """Return the one of a pilot and its followers that this device has answered or drawn questions of, if any."""
        chosen = None if book is None else book.chosen(plan)
        if chosen is None:
            return None
        return plan if chosen == plan.id else self.plan(chosen)

    def _followed(self, plan: Plan, record: Record, book: Book | None) -> Plan:
        """Return the plan to answer: the one of the pilot and its followers that was chosen, or the current one.

        Whether a record fits is decided by the pilot's schema, and not by a range that the collector chose, also if the
        questions were drawn before. A report that was drawn before is sent again, whatever the record.
        """
        chosen = self._chosen(plan, book)
        if chosen is None or book is None:
            plan.schema.encode(record)
            return self.current(plan)
        asked = book.asked(chosen)
        if asked is not None and book.answered(plan) is None:
            plan.schema.encode(record, [attribute.name for attribute in asked.attributes])
        return chosen

    def _deliver(self, report: Report, book: Book | None) -> Receipt:
        """Send a report, with its ticket if the collector dealt its questions."""
        return self._delivery.send(report, book, ticket_of(book, report.plan, report.id))


def _lasting(record: Record) -> Record:
    """Return a record that can be read twice: nothing would be left of an iterator, and all would count as missing."""
    return list(record) if isinstance(record, Iterator) else record
