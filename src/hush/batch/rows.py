"""Reports in columns: `spec/reports.md` as an Arrow schema."""

from __future__ import annotations

import pyarrow as pa

from hush.channels.alphabet import Subsets
from hush.plan import Plan

VERSION = b"1"
WORD_BITS = 64


def parts(plan: Plan) -> list[int]:
    """Return for each question how many rows an answer takes: 1, or more for a set of more than 64 members."""
    return [
        -(-question.channel.alphabet.size // WORD_BITS) if isinstance(question.channel.alphabet, Subsets) else 1
        for question in plan.questions
    ]


def report_schema(plan: Plan, *, ids: bool = False) -> pa.Schema:
    """Return the Arrow schema of the reports of a plan."""
    alphabets = [question.channel.alphabet for question in plan.questions]
    if any(isinstance(alphabet, Subsets) for alphabet in alphabets):
        output = pa.int64()
    else:
        output = pa.int16() if max(alphabet.size for alphabet in alphabets) <= 1 << 15 else pa.int32()
    fields = [pa.field("attribute", pa.int16(), nullable=False)]
    if max(parts(plan)) > 1:
        fields.append(pa.field("part", pa.int16(), nullable=False))
    fields.append(pa.field("output", output, nullable=False))
    if ids:
        fields.append(pa.field("report", pa.binary(16), nullable=False))
    return pa.schema(fields, metadata={b"hush": VERSION, b"hush.plan": plan.id.encode()})
