"""A plan as a table: its questions, their channels and its cost. `hush plan` prints it."""

from __future__ import annotations

from collections.abc import Sequence

from hush.core.exact import log_above
from hush.core.plan import Plan, Question
from hush.core.report import sizes
from hush.core.schema import Schema
from hush.core.views import Bands
from hush.core.word_views import Member
from hush.planning import points, sets, wide
from hush.planning.strength import STRENGTHS, WEAK, strength
from hush.show.tables import Table, number, up


def table(plan: Plan) -> Table:
    """Return a row for each question, and the cost of a whole report. Costs are rounded up.

    Questions about ever more bands of one number, as those of a range, share a row. So do those about each of many
    choices.
    """
    rows = []
    for group in _groups(plan.questions):
        channels = [question.channel for question in group]
        rows.append(
            (
                _together(group, plan.schema),
                channels[0].kind,
                *([_percent(plan, group)] if plan.weights is not None else []),
                up(max(log_above(channel.ratio) for channel in channels), 6),
                _range([str(channel.alphabet.width) for channel in channels]),
                _range([number(float(channel.worst_variance)) for channel in channels]),
            )
        )
    low, high = sizes(plan)
    told = "the answer" if plan.k == 1 else "the answers together"
    above = f"{WEAK.capitalize()}: above epsilon = {STRENGTHS[-1][0]} a report says much about {told}."
    weak = (above,) if strength(plan.epsilon) == WEAK else ()
    notes = (
        f"Each person answers {plan.k} of {len(plan.questions)} questions, in "
        f"{low if low == high else f'{low} to {high}'} bytes, and it costs epsilon = "
        f"{up(log_above(plan.ratio), 6)} of {plan.epsilon!r}.",
        *weak,
        *([asked] if (asked := wide.question(plan)) else []),
        *sets.notes(plan),
        *points.notes(plan),
        f"Plan {plan.id}" + (f" {plan.title!r}" if plan.title else ""),
    )
    shares = ["people"] if plan.weights is not None else []
    columns = ("question", "channel", *shares, "epsilon", "bytes", "worst variance")
    return Table(columns, rows, texts=2, notes=notes)


def _percent(plan: Plan, group: Sequence[Question]) -> str:
    """Return the share of the people who are asked some questions."""
    asked = zip(plan.questions, plan.inclusions, strict=True)
    share = 100 * float(sum(inclusion for question, inclusion in asked if question in group))
    return f"{share:.1f} %" if share >= 0.05 else "< 0.1 %"


def _groups(questions: Sequence[Question]) -> list[list[Question]]:
    """Return the questions in their order, those of one tree of bands together, and those of values of choices."""
    groups: list[list[Question]] = []
    for question in questions:
        if groups and _refines(groups[-1][-1], question):
            groups[-1].append(question)
        else:
            groups.append([question])
    return groups


def _refines(one: Question, other: Question) -> bool:
    """Say whether the other question has all cuts of the one, and more, of the same number; or asks another value."""
    (first, *rest), (second, *more) = one.views, other.views
    if isinstance(first, Member) and isinstance(second, Member) and not rest and not more:
        return first.attribute == second.attribute and one.channel == other.channel
    if rest or more or not isinstance(first, Bands) or not isinstance(second, Bands):
        return False
    same = first.attribute == second.attribute and one.channel.kind == other.channel.kind
    return same and set(first.cuts) < set(second.cuts)


def _together(group: Sequence[Question], schema: Schema) -> str:
    if len(group) == 1:
        return group[0].told(schema)
    if isinstance(group[0].views[0], Member):
        return f"{group[0].attributes[0]}: each of {len(group)} values"
    views = [view for question in group for view in question.views if isinstance(view, Bands)]
    return f"{views[0].attribute} in {', '.join(str(len(view.cuts) + 1) for view in views)} bands"


def _range(texts: Sequence[str]) -> str:
    """Return the first and the last of increasing numbers, or the only one."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"
