"""Pictures in the form: a logo and one per question, loaded alike whatever was drawn, on a phone and on a desk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, expect

import hush
from hush.collector import images, presentation
from tests.browser.phones import SMALL
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving
from tests.collector.test_images import png

NAMES = ("tea", "coffee", "milk")
PLAN = hush.design(hush.Schema([hush.Boolean(name) for name in NAMES]), 1.0, k=1)
ALL = hush.design(hush.Schema([hush.Boolean(name) for name in NAMES]), 2.0, k=3)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("pictured")
    shown: dict[str, Any] = {"title": "What do you drink?", "logo": {"file": "logo", "alt": "The café <b>Sun</b>"}}
    shown["attributes"] = {name: {"image": {"file": name, "alt": f"A cup of {name}"}} for name in NAMES}
    (folder / "logo").write_bytes(png(300, 60))
    for i, name in enumerate(NAMES):
        (folder / name).write_bytes(png(640, 480, (60 * i, 120, 80)))
    presented: dict[str, presentation.Presentation] = {}
    held: dict[str, bytes] = {}
    for plan in (PLAN, ALL):
        presented[plan.id], found = images.gather(presentation.read(json.dumps(shown).encode(), plan), folder)
        held |= found
    (Path(folder) / "store").mkdir()
    settings = anybody(presentations=presented, images=held)
    with serving(folder / "store", settings, plans=(PLAN, ALL), trainings={}) as found_:
        yield found_


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pictures_stand_beside_their_questions(browser: Browser, served: Served, dark: bool) -> None:
    visit = Visit(browser, dark=dark, phone=True)
    page = visit.context.new_page()
    page.set_viewport_size(SMALL)
    page.goto(f"{served.url}/?plan={ALL.id}")
    page.get_by_test_id("form").wait_for()
    logo = page.get_by_role("img", name="The café <b>Sun</b>")
    expect(logo).to_be_visible()
    shown = page.get_by_role("img", name="A cup of")
    expect(shown).to_have_count(1)
    page.wait_for_function("[...document.images].every((one) => one.naturalWidth > 0)")
    box = page.locator(".field:visible").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= SMALL["height"], "the question is in sight without scrolling"
    check_accessible(page)
    check_width(page)
    desk = visit.context.new_page()
    desk.goto(f"{served.url}/?plan={ALL.id}")
    desk.set_viewport_size({"width": 1120, "height": 820})
    expect(desk.get_by_role("img", name="A cup of")).to_have_count(3)
    check_accessible(desk)
    visit.close()


def test_requests_do_not_tell_which_question_was_drawn(browser: Browser, served: Served) -> None:
    """Everybody loads every picture once, whichever question is asked; showing them asks for nothing."""
    asked = set()
    for _ in range(8):
        visit = Visit(browser)
        page = visit.open(f"{served.url}/?plan={PLAN.id}")
        page.get_by_test_id("form").wait_for()
        expect(page.locator(".field:visible")).to_have_count(1)
        asked.add(page.locator(".field:visible").get_attribute("data-attribute"))
        page.wait_for_function("[...document.images].every((one) => one.naturalWidth > 0)")
        page.get_by_test_id("whole").get_by_role("checkbox").check()
        page.wait_for_timeout(200)
        loaded = [one.path for one in visit.asked if "/image-" in one.path and not one.url.startswith("blob:")]
        assert len(loaded) == len(set(loaded)) == 4
        visit.close()
    assert len(asked) > 1  # all eight the same: 1 in 2187


def test_a_picture_that_does_not_come_leaves_its_words(visit: Visit, served: Served) -> None:
    visit.allowed = ("Failed to load resource",)
    page = visit.context.new_page()
    page.route("**/pages/image-*", lambda route: route.abort())
    page.goto(f"{served.url}/?plan={ALL.id}")
    expect(page.get_by_text("A cup of tea")).to_be_visible()
    expect(page.locator("main img")).to_have_count(0)
    check_accessible(page)
