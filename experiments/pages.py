"""Which pages are slow? A million addresses, a live collector, a million made-up people: `python -m experiments.pages`.

It does what docs/slow-pages.md describes: writes the list and the plan, starts `hush serve` on a free port, lets one
device get the list and answer over HTTP, sends the reports of all others as a batch, and reads the results as the
dashboard does. It prints the time of every step, the slowest pages with their intervals, and how many are right.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import numpy as np

import hush
from hush import batch
from hush.collector import formats
from hush.show.tables import Table, within

SLOWEST = 12  # pages that are shown
SKEW = 1.1  # of Zipf's law
DEVICE = "import sys, hush; url, plan, page = sys.argv[1:]; hush.Client(url).answer(plan, {'slow page': page})"


def addresses(pages: int) -> list[str]:
    """Return the addresses of a made-up site."""
    return [f"https://shop.example/{page % 97:02d}/{page:07d}" for page in range(pages)]


def slow_pages(people: int, pages: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return for each person the page that was slow last: few pages are slow for many people."""
    world = np.random.default_rng(seed)
    weights = 1 / np.arange(1, pages + 1) ** SKEW
    places = np.searchsorted(np.cumsum(weights) / weights.sum(), world.random(people))
    return world.permutation(pages)[np.minimum(places, pages - 1)]


@contextmanager
def step(name: str) -> Iterator[None]:
    """Say how long a step took."""
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:8.2f} s  {name}", flush=True)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run a collector as a process of its own, and yield its address."""
    program = shutil.which("hush", path=str(Path(sys.executable).parent)) or "hush"
    arguments = ["serve", "plan.json", "--store", "pages.db", "--port", "0", "--json", "--reveal-every", "0s"]
    arguments += ["--reveal-least", "0", "--open", "submit,read,submit-batch"]
    with subprocess.Popen([program, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603
        try:
            assert running.stdout is not None
            yield json.loads(running.stdout.readline())["address"]
        finally:
            running.terminate()


def read(url: str | Request) -> Any:
    """Return a document of the collector."""
    with urlopen(url, timeout=300) as answer:  # noqa: S310
        return json.loads(answer.read())


def run(people: int, pages: int, epsilon: float, seed: int = 1) -> dict[str, float]:
    """Collect and look. Return how many pages were told from none, and how many of their intervals are wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder, values = Path(name), addresses(pages)
        with step(f"a list of {pages:,} addresses, and a plan"):
            (folder / "pages.txt").write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
            page = hush.Categorical("slow page", hush.Listed(folder / "pages.txt"), optional=True, other=True)
            plan = hush.design(hush.Schema([page]), epsilon, title="Which page was slow?")
            (folder / "plan.json").write_text(plan.to_json(), encoding="utf-8")
        print(f"          {len(plan.to_json()):,} bytes of plan; {plan.questions[0].channel}")
        chosen = slow_pages(people, pages, seed)
        with step(f"{people:,} devices draw their reports"):
            reports = batch.randomise(plan, {"slow page": np.array(values, dtype=object)[chosen]})
            body = formats.pack(plan, reports, bytes(16))
        with served(folder) as url:
            with step("a device gets plan and list, and answers"):
                subprocess.run([sys.executable, "-c", DEVICE, url, plan.id, values[0]], check=True)  # noqa: S603
            with step(f"the others send theirs: {len(body):,} bytes"):
                request = Request(f"{url}/plans/{plan.id}/reports", body, {"Content-Type": formats.COLUMNS})  # noqa: S310
                read(request)
            with step("a reader asks for the largest shares"):
                found = read(f"{url}/plans/{plan.id}/estimates?intervals=together&top=200")["estimates"]
            with step("a reader searches for one page"):
                wanted = quote(values[int(chosen[0])].rpartition("/")[2])
                read(f"{url}/plans/{plan.id}/estimates?intervals=together&search={wanted}")
    return judged(found, values, chosen)


def judged(
    found: Sequence[dict[str, Any]], values: Sequence[str], chosen: np.ndarray[Any, np.dtype[np.int64]]
) -> dict[str, float]:
    """Print the pages that can be told from none beside the truth, and count what is wrong."""
    counts = np.bincount(chosen, minlength=len(values)) / len(chosen)
    truth = dict(zip(values, counts, strict=True))
    told = [row for row in found if row["low"] > 0]
    shown = []
    for row in told[:SLOWEST]:
        write = within(row["low"], row["high"])
        ends = f"{write(row['low'])} .. {write(row['high'])}"
        shown.append((row["category"], write(row["point"]), ends, write(truth[row["category"]])))
    print(Table(("slow page", "share", "95 % interval", "truth"), shown, texts=1).text())
    wrong = sum(not row["low"] <= truth.get(row["category"], 0.0) <= row["high"] for row in found)
    first = {values[place] for place in np.argsort(-counts, kind="stable")[: len(told)]}
    right = sum(row["category"] in first for row in told)
    print(f"{len(told)} pages can be told from none. {right} of them are among the {len(told)} slowest ones.")
    print(f"{wrong} of {len(found)} intervals are wrong.")
    return {"told": len(told), "right": right, "wrong": wrong}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--epsilon", type=float, default=2.0)
    options = parser.parse_args()
    run(options.people, options.pages, options.epsilon)


if __name__ == "__main__":
    main()
