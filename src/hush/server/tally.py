"""The tally: a vector of counts for each question. The server needs to keep nothing else.

Tallies of one plan form a commutative monoid: `+` adds integers, `Tally(plan)` is zero, and adding reports in
any order, on any number of machines, gives equal tallies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from typing import TYPE_CHECKING, Any

from hush.core import codec, stores
from hush.core.blanket import blanket_of
from hush.core.buckets import buckets_of
from hush.core.channels import Alphabet
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.stores import Stores, checked
from hush.errors import PlanError, TallyError
from hush.server.own import Among, among

if TYPE_CHECKING:
    import altair as alt

VERSION = 2
MAX_REPORTS = 1 << 62


class Tally:
    """Counts of the reports of one plan. It is the one mutable type among plan, report and tally.

    `reports` is the number of reports, `answered[j]` the number that answer question j, and `counts[j]` how often
    each output (or each member of a set-valued output) was reported.

    If a relay has mixed reports of its own among those of people, `own` says how many, and all numbers include them.
    `people` is the number of the others. Every estimate subtracts what own reports add on average (`hush.server.own`).

    The tally that a collector shows carries the name of its store, in `stores` (`hush.core.stores`). Two tallies of one
    store are not added, as the later one has the reports of the earlier. Equal counts are equal tallies, whoever has
    counted them.
    """

    __slots__ = ("answered", "counts", "own", "plan", "reports", "stores")

    def __init__(
        self,
        plan: Plan,
        reports: int = 0,
        answered: Sequence[int] | None = None,
        counts: Sequence[Sequence[int]] | None = None,
        own: int = 0,
        stores: Sequence[Sequence[bytes]] = (),
    ) -> None:
        if not isinstance(plan, Plan):
            raise TallyError("Tally(plan) needs a Plan")
        self.plan = plan
        self.reports = reports
        self.own = own
        self.stores = checked(stores) if stores else ()
        self.answered = [0] * len(plan.questions) if answered is None else list(answered)
        self.counts = [question.channel.alphabet.zeros() for question in plan.questions]
        self._check(self.counts if counts is None else counts)

    def _check(self, counts: Sequence[Sequence[int]]) -> None:
        questions = self.plan.questions
        codec.integer(self.reports, 0, MAX_REPORTS, TallyError, "the number of reports")
        codec.integer(self.own, 0, self.reports, TallyError, "the number of a relay's own reports")
        if self.own:
            try:
                blanket_of(self.plan)
            except PlanError as error:  # its blanket is too large to list, so no relay can draw from it
                raise TallyError(f"no relay has reports of its own for this plan: {error}") from None
        if len(self.answered) != len(questions) or len(counts) != len(questions):
            raise TallyError("a tally has one vector of counts for each question")
        for index, question in enumerate(questions):
            answered, alphabet = self.answered[index], question.channel.alphabet
            codec.integer(answered, 0, self.reports, TallyError, "the number who answered")
            if counts is self.counts and not answered:  # a new tally
                continue
            try:
                self.counts[index] = alphabet.kept(counts[index])
            except TallyError as error:
                raise TallyError(f"{question.attributes[0]!r}: {error}") from None
            alphabet.check_counts(self.counts[index], answered)
        if sum(self.answered) != self.reports * self.plan.k:
            raise TallyError(f"every report of this plan has {self.plan.k} answers")

    @property
    def people(self) -> int:
        """The number of reports of people: all but a relay's own ones."""
        return self.reports - self.own

    def answers(self, question: int) -> int:
        """Return how many people answered a question; with a relay's own reports, about how many."""
        if not self.own:
            return self.answered[question]
        return max(0, round(self.answered[question] - self.own * blanket_of(self.plan).answered[question]))

    def among(self, question: int) -> Among | None:
        """Return the own reports of a relay among the answers to a question, or None if there are none."""
        return among(self.plan, question, self.own)

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
        """Add the numbers of a tally to this one."""
        self.stores = stores.joined(self.stores, other.stores)
        self.reports += other.reports
        self.own += other.own
        self.answered = [a + b for a, b in zip(self.answered, other.answered, strict=True)]
        self.counts = [
            question.channel.alphabet.summed(ours, theirs)
            for question, ours, theirs in zip(self.plan.questions, self.counts, other.counts, strict=True)
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
        return (self.plan.id, self.reports, self.own, self.answered, self.counts) == (
            other.plan.id,
            other.reports,
            other.own,
            other.answered,
            other.counts,
        )

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        own = f", {self.own:,} of them a relay's own" if self.own else ""
        return f"<Tally of plan {self.plan.id[:12]}: {self.reports:,} reports{own}>"

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
            "counts": [alphabet.written(vector) for alphabet, vector in self._vectors()],
        }
        own = f',"own":{self.own}' if self.own else ""
        named = f',"stores":{codec.dump(stores.written(self.stores))}' if self.stores else ""
        return f'{{"hush":{VERSION},"plan":{self.plan.to_json()},"tally":{codec.dump(counted)}{own}{named}}}'

    @classmethod
    def from_json(cls, text: str | bytes, plan: Plan | None = None) -> Tally:
        """Read the JSON form, and check all of it, including the plan. With a plan, refuse a tally of any other."""
        if not isinstance(plan, Plan | None) or isinstance(text, Plan):
            raise TallyError("Tally.from_json(text, plan) needs a text first, and then perhaps a Plan")
        value = codec.load(text, TallyError, 2 * codec.MAX_TEXT)
        own = [value.pop("own")] if isinstance(value, dict) and "own" in value else []
        named = stores.read(value.pop("stores")) if isinstance(value, dict) and "stores" in value else ()
        outer, design, tally = codec.fields(value, ("hush", "plan", "tally"), TallyError, "a tally")
        names = ("hush", "plan", "reports", "answered", "counts")
        version, plan_id, reports, answered, counts = codec.fields(tally, names, TallyError, "the counts of a tally")
        for number in (outer, version):
            if type(number) is not int or number != VERSION:
                raise TallyError(codec.other_version(number, VERSION, "a tally"))
        plan = cls._planned(design, plan)
        if plan_id != plan.id:
            raise TallyError("this tally belongs to another plan")
        alphabets = [question.channel.alphabet for question in plan.questions]
        vectors: list[Any] = codec.listed(counts, TallyError, "counts")
        if len(vectors) != len(plan.questions):
            raise TallyError("a tally has one vector of counts for each question")
        return cls._with(
            own,
            plan,
            reports,
            codec.listed(answered, TallyError, "answered"),
            [
                alphabet.read(codec.listed(vector, TallyError, "a vector of counts"))
                for alphabet, vector in zip(alphabets, vectors, strict=True)
            ],
            named,
        )

    def _vectors(self) -> Iterator[tuple[Alphabet, MutableSequence[int]]]:
        """Yield the alphabet of each question, and its counts."""
        for question, vector in zip(self.plan.questions, self.counts, strict=True):
            yield question.channel.alphabet, vector

    @classmethod
    def _with(
        cls, own: list[Any], plan: Plan, reports: Any, answered: list[Any], counts: list[Any], named: Stores
    ) -> Tally:
        """Return a tally that was read. If it says how many own reports it has, there is one at least."""
        for number in own:
            codec.integer(reports, 0, MAX_REPORTS, TallyError, "the number of reports")
            codec.integer(number, 1, reports, TallyError, "the number of a relay's own reports")
        return cls(plan, reports, answered, counts, own[0] if own else 0, named)

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
        for answered, (alphabet, vector) in zip(self.answered, self._vectors(), strict=True):
            parts.append(codec.varint(answered))
            parts.extend(map(codec.varint, alphabet.packed(vector)))
        if self.own or self.stores:
            parts.append(codec.varint(self.own))
        if self.stores:
            parts.append(stores.packed(self.stores))
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
            counts.append(question.channel.alphabet.unpacked(cursor.varint))
        own = [cursor.varint()] if cursor.left else []
        named = stores.unpacked(cursor) if cursor.left else ()
        cursor.end()
        return cls._with([] if named and own == [0] else own, plan, reports, answered, counts, named)


def with_own(tally: Tally, own: int) -> Tally:
    """Return a tally that says how many of its reports are a relay's own."""
    return Tally(tally.plan, tally.reports, tally.answered, tally.counts, own, tally.stores)


def of_store(tally: Tally, names: Sequence[bytes]) -> Tally:
    """Return a copy of a tally that carries the names of its store, the newest first."""
    found = tally.copy()
    found.stores = checked([names])
    return found
