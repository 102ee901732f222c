"""The tally that assumed people would leave, with every question counted: predictions of relations need fewer."""

from __future__ import annotations

from typing import Any

import hush
from hush.planning.expected import Crowd


class Everybody(Crowd):
    """A crowd of which every question is read."""

    def _is_read(self, index: int) -> bool:
        return True


def expected(plan: hush.Plan, people: int, guesses: dict[str, Any] | None = None) -> hush.Tally:
    """Return the tally of the average counts of this many people."""
    return Everybody(plan, guesses).tally(people)
