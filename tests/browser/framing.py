"""A site that shows the form in a frame, and writes down everything that it can see of its visitors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Frame, Page

import hush
from tests.browser.visits import Visit
from tests.collector.served import Served

# Questions as unlike as they can be: two buttons, twelve, a box, a list of boxes, a text, three parts of a date.
SCHEMA = hush.Schema(
    [
        hush.Boolean("member"),
        hush.Categorical("shop", [f"the shop with the very long name that has the number {i}" for i in range(12)]),
        hush.Numeric("age", 18, 100),
        hush.Choices("papers", [f"paper {letter}" for letter in "abcdefghij"], most=3),
        hush.Text("job", alphabet="english", length=12),
        hush.Date("moved in", "1950-01-01", "2029-12-31"),
    ]
)
PLAN = hush.design(SCHEMA, 2.0, title="In a frame", k=1)
NAMES = SCHEMA.names

# Words that follow from a number, so that the device draws the question that the test wants.
SEEDED = """(seed) => {
    crypto.getRandomValues = (into) => {
        let state = BigInt(seed) + 1n; // at every call: it does not matter who asks before
        for (let i = 0; i < into.length; i++) {
            state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
            into[i] = into instanceof BigUint64Array ? state ^ (state >> 29n) : Number((state >> 33n) & 255n);
        }
        return into;
    };
}"""

SEARCH = """async ([id, wanted]) => {
    const hush = await import("/pages/hush.js");
    const plan = await new hush.Client(location.origin).plan(id);
    const found = {};
    for (let seed = 0; Object.keys(found).length < wanted && seed < 500; seed++) {
        (SEEDED)(seed);
        const ledger = await hush.Ledger.open({ cap: 16, store: new hush.MemoryStore() });
        const [name] = hush.askedBy(plan, (await ledger.ask(plan)).id);
        found[name] ??= seed;
    }
    return found;
}"""

# Everything that a page of another origin is told of a frame: events, sizes, the history, where the focus is, requests.
SPY = """
<script>
const seen = [];
const note = (...what) => seen.push(what.join(" "));
const events = ["message", "messageerror", "focus", "blur", "focusin", "focusout", "resize", "hashchange", "popstate",
  "pagehide", "beforeunload", "wheel", "keydown", "keyup", "input", "click", "visibilitychange", "fullscreenchange",
  "securitypolicyviolation", "error", "unhandledrejection", "scrollend"];
for (const name of events) {
  const told = (event) => note(name, name === "message" ? JSON.stringify(event.data) : "");
  if (name !== "scrollend") addEventListener(name, told, true);
}
let low = 0, high = 0;
const look = () => { low = Math.min(low, scrollY); high = Math.max(high, scrollY); };
addEventListener("scroll", look, true);
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.name.includes("favicon")) note("request", one.initiatorType, one.name);
}).observe({ type: "resource", buffered: true });
addEventListener("DOMContentLoaded", () => {
  const frame = document.querySelector("iframe");
  frame.addEventListener("load", () => note("load"));
  new ResizeObserver(([{ contentRect }]) => note("size", contentRect.width, contentRect.height)).observe(frame);
});
/** What was seen since the last call, and how things stand. */
function taken() {
  look();
  const frame = document.querySelector("iframe");
  const state = { length: history.length, frames: frames.length, within: frame.contentWindow.length,
    active: document.activeElement.tagName, scroll: [low, scrollY, high], height: document.body.scrollHeight,
    style: frame.getAttribute("style") };
  [low, high] = [scrollY, scrollY];
  return JSON.stringify({ seen: seen.splice(0), ...state }, undefined, 1);
}
</script>
"""
ABOVE = '<p style="height: 420px">A shop <button id="before">before</button></p>'
BELOW = '<p style="height: 3000px"><button id="after">after</button></p>'

# Gives an answer of whatever kind, by the form's own controls.
ANSWER = """() => {
    const shown = [...document.querySelectorAll(".field")].filter((field) => !field.hidden);
    for (const field of shown) {
        const boxes = [...field.querySelectorAll("input[type=radio], input[type=checkbox]")];
        if (boxes.length) boxes[1].click();
        for (const input of field.querySelectorAll("input:not([type=radio]):not([type=checkbox]), select")) {
            if (input.tagName === "SELECT") input.value = input.options[2].value;
            else if (input.inputMode === "numeric") input.value = input.maxLength === 4 ? "1999" : "12"; // of a date
            else input.value = input.type === "text" ? "baker" : "41";
            for (const name of ["input", "change"]) input.dispatchEvent(new Event(name, { bubbles: true }));
        }
    }
    return shown.map(({ dataset }) => dataset.attribute);
}"""


def seeds(visit: Visit, served: Served, plan: hush.Plan = PLAN) -> dict[str, int]:
    """A number for each question, by which a browser draws it."""
    page = visit.open(f"{served.url}/explanation")
    script = SEARCH.replace("SEEDED", SEEDED)
    found: dict[str, int] = page.evaluate(script, [plan.id, len(plan.schema.names)])
    page.close()
    return found


def site(folder: Path, served: Served) -> None:
    """Write the pages of the site: one with a wide frame, and one with a frame as narrow as a phone."""
    script = f'<script src="{served.url}/pages/embed.js" data-plan="{PLAN.id}"></script>'
    for name, width in (("index", "auto"), ("narrow", "15rem")):
        frame = f'<div style="width: {width}">{script}</div>'
        text = f"<!doctype html><title>A shop</title>{SPY}<style>body{{margin:0}}</style>{ABOVE}{frame}{BELOW}"
        (folder / f"{name}.html").write_text(text, encoding="utf-8")


class Visitor:
    """One visit of the page in a browser of its own, and what the site has seen after each step."""

    def __init__(self, browser: Browser, address: str, seed: int, *scripts: str) -> None:
        self.visit = Visit(browser)
        self.visit.missing = (f"{address.rpartition('/')[0]}/favicon.ico",)
        for script in (f"({SEEDED})({seed})", *scripts):
            self.visit.context.add_init_script(f"if (parent !== window) {{ {script} }}")
        self.page: Page = self.visit.context.new_page()
        self.page.set_viewport_size({"width": 900, "height": 700})
        self.page.goto(address)
        self.trace: list[dict[str, Any]] = []

    @property
    def frame(self) -> Frame:
        return self.page.frames[1]

    def step(self, name: str, pause: int = 250) -> None:
        """Note what the site has seen."""
        self.page.wait_for_timeout(pause)
        found = json.loads(self.page.evaluate("taken()"))
        self.trace.append({"step": name} | found | {"seen": sorted(found["seen"])})  # two processes: in any order

    def keys(self, *keys: str) -> None:
        for key in keys:
            parts = key.split("+")
            for part in parts:
                self.page.keyboard.down(part)
            if key.endswith("Tab"):  # who hears that a key goes up must not depend on who is faster
                self.page.wait_for_function("document.activeElement.tagName === 'IFRAME'")
            self.page.wait_for_timeout(60)
            for part in reversed(parts):
                self.page.keyboard.up(part)

    def walk(self) -> list[str]:
        """Do what a visitor may do. Return the questions that were asked."""
        page, frame = self.page, self.frame
        frame.get_by_test_id("form").wait_for()
        self.step("opened", 500)
        page.mouse.move(100, 600)
        for by in (250, 4000, 4000, -100):
            page.mouse.wheel(0, by)
            page.wait_for_timeout(60)
        self.step("wheel over the frame", 500)
        page.evaluate("scrollTo(0, 0); look()")  # an event may come after the next key
        for place, key in (("before", "Tab"), ("after", "Shift+Tab"), ("before", "Tab")):
            page.evaluate(f"document.getElementById('{place}').focus({{ preventScroll: true }})")
            page.evaluate("scrollTo(0, 0); look()")  # an event may come after the next key
            self.step(f"focus {place}")
            self.keys(key)
            self.step(f"{key} into the frame")
        self.keys("Tab", "Tab", "Tab")
        self.step("further within")
        page.evaluate("scrollTo(0, 0); look()")  # an event may come after the next key
        self.keys("Tab", "PageDown", "End", "PageUp", "Home")
        self.step("keys that scroll", 500)
        asked: list[str] = frame.evaluate(ANSWER)
        for button in ("button[type=submit]", "button.primary"):
            frame.evaluate(f"document.querySelector('{button}').click()")
            self.step(f"{button} was pressed")
        frame.get_by_test_id("done").wait_for()
        self.step("sent")
        frame.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        self.step("unfolded")
        page.reload()
        self.page.frames[1].get_by_test_id("done").wait_for()
        self.step("opened again", 500)
        return asked

    def close(self) -> None:
        self.visit.close()


def walked(browser: Browser, address: str, seed: int, *scripts: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Visit, and return the questions that were asked, and what the site has seen."""
    visitor = Visitor(browser, address, seed, *scripts)
    try:
        return visitor.walk(), visitor.trace
    finally:
        visitor.close()


def unlike(traces: Sequence[list[dict[str, Any]]]) -> dict[str, list[str]]:
    """Return what differs between visitors, by the step: all that the site has seen of it."""
    found: dict[str, list[str]] = {}
    for steps in zip(*traces, strict=True):
        for key in steps[0]:
            seen = [json.dumps(step[key]) for step in steps]
            if len(set(seen)) > 1:
                found[f"{steps[0]['step']}: {key}"] = seen
    return found
