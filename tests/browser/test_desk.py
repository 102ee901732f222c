"""The operator's page, in a real browser: a token, the budget, and a plan that is closed after a second question."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, expect

import hush
from hush.collector.http.security import hashed
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import anybody, serving

SCHEMA = hush.Schema([hush.Categorical("c", ["a", "b"])])
PLAN = hush.design(SCHEMA, 1.0, title="<b>first</b>")
OTHER = hush.design(SCHEMA, 0.5, title="second")


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, True)])
def test_a_plan_is_closed_after_a_second_question(browser: Browser, tmp_path: Path, dark: bool, phone: bool) -> None:
    visit = Visit(browser, dark=dark, phone=phone)
    visit.allowed = ("status of 401", "status of 403")
    settings = anybody(tokens={"read": frozenset([hashed("reader")]), "admin": frozenset([hashed("chief")])})
    with serving(tmp_path, settings, plans=(PLAN, OTHER), trainings={}) as served:
        page = visit.open(f"{served.url}/desk")
        page.get_by_test_id("token").fill("reader")
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("signin")).to_contain_text("role admin")
        check_accessible(page)
        page.get_by_test_id("token").fill("chief")
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("budget")).to_have_text(
            "One person can spend ε = 1.5 on all open plans (2) and trainings together."
        )
        expect(page.get_by_test_id("health")).to_have_text("Reports are taken now.")
        expect(page.get_by_test_id("storage")).to_contain_text("kB")
        expect(page.get_by_test_id("access")).to_contain_text("read: 1 token; admin: 1 token.")
        row = page.locator(f'[data-plan="{PLAN.id}"]')
        close = row.get_by_role("button", name="Close: <b>first</b>", exact=True)
        close.focus()
        page.keyboard.press("Enter")
        expect(row.get_by_role("button", name="Keep open: <b>first</b>")).to_be_focused()
        check_accessible(page)
        check_width(page)
        page.keyboard.press("Enter")
        expect(close).to_be_focused()
        assert not visit.posts, "nothing is closed before the second answer"
        close.click()
        row.get_by_role("button", name="Close for good: <b>first</b>").click()
        expect(row).to_contain_text("closed")
        expect(page.get_by_test_id("done")).to_have_text("<b>first</b> is closed, with 0 reports.")
        expect(page.get_by_test_id("budget")).to_have_text(
            "One person can spend ε = 0.5 on all open plans (1) and trainings together."
        )
        assert [asked.path for asked in visit.posts] == [f"/plans/{PLAN.id}/close"]
        assert [held.open for held in served.store.plans()] == [False, True]
        assert not any("chief" in asked.url for asked in visit.asked)
        check_accessible(page)
    visit.close()
