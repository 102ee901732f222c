"""The threat model names the test beside each sentence that says that something is withstood."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
HEAD = "| withstood | shown by |"
NOT = "**What it does not do.**"
BELOW = "the block below"
DEFINED = {  # how a file of a language defines a test
    ".py": r"^(?:async )?def {name}\(",
    ".mjs": r"\btest\([\"`](?:\$\{{\w+\}}: )?{name}",
    ".go": r"^func {name}\(t \*testing\.T\)",
}


def sections(text: str) -> dict[str, str]:
    """The text of every section, by its heading."""
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in re.split(r"^## ", text, flags=re.M)[1:]}


def rows(text: str) -> list[tuple[str, str]]:
    """What is withstood, and what shows it."""
    found, within = [], False
    for line in text.splitlines():
        within = line == HEAD or (within and line.startswith("|"))
        if within and line != HEAD and not line.startswith("|---"):
            claim, shown = line.strip("|").rsplit(" | ", 1)
            found.append((claim.strip(), shown.strip()))
    return found


def faults(text: str) -> list[str]:
    """What is wrong with a threat model."""
    found = []
    for heading, section in sections(text).items():
        claims, said, rest = section.partition(NOT)
        if not said or not rest.strip():
            found.append(f"{heading}: says nothing of what hush does not do")
        if not rows(claims):
            found.append(f"{heading}: names nothing that is withstood")
        prose = re.sub(r"```.*?```|^\|.*$|^\*[^*].*?[^*]\*$", "", claims, flags=re.S | re.M)
        prose = re.sub(r"^\*[^*]+\*\s*$", "", prose, flags=re.M)
        if prose.strip():
            found.append(f"{heading}: a claim without a test: {prose.strip()[:60]}")
        for claim, shown in rows(section):
            named = re.findall(r"`([^`]+)`", shown)
            left = re.sub(r"`[^`]+`|,", "", shown).strip()
            if left == BELOW and "```" not in claims:
                found.append(f"{heading}: there is no block below")
            if not named and left != BELOW:
                found.append(f"{heading}: nothing shows that {claim[:60]}")
            found += [f"{heading}: there is no {one}" for one in named if not exists(one)]
    return found


def exists(reference: str) -> bool:
    """Whether a test, or a target of make, is there."""
    if reference.startswith("make "):
        return re.search(rf"^{reference[5:]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M) is not None
    file, _, name = reference.partition("::")
    path = ROOT / file
    if not name or not path.is_file() or path.suffix not in DEFINED:
        return False
    pattern = DEFINED[path.suffix].format(name=re.escape(name))
    return re.search(pattern, path.read_text(encoding="utf-8"), re.M) is not None


def test_every_sentence_that_promises_names_a_test_that_exists() -> None:
    assert not faults(TEXT)
    assert len(rows(TEXT)) > 80


BROKEN = {
    "a test that is not there": ("test_twice.py::test_a_new_key_names_nobody", "test_twice.py::test_a_new_key"),
    "a file that is not there": ("tests/relay/test_twice.py::", "tests/relay/test_thrice.py::"),
    "a title that is not there": (
        "client.test.mjs::a budget that is spent sends nothing",
        "client.test.mjs::a budget is spent",
    ),
    "a function of Go that is not there": ("relay_test.go::TestAReportLeavesSealedOnce", "relay_test.go::TestAReport"),
    "a target that is not there": ("`make check`", "`make checked`"),
    "a file and no test": ("`tests/relay/test_kill.py::test_kill_relay_and_collector`", "`tests/relay/test_kill.py`"),
    "a claim without a test": (
        "| Clients that vanish at any byte leave nothing. | `tests/collector/test_protocol.py::"
        "test_a_client_may_go_at_each_byte` |",
        "| Clients that vanish at any byte leave nothing. | |",
    ),
    "a claim outside of the table": (
        "Somebody looks at one report, or at a handful.*",
        "Somebody looks.*\n\nThe promise holds.",
    ),
    "no limits": ("**What it does not do.** A reader who sends", "A reader who sends"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_threat_model_that_names_too_little_is_caught(how: str) -> None:
    right, wrong = BROKEN[how]
    assert right in TEXT
    assert faults(TEXT.replace(right, wrong))
