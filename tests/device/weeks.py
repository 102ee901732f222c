"""Plans of a series, week by week, and what a ledger remembers of it."""

from __future__ import annotations

import sqlite3
from typing import Any

from hush import Categorical, Ledger, Numeric, Plan, Schema, design

MOOD = Schema([Categorical("mood", ["good", "fair", "bad"])])
STEPS = Schema([Numeric("steps", 0, 20_000, optional=True)])


def weekly(week: int, schema: Schema = MOOD, epsilon: float = 1.0, **options: Any) -> Plan:
    return design(schema, epsilon, title=f"week {week}", **options)


def rows(ledger: Ledger, kind: str = "answer") -> list[tuple[str, str, str]]:
    connection = sqlite3.connect(ledger.path)
    try:
        return connection.execute(
            "select series, state, value from memories where kind = ? order by 1, 2", (kind,)
        ).fetchall()
    finally:
        connection.close()
