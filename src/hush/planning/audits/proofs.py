"""The exact part of an audit: the largest ratio of a channel, and its proof.

For a small channel the proof is by enumeration: it lists every law and compares every output's probabilities, in
rational arithmetic and without trusting the channel's own `ratio`. For a larger channel the proof is the derivation in
the docstring of the channel's file, which the audit quotes; the laws of a few states are listed as a check.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Literal

from hush.core.channels import Channel, Output
from hush.core.exact import log_above

CELLS = 20_000
"""The largest number of probabilities that a proof by enumeration lists."""

Law = Mapping[Output, Fraction]


@dataclass(frozen=True)
class Proof:
    """The proof of a channel's ratio. `ratio` is the larger of the claimed and the found ratio."""

    method: Literal["enumeration", "formula"]
    claimed: Fraction
    ratio: Fraction
    argument: str
    flaw: str | None = None

    @cached_property
    def epsilon(self) -> float:
        """The realised epsilon: ln(ratio), rounded up."""
        return log_above(self.ratio)


def prove(channel: Channel, probed: Sequence[Law]) -> Proof:
    """Prove a channel's ratio. For a channel that is too large to enumerate, `probed` are the laws of some states."""
    claimed = channel.ratio
    outputs = channel.alphabet.outputs
    states = list(islice(channel.states(), CELLS // outputs + 1)) if outputs <= CELLS else []
    if 0 < len(states) * outputs <= CELLS:
        laws: Sequence[Law] = [channel.law(state) for state in states]
        method: Literal["enumeration", "formula"] = "enumeration"
        argument = f"all {outputs} outputs under all {len(states)} inputs were compared"
    else:
        laws, method, argument = probed, "formula", _derivation(channel)
    flaw = _flaw(laws)
    found = Fraction(1) if flaw else _largest_ratio(laws)
    if found > claimed:
        flaw = f"an output is {float(found):.6g} times likelier under one input than another, not {float(claimed):.6g}"
    return Proof(method, claimed, max(claimed, found), argument, flaw)


def _flaw(laws: Sequence[Law]) -> str | None:
    """Return why these are not laws with the same outputs, or None if they are."""
    if any(sum(law.values()) != 1 for law in laws):
        return "the probabilities of a law do not add up to 1"
    supports = [{output for output, probability in law.items() if probability > 0} for law in laws]
    if any(support != supports[0] for support in supports):
        return "an output is possible for one input and impossible for another: no epsilon is large enough"
    return None


def _largest_ratio(laws: Sequence[Law]) -> Fraction:
    worst = Fraction(1)
    for output in laws[0] if laws else ():
        probabilities = {law[output] for law in laws}
        if max(probabilities) > 0:
            worst = max(worst, max(probabilities) / min(probabilities))
    return worst


def _derivation(channel: Channel) -> str:
    """Return the paragraph on privacy in the docstring of the channel's file."""
    for class_ in type(channel).__mro__:
        text = sys.modules[class_.__module__].__doc__ or ""
        found = re.search(r"\*\*Privacy\.\*\*\s*(.*?)(?:\n\n|\Z)", text, re.S)
        if found:
            return f"{class_.__module__} says: {' '.join(found[1].split())}"
    return f"the derivation in {type(channel).__module__}"
