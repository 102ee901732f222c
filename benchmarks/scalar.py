"""The scalar path: what it costs to randomise a record on a device. `make bench` runs it.

Times depend on the machine, so each is also given as a ratio to a yardstick measured in the same run: serialising
the same record with `json.dumps`, something that a client does anyway. Everything is the best of several repeats.
"""

from __future__ import annotations

import json
import sys
import timeit
from collections.abc import Callable

from measure import machine, write

from hush import Categorical, Numeric, Report, Schema, Tally, design, estimate, randomise

REPEATS, LOOPS = 9, 4000
RECORD = {f"x{i}": 41.5 for i in range(5)} | {f"c{i}": "v3" for i in range(5)}
SCHEMA = Schema(
    [
        *(Numeric(f"x{i}", 0, 100) for i in range(5)),
        *(Categorical(f"c{i}", [f"v{j}" for j in range(8)]) for i in range(5)),
    ]
)
CASES: dict[str, dict[str, str]] = {
    "minimax + subset (default)": {},
    "piecewise + oue": {"numeric": "piecewise", "categorical": "oue"},
    "duchi + grr": {"numeric": "duchi", "categorical": "grr"},
    "laplace + sue": {"numeric": "laplace", "categorical": "sue"},
}


def microseconds(action: Callable[[], object]) -> float:
    """Return the best time of one call."""
    return min(timeit.repeat(action, number=LOOPS, repeat=REPEATS)) / LOOPS * 1e6


def main() -> None:
    """Measure, print a table, and write the figures to benchmarks/results."""
    where = machine()
    yardstick = microseconds(lambda: json.dumps(RECORD))
    rows = [("json.dumps of the record (yardstick)", yardstick)]
    for name, options in CASES.items():
        plan = design(SCHEMA, 1.0, **options)  # type: ignore[arg-type]
        rows.append((f"randomise, 10 attributes, k=1: {name}", microseconds(lambda plan=plan: randomise(plan, RECORD))))  # type: ignore[misc]
    plan = design(SCHEMA, 1.0)
    report = randomise(plan, RECORD)
    data, tally = report.encode(), Tally(plan)
    rows.append(("encode a report", microseconds(report.encode)))
    rows.append(("decode and check a report", microseconds(lambda: Report.decode(plan, data))))
    rows.append(("add a report to a tally", microseconds(lambda: tally.add(report))))
    rows.append(
        ("estimate 45 rows from a tally", min(timeit.repeat(lambda: estimate(tally), number=5, repeat=3)) / 5e-6)
    )
    lines = [f"| {'what':<58} | microseconds | ratio |", f"|{'-' * 60}|-------------:|------:|"]
    lines += [f"| {name:<58} | {time:12.2f} | {time / yardstick:5.2f} |" for name, time in rows]
    text = "\n".join([f"Python {sys.version.split()[0]}, best of {REPEATS} times {LOOPS} calls.", "", *lines, ""])
    found = {name: {"microseconds": time, "ratio": time / yardstick} for name, time in rows}
    write("scalar", {"machine": where, "rows": found}, False)
    print(text)


if __name__ == "__main__":
    main()
