"""What the command line prints: tables for people."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import click
from rich import box
from rich.console import Console
from rich.table import Table

from hush.audits import words
from hush.estimates import Estimate
from hush.exact import log_above
from hush.laws import Row, number
from hush.plan import Plan
from hush.predictions import Prediction
from hush.report import sizes
from hush.tally import Tally

WIDE = 110  # where the output is not a terminal


def console() -> Console:
    """Return a console that takes nothing in a name for markup."""
    width = None if sys.stdout.isatty() else WIDE
    return Console(width=width, markup=False, emoji=False, highlight=False)


def say(*lines: str) -> None:
    """Print sentences: wrapped on a terminal, as they are elsewhere."""
    for line in lines:
        click.echo(_text(line, soft_wrap=not sys.stdout.isatty()), nl=False)


def show(columns: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> None:
    """Print a table, of which the first columns are texts and the others numbers."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for index, name in enumerate(columns):
        table.add_column(name, justify="left" if index < texts else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    click.echo("\n".join(line.rstrip() for line in _text(table).splitlines()).strip("\n") + "\n")


def _text(item: str | Table, **options: bool) -> str:
    """Return what Rich would print. It is printed by Click, as Rich takes errors of the output for its own."""
    out = console()
    with out.capture() as held:
        out.print(item, **options)  # type: ignore[arg-type]
    return held.get()


def show_plan(plan: Plan) -> None:
    """Print a plan."""
    rows = [
        (
            ", ".join(question.attributes),
            question.channel.kind,
            words.up(log_above(question.channel.ratio), 6),
            str(question.channel.alphabet.width),
            number(float(question.channel.worst_variance)),
        )
        for question in plan.questions
    ]
    show(("question", "channel", "epsilon", "bytes", "worst variance"), rows, texts=2)
    low, high = sizes(plan)
    say(
        f"Each person answers {plan.k} of {len(plan.questions)} questions, in "
        f"{low if low == high else f'{low} to {high}'} bytes, and it costs epsilon = "
        f"{words.up(log_above(plan.ratio), 6)} of {plan.epsilon!r}.",
        f"Plan {plan.id}" + (f" {plan.title!r}" if plan.title else ""),
    )


def show_predictions(rows: Sequence[Prediction], people: int, level: float) -> None:
    """Print predictions; categories with the same numbers share a row."""
    groups: dict[tuple[str, bool, float], list[Prediction]] = {}
    for row in rows:
        groups.setdefault((row.attribute, row.category is None, row.margin), []).append(row)
    shown = []
    for (attribute, mean, margin), group in groups.items():
        what = "mean" if mean else f"share of {group[0].category}"
        if len(group) > 1:
            what = f"each of {len(group)} shares"
        shown.append((attribute, what, number(group[0].stderr), "±" + number(margin), f"{group[0].n:,.0f}"))
    show(("attribute", "estimate", "standard error", f"{100 * level:g} % margin", "answers"), shown, texts=2)
    say(f"From {people:,} people, before any is asked.")


def show_estimates(rows: Sequence[Estimate], tally: Tally, level: float) -> None:
    """Print estimates, with as many digits as their intervals are worth."""
    shown = []
    for row in rows:
        what = "mean" if row.category is None else f"share of {row.category}"
        point, low, high = map(digits(row), (row.point, row.low, row.high))
        shown.append((row.attribute, what, point, f"{low} .. {high}", f"{row.n:,}"))
    show(("attribute", "estimate", "value", f"{100 * level:g} % interval", "answers"), shown, texts=2)
    title = f" {tally.plan.title!r}" if tally.plan.title else ""
    say(f"From {tally.n:,} reports of plan {tally.plan.id[:12]}{title}.")


def digits(row: Estimate) -> Callable[[float], str]:
    """Return how numbers of a row are written: so that half of its interval has two digits."""
    half = (row.high - row.low) / 2
    if not (math.isfinite(half) and 1e-9 < half < 1e12):
        return number
    places = max(0, 1 - math.floor(math.log10(half)))
    return lambda value: "unknown" if math.isnan(value) else f"{value:,.{places}f}"


def show_law(rows: Sequence[Row], names: Sequence[str], favour: Fraction, ratio: Fraction) -> None:
    """Print what people with these values would report; `favour` is about them, `ratio` about all values."""
    shown = []
    for row in rows:
        low, high = min(row.probabilities), max(row.probabilities)
        cells = [f"{100 * float(probability):.2f} %" for probability in row.probabilities]
        if len(names) > 1:
            cells.append("" if low == 0 else words.up(high / low, 2))
        shown.append((row.label, *cells))
    last = ["ratio"] if len(names) > 1 else []
    show(("report", *(f"if {name}" for name in names), *last), shown)
    if len(set(names)) > 1:
        sure = 100 * favour / (1 + favour)
        say(
            f"No report is more than {words.up(favour, 2)} times likelier for one of these than for another: who "
            f"thought two of them equally likely can become {words.up(sure, 1)} % sure, not more."
        )
    else:
        say(f"For no other value is any of these more than {words.up(ratio, 2)} times likelier, or less likely.")
    if not rows[0].partition:
        say("A report is a set of categories: a row tells how often a category is in it.")
