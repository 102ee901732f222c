"""What no text that people read may say."""

from __future__ import annotations

import re
from collections.abc import Iterator

NEVER = ("nan", "[-+−]?inf", "infinity", "∞", "undefined", r"\[object \w+\]", "traceback", r"\w+error")
WORDS = re.compile(rf"(?<![\w&-])((?i:{'|'.join(NEVER)})|None(?! of )|null)(?![\w-])")
"""No number, no value, and what programs say of themselves."""
POWERS = re.compile(r"(?<![\w.])\d(\.0+)?e\+0?[0-4](?!\d)")
"""Numbers below 100,000 that are written as powers of ten."""
ZEROS = re.compile(r"(?<![\d.\w])[-−]0(\.0+)?(?![\d.,])(?! %?\.\.)")
"""A zero with a sign."""
BACKWARDS = re.compile(
    r"(?<![\d.,e:+-])(-?\d[\d,]*(?:\.\d+)?) (?:to|–|\.\.) (-?\d[\d,]*(?:\.\d+)?)(?![\d.,e:-]| [A-Z])"
)
"""Something from a number to another one, which is not the day of a month."""


def amiss(text: str) -> Iterator[str]:
    """Yield what is wrong with a text that people read."""
    for pattern, why in ((WORDS, "says"), (POWERS, "writes"), (ZEROS, "writes")):
        found = pattern.search(text)
        if found:
            yield f"{why} {found[0]!r}: {_around(text, found)}"
    for found in BACKWARDS.finditer(text):
        low, high = (float(part.replace(",", "")) for part in found.groups())
        if low > high:
            yield f"goes from more to less: {_around(text, found)}"
            return


def _around(text: str, found: re.Match[str]) -> str:
    return " ".join(text[max(0, found.start() - 60) : found.end() + 40].split())
