"""The audit of somebody else's randomiser: a function from an input to an output, treated as a black box."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from hush.errors import AuditError
from hush.planning.audits import words
from hush.planning.audits.attacks import Attack, Sample, attacks, number_of_attacks

Possible = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Impossible:
    """The number of outputs of the first input that the second can never produce. One makes epsilon infinite."""

    first: str
    second: str
    count: int
    draws: int

    def __str__(self) -> str:
        return f"{self.count / self.draws:.2%} of the outputs of {self.first} are impossible under {self.second}"


@dataclass(frozen=True)
class RandomiserAudit:
    """Attacks on every ordered pair of inputs; and impossible outputs, if `possible` was given to find them."""

    inputs: tuple[Any, ...]
    epsilon: float | None
    draws: int
    confidence: float
    attacks: tuple[Attack, ...]
    impossible: tuple[Impossible, ...]

    @property
    def lower(self) -> float:
        """A lower bound of epsilon: infinite if an output is impossible."""
        if any(item.count for item in self.impossible):
            return math.inf
        return max(attack.lower for attack in self.attacks)

    @property
    def failures(self) -> tuple[str, ...]:
        """The faults, in sentences; empty if there are none."""
        found = [str(item) for item in self.impossible if item.count]
        if self.epsilon is not None:
            found += [str(attack) for attack in self.attacks if attack.lower > self.epsilon]
        return tuple(found)

    @property
    def passed(self) -> bool:
        """Whether no output was impossible and no attack showed a larger epsilon than the claimed one."""
        return not self.failures

    def lines(self) -> Iterator[str]:
        """Yield the audit in sentences."""
        yield from words.randomiser_lines(self)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def audit_randomiser(
    randomiser: Callable[[Any], Any],
    inputs: Sequence[Any],
    epsilon: float | None,
    draws: int,
    confidence: float,
    possible: Possible | None,
) -> RandomiserAudit:
    """Call a function many times for each input, and attack its outputs."""
    if len(inputs) < 2:
        raise AuditError("an audit needs at least two inputs to distinguish")
    if epsilon is not None and not 0 <= epsilon < math.inf:
        raise AuditError("epsilon must be a finite number, 0 or more")
    names = [_named(value) for value in inputs]
    samples = []
    for name, value in zip(names, inputs, strict=True):
        outputs = [randomiser(value) for _ in range(draws)]
        try:
            set(outputs)
        except TypeError:
            raise AuditError("outputs must be hashable: turn lists and arrays into tuples") from None
        samples.append(Sample(name, value, outputs))
    found = attacks(samples, (1 - confidence) / number_of_attacks(samples))
    denied = _impossible(samples, possible) if possible else ()
    return RandomiserAudit(tuple(inputs), epsilon, draws, confidence, found, denied)


def _impossible(samples: Sequence[Sample], possible: Possible) -> tuple[Impossible, ...]:
    for sample in samples:
        if not all(possible(output, sample.input) for output in sample.outputs):
            raise AuditError("possible(output, input) denies an output that its own input has produced")
    return tuple(
        Impossible(a.name, b.name, sum(not possible(output, b.input) for output in a.outputs), len(a.outputs))
        for a, b in permutations(samples, 2)
    )


def _named(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
