"""A collector that names a relay states both promises, and takes none that it cannot prove."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hush
from hush.collector.http import statements
from hush.collector.http.statements import relayed
from hush.collector.promises import central
from hush.collector.settings import LOCAL, RelayNamed, Settings
from hush.core.sealing import SealedBatch
from hush.errors import DesignError, InputError, PlanError
from hush.planning import shuffle
from tests.collector.served import problem
from tests.relay.relayed import KEY, OTHER, PLAN, SECRET, collecting, sealed_reports

URL = "https://relay.example.net"
RELAY = RelayNamed(URL, 1e-6, crowd=2000, own=40)
TOWNS = hush.Schema([hush.Categorical("town", list(range(100)))])
WIDE = hush.design(TOWNS, 1.0, categorical="oue")  # its table is too large to list


@pytest.mark.parametrize(
    "url",
    [
        "",
        "relay.example.net",
        "ftp://relay.example.net",
        "https://",
        "https://relay.example.net/",
        "https://relay.example.net?x",
        "https://relay.example.net#x",
        "https://user@relay.example.net",
        "https://relay.example.net; script-src *",
        'https://relay.example.net"><script>',
        "https://relay.example.net\n",
        "https://*.example.net",
        "https://relay.example.net:",
        "'self'",
    ],
)
def test_an_address_fits_into_a_page_and_a_policy(url: str) -> None:
    with pytest.raises(InputError, match="the address of a relay"):
        RelayNamed(url, 1e-6, own=40)


def test_addresses_of_relays() -> None:
    for url, origin, host in (
        (URL, URL, "relay.example.net"),
        (f"{URL}:8443/hush/relay-1", f"{URL}:8443", "relay.example.net"),
        ("http://[::1]:8001", "http://[::1]:8001", "[::1]"),
    ):
        relay = RelayNamed(url, 1e-6, own=40)
        assert (relay.origin, relay.host) == (origin, host)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"own": 40, "delta": 0.0}, "delta of a relay"),
        ({"own": 40, "delta": 1.0}, "delta of a relay"),
        ({"own": 40, "delta": float("nan")}, "delta of a relay"),
        ({}, "say what the relay does"),
        ({"own": 0}, "own reports of a relay must be 1"),
        ({"crowd": 1}, "crowd of a relay must be 2"),
    ],
)
def test_a_relay_says_what_it_does(named: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        RelayNamed(URL, **({"delta": 1e-6} | named))


def test_settings_that_would_make_the_promise_false() -> None:
    with pytest.raises(InputError, match="relay needs sealed_only"):
        Settings(sealed_key=SECRET, relay=RELAY)
    with pytest.raises(InputError, match="one host name"):
        Settings(sealed_key=SECRET, sealed_only=True, relay=RELAY, hosts=LOCAL | {"relay.example.net"})
    assert Settings(sealed_key=SECRET, sealed_only=True, relay=RELAY).relay is RELAY


def test_promises_are_those_of_the_accountant() -> None:
    own, people = central(PLAN, RELAY)
    assert (own.own, own.crowd, people.own, people.crowd) == (40, None, None, 2000)
    assert own == hush.shuffle(PLAN, own=40, delta=1e-6)
    assert central(PLAN, RelayNamed(URL, 1e-6, own=40)) == (own,)
    assert central(PLAN, RelayNamed(URL, 1e-6, crowd=2000)) == (people,)


def test_a_promise_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = central(PLAN, RELAY)

    def again(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(shuffle, "shuffle", again)
    assert central(PLAN, RELAY) == first == central(PLAN, RelayNamed(f"{URL}:1", 1e-6, crowd=2000, own=40))
    with pytest.raises(AssertionError):
        central(PLAN, RelayNamed(URL, 1e-6, own=41))


def test_a_plan_without_a_second_promise_is_refused() -> None:
    with pytest.raises(PlanError, match=f"plan {WIDE.id[:12]}: the relay cannot draw own reports.*state a crowd"):
        central(WIDE, RelayNamed(URL, 1e-6, own=40))
    assert central(WIDE, RelayNamed(URL, 1e-6, crowd=2000))[0].epsilon < 1
    with pytest.raises(DesignError, match="20 people add nothing to epsilon 4, at delta 1e-06"):
        central(PLAN, RelayNamed(URL, 1e-6, crowd=20))


def test_sentences_say_both_and_round_up() -> None:
    found = relayed(PLAN, RELAY, "aa")
    assert (found.url, found.key) == (URL, "aa")
    assert 3.99 < float(found.local) <= 4
    own, people = central(PLAN, RELAY)
    local, first, second = found.sentences
    assert local == "Whatever anybody does, a report costs ε = 4 at most."
    assert "the relay relay.example.net and the collector do not work together" in first
    assert "the relay adds 40 reports of its own to every batch" in first
    assert "2,000 people or more answer honestly in every batch" in second
    for text, exact in ((first, own), (second, people)):
        written = float(text.split("ε = ")[1].split()[0])
        assert exact.epsilon <= written < exact.epsilon + 1e-4
        assert text.endswith("except with a probability of 1 in 1,000,000.")
    odd = statements._less(replace(own, delta=3e-7), "relay.example.net")
    assert odd.endswith("1 in 3,333,333."), "rounded so that it is not too rare"


def test_every_document_has_both(tmp_path: Path) -> None:
    with collecting(tmp_path, relay=RELAY) as served:
        entry = next(one for one in served.client.get("/plans").json()["plans"] if one["id"] == PLAN.id)
        statement = served.client.get(served.path("statement", PLAN)).json()
        alone = served.client.get(served.path("relay", PLAN))
        assert entry["relay"] == statement["relay"] == alone.json()
        assert alone.headers["cache-control"] == "no-store"
        found = alone.json()
        assert (found["url"], found["key"]) == (URL, KEY.public.hex())
        assert [(one["crowd"], one["own"], one["delta"]) for one in found["central"]] == [
            (None, 40, 1e-6),
            (2000, None, 1e-6),
        ]
        assert float(found["local"]) > found["central"][0]["epsilon"]
        for sentence in found["sentences"]:
            assert any(sentence in text for text in statement["sentences"])
        lines = served.client.stream("GET", served.path("stream?view=dashboard", PLAN))
        with lines as answer:
            text = next(line for line in answer.iter_lines() if line.startswith("data: "))
        assert '"central":[{' in text
        page = served.client.get("/").text
        assert f'data-relay="{URL}" data-key="{KEY.public.hex()}"' in page
        served.store.close_plan(PLAN.id)
        problem(served.client.get(served.path("relay", PLAN)), "plan-closed")
        assert served.client.get(served.path("relay", OTHER)).status_code == 200


def test_without_a_relay_nothing_is_said_of_one(tmp_path: Path) -> None:
    with collecting(tmp_path) as served:
        problem(served.client.get(served.path("relay", PLAN)), "not-found")
        problem(served.client.get("/"), "not-found")
        assert served.client.get(served.path("statement", PLAN)).json()["relay"] is None
        assert all(entry["relay"] is None for entry in served.client.get("/plans").json()["plans"])


def test_a_plan_that_came_later_is_shown_with_the_local_promise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with collecting(tmp_path, relay=RELAY) as served, caplog.at_level(logging.WARNING):
        served.store.add_plan(WIDE, "reports")
        statement = served.client.get(served.path("statement", WIDE)).json()
        assert statement["relay"] is None
        assert statement["sentences"] == statements.statement(WIDE).sentences
        problem(served.client.get(served.path("relay", WIDE)), "not-found")
        assert caplog.text.count("only the local promise is shown") == 1


@pytest.mark.parametrize(("own", "told"), [(40, False), (39, True)])
def test_a_batch_that_breaks_the_relays_word_is_noticed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, own: int, told: bool
) -> None:
    """It is counted all the same: people have sent their reports."""
    named = RelayNamed(URL, 1e-6, own=40)
    with collecting(tmp_path, relay=named) as served, caplog.at_level(logging.WARNING):
        body = SealedBatch(KEY, own, tuple(sealed_reports(own + 3)[1])).encode()
        assert hush.Client(served.url, attempts=1).submit_sealed_batch(PLAN, body).new
        assert served.tally(PLAN).people == 3
        assert (f"3 reports of people and {own} of the relay's own" in caplog.text) == told
        assert ("less than the pages promise" in caplog.text) == told
