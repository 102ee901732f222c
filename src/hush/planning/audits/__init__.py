"""Audits: the real cost of a plan, and the leaks of any randomiser.

`audit(plan)` proves the privacy of a plan in exact arithmetic, runs its samplers, and attacks them.
`audit(function, inputs)` calls a function that somebody else wrote, and attacks its outputs, including their low bits.
Audits are for people who judge a collection: they import device and server code, and neither imports them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from hush.core.plan import Plan
from hush.errors import AuditError
from hush.planning.audits.attacks import Attack
from hush.planning.audits.fits import Fit
from hush.planning.audits.plans import PlanAudit, QuestionAudit, Told, audit_plan
from hush.planning.audits.proofs import Proof
from hush.planning.audits.randomisers import Impossible, Possible, RandomiserAudit, audit_randomiser

__all__ = ["Attack", "Fit", "Impossible", "PlanAudit", "Proof", "QuestionAudit", "RandomiserAudit", "audit"]

MIN_DRAWS = 400


@overload
def audit(subject: Plan, /, *, draws: int = ..., confidence: float = ..., told: Told = ...) -> PlanAudit: ...


@overload
def audit(
    subject: Callable[[Any], Any],
    inputs: Sequence[Any],
    /,
    *,
    epsilon: float | None = ...,
    possible: Possible | None = ...,
    draws: int = ...,
    confidence: float = ...,
) -> RandomiserAudit: ...


def audit(
    subject: Plan | Callable[[Any], Any],
    inputs: Sequence[Any] | None = None,
    /,
    *,
    epsilon: float | None = None,
    possible: Possible | None = None,
    draws: int = 20_000,
    confidence: float = 1 - 1e-6,
    told: Told = lambda *_: None,
) -> PlanAudit | RandomiserAudit:
    """Audit a plan, or any function that claims to be a randomiser.

    For a plan, the audit proves its privacy, and runs its samplers `draws` times for a few inputs of each question. A
    function is called `draws` times for each of the inputs; its outputs are numbers, or anything hashable. It fails if
    an attack proves that it leaks more than `epsilon`, or if `possible(output, input)`, where it is given, finds an
    output of one input that another can never produce. A correct subject fails with probability 1 - confidence at most.

    `told(done, total, what)` is called while a plan is audited.
    """
    if type(draws) is not int or draws < MIN_DRAWS:
        raise AuditError(f"draws must be a whole number, {MIN_DRAWS} or more")
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise AuditError("confidence must be a number between 0 and 1, such as 0.999999")
    if isinstance(subject, Plan):
        if inputs is not None or epsilon is not None or possible is not None:
            raise AuditError("a plan brings its own inputs and its own epsilon")
        return audit_plan(subject, draws, confidence, told)
    if not callable(subject) or inputs is None:
        raise AuditError("audit a plan, or a function together with a list of inputs")
    return audit_randomiser(subject, inputs, epsilon, draws, confidence, possible)
