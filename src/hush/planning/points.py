"""What `hush plan` says of questions about many categories: which channel reports them, and why."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from hush.core.channels import Geometry, Subset
from hush.core.design.categorical import SHORT, geometry, least_variance, total_variance
from hush.core.exact import log_above
from hush.core.plan import Plan
from hush.show.tables import number


def notes(plan: Plan) -> Iterator[str]:
    """Yield a sentence for each question about many categories."""
    for question in plan.questions:
        channel = question.channel
        if isinstance(channel, Geometry):
            size, times = channel.size, _times(channel)
            yield (
                f"{question.words}: one of {channel.points:,} points for {size:,} categories, in "
                f"{channel.alphabet.width} bytes where a set takes "
                f"{-(-size // 8):,}; the variance is {times} times that of the best set."
            )
        elif isinstance(channel, Subset) and channel.size > SHORT and channel.weight > 1:
            epsilon = Fraction(log_above(channel.ratio)).limit_denominator(10**6)
            other = total_variance(geometry(epsilon, channel.size)) / total_variance(channel)
            yield f"{question.words}: sets, as points would have {number(float(other))} times the variance."


def _times(channel: Geometry) -> str:
    epsilon = Fraction(log_above(channel.ratio)).limit_denominator(10**6)
    return f"{float(total_variance(channel) / least_variance(epsilon, channel.size)):.3f}"
