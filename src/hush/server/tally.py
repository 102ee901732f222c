"""The tally: a vector of counts for each question. The server needs to keep nothing else.

Tallies of one plan form a commutative monoid: `+` adds integers, `Tally(plan)` is zero, and adding reports in
any order, on any number of machines, gives equal tallies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hush.core import codec
from hush.core.buckets import buckets_of
from hush.core.plan import Plan
from hush.core.report import Report
from hush.errors import TallyError
from hush.server.own import Among, Counted, among, left_over

if TYPE_CHECKING:
    import altair as alt

VERSION = 2
MAX_REPORTS = 1 << 62


class Tally:
    """Counts of the reports of one plan. It is the one mutable type among plan, report and tally.

    `reports` is the number of reports, `answered[j]` the number that answer question j, and `counts[j]` how often
    each output (or each member of a set-valued output) was reported.
    """

    __slots__ = ("answered", "counts", "plan", "reports")

    def __init__(
        self,
        plan: Plan,
        reports: int = 0,
        answered: Sequence[int] | None = None,
        counts: Sequence[Sequence[int]] | None = None,
    ) -> None:
        if not isinstance(plan, Plan):
            raise TallyError("Tally(plan) needs a Plan")
        self.plan = plan
        self.reports = reports
        self.answered = [0] * len(plan.questions) if answered is None else list(answered)
        self.counts = (
            [[0] * question.channel.alphabet.size for question in plan.questions]
            if counts is None
            else [list(vector) for vector in counts]
        )
        self._check()

    def _check(self) -> None:
        questions = self.plan.questions
        codec.integer(self.reports, 0, MAX_REPORTS, TallyError, "the number of reports")
        if len(self.answered) != len(questions) or len(self.counts) != len(questions):
            raise TallyError("a tally has one vector of counts for each question")
        for question, answered, vector in zip(questions, self.answered, self.counts, strict=True):
            codec.integer(answered, 0, self.reports, TallyError, "the number who answered")
            alphabet = question.channel.alphabet
            if len(vector) != alphabet.size or set(map(type, vector)) != {int}:
                raise TallyError(f"{question.attributes[0]!r}: needs {alphabet.size} integer counts")
            alphabet.check_counts(vector, answered)
        if sum(self.answered) != self.reports * self.plan.k:
            raise TallyError(f"every report of this plan has {self.plan.k} answers")

    @staticmethod
    def from_histogram(plan: Plan, counts: Sequence[int]) -> Tally:
        """Return the tally of reports of which only the histogram is known: the sum of each `Report.measurement`.

        There is one count for each of `plan.buckets`. The counts must be exact: do not pass a histogram to which
        somebody added noise.
        """
        if not isinstance(plan, Plan):
            raise TallyError("Tally.from_histogram(plan, counts) needs a Plan first")
        buckets, found = buckets_of(plan), Tally(plan)
        if isinstance(counts, str | bytes) or not isinstance(counts, Sequence) or len(counts) != buckets.size:
            raise TallyError(f"a histogram of this plan is a sequence of {buckets.size} counts")
        for count in counts:
            codec.integer(count, 0, MAX_REPORTS, TallyError, "a count of a histogram")
        if sum(counts) > MAX_REPORTS:
            raise TallyError(f"a histogram must have at most {MAX_REPORTS} reports")
        numbers = iter(counts)
        for index, outputs in enumerate(buckets.outputs):
            vector = found.counts[index]
            for output, count in zip(outputs, numbers, strict=False):
                found.answered[index] += count
                for member in (output,) if isinstance(output, int) else output:
                    vector[member] += count
        found.reports = sum(found.answered)
        return found

    def add(self, report: Report) -> None:
        """Count a report of the same plan.

        A tally keeps no ids: a report that is added twice counts twice. A service that receives reports over a network
        must check their ids first.
        """
        if not isinstance(report, Report):
            raise TallyError("only reports are added to a tally; use + for tallies")
        if report.plan.id != self.plan.id:
            raise TallyError("this report belongs to another plan")
        # Every Report object is valid, so nothing below can fail half-way.
        for index, output in report.answers:
            self.plan.questions[index].channel.alphabet.count(self.counts[index], output)
            self.answered[index] += 1
        self.reports += 1

    def update(self, reports: Iterable[Report]) -> None:
        """Count many reports: all of them, or none if one is refused."""
        extra = Tally(self.plan)
        for report in reports:
            extra.add(report)
        self._merge(extra)

    def _merge(self, other: Tally) -> None:
        self.reports += other.reports
        self.answered = [a + b for a, b in zip(self.answered, other.answered, strict=True)]
        self.counts = [
            [a + b for a, b in zip(ours, theirs, strict=True)]
            for ours, theirs in zip(self.counts, other.counts, strict=True)
        ]

    def copy(self) -> Tally:
        """Return an independent copy."""
        return self + Tally(self.plan)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if other.plan.id != self.plan.id:
            raise TallyError("these tallies belong to different plans")
        total = Tally(self.plan)
        total._merge(self)
        total._merge(other)
        return total

    def __radd__(self, other: object) -> Tally:
        # sum() starts from 0.
        return self.copy() if type(other) is int and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (self.plan.id, self.reports, self.answered, self.counts) == (
            other.plan.id,
            other.reports,
            other.answered,
            other.counts,
        )

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"<Tally of plan {self.plan.id[:12]}: {self.reports:,} reports>"

    def plot(self, *attributes: str, level: float = 0.95) -> alt.VConcatChart:
        """Draw the estimates of these attributes (or of all) with their intervals, as an Altair chart.

        It needs `pip install 'hush-ldp[plot]'`.
        """
        from hush import plots
        from hush.server.estimates import estimate

        rows = estimate(self, level=level)
        return plots.estimates(rows.of(*attributes) if attributes else rows, self.plan.schema)

    # -- JSON

    def to_json(self) -> str:
        """Return the JSON form, which includes the plan. `hush tally` writes it, and `hush estimate` reads it."""
        counted = {
            "hush": VERSION,
            "plan": self.plan.id,
            "reports": self.reports,
            "answered": self.answered,
            "counts": self.counts,
        }
        return f'{{"hush":{VERSION},"plan":{self.plan.to_json()},"tally":{codec.dump(counted)}}}'

    @classmethod
    def from_json(cls, text: str | bytes, plan: Plan | None = None) -> Tally:
        """Read the JSON form, and check all of it, including the plan. With a plan, refuse a tally of any other."""
        if not isinstance(plan, Plan | None) or isinstance(text, Plan):
            raise TallyError("Tally.from_json(text, plan) needs a text first, and then perhaps a Plan")
        value = codec.load(text, TallyError, 2 * codec.MAX_TEXT)
        corrected = isinstance(value, dict) and "own" in value
        own = value.pop("own") if corrected else None
        outer, design, tally = codec.fields(value, ("hush", "plan", "tally"), TallyError, "a tally")
        names = ("hush", "plan", "reports", "answered", "counts")
        version, plan_id, reports, answered, counts = codec.fields(tally, names, TallyError, "the counts of a tally")
        for number in (outer, version):
            if type(number) is not int or number != VERSION:
                raise TallyError(codec.other_version(number, VERSION, "a tally"))
        plan = cls._planned(design, plan)
        if plan_id != plan.id:
            raise TallyError("this tally belongs to another plan")
        vectors: list[Any] = codec.listed(counts, TallyError, "counts")
        found = Tally(
            plan,
            reports,
            codec.listed(answered, TallyError, "answered"),
            [codec.listed(vector, TallyError, "a vector of counts") for vector in vectors],
        )
        return found._people(own) if corrected else found

    def _people(self, own: Any) -> Tally:
        """Return the tally of people, if `own` of these reports are a relay's own."""
        return without(self, codec.integer(own, 1, self.reports, TallyError, "the number of a relay's own reports"))

    @staticmethod
    def _planned(design: Any, known: Plan | None) -> Plan:
        """Return the plan of a tally. A known plan is compared by its hash, and need not be checked again."""
        try:
            text = codec.dump(design)
        except ValueError:  # 1e999 is read as infinity, which cannot be written
            raise TallyError("a number is not finite") from None
        if known is None:
            return Plan.from_json(text)
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != known.id:
            raise TallyError("this tally belongs to another plan")
        return known

    # -- binary

    def encode(self) -> bytes:
        """Return the compact binary form."""
        parts = [bytes([VERSION]), bytes.fromhex(self.plan.id), codec.varint(self.reports)]
        for answered, vector in zip(self.answered, self.counts, strict=True):
            parts.append(codec.varint(answered))
            parts.extend(map(codec.varint, vector))
        return b"".join(parts)

    @classmethod
    def decode(cls, plan: Plan, data: bytes) -> Tally:
        """Read the binary form of a tally of this plan. Anything else is a TallyError."""
        cursor = codec.Cursor(data, TallyError, "the tally")
        if (version := cursor.take(1)[0]) != VERSION:
            raise TallyError(codec.other_version(version, VERSION, "a tally"))
        if cursor.take(32) != bytes.fromhex(plan.id):
            raise TallyError("this tally belongs to another plan")
        reports = cursor.varint()
        answered, counts = [], []
        for question in plan.questions:
            answered.append(cursor.varint())
            counts.append([cursor.varint() for _ in range(question.channel.alphabet.size)])
        own = cursor.varint() if cursor.left else None
        cursor.end()
        found = Tally(plan, reports, answered, counts)
        return found if own is None else found._people(own)


class PeopleTally(Tally):
    """The tally of people, after the average of `own` reports of a relay was subtracted from the `whole` tally.

    It stays one when more is counted or added, and in a file: the whole tallies are added, and corrected again.
    """

    __slots__ = ("own", "whole")
    own: int
    whole: Tally

    def to_json(self) -> str:
        """Return the JSON form: of all reports, and how many of them are own ones. Reading it corrects again."""
        return f'{self.whole.to_json()[:-1]},"own":{self.own}}}'

    def encode(self) -> bytes:
        """Return the compact binary form: of all reports, and how many of them are own ones."""
        return self.whole.encode() + codec.varint(self.own)

    def add(self, report: Report) -> None:
        """Count a report of the same plan, of a person."""
        extra = Tally(self.plan)
        extra.add(report)
        self._merge(extra)

    def _merge(self, other: Tally) -> None:
        total = self + other
        self.reports, self.answered, self.counts = total.reports, total.answered, total.counts
        self.own, self.whole = own_of(total), whole_of(total)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        return without(self.whole + whole_of(other), self.own + own_of(other))

    def __radd__(self, other: object) -> Tally:
        # Python asks a subclass first, so this is also the sum of a plain tally and one of people.
        return self + other if isinstance(other, Tally) else super().__radd__(other)


def own_of(tally: Tally) -> int:
    """Return for how many own reports of a relay a tally was corrected."""
    return tally.own if isinstance(tally, PeopleTally) else 0


def whole_of(tally: Tally) -> Tally:
    """Return a tally with all reports, those of a relay among them."""
    return tally.whole if isinstance(tally, PeopleTally) else tally


def among_of(tally: Tally, index: int) -> Among | None:
    """Return the own reports of a relay among the answers to a question, or None if there are none."""
    return among(tally.plan, index, tally.answered[index], whole_of(tally).answered[index])


def without(tally: Tally, own: int) -> Tally:
    """Return a tally without the average of `own` reports of a relay (`hush.server.own`).

    A tally that is too small for the correction is corrected for fewer.
    """
    if type(own) is not int or not 0 <= own <= tally.reports:
        raise TallyError("own must be an integer from 0 to the number of reports")
    left = own
    while left:
        try:
            numbers = left_over(tally.plan, Counted(tally.reports, tally.answered, tally.counts), left)
            found = PeopleTally(tally.plan, *numbers)
            found.own, found.whole = own, tally
            return found
        except TallyError:
            left //= 2
    return tally
