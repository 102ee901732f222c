"""An audit in sentences, for readers who know a little about local differential privacy.

Numbers about privacy are rounded to the safe side: a cost up, a proven leak down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from hush.core.plan import Plan
from hush.core.schema import Numeric
from hush.show.tables import down as down
from hush.show.tables import number, sure
from hush.show.tables import up as up

if TYPE_CHECKING:
    from hush.planning.audits.attacks import Attack
    from hush.planning.audits.plans import PlanAudit, QuestionAudit
    from hush.planning.audits.randomisers import RandomiserAudit


def quoted(names: Sequence[str]) -> str:
    """Write the names of attributes; shorten a long list."""
    if len(names) > 4:
        return f"{names[0]!r} to {names[-1]!r} ({len(names)} attributes)"
    return ", ".join(map(repr, names))


def odds(ratio: Fraction) -> str:
    """Explain a ratio."""
    return (
        "Whatever you answered: after seeing your report, nobody's odds between two guesses about you change by more "
        f"than a factor {up(ratio, 2)}. Someone who thought two answers equally likely can become at most "
        f"{sure(ratio / (1 + ratio))} sure of one."
    )


def plan_lines(audit: PlanAudit) -> Iterator[str]:
    """Yield the audit of a plan."""
    plan = audit.plan
    yield f"Plan {plan.id[:12]} {plan.title!r}: {'passed' if audit.passed else 'FAILED'}."
    for failure in audit.failures:
        yield f"  FAILED: {failure}."
    if not any(question.proof.flaw for question in audit.questions):
        yield odds(audit.ratio)
    yield (
        f"A report answers {plan.k} of {len(plan.questions)} questions and costs epsilon = {up(audit.epsilon, 6)} "
        f"at most; the plan allows {plan.epsilon!r}. Compared in exact arithmetic."
    )
    attacks = _best(audit.attacks) if audit.attacks else "none, because the client refuses to make a report"
    yield f"Attacks on whole reports: {attacks}."
    for question in audit.questions:
        yield ""
        yield from _question_lines(question, plan)
    yield ""
    yield (
        f"Each sampler was run {audit.draws:,} times for each input. A correct plan fails these checks with "
        f"probability {1 - audit.confidence:.1g} at most."
    )


def _question_lines(question: QuestionAudit, plan: Plan) -> Iterator[str]:
    yield (f"{question.sees}, {question.kind} channel: an answer costs epsilon = {up(question.epsilon, 6)}.")
    yield f"  Proved by {question.proof.method}: {question.proof.argument.rstrip('.')}."
    worst = min(question.fits, key=lambda fit: fit.p_value)
    wrong = [fit.name for fit in question.fits if not fit.passed]
    verdict = f"deviates for {', '.join(wrong)}" if wrong else "follows its law"
    yield (
        f"  The sampler {verdict} ({worst.method}, {len(question.fits)} inputs, smallest p-value {worst.p_value:.2g})."
    )
    yield f"  Attacks: {_best(question.attacks)}."
    yield from _leverage_lines(question, plan)


def _leverage_lines(question: QuestionAudit, plan: Plan) -> Iterator[str]:
    groups: dict[tuple[str, bool, float], list[str]] = {}
    for row in question.leverage:
        label = "the mean" if row.category is None else f"the share of {row.category!r}"
        groups.setdefault((row.attribute, row.category is None, row.shift), []).append(label)
    if len(groups) > 4:
        worst = max(question.leverage, key=lambda row: row.shift)
        yield f"  One malicious report among n moves a point by {number(worst.shift)}/n at most."
        return
    for (name, mean, shift), labels in groups.items():
        attribute = plan.schema[name]
        width = attribute.high - attribute.low if isinstance(attribute, Numeric) and mean else 1.0
        what = labels[0] if len(labels) == 1 else "the share of a category"
        yield (
            f"  One malicious report among n moves {what} of {name!r} by {number(shift)}/n at most, "
            f"{number(shift / width, 3)} times as far as a lie in an open poll."
        )


def _best(attacks: Sequence[Attack]) -> str:
    best = max(attacks, key=lambda attack: attack.lower)
    if best.lower == 0:
        return f"none of {len(attacks)} distinguishes any two inputs"
    return f"the best of {len(attacks)}: {best}"


def randomiser_lines(audit: RandomiserAudit) -> Iterator[str]:
    """Yield the audit of a function."""
    claim = "nothing is claimed" if audit.epsilon is None else f"claimed epsilon = {audit.epsilon:g}"
    yield f"Randomiser, {claim}: {'passed' if audit.passed else 'FAILED'}."
    for failure in audit.failures:
        yield f"  FAILED: {failure}."
    for kind in ("values", "low bits"):
        group = [attack for attack in audit.attacks if attack.kind == kind]
        if group:
            yield f"Attacks on {kind}: {_best(group)}."
    for item in audit.impossible:
        yield str(item) + "."
    yield (
        f"{len(audit.inputs)} inputs, {audit.draws:,} calls each; all bounds hold together with probability "
        f"{audit.confidence:.7g} if calls are independent. Passing proves nothing: another attack may do better."
    )
