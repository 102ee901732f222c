"""The law of one report, listed or grouped in rows for people to read.

`Plan.law` gives every output with its probability. This module sets several values side by side, names outputs in the
attribute's own words, and groups neighbouring outputs if there are many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hush.core.calendar import Date, Time
from hush.core.channels import Output, Picks
from hush.core.channels.indicator import Indicator
from hush.core.plan import Plan
from hush.core.schema import MISSING, Categorical, Choices, Numeric
from hush.core.texts import Text
from hush.errors import DesignError
from hush.show.tables import number

BLANK = "(blank)"
_DAYS = 700_000  # from 1970, within which every day has a date
MAX_LISTED = 20_000
"""Laws with more outputs are not listed: rows give the probability that each category is in the report instead."""

Law = dict[Output, Fraction]


@dataclass(frozen=True)
class Row:
    """An output (or a group of outputs) with its label, and its exact probability for each value.

    `partition` is False if the rows overlap, as sets that contain a given category do: they need not add up to 1.
    """

    label: str
    outputs: int
    probabilities: tuple[Fraction, ...]
    partition: bool = True


def rows(plan: Plan, attribute: str, values: Sequence[object], most: int | None = None) -> list[Row]:
    """Return the possible reports of people with these values about an attribute, in at most `most` rows if given.

    Outputs of a number are ordered by their decoded value, and grouped into rows of similar probability. Outputs of a
    category are sets of categories; if there are too many, a row gives the probability that a category is in the set.
    """
    if not values:
        raise DesignError("name one value or more")
    field = plan.schema[attribute]
    if isinstance(field, Text):
        raise DesignError(f"attribute {attribute!r}: a report about a text is one of very many points; none is shown")
    limit = MAX_LISTED if most is None else min(most, MAX_LISTED)
    if not isinstance(field, Numeric):
        channel = plan.channel(attribute)
        if isinstance(channel, Indicator | Picks) and channel.alphabet.outputs > limit:
            return _memberships(channel, field, values)
        return _sets(field, _laws(plan, attribute, values))
    return _cells(plan, field, _laws(plan, attribute, values), most)


def favour(plan: Plan, attribute: str, values: Sequence[object]) -> Fraction:
    """Return the largest ratio of one answer's probabilities under two of these values, exactly. At most e^epsilon."""
    channel = plan.channel(attribute)
    if channel.alphabet.outputs > MAX_LISTED:
        codes = {plan.schema[attribute].encode(value) for value in values}
        return channel.ratio if len(codes) > 1 else Fraction(1)
    laws = _laws(plan, attribute, values)
    columns = [[law[output] for law in laws] for output in laws[0]]
    return max(max(column) / min(column) for column in columns if min(column))


def _laws(plan: Plan, attribute: str, values: Sequence[object]) -> list[Law]:
    return [plan.law(attribute, value) for value in values]


def _memberships(channel: Indicator | Picks, field: Categorical | Choices, values: Sequence[object]) -> list[Row]:
    chances = [channel.expected([field.encode(value)]) for value in values]
    return [
        Row(f"includes {label}", 0, tuple(chance[index] for chance in chances), partition=False)
        for index, label in enumerate(field.labels)
    ]


def _sets(field: Categorical | Choices, laws: Sequence[Law]) -> list[Row]:
    return [Row(_set_label(field, output), 1, tuple(law[output] for law in laws)) for output in laws[0]]


def _set_label(field: Categorical | Choices, output: Output) -> str:
    labels, members = field.labels, (output,) if isinstance(output, int) else output
    # Beyond the labels of choices there are blanks, which are all alike.
    return " + ".join(str(labels[member]) if member < len(labels) else BLANK for member in members) or "(none)"


def _cells(plan: Plan, field: Numeric, laws: Sequence[Law], most: int | None) -> list[Row]:
    """Order the cells by their decoded value, and group neighbours until each row has its share of probability."""
    channel = plan.channel(field.name)
    decoded = {output: channel.decode(output) for output in laws[0]}
    # An output counts towards "missing" if its value there is above 0; such outputs come last.
    missing = {output for output, targets in decoded.items() if len(targets) > 1 and targets[1] > 0}
    present = sorted((output for output in decoded if output not in missing), key=lambda output: decoded[output][0])
    room = len(present) if most is None else max(most - bool(missing), 1)
    groups: list[list[Output]] = []
    if len(present) <= room:
        groups = [[output] for output in present]
    else:
        weights = {output: float(sum(law[output] for law in laws)) for output in present}
        share, filled = sum(weights.values()) / room, 0.0
        for output in present:
            if not groups or (filled >= share * len(groups) and len(groups) < room):
                groups.append([])
            groups[-1].append(output)
            filled += weights[output]
    half = (Fraction(field.high) - Fraction(field.low)) / 2
    result = []
    for group in groups:
        ends = [
            _worded(field, float(Fraction(field.low) + (decoded[output][0] + 1) * half))
            for output in (group[0], group[-1])
        ]
        result.append(_row(ends[0] if ends[0] == ends[1] else " .. ".join(ends), group, laws))
    return [*result, _row(MISSING, sorted(missing), laws)] if missing else result


def _worded(field: Numeric, value: float) -> str:
    """Return the value that a report stands for, which may lie far beyond the bounds: hours then do not end at 24."""
    if isinstance(field, Date) and abs(value) < _DAYS:
        return field.named(value)
    if isinstance(field, Time):
        minutes, seconds = divmod(math.floor(abs(value) * field.step + 0.5), 60)
        fine = f":{seconds:02}" if field.step % 60 else ""
        return f"{'-' if value < 0 else ''}{minutes // 60:02}:{minutes % 60:02}{fine}"
    return number(value)


def _row(label: str, group: Sequence[Output], laws: Sequence[Law]) -> Row:
    probabilities = tuple(sum((law[output] for output in group), Fraction(0)) for law in laws)
    return Row(label, len(group), probabilities)
