"""The report: all that leaves a device. It has a plan's id, a random id and a few small integers.

The constructor checks a report against its plan, and decoding goes through the constructor, so every `Report` object
is valid. `spec/wire.md` describes both forms byte by byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hush.core import codec
from hush.core.buckets import buckets_of
from hush.core.channels import Output
from hush.core.plan import Plan
from hush.errors import ReportError

VERSION = 2
ID_SIZE = 16
TAG_SIZE = 8
MAX_TEXT = 1 << 20


@dataclass(frozen=True)
class Report:
    """Answers to k questions of a plan: pairs of the question's index and the channel's output."""

    plan: Plan
    id: bytes
    answers: tuple[tuple[int, Output], ...]

    def __post_init__(self) -> None:
        if type(self.id) is not bytes or len(self.id) != ID_SIZE:
            raise ReportError(f"the id of a report must be {ID_SIZE} bytes")
        if type(self.answers) is not tuple or len(self.answers) != self.plan.k:
            raise ReportError(f"a report of this plan has {self.plan.k} answers")
        questions = self.plan.questions
        previous = -1
        for answer in self.answers:
            if type(answer) is not tuple or len(answer) != 2:
                raise ReportError("an answer is a pair of question and output")
            index, output = answer
            if type(index) is not int or not previous < index < len(questions):
                raise ReportError(
                    f"the questions of a report must increase from 0 to {len(questions) - 1} at most: "
                    "none may be answered twice"
                )
            previous = index
            questions[index].channel.alphabet.check(output)

    def __repr__(self) -> str:
        return f"<Report {self.id.hex()} of plan {self.plan.id[:12]}: {self.answers}>"

    def measurement(self) -> int:
        """Return which of the plan's `buckets` the report is in, for a histogram such as DAP's Prio3Histogram.

        The id is not part of it. A plan that has no histogram raises PlanError.
        """
        return buckets_of(self.plan).place(self.answers[0])

    # -- binary

    def encode(self) -> bytes:
        """Return the compact binary form."""
        parts = [bytes([VERSION]), bytes.fromhex(self.plan.id)[:TAG_SIZE], self.id]
        width = index_width(self.plan)
        for index, output in self.answers:
            if width:
                parts.append(index.to_bytes(width, "big"))
            parts.append(self.plan.questions[index].channel.alphabet.pack(output))
        return b"".join(parts)

    @classmethod
    def decode(cls, plan: Plan, data: bytes) -> Report:
        """Read the binary form of a report of this plan. Anything else is a ReportError."""
        cursor = codec.Cursor(data, ReportError, "the report")
        report = cls.take(plan, cursor)
        cursor.end()
        return report

    @classmethod
    def take(cls, plan: Plan, cursor: codec.Cursor) -> Report:
        """Read the next report from a sequence of reports."""
        if (version := cursor.take(1)[0]) != VERSION:
            raise ReportError(codec.other_version(version, VERSION, "a report"))
        if cursor.take(TAG_SIZE) != bytes.fromhex(plan.id)[:TAG_SIZE]:
            raise ReportError("this report belongs to another plan")
        id_ = cursor.take(ID_SIZE)
        answers = []
        width = index_width(plan)
        for position in range(plan.k):
            index = int.from_bytes(cursor.take(width), "big") if width else position
            codec.integer(index, 0, len(plan.questions) - 1, ReportError, "the question of an answer")
            alphabet = plan.questions[index].channel.alphabet
            answers.append((index, alphabet.unpack(cursor.take(alphabet.width))))
        return cls(plan, id_, tuple(answers))

    # -- JSON

    def to_json(self) -> str:
        """Return the JSON form."""
        return codec.dump(
            {
                "hush": VERSION,
                "plan": self.plan.id,
                "id": self.id.hex(),
                "answers": [[index, output] for index, output in self.answers],
            }
        )

    @classmethod
    def from_json(cls, plan: Plan, text: str | bytes) -> Report:
        """Read the JSON form of a report of this plan. Anything else is a ReportError."""
        return cls.from_values(plan, codec.load(text, ReportError, MAX_TEXT))

    @classmethod
    def from_values(cls, plan: Plan, value: Any) -> Report:
        """Read a report from JSON values that were already parsed."""
        names = ("hush", "plan", "id", "answers")
        version, plan_id, id_, items = codec.fields(value, names, ReportError, "a report")
        if type(version) is not int or version != VERSION:
            raise ReportError(codec.other_version(version, VERSION, "a report"))
        if plan_id != plan.id:
            raise ReportError("this report belongs to another plan")
        answers, found = [], codec.listed(items, ReportError, "the answers")
        if len(found) != plan.k:  # before looking at thousands of them
            raise ReportError(f"a report of this plan has {plan.k} answers")
        for item in found:
            if type(item) is not list or len(item) != 2:
                raise ReportError("an answer must be an array of question and output")
            index = codec.integer(item[0], 0, len(plan.questions) - 1, ReportError, "the question of an answer")
            answers.append((index, plan.questions[index].channel.alphabet.from_json(item[1])))
        return cls(plan, codec.hexadecimal(id_, ID_SIZE, ReportError, "the id of a report"), tuple(answers))


@lru_cache(maxsize=256)
def sizes(plan: Plan) -> tuple[int, int]:
    """Return how many bytes the shortest and the longest binary report of a plan take."""
    widths = sorted(question.channel.alphabet.width for question in plan.questions)
    fixed = 1 + TAG_SIZE + ID_SIZE + plan.k * index_width(plan)
    return fixed + sum(widths[: plan.k]), fixed + sum(widths[-plan.k :])


def index_width(plan: Plan) -> int:
    """Return how many bytes the index of a question takes: none if all questions are answered."""
    if plan.k == len(plan.questions):
        return 0
    return 1 if len(plan.questions) <= 256 else 2
