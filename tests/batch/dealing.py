"""The batch engine's work done by the scalar path: words dealt as `spec/reports.md` says, then a report each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from hush import Plan, Report
from hush.core.coins import Coins
from hush.core.dealing import questions
from hush.device.randomise import randomise_from
from hush.testing import ListedCoins, RecordedCoins


def deal(plan: Plan, records: Sequence[dict[str, Any]], coins: Coins) -> list[Report]:
    """Return the reports of the people of one chunk.

    Everybody's words are collected, for the questions, then question by question, then for the ids; and the report is
    what the scalar path makes of these words alone, with none left.
    """
    recorded = RecordedCoins(coins)
    hands: list[list[int]] = [[] for _ in records]
    asked = []
    for person in range(len(records)):
        asked.append(questions(plan, recorded))
        hands[person] += _taken(recorded)
    inputs = [plan.schema.encode(record) for record in records]
    for index, question in enumerate(plan.questions):
        for person in range(len(records)):
            if index in asked[person]:
                question.channel.answer(plan.seen(index, inputs[person]), recorded)
                hands[person] += _taken(recorded)
    reports = []
    for record, hand in zip(records, hands, strict=True):
        words = ListedCoins([*hand, recorded.word(), recorded.word()])
        reports.append(randomise_from(words, plan, record))
        assert words.left == 0
    return reports


def _taken(recorded: RecordedCoins) -> list[int]:
    words = list(recorded.words)
    recorded.words.clear()
    return words


def reports_of(plan: Plan, table: pa.Table) -> list[Report]:
    """Read a table of reports with ids back into reports, by nothing but the words of `spec/reports.md`."""
    rows = table.to_pylist()
    sizes = [question.channel.alphabet.size for question in plan.questions]
    reports: list[Report] = []
    answers: list[tuple[int, Any]] = []
    at = 0
    while at < len(rows):
        row = rows[at]
        index, alphabet = row["attribute"], plan.questions[row["attribute"]].channel.alphabet
        if hasattr(alphabet, "weight"):
            bits, parts = 0, -(-sizes[index] // 64)
            for part in range(parts):
                assert rows[at + part]["attribute"] == index
                assert rows[at + part].get("part", 0) == part
                bits |= rows[at + part]["output"] % (1 << 64) << 64 * part
            answers.append((index, tuple(i for i in range(bits.bit_length()) if bits >> i & 1)))
            at += parts
        else:
            assert row.get("part", 0) == 0
            answers.append((index, row["output"]))
            at += 1
        if len(answers) == plan.k:
            reports.append(Report(plan, row["report"], tuple(answers)))
            answers = []
    assert not answers
    return reports
