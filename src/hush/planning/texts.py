"""A second round about texts: other people say which of those that were found is theirs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hush.core.design.categorical import subset
from hush.core.design.plans import budget
from hush.core.plan import Plan, Question
from hush.core.schema import Schema
from hush.core.word_views import Among
from hush.errors import DesignError
from hush.server.frequent import candidates
from hush.server.tally import Tally

MOST = 99  # texts of a second round: more would rarely be told from noise


def second_round(
    first: Tally, attribute: str, epsilon: float, *, texts: Sequence[str] | None = None, title: str = ""
) -> Plan:
    """Return a plan that asks which of the texts that a first round found is one's own, or none of them.

    It lists up to 99 texts, also some that cannot be told from noise yet. `texts` lists others. Ask people who did not
    answer the first round: answering both costs both epsilons. `hush.frequent(first, attribute, second=tally)` reads
    both rounds together.
    """
    listed = candidates(first, attribute, MOST) if texts is None else tuple(texts)
    if not listed:
        raise DesignError(f"attribute {attribute!r}: the first round found no text, so there is none to ask about")
    cost: Fraction = budget(epsilon)
    schema = Schema([first.plan.schema[attribute]])
    view = Among(attribute, listed)
    size = len(listed) + 1 + schema.attributes[0].optional
    return Plan(schema, cost, 1, (Question([view], subset(cost, size)),), title, None, first.plan.id)
