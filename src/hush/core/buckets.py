"""Reports as buckets of a histogram, for systems that add up histograms and show nothing else.

If each person answers one question, a report is one of finitely many: pairs of a question and an output. They are
numbered question by question, and the outputs of a question in increasing order. How often each number was reported is
all that a tally needs. It is also all that a shuffled batch shows, so its promise is that of `hush.shuffle`.
"""

from __future__ import annotations

from functools import lru_cache

from hush.core.channels import Output
from hush.core.plan import Plan


class Buckets:
    """The numbers of all reports of a plan. A plan for which `plan.buckets` raises a PlanError has none."""

    def __init__(self, plan: Plan) -> None:
        self.size = plan.buckets  # refused before anything is listed
        self.outputs = tuple(question.channel.alphabet.listed() for question in plan.questions)
        self._places: dict[tuple[int, Output], int] = {}
        for index, outputs in enumerate(self.outputs):
            for output in outputs:
                self._places[index, output] = len(self._places)

    def place(self, answer: tuple[int, Output]) -> int:
        """Return the number of an answer, from 0 on."""
        return self._places[answer]


@lru_cache(maxsize=64)
def buckets_of(plan: Plan) -> Buckets:
    """Return the numbers of all reports of a plan."""
    return Buckets(plan)
