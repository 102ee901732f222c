"""The form of a training, in a real browser: features and label stay, one report leaves, once, whatever the round."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Page, expect

import hush
from hush import Training
from hush.core.training.checks import Check
from hush.core.training.stages import phase_from_json
from tests.browser.phones import questions, small_phone
from tests.browser.surveys import SEND, by_keyboard, press_button, review
from tests.browser.visits import Visit, check_accessible, check_width
from tests.collector.served import Served, anybody, serving

SCHEMA = hush.Schema(
    [
        hush.Numeric("age", 18, 90),
        hush.Categorical("os", ["linux", "mac", "other"]),
        hush.Numeric("income", 0, 100_000, out_of_range="clip", optional=True),
    ]
)
LABEL = hush.Categorical("bought", ["no", "yes"])
COURSE = Training.design(SCHEMA, LABEL, epsilon=2.0, people=600_000, title="Who buys?")
WAYS = hush.Categorical("way", ["foot", "bike", "car"])
CLASSES = Training.design(SCHEMA, WAYS, epsilon=2.0, people=3_000_000, title="Which way?")
PLAIN = Training("By hand", "logistic", SCHEMA, LABEL, 1.0, 3, 0.5)
CURVES = Training("Curves", "logistic", SCHEMA, LABEL, 1.0, 3, 0.5, map=hush.RandomMap(12, seed="waves"))
PRIVATE = ("41", "31415", "yes")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    settings = anybody(stream_interval=0.05)
    with serving(tmp_path, settings, plans=(), trainings={PLAIN: 2, CURVES: 2}, courses=(COURSE, CLASSES)) as found:
        yield found


def address(url: str, name: str) -> str:
    return f"{url}/train?training={quote(name)}"


def answer_focused(page: Page, name: str) -> None:
    if name in ("os", "bought", "way"):
        page.keyboard.press("ArrowDown")  # the first was focused; the second is chosen
    else:
        page.keyboard.type({"age": "41", "income": "31415"}[name])


def fill(page: Page) -> list[str]:
    """Fill in the form by keyboard alone, and go on to the review."""
    page.get_by_test_id("form").wait_for()
    names = by_keyboard(page, answer_focused)
    review(page)
    return names


def send(page: Page) -> None:
    press_button(page, SEND)
    page.get_by_test_id("done").wait_for()


def round_of_others(browser: Browser, served: Served) -> None:
    """Let two other people answer: as many as a round needs."""
    for _ in range(2):
        other = Visit(browser)
        page = other.open(address(served.url, "By hand"))
        fill(page)
        send(page)
        other.close()


def received(served: Served, name: str) -> int:
    found: dict[str, Any] = served.client.get("/trainings").json()
    (entry,) = [one for one in found["trainings"] if one["name"] == name]
    return int(entry["received"])


def test_by_keyboard_once_and_nothing_else_leaves(visit: Visit, served: Served) -> None:
    """The pilot's people answer the pilot: the report goes to its first stage, and is one of its plan."""
    page = visit.open(address(served.url, "Who buys?"))
    check_accessible(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Who buys?")
    expect(page.get_by_test_id("about")).to_contain_text("“bought”")
    assert fill(page) == ["age", "os", "income", "bought"]
    check_accessible(page)
    told = page.get_by_test_id("answers").locator("dd").all_text_contents()
    assert told == ["41", "mac", "31,415", "yes"]
    assert not visit.posts
    send(page)
    check_accessible(page)
    expect(page.get_by_role("status")).to_have_text("Your report has arrived. Thank you.")
    (post,) = visit.posts
    assert post.path == "/trainings/Who%20buys%3F/pilot?stage=means"
    now = phase_from_json(served.client.get("/trainings/Who%20buys%3F/round").content)
    assert post.body is not None
    hush.Report.decode(now.plan, post.body)
    assert visit.hosts() == {served.url.removeprefix("http://")}
    for request in visit.asked:  # of the answers nothing is in an address or a header
        assert not any(private in request.url.partition("/train")[2] for private in PRIVATE[:2])
    assert received(served, "Who buys?") == 1


def test_a_reload_and_a_second_tab_answer_once(visit: Visit, served: Served) -> None:
    first, second = (visit.open(address(served.url, "Who buys?")) for _ in range(2))
    fill(first)
    fill(second)  # both tabs are ready
    send(first)
    press_button(second, SEND)
    second.get_by_test_id("done").wait_for()
    expect(second.get_by_role("status")).to_contain_text("The answers from this page were not used.")
    for page in (first, second):
        page.reload()
        page.get_by_test_id("done").wait_for()
        expect(page.get_by_role("status")).to_have_text("This browser has sent its report to this survey already.")
    assert len({post.body for post in visit.posts}) == 1
    assert received(served, "Who buys?") == 1


def test_another_round_asks_nobody_twice(browser: Browser, served: Served) -> None:
    """Two people are a round. The first of them comes back in the second round, and is not asked again."""
    early, late = Visit(browser), Visit(browser)
    page = early.open(address(served.url, "By hand"))
    fill(page)
    send(page)
    other = late.open(address(served.url, "By hand"))
    fill(other)
    send(other)
    assert phase_from_json(served.client.get("/trainings/By%20hand/round").content).number == 2
    page.reload()
    page.get_by_test_id("done").wait_for()
    assert [post.path for post in (*early.posts, *late.posts)] == ["/trainings/By%20hand/gradients?round=1"] * 2
    assert received(served, "By hand") == 0
    early.close()
    late.close()


def test_a_training_with_a_public_map_is_answered(visit: Visit, served: Served) -> None:
    """In a round, whose gradients have a number for every feature, wave and the intercept."""
    page = visit.open(address(served.url, "Curves"))
    fill(page)
    send(page)
    (post,) = visit.posts
    assert post.path == "/trainings/Curves/gradients?round=1"
    now = hush.Round.from_json(served.client.get("/trainings/Curves/round").content)
    assert len(now.weights) == 5 + 12 + 1
    assert post.body is not None
    hush.Report.decode(now.plan, post.body)
    assert received(served, "Curves") == 1


def test_held_out_people_report_a_loss_and_nothing_else(browser: Browser, served: Served) -> None:
    """By a link of their own. The history has their loss, and the model has learned nothing from them."""
    held = Visit(browser)
    for _ in range(2):  # two browsers, or one that comes back, are the same here: the second finds its report
        page = held.open(f"{address(served.url, 'By hand')}&check")
        if not held.posts:
            expect(page.get_by_test_id("about")).to_contain_text("does not learn from it")
            check_accessible(page)
            fill(page)
            send(page)
            check_accessible(page)
        page.get_by_test_id("done").wait_for()
    page = held.open(address(served.url, "By hand"))  # nor in a round
    page.get_by_test_id("done").wait_for()
    (post,) = held.posts
    assert post.path == "/trainings/By%20hand/losses?round=1"
    check = Check.from_json(served.client.get("/trainings/By%20hand/check").content)
    assert post.body is not None
    hush.Report.decode(check.plan, post.body)
    assert received(served, "By hand") == 0
    held.close()
    round_of_others(browser, served)
    (first,) = served.client.get("/trainings/By%20hand/history").json()["rounds"]
    assert first["people"] == 2
    assert first["loss"] is not None


def test_during_the_pilot_there_is_nothing_to_check(visit: Visit, served: Served) -> None:
    visit.allowed = ("Failed to load resource",)
    page = visit.open(f"{address(served.url, 'Who buys?')}&check&lang=de")
    expect(page.get_by_role("status")).to_have_text("Es gibt noch kein Modell. Bitte kommen Sie später wieder.")
    assert not visit.posts


def test_a_report_that_was_lost_on_its_way_is_sent_again(visit: Visit, served: Served) -> None:
    visit.allowed = ("Failed to load resource",)
    page = visit.open(address(served.url, "Who buys?"))
    fill(page)
    page.route("**/pilot?*", lambda route: route.abort())
    press_button(page, SEND)
    page.get_by_test_id("waiting").wait_for()
    check_accessible(page)
    assert received(served, "Who buys?") == 0
    page.unroute("**/pilot?*")
    page.reload()
    page.get_by_test_id("done").wait_for()
    assert len({post.body for post in visit.posts}) == 1
    assert received(served, "Who buys?") == 1


def test_a_report_that_comes_too_late_is_named_so(visit: Visit, browser: Browser, served: Served) -> None:
    visit.allowed = ("Failed to load resource",)
    page = visit.open(address(served.url, "By hand"))
    fill(page)
    page.route("**/gradients?*", lambda route: route.abort())
    press_button(page, SEND)
    page.get_by_test_id("waiting").wait_for()
    round_of_others(browser, served)
    page.unroute("**/gradients?*")
    page.reload()
    expect(page.get_by_test_id("late")).to_contain_text("does not count")
    assert len({post.body for post in visit.posts}) == 1


def test_of_several_classes_one_is_drawn(visit: Visit, served: Served) -> None:
    page = visit.open(address(served.url, "Which way? (class 1)"))
    assert fill(page)[-1] == "way"
    send(page)
    (post,) = visit.posts
    assert re.fullmatch(r"/trainings/Which%20way%3F%20\(class%20[123]\)/pilot\?stage=means", post.path)


def test_a_phone_asks_one_question_after_the_other(browser: Browser, served: Served) -> None:
    with small_phone(browser, address(served.url, "Who buys?"), dark=True) as page:
        for shown in questions(page, 4, "label.choice, input[type=number]"):
            name = shown.get_attribute("data-attribute")
            if name in ("os", "bought"):
                shown.locator("label").nth(1).click()
            elif name == "age":
                shown.locator("input").fill("41")
        page.get_by_role("button", name=SEND).click()
        page.get_by_test_id("done").wait_for()
        check_accessible(page)
        check_width(page)


@pytest.mark.parametrize("name", [None, "Nowhere"])
def test_without_a_name_there_is_a_list(visit: Visit, served: Served, name: str | None) -> None:
    if name is not None:
        visit.allowed = ("Failed to load resource",)
    page = visit.open(f"{served.url}/train" if name is None else address(served.url, name))
    if name is None:
        expect(page.get_by_role("link", name="Who buys?", exact=True)).to_be_visible()
        check_accessible(page)
    else:
        expect(page.get_by_role("status")).to_have_text("There is no open training here.")


def test_the_command_serves_it(visit: Visit, tmp_path: Path) -> None:
    """`hush serve --training` with the file of a course, as an operator calls it."""
    (tmp_path / "course.json").write_text(COURSE.to_json(), encoding="utf-8")
    options = ["--training", "course.json", "--store", "sqlite://h.db", "--port", "0", "--open", "submit,read"]
    command = [sys.executable, "-m", "hush", "serve", *options]
    with subprocess.Popen(  # noqa: S603
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = next(match for line in process.stdout if (match := re.search(r"listening on (http://\S+)", line)))
            page = visit.open(f"{found[1]}/train")
            fill(page)
            send(page)
            assert [post.path for post in visit.posts] == ["/trainings/Who%20buys%3F/pilot?stage=means"]
        finally:
            process.terminate()
