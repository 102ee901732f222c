"""The precision of relations, before anybody is asked.

The average counts of a plan's questions, for assumed people, make a tally (`hush.planning.expected`), and the same
functions that will read real tallies read this one. `hush.planning.assumed` has the people: those of a guess, or
typical ones. For typical people attributes are independent of each other, categories equally frequent, numbers spread
evenly over their domain, and half of the people leave out an optional number.

Other people have wider margins. Every prediction says how wide at worst, for people who are still quite usual
(`hush.planning.worst`). If both attributes of a relation are guessed, that is the largest margin of its estimates for
the guessed people.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from hush.core.plan import Plan
from hush.core.schema import Numeric
from hush.errors import DesignError
from hush.planning import worst
from hush.planning.asked import Asked, kind_of
from hush.planning.assumed import Assumed, Guesses
from hush.planning.expected import Crowd
from hush.server.tally import Tally
from hush.show.rows import Rows as ListedRows
from hush.show.tables import Table, number, percent

POINTS = 0.03
"""The margin that a plan's summary asks for: three points of a share, or of an association."""

PART = 0.05
"""The margin of a group's mean that a plan's summary asks for, as a part of the number's domain."""

_REFERENCE = 10**8
_SINGLE = {
    "associations": "association",
    "tables": "table",
    "means by group": "relation with means by group",
    "ranges": "range",
}


@dataclass(frozen=True)
class Foreseen:
    """The standard error and the margin to expect of an estimate of a relation.

    `estimate` says which one. Of a table or a range, they are those of the middle one of its estimates; the mean of
    each group has a row of its own. `worst` is the margin at worst (`hush.planning.worst`), `answers` how many people
    answer the relation's own question, and `assumed` whether the people are "typical" or "guessed". If too few answer,
    the error is infinite, and the margin half of all that is possible.
    """

    attribute: str
    category: None
    by: str
    group: str | int | None
    estimate: str
    stderr: float
    margin: float
    worst: float
    answers: int
    assumed: Assumed


class Foresights(ListedRows[Foreseen]):
    """Predictions of relations, with the number of people and the level of the intervals."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "by": str,
        "group": str,
        "estimate": str,
        "stderr": float,
        "margin": float,
        "worst": float,
        "answers": int,
        "assumed": str,
    }

    def __init__(self, rows: Iterable[Foreseen] = (), *, people: int | None = None, level: float | None = None) -> None:
        super().__init__(rows)
        self.people, self.level = people, level

    def table(self) -> Table:
        """Return them as a table; groups with the same margins share a row."""
        groups: dict[tuple[object, ...], list[Foreseen]] = {}
        for row in self:
            alike = (row.attribute, row.by, _kind(row.estimate), row.margin, row.worst)
            groups.setdefault(alike, []).append(row)
        sizes: dict[tuple[str, str], int] = {}
        for row in self:
            sizes[row.attribute, row.by] = sizes.get((row.attribute, row.by), 0) + (row.group is not None)
        shown = []
        for first, *others in groups.values():
            what = first.estimate
            if others:
                every = len(others) + 1 == sizes[first.attribute, first.by]
                what = f"mean of each of {len(others) + 1} groups" if every else f"mean of {len(others) + 1} groups"
            shown.append(
                (
                    f"{first.attribute} by {first.by}" if first.by else first.attribute,
                    what,
                    number(first.stderr) if math.isfinite(first.stderr) else "unknown",
                    "±" + number(first.margin),
                    "±" + number(first.worst),
                    f"{first.answers:,}",
                    first.assumed,
                )
            )
        columns = ("relation", "estimate", "standard error", percent(self.level, "margin"), "at worst", "answers")
        return Table((*columns, "people"), shown, texts=2, notes=tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        if self.people is not None:
            yield f"From {self.people:,} people, before any is asked."
        typical = {_kind(row.estimate) for row in self if row.assumed == "typical"}
        if typical:
            yield (
                "typical: attributes are independent, categories equally frequent, numbers spread evenly over their "
                "range, and half of the people leave out an optional number."
            )
        yield from (f"at worst: {text}." for kind, text in worst.SENTENCES.items() if kind in typical)


def _kind(estimate: str) -> str:
    """Return the kind of relation that an estimate is about."""
    starts = {"each": "table", "mean": "means", "association": "association", "correlation": "moments"}
    return starts.get(estimate.split()[0], "range")


def foresee(plan: Plan, people: int, *, level: float = 0.95, guesses: Guesses | None = None) -> Foresights:
    """Return the precision to expect of every relation and range of a plan, from this many people.

    Every row has the margin for typical people, or for those of `guesses`, and the margin at worst. A guess about two
    numbers is their association: {("age", "hours"): 0.3}.
    """
    if type(people) is not int or people < 1:
        raise DesignError("people must be a whole number, 1 or more")
    crowd = Crowd(plan, guesses)
    return foreseen(crowd, people, level, range(len(plan.questions)))


def foreseen(crowd: Crowd, people: int, level: float, indexes: Iterable[int], *, at_worst: bool = True) -> Foresights:
    """Return the same of assumed people, for these questions alone. Without `at_worst` the worst is not looked for."""
    plan = crowd.plan
    asked = [(index, kind) for index in indexes if (kind := kind_of(plan, index))]
    if not asked:
        return Foresights((), people=people, level=level)
    tally = crowd.tally(people)
    rows: list[Foreseen] = []
    for index, kind in asked:
        rows += _foreseen(crowd, tally, index, kind, level, at_worst)
    return Foresights(rows, people=people, level=level)


def _foreseen(crowd: Crowd, tally: Tally, index: int, kind: str, level: float, look: bool) -> list[Foreseen]:
    """Return the rows of a relation."""
    one = Asked(crowd.plan, index, kind)
    attribute, by = one.names
    names = [name for name in (attribute, by) if name]
    pair = kind in ("association", "moments") and frozenset(names) in crowd.guesses
    assumed: Assumed = "guessed" if pair or any(name in crowd.guesses for name in names) else "typical"

    def row(group: str | int | None, stderr: float, margin: float, at_worst: float) -> Foreseen:
        said = one.said if group is None else f"mean of {group}"
        return Foreseen(attribute, None, by, group, said, stderr, margin, at_worst, tally.answered[index], assumed)

    found = one.read(tally, level, crowd.shares(index) if kind in ("table", "means") else {})
    if not found:
        return [row(None, math.inf, one.most, one.most)]
    at_worst = max(width for _, _, width in found)
    if laws := worst.laws_of(crowd, one.question, kind) if look and kind != "range" else {}:
        others = crowd.like(laws)
        shares = others.shares(index) if kind in ("table", "means") else {}
        rows = one.read(others.tally(tally.reports, names), level, shares)
        at_worst = max([at_worst, *(width for _, _, width in rows)]) if rows else one.most
    if kind == "means":
        return [row(group, stderr, width, at_worst) for group, stderr, width in found]
    _, stderr, margin = sorted(found, key=lambda one: one[2])[len(found) // 2]
    return [row(None, stderr, margin, at_worst)]


# -- in words


def needs(plan: Plan, *, level: float = 0.95) -> list[str]:
    """Return how many people a plan's relations need for useful margins, in sentences."""
    wanted: dict[str, list[tuple[float, float]]] = {}
    for row in foresee(plan, _REFERENCE, level=level):
        attribute, kind = plan.schema[row.attribute], _kind(row.estimate)
        goal = POINTS
        if kind == "means" and isinstance(attribute, Numeric):
            goal = PART * (attribute.high - attribute.low)
        people = tuple(_REFERENCE * (margin / goal) ** 2 for margin in (row.margin, row.worst))
        wanted.setdefault(_PLURALS[kind], []).append((people[0], people[1]))
    counts = _counted(plan)
    found = []
    for what, listed in wanted.items():
        goal_text = f"{100 * PART:g} % of the domain" if what == "means by group" else f"{100 * POINTS:g} points"
        named = what if counts[what] > 1 else _SINGLE[what]
        typical, at_worst = (_rough(max(column)) for column in zip(*listed, strict=True))
        found.append(
            f"{counts[what]} {named}: margins of {goal_text} need about {typical} typical people, {at_worst} at worst."
        )
    return found


_PLURALS = {
    "table": "tables",
    "means": "means by group",
    "association": "associations",
    "moments": "associations",
    "range": "ranges",
}


def _counted(plan: Plan) -> Counter[str]:
    """Return how many relations of each kind there are."""
    kinds = (kind_of(plan, index) for index in range(len(plan.questions)))
    return Counter(_PLURALS[kind] for kind in kinds if kind)


def _rough(people: float) -> str:
    """Write a number of people with two digits."""
    if people >= 1e6:
        return f"{float(f'{people / 1e6:.2g}'):g} million"
    return f"{int(float(f'{people:.2g}')):,}"
