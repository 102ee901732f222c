"""Draws the pictures of docs/cli.md. `make docs` runs it."""

from __future__ import annotations

from pathlib import Path

from hush import plots
from hush.demo import SCHEMA
from hush.plan import Plan

IMAGES = Path(__file__).parent / "images"


def draw(folder: Path = IMAGES) -> None:
    """Draw margins of the demo's schema, and what a report says of somebody of 20 or 60."""
    folder.mkdir(exist_ok=True)
    plan = Plan.design(SCHEMA, 1.0)
    plots.save(plots.margins(plan, n=100_000), folder / "margins.svg")
    plots.save(plots.law(plan, "age", [20, 60]), folder / "law-age.svg")


if __name__ == "__main__":
    draw()
