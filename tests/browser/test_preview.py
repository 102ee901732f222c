"""A preview of a form shows every step, and sends and keeps nothing: on a collector of its own, or by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright (extra: dev)")

from playwright.sync_api import Page, expect

from hush import Training
from hush.collector.stores.preview import PreviewStore
from tests.browser.forms import form
from tests.browser.surveys import AGE, CHECK, SEND, fill, kept_bytes, review
from tests.browser.surveys import send as send_for_good
from tests.browser.test_train_form import LABEL, SCHEMA
from tests.browser.visits import Visit, check_accessible
from tests.collector.served import Served, anybody, serving

PLAIN = Training("By hand", "logistic", SCHEMA, LABEL, 1.0, 3, 0.5)


@contextmanager
def collector(folder: Path, *, preview: bool) -> Iterator[Served]:
    kind = {"kind": PreviewStore} if preview else {}
    with serving(folder, anybody(preview=preview), plans=(AGE,), trainings={PLAIN: 2}, **kind) as served:  # type: ignore[arg-type]
        yield served


def ends(page: Page) -> None:
    """Press the button that would send."""
    expect(page.get_by_test_id("preview")).to_be_visible()
    page.get_by_role("button", name=SEND).click()
    page.get_by_test_id("preview-done").wait_for()
    expect(page.get_by_test_id("preview-done")).to_contain_text("Nothing has left this page")


@pytest.mark.parametrize("by_address", [True, False])
def test_nothing_is_sent_or_kept(by_address: bool, visit: Visit, tmp_path: Path) -> None:
    with collector(tmp_path, preview=not by_address) as served:
        address = f"{served.url}/?plan={AGE.id}" + ("&preview" if by_address else "")
        page = visit.open(address)
        for again in (False, True):
            fill(page)
            review(page)
            check_accessible(page)
            ends(page)
            check_accessible(page)
            if not again:
                page.get_by_role("button", name="Begin again").click()
                page.get_by_test_id("form").wait_for()
        assert not visit.posts
        assert page.evaluate("indexedDB.databases().then((found) => found.length)") == 0
        # Nobody is kept from answering afterwards.
        if by_address:
            real = form(visit, served, AGE)
            expect(real.get_by_test_id("preview")).to_have_count(0)
            fill(real)
            review(real)
            send_for_good(real)
            assert len(visit.posts) == 1
            assert kept_bytes(real, AGE) != b""
        assert served.tally(AGE).reports == int(by_address)


def test_the_form_of_a_training_too(visit: Visit, tmp_path: Path) -> None:
    with collector(tmp_path, preview=False) as served:
        page = visit.open(f"{served.url}/train?training={quote(PLAIN.title)}&preview")
        page.get_by_label("age", exact=True).fill("41")
        page.get_by_label("mac").check()
        page.get_by_label("income", exact=True).fill("31415")
        page.get_by_label("yes", exact=True).check()
        page.get_by_role("button", name=CHECK).click()
        ends(page)
        assert not visit.posts
        assert served.store.live(PLAIN.title).received == 0


def test_it_says_so_in_every_language(visit: Visit, tmp_path: Path) -> None:
    words = {"de": "Vorschau", "fr": "aperçu", "es": "vista previa", "zh": "预览"}
    with collector(tmp_path, preview=True) as served:
        for language, word in words.items():
            page = visit.open(f"{served.url}/?plan={AGE.id}&lang={language}")
            expect(page.get_by_test_id("preview")).to_contain_text(word)
