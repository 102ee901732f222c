"""The change from one tally to another: of one plan at two times, or of two plans that ask the same.

**Intervals.** Let d = b - a be the difference of two independent points, a with the interval from a1 to a2, and b with
the one from b1 to b2, each as `hush.server.intervals` makes it. The interval of d goes

    from d - sqrt((b - b1)^2 + (a2 - a)^2)   to   d + sqrt((b2 - b)^2 + (a - a1)^2).

Each distance stands for the spread of its estimate if the truth lies at that end. So the interval of a difference of
two shares is Newcombe's (1998) where theirs are Wilson's, and with many reports it is the normal one. Distances are
those of intervals before they are laid into the domain: after a cut an end would seem nearer than it is. They are taken
around points that were moved into the domain (`hush.server.intervals.difference`). If one of the two estimates has
too few answers to say anything, so has their change.

**Long lists.** Of more than 4,096 categories the largest shares of either tally are compared. Intervals that hold at
once count all categories, so that it does not matter that some were chosen by their reports.

**Independent** means that no report is in both tallies. If the same people answered twice, each with fresh noise, the
interval holds as well as long as people stay as they are or change alike: it is then too wide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from hush.core import stores
from hush.core.plan import Plan
from hush.core.schema import Categorical, Numeric, Schema
from hush.errors import EstimateError
from hush.server.estimates import (
    MAX_LEVEL,
    Estimate,
    Wanted,
    compared,
    domain_of,
    estimated,
    few,
    largest,
    read_totals,
    shown,
    too_few,
)
from hush.server.intervals import difference, laid
from hush.server.sources import targets, too_long
from hush.server.tally import Tally
from hush.show.rows import Rows
from hush.show.tables import Table, percent, within

_UNASKED = ("name", "unit")  # fields that do not change the target of an estimate


@dataclass(frozen=True)
class Change:
    """The change of a mean (category None) or of a share, from `before` to `after`, with its interval.

    `needed`: there are too few answers to say anything, and about so many are needed. Then the point is NaN.
    """

    attribute: str
    category: str | int | None
    before: float
    after: float
    point: float
    stderr: float
    low: float
    high: float
    needed: int | None = None

    @property
    def told(self) -> Literal["up", "down"] | None:
        """The direction of the change, or None if it cannot be told from noise: its interval contains 0."""
        if self.low > 0:
            return "up"
        return "down" if self.high < 0 else None


class Changes(Rows[Change]):
    """A list of changes, with the level of their intervals. `left_out` says which estimates cannot be compared."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "before": float,
        "after": float,
        "point": float,
        "stderr": float,
        "low": float,
        "high": float,
        "needed": float,
    }
    _rare: ClassVar = ("needed",)
    _scaled: ClassVar = ("before", "after")

    def __init__(
        self,
        rows: Iterable[Change] = (),
        *,
        level: float | None = None,
        simultaneous: bool = False,
        left_out: Sequence[str] = (),
        schema: Schema | None = None,
    ) -> None:
        super().__init__(rows)
        self._schema = schema
        self.level, self.simultaneous, self.left_out = level, simultaneous, tuple(left_out)

    def table(self) -> Table:
        """Return them with as many digits as their intervals justify."""
        lines = []
        for row in self:
            what = "mean" if row.category is None else f"share of {row.category}"
            number = None if self._schema is None or row.category is not None else self._schema[row.attribute]
            named, size = (number.named, number.length) if isinstance(number, Numeric) else (None, None)
            before, after = map(within(row.low, row.high, named), (row.before, row.after))
            point, low, high = map(within(row.low, row.high, size), (row.point, row.low, row.high))
            told = row.told or "not told"
            lines.append((row.attribute, what, before, after, few(row, point), f"{low} .. {high}", told))
        columns = ("attribute", "estimate", "before", "after", "change", percent(self.level, "interval"), "direction")
        notes = list(self.left_out)
        if any(row.told is None for row in self):
            notes.append("not told: the interval contains 0, so this change cannot be told from noise.")
        if self.simultaneous:
            notes.append("The intervals of one attribute's shares hold together with the stated probability.")
        notes += too_few((row.attribute, 0, row.needed) for row in self)
        return Table(columns, lines, texts=2, notes=tuple(notes))


def change(
    before: Tally,
    after: Tally,
    *,
    attributes: Sequence[str] | None = None,
    level: float = 0.95,
    simultaneous: bool | None = None,
    top: int = 200,
    search: str | None = None,
) -> Changes:
    """Return the change of every mean and share from one tally to another, with intervals.

    Both are of one plan, or of two plans that have attributes in common: the same name, kind, bounds or categories. An
    attribute that differs is refused; `attributes` names those to compare. No report may be in both tallies: their
    estimates must be independent. So two tallies of one store and plan are refused.

    `simultaneous`: the intervals of all shares of one attribute hold at once with probability `level`, as in
    `estimate`. Use it to find out which of many categories have changed.

    Of a list of more than 4,096 categories only those are compared that are among the `top` largest in one of the
    tallies, and that have the text `search` in their name. With such a list intervals are simultaneous by default, and
    count all of its categories.
    """
    for tally in (before, after):
        if not isinstance(tally, Tally):
            raise EstimateError("change(before, after) needs two tallies")
    if before.plan.id == after.plan.id and (twice := stores.common(before.stores, after.stores)):
        raise EstimateError(
            f"both tallies are of the store {twice.hex()}: the later one has the reports of the earlier. A collector "
            "with --by day or week compares days or weeks"
        )
    if not isinstance(level, float) or not 0 < level <= MAX_LEVEL:
        raise EstimateError(f"level must be a number between 0 and {MAX_LEVEL}, such as 0.95")
    if simultaneous is None:
        simultaneous = bool(too_long(before.plan) or too_long(after.plan))
    if not isinstance(simultaneous, bool):
        raise EstimateError("simultaneous must be True or False")
    if type(top) is not int or top < 1:
        raise EstimateError("top must be a whole number, 1 or more")
    if search is not None and (type(search) is not str or not search):
        raise EstimateError("search must be a text of one character or more")
    return compare(Counted(before), Counted(after), attributes, level, together=simultaneous, top=top, search=search)


class Counted:
    """A tally, with how many reports support each category of its long lists. Reading these takes seconds."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    @cached_property
    def totals(self) -> dict[int, Sequence[int]]:
        """The supports of all categories, by question."""
        return read_totals(self.tally)

    def read(self) -> Self:
        """Read them now, and return the same object."""
        _ = self.totals
        return self


def compare(
    one: Counted,
    other: Counted,
    attributes: Sequence[str] | None,
    level: float,
    *,
    together: bool,
    top: int,
    search: str | None,
) -> Changes:
    """Return the changes, as `change` does, whose arguments were checked."""
    before, after = one.tally, other.tally
    names = _common(before.plan, after.plan, attributes)
    long = {name: (_long(before.plan)[name], _long(after.plan)[name]) for name in names & set(_long(after.plan))}
    many: dict[str, int] = {}
    if together:
        first, second = (compared(targets(tally, "ratio", too_long(tally.plan))) for tally in (before, after))
        many = {name: max(first.get(name, 1), second.get(name, 1)) for name in {*first, *second}}
        many |= {name: len(_labels(after.plan, indices[1])) for name, indices in long.items()}
    kept: tuple[dict[int, Sequence[int]], dict[int, Sequence[int]]] = {}, {}
    for indices in long.values():
        labels = _labels(after.plan, indices[1])
        places = {
            place: None  # the largest of the second one first
            for which, index in ((other, indices[1]), (one, indices[0]))
            for place in largest(which.totals[index], labels, top, search)
        }
        for found, index in zip(kept, indices, strict=True):
            found[index] = list(places)
    old = {(row.attribute, row.category): row for row in _estimated(one, level, many, kept[0])}
    rows, left_out = [], []
    for new in _estimated(other, level, many, kept[1]):
        known = old.get((new.attribute, new.category))
        if known is None or new.attribute not in names:
            continue
        if (known.floor, known.ceiling) != (new.floor, new.ceiling):
            left_out.append(f"{new.attribute}: its means are clipped at different values, and are not compared.")
            continue
        rows.append(_changed(known, new, after.plan.schema))
    return Changes(rows, level=level, simultaneous=together, left_out=left_out, schema=after.plan.schema)


def _long(plan: Plan) -> dict[str, int]:
    """Return the questions about very long lists, by the attribute."""
    return {plan.attributes[index][0].name: index for index in too_long(plan)}


def _labels(plan: Plan, index: int) -> Sequence[object]:
    attribute = plan.attributes[index][0]
    assert isinstance(attribute, Categorical)
    return attribute.labels


def _estimated(
    counted: Counted, level: float, together: Mapping[str, int], places: Mapping[int, Sequence[int]]
) -> list[Estimate]:
    totals = counted.totals if places else {}
    some = Wanted(most=1)  # of long lists that are not compared
    return estimated(counted.tally, level, together=together, some=some, totals=totals, places=places)


def _changed(before: Estimate, after: Estimate, schema: Schema) -> Change:
    least, most = domain_of(after, schema)
    old, new = shown(before, schema), shown(after, schema)
    point, (low, high) = difference(
        (after.point, (after.low, after.high)), (before.point, (before.low, before.high)), 0.0, (least, most)
    )
    domain = least - most, most - least
    low, high = laid((low, high), point, domain)
    takes = max((row.needed for row in (old, new) if row.needed is not None), default=None)
    if takes is not None:
        return Change(after.attribute, after.category, old.point, new.point, math.nan, math.inf, low, high, takes)
    stderr = math.hypot(after.stderr, before.stderr)
    return Change(after.attribute, after.category, before.point, after.point, point, stderr, low, high)


def comparable(before: Plan, after: Plan) -> tuple[list[str], list[str]]:
    """Return the names of the attributes that two plans ask alike, and why others of the same name differ."""
    names, why = [], []
    for name in [name for name in after.schema.names if name in before.schema.names]:
        found = _difference(before.schema[name].to_json(), after.schema[name].to_json())
        if found:
            why.append(f"attribute {name!r}: the plans do not ask the same, as {found}")
        elif (name in _long(before)) != (name in _long(after)):
            why.append(
                f"attribute {name!r}: has too many categories to compare them all, as one plan asks for it twice"
            )
        else:
            names.append(name)
    return names, why


def _common(before: Plan, after: Plan, wanted: Sequence[str] | None) -> set[str]:
    """Return the names of the attributes to compare. Refuse those that are not the same in both plans."""
    if isinstance(wanted, str):
        raise EstimateError("attributes must be a list of names")
    names, why = comparable(before, after)
    if wanted is not None:
        for name in wanted:
            for plan in (before, after):
                plan.schema[name]  # raises, and lists the known ones
        why = [reason for reason in why if any(reason.startswith(f"attribute {name!r}:") for name in wanted)]
        names = [name for name in names if name in wanted]
    if why:
        raise EstimateError(f"{why[0]}; compare others with attributes=[...]")
    if not names:
        raise EstimateError("these plans have no attribute in common: nothing can be compared")
    return set(names)


def _difference(one: dict[str, Any], two: dict[str, Any]) -> str:
    """Return in which way two attributes differ, or nothing. The order of categories does not matter."""
    if one["kind"] != two["kind"]:
        return f"one is {one['kind']}, and the other {two['kind']}"
    for key in [key for key in one | two if key not in _UNASKED]:
        mine, other = one.get(key), two.get(key)
        if isinstance(mine, list) and isinstance(other, list):
            if set(mine) != set(other):
                return f"their {key} differ"
        elif mine != other:
            return f"{key} is {mine!r} in one, and {other!r} in the other"
    return ""
