"""Questions about texts: the first bits, more of them, ..., all of them, and all of them once more.

Each question asks for a prefix, hashed to one of 2^17 points, and each person answers one. `hush.frequent` walks from
short prefixes to long ones: it extends those that were found by all values of the next chunk, and looks each up among
the estimates of the next question.

- The first chunk has as many bits as there are points, so nearly every first prefix has a point of its own.
- The next chunks have at most 11 bits: a few hundred prefixes and 2^11 ways to go on are a few times the number of
  points, so a text that many hold has about that many false twins, of which the next question leaves few.
- The last question asks for the whole text by another hash. Nothing was chosen by its answers, so shares and their
  intervals come from it alone, and so do the tests that keep false texts out.

Fewer questions are asked of more people each, so a code with fewer bits finds more (`python -m experiments.words`).
"""

from __future__ import annotations

from fractions import Fraction

from hush.core.channels import Geometry
from hush.core.channels.geometry import MAX_POINTS
from hush.core.design.categorical import geometry
from hush.core.texts import Text
from hush.core.word_views import Prefix

FIRST = 17
STEP = 11
POINTS = 1 << FIRST
MOST = 400_000  # points of one question


def chunks(text: Text) -> tuple[int, ...]:
    """Return the bits that each question adds, of the last one 0."""
    first = min(FIRST, text.bits)
    rest = text.bits - first
    steps = -(-rest // STEP)
    more = [rest // steps + (place < rest % steps) for place in range(steps)] if steps else []
    return (first, *more, 0)


def prefix_channel(epsilon: Fraction, text: Text) -> Geometry:
    """Return the channel of all questions about a text, which together have at most 3/4 of the outputs of a plan."""
    return geometry(epsilon, POINTS + text.optional, min(MOST, 3 * MAX_POINTS // 4 // len(chunks(text))))


def prefixes(text: Text) -> list[Prefix]:
    """Return the views of all questions about a text."""
    found = chunks(text)
    return [Prefix(text.name, found[: level + 1], POINTS) for level in range(len(found))]
