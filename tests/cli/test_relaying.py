"""`hush relay`, and the options of `hush serve` about sealed batches."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import click
import httpx
import pytest
from click.testing import CliRunner

import hush
from hush.cli import through
from hush.cli.commands import program
from hush.collector.http import statements
from hush.collector.opening import Opener
from hush.collector.settings import RelayNamed
from hush.core.sealing import sealed_size
from tests.relay.relayed import KEY, OCTETS, PLAN, RECORD, SECRET

HUSH = [sys.executable, "-m", "hush"]
WIDE = hush.design(hush.Schema([hush.Categorical("town", list(range(100)))]), 1.0, categorical="oue")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(hush.__file__).parent.parent))
    Path("plan.json").write_text(PLAN.to_json())
    Path("wide.json").write_text(WIDE.to_json())
    return tmp_path


def started(*arguments: str) -> tuple[subprocess.Popen[str], dict[str, object]]:
    """Return a process, and the line of JSON that it prints when it listens."""
    process = subprocess.Popen(  # noqa: S603
        [*HUSH, *arguments, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(process.communicate()[1])
    return process, json.loads(line)


def ended(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    return said


def test_a_collector_makes_its_key_and_a_relay_uses_it() -> None:
    token, line = CliRunner().invoke(program, ["token", "submit-batch"]).stdout.splitlines()
    Path("tokens").write_text(line)
    Path("token").write_text(f"{token}\n")
    options = ["--sealed-key", "key", "--sealed-only", "--tokens", "tokens", "--open", "read,submit"]
    collector, said = started("serve", "plan.json", *options, "--reveal-every", "0s", "--reveal-least", "0")
    assert Path("key").stat().st_mode & 0o777 == 0o600
    key = Opener(bytes.fromhex(Path("key").read_text())).key.public.hex()
    assert said["key"] == key == Path("key.pub").read_text().strip()
    url = str(said["address"])
    options = ["--collector", url, "--key", key, "--least", "2", "--own", "1", "--token", "token", "--every", "0.1s"]
    relay, told = started("relay", PLAN.id, *options)
    try:
        assert told["plans"] == [PLAN.id], "fetched by its id"
        for person in "ab":
            ledger = hush.Ledger(person, cap=10)
            assert hush.Client(url, relay=str(told["address"]), key=key, ledger=ledger).answer(PLAN.id, RECORD).new
        for _ in range(200):
            (entry,) = httpx.get(f"{url}/plans").json()["plans"]
            if entry["reports"]:
                break
        assert (entry["reports"], entry["own"]) == (2, 1)
    finally:
        assert ended(relay) == ""
        assert ended(collector) == ""


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == 2, result.output
    return result.output


def test_what_is_wrong_is_said_before_anything_listens() -> None:
    relay = ["relay", "plan.json", "--collector", "http://127.0.0.1:9", "--key", KEY.public.hex()]
    numbers = ["--least", "10", "--own", "0"]
    assert "PLAN" in refused("relay", *relay[2:], *numbers)
    assert "--least" in refused(*relay, "--own", "1")
    assert "--least" in refused(*relay, "--least", "1", "--own", "0")
    assert "the key of a collector" in refused(*relay[:-1], "12", *numbers)
    assert "address of a collector" in refused("relay", "plan.json", "--collector", "x", *relay[4:], *numbers)
    assert "--own 0" in refused("relay", "wide.json", *relay[2:], "--least", "10", "--own", "5")
    assert "token cannot be read" in refused(*relay, *numbers, "--token", "absent")
    Path("empty").write_text("")
    assert "is empty" in refused(*relay, *numbers, "--token", "empty")
    Path("token").write_text("secret")
    away = [*relay[:3], "http://collector.example", *relay[4:], *numbers]
    assert "by https:// only" in refused(*away, "--token", "token")
    for key in ("0" * 64, "01" + "0" * 62):
        assert "is not a key" in refused(*relay[:-1], key, *numbers)
    for proxies in ("*", "127.0.0.1,*", "0.0.0.0/0", "::/0", "proxy.example", "172.30.77.1/24"):
        assert "--forwarded" in refused(*relay, *numbers, "--forwarded", proxies)
        assert "--forwarded" in refused("serve", "plan.json", "--store", "sqlite://a.db", "--forwarded", proxies)
    assert "--rate" in refused(*relay, *numbers, "--rate", "-1")
    assert "--every" in refused(*relay, *numbers, "--every", "0s")
    assert "--origin" in refused(*relay, *numbers, "--origin", "here")
    assert "--host-name" in refused(*relay, *numbers, "--host-name", "http://a")


def test_a_key_that_was_given_out_stays_until_its_plan_is_closed() -> None:
    """A collector that was started with another key thanked for reports under the old one, and dropped them."""
    serve = ["serve", "plan.json", "--store", "sqlite://a.db", "--sealed-only"]
    for key in ("old", "new"):
        Path(key).write_text(Opener(bytes(32) if key == "old" else bytes([1] * 32)).key.public.hex())
    process, said = started(*serve, "--sealed-key", "old")
    ended(process)
    for options in (["--sealed-key", "new"], []):
        text = refused(*(serve if options else serve[:-1]), *options)
        assert f"was given out with the key {said['key']}" in " ".join(text.split())
        assert f"--lost-key {said['key']}" in " ".join(text.split())
    process, both = started(*serve, "--sealed-key", "new", "--sealed-key", "old")
    ended(process)
    assert both["key"] == Opener(bytes.fromhex(Path("new").read_text())).key.public.hex() != said["key"]
    process, now = started(*serve, "--sealed-key", "new", "--lost-key", str(said["key"]))
    ended(process)
    assert now["key"] == both["key"]
    assert "cannot be read" in refused(*serve, "--sealed-key", "new", "--sealed-key", "absent"), (
        "only the first is made"
    )
    assert "the key of a collector" in refused(*serve, "--sealed-key", "new", "--lost-key", "12")


def test_a_relay_limits_each_address_unless_it_is_told_otherwise() -> None:
    relay = ["relay", "plan.json", "--collector", "http://127.0.0.1:9", "--key", KEY.public.hex()]
    bodies = [number.to_bytes(sealed_size(PLAN), "big") for number in range(200)]
    for options, taken in (([], range(50, 150)), (["--rate", "0", "--most", "120"], range(120, 121))):
        process, told = started(*relay, "--least", "500", "--own", "0", *options, "--store", f"{len(options)}.db")
        with httpx.Client(base_url=str(told["address"]), timeout=30) as client:
            codes = [client.post(f"/sealed/{PLAN.id}", content=body, headers=OCTETS).status_code for body in bodies]
            assert codes.count(202) in taken
            assert set(codes) == {202, 507 if options else 429}
            assert client.get("/readyz").status_code in ({507} if options else {200, 429})
        ended(process)


def test_a_relay_says_if_its_file_is_new() -> None:
    """Started in another folder it would forget everything in silence."""
    command = [*HUSH, "relay", "plan.json", "--collector", "http://127.0.0.1:9", "--key", KEY.public.hex()]
    for new in (True, False):
        process = subprocess.Popen(  # noqa: S603
            [*command, "--least", "2", "--own", "0", "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(3 if new else 2)]
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=30)
        assert ("hush: made relay.db: it knows of no reports" in "".join([*said, rest])) is new


def test_serve_refuses_what_does_not_go_with_sealed_batches() -> None:
    Path("key").write_text(SECRET.hex())
    Path("short").write_text("12")
    serve = ["serve", "plan.json", "--store", "sqlite://a.db"]
    assert "--sealed-only needs" in refused(*serve, "--sealed-only")
    assert "exclude each other" in refused(*serve, "--sealed-key", "key", "--tickets", "tickets")
    assert "--sealed-only needs" in refused(*serve, "--sealed-only", "--sealed-key", "key", "--training", "a=1")
    assert "the key of sealed reports must be 64" in refused(*serve, "--sealed-key", "short")


def test_a_named_relay_is_checked_before_anything_listens() -> None:
    Path("key").write_text(SECRET.hex())
    plain = ["serve", "plan.json", "--store", "sqlite://a.db", "--sealed-key", "key"]
    serve = [*plain, "--sealed-only"]
    named = ["--relay", "https://relay.example.net", "--relay-delta", "1e-6"]
    assert "name it with --relay URL" in refused(*serve, "--relay-own", "40")
    assert "--relay needs --sealed-only" in refused(*plain, *named, "--relay-own", "40")
    assert "--relay-delta is missing" in refused(*serve, *named[:2], "--relay-own", "40")
    assert "--relay needs --relay-own" in refused(*serve, *named)
    assert "own reports of a relay" in refused(*serve, *named, "--relay-own", "0")
    assert "crowd of a relay" in refused(*serve, *named, "--relay-crowd", "1")
    assert "delta of a relay" in refused(*serve, *named[:3], "2", "--relay-own", "40")
    assert "the address of a relay" in refused(*serve, "--relay", "relay", *named[2:], "--relay-own", "40")
    assert "does not go with --narrow" in refused(*serve, *named, "--relay-own", "40", "--narrow", "plan.json=1+1")
    same = ["--host-name", "relay.example.net", "--open", "submit,read"]
    assert "one host name" in refused(*serve, *named, "--relay-own", "40", *same)


def test_a_plan_without_a_second_promise_is_refused_at_the_start() -> None:
    Path("key").write_text(SECRET.hex())
    named = ["--relay", "https://relay.example.net", "--relay-delta", "1e-6"]
    serve = ["serve", "--store", "sqlite://a.db", "--sealed-key", "key", "--sealed-only", *named]
    said = " ".join(refused(*serve, "wide.json", "--relay-own", "40").split())
    assert f"plan {WIDE.id[:12]}: the relay cannot draw own reports" in said
    assert not Path("a.db").exists(), "and is not added to the store"


def test_a_collector_that_names_a_relay_announces_both_promises() -> None:
    Path("key").write_text(SECRET.hex())
    named = ["--relay", "https://relay.example.net/", "--relay-delta", "1e-6", "--relay-own", "40"]
    collector, said = started("serve", "plan.json", "--sealed-key", "key", "--sealed-only", *named)
    try:
        plans = said["plans"]
        assert isinstance(plans, list)
        (plan,) = plans
        assert plan["form"].startswith(str(said["address"]))
        found = plan["relay"]
        assert found["url"] == "https://relay.example.net"
        (central,) = found["central"]
        assert (central["own"], central["crowd"], central["delta"]) == (40, None, 1e-6)
        assert central["epsilon"] < float(found["local"]) <= 4
        assert httpx.get(plan["form"]).status_code == 200
    finally:
        assert ended(collector) == ""


def test_accounting_that_takes_long_is_said_in_a_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    relay = RelayNamed("https://relay.example.net", 1e-6, own=40)
    first = through.promises([PLAN], relay)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(through, "LONG", 0.0)
    said = threading.Event()
    echo = click.echo

    def noticed(text: str, *, err: bool = False) -> None:
        echo(text, err=err)
        said.set()

    monkeypatch.setattr(click, "echo", noticed)
    make = statements.relayed
    monkeypatch.setattr(statements, "relayed", lambda *given: (said.wait(30), make(*given))[1])
    assert through.promises([PLAN], relay) == first
    assert capsys.readouterr().err == "hush: accounting for the relay (plans: 1)\n"
