"""A collector whose dashboard has much to show, and the parts of that page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page, expect

import hush
from hush import batch
from hush.collector import formats
from hush.core.training.training import Training
from hush.device.client import Client
from tests.browser.surveys import SCHEMA, SURVEY
from tests.browser.visits import Visit, scrolled
from tests.collector.served import BOUGHT, POINT, Served, anybody, serving

PEOPLE = 40_000
HOSTILE = hush.design(
    hush.Schema(
        [hush.Categorical("<b>c</b>", ["<img src=x onerror=alert(1)>", "b", "=1+1", "+65"]), hush.Numeric("x", 0, 1)]
    ),
    1.0,
    title="<script>alert(1)</script>",
)
WIDE = hush.design(
    hush.Schema(
        [
            hush.Categorical("town", [f"town {i}" for i in range(4096)]),
            *(hush.Numeric(f"n{i}", 0, 1) for i in range(400)),
        ]
    ),
    1.0,
    title="wide",
    categorical="oue",
)
TRAINING = Training("tiny", "logistic", POINT, BOUGHT, 4.0, 3, 1.0)
QUICK = anybody(stream_interval=0.1)


def population(n: int) -> dict[str, Any]:
    """Return people for the survey, whose answers are worth a picture."""
    world = np.random.default_rng(2019)
    age = np.clip(world.normal(44, 16, n), 18, 100)
    ways, towns = SCHEMA["way to work"], SCHEMA["town"]
    assert isinstance(ways, hush.Categorical)
    assert isinstance(towns, hush.Categorical)
    return {
        "age": age,
        "way to work": world.choice(ways.values, n, p=[0.12, 0.22, 0.31, 0.27, 0.08]),
        "income": [None if i % 10 == 3 else income for i, income in enumerate(world.lognormal(10.5, 0.5, n).tolist())],
        "smoker": [("yes", "no", None)[i] for i in world.choice(3, n, p=[0.2, 0.7, 0.1])],
        "region": [f"region {'ABCDEFGHIJKL'[i]}" for i in world.binomial(11, 0.35, n)],
        "town": world.choice(towns.values, n),
    }


def send(served: Served, plan: hush.Plan, answers: Any, number: int) -> None:
    """Send people to a collector, as one batch."""
    rows = batch.randomise(plan, answers)
    answer = served.post(plan, formats.pack(plan, rows, number.to_bytes(16, "big")), formats.COLUMNS)
    assert answer.status_code == 202


@contextmanager
def everything(folder: Path) -> Iterator[Served]:
    """Serve the survey with its people, the other plans, and a training in its third round."""
    everybody = population(PEOPLE)
    plans = (SURVEY, HOSTILE, WIDE)
    with serving(folder, QUICK, plans=plans, trainings={TRAINING: 3}) as found:
        for part in range(8):
            size = PEOPLE // 8
            send(found, SURVEY, {name: column[part * size :][:size] for name, column in everybody.items()}, part)
        assert found.client.get("/pages/vega.js").status_code == 200  # made once; charts need not wait for it then
        client = Client(found.url)
        for i in range(6):  # two rounds of three
            client.train("tiny", {"a": 0.5, "b": -0.25 * (i % 3)}, BOUGHT.values[i % 2], epsilon=4.0, person=str(i))
        yield found


def dashboard(visit: Visit, served: Served, query: str = f"?plan={SURVEY.id}") -> Page:
    page = visit.open(f"{served.url}/dashboard{query}")
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live", timeout=30_000)
    return page


def section(page: Page, attribute: str) -> Locator:
    """Return the part of an attribute, in sight: tables and charts are filled when they are."""
    return scrolled(page.locator(f'[data-testid="attribute"][data-attribute="{attribute}"]'))


def in_sight(page: Page, name: str) -> Locator:
    found = page.get_by_test_id(name)
    fold = page.get_by_test_id("sure")
    for _ in range(10):  # a chart that is drawn meanwhile may move it away under the mouse
        if not fold.get_by_test_id(name).count() or fold.get_attribute("open") is not None:
            break
        fold.locator("summary").first.click()
        page.wait_for_timeout(200)
    return scrolled(found)


def headline(page: Page, attribute: str) -> Locator:
    return page.locator(f'[data-testid="headline"][data-attribute="{attribute}"]')


def by_size(rows: list[hush.Estimate]) -> list[hush.Estimate]:
    """Return shares as the dashboard orders them: those that cannot be told from none last."""
    return sorted(rows, key=lambda row: (row.low <= 0, -row.point))


def count(page: Page) -> int:
    return int((page.get_by_test_id("report-count").text_content() or "").replace(",", ""))


def downloaded(page: Page, button: Locator, name: str = "") -> str:
    with page.expect_download() as waiting:
        button.click()
    assert waiting.value.suggested_filename.endswith(name)
    return Path(waiting.value.path()).read_bytes().decode()
