"""What each question of a plan will be worth, for the people who are expected.

One row for each attribute, text, relation and range: how many people are asked about it, the margin, and a verdict.

- **nothing**: the interval would hold all that is possible; of a wide number, the margin would be as large as the mean;
  of a table, the margin of a cell would be more than the average share of its cells; no text would be found.
- **little**: the margin of a share would be more than the average share of the values, so only frequent ones can be
  told from none; of a mean or a share below a cut, the interval would take up half of what is possible; a text would be
  found only if half of the people hold it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from hush.core.plan import Plan
from hush.core.schema import Attribute, Categorical, Choices, Numeric
from hush.core.texts import Text
from hush.core.views import Bands, Value
from hush.core.word_views import Member, Prefix
from hush.planning.asked import Asked, kind_of
from hush.planning.assumed import Assumed, Guesses
from hush.planning.expected import Crowd
from hush.planning.finding import floors
from hush.planning.leaving import ALL, least_of
from hush.planning.predictions import Predictions, predict, sized
from hush.planning.relations import Foreseen, foreseen
from hush.planning.wide import usual_mean
from hush.show.rows import Rows
from hush.show.tables import Table, number, percent

Verdict = Literal["", "little", "nothing"]

_HALF = 0.5
LEVEL = 0.95


@dataclass(frozen=True)
class Worth:
    """What people's answers will tell of an attribute, a relation (`by`) or a range.

    `people` are asked about it, a `share` of all. The `margin` is the widest one of `hush.predict`, or that of
    `hush.foresee` (of groups the middle one), which also has the `worst`; of a text it is the share from which on it is
    found. `verdict` is "little" or "nothing", or empty.
    """

    attribute: str
    category: None
    by: str
    estimate: str
    people: float
    share: float
    margin: float
    worst: float | None
    assumed: Assumed
    verdict: Verdict


class Worths(Rows[Worth]):
    """What each question is worth, with the number of people and the level of the intervals."""

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "by": str,
        "estimate": str,
        "people": float,
        "share": float,
        "margin": float,
        "worst": float,
        "assumed": str,
        "verdict": str,
    }

    def __init__(
        self,
        rows: Iterable[Worth] = (),
        *,
        plan: Plan | None = None,
        people: int | None = None,
        level: float | None = None,
    ) -> None:
        super().__init__(rows)
        self.plan, self.people, self.level = plan, people, level

    def table(self) -> Table:
        """Return them as a table."""
        shown = []
        for row in self:
            field = None if self.plan is None else self.plan.schema[row.attribute]
            text = isinstance(field, Text)
            mean = field if row.estimate.startswith("mean") else None
            shown.append(
                (
                    f"{row.attribute} by {row.by}" if row.by else row.attribute,
                    row.estimate,
                    f"{row.people:,.0f}",
                    ("none" if row.margin >= 1 else f"from {number(row.margin)}")
                    if text
                    else "±" + sized(mean, row.margin),
                    "" if row.worst is None else "±" + sized(mean, row.worst),
                    row.assumed,
                    row.verdict,
                )
            )
        columns = ("asked about", "estimate", "people", percent(self.level, "margin"), "at worst", "of people", "worth")
        return Table(columns, shown, texts=2, notes=tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        if self.people is not None:
            yield f"If {self.people:,} people answer."
        if any(row.by and ("cells" in row.estimate or row.estimate.startswith("mean of")) for row in self):
            yield "Tables and means by group tell of their attributes too, whose margins count that."
        verdicts = {row.verdict for row in self}
        if "nothing" in verdicts:
            yield "nothing: intervals hold all that is possible, or margins exceed the average share of cells."
        if "little" in verdicts:
            yield (
                "little: only values that many people hold can be told from none, or an interval takes up half of what "
                "is possible."
            )


def worth(plan: Plan, people: int, *, level: float = LEVEL, guesses: Guesses | None = None) -> Worths:
    """Return what each question of a plan will be worth if so many people answer.

    The margins are those of `hush.predict` and `hush.foresee`: `assumed` says for which people.
    """
    predicted = predict(plan, people, level=level, guesses=guesses)
    crowd = Crowd(plan, guesses)
    texts = {row.attribute: row for row in floors(plan, people)}
    rows: list[Worth] = []
    for attribute in plan.schema.attributes:
        share = _asked(plan, attribute)
        if attribute.name in texts:
            floor = texts[attribute.name].floor
            verdict: Verdict = "nothing" if floor >= 1 else "little" if floor > _HALF else ""
            told = ("found by half of the collections", people * share, share, floor, None)
            rows.append(Worth(attribute.name, None, "", *told, "typical", verdict))
        else:
            rows += _of_attribute(attribute, predicted, people, share, crowd.guesses)
    for index in range(len(plan.questions)):
        if kind_of(plan, index):
            found = foreseen(crowd, people, level, [index])
            rows.append(_of_relation(plan, index, list(found), people))
    return Worths(rows, plan=plan, people=people, level=level)


def _asked(plan: Plan, attribute: Attribute) -> float:
    """Return the share of the people who are asked about an attribute, but not for a relation."""
    indexes = [
        index
        for index, question in enumerate(plan.questions)
        if any(isinstance(view, Value | Member | Prefix) and view.of == (attribute.name,) for view in question.views)
    ]
    own = [index for index in indexes if not kind_of(plan, index)]
    return min(float(sum(plan.inclusions[index] for index in own or indexes)), 1.0)


def _of_attribute(
    attribute: Attribute, predicted: Predictions, people: int, share: float, guesses: Guesses
) -> Iterator[Worth]:
    """Yield the row of an attribute, if the plan asks about it as it is."""
    rows = [row for row in predicted if row.attribute == attribute.name]
    mean = isinstance(attribute, Numeric)
    rows = [row for row in rows if (row.category is None) is mean]
    if not rows:
        return
    # The mean of a wide number may have two rows: the clipped one, and that of a relation, which is known worse.
    told = (min if mean else max)(rows, key=lambda row: row.margin)
    if isinstance(attribute, Numeric):
        most, average = attribute.high / 2 - attribute.low / 2, math.inf
        if attribute.scale == "log":  # of typical people; those who are guessed have a mean of their own
            most = usual_mean(attribute, guesses.get(attribute.name))
    else:
        assert isinstance(attribute, Categorical | Choices)
        most, average = 0.5, 1 / len(attribute.labels)
    verdict = _verdict(told.margin, ALL * most, most / 2 if mean else average)
    what = "mean" if mean else f"each of {len(rows)} shares"
    yield Worth(attribute.name, None, "", what, people * share, share, told.margin, None, told.assumed, verdict)


def _of_relation(plan: Plan, index: int, found: list[Foreseen], people: int) -> Worth:
    """Return the row of a relation or a range."""
    one = Asked(plan, index, kind_of(plan, index))
    row = sorted(found, key=lambda row: row.margin)[len(found) // 2]  # of means the middle group
    if one.kind == "range":
        asked = [
            place
            for place, question in enumerate(plan.questions)
            if question.attributes == (row.attribute,) and isinstance(question.views[0], Bands)
        ]
    else:
        asked = [index]
    share = float(sum(plan.inclusions[place] for place in asked))
    least = least_of(plan, index)
    verdict = _verdict(row.margin, least, least if one.kind == "table" else one.most / 2)
    return Worth(
        row.attribute, None, row.by, one.said, people * share, share, row.margin, row.worst, row.assumed, verdict
    )


def _verdict(margin: float, nothing: float, little: float) -> Verdict:
    return "nothing" if margin >= nothing else "little" if margin > little else ""
