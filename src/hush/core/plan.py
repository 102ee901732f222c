"""The plan: all that is public about a collection, frozen, and named by its hash.

A plan lists *questions*. A question covers one attribute (or several, for a channel that reports them
together) and has a channel with its integers already computed, so that no device computes an exponential. Each
person answers k of the questions, drawn uniformly.

**Privacy.** The choice of questions does not depend on the record, and given the questions the answers are
independent. So the ratio of any report's probabilities under two records is at most the product of the k largest
ratios of questions. The constructor refuses a plan for which that product, an exact Fraction, exceeds a rational
lower bound of e^epsilon. Decoding goes through the constructor, so a plan that was tampered with to leak more than
it claims does not load.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from hush.core import channels, codec
from hush.core.channels import Channel, Output
from hush.core.exact import exp_bounds
from hush.core.schema import Attribute, Schema
from hush.errors import PlanError

if TYPE_CHECKING:
    import altair as alt
    import rich.console

    from hush.planning.predictions import Guesses
    from hush.show.tables import Table

VERSION = 1
MIN_EPSILON = Fraction(1, 1000)
MAX_EPSILON = Fraction(16)
MAX_TITLE = 256
MAX_OUTPUTS = 3 << 19
MAX_WEIGHT = 1 << 32


@dataclass(frozen=True)
class Question:
    """One or more attributes, and the channel that reports them."""

    attributes: tuple[str, ...]
    channel: Channel


@dataclass(frozen=True)
class Plan:
    """A collection: schema, epsilon per person, questions, and how many of them each person answers.

    `cost` is the epsilon as an exact Fraction, and `epsilon` the same as a float. With `weights`, which require k = 1,
    the probability of a question is in proportion to its weight. Use `hush.design` to make a plan.
    The title is part of the plan, and so of its id. The same questions under another title are another collection,
    which costs its epsilon again.
    """

    schema: Schema
    cost: Fraction
    k: int
    questions: tuple[Question, ...]
    title: str = ""
    weights: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.cost, Fraction) or not MIN_EPSILON <= self.cost <= MAX_EPSILON:
            raise PlanError(f"epsilon must be from {float(MIN_EPSILON)} to {float(MAX_EPSILON)}")
        if Fraction(repr(float(self.cost))) != self.cost:
            raise PlanError("epsilon must be a decimal number that a float can hold")
        if type(self.title) is not str or len(self.title) > MAX_TITLE or not self.title.isprintable():
            raise PlanError(f"the title must be at most {MAX_TITLE} printable characters")
        codec.integer(self.k, 1, len(self.questions), PlanError, "k")
        if self.weights is not None:
            if type(self.weights) is not tuple or len(self.weights) != len(self.questions) or self.k != 1:
                raise PlanError("weights are for k = 1, one for each question")
            for weight in self.weights:
                codec.integer(weight, 1, MAX_WEIGHT, PlanError, "the weight of a question")
        if sum(question.channel.alphabet.size for question in self.questions) > MAX_OUTPUTS:
            raise PlanError(f"all channels together may have at most {MAX_OUTPUTS} outputs")
        asked = [name for question in self.questions for name in question.attributes]
        if asked != [attribute.name for attribute in self.schema.attributes]:
            raise PlanError("the questions must cover every attribute once, in the order of the schema")
        for question, attributes in zip(self.questions, self.attributes, strict=True):
            mismatch = question.channel.mismatch(attributes)
            if mismatch:
                raise PlanError(f"{_named(question)}: {mismatch}")
        bound = exp_bounds(self.cost)[0]
        if self.ratio > bound:
            worst = max(self.questions, key=lambda question: question.channel.ratio)
            raise PlanError(
                f"{_named(worst)}: with this channel a report costs more than epsilon = {self.epsilon!r}: "
                f"about {_log(self.ratio):.6g}"
            )
        for question in self.questions:  # now: at the first draw, the time would reveal something about the record
            question.channel.prepare()

    # -- definition

    @property
    def epsilon(self) -> float:
        """The cost of answering, for one person."""
        return float(self.cost)

    @cached_property
    def ratio(self) -> Fraction:
        """The largest ratio of one report's probability under two records, exactly. At most e^epsilon."""
        ratios = sorted((question.channel.ratio for question in self.questions), reverse=True)
        return math.prod(ratios[: self.k], start=Fraction(1))

    @cached_property
    def attributes(self) -> tuple[tuple[Attribute, ...], ...]:
        """The attributes of each question."""
        return tuple(tuple(self.schema[name] for name in question.attributes) for question in self.questions)

    @cached_property
    def spans(self) -> tuple[slice, ...]:
        """Where the inputs of each question lie among those of the schema."""
        ends = [0]
        for question in self.questions:
            ends.append(ends[-1] + len(question.attributes))
        return tuple(slice(start, end) for start, end in pairwise(ends))

    @cached_property
    def inclusions(self) -> tuple[Fraction, ...]:
        """The probability that each question is asked of a person."""
        if self.weights is None:
            return (Fraction(self.k, len(self.questions)),) * len(self.questions)
        return tuple(Fraction(weight, sum(self.weights)) for weight in self.weights)

    def channel(self, attribute: str) -> Channel:
        """Return the channel that reports an attribute."""
        return self.questions[self.question(attribute)].channel

    def question(self, attribute: str) -> int:
        """Return the index of the question that covers an attribute."""
        for index, question in enumerate(self.questions):
            if attribute in question.attributes:
                return index
        self.schema[attribute]  # raises an error that lists the names, if there is no such attribute
        raise AssertionError("the questions cover the schema")

    def law(self, attribute: str, value: object) -> dict[Output, Fraction]:
        """Return every output that a person with this value may report if asked, with its exact probability.

        It works for channels of one attribute. The rounding of the value is included.
        """
        channel = self.channel(attribute)
        if len(self.questions[self.question(attribute)].attributes) > 1:
            raise PlanError(f"attribute {attribute!r}: is reported together with others; use its channel's law")
        law: dict[Output, Fraction] = {}
        for state, weight in channel.rounding([self.schema[attribute].encode(value)]).items():
            for output, probability in channel.law(state).items():
                law[output] = law.get(output, Fraction(0)) + weight * probability
        return law

    def __repr__(self) -> str:
        return (
            f"<Plan {self.id[:12]} {self.title!r}: epsilon={self.epsilon}, {len(self.schema)} attributes, "
            f"k={self.k} of {len(self.questions)} questions>"
        )

    def __hash__(self) -> int:
        return hash(self.id)

    # -- display: `hush.show` and `hush.plots` do it, and are imported only when needed

    def table(self) -> Table:
        """Return the table that `hush plan` prints: the questions, their channels and the cost of answering."""
        from hush.planning.summary import table

        return table(self)

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        """Return the HTML that Jupyter and marimo show."""
        return self.table().shortened().html()

    def __rich__(self) -> rich.console.RenderableType:
        """Return the object that rich prints."""
        return self.table().__rich__()

    def plot(
        self, *attributes: str, people: int = 100_000, level: float = 0.95, guesses: Guesses | None = None
    ) -> alt.VConcatChart:
        """Draw the expected error of the estimates, against epsilon and against the number of people.

        It covers these attributes, or all of them, and returns an Altair chart (`hush.plots.margins`). Needs
        `pip install 'hush-ldp[plot]'`.
        """
        from hush import plots

        return plots.margins(self, people=people, level=level, attributes=attributes, guesses=guesses)

    def plot_law(self, attribute: str, *values: object) -> alt.Chart:
        """Draw the possible reports of people with these values, as an Altair chart.

        Without values, it takes the ends and the middle of a number, or the first categories.
        """
        from hush import plots

        return plots.law(self, attribute, values)

    # -- how it travels

    @cached_property
    def _text(self) -> str:
        questions = [
            {"attributes": list(question.attributes), "channel": question.channel.to_json()}
            for question in self.questions
        ]
        return codec.dump(
            {
                "hush": VERSION,
                "title": self.title,
                "epsilon": repr(self.epsilon),
                "k": self.k,
                "weights": None if self.weights is None else list(self.weights),
                "schema": self.schema.to_json(),
                "questions": questions,
            }
        )

    def to_json(self) -> str:
        """Return the canonical JSON text. Its SHA-256 is the plan's id."""
        return self._text

    @cached_property
    def id(self) -> str:
        """The SHA-256 of the canonical JSON text, in hexadecimal."""
        return hashlib.sha256(self._text.encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str | bytes, id: str | None = None) -> Plan:  # noqa: A002
        """Read a plan back, and check all of it again, including its privacy.

        Pass the id of the plan you expect, and any other plan is refused.
        """
        names = ("hush", "title", "epsilon", "k", "weights", "schema", "questions")
        version, title, epsilon, k, weights, schema, items = codec.fields(
            codec.load(text, PlanError, public=True), names, PlanError, "a plan"
        )
        if type(version) is not int or version != VERSION:
            raise PlanError(f"this is not a plan of version {VERSION}")
        questions = []
        outputs = 0
        for item in codec.listed(items, PlanError, "the questions"):
            attributes, channel = codec.fields(item, ("attributes", "channel"), PlanError, "a question")
            attributes = tuple(codec.listed(attributes, PlanError, "the attributes of a question"))
            questions.append(Question(attributes, _channel(channel)))
            outputs += questions[-1].channel.alphabet.size
            if outputs > MAX_OUTPUTS:  # checked as we go, before more memory is used
                raise PlanError(f"all channels together may have at most {MAX_OUTPUTS} outputs")
        if weights is not None:
            weights = tuple(codec.listed(weights, PlanError, "weights (if not null)"))
        plan = cls(Schema.from_json(schema), _decimal(epsilon), k, tuple(questions), title, weights)
        if id is not None and plan.id != id:
            raise PlanError("this is another plan: its id is not the one that was asked for")
        return plan


_known: WeakValueDictionary[str, Channel] = WeakValueDictionary()


def _channel(value: Any) -> Channel:
    """Read a channel. Equal channels are one object, within a plan and across plans, so each prepares once."""
    try:
        text = codec.dump(value)
    except ValueError:  # a number that is too large for any channel
        return channels.from_json(value)
    found = _known.get(text)
    if found is None:
        found = _known[text] = channels.from_json(value)
    return found


def _log(ratio: Fraction) -> float:
    """Return ln of a ratio that may be too large for a float."""
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _named(question: Question) -> str:
    return "attribute " + ", ".join(map(repr, question.attributes))


def _decimal(text: object) -> Fraction:
    """Read epsilon from a plan. It is a string, and each number can be written in one way only."""
    if type(text) is str and len(text) < 32:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if math.isfinite(number) and repr(number) == text:
            return Fraction(text)
    raise PlanError("epsilon must be a decimal number, written as a string in the shortest way")
