"""A plan as a table: its questions, their channels and its cost. `hush plan` prints it."""

from __future__ import annotations

from fractions import Fraction

from hush.core.exact import log_above
from hush.core.plan import Plan, Question
from hush.core.report import sizes
from hush.core.views import Bands, Product, Sides, View
from hush.show.tables import Table, number, up

WEAK = 4
"""Above this epsilon a report is mostly the answer. As in web/pages/words.ts."""


def table(plan: Plan) -> Table:
    """Return a row for each question, and the cost of a whole report. Costs are rounded up."""
    rows = [
        (
            asked(question),
            question.channel.kind,
            up(log_above(question.channel.ratio), 6),
            str(question.channel.alphabet.width),
            number(float(question.channel.worst_variance)),
        )
        for question in plan.questions
    ]
    low, high = sizes(plan)
    tells = "mostly tells the answer" if plan.k == 1 else "tells much about the answers together"
    weak = (f"Weak: above epsilon = {WEAK} a report {tells}.",) if Fraction(plan.epsilon) > WEAK else ()
    notes = (
        f"Each person answers {plan.k} of {len(plan.questions)} questions, in "
        f"{low if low == high else f'{low} to {high}'} bytes, and it costs epsilon = "
        f"{up(log_above(plan.ratio), 6)} of {plan.epsilon!r}.",
        *weak,
        f"Plan {plan.id}" + (f" {plan.title!r}" if plan.title else ""),
    )
    return Table(("question", "channel", "epsilon", "bytes", "worst variance"), rows, texts=2, notes=notes)


def asked(question: Question) -> str:
    """Say what a question asks about: its attributes, and how it looks at them."""
    return ", ".join(map(_seen, question.views))


def _seen(view: View) -> str:
    if isinstance(view, Bands):
        return f"{view.attribute} in {len(view.cuts) + 1} bands"
    if isinstance(view, Sides):
        return f"{' and '.join(view.of)} on the same side"
    if isinstance(view, Product):
        return " × ".join(view.of)
    return view.of[0]
