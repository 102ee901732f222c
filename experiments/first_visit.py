"""How long a first visit takes, by a model of a person: `python -m experiments.first_visit` (`--keep`: for the page).

A made-up person answers a real form on a small phone, in Chromium; a made-up operator brings a survey online from a
clone of hush. The machine's seconds are measured. The person's seconds are a model: words that have to be read, taps,
keys and moments of thought, each at a stated pace. Docs/first-visit.md shows the result.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "measured" / "first-visit.json"
PHONE = {"width": 360, "height": 640}
PACES = {
    "word": 60 / 238,  # silent reading of English prose: Brysbaert 2019, J. Memory and Language 109
    "tap": 1.1,  # P of the keystroke-level model: Card, Moran and Newell 1980, Comm. ACM 23(7)
    "key": 0.28,  # K, an average typist without training as a secretary
    "thought": 1.35,  # M, before an answer, before sending and before each command
}
GOALS = {"visitor": 15.0, "operator": 300.0}  # seconds
TRIES, EACH = 90, 3  # new browsers at most, each of which draws its own question, and visits of each question
INIT = (
    'hush init survey --title "spring survey" --number age=18..100 '
    "--category system=linux,mac,windows,other --host-name reports.example.org"
)
SERVE = "hush serve survey/plan.json --store sqlite://survey/hush.db --tokens survey/tokens --open submit --port 8000"

# The words of the main part that can be seen, with the place of their upper edge.
SEEN = r"""() => {
  const found = [];
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (!node.parentElement.checkVisibility({ checkVisibilityCSS: true })) continue;
    for (const { 0: word, index } of node.textContent.matchAll(/\S+/g)) {
      if (!/[\p{L}\p{N}]/u.test(word)) continue;
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const { top, bottom, width } = range.getBoundingClientRect();
      if (width > 1 && bottom > 0 && top < innerHeight) found.push([word, top]);
    }
  }
  return found;
}"""


def seconds(step: dict[str, Any]) -> float:
    """Return what a step costs the person, without the machine."""
    return float(sum(pace * step.get(f"{name}s", 0) for name, pace in PACES.items()))


def waited(one: dict[str, Any]) -> float:
    """Return the seconds of a visit that the machine took."""
    return float(sum(step["machine"] for step in one["steps"]))


def visit(browser: Browser, url: str) -> dict[str, Any]:
    """Answer a form as somebody who never saw it, and return its question and what each step took.

    A word counts as read if it is new on the screen and lies above the lower edge of the button that is pressed next:
    whatever stands below is not in the way. `all` counts every word on the screen.
    """
    context = browser.new_context(viewport=PHONE, locale="en-GB", has_touch=True)  # type: ignore[arg-type]
    try:
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url)
        page.get_by_test_id("form").wait_for()
        machine = time.perf_counter() - start
        field = page.locator(".field:visible")
        name = field.get_attribute("data-attribute")
        button = page.locator("button[type=submit]")
        first, before = _read(page, button, [])
        keys = _answer(page)
        steps = [
            {"step": "open, read, answer", "words": first, "all": before, "taps": 1, "keys": keys, "thoughts": 1},
        ]
        steps[-1]["machine"] = machine
        machine = _pressed(button, page.get_by_test_id("example"))
        steps.append({"step": "go on", "words": 0, "all": 0, "taps": 1, "machine": machine})
        send = page.locator("section button.primary")
        second, then = _read(page, send, [_text(page, "h1")])
        machine = _pressed(send, page.get_by_test_id("done"))
        steps.append(
            {"step": "check, send", "words": second, "all": then, "taps": 1, "thoughts": 1, "machine": machine}
        )
        return {"question": name, "steps": steps}
    finally:
        context.close()


def _text(page: Page, selector: str) -> str:
    return page.locator(selector).inner_text()


def _read(page: Page, button: Any, known: Sequence[str]) -> tuple[int, int]:
    """Count the words down to a button, less those that were known, and all words of the screen."""
    box = button.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= PHONE["height"], "the button is below the first screen"
    found = page.evaluate(SEEN)
    above = [word for word, top in found if top < box["y"] + box["height"]]
    less = sum(len(text.split()) for text in known)
    return len(above) - less, len(found) - less


def _answer(page: Page) -> int:
    """Answer the question that is shown, and return how many keys that takes."""
    field = page.locator(".field:visible")
    if field.locator("input[type=radio]").count():
        field.locator("label").nth(1).tap()
        return 0
    field.locator("input").first.tap()
    page.keyboard.type("41")
    return 2


def _pressed(button: Any, wanted: Any) -> float:
    """Press a button, and return the seconds until the next step is there."""
    start = time.perf_counter()
    button.tap()
    wanted.wait_for()
    return time.perf_counter() - start


def visits(browser: Browser, url: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a visit for each question: of several the one whose machine was fastest, as other work only adds to it.

    Every browser draws its own question, so new browsers come until all have been asked often enough.
    """
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _ in range(TRIES):
        one = visit(browser, url)
        found[one["question"]].append(one)
        if all(len(several) >= EACH for several in found.values()):
            return [min(found[name], key=waited) for name in names]
    raise RuntimeError(f"{TRIES} browsers have not drawn all of {', '.join(names)}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Return a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield started
        finally:
            started.close()


# -- the operator


def words_of(page: str, start: str, end: str) -> int:
    """Count the words of a part of a document, without its commands, which are typed and not read."""
    text = (ROOT / page).read_text(encoding="utf-8").split(start, 1)[1].split(end, 1)[0]
    return len(re.findall(r"\S*\w\S*", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))


def commands() -> list[dict[str, Any]]:
    """Return what the operator reads and types: the way of README.md and docs/deploy.md."""
    return [
        {
            "step": "make an environment",
            "typed": "python3 -m venv .venv",
            "words": words_of("README.md", "## Try it", "## Feat"),
        },
        {"step": "install hush", "typed": ".venv/bin/pip install '.[cli,collector]'", "words": 0},
        {"step": "enter it", "typed": ". .venv/bin/activate", "words": 0},
        {"step": "begin a survey", "typed": INIT, "words": words_of("docs/deploy.md", "# Put", "## In containers")},
        {"step": "start the collector", "typed": SERVE, "words": words_of("docs/deploy.md", "## Close it", "```")},
    ]


def operate(browser: Browser) -> list[dict[str, Any]]:
    """Type the commands in a copy of the clone, and open the form. Return what each step took."""
    with tempfile.TemporaryDirectory() as name:
        clone = Path(name) / "hush"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)  # noqa: S603, S607
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        rows, running = [], None
        try:
            for row in commands():
                start, typed = time.perf_counter(), row.pop("typed")
                shown = ""
                if typed == SERVE:
                    running = _served(clone, environment, typed)
                else:
                    shown = _run(clone, environment, typed)
                rows.append({**row, "keys": len(typed) + 1, "thoughts": 1, "machine": time.perf_counter() - start})
                if typed == INIT:
                    rows[-1]["words"] += len(re.findall(r"\S*\w\S*", shown))
            start = time.perf_counter()
            page = browser.new_page()
            page.goto("http://127.0.0.1:8000/")
            page.get_by_test_id("form").wait_for()
            machine = time.perf_counter() - start
            keys = len("127.0.0.1:8000") + 1
            rows.append({"step": "look at the form", "words": 0, "keys": keys, "thoughts": 1, "machine": machine})
            return rows
        finally:
            if running is not None:
                os.killpg(running.pid, signal.SIGTERM)
                running.wait()


def _shell(clone: Path, typed: str) -> list[str]:
    """Return a command as the shell of the operator runs it."""
    entered = clone / ".venv" / "bin" / "activate"
    return ["bash", "-c", f". {entered} && {typed}" if typed.startswith("hush ") else typed]


def _run(clone: Path, environment: dict[str, str], typed: str) -> str:
    done = subprocess.run(_shell(clone, typed), cwd=clone, env=environment, capture_output=True, text=True)  # noqa: S603
    if done.returncode != 0:
        raise RuntimeError(f"{typed}: {done.stderr}")
    return done.stdout


def _served(clone: Path, environment: dict[str, str], typed: str) -> subprocess.Popen[bytes]:
    running = subprocess.Popen(_shell(clone, typed), cwd=clone, env=environment, start_new_session=True)  # noqa: S603
    try:
        wait_for(lambda: urlopen("http://127.0.0.1:8000/readyz", timeout=1).close())
    except OSError:
        os.killpg(running.pid, signal.SIGTERM)
        raise
    return running


def wait_for(asked: Callable[[], None], patience: float = 60) -> None:
    """Ask until there is an answer."""
    end = time.perf_counter() + patience
    while True:
        try:
            return asked()
        except OSError:
            if time.perf_counter() > end:
                raise
            time.sleep(0.05)


def served_visits(browser: Browser) -> list[dict[str, Any]]:
    """Serve a survey of three kinds of questions, and visit it."""
    program = shutil.which("hush", path=str(Path(sys.executable).parent)) or "hush"
    with tempfile.TemporaryDirectory() as folder:
        asked = ["--yes-no", "smoker", "--category", "system=linux,mac,windows,other", "--number", "age=18..100"]
        made = [program, "init", "survey", "--title", "spring survey", *asked]
        subprocess.run(made, cwd=folder, check=True, capture_output=True)  # noqa: S603
        started = [program, "serve", "survey/plan.json", "--port", "0", "--json"]
        with subprocess.Popen(started, cwd=folder, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603
            try:
                assert running.stdout is not None
                url = json.loads(running.stdout.readline())["address"]
                visit(browser, url)  # the first one warms up browser and collector
                return visits(browser, url, ["smoker", "system", "age"])
            finally:
                running.terminate()


def told(result: dict[str, Any]) -> str:
    """Say how long everything takes."""
    lines = []
    for one in result["visits"]:
        total = sum(seconds(step) + step["machine"] for step in one["steps"])
        lines.append(f"{one['question']}: {total:.1f} s of {GOALS['visitor']:g}")
    if result["operator"]:
        total = sum(seconds(step) + step["machine"] for step in result["operator"])
        lines.append(f"operator: {total:.0f} s of {GOALS['operator']:g}")
    return "\n".join(lines)


def main() -> None:
    """Visit, operate, and print or keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.relative_to(ROOT)}")
    parser.add_argument("--only-visits", action="store_true", help="leave the operator as it was kept")
    options = parser.parse_args()
    with chromium() as browser:
        result: dict[str, Any] = {"load": os.getloadavg()[0], "cores": os.cpu_count(), "visits": served_visits(browser)}
        old = json.loads(KEPT.read_text(encoding="utf-8"))["operator"] if KEPT.exists() else []
        result["operator"] = old if options.only_visits else operate(browser)
    print(told(result))
    if options.keep:
        KEPT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
