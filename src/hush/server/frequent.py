"""The texts that many people hold, found among all texts that there can be.

The questions of a text ask for longer and longer prefixes, hashed to points (`hush.core.design.texts`). From the first
one on, prefixes whose point stands out are kept, extended by all values of the next chunk, and looked up among the
points of the next question. A prefix is kept if it exceeds a threshold that lets about 40 empty ones pass; the
questions after it leave few of these.

**False finds.** Some texts that are found at the end are held by nobody. The last question asks for the whole text by
another hash, and no choice depended on it. So it tests each text that was found. If nobody holds the text, every report
to that question supports it with the same known probability, and reports are independent: their number is binomial.
The *tail* of a text is the probability of at least the number that was counted. By its definition, a tail of at most a
has a probability of at most a, for every a: the tails are exact, not approximate. The procedure of Benjamini and
Hochberg (1995) returns the texts with the r smallest tails, for the largest r such that the r-th of all m tails is at
most `false` times r/m. They prove for independent tests that on average at most `false` times m_0/m of the returned
texts are held by nobody, if m_0 of the m texts are. Here counts of two such texts have a correlation of about
-1/q^(t-1) in a geometry and -1/K in a list of K texts: hardly any. (A text may also share its point by chance with one
that many hold. That happens to about one in a thousand of the empty ones.)

**Intervals** come from the last question too. They are those of Benjamini and Yekutieli (2005): because only some texts
are returned, each interval has a higher level, such that on average the share `level` of all returned ones is right.

**A second round** asks other people which of the texts that were found is theirs (`hush.second_round`). Nothing in it
is hashed, and its shares and those of the last question are pooled. Both rounds give a text a tail, t_1 and t_2, which
are independent. For the quantile function N of the normal distribution, -N(t_i) exceeds any z at most as often as a
normal number does, because t_i is at most a at most as often as a uniform number is. So does the sum of -w_i N(t_i) for
positive w_i with w_1^2 + w_2^2 = 1, and its normal tail is a tail of both rounds together (Stouffer 1949). The weights
are inversely proportional to the noise of the rounds.

**Own reports of a relay** were subtracted on average (`hush.server.own`). The chance in them widens all intervals, and
counts as noise when texts are told from it. The test looks at all reports, own ones among them: each is a draw from one
mixture if nobody holds the text, so the tail stays exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from statistics import NormalDist
from typing import ClassVar, NamedTuple
from unicodedata import category

from hush.core.channels.indicator import Supporting
from hush.core.schema import MISSING, OTHER
from hush.core.texts import Text, extended, extensions
from hush.core.word_views import Among, Prefix
from hush.errors import EstimateError
from hush.server.binomial import at_least
from hush.server.estimates import MAX_LEVEL
from hush.server.floors import EMPTY, Hurdle, Passed, floor_of, outstanding, shares_of_liars, told_from
from hush.server.intervals import Pool, Sample, bounds, laid
from hush.server.own import MANY
from hush.server.sources import supported
from hush.server.tally import Tally
from hush.show.rows import Rows
from hush.show.tables import Table, figures, percent, within

KEPT = 400  # prefixes, at most
_LEAST_TAIL = 1e-300  # smaller ones count as this one, which changes nothing
# Characters that would move a cursor, break a line or turn the order of letters. As in web/pages/frequent.ts.
_TURNING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_UNSEEN = ("Cf", "Zl", "Zp", "Zs")  # kinds of characters that leave nothing to see


@dataclass(frozen=True)
class FrequentText:
    """A text with the share of people who hold it. `cut`: only the beginning of a longer text is known."""

    attribute: str
    category: str
    share: float
    stderr: float
    low: float
    high: float
    cut: bool = False


class FrequentTexts(Rows[FrequentText]):
    """Texts that many people hold, the most frequent first.

    `others` is the share of people who hold none of them, `missing` that of people without a text (None if there are
    none by the plan). `floor` is the share that a text needs to be found in about every second collection
    (`hush.server.floors`). `liars` is how many people must lie together, with reports of their choice to every
    question, to add a text of their choice.
    """

    _columns: ClassVar = {
        "attribute": str,
        "category": str,
        "share": float,
        "stderr": float,
        "low": float,
        "high": float,
        "cut": bool,
    }

    def __init__(
        self,
        rows: Iterable[FrequentText] = (),
        *,
        level: float | None = None,
        floor: float = math.nan,
        others: float = math.nan,
        missing: float | None = None,
        liars: int = 0,
    ) -> None:
        super().__init__(rows)
        self.level, self.floor, self.others = level, floor, others
        self.missing, self.liars = missing, liars

    def table(self) -> Table:
        """Return them with as many digits as their intervals justify."""
        shown = []
        for row in self:
            write = within(row.low, row.high)
            shown.append((_line(row), write(row.share), f"{write(row.low)} .. {write(row.high)}"))
        notes = [f"All other texts: {max(self.others, 0.0):.3f}." if self else "No text can be told from noise."]
        if math.isfinite(self.floor):
            notes.append(f"A text held by less than about {figures(self.floor)} of the people is likely missed.")
            notes.append(f"About {self.liars:,} people who lie together can add a text of their choice.")
        return Table(("text", "share", percent(self.level, "interval")), shown, texts=1, notes=tuple(notes))


def _line(row: FrequentText) -> str:
    """Return a text as a terminal can show it, whoever chose it: one line, in its own order."""
    line = _TURNING.sub("\ufffd", row.category)
    if all(category(letter) in _UNSEEN for letter in line):
        line = "(blank)" if line or row.cut else "(empty)"
    return line + "…" * row.cut


def frequent(
    tally: Tally,
    attribute: str,
    top: int = 32,
    *,
    second: Tally | None = None,
    level: float = 0.95,
    false: float = 0.05,
) -> FrequentTexts:
    """Return the texts that most people hold, with their shares and intervals.

    Only texts that can be told from noise are returned, at most `top` of them: on average at most the share `false` of
    all that could be returned are held by nobody. `second` is the tally of a second round, whose plan
    `hush.second_round` made.
    """
    _check(top, level, false)
    return Search(tally, attribute, second).told(top, level=level, false=false)


class Search:
    """The texts that a tally suggests, each with its share and with how likely that share is if nobody holds it.

    A search takes seconds. `told` then takes little time, at every level. `reports` are those of each round.
    """

    def __init__(self, tally: Tally, attribute: str, second: Tally | None = None) -> None:
        text = _text(tally, attribute)
        asked = _asked(tally, attribute)
        if second is not None:
            _text(second, attribute)
            listing = isinstance(_asked(second, attribute)[0].view, Among)
            if second.plan.schema[attribute] != text or not listing or isinstance(asked[0].view, Among):
                raise EstimateError(
                    f"attribute {attribute!r}: the second tally is not of a second round about the same texts"
                )
        both = [asked[-1]] if second is None else [asked[-1], *_asked(second, attribute)]
        rounds = [question for question in both if question.n]
        self.name, self._answered = attribute, bool(rounds)
        self.reports = (tally.people,) if second is None else (tally.people, second.people)
        if not rounds:
            return
        listed = rounds[-1].view
        tries: list[int] = []
        if isinstance(listed, Among):
            found = dict(zip(listed.codes(tally.plan.schema), listed.values, strict=True))
            kept = [(code, value, False) for code, value in found.items()]
        else:
            kept = list(_walk(text, asked, tries))
        # Where nobody answered a first round, the texts of the second one were listed by other means.
        first = any(question.n for question in asked) or not isinstance(listed, Among)
        self._walked, self._rounds = asked[:-1] if first else [], rounds
        self._tries = [*tries, *(_usual_tries(question) for question in self._walked[len(tries) :])]
        self._noise, self._samples = _weighed(text, kept, rounds)
        last = rounds[-1]
        self._missing: float | None = None
        if text.optional:
            place = len(last.totals) - 1 if isinstance(last.view, Among) else last.view.points
            self._missing = last.sample_at(place).mean

    def told(self, top: int = 32, *, level: float = 0.95, false: float = 0.05) -> FrequentTexts:
        """Return the texts that can be told from noise, as `frequent` does."""
        _check(top, level, false)
        if not self._answered:
            return FrequentTexts(level=level)
        count = len(self._samples)
        ranks = enumerate(self._samples, 1)
        told = max((rank for rank, found in ranks if found.tail <= false * rank / count), default=0)
        each = 1 - (1 - level) * max(told, 1) / max(count, 1)
        rows = []
        for one in self._samples[:told]:
            low, high = laid(bounds(one.sample, each), one.point, (0.0, 1.0))
            rows.append(FrequentText(self.name, one.value, one.point, one.sample.stderr, low, high, one.cut))
        rows.sort(key=lambda row: (-row.share, row.category))
        rows = rows[:top]
        others = 1 - math.fsum(row.share for row in rows) - (self._missing or 0.0)
        floor, liars = self._floor(false * max(told, 1) / max(count, 1))
        return FrequentTexts(rows, level=level, floor=floor, others=others, missing=self._missing, liars=liars)

    def _floor(self, tail: float) -> tuple[float, int]:
        """Return the share with which a text is found half of the time if its tail must be so small, and the liars."""
        if not all(question.n for question in self._walked):
            return math.nan, 0
        hurdles = [
            question.hurdle(question.least(outstanding(tries)))
            for question, tries in zip(self._walked, self._tries, strict=True)
        ]
        hurdles.append(_last(self._rounds, self._noise, tail))
        leverages = [*(one.leverage for one in self._walked), sum(one.leverage for one in self._rounds)]
        needed = zip(shares_of_liars(hurdles), leverages, strict=True)
        return floor_of(hurdles), sum(math.ceil(share * leverage) for share, leverage in needed)


def candidates(tally: Tally, attribute: str, limit: int = 99) -> tuple[str, ...]:
    """Return the texts that a second round should ask about, also those that cannot be told from noise yet.

    If there are more than `limit`, those come first whose longest prefix stands out most. The last question has no say:
    `frequent` pools it with the second round, and texts that were chosen by it would seem more frequent than they are.

    Texts that no plan can list are left out: those with characters that are not printable, or like `MISSING`.
    """
    text = _text(tally, attribute)
    _check(limit, 0.95, 0.05)
    listed = (
        value
        for _, value, cut in _walk(text, _asked(tally, attribute))  # the most outstanding first
        if not cut and value.isprintable() and value not in (MISSING, OTHER)
    )
    return tuple(islice(listed, limit))


# -- the questions


class _Asked:
    """A question about a text, with what a tally says of it."""

    def __init__(self, view: Prefix | Among, tally: Tally, index: int) -> None:
        channel = tally.plan.questions[index].channel
        assert isinstance(channel, Supporting)
        self.view, self.channel, self.answered = view, channel, tally.answered[index]
        self._counts = tally.counts[index]
        if isinstance(view, Among):
            self._places = {code: place for place, code in enumerate(view.codes(tally.plan.schema))}
        self.p, self.q = float(channel.p), float(channel.q)
        self._own = tally.among(index)
        self.n: float = self.answered if self._own is None else max(self.answered - self._own.number, 0.0)
        # How many of very many own reports support each category.
        self._owns = [] if self._own is None else self._supports(self._own.counts)

    @cached_property
    def whole(self) -> Sequence[int]:
        """How many reports support each category, own ones of a relay among them."""
        return self._supports(self._counts)

    @cached_property
    def totals(self) -> Sequence[float]:
        """How many people's reports support each category, as far as it is known."""
        if self._own is None:
            return self.whole
        taken = (self._own.number * count / MANY for count in self._owns)
        return [count - own for count, own in zip(self.whole, taken, strict=True)]

    def _supports(self, counts: Sequence[int]) -> Sequence[int]:
        readings = getattr(self.channel, "totals", None)
        return counts if readings is None else readings(counts)

    @property
    def mixed(self) -> bool:
        """Whether own reports of a relay were among the answers."""
        return self._own is not None

    @property
    def crowd(self) -> float:
        """The share of other people whom a hash puts onto the same point, on average."""
        return 1 / self.view.points if isinstance(self.view, Prefix) else 0.0

    @property
    def noise(self) -> float:
        """The standard error of a share of 0."""
        low, high = self._values
        added = self._most_added(0.0)
        return math.sqrt((high - low) ** 2 * self.base * (1 - self.base) + added) / math.sqrt(self.n)

    @property
    def base(self) -> float:
        """How likely the report of a person who does not hold a text supports it."""
        return self.q + self.crowd * (self.p - self.q)

    @property
    def _values(self) -> tuple[float, float]:
        """What a report says of a share that it does not support, and of one that it does."""
        low, high = (((answer - self.q) / (self.p - self.q) - self.crowd) / (1 - self.crowd) for answer in (0, 1))
        return low, high

    def _added(self, chance: float, share: float = 0.0) -> float:
        """Return what own reports add to the variance of one person's value, if this part of them support it."""
        if self._own is None:
            return 0.0
        low, high = self._values
        away = low + (high - low) * chance - share
        return self._own.number / self.n * ((high - low) ** 2 * chance * (1 - chance) + self._own.loose * away**2)

    def _most_added(self, share: float) -> float:
        """Return that of the text for which it is largest."""
        return max((self._added(count / MANY, share) for count in set(self._owns)), default=0.0)

    def least(self, z: float) -> float:
        """Return the count that stands out of noise by z standard errors."""
        low, high = self._values
        return self.n * (self.base + z * self.noise / (high - low))

    def hurdle(self, above: float) -> Passed:
        """Return how likely the count of a text with a share exceeds this one."""
        low, high = self._values
        added = self._most_added(0.0) / (high - low) ** 2
        return Hurdle(self.n, self.base, 1 / (high - low), math.floor(above) + 1, added).passed

    def deviation(self, share: float) -> float:
        """Return the standard error of a share."""
        low, high = self._values
        chance = min(self.base + share / (high - low), 1.0)
        return math.sqrt(((high - low) ** 2 * chance * (1 - chance) + self._most_added(share)) / self.n)

    def tail(self, place: int) -> float:
        """Return how likely at least this count is if nobody holds the text, exactly."""
        count = self.whole[place]
        if self._own is None:
            return at_least(count, self.answered, self.base)
        mixed = (self.n * self.base + self._own.number * self._owns[place] / MANY) / self.answered
        return at_least(count, self.answered, mixed)

    @property
    def leverage(self) -> float:
        """How many reports of a liar's choice seem like all people, so a share needs that part of them."""
        return self.n * (self.p - self.q) / (1 - self.q)

    def place(self, text: Text, code: int) -> int:
        """Return the category of a text."""
        if isinstance(self.view, Among):
            return self._places[code]
        return extended(0, code, text.bits, self.view.chunks) % self.view.points

    def sample(self, text: Text, code: int) -> Sample:
        """Return the share of people who hold a text, as a sample."""
        return self.sample_at(self.place(text, code))

    def sample_at(self, place: int) -> Sample:
        """Return the share of a category as a sample, without those whom the hash puts there by chance."""
        count = self.whole[place]
        supporting = self._owns[place] if self._own is not None else 0
        return supported((self.answered - count, count), self._values, self._own, supporting)


def _text(tally: Tally, attribute: str) -> Text:
    if not isinstance(tally, Tally):
        raise EstimateError("frequent(tally, attribute) needs a tally")
    text = tally.plan.schema[attribute]
    if not isinstance(text, Text):
        raise EstimateError(
            f"attribute {attribute!r}: is not a text; its categories are listed, and estimate has their shares"
        )
    return text


def _check(top: int, level: float, false: float) -> None:
    if type(top) is not int or top < 1:
        raise EstimateError("top must be a whole number, 1 or more")
    if not 0 < level <= MAX_LEVEL:
        raise EstimateError(f"level must be above 0, and at most {MAX_LEVEL}")
    if not 0 < false <= 0.5:
        raise EstimateError("false must be above 0, and at most 0.5")


def _asked(tally: Tally, attribute: str) -> list[_Asked]:
    """Return the questions about a text, from short prefixes to long ones."""
    found = []
    for index, question in enumerate(tally.plan.questions):
        view = question.views[0]
        if view.of == (attribute,) and isinstance(view, Prefix | Among):
            found.append(_Asked(view, tally, index))
    found.sort(key=lambda asked: len(asked.view.chunks) if isinstance(asked.view, Prefix) else 0)
    prefixes = [asked.view.chunks for asked in found if isinstance(asked.view, Prefix)]
    if prefixes and (len(prefixes) < 2 or any(b[:-1] != a for a, b in pairwise(prefixes))):
        raise EstimateError(f"attribute {attribute!r}: its questions are not those of one text, from short to long")
    return found


# -- the walk


def _usual_tries(question: _Asked) -> int:
    """Return how many prefixes are tried, if only empty ones were kept before."""
    assert isinstance(question.view, Prefix)
    *before, width = question.view.chunks
    return (EMPTY if before else 1) << width


def _last(rounds: Sequence[_Asked], noise: float, tail: float) -> Passed:
    """Return how likely a text with a share has at most this tail: exactly for one round without a relay's reports."""
    (first, *others) = rounds
    if not others and not first.mixed:
        return first.hurdle(told_from(first.answered, first.base, tail) - 1)
    z = -NormalDist().inv_cdf(tail)

    def passed(share: float) -> float:
        weights = [(noise / one.noise) ** 2 for one in rounds]
        parts = (weight * one.deviation(share) for weight, one in zip(weights, rounds, strict=True))
        return NormalDist().cdf((share - z * noise) / math.hypot(*parts))

    return passed


def _walk(text: Text, asked: Sequence[_Asked], seen: list[int] | None = None) -> Iterator[tuple[int, str, bool]]:
    """Yield the codes that all questions but the last one found, with their texts, and whether they are cut.

    `seen` gets the number of prefixes that are tried in each question.
    """
    tried = [] if seen is None else seen
    kept = [(0, 0, False)]  # the bits so far, the state of the hash, and whether the text has ended
    bits = 0
    for level, question in enumerate(asked[:-1]):
        if not question.n:
            return
        assert isinstance(question.view, Prefix)
        width = question.view.chunks[-1]
        bits += width
        tried.append(sum(1 if ended else 1 << width for _, _, ended in kept))
        kept = _stand_out(text, kept, question, level, bits, outstanding(tried[-1]))
    for code, _, _ in kept:
        read = text.read(code, bits)
        assert read is not None
        if text.encode(read.text) == code and read.ended:
            yield code, read.text, False
        elif not read.ended and read.text.isprintable():
            yield code, read.text, True


def _stand_out(
    text: Text, kept: Sequence[tuple[int, int, bool]], question: _Asked, level: int, bits: int, z: float
) -> list[tuple[int, int, bool]]:
    """Return the longer prefixes whose points stand out by z standard errors, most of all first."""
    assert isinstance(question.view, Prefix)
    width, points = question.view.chunks[-1], question.view.points
    least, totals = question.least(z), question.totals
    found = []
    for code, state, ended in kept:
        states = extensions(state, 0 if ended else width, level)
        found += [
            (totals[after % points], code << width | chunk, after)
            for chunk, after in enumerate(states)
            if totals[after % points] > least
        ]
    found.sort(reverse=True)
    longer = []
    for _, code, state in found:
        read = text.read(code, bits)
        if read is not None:
            longer.append((code, state, read.ended))
            if len(longer) == KEPT:
                break
    return longer


# -- what can be told


class _Weighed(NamedTuple):
    """A text with its share, and how likely a share like this one is if nobody holds the text."""

    tail: float
    point: float
    sample: Sample | Pool
    value: str
    cut: bool


def _weighed(
    text: Text, kept: Sequence[tuple[int, str, bool]], rounds: Sequence[_Asked]
) -> tuple[float, list[_Weighed]]:
    """Return the standard error of a share of 0, and all texts that were found, the least likely noise first."""
    noise = 1 / math.sqrt(math.fsum(1 / asked.noise**2 for asked in rounds))
    weights = [(noise / asked.noise) ** 2 for asked in rounds]
    found = []
    for code, value, cut in kept:
        parts = [asked.sample(text, code) for asked in rounds]
        sample = parts[0] if len(parts) == 1 else Pool(tuple(zip(weights, parts, strict=True)))
        point = sample.point
        found.append(_Weighed(_tail(rounds, text, code), point, sample, value, cut))
    return noise, sorted(found, key=lambda one: (one.tail, -one.point))


def _tail(rounds: Sequence[_Asked], text: Text, code: int) -> float:
    """Return how likely a share like this one is if nobody holds the text."""
    tails = [asked.tail(asked.place(text, code)) for asked in rounds]
    return tails[0] if len(tails) == 1 else joined(tails, [1 / asked.noise for asked in rounds])


def joined(tails: Sequence[float], weights: Sequence[float]) -> float:
    """Return the tail of several independent rounds together, by Stouffer's method."""
    if max(tails) >= 1:
        return 1.0
    normal = NormalDist()
    total = math.fsum(
        weight * normal.inv_cdf(max(tail, _LEAST_TAIL)) for tail, weight in zip(tails, weights, strict=True)
    )
    return normal.cdf(total / math.hypot(*weights))
