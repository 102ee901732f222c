"""From an engine's totals to a checked tally.

Engines count, and this module checks. Messages name the attribute, the rule and the number of rows that break it, never
their contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from hush.core.channels.alphabet import Alphabet, Subsets, members
from hush.core.columnar import WORD_BITS, named
from hush.engines.sql import Layout
from hush.errors import ReportError, TallyError
from hush.server.tally import MAX_REPORTS, Tally


class Totals:
    """The result of a layout's query, row by row, and the faults in it."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.counts = [alphabet.zeros() for alphabet in layout.alphabets]
        self.rows = [[0] * parts for parts in layout.parts]
        self.nulls = 0
        self.strangers = 0
        self.faults: Counter[tuple[int, str]] = Counter()

    def add(self, row: Sequence[Any]) -> None:
        """Take one row of the query's result."""
        question, part, output, nothing, n, present, *sums = row
        if nothing:
            self.nulls += n
            return
        self.nulls += n - present
        if question is None:
            self.strangers += n
            return
        # A group is either counted whole, or its only output is NULL and it has nothing but sums.
        self.rows[question][part] += n
        if self.layout.whole[question]:
            self._add_whole(question, output, present)
        else:
            rules = self.layout.rules
            for rule, broken in zip(rules, sums, strict=False):
                self.faults[question, rule.text] += broken
            start = WORD_BITS * part
            counts = self.counts[question]
            for member, ones in enumerate(sums[len(rules) :][: len(counts) - start], start):
                counts[member] += ones

    def _add_whole(self, question: int, output: int | None, n: int) -> None:
        alphabet = self.layout.alphabets[question]
        if output is None:
            self.faults[question, _range(alphabet)] += n
            return
        answer = members(output) if isinstance(alphabet, Subsets) else output
        try:
            alphabet.check(answer)
        except ReportError as error:
            self.faults[question, str(error)] += n
            return
        for member in answer if isinstance(answer, tuple) else (answer,):
            self.counts[question][member] += n

    def tally(self) -> Tally:
        """Return the tally, or refuse the rows."""
        plan = self.layout.plan
        if self.nulls:
            raise ReportError(f"no value may be null: {_rows(self.nulls)}")
        if self.strangers:
            raise ReportError(
                f"a row must answer a question of the plan, from 0 to {len(plan.questions) - 1}, "
                f"and have a part of it: {_rows(self.strangers)}"
            )
        for (question, rule), broken in sorted(self.faults.items()):
            if broken:
                raise ReportError(f"{named(plan, question)}: {rule}: {_rows(broken)}")
        for question, rows in enumerate(self.rows):
            if min(rows) != max(rows):
                raise ReportError(
                    f"{named(plan, question)}: every part of a set must occur equally often: "
                    f"{_rows(max(rows) * len(rows) - sum(rows))} missing"
                )
        answered = [rows[0] for rows in self.rows]
        n, rest = divmod(sum(answered), plan.k)
        if rest:
            raise ReportError(f"every report of this plan has {plan.k} answers: {rest} of them have no report")
        if n > MAX_REPORTS:
            raise TallyError(f"a tally counts at most {MAX_REPORTS} reports")
        for question, (alphabet, count, counts) in enumerate(
            zip(self.layout.alphabets, answered, self.counts, strict=True)
        ):
            if count > n:
                raise ReportError(
                    f"{named(plan, question)}: no report may answer a question twice: {_rows(count - n)} too many"
                )
            try:
                alphabet.check_counts(counts, count)
            except TallyError as error:
                raise ReportError(f"{named(plan, question)}: {error}") from None
        return Tally(plan, n, answered, self.counts)


def tally_of(layout: Layout, rows: Iterable[Sequence[Any]]) -> Tally:
    """Return the checked tally of the result of a layout's query."""
    totals = Totals(layout)
    for row in rows:
        totals.add(row)
    return totals.tally()


def _range(alphabet: Alphabet) -> str:
    noun = "the members of an output" if isinstance(alphabet, Subsets) else "an output"
    return f"{noun} must be from 0 to {alphabet.size - 1}"


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"
