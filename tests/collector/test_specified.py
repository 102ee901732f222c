"""Every answer that spec/http.md promises is one that a collector gives: a line without a test of it fails."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from hush.collector.http.problems import KINDS
from tests.collector.served import problem
from tests.collector.specified import ASKED, SPECIFIED, At, Row, specified

TEXT = SPECIFIED.read_text(encoding="utf-8")
ROWS = specified(TEXT)
LAST = ("any", "429 too-many")  # after it the collector answers this address no more
# Statuses that stand outside of tables: what a client does after them, and numbers that are no statuses.
SAID = (
    "After 408, 425, 429, 500, 502, 503, 504 or no answer",
    "no more after a 202",
    "After 409 and 507",
    "at most 400;",
    "only the 200 largest",
    "(1 to 400; 32)",
)


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[At]:
    with ExitStack() as stack:
        yield At(tmp_path_factory.mktemp("specified"), stack)


def untested(rows: list[Row]) -> Counter[tuple[str, str]]:
    """The lines that no test asks for."""
    return Counter(row.line for row in rows) - Counter({line: len(made) for line, made in ASKED.items()})


def named(row: Row) -> str:
    return " ".join(row.line)


ORDERED: list[Row] = sorted(ROWS, key=lambda row: row.line == LAST)


def test_every_line_is_tested() -> None:
    assert len(ROWS) > 100
    assert not untested(ROWS)
    extra = Counter({line: len(made) for line, made in ASKED.items()}) - Counter(row.line for row in ROWS)
    assert not extra, "a test of a line that is not there"


def test_a_line_without_a_test_is_noticed() -> None:
    line = "| `GET /plans/PLAN/ticket` (role *submit*) | 404 `not-found` | no |"
    more = specified(f"| request | answer | if |\n|---|---|---|\n{line}\n")
    assert untested([*ROWS, *more]) == {("GET /plans/PLAN/ticket", "404 not-found"): 1}


def test_statuses_stand_in_tables_alone() -> None:
    prose = "\n".join(line for line in TEXT.splitlines() if not line.startswith("|"))
    for said in SAID:
        assert prose.count(said) == 1, said
        prose = prose.replace(said, "")
    assert re.findall(r"(?<![-`\d])\b(?:[245]0\d|30[0-9]|4[0-4]\d)\b(?!`)", prose) == []


def test_every_kind_of_problem_is_in_the_specification() -> None:
    assert {row.kind for row in ROWS if row.kind} == set(KINDS)


@pytest.mark.parametrize("row", ORDERED, ids=named)
def test_the_collector_answers_so(row: Row, at: At) -> None:
    answer = ASKED[row.line][row.number](at)
    assert answer.status_code == row.status, answer.text
    if row.kind:
        if "content-type" in answer.headers:
            problem(answer, row.kind)
        assert answer.json()["type"] == f"urn:hush:problem:{row.kind}"
    elif row.status in (204, 304):
        assert answer.content == b""
    if row.keys is not None:
        assert set(answer.json()) == row.keys
    if "`Retry-After`" in row.when:
        assert int(answer.headers["retry-after"]) >= 1
    for name in ("`Allow`", "`WWW-Authenticate`"):
        assert name not in row.when or answer.headers[name.strip("`")]
