"""The form asks "which of these?" by check boxes, or about the drawn value alone; the dashboard shows every share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Browser, Locator, Page, expect

import hush
from hush import batch
from hush.collector import formats, presentation
from hush.core.word_views import Member
from tests.browser.phones import questions, small_phone
from tests.browser.surveys import CHECK, SEND, press_button, send, shown_bytes
from tests.browser.visits import Visit, check_accessible, check_width, scrolled
from tests.collector.served import Served, anybody, serving

VALUES = ("tv", "radio", "web", "paper", "phone", "post")
USES = hush.Schema([hush.Choices("uses", VALUES, most=2, optional=True)])
PICKS = hush.design(USES, 1.0, title="Picks", choices="picks")
MEMBERS = hush.design(USES, 1.0, title="Members", choices="members")
SOME = hush.design(USES, 4.0, title="Two members", choices="members", k=2)
MIXED = hush.design(  # other questions beside it, all of them asked
    hush.Schema([hush.Boolean("smokes"), hush.Choices("reads", ["<b>news</b>", "books"])]),
    16.0,
    title="Mixed",
    k=3,
    choices="members",
)
ONE = hush.design(hush.Schema([hush.Choices("uses", VALUES, most=1)]), 1.0, title="One", choices="picks")
LABELS = {"tv": "Television", "web": "The web"}
QUESTION = "Which of these do you use?"
SHOWN: dict[str, Any] = {
    "attributes": {"uses": {"question": QUESTION, "labels": LABELS, "order": list(reversed(VALUES))}}
}
NONE, UNSAID = "None of these", "(I would rather not say)"
PEOPLE = 60_000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    shown = {plan.id: presentation.read(json.dumps(SHOWN).encode(), plan) for plan in (PICKS, MEMBERS, SOME)}
    settings = anybody(stream_interval=0.05, presentations=shown)
    plans = (PICKS, MEMBERS, SOME, MIXED, ONE)
    with serving(tmp_path_factory.mktemp("choices"), settings, plans=plans, trainings={}) as found:
        yield found


def opened(visit: Visit, served: Served, plan: hush.Plan, language: str = "en") -> Page:
    page = visit.open(f"{served.url}/?plan={plan.id}&lang={language}")
    page.get_by_test_id("form").wait_for()
    return page


def reach(page: Page, words: str) -> None:
    """Go to a box or a button by keyboard."""
    for _ in range(40):
        if page.evaluate("document.activeElement.closest('label')?.textContent") == words:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{words} cannot be reached")


def tick(page: Page, words: str) -> None:
    reach(page, words)
    page.keyboard.press("Space")


def boxes(page: Page) -> Locator:
    return page.locator("[data-attribute=uses] .choice")


def answers(page: Page) -> list[str]:
    return page.get_by_test_id("answers").locator("dd").all_text_contents()


def drawn(page: Page, plan: hush.Plan) -> list[str]:
    """Return the values that the browser has drawn, read from its ledger and dealt a second time by Python."""
    found: str = page.evaluate(
        """async (id) => {
            const open = indexedDB.open("hush ledger");
            const db = await new Promise((done) => (open.onsuccess = () => done(open.result)));
            const request = db.transaction("book").objectStore("book").get(0);
            const book = await new Promise((done) => (request.onsuccess = () => done(request.result)));
            db.close();
            return book.asked[id].id;
        }""",
        plan.id,
    )
    return list(hush.Asked(plan, bytes.fromhex(found)).members.get("uses", ()))


def label(value: str) -> str:
    return LABELS.get(value, value)


def test_picks_at_a_desk_by_keyboard(visit: Visit, served: Served) -> None:
    page = opened(visit, served, PICKS)
    expect(boxes(page)).to_have_text([*(label(value) for value in reversed(VALUES)), NONE, UNSAID])
    group = page.get_by_role("group", name=QUESTION)
    expect(group).to_contain_text("choose all that apply, 2 at most")
    check_accessible(page)
    tick(page, "The web")
    tick(page, "Television")
    check_accessible(page)
    press_button(page, CHECK)
    assert answers(page) == ["The web, Television"]
    example = page.get_by_test_id("example")
    expect(example).to_contain_text("This report is about uses.")
    expect(example).to_contain_text("The answer names “")
    expect(example).to_contain_text("after your list was filled up with blanks")
    expect(example.locator(".bar.mine")).to_have_count(1)  # their own list is among those that are compared
    check_accessible(page)
    before = served.tally(PICKS).reports
    press_button(page, SEND)
    page.get_by_test_id("done").wait_for()
    check_accessible(page)
    report = hush.Report.decode(PICKS, shown_bytes(page))
    written = page.get_by_test_id("report").locator("pre").last.text_content()
    assert written is not None
    assert hush.Report.from_json(PICKS, written) == report
    assert [post.body for post in visit.posts] == [report.encode()]
    assert served.tally(PICKS).reports == before + 1


def test_one_tick_too_many_is_said_at_once(visit: Visit, served: Served) -> None:
    page = opened(visit, served, PICKS)
    problem = page.locator("[data-attribute=uses] .error")
    for value in ("radio", "paper"):
        tick(page, value)
    expect(problem).to_be_hidden()
    boxes(page).filter(has_text="phone").click()
    expect(problem).to_have_text("choose 2 at most: now it is 3")
    check_accessible(page)
    page.get_by_role("button", name=CHECK).click()
    expect(page.get_by_test_id("problems")).to_contain_text(f"{QUESTION}: choose 2 at most: now it is 3")
    expect(page.get_by_test_id("answers")).to_have_count(0)
    check_accessible(page)
    boxes(page).filter(has_text="paper").click()
    expect(problem).to_be_hidden()
    page.get_by_role("button", name=CHECK).click()
    assert answers(page) == ["phone, radio"]


@pytest.mark.parametrize("words", [NONE, UNSAID])
def test_none_and_no_answer_stand_alone(visit: Visit, served: Served, words: str) -> None:
    page = opened(visit, served, PICKS)
    page.get_by_role("button", name=CHECK).click()  # nothing is ticked: that may have been overlooked
    expect(page.get_by_test_id("problems")).to_contain_text("choose what applies, or “None of these”")
    tick(page, "radio")
    boxes(page).filter(has_text=words).click()
    expect(page.locator("[data-attribute=uses] input:checked")).to_have_count(1)
    page.get_by_role("button", name=CHECK).click()
    assert answers(page) == [words]
    expect(page.get_by_test_id("example").locator(".bar.mine")).to_have_count(1)
    before = served.tally(PICKS).reports
    send(page)
    hush.Report.decode(PICKS, shown_bytes(page))
    assert served.tally(PICKS).reports == before + 1


@pytest.mark.parametrize("answer", ["Yes", "No", UNSAID])
def test_members_ask_about_the_drawn_value_alone(visit: Visit, served: Served, answer: str) -> None:
    page = opened(visit, served, MEMBERS)
    (value,) = drawn(page, MEMBERS)
    question = f"{QUESTION} – Is “{label(value)}” among them?"
    expect(page.get_by_role("group", name=question, exact=True)).to_be_visible()
    expect(boxes(page)).to_have_text(["Yes", "No", UNSAID])
    expect(page.locator(".promise")).to_contain_text("has drawn this question of the 6 for you")
    check_accessible(page)
    page.get_by_role("button", name=CHECK).click()
    expect(page.get_by_test_id("problems")).to_contain_text(f"{question}: choose one")
    reach(page, "Yes")
    page.keyboard.press("Space")
    for _ in range(["Yes", "No", UNSAID].index(answer)):
        page.keyboard.press("ArrowDown")
    press_button(page, CHECK)
    assert page.get_by_test_id("answers").locator("dt").all_text_contents() == [question]
    assert answers(page) == [answer]
    example = page.get_by_test_id("example")
    expect(example).to_contain_text(f"This report is about uses: {label(value)} only.")
    expect(example).to_contain_text("The answer names “")
    expect(example).to_contain_text("someone who")
    expect(example.locator("tbody th")).to_have_text(["Yes", "No", UNSAID])
    expect(example.locator(".bar.mine")).to_have_count(1)
    check_accessible(page)
    before = served.tally(MEMBERS).reports
    press_button(page, SEND)
    page.get_by_test_id("done").wait_for()
    check_accessible(page)
    report = hush.Report.decode(MEMBERS, shown_bytes(page))
    ((index, _),) = report.answers
    (view,) = MEMBERS.questions[index].views
    assert view == Member("uses", value)
    assert served.tally(MEMBERS).reports == before + 1


def test_two_drawn_values_are_boxes(visit: Visit, served: Served) -> None:
    page = opened(visit, served, SOME)
    values = drawn(page, SOME)
    assert len(values) == 2
    shown = [label(value) for value in reversed(VALUES) if value in values]
    expect(boxes(page)).to_have_text([*shown, NONE, UNSAID])
    expect(page.get_by_role("group", name=QUESTION)).to_contain_text("choose all that apply")
    tick(page, shown[1])
    press_button(page, CHECK)
    assert answers(page) == [shown[1]]
    before = served.tally(SOME).reports
    send(page)
    assert len(hush.Report.decode(SOME, shown_bytes(page)).answers) == 2
    assert served.tally(SOME).reports == before + 1


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("plan", [PICKS, MEMBERS, MIXED], ids=["picks", "members", "mixed"])
def test_on_a_phone(browser: Browser, served: Served, plan: hush.Plan, dark: bool) -> None:
    with small_phone(browser, f"{served.url}/?plan={plan.id}&lang=en", dark=dark) as page:
        for shown in questions(page, len(plan.schema), "label.choice"):
            shown.locator("label.choice").first.click()
        check_accessible(page)
        check_width(page)
        page.get_by_role("button", name=SEND).click()
        page.get_by_test_id("done").wait_for()
        check_accessible(page)
        check_width(page)
        hush.Report.decode(plan, shown_bytes(page))


def test_how_many_may_be_ticked_is_said(visit: Visit, served: Served) -> None:
    page = opened(visit, served, ONE)
    expect(page.locator("[data-attribute=uses] .small")).to_have_text("choose one at most")
    page = opened(visit, served, MIXED)
    expect(page.locator("[data-attribute=reads] .small")).to_have_text("choose all that apply")
    expect(page.locator("[data-attribute=reads] .choice")).to_have_text(["<b>news</b>", "books", NONE])


@pytest.mark.parametrize(
    ("language", "none", "words"),
    [
        ("de", "Keines davon", "Ist „{}“ dabei?"),
        ("fr", "Aucun de ceux-ci", "« {} » en fait-il partie ?"),
        ("es", "Ninguno de estos", "¿Está «{}» entre ellos?"),
        ("zh", "以上都不是", "其中有“{}”吗？"),
    ],
)
def test_in_the_language_of_the_reader(visit: Visit, served: Served, language: str, none: str, words: str) -> None:
    page = opened(visit, served, PICKS, language)
    expect(boxes(page).nth(len(VALUES))).to_have_text(none)
    page = opened(visit, served, MEMBERS, language)
    (value,) = drawn(page, MEMBERS)
    expect(page.locator("[data-attribute=uses] legend")).to_have_text(f"{QUESTION} – {words.format(label(value))}")


def lists(number: int) -> list[list[str] | None]:
    """Return lists of people: half use tv, a quarter the web too, and a tenth do not say."""
    kinds: list[list[str] | None] = [["tv"], ["tv", "web"], ["web", "radio"], [], None]
    return [kinds[place] for place in (0, 0, 0, 1, 1, 2, 2, 3, 3, 4)] * (number // 10)


@pytest.mark.parametrize("plan", [PICKS, MEMBERS], ids=["picks", "members"])
def test_the_dashboard_shows_the_share_of_every_value(visit: Visit, served: Served, plan: hush.Plan) -> None:
    rows = batch.randomise(plan, {"uses": lists(PEOPLE)})
    assert served.post(plan, formats.pack(plan, rows, plan.id[:16].encode()), formats.COLUMNS).status_code == 202
    page = visit.open(f"{served.url}/dashboard?plan={plan.id}")
    expect(page.get_by_test_id("connection")).to_have_attribute("data-state", "live", timeout=30_000)
    card = page.locator('[data-testid="headline"][data-attribute="uses"]')
    tally = served.tally(plan)
    found = {row.category: row for row in hush.estimate(tally, simultaneous=True)}
    assert list(found) == [*VALUES, "(missing)"]
    for value in ("tv", "web", "radio"):
        row = found[value]
        assert row.low > 0, "a share that is told from none"
        line = card.locator("li", has_text=f"{value}: between")
        expect(line).to_have_count(1)
        ends = re.findall(r"[\d.]+", line.inner_text())
        assert float(ends[0]) <= 100 * row.low < 100 * row.high <= float(ends[1]), "rounded outwards"
    expect(card).to_contain_text("cannot be told from none")
    part = page.locator('[data-testid="attribute"][data-attribute="uses"]')
    expect(part).to_contain_text("Any of 6 values, or missing: each has a share of its own")
    scrolled(part)
    expect(part).to_contain_text("All 7 intervals hold at once with 95 % probability.")
    check_accessible(page)


def test_a_card_speaks_of_both_of_two_values(visit: Visit, served: Served) -> None:
    """Of two categories one says it all; two values of choices have a share each."""
    people = {"smokes": [True, False] * 5000, "reads": [["<b>news</b>", "books"], ["books"]] * 5000}
    rows = batch.randomise(MIXED, people)
    assert served.post(MIXED, formats.pack(MIXED, rows, b"m" * 16), formats.COLUMNS).status_code == 202
    page = visit.open(f"{served.url}/dashboard?plan={MIXED.id}")
    card = page.locator('[data-testid="headline"][data-attribute="reads"]')
    expect(card.locator("li")).to_have_count(2)
    expect(card.locator("li").first).to_contain_text("books: between")
    expect(page.locator('[data-testid="headline"][data-attribute="smokes"] .main')).to_contain_text("Yes: between")
