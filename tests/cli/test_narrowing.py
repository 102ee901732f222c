"""`hush serve --narrow`: wrong options are refused before anything is opened, and a pilot goes on after a restart."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import hush
from hush.collector.stores.sqlite import SqliteStore
from tests.cli.test_commands import refused
from tests.cli.test_serving import AT_ONCE, serve
from tests.collector.pilots import FIRST, OTHERS, PILOT, REGION, SCHEMA, answers, commit, until

NUMBERS = f"pilot.json={FIRST}+{OTHERS}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(hush.__file__).parent.parent))
    Path("pilot.json").write_text(PILOT.to_json())
    return tmp_path


@pytest.mark.parametrize(
    "spec",
    [
        *("pilot.json", "pilot.json=", "pilot.json=60", "pilot.json=60+", "pilot.json=+60", "=60+1000", "60+1000"),
        *(
            "pilot.json=0+1000",
            "pilot.json=60+0",
            "pilot.json=60+1000+1",
            "pilot.json=60.5+1000",
            "pilot.json=-60+1000",
        ),
        *("pilot.json=6e1+1000", "pilot.json=\u0663+1000", "pilot.json= 60+1000"),
    ],
)
def test_an_option_that_is_not_two_numbers(spec: str) -> None:
    assert refused("serve", "--narrow", spec) == (
        "hush: --narrow is the file of a plan, the people of the pilot and those expected after it: "
        "PLAN.json=20000+80000; a number has no separators between thousands, and a point before decimals\n"
    )
    assert not Path("hush.db").exists()


PLANS = {
    "follows another is no pilot": hush.design(SCHEMA, 1.0, after="0" * 64),
    "there is nothing to narrow": hush.design(hush.Schema([REGION]), 1.0),
    "narrow it by hand, with hush.narrow": hush.design(SCHEMA, 1.0, relations=[("income", "region")]),
}


@pytest.mark.parametrize("why", [*PLANS, "fewer people than that exist", "no such file"])
def test_a_plan_that_cannot_be_a_pilot(why: str) -> None:
    """Before the store is made, and before the port is opened."""
    spec = {"fewer people than that exist": "pilot.json=60+" + "9" * 13, "no such file": "absent.json=60+1000"}
    if why in PLANS:
        Path("pilot.json").write_text(PLANS[why].to_json())
    assert why in refused("serve", "--narrow", spec.get(why, NUMBERS))
    assert not Path("hush.db").exists()


def test_a_pilot_keeps_its_numbers_and_must_be_open() -> None:
    with serve("--narrow", NUMBERS, *AT_ONCE) as running:
        running.stop()
    for other in (f"pilot.json={FIRST + 1}+{OTHERS}", f"pilot.json={FIRST}+{OTHERS + 1}"):
        line = refused("serve", "--narrow", other)
        assert line == (
            f"hush: --narrow: this plan is a pilot in the store already, of {FIRST} people, and of {OTHERS} who come "
            "later\n"
        )
    store = SqliteStore("hush.db")
    store.close_plan(PILOT.id)
    store.close()
    assert "this plan is closed, so it cannot be a pilot" in refused("serve", "--narrow", NUMBERS)


def test_both_rounds_over_restarts() -> None:
    """The option is needed once; afterwards the pilot is in the store, and both plans are announced."""
    made = answers(FIRST, 1)
    with serve("--narrow", NUMBERS, "--keep", "tallies", *AT_ONCE, lines=5) as running:
        assert running.lines[2] == f"hush: {running.url}/plans/{PILOT.id}"
        running.stop()
    store = SqliteStore("hush.db")
    commit(store, made)
    store.close()
    with serve(*AT_ONCE) as running, httpx.Client(base_url=running.url, trust_env=False) as web:

        def named() -> set[str]:
            return {web.get(f"/plans/{PILOT.id}/current").json()["plan"]} - {PILOT.id}

        (second,) = until(named)
        told = {entry["id"]: entry["keep"] for entry in web.get("/plans").json()["plans"]}
        assert told == {PILOT.id: "tallies", second: "tallies"}
        running.stop()
    with serve("--narrow", NUMBERS, "--keep", "tallies", *AT_ONCE, lines=8) as running:
        assert [running.lines[2], running.lines[5]] == [
            f"hush: {running.url}/plans/{id_}" for id_ in (PILOT.id, second)
        ]
        err = running.stop()[2]
        assert err == f"hush: the pilot {PILOT.id[:12]} is over: plan {second[:12]} follows it\n"
