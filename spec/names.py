"""Names of trainings: their subjects, and which plans belong to them. Written by hand, not computed."""

from __future__ import annotations

from typing import Any

SUBJECTS = {
    "h": "h",
    "h (class 1)": "h",
    "h (class 12) (class 3)": "h",
    "h (class 1) ": "h (class 1) ",
    "h (class 1)x": "h (class 1)x",
    "h (class )": "h (class )",
    "h (class -1)": "h (class -1)",
    "h(class 1)": "h(class 1)",
    "h (Class 1)": "h (Class 1)",
    "h (class \u0661)": "h (class \u0661)",  # a digit, but none from 0 to 9
    " (class 1)": "",
    "(class 1) h": "(class 1) h",
    "Wege \u2602 (class 2)": "Wege \u2602",
}
BELONG = (
    *("h [s]: round 1", "h []]: [x]: means", "h [a [b]: class 2, loss 3", "h []: x", "h [x] [s]: round 1"),
    *("h (class 1) [s]: round 2", "h (class 1) (class 2) [s]: class 3, shares", "h [\U0001f642]: round 1"),
)
OTHERS = (
    *("h", "h [s]", "h [s]:round 1", "h[s]: round 1", "hh [s]: round 1", "ah [s]: round 1", "H [s]: round 1"),
    *("h (class 1)x [s]: round 1", "h (class \u0661) [s]: round 1", "h: [s]", "", " [s]: round 1", "h x [s]: round 1"),
)


def names() -> dict[str, Any]:
    """The whole file."""
    plans = [("h", title, True) for title in BELONG] + [("h", title, False) for title in OTHERS]
    plans += [("h (class 1)", title, True) for title in BELONG] + [("h (class 1)", title, False) for title in OTHERS]
    plans += [("a.b*", "a.b* [s]: round 1", True), ("a.b*", "axbb [s]: round 1", False), ("h", "h [\n]: x", True)]
    return {
        "about": "subjects of trainings: see spec/training.md",
        "subjects": [{"name": name, "subject": subject} for name, subject in SUBJECTS.items()],
        "plans": [{"name": name, "title": title, "belongs": belongs} for name, title, belongs in plans],
    }
