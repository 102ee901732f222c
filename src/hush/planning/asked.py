"""The relations that a plan asks about, and their margins, as estimates of a tally have them.

Estimates that are alike are read once: cells of a table and groups with the same shares have the same margins. Of many
that differ some are read, from the smallest share to the largest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hush.core.channels import Cells, Rows
from hush.core.plan import Plan, Question
from hush.core.schema import Categorical, Numeric
from hush.core.views import Bands, Product, Sides
from hush.errors import EstimateError
from hush.server.relations.associations import association
from hush.server.relations.crosstabs import tabulated
from hush.server.relations.groups import grouped
from hush.server.relations.ranges import below
from hush.server.relations.tree import fitted
from hush.server.sources import Scale
from hush.server.tally import Tally

_READ = 64  # cells or groups that differ, at most
_CUTS = 255  # of a range, at most
_DIGITS = 9  # of shares that count as the same

Width = tuple[str | int | None, float, float]
"""A group (None for others), a standard error, and half of the width of an interval."""


def kind_of(plan: Plan, index: int) -> str:
    """Return the kind of relation that a question stands for, or "" if it stands for none.

    Of the questions of a range the finest one stands for it; of those of an association and of moments, that about both
    numbers.
    """
    question = plan.questions[index]
    views, channel = question.views, question.channel
    if isinstance(channel, Cells):
        return "table" if len(views) == 2 and None not in channel.sizes else ""
    if isinstance(channel, Rows):
        return "means"
    if isinstance(views[0], Sides):
        return "association"
    if isinstance(views[0], Product):
        return "moments" if len(set(views[0].attributes)) == 2 else ""
    return "range" if isinstance(views[0], Bands) and len(views) == 1 and _is_finest(plan, views[0]) else ""


def _is_finest(plan: Plan, bands: Bands) -> bool:
    """Say whether no question about a number alone has more bands, and these are not the one cut of an association."""
    finest = 0
    for question in plan.questions:
        view, *others = question.views
        if isinstance(view, Sides):
            cuts = [(name, (cut,)) for name, cut in zip(view.of, view.cuts, strict=True)]
            if (bands.attribute, bands.cuts) in cuts:
                return False
        elif isinstance(view, Bands) and not others and view.attribute == bands.attribute:
            finest = max(finest, len(view.cuts))
    return len(bands.cuts) == finest


@dataclass(frozen=True)
class Asked:
    """A relation of a plan, by its own question."""

    plan: Plan
    index: int
    kind: str

    @property
    def question(self) -> Question:
        """Its question; of a range the finest one."""
        return self.plan.questions[self.index]

    @property
    def names(self) -> tuple[str, str]:
        """The attribute, and the one beside it ("" for a range), in the order in which estimates take them."""
        first, last = self.question.attributes[0], self.question.attributes[-1]
        if self.kind == "means":
            return last, first
        return first, last if self.kind != "range" else ""

    @property
    def items(self) -> int:
        """How many cells, groups or cuts there are."""
        view, channel = self.question.views[0], self.question.channel
        if isinstance(channel, Cells):
            return channel.cells
        if isinstance(channel, Rows):
            return channel.rows
        return len(view.cuts) if isinstance(view, Bands) else 1

    @property
    def said(self) -> str:
        """What its estimates are, in words."""
        return {
            "table": f"each of {self.items} cells",
            "means": f"mean of each of {self.items} groups",
            "association": "association",
            "moments": "correlation from moments",
            "range": f"share below each of {self.items} cuts",
        }[self.kind]

    @property
    def most(self) -> float:
        """Half of the width of all that is possible."""
        if self.kind == "means":
            attribute = self.plan.schema[self.names[0]]
            assert isinstance(attribute, Numeric)
            return attribute.high / 2 - attribute.low / 2
        return 0.5 if self.kind in ("table", "range") else 1.0

    def read(self, tally: Tally, level: float, shares: Mapping[Any, float]) -> list[Width]:
        """Return the widths of the estimates of a tally; none if too few people answered.

        `shares` are those of the cells, or of the groups: it decides which of them are alike.
        """
        read = {"table": self._cells, "means": self._groups, "range": self._below}.get(self.kind, self._associated)
        try:
            found = read(tally, level, shares)
        except EstimateError:
            return []
        most = self.most
        return [(group, stderr, width if width < most else most) for group, stderr, width in found]  # NaN is most

    def _cells(self, tally: Tally, level: float, shares: Mapping[Any, float]) -> list[Width]:
        grid, columns = tabulated(tally, *self.names), len(self._labels(1))
        found: list[Width] = []
        for cell, *_ in _alike([shares.get(cell, 0.0) for cell in range(self.items)]):
            _, stderr, (low, high) = grid.cell(*divmod(cell, columns), level)
            found.append((None, stderr, (high - low) / 2))
        return found

    def _groups(self, tally: Tally, level: float, shares: Mapping[Any, float]) -> list[Width]:
        attribute, by = self.names
        all_, labels = grouped(tally, attribute, by), self._labels(0)
        scale, found = Scale(all_.number, None), dict[int, Width]()
        for first, *others in _alike([shares.get(group, 0.0) for group in range(self.items)], math.inf):
            point, stderr, bounds = all_.mean(first, level)
            low, high = scale.around(bounds, scale.value(point))
            for group in (first, *others):
                found[group] = labels[group], scale.half * stderr, (high - low) / 2
        return [found[group] for group in range(self.items)]

    def _labels(self, place: int) -> Sequence[str | int]:
        seen = self.question.views[place].seen(self.plan.schema)
        assert isinstance(seen, Categorical)
        return seen.labels

    def _below(self, tally: Tally, level: float, _: Mapping[Any, float]) -> list[Width]:
        cuts = fitted(tally, self.names[0]).cuts
        stride = max(1, -(-len(cuts) // _CUTS)) | 1  # odd, so that cuts of all questions of the tree are met
        return [
            (None, row.stderr, (row.high - row.low) / 2)
            for row in below(tally, self.names[0], cuts[::stride], level=level)
        ]

    def _associated(self, tally: Tally, level: float, _: Mapping[Any, float]) -> list[Width]:
        method: Any = "copula" if self.kind == "association" else "moments"
        return [
            (None, row.stderr, (row.high - row.low) / 2)
            for row in association(tally, *self.names, method=method, level=level)
        ]


def _alike(shares: Sequence[float], most: float = _READ) -> list[list[int]]:
    """Return the places of shares that are the same, from the smallest share to the largest: of many, some."""
    places: dict[float, list[int]] = {}
    for place, share in enumerate(shares):
        places.setdefault(round(share, _DIGITS), []).append(place)
    found = [places[share] for share in sorted(places)]
    if len(found) <= most:
        return found
    return [found[round(i * (len(found) - 1) / (most - 1))] for i in range(int(most))]
