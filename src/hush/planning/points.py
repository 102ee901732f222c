"""What `hush plan` says of questions about many categories: which channel reports them, and why."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby

from hush.core.channels import Geometry, Subset
from hush.core.design.categorical import CLOSE, SHORT, geometry, least_variance, total_variance
from hush.core.exact import log_above
from hush.core.plan import Plan, Question
from hush.core.word_views import Prefix
from hush.show.tables import number


def notes(plan: Plan) -> Iterator[str]:
    """Yield a sentence for each question about many categories; the questions of one text share it."""
    for _, found in groupby(plan.questions, lambda question: (_text(question) or question, question.channel)):
        group = [*found]
        channel, name = group[0].channel, group[0].words
        if len(group) > 1:
            name = f"{_text(group[0])}, each of {len(group)} questions"
        if isinstance(channel, Geometry):
            yield _points(name, channel)
        elif isinstance(channel, Subset) and channel.size > SHORT:
            yield _sets(name, channel)


def _text(question: Question) -> str | None:
    """Return the attribute of which a question asks a prefix."""
    view = question.views[0]
    return view.attribute if isinstance(view, Prefix) else None


def _points(name: str, channel: Geometry) -> str:
    times = total_variance(channel) / least_variance(_epsilon(channel), channel.size)
    return (
        f"{name}: one of {channel.points:,} points for {channel.size:,} categories, in "
        f"{_bytes(channel.alphabet.width)} where a set takes {-(-channel.size // 8):,}; the variance is "
        f"{float(times):.3f} times that of the best set."
    )


def _sets(name: str, channel: Subset) -> str:
    other = geometry(_epsilon(channel), channel.size)
    times = total_variance(other) / total_variance(channel)
    if times > CLOSE:
        return f"{name}: sets, as points would have {number(float(times))} times the variance."
    # Somebody asked for sets.
    return (
        f"{name}: sets, in {_bytes(channel.alphabet.width)}; points would take {other.alphabet.width}, with "
        f"{number(float(times))} times the variance."
    )


def _epsilon(channel: Geometry | Subset) -> Fraction:
    return Fraction(log_above(channel.ratio)).limit_denominator(10**6)


def _bytes(width: int) -> str:
    return f"{width:,} byte{'s' * (width != 1)}"
