"""The reports that a relay draws are those that the accountant counts on."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hush import PlanError
from hush.core.blanket import blanket_of
from hush.planning.shuffle import contrasts
from tests.cases import plans


@pytest.mark.parametrize("name", plans())
def test_the_relay_draws_from_the_blanket_of_the_accountant(name: str) -> None:
    """Channel by channel, the probability of the blanket is the same; and so is that of whole reports."""
    plan = plans()[name]
    try:
        blanket = blanket_of(plan)
    except PlanError as error:
        pytest.skip(f"no own reports: {error}")
    for question, found in zip(plan.questions, blanket.channels, strict=True):
        assert found.size == sum((w for w, _, _ in question.channel.blanket()), Fraction(0))
        assert sum(found.least.values()) == found.size
    whole = sum((w for w, _, _ in contrasts.blanket_of(plan)), Fraction(0))
    if plan.k == 1:
        wanted = sum(share * found.size for share, found in zip(plan.inclusions, blanket.channels, strict=True))
        assert whole == wanted
        for share, found, drawn in zip(plan.inclusions, blanket.channels, blanket.answered, strict=True):
            assert drawn == share * found.size / whole
