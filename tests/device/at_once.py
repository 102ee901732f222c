"""A process that answers from a ledger: it loads neither pytest nor the tests that start it, so it starts quickly."""

from __future__ import annotations

from typing import Any

from hush import BudgetError, Ledger, Plan, design
from tests.cases import MIXED, RECORD


def plan(title: str, epsilon: float = 1.0) -> Plan:
    return design(MIXED, epsilon, title=title)


def answer(path: str, titles: list[str], queue: Any) -> None:
    ledger = Ledger(path, cap=5.0)
    results: dict[str, bytes | None] = {}
    for title in titles:
        try:
            results[title] = ledger.randomise(plan(title), RECORD).encode()
        except BudgetError:
            results[title] = None
    queue.put(results)
