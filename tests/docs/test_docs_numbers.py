"""Numbers that the documents name in a sentence are those of the program. (Tables are made:
tests/docs/test_docs.py.)"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hush.batch.engine import CHUNK
from hush.collector.timeline import FIRST_WIDTH, MAX_SPANS
from hush.core.plan import MAX_EPSILON
from hush.engines.sql import WHOLE_MEMBERS, WHOLE_SETS
from hush.learn.models import PILOT, PrivateModel
from hush.learn.rules import MAX_ROUNDS, MIN_ROUNDS
from hush.planning.audits.proofs import CELLS

ROOT = Path(__file__).parent.parent.parent
WEB = (ROOT / "web" / "pages" / "form.entry.ts").read_text(encoding="utf-8")
BUILD = (ROOT / "web" / "build.mjs").read_text(encoding="utf-8")


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match[1].replace("_", "")


SENTENCES = [
    ("docs/audit.md", f"up to {CELLS:,} probabilities"),
    ("docs/batch.md", f"Each chunk of {CHUNK} people"),
    ("docs/browser.md", f"what they cost: {found('const CAP = ([0-9]+);', WEB)} for all plans"),
    ("docs/browser.md", f"less than {int(found('const MOST = ([0-9_]+);', BUILD)):,} bytes gzipped"),
    ("docs/collector.md", f"at most {MAX_SPANS} spans of equal width"),
    ("docs/learning.md", f"{100 * PILOT:g} % of the people do not train"),
    ("docs/learning.md", f"there are {MIN_ROUNDS} to {MAX_ROUNDS} rounds"),
    ("docs/scale.md", f"at most {WHOLE_MEMBERS} members, at most {WHOLE_SETS} different ones"),
]


@pytest.mark.parametrize(("page", "sentence"), SENTENCES)
def test_numbers_in_sentences(page: str, sentence: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert sentence in text


def test_numbers_that_are_written_as_words() -> None:
    assert FIRST_WIDTH == 1.0, "docs/collector.md: spans begin with one second"
    assert PrivateModel().validation_fraction == 0.1, "docs/learning.md: a tenth of the people answer only their loss"
    assert float(MAX_EPSILON) == float(found("const CAP = ([0-9]+);", WEB)), "the dearest plan may be answered"
