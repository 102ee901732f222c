"""A first visit to the form, by the model of docs/first-visit.md: words, taps, keys and thoughts; no machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser

import hush
from experiments import first_visit
from tests.collector.served import Served, anybody, serving

SCHEMA = hush.Schema(
    [
        hush.Boolean("smoker"),
        hush.Categorical("system", ["linux", "mac", "windows", "other"]),
        hush.Numeric("age", 18, 100),
    ]
)
PLAN = hush.design(SCHEMA, 1.0, title="spring survey", k=1)
LEFT = 0.5  # seconds for the machine, which are measured in docs/first-visit.md and not here


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, anybody(), plans=(PLAN,), trainings={}) as found:
        yield found


def test_a_person_who_never_saw_it_answers_in_time(browser: Browser, served: Served) -> None:
    """Whatever is drawn. The form took 30 seconds before there was this test; each word takes a quarter of one."""
    for one in first_visit.visits(browser, served.url, PLAN.schema.names):
        total = sum(map(first_visit.seconds, one["steps"]))
        assert total <= first_visit.GOALS["visitor"] - LEFT, (one["question"], total)
        assert one["steps"][0]["words"] >= 10, "title, promise, question and answers have been read"
        assert one["steps"][2]["words"] >= 8


def test_the_operator_types_what_the_documents_say() -> None:
    """Every command that is counted stands in a document, and is typed there in the same order."""
    root = Path(__file__).parents[2]
    text = (root / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert text.index(f"$ {first_visit.INIT}\n") < text.index(f"$ {first_visit.SERVE} &\n")
    rows = first_visit.commands()
    person = sum(first_visit.seconds({**row, "keys": len(row["typed"]) + 1, "thoughts": 1}) for row in rows)
    assert 30 < person < first_visit.GOALS["operator"] / 2, "half of the time is left for installing"
