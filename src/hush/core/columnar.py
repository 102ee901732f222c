"""Reports in columns, as far as no library is needed: what `spec/reports.md` says to all that read or count them.

The batch engine reads rows by Arrow, and DuckDB and Spark by themselves; what they have in common is here.
"""

from __future__ import annotations

from hush.core.channels.alphabet import Subsets
from hush.core.plan import Plan
from hush.errors import ReportError

VERSION = "1"
WORD_BITS = 64


def parts(plan: Plan) -> list[int]:
    """Return for each question how many rows an answer takes: 1, or more for a set of more than 64 members."""
    return [
        -(-question.channel.alphabet.size // WORD_BITS) if isinstance(question.channel.alphabet, Subsets) else 1
        for question in plan.questions
    ]


def marks(plan: Plan) -> dict[str, str]:
    """Return the metadata that reports of a plan carry."""
    return {"hush": VERSION, "hush.core.plan": plan.id}


def check_marks(plan: Plan, version: str | None, plan_id: str | None) -> None:
    """Refuse another version and another plan. Engines drop metadata, so reports may say nothing of either."""
    if version is not None and version != VERSION:
        raise ReportError(f"these are not reports of version {VERSION}")
    if plan_id is not None and plan_id != plan.id:
        raise ReportError("these reports belong to another plan")


def named(plan: Plan, question: int) -> str:
    """Return what errors call a question: by its attributes."""
    return "attribute " + ", ".join(map(repr, plan.questions[question].attributes))
