"""`hush serve --presentation`: read and checked before the store and the port are opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hush
from hush.cli.program import Refused
from hush.cli.rounds import presentations
from tests.cli.test_commands import refused

PLAN = hush.design(hush.Schema([hush.Numeric("mood", 1, 10)]), 1.0)
OTHER = hush.design(hush.Schema([hush.Numeric("mood", 1, 10)]), 2.0)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_text(PLAN.to_json())
    Path("other.json").write_text(OTHER.to_json())
    Path("form.json").write_text(json.dumps({"attributes": {"mood": {"question": "How are you?"}}}))
    Path("bad.json").write_text(json.dumps({"attributes": {"mood": {"widget": "dial"}}}))


def test_it_is_read_for_its_plan() -> None:
    found = presentations(("plan.json=form.json",))
    assert found[PLAN.id].attributes["mood"].question == "How are you?"
    assert presentations(()) == {}


@pytest.mark.parametrize(
    ("specs", "rule"),
    [
        (["form.json"], "--presentation is the file of a plan and that of its presentation"),
        (["plan.json="], "--presentation is the file of a plan and that of its presentation"),
        (["plan.json=none.json"], "--presentation: the file cannot be read"),
        (["plan.json=bad.json"], "--presentation: attribute 'mood': Invalid enum value 'dial'"),
        (["plan.json=form.json", "plan.json=form.json"], "a plan has one presentation"),
    ],
)
def test_a_bad_one_is_refused(specs: list[str], rule: str) -> None:
    with pytest.raises(Refused, match=rule):
        presentations(tuple(specs))


def test_a_plan_that_is_not_served_is_refused() -> None:
    told = refused("serve", "other.json", "--presentation", "plan.json=form.json", "--store", "hush.db", "--port", "0")
    assert "--presentation: its plan is not served" in told


@pytest.mark.parametrize(
    ("site", "rule"),
    [("https://a.example/path", "--embed is scheme://host"), ("*", "named by its origin"), ("a.example", "--embed is")],
)
def test_a_site_that_shows_the_form_is_an_origin(site: str, rule: str) -> None:
    assert rule in refused("serve", "plan.json", "--embed", site, "--store", "hush.db", "--port", "0")
