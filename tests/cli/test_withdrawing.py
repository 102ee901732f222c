"""`hush rename` and `hush withdraw`: a site that was restored from a copy, and the collector to which it hands on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hush.collector import formats
from hush.collector.stores.sqlite import SqliteStore
from hush.collector.submissions import Single, Withdrawal
from hush.server.tally import Tally, of_store
from tests.cli.test_commands import refused, run
from tests.collector.served import ALL, HASHES, PLAN, TOKENS, Served, anybody, report_of, serving

ADMIN = ("--token", "admin.secret", "--yes")
NAME = "5a" * 16


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.chdir(tmp_path)
    for role in ("admin", "read"):
        Path(f"{role}.secret").write_text(TOKENS[role] + "\n")
    Path("plan.json").write_text(PLAN.to_json())
    with serving(tmp_path, anybody(tokens=HASHES, open=frozenset({"submit", "submit-batch"}))) as found:
        yield found


def tally(number: int) -> Tally:
    found = Tally(PLAN)
    found.update(report_of(PLAN) for _ in range(number))
    return found


def hand_on(served: Served, number: int, *names: str) -> None:
    body = of_store(tally(number), [bytes.fromhex(name) for name in names]).to_json()
    kind = {"content-type": formats.JSON}
    served.client.post(served.path("tally"), content=body, headers=kind).raise_for_status()


def test_what_came_from_a_store_is_taken_out(served: Served) -> None:
    hand_on(served, 7, NAME)
    said = run("withdraw", served.url, "plan.json", NAME.upper(), *ADMIN).output
    assert said == f"Plan {PLAN.id[:12]}: 7 reports taken out.\n"
    assert served.store.tally(PLAN).reports == 0
    assert "withdrawn before" in run("withdraw", served.url, PLAN.id[:8], NAME, *ADMIN).output
    found = json.loads(run("withdraw", served.url, "plan.json", NAME, *ADMIN, "--json").stdout)
    assert found == {"plan": PLAN.id, "name": NAME, "withdrawn": False, "reports": 0}


def test_what_cannot_be_withdrawn(served: Served) -> None:
    assert "say --yes" in refused("withdraw", served.url, "plan.json", NAME, "--token", "admin.secret")
    assert "32 hexadecimal digits" in refused("withdraw", served.url, "plan.json", "5a", *ADMIN)
    assert "under this name" in refused("withdraw", served.url, "plan.json", NAME, *ADMIN)
    assert "--token FILE" in refused("withdraw", served.url, "plan.json", NAME, "--token", "read.secret", "--yes")
    served.store.close_plan(ALL.id)
    assert "no more reports" in refused("withdraw", served.url, ALL.id[:8], NAME, *ADMIN)


def test_a_store_takes_a_new_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SqliteStore("hush.db").close()
    said = run("rename").output
    again = run("rename", "--store", "hush.db").output
    store = SqliteStore("hush.db")
    last, now, first = (name.hex() for name in store.names())
    store.close()
    assert again == (
        f"The store has the name {last} now. Where it hands its tally on, withdraw the one of these that counts there: "
        f"{now}, {first}.\n"
    )
    found = json.loads(run("rename", "--json").stdout)
    assert found["before"] == [last, now, first]
    assert said == f"The store has the name {now} now. Where it hands its tally on, withdraw {first}.\n"
    assert len({last, now, first}) == 3
    assert "no such file" in refused("rename", "--store", "none.db", code=4)


def test_tallies_of_one_store_are_not_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_text(PLAN.to_json())
    for file, number, name in (("monday", 250, "01"), ("tuesday", 390, "01"), ("south", 30, "02"), ("nobody", 4, "")):
        found = tally(number)
        Path(f"{file}.json").write_text((of_store(found, [bytes.fromhex(name * 16)]) if name else found).to_json())
    words = refused("tally", "plan.json", "monday.json", "tuesday.json")
    assert "tuesday.json: both tallies have reports of the store 01010101" in words
    run("tally", "plan.json", "tuesday.json", "south.json", "nobody.json", "-o", "all.json")
    assert Tally.from_json(Path("all.json").read_bytes()).reports == 424
    assert "count twice" in refused("tally", "plan.json", "all.json", "monday.json")
    assert "has the reports of the earlier" in refused("change", "monday.json", "tuesday.json")
    run("change", "south.json", "tuesday.json")


def test_an_export_says_how_many_came_from_other_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have no rows; those that were withdrawn, or that a later tally has again, are not among them."""
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("hush.db")
    store.add_plan(PLAN)
    made = [report_of(PLAN) for _ in range(12)]
    for number, name in ((5, NAME), (7, NAME), (9, "6b" * 16)):
        found = Tally(PLAN)
        found.update(made[:number])
        store.commit([formats.handed(PLAN, of_store(found, [bytes.fromhex(name)]))])
    store.commit([Withdrawal(PLAN, bytes.fromhex("6b" * 16)), Single(PLAN, made[10])])
    store.close()
    written = json.loads(run("export", "-o", "out", "--json").stdout)
    assert (written["reports"], written["in_tallies"]) == (1, 7)
