"""`hush close`: the end of a collection, at a running collector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import hush
from hush.cli.operators import Entry, _entry, find
from hush.cli.program import Refused
from hush.device.client import Client
from tests.cli.test_commands import refused, run
from tests.collector.served import ALL, HASHES, PLAN, TOKENS, Served, anybody, record_of, serving
from tests.faking import answer, faking


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.chdir(tmp_path)
    for role in ("admin", "read"):
        Path(f"{role}.secret").write_text(TOKENS[role] + "\n")
    Path("plan.json").write_text(PLAN.to_json())
    with serving(tmp_path, anybody(tokens=HASHES, open=frozenset({"submit"}))) as found:
        yield found


ADMIN = ("--token", "admin.secret", "--yes")


def test_a_closed_plan_takes_no_more_reports(served: Served) -> None:
    device = Client(served.url, attempts=1)
    device.answer(PLAN, record_of(PLAN), fresh=True)
    said = run("close", served.url, "plan.json", *ADMIN).output
    assert said == f"Plan {PLAN.id[:12]} 'one of four' takes no more reports. It has 1 report.\n"
    with pytest.raises(hush.CollectorError, match="takes no more reports"):
        device.answer(PLAN, record_of(PLAN), fresh=True)
    device.answer(ALL, record_of(ALL), fresh=True)  # others go on
    assert served.store.tally(PLAN).reports == 1


def test_closing_twice_says_so(served: Served) -> None:
    found = json.loads(run("close", served.url, PLAN.id[:8], *ADMIN, "--json").stdout)
    assert found == {"plan": PLAN.id, "closed": True, "was_open": True, "reports": 0}
    assert "was closed before" in run("close", served.url, PLAN.id.upper(), *ADMIN).output


def test_it_asks_first(served: Served) -> None:
    """Without a terminal nobody can answer, so nothing is closed."""
    assert "say --yes" in refused("close", served.url, "plan.json", "--token", "admin.secret")
    assert all(held.open for held in served.store.plans())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan.json", "--yes"], "--token FILE"),
        (["plan.json", "--token", "read.secret", "--yes"], "--token FILE"),
        (["plan.json", "--token", "absent", "--yes"], "the token cannot be read"),
        (["0" * 8, *ADMIN], "does not have this plan; there are: "),
        (["my plan", *ADMIN], "neither a file nor"),
        (["abc", *ADMIN], "neither a file nor"),
    ],
)
def test_refusals_name_the_remedy(served: Served, arguments: list[str], words: str) -> None:
    assert words in refused("close", served.url, *arguments)
    assert all(held.open for held in served.store.plans())


def test_addresses_and_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert "begins with https://" in refused("close", "example.org", "0000", "--yes")
    assert "cannot be reached" in refused("close", "http://127.0.0.1:9", "0000", "--yes", code=4)


def test_a_token_does_not_travel_in_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("admin.secret").write_text("a-token-of-some-length")
    for url in ("http://example.org", "http://127.0.0.1.example.org:80"):
        line = refused("close", url, "0000", "--yes", "--token", "admin.secret")
        assert "by https:// only" in line
        assert "a-token" not in line


def test_several_plans_with_the_same_beginning() -> None:
    entries = [Entry("ab" * 32, "one", True, 0), Entry("abcd" + "0" * 60, "two", True, 0)]
    assert find(entries, "abcd") is entries[1]
    with pytest.raises(Refused, match="several such plans"):
        find([entries[1], Entry("abcd" + "1" * 60, "", True, 0)], "abcd")


@pytest.mark.parametrize("body", [b"{}", b'{"plans": 3}', b'{"plans": [{"id": "x"}]}', b"[", b'{"plans": [7]}'])
def test_answers_that_make_no_sense(body: bytes) -> None:
    with faking(lambda request, _: answer(request, 200, body)) as url:
        line = refused("close", url, "0000", "--yes", code=4)
    assert "collector" in line or "JSON" in line


def test_an_entry_is_one_printable_line() -> None:
    entry = _entry({"id": "0" * 64, "title": "a\x1b[31m\nb", "open": True, "reports": 3, "later": 1})
    assert entry.title.isprintable()
    for wrong in ({"id": "0" * 63}, {"open": 1}, {"reports": True}):
        with pytest.raises(hush.CollectorError):
            _entry({"id": "0" * 64, "title": "", "open": True, "reports": 3} | wrong)
