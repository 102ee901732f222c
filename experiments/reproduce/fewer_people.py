"""How many times more people the paper's HM needs than hush, for the same error, on both censuses.

Errors fall as one over the number of people, so at equal numbers the quotient of the errors is that of the people
needed: exactly, from the variances of the channels for these people, and as measured in surveys. That law is checked,
too: by the slope of the logarithm of the error against that of the number of people.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from experiments.reproduce import charts, means_and_frequencies, users
from experiments.reproduce.frame import Bench, Claim, Row, worst

TITLE = "How many fewer people"
PAPER = "beyond"
GAIN, LAW = "gain", "law"
METHODS = ("HM", "hush")
NOISE = 3.0  # standard errors
SLOPE = 0.1  # how far a slope may be from -1, besides noise


def compute(bench: Bench) -> list[Row]:
    """Return gains by epsilon, and the slopes of errors, from the surveys of Figures 4 and 7."""
    return rows_of(means_and_frequencies.compute(bench), users.compute(bench))


def rows_of(surveys: list[Row], growing: list[Row]) -> list[Row]:
    """Return how many times the people of hush HM needs; and the slopes."""
    at = {(r["data"], r["target"], r["epsilon"], r["people"], r["method"]): r for r in surveys}
    rows: list[Row] = []
    for (data, target, epsilon, people, method), ours in at.items():
        if method == "hush":
            rival = at[data, target, epsilon, people, "HM"]
            times = rival["mse"] / ours["mse"]
            errors = [row["stderr"] / row["mse"] for row in (ours, rival) if row["stderr"] is not None]
            stderr = times * math.hypot(*errors) if len(errors) == 2 else None
            exact = rival["expected"] / ours["expected"] if "expected" in ours else None
            rows.append(_row(GAIN, data, target, "hush", epsilon, people, times, stderr, exact))
    for method in METHODS:
        for target in dict.fromkeys(row["target"] for row in growing):
            some = [row for row in growing if (row["method"], row["target"]) == (method, target)]
            slope, stderr = slope_of(some)
            rows.append(_row(LAW, some[0]["data"], target, method, some[0]["epsilon"], 0, slope, stderr))
    return rows


def _row(
    what: str,
    data: str,
    target: str,
    method: str,
    epsilon: float,
    people: int,
    value: float,
    error: float | None,
    exact: float | None = None,
) -> Row:
    return {
        "what": what,
        "data": data,
        "target": target,
        "method": method,
        "epsilon": epsilon,
        "people": people,
        "value": value,
        "stderr": error,
        "exact": exact,
    }


def slope_of(rows: list[Row]) -> tuple[float, float | None]:
    """Return the slope of log error against log people by least squares, and its error from those of the points."""
    x = np.log([row["people"] for row in rows])
    y = np.log([row["mse"] for row in rows])
    weights = (x - x.mean()) / np.square(x - x.mean()).sum()
    if any(row["stderr"] is None for row in rows):
        return float(weights @ y), None
    spread = np.array([row["stderr"] / row["mse"] for row in rows])
    return float(weights @ y), float(np.sqrt(np.square(weights * spread).sum()))


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of the people that it needs."""
    gains = [row for row in rows if row["what"] == GAIN]
    named = {f"{r['data']}, {r['target']}, epsilon {r['epsilon']:g}": r for r in gains}
    least = min(named, key=lambda name: gain(named[name]))
    most = max(named, key=lambda name: gain(named[name]))
    found = [
        Claim(
            "(hush) for the same error HM needs more people than hush, in all settings",
            f"{_times(named[least])} times as many at least ({least}), {_times(named[most])} at most ({most})",
            _more(list(named.values())),
        )
    ]
    laws = [row for row in rows if row["what"] == LAW]
    off = {f"{row['method']}, {row['target']}": abs(row["value"] + 1) - NOISE * (row["stderr"] or 0) for row in laws}
    slopes = ", ".join(f"{row['method']}, {row['target']}: {_times(row)}" for row in laws)
    _, far = worst(off)
    found.append(Claim("(hush) errors fall as one over the people", f"slopes {slopes}", far < SLOPE))
    return found


def gain(row: Row) -> float:
    """Return how many times the people: exactly, or as measured."""
    return float(row["value"] if row["exact"] is None else row["exact"])


def _more(gains: list[Row]) -> bool | None:
    """Return whether all gains are above 1; None if noise is too large to say."""
    if all(row["exact"] is not None for row in gains):
        return min(map(gain, gains)) > 1
    # Of the quotient turned around, as the noise of a quotient grows with it.
    far = [(1 - 1 / row["value"]) * row["value"] ** 2 / row["stderr"] if row["stderr"] else 0.0 for row in gains]
    return False if min(far) < -NOISE else None if min(far) < NOISE else True


def _times(row: Row) -> str:
    measured = f"{row['value']:.2f}" + ("" if row["stderr"] is None else f" ± {row['stderr']:.2f}")
    return measured if row["exact"] is None else f"{row['exact']:.3f} (in the surveys {measured})"


def draw(rows: list[Row]) -> Any:
    """Draw how many times the people HM needs, against epsilon."""
    panels: dict[str, list[Row]] = {}
    for row in rows:
        if row["what"] == GAIN:
            panels.setdefault(row["data"], []).append({**row, "value": gain(row)})
    return charts.lines(
        panels,
        TITLE,
        "epsilon",
        "value",
        "target",
        names=("epsilon", "people that HM needs / hush"),
        log=(True, False),
    )
