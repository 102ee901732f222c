"""The rules of `spec/reports.md` for reports in columns that need no library.

The batch engine reads rows with Arrow; DuckDB and Spark read them themselves. This module has their common part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from hush.core.channels.alphabet import Subsets
from hush.core.plan import Plan
from hush.errors import ReportError

VERSION = "2"
OLDER = ("1",)
WORD_BITS = 64
SPARK = "org.apache.spark.sql.parquet.row.metadata"  # where Spark writes the metadata of columns into a file


def parts(plan: Plan) -> list[int]:
    """Return how many rows an answer to each question takes: 1, or more for a set of more than 64 members."""
    return [
        -(-question.channel.alphabet.size // WORD_BITS) if isinstance(question.channel.alphabet, Subsets) else 1
        for question in plan.questions
    ]


def pieces(group: int, first: int, bits: int = WORD_BITS) -> tuple[int, int]:
    """Cut a word, whose lowest bit is the member `first`, at the ends of groups, and return two masks of the pieces.

    The first one, `tops`, has the highest bit of each piece, and the second, `starts`, the lowest. (word | tops) -
    starts takes 1 from each piece, without borrowing from the next. So a piece with one member or none keeps no member,
    and one with several keeps some: word & ((word | tops) - starts) is 0 unless the word has two members of one group.
    """
    tops = starts = at = 0
    while at < bits:
        end = min(at + group - (first + at) % group, bits)
        starts |= 1 << at
        tops |= 1 << end - 1
        at = end
    return tops, starts


def marks(plan: Plan) -> dict[str, str]:
    """Return the metadata that reports of a plan carry."""
    return {"hush": VERSION, "hush.core.plan": plan.id}


def notes_in(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata of reports, with those of the column `attribute`, where Spark can keep them."""
    found: dict[str, str] = {}
    try:
        columns = {field["name"]: field["metadata"] for field in json.loads(metadata[SPARK])["fields"]}
        found = {str(name): str(value) for name, value in dict(columns.get("attribute", {})).items()}
    except (ValueError, LookupError, TypeError, RecursionError):
        pass  # it is not there, or of another kind
    return joined(found, metadata)


def joined(one: Mapping[str, str], two: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata of two places, which must not differ."""
    if any(two.get(name, text) != text for name, text in one.items()):
        raise ReportError("the metadata of the reports and of their column 'attribute' differ")
    return {**one, **two}


def check_marks(plan: Plan, version: str | None, plan_id: str | None) -> None:
    """Refuse another version and another plan. Either may be absent, because engines drop metadata."""
    if version in OLDER:
        raise ReportError(
            f"these are reports of version {version}; this hush reads version {VERSION}: "
            "make the plan and its reports anew"
        )
    if version is not None and version != VERSION:
        raise ReportError(f"these are not reports of version {VERSION}")
    if plan_id is not None and plan_id != plan.id:
        raise ReportError("these reports belong to another plan")


def named(plan: Plan, question: int) -> str:
    """Return the name of a question for errors: its attributes."""
    return "attribute " + ", ".join(map(repr, plan.questions[question].attributes))
