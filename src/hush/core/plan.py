"""The plan: all that is public about a collection, frozen, and named by its hash.

A plan lists *questions*. A question looks at one attribute (or several, for a channel that reports them together)
through public views (`hush.core.views`), and has a channel with its integers already computed, so that no device
computes an exponential. Several questions may look at the same attribute. Each person answers k of the questions, drawn
uniformly, or one drawn by weights.

**Privacy.** The choice of questions does not depend on the record, and given the questions the answers are
independent, whether or not the questions share attributes. So the ratio of any report's probabilities under two records
is at most the product of the k largest ratios of questions. The constructor refuses a plan for which that product, an
exact Fraction, exceeds a rational lower bound of e^epsilon. Decoding goes through the constructor, so a plan that was
tampered with to leak more than it claims does not load.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from hush.core import channels, codec, views
from hush.core.channels import Channel, Output
from hush.core.exact import exp_bounds
from hush.core.looking import Look, View
from hush.core.schema import Attribute, Input, Schema
from hush.core.views import Value
from hush.errors import PlanError

if TYPE_CHECKING:
    import altair as alt
    import rich.console

    from hush.planning.assumed import Guesses
    from hush.show.tables import Table

VERSION = 2
MIN_EPSILON = Fraction(1, 1000)
MAX_EPSILON = Fraction(16)
MAX_TITLE = 256
MAX_OUTPUTS = 1 << 22
MAX_WEIGHT = 1 << 32
MAX_BUCKETS = 1 << 16


MAX_QUESTIONS = 4096


@dataclass(frozen=True)
class Question:
    """What a question sees of a record, and the channel that reports it. The name of an attribute stands for itself."""

    views: tuple[View, ...]
    channel: Channel

    def __init__(self, asks: Sequence[View | str], channel: Channel) -> None:
        if isinstance(asks, str):
            raise PlanError("a question is about a list of attributes or views")
        object.__setattr__(self, "views", tuple(Value(item) if type(item) is str else item for item in asks))
        object.__setattr__(self, "channel", channel)
        if not self.views or not all(isinstance(view, View) for view in self.views):
            raise PlanError("a question is about one or more attributes or views")
        if len(set(self.views)) < len(self.views):  # a pool would count its answers twice
            raise PlanError(f"{_named(self)}: a question must not look through the same view twice")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that it looks at, in order."""
        return tuple(dict.fromkeys(name for view in self.views for name in view.of))

    @property
    def words(self) -> str:
        """What it looks at, in a few words for people."""
        return ", ".join(view.words for view in self.views)

    def told(self, schema: Schema) -> str:
        """Return these words with cuts in those of the attributes."""
        return ", ".join(view.told(schema) for view in self.views)

    @property
    def plain(self) -> tuple[str, ...] | None:
        """The attributes, if it looks at each as it is; None if it looks through another view."""
        if all(isinstance(view, Value) for view in self.views):
            return self.attributes
        return None


@dataclass(frozen=True)
class Plan:
    """A collection: schema, epsilon per person, questions, and how many of them each person answers.

    `cost` is the epsilon as an exact Fraction, and `epsilon` the same as a float. With `weights`, which require k = 1,
    the probability of a question is in proportion to its weight. Use `hush.design` to make a plan.
    `after` is the id of another plan that this one follows, such as a pilot: nobody answers both. Two plans that
    follow the same one do not exclude each other.
    The title is part of the plan, and so of its id. The same questions under another title are another collection,
    which costs its epsilon again.
    """

    schema: Schema
    cost: Fraction
    k: int
    questions: tuple[Question, ...]
    title: str = ""
    weights: tuple[int, ...] | None = None
    after: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.cost, Fraction) or not MIN_EPSILON <= self.cost <= MAX_EPSILON:
            raise PlanError(f"epsilon must be from {float(MIN_EPSILON)} to {float(MAX_EPSILON)}")
        if Fraction(repr(float(self.cost))) != self.cost:
            raise PlanError("epsilon must be a decimal number that a float can hold")
        if type(self.title) is not str or len(self.title) > MAX_TITLE or not self.title.isprintable():
            raise PlanError(f"the title must be at most {MAX_TITLE} printable characters")
        if self.after is not None:
            codec.hexadecimal(self.after, 32, PlanError, "the id of the plan before")
        if not self.questions:
            raise PlanError("a plan needs at least one question")
        codec.integer(self.k, 1, len(self.questions), PlanError, "k")
        if self.weights is not None:
            if type(self.weights) is not tuple or len(self.weights) != len(self.questions) or self.k != 1:
                raise PlanError("weights are for k = 1, one for each question")
            for weight in self.weights:
                codec.integer(weight, 1, MAX_WEIGHT, PlanError, "the weight of a question")
        sizes: dict[tuple[str, ...], int] = {}
        for question in self.questions:
            sizes[question.attributes] = sizes.get(question.attributes, 0) + question.channel.alphabet.size
        if (total := sum(sizes.values())) > MAX_OUTPUTS:
            largest = max(sizes, key=lambda names: sizes[names])
            raise PlanError(
                f"all channels together may have at most {MAX_OUTPUTS} outputs, and these have {total}; the questions "
                f"about {', '.join(map(repr, largest))} have {sizes[largest]} of them"
            )
        if len(self.questions) > MAX_QUESTIONS:
            raise PlanError(f"a plan has at most {MAX_QUESTIONS} questions")
        if len({question.views for question in self.questions}) < len(self.questions):
            raise PlanError("two questions of a plan must not look at the same through the same views")
        asked = {name for question in self.questions for name in question.attributes}
        for name in self.schema.names:
            if name not in asked:
                raise PlanError(f"attribute {name!r}: no question asks about it")
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
        for looks, question in zip(self._looks, self.questions, strict=True):
            assert looks  # prepared now: at the first draw, the time would reveal something about the record
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
        """What each question sees, as attributes: those of the schema, or those that its views describe."""
        return tuple(tuple(view.seen(self.schema) for view in question.views) for question in self.questions)

    @cached_property
    def _looks(self) -> tuple[tuple[Look, ...], ...]:
        return tuple(tuple(view.look(self.schema) for view in question.views) for question in self.questions)

    def seen(self, question: int, inputs: Sequence[Input]) -> list[Input]:
        """Return what a question sees of the inputs of a record. A device evaluates it for the questions it answers."""
        return [look(inputs) for look in self._looks[question]]

    @cached_property
    def inclusions(self) -> tuple[Fraction, ...]:
        """The probability that each question is asked of a person."""
        if self.weights is None:
            return (Fraction(self.k, len(self.questions)),) * len(self.questions)
        return tuple(Fraction(weight, sum(self.weights)) for weight in self.weights)

    @cached_property
    def buckets(self) -> int:
        """How many different reports there are, ids aside: the length of their histogram.

        A plan whose people answer several questions, or that has more than 65,536 different reports, raises PlanError.
        `Report.measurement` and `Tally.from_histogram` need this number.
        """
        if self.k != 1:
            raise PlanError(f"a histogram is for plans of one question each (k = 1), and here k = {self.k}")
        found = 0
        for question in self.questions:
            found += question.channel.alphabet.outputs
            if found > MAX_BUCKETS:
                raise PlanError(
                    f"{_named(question)}: with this {question.channel.kind} channel there are more than {MAX_BUCKETS} "
                    "different reports, and a histogram has at most that many buckets"
                )
        return found

    def channel(self, attribute: str) -> Channel:
        """Return the channel of the question that `question` names."""
        return self.questions[self.question(attribute)].channel

    def question(self, attribute: str) -> int:
        """Return the index of the question about an attribute as it is: about it alone, or else the first with others.

        An attribute that is asked through other views only has no such question.
        """
        self.schema[attribute]  # raises an error that lists the names, if there is no such attribute
        asking = [index for index, question in enumerate(self.questions) if Value(attribute) in question.views]
        if not asking:
            raise PlanError(f"attribute {attribute!r}: this plan asks about it through other views only, such as bands")
        return min(asking, key=lambda index: len(self.questions[index].views) > 1)

    def law(self, attribute: str, value: object) -> dict[Output, Fraction]:
        """Return every output that a person with this value may report if asked, with its exact probability.

        It works for channels of one attribute. The rounding of the value is included.
        """
        channel = self.channel(attribute)
        if len(self.questions[self.question(attribute)].views) > 1:
            raise PlanError(
                f"attribute {attribute!r}: is reported together with others, so that what is reported has no law for "
                "one value alone (Plan.channel has that of all values)"
            )
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
            {"views": [view.to_json() for view in question.views], "channel": question.channel.to_json()}
            for question in self.questions
        ]
        return codec.dump(
            {
                "hush": VERSION,
                "title": self.title,
                "after": self.after,
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
        names = ("hush", "title", "after", "epsilon", "k", "weights", "schema", "questions")
        version, title, after, epsilon, k, weights, schema, items = codec.fields(
            codec.load(text, PlanError, public=True), names, PlanError, "a plan"
        )
        if type(version) is not int or version != VERSION:
            raise PlanError(codec.other_version(version, VERSION, "a plan"))
        questions = []
        outputs = 0
        for item in codec.listed(items, PlanError, "the questions"):
            asks, channel = codec.fields(item, ("views", "channel"), PlanError, "a question")
            looks = [views.from_json(view) for view in codec.listed(asks, PlanError, "the views of a question")]
            questions.append(Question(looks, _channel(channel)))
            outputs += questions[-1].channel.alphabet.size
            if outputs > MAX_OUTPUTS:  # checked as we go, before more memory is used
                raise PlanError(f"all channels together may have at most {MAX_OUTPUTS} outputs")
        if weights is not None:
            weights = tuple(codec.listed(weights, PlanError, "weights (if not null)"))
        plan = cls(Schema.from_json(schema), _decimal(epsilon), k, tuple(questions), title, weights, after)
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
