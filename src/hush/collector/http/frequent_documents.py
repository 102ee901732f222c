"""The JSON document of frequent texts, and its CSV."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hush.collector.http.documents import finite
from hush.server.frequent import FrequentText
from hush.show import csv


class FrequentRow(msgspec.Struct):
    """A text with the share of people who hold it. Numbers that do not exist are null.

    `cut`: only the beginning of a longer text is known.
    """

    attribute: str
    category: str
    share: float | None
    stderr: float | None
    low: float | None
    high: float | None
    cut: bool


class FrequentDocument(msgspec.Struct):
    """The texts that many people hold, the most frequent first; or why there are none.

    `reports`: those of the plan, and of the plan `second` if one is named. `others`: the share of people who hold none
    of the texts. `missing`: that of people without a text; null if the plan has none. `floor`: the share that a text
    needs to be found in about every second collection. `liars`: how many people must lie together to add a text of
    their choice. A number is null until somebody has answered its question.
    """

    plan: str
    second: str | None
    attribute: str
    reports: int
    reports_second: int | None
    level: float
    others: float | None
    missing: float | None
    floor: float | None
    liars: int
    rows: list[FrequentRow]
    why: str | None


def frequent_row(row: FrequentText) -> FrequentRow:
    """Return a text with its share as a document."""
    share, stderr, low, high = map(finite, (row.share, row.stderr, row.low, row.high))
    return FrequentRow(row.attribute, row.category, share, stderr, low, high, row.cut)


def texts_as_csv(rows: Sequence[FrequentRow]) -> str:
    """Return texts with their shares as CSV. People chose the texts, and none of them becomes a formula."""
    names = FrequentRow.__struct_fields__
    return csv.table(names, ([getattr(row, name) for name in names] for row in rows))
