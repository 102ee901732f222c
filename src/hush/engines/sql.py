"""The one query that every SQL engine runs, and its parts that depend on the plan.

An engine scans the rows once, in any order, and returns totals. A second scan would read the data again. If the rows
are made while they are read (a stage of Spark that randomises), it would even read other rows.

Questions are counted in one of two ways. *Whole*: rows are grouped by their output. That is for symbols, and for
sets so small that every set is a group; Python then checks an answer by its alphabet, once for each group.
*Bit by bit*: for larger sets each of the 64 bits is summed, and the rules for a set are conditions on its row.

Conditions for single rows would slow down the scan, so most rules are checked on totals. But outputs outside the
alphabet must not become rows of the result, because their number is unlimited. The outer query lumps them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hush.core.channels.alphabet import Alphabet, Grouped, Subsets, Symbols
from hush.core.columnar import WORD_BITS, parts, pieces
from hush.core.plan import Plan
from hush.errors import ReportError

WHOLE_MEMBERS = 16
WHOLE_SETS = 1024
SIGNED_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"})
LOWER = (1 << 63) - 1  # all bits but the sign


@dataclass(frozen=True)
class Rule:
    """A rule for the row of a set, and the SQL condition of a row that breaks it."""

    text: str
    broken: str


@dataclass(frozen=True)
class Ones:
    """A way to count the ones in each bit of `word`: aggregates of rows, and aggregates of these.

    `bucket` is a further key for the rows, for ways that can count a limited number of rows at a time.
    """

    inner: Callable[[int], list[str]]
    outer: Callable[[int], list[str]]
    bucket: str = ""


def masked() -> Ones:
    """Compare with one mask for each bit: the fastest way without a limit in DuckDB (`benchmarks/engines.py`)."""
    return Ones(
        # The highest bit is the sign, and its mask is not a positive integer.
        lambda bits: [
            f"count_if({'word < 0' if i == 63 else f'(word & {1 << i}) <> 0'}) AS ones{i}" for i in range(bits)
        ],
        lambda bits: [f"sum(ones{i})" for i in range(bits)],
    )


def paired(bucket: str) -> Ones:
    """Count two bits, 32 places apart, in the two halves of one sum: the fastest in Spark (`benchmarks/engines.py`).

    With at most 2^30 rows in a bucket, neither half overflows.
    """
    return Ones(
        lambda bits: [f"sum((word >> {i}) & {(1 << 32) + 1}) AS ones{i}" for i in range(min(bits, 32))],
        lambda bits: [f"sum((ones{i % 32} >> {i // 32 * 32}) & {(1 << 32) - 1})" for i in range(bits)],
        bucket,
    )


@dataclass(frozen=True)
class Layout:
    """The layout of a plan's answers in rows, and how they are counted."""

    plan: Plan

    @cached_property
    def alphabets(self) -> list[Alphabet]:
        """The alphabet of each question."""
        return [question.channel.alphabet for question in self.plan.questions]

    @cached_property
    def parts(self) -> list[int]:
        """How many rows an answer to each question takes."""
        return parts(self.plan)

    @cached_property
    def whole(self) -> list[bool]:
        """Which questions are counted whole."""
        return [
            isinstance(alphabet, Symbols) or (alphabet.size <= WHOLE_MEMBERS and alphabet.outputs <= WHOLE_SETS)
            for alphabet in self.alphabets
        ]

    @cached_property
    def bits(self) -> int:
        """How many bits of an output are summed: none if all questions are counted whole."""
        sizes = [alphabet.size for alphabet, whole in zip(self.alphabets, self.whole, strict=True) if not whole]
        return min(max(sizes, default=0), WORD_BITS)

    @cached_property
    def rules(self) -> list[Rule]:
        """The rules for each row of a set that is counted bit by bit."""
        spare: dict[int, list[str]] = {}
        weights: dict[int, list[str]] = {}
        twice: dict[str, list[str]] = {}
        for index, alphabet in enumerate(self.alphabets):
            if not isinstance(alphabet, Subsets) or self.whole[index]:
                continue
            last = self.parts[index] - 1
            used = alphabet.size - WORD_BITS * last
            if used < WORD_BITS:
                spare.setdefault(used, []).append(f"(attribute = {index} AND part = {last})")
            if alphabet.weight is not None and last == 0:
                weights.setdefault(alphabet.weight, []).append(f"attribute = {index}")
            if isinstance(alphabet, Grouped):
                for part in range(last + 1):
                    broken = _twice(alphabet.group, WORD_BITS * part)
                    twice.setdefault(broken, []).append(f"(attribute = {index} AND part = {part})")
        rules = []
        if spare:
            # The shift keeps the sign, so a spare bit leaves something other than 0.
            rules.append(Rule("spare bits must be 0", _any({f"(word >> {n}) <> 0": rows for n, rows in spare.items()})))
        if weights:
            broken = _any({f"bit_count(word) <> {weight}": rows for weight, rows in weights.items()})
            rules.append(Rule("a set must have as many members as the plan says", broken))
        if twice:
            # A group that lies in two parts is checked in each of them, and by the totals.
            rules.append(Rule("a set must not have two members of one group", _any(twice)))
        return rules

    def query(self, source: str, *, has_part: bool, ones: Ones) -> str:
        """Return the query for an engine that counts ones in its own way.

        Its columns: question and part (NULL for rows of no question), the output if it is counted whole (NULL if it is
        not, or is outside the alphabet), whether attribute or part is NULL, then numbers of rows: all rows, those whose
        output is not NULL, those that break each rule, those that have each bit.
        """
        inner = ["count(*) AS n", "count(word) AS present"]
        inner += [f"count_if({rule.broken}) AS rule{i}" for i, rule in enumerate(self.rules)]
        outer = [f"sum({column.rsplit(' ', 1)[1]})" for column in inner]
        keys, bucket = "attribute, part, output", ""
        if self.bits:
            inner += ones.inner(self.bits)
            outer += ones.outer(self.bits)
            if ones.bucket:
                keys, bucket = f"{keys}, bucket", f", {ones.bucket} AS bucket"
        return f"""
            WITH answers AS (
                SELECT attribute, {"part" if has_part else "0"} AS part, CAST(output AS BIGINT) AS word,
                    {self._output} AS output{bucket}
                FROM {source}
            ), counted AS (
                SELECT {keys}, {", ".join(inner)} FROM answers GROUP BY {keys}
            ), layout(question, place, high) AS (VALUES {", ".join(self._places)})
            SELECT question, place, CASE WHEN output BETWEEN 0 AND high THEN output END AS output,
                attribute IS NULL OR part IS NULL AS nothing, {", ".join(outer)}
            FROM counted LEFT JOIN layout ON attribute = question AND part = place
            GROUP BY 1, 2, 3, 4"""  # noqa: S608  # it contains only integers and text of the engines' modules

    @property
    def _output(self) -> str:
        if all(self.whole):
            return "output"
        whole = [str(index) for index, one in enumerate(self.whole) if one]
        return f"CASE WHEN attribute IN ({', '.join(whole)}) THEN output END" if whole else "CAST(NULL AS BIGINT)"

    @property
    def _places(self) -> list[str]:
        places = []
        for index, alphabet in enumerate(self.alphabets):
            high = alphabet.size - 1 if isinstance(alphabet, Symbols) else (1 << alphabet.size) - 1
            for part in range(self.parts[index]):
                places.append(f"({index}, {part}, {high if self.whole[index] else -1})")
        return places


def _twice(group: int, first: int) -> str:
    """Return the condition that a word, whose lowest bit is the member `first`, has two members of one group.

    `hush.core.columnar.pieces` explains it. The sign is checked apart, because the difference could overflow.
    """
    tops, starts = pieces(group, first, WORD_BITS - 1)
    lower = f"(word & {LOWER})"
    broken = f"({lower} & (({lower} | {tops}) - {starts})) <> 0"
    before = (first + WORD_BITS - 1) % group  # members of the sign's group that come before it
    beside = LOWER & ~(LOWER >> min(before, WORD_BITS - 1))
    return f"({broken} OR (word < 0 AND (word & {beside}) <> 0))" if before else broken


def check_columns(layout: Layout, types: Mapping[str, str]) -> bool:
    """Refuse columns that cannot hold reports of the plan. Return whether there is a column of parts."""
    needed = ["attribute", "output"]
    if max(layout.parts) > 1 or "part" in types:
        needed.append("part")
    for name in needed:
        if name not in types:
            raise ReportError(f"reports of this plan need a column {name!r}")
        if types[name].upper() not in SIGNED_INTEGERS:
            raise ReportError(f"the column {name!r} must hold signed integers of at most 64 bits")
    return "part" in needed


def _any(cases: Mapping[str, Sequence[str]]) -> str:
    """Return the condition that one of the cases holds in its rows."""
    return " OR ".join(f"(({' OR '.join(rows)}) AND {condition})" for condition, rows in cases.items())
