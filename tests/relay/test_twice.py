"""A report that passes a relay twice names itself: the collector sees one id in two batches, and knows who tried again.

The collector is the adversary. It lets the answers of a relay to its victims get lost (it owns the network, say), so
that they try again, and keeps the ids of all batches. A victim is named if its report is in two of them: then the
report is that of one of those who tried again between both, and no crowd and no own report hides it any more.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import hush
from hush.collector.opening import Opener
from hush.core.sealing import SealedBatch
from hush.device.delivery import Delivery, Relayed
from hush.device.ledger import Sealed
from hush.device.network import Server
from hush.device.sealing import seal
from hush.errors import CollectorError, HushError
from hush.relay import mixing
from tests.relay.relayed import KEY, OPENER, OTHER, PLAN, RECORD, relaying, sealed_reports
from tests.relay.relayed import Relayed as Running

VICTIMS, OWN = 12, 10
NEW = Opener(bytes(range(1, 33)))  # the key after a change
AWAY = "http://127.0.0.1:9"


class Lossy(Server):
    """A relay whose answers get lost on their way."""

    def send(self, path: str, body: bytes, content_type: str, headers: dict[str, str] | None = None) -> bytes:
        super().send(path, body, content_type, headers)
        raise CollectorError("the relay cannot be reached: TimeoutError")


class Anew(hush.Ledger):
    """The twin: a device that seals its report for whichever key there is."""

    def seal(self, report: hush.Report, key: hush.CollectorKey) -> Sealed:
        known = self.sealed(report)
        return known if known is not None and known.key == key else Sealed(key, seal(report, key), False)


@dataclass
class Attack:
    """A relay, its victims, and what the collector has seen."""

    path: Path
    kind: type[hush.Ledger] = hush.Ledger
    batches: list[set[bytes]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def people(self) -> Iterator[hush.Ledger]:
        for number in range(VICTIMS):
            yield self.kind(self.path / f"{number}.device", cap=10)

    def send(self, relay: Running, key: hush.CollectorKey, *, lost: bool) -> None:
        """Let all victims send their report, or try again; note what their devices say."""
        to = (Lossy if lost else Server)("relay", relay.url, None, 20.0, 1, 0.0)
        for ledger in self.people():
            delivery = Delivery(Server("collector", AWAY, None, 1.0, 1, 0.0), Relayed(to, key))
            try:
                delivery.send(ledger.randomise(PLAN, RECORD), ledger)
            except HushError as error:
                self.said.append(str(error))

    def forward(self, relay: Running, key: hush.CollectorKey) -> None:
        """Fill a batch with others, and take it as the collector does: it has all keys."""
        made, _ = sealed_reports(VICTIMS)
        relay.store.commit([(PLAN.id, [mixing.seal(report, key) for report in made])])
        batch = relay.store.make(PLAN.id, VICTIMS, 1000, lambda sealed: mixing.mixed(PLAN, key, sealed, OWN))
        assert batch is not None
        found = set()
        for sealed in SealedBatch.decode(PLAN, batch.body).reports:
            for opener in (OPENER, NEW):
                with suppress(HushError):
                    found.add(opener.open(PLAN, sealed).id)
        self.batches.append(found)
        relay.store.acknowledged(PLAN.id, batch.id)

    @property
    def named(self) -> int:
        """How many victims are in two batches."""
        ids = [report.id for ledger in self.people() if (report := ledger.report(PLAN)) is not None]
        assert len(ids) == VICTIMS
        return sum(sum(id_ in batch for batch in self.batches) > 1 for id_ in ids)


@contextmanager
def relay(path: Path, key: hush.CollectorKey = KEY, plans: Sequence[hush.Plan] = (PLAN, OTHER)) -> Iterator[Running]:
    """A relay that makes batches when the test says so."""
    with relaying(path, AWAY, least=1000, every=3600.0, key=key, plans=plans) as running:
        yield running


def attack(
    path: Path,
    between: Callable[[Path], None],
    *,
    kind: type[hush.Ledger] = hush.Ledger,
    then: Opener = OPENER,
    lost: bool = True,
) -> Attack:
    """Send, lose the answers, do something, and let everybody try again; return what the collector has seen."""
    found = Attack(path, kind)
    with relay(path) as running:
        found.send(running, KEY, lost=lost)
        found.forward(running, KEY)
        assert found.batches[0] >= {report.id for ledger in found.people() if (report := ledger.report(PLAN))}
    between(path)
    with relay(path, then.key) as running:
        found.send(running, then.key, lost=False)
        found.forward(running, then.key)
    return found


def started_without_the_plan(path: Path) -> None:
    with relay(path, plans=[OTHER]):
        pass


def forgetful(path: Path) -> None:
    """What a relay did that was started without the plan."""
    started_without_the_plan(path)
    with sqlite3.connect(path / "relay.db") as db:
        db.execute("delete from once")
    db.close()


def test_a_relay_that_was_started_without_the_plan_names_nobody(tmp_path: Path) -> None:
    found = attack(tmp_path, started_without_the_plan)
    assert found.named == 0
    assert len(found.said) == VICTIMS, "all answers got lost, and all were given the second time"


def test_a_relay_that_forgets_names_everybody(tmp_path: Path) -> None:
    assert attack(tmp_path, forgetful).named == VICTIMS


def test_a_new_key_names_nobody(tmp_path: Path) -> None:
    """Devices send what they have sealed, which the relay refuses, and say that it was not delivered."""
    found = attack(tmp_path, lambda _: None, then=NEW)
    assert found.named == 0
    assert sum("it was not delivered, and is not sealed again" in text for text in found.said) == VICTIMS
    with relay(tmp_path) as running:  # with the first key again
        found.send(running, NEW.key, lost=False)
        found.forward(running, KEY)
    assert found.named == 0


def test_devices_that_seal_anew_for_a_new_key_are_named(tmp_path: Path) -> None:
    assert attack(tmp_path, lambda _: None, then=NEW, kind=Anew).named == VICTIMS


def test_a_plan_that_is_closed_and_opened_again_names_nobody(tmp_path: Path) -> None:
    """The hashes of a closed plan are gone. So nothing of it is taken any more, whatever the collector says."""
    found = Attack(tmp_path)
    with relay(tmp_path) as running:
        found.send(running, KEY, lost=True)
        found.forward(running, KEY)
        running.store.close_plan(PLAN.id)
    with relay(tmp_path) as running:
        found.send(running, KEY, lost=False)
        assert running.store.held(PLAN.id) == 0
        assert running.store.make(PLAN.id, 1, 1000, b"".join) is None
    assert sum("takes no more reports" in text for text in found.said) == VICTIMS


def set_back(path: Path) -> None:
    shutil.copy(path / "older", path / "relay.db")


def test_an_older_file_of_the_relay_names_those_whose_answer_was_lost_and_nobody_else(tmp_path: Path) -> None:
    """docs/relay.md says so: the file of the relay, and the ledger of a device, must not be set back."""
    for lost in (True, False):
        path = tmp_path / str(lost)
        path.mkdir()
        with relay(path):
            pass
        shutil.copy(path / "relay.db", path / "older")
        found = attack(path, set_back, lost=lost)
        assert found.named == (VICTIMS if lost else 0)
