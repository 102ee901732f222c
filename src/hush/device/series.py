"""A series: the same questions every week, answered from memory while nothing has changed.

Fresh noise every week wears privacy out: T reports cost T times epsilon, and their average reveals the value. So a
device that is asked repeatedly draws one answer for each *state* that it is ever in, keeps it in the ledger, and gives
it whenever that state comes back (memoisation; Erlingsson, Pihur and Korolova, RAPPOR, 2014). Only a new state costs.

- The questions (k of d) are drawn once for each device and kept: new ones each week would in the end cover all.
- The state of a category is the category, and that of a number in bands its band. The state of a number is one of a few
  evenly spaced *levels*. Missing is a state too. A number x in [0, 1] becomes level floor(x*(g-1) + u) of g, where u in
  [0, 1) is drawn once for the attribute and kept (the alpha-point rounding of Ding, Kulkarni and Yekhanin, Collecting
  Telemetry Data Privately, 2017). Over u this is right on average, and a person's level changes only if x passes one of
  the person's own thresholds.

**Privacy.** The states of a question form a *pattern*: which weeks have equal states, and which do not. With m
different states the answers are a function of m independent draws, one for each state. So for two histories with the
same pattern the probabilities of all answers of all weeks together have a ratio of at most (the channel's ratio)^m,
however many weeks there are: m times epsilon, and once epsilon if nothing changes.

**Not hidden.** A series does not hide *that* an answer changed, and when: different answers to one question prove
different states. No factor bounds the odds between a constant history and one that changes. To hide changes too, use
fresh reports (`Ledger.randomise`), at T times epsilon. For a number, the pattern is that of its levels, which depends
on u too: the promise holds given u, for any u; that includes all numbers that do not move. If it is known how a number
moves (an age), the time at which it passes a threshold can reveal the number itself. The cuts of bands are public: a
change of band shows that the number passed one of them. If the cap is reached, the device falls silent. That depends on
the pattern alone, but the people who change most fall silent first, and estimates then describe the others: choose a
cap of at least `Series.most`.

**The file.** It must record which answer belongs to which state, so it reveals its owner's states. Hashing or
encrypting them with a key in the same file would hide nothing from anyone who has the file.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from hush.core import codec
from hush.core.channels import Picks
from hush.core.exact import exp_bounds
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Numeric, Record
from hush.device.coins import SystemCoins
from hush.device.ledger import Ledger
from hush.device.ledger_file import LedgerFile
from hush.device.memory import Levels, ask, cost_of, define, new, recall
from hush.errors import BudgetError, LedgerError

LEVELS = 3
"""The default number of levels of a number. docs/decisions/0015-series.md gives the reasons."""

MAX_LEVELS = 1025
MAX_NAME = 128
_BEARABLE = 10**6  # the largest bound on odds that is shown as a number

_TABLES = (
    "create table if not exists memories (series text not null, kind text not null, subject text not null, "
    "state text not null, value text not null, primary key (series, kind, subject, state)) strict",
    "create table if not exists repeats (plan text primary key, series text not null, fresh text not null) strict",
)


class Series:
    """A repeated collection, under a name that this device's software gives it. It lives in a ledger.

    The first plan that it answers fixes the definitions of the attributes: bounds, values, optional or not. A plan with
    other definitions is refused: otherwise a server could find a value from the plans that the device refuses.

    `levels` is the number of levels to which a number is rounded: one for all attributes, or by name. With g levels a
    number costs at most g times the cost of one answer, however often and however long it is asked. Changing the levels
    draws new answers, which cost epsilon.
    """

    def __init__(self, ledger: Ledger, name: str, levels: int | Mapping[str, int] = LEVELS) -> None:
        if type(name) is not str or not 0 < len(name) <= MAX_NAME or not name.isprintable():
            raise LedgerError(f"the name of a series must be 1 to {MAX_NAME} printable characters")
        self.ledger, self.name = ledger, name
        self._file = LedgerFile(ledger.path)
        self._usual = LEVELS if isinstance(levels, Mapping) else _checked(levels)
        self._levels = {key: _checked(value) for key, value in levels.items()} if isinstance(levels, Mapping) else {}

    def __repr__(self) -> str:
        return f"<Series {self.name!r} of {self.ledger!r}>"

    def levels(self, plan: Plan) -> Levels:
        """Return how many levels each view of each question has; None for categories. A product has `LEVELS`."""
        for question in plan.questions:
            if isinstance(question.channel, Picks):
                raise LedgerError(
                    f"attribute {question.attributes[0]!r}: a series remembers the answer about each value, and picks "
                    "are drawn from the whole list: whenever one value changed, the device would draw, and pay, for "
                    'all of them again; design it with choices="members"'
                )
        for name in self._levels:
            if not isinstance(plan.schema[name], Numeric):
                raise LedgerError(f"attribute {name!r}: levels are for numbers")
        return tuple(
            tuple(
                self._levels.get(item.name, self._usual) if isinstance(item, Numeric) else None for item in attributes
            )
            for attributes in plan.attributes
        )

    def randomise(self, plan: Plan, record: Record) -> Report:
        """Answer a plan from memory: repeat the answers of known states, and draw and keep those of new states.

        All of it is on disk before the report is returned. A plan that was answered before gets the stored report. A
        plan that defines an attribute otherwise than the first plan did is refused before the record is read, as is one
        whose questions were drawn first (`Ledger.ask`): a series draws questions of its own. If new
        answers would take the total above the cap, BudgetError is raised and none is drawn.
        """
        with self._file.transaction() as connection:  # its own transaction: it stays even if the record is refused
            other = define(plan, _Rows(connection, self.name))
        if other is not None:
            raise LedgerError(
                f"attribute {other!r}: the series {self.name!r} knows it with another definition; a changed question "
                "is another series"
            )
        dealt = self.ledger.asked(plan)
        refused = None
        with self._file.transaction() as connection:
            stored = self._file.stored(connection, plan)
            if stored is not None:
                self._note(connection, plan)
                return stored
            if dealt is not None:  # the record may hold nothing else; an attribute left out would count as missing
                raise LedgerError("the questions of this plan were drawn for one report, and a series draws its own")
            self._file.exclude(connection, plan)
            levels, inputs = self.levels(plan), plan.schema.encode(record)
            coins, memory = SystemCoins(), _Rows(connection, self.name)
            asked = ask(coins, plan, inputs, levels, memory)
            cost = cost_of(plan, new(asked, memory))
            try:
                self._file.afford(connection, cost, f"a new state in the series {self.name!r}")
            except BudgetError as error:
                # Questions and dithers stay: they do not depend on the record, and must not be drawn until they suit.
                refused = error
            else:
                answers = recall(coins, plan, asked, memory)
                report = Report(plan, coins.word().to_bytes(8, "big") + coins.word().to_bytes(8, "big"), answers)
                self._file.enter(connection, report, cost)
                self._note(connection, plan)
        if refused is not None:
            raise refused
        return report

    def _note(self, connection: sqlite3.Connection, plan: Plan) -> None:
        """Count a report for this series, unless it counts for another."""
        row = (plan.id, self.name, str(plan.cost))
        connection.execute("insert or ignore into repeats values (?, ?, ?)", row)

    def most(self, plan: Plan) -> Fraction:
        """Return the most that such plans can ever cost. With this cap nobody falls silent."""
        totals = []
        for index, (attributes, levels) in enumerate(zip(plan.attributes, self.levels(plan), strict=True)):
            states = math.prod(
                len(item.labels) if not isinstance(item, Numeric) else (count or 0) + item.optional
                for item, count in zip(attributes, levels, strict=True)
            )
            totals.append(states * cost_of(plan, [index]))
        return sum(sorted(totals)[-plan.k :], Fraction(0))

    def history(self) -> History:
        """Return the cost of all answers of this series so far. `print` it to read it in words."""
        with self._file.transaction() as connection:
            _Rows(connection, self.name)
            rows = connection.execute(
                "select epsilon, fresh from repeats join answers on answers.plan = repeats.plan where series = ?",
                (self.name,),
            ).fetchall()
            states, subjects = connection.execute(
                "select count(*), count(distinct subject) from memories where series = ? and kind = 'answer'",
                (self.name,),
            ).fetchone()
        spent, fresh = (sum((Fraction(row[column]) for row in rows), Fraction(0)) for column in (0, 1))
        return History(self.name, len(rows), subjects, states, spent, fresh)


@dataclass(frozen=True)
class History:
    """The cost of a series, with the number of `reports`, of `questions` and of `states` over all questions.

    `spent` is the exact total epsilon between two histories whose states are equal at the same times; `fresh` is the
    cost of as many reports with fresh noise, between any two histories.
    """

    series: str
    reports: int
    questions: int
    states: int
    spent: Fraction
    fresh: Fraction

    def __str__(self) -> str:
        if not self.reports:
            return f"You have not answered {self.series!r} yet: it has cost nothing."
        states = f"in {self.states} different states" if self.states > 1 else "in one and the same state"
        what = "Your answer was" if self.questions <= 1 else f"Your answers to {self.questions} questions were"
        factor = exp_bounds(self.spent)[1] if self.spent <= 64 else Fraction(_BEARABLE + 1)
        bound = f"{math.ceil(factor * 10) / 10:,}" if factor <= _BEARABLE else "that has more than six digits"
        return (
            f"You have answered {self.series!r} {_times(self.reports)}. {what} {states} (that of a number is its level)"
            f", so all of it together cost epsilon = {_above(self.spent)}; with fresh noise each time it would have "
            f"been {_above(self.fresh)}. After seeing all reports of this series, nobody's odds between two histories "
            f"whose states change, and change back, at the same times move by more than a factor {bound}. Whether "
            "and when your state changed is not hidden."
        )


class _Rows:
    """The memory of a series in the file of a ledger, within a transaction."""

    def __init__(self, connection: sqlite3.Connection, series: str) -> None:
        self._connection, self._series = connection, series
        for table in _TABLES:
            connection.execute(table)

    def find(self, kind: str, subject: str, state: str = "") -> str | None:
        row = self._connection.execute(
            "select value from memories where series = ? and kind = ? and subject = ? and state = ?",
            (self._series, kind, subject, state),
        ).fetchone()
        return None if row is None else str(row[0])

    def keep(self, value: str, kind: str, subject: str, state: str = "") -> None:
        self._connection.execute(
            "insert into memories values (?, ?, ?, ?, ?)", (self._series, kind, subject, state, value)
        )


def _checked(levels: object) -> int:
    return codec.integer(levels, 2, MAX_LEVELS, LedgerError, "the levels of a number")


def _above(epsilon: Fraction) -> str:
    """Return an epsilon with at most three places, rounded up."""
    return f"{math.ceil(epsilon * 1000) / 1000:.3f}".rstrip("0").rstrip(".")


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")
