"""How many people must hold a text for it to be found, before anybody is asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from hush.core.channels.indicator import Supporting
from hush.core.plan import Plan
from hush.core.texts import Text
from hush.core.word_views import Among, Prefix
from hush.errors import DesignError
from hush.server.floors import EMPTY, Hurdle, Passed, floor_of, outstanding, told_from
from hush.show.rows import Rows
from hush.show.tables import Table, number

FALSE = 0.05
"""The share of returned texts that nobody holds, as `hush.frequent` allows it by default."""


@dataclass(frozen=True)
class Floor:
    """The share of the people that a text needs to be found in about every second collection.

    `answers` is the number of answers to each of its questions. 1 says that no text would be found.
    """

    attribute: str
    category: None
    floor: float
    answers: int


class Floors(Rows[Floor]):
    """The floors of the texts of a plan, with the number of people."""

    _columns: ClassVar = {"attribute": str, "category": str, "floor": float, "answers": int}

    def __init__(self, rows: Iterable[Floor] = (), *, people: int | None = None) -> None:
        super().__init__(rows)
        self.people = people

    def table(self) -> Table:
        """Return them as a table."""
        shown = [(row.attribute, _told(row), f"{row.answers:,}") for row in self]
        notes = () if self.people is None else (f"From {self.people:,} people, before any is asked.",)
        return Table(("text", "found in every second collection", "answers"), shown, texts=2, notes=notes)


def _told(row: Floor) -> str:
    return "none: too few people answer" if row.floor >= 1 else f"if {number(100 * row.floor)} % of the people hold it"


def floors(plan: Plan, people: int, *, false: float = FALSE) -> Floors:
    """Return the floor of every text of a plan, from this many people.

    It assumes that few texts are frequent. If there are many, each is a little harder to find.
    """
    if type(people) is not int or people < 1:
        raise DesignError("people must be a whole number, 1 or more")
    texts = [item for item in plan.schema.attributes if isinstance(item, Text)]
    return Floors([_floor(plan, text, people, false) for text in texts], people=people)


def _floor(plan: Plan, text: Text, people: int, false: float) -> Floor:
    asked = []
    for question, inclusion in zip(plan.questions, plan.inclusions, strict=True):
        view = question.views[0]
        if view.of == (text.name,) and isinstance(view, Prefix | Among):
            assert isinstance(question.channel, Supporting)
            asked.append((view, question.channel, round(people * float(inclusion))))
    asked.sort(key=lambda one: len(one[0].chunks) if isinstance(one[0], Prefix) else 0)
    answers = min(n for _, _, n in asked)
    if not answers:
        return Floor(text.name, None, 1.0, 0)
    hurdles: list[Passed] = []
    for place, (view, channel, n) in enumerate(asked):
        crowd = 1 / view.points if isinstance(view, Prefix) else 0.0
        p, q = float(channel.p), float(channel.q)
        base, rise = q + crowd * (p - q), (1 - crowd) * (p - q)
        if place == len(asked) - 1:
            candidates = len(view.values) if isinstance(view, Among) else EMPTY
            least = told_from(n, base, false / candidates)
        else:
            assert isinstance(view, Prefix)
            tries = (EMPTY if place else 1) << view.chunks[-1]
            least = int(n * base + outstanding(tries) * (n * base * (1 - base)) ** 0.5) + 1
        hurdles.append(Hurdle(n, base, rise, least).passed)
    return Floor(text.name, None, floor_of(hurdles), answers)
