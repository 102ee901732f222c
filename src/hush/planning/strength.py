"""The words for a promise: one table for all texts, languages and pages. A test compares them."""

from __future__ import annotations

from fractions import Fraction

STRENGTHS = ((1, "strong"), (2, "fair"))
"""Up to which epsilon a promise has which word. As in web/pages/words.ts."""
WEAK = "weak"
"""The word for all others."""


def strength(epsilon: float) -> str:
    """Return the word for what somebody is promised at this epsilon."""
    return next((word for most, word in STRENGTHS if Fraction(epsilon) <= most), WEAK)


def rule() -> str:
    """Return the table in words."""
    ends = ", ".join(
        f"up to {most} {'is ' if place == 0 else ''}{word}" for place, (most, word) in enumerate(STRENGTHS)
    )
    return f"{ends}, above {STRENGTHS[-1][0]} {WEAK}"
