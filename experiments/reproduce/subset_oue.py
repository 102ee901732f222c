"""Categories: the subset channel of hush against OUE, the paper's choice; noise, and the bytes of a report."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import hush
from experiments.reproduce import charts
from experiments.reproduce.frame import Bench, Claim, Row, worst

TITLE = "Categories: subsets against OUE"
PAPER = "beyond"
SIZES = (2, 4, 8, 16, 64, 256)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
CHANNELS = ("subset", "oue")


def measured(name: str, size: int, epsilon: float) -> Row:
    """Return the noise of a channel in all categories together, and how long its reports are."""
    schema = hush.Schema([hush.Categorical("x", list(range(size)))])
    plan = hush.design(schema, epsilon, categorical=name)
    channel = plan.channel("x")
    report = hush.randomise(plan, {"x": 0})
    total = channel.variance(Fraction(1)) + (size - 1) * channel.variance(Fraction(0))
    return {
        "size": size,
        "epsilon": epsilon,
        "channel": name,
        "variance": float(total),
        "report_bytes": len(report.encode()),
        "answer_bytes": channel.alphabet.width,
        "json_bytes": len(report.to_json()),
    }


def compute(bench: Bench) -> list[Row]:  # noqa: ARG001 - nothing here takes long
    """Return the noise and the bytes of both channels, for many numbers of categories."""
    return [measured(name, size, epsilon) for size in SIZES for epsilon in EPSILONS for name in CHANNELS]


def over(rows: list[Row], what: str) -> dict[str, float]:
    """Return what the subset channel has of something, over OUE."""
    at = {(row["size"], row["epsilon"], row["channel"]): row[what] for row in rows}
    return {
        f"{size} categories, epsilon {epsilon:g}": value / at[size, epsilon, "oue"]
        for (size, epsilon, name), value in at.items()
        if name == "subset"
    }


def claims(rows: list[Row]) -> list[Claim]:
    """Return what hush says of its channel."""
    noise, length = over(rows, "variance"), over(rows, "answer_bytes")
    setting, most = worst(noise)
    best = min(noise, key=lambda name: noise[name])
    where, longest = worst(length)
    return [
        Claim(
            "(hush) the subset channel never has more noise than OUE",
            f"{most:.3f} of it at most ({setting}), {noise[best]:.3f} at best ({best})",
            most <= 1,
        ),
        Claim(
            "(hush) its answers are never longer in bytes",
            f"{longest:.2f} of OUE's at most ({where}), {min(length.values()):.2f} at best",
            longest <= 1,
            "" if longest <= 1 else "a set of half of the categories takes as many bits as all of OUE's, or a few more",
        ),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw noise over that of OUE, and bytes, against the number of categories."""
    noise = over(rows, "variance")
    ratio = [
        {
            **row,
            "value": noise[f"{row['size']} categories, epsilon {row['epsilon']:g}"],
            "line": f"eps {row['epsilon']:g}",
        }
        for row in rows
        if row["channel"] == "subset"
    ]
    answers = [
        {**row, "value": row["answer_bytes"], "line": f"{row['channel']}, eps {row['epsilon']:g}"} for row in rows
    ]
    return charts.lines(
        {"noise over that of OUE": ratio, "bytes of an answer": answers},
        TITLE,
        "size",
        "value",
        "line",
        log=(True, True),
        apart=True,
    )
