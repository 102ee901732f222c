"""A user's program, for `check.py`: run against the installed wheel, and checked by mypy --strict with its types."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import hush

schema = hush.Schema([hush.Numeric("age", low=0, high=120), hush.Categorical("os", ["linux", "mac", "other"])])
plan: hush.Plan = hush.Plan.from_json(hush.design(schema, epsilon=1.0).to_json())
ratio: Fraction = plan.ratio
assert 1 < ratio < 3

tally = hush.Tally(plan)
for age in range(200):
    report: hush.Report = hush.randomise(plan, {"age": age % 100, "os": "mac"})
    data: bytes = report.encode()
    tally.add(hush.Report.decode(plan, data))

rows: list[tuple[str, float, float, float]] = []
for row in hush.estimate(tally):
    rows.append((row.attribute, row.point, row.low, row.high))
assert len(rows) == 4

ledger = hush.Ledger(Path("ledger"), cap=4.0)
assert ledger.randomise(plan, {"age": 41, "os": "mac"}) == ledger.randomise(plan, {"age": 41, "os": "mac"})

try:
    hush.randomise(plan, {"age": -1, "os": "mac"})
except hush.RecordError as error:
    refused: hush.HushError = error
