"""Draws the pictures of docs/cli.md. `make docs` runs it."""

from __future__ import annotations

from pathlib import Path

from hush import plots
from hush.client import randomise_from
from hush.demo import SCHEMA, people
from hush.estimates import estimate
from hush.plan import Plan
from hush.tally import Tally
from hush.testing import SeededCoins

IMAGES = Path(__file__).parent / "images"


def draw(folder: Path = IMAGES) -> None:
    """Draw margins of the demo's schema, what a report says of people of 20 and 60, and estimates."""
    folder.mkdir(exist_ok=True)
    plan = Plan.design(SCHEMA, 1.0)
    plots.save(plots.margins(plan, n=100_000), folder / "margins.svg")
    plots.save(plots.law(plan, "age", [20, 60]), folder / "law-age.svg")
    tally, coins = Tally(plan), SeededCoins(2019)  # so that the picture stays the same
    tally.update(randomise_from(coins, plan, person) for person in people(20_000, seed=2019))
    plots.save(plots.estimates(estimate(tally), SCHEMA), folder / "estimates.svg")


if __name__ == "__main__":
    draw()
