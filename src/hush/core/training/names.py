"""Names of trainings, as a device compares them.

An app names a training, and a server chooses all else. It chooses the seed, and for the name `h (class 1)` also whether
the title is `h`, with a class that is told apart, or `h (class 1)` without one. If a device went by the seed or by the
title, a server could change either, and a device that tries again would make a second report. So a device goes by the
*subject*: the name without classes at its end. Both titles have the same one, and so do all classes of one course.
"""

from __future__ import annotations

import re

_CLASSES = r"(?: \(class [0-9]+\))*"


def subject(name: str) -> str:
    """Return a name of a training without classes at its end."""
    return re.sub(rf"{_CLASSES}\Z", "", name)


def plans_under(name: str) -> re.Pattern[str]:
    """Return a pattern of the beginnings of titles: those of all plans of all trainings with the subject of this name.

    Seeds may contain anything, so the trainings `h` and `h [x]` cannot be told apart by the title of a plan. A device
    that has answered `h [x]` therefore does not answer `h`.
    """
    return re.compile(rf"{re.escape(subject(name))}{_CLASSES} \[.*\]: ", re.DOTALL)
