"""The commands about one person. Each imports what it needs when it runs, and prints a table, or JSON with --json.

Those about many people are in `collecting`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hush.cli import (
    changing,
    closing,
    collecting,
    comparing,
    completing,
    completion,
    doctor,
    frequent,
    outlining,
    planning,
    relating,
    relaying,
    results,
    serving,
    shuffling,
    starting,
    storing,
    training,
    withdrawing,
)
from hush.cli.numbers import NUMBER, WHOLE, Count
from hush.cli.program import (
    ATTRIBUTES,
    JSON,
    PICTURE,
    PLAN,
    WRONG,
    Refused,
    as_json,
    program,
)

if TYPE_CHECKING:
    from hush.core.plan import Plan

    Guesses = Mapping[str, Any] | None

__all__ = [
    "changing",
    "closing",
    "collecting",
    "comparing",
    "completion",
    "doctor",
    "frequent",
    "outlining",
    "planning",
    "program",
    "relating",
    "relaying",
    "serving",
    "shuffling",
    "starting",
    "storing",
    "training",
    "withdrawing",
]


@program.command()
@PLAN
@click.option("--people", type=WHOLE, help="How many people are asked.")
@click.option(
    "--own",
    type=WHOLE,
    default=0,
    metavar="N",
    help="How many reports a relay adds to theirs, in all batches together.",
)
@click.option("--margin", type=NUMBER, help="The other way round: find how many people this margin needs.")
@ATTRIBUTES
@click.option("--level", type=NUMBER, default=0.95, show_default=True, help="Probability of the intervals.")
@click.option(
    "--guesses",
    metavar="FILE",
    shell_complete=completing.files,
    help='Assumptions about the people: {"age": {"mean": 40, "spread": 15, "missing": 0.2}}.',
)
@PICTURE
@JSON
def predict(
    plan: str,
    people: int | None,
    own: int,
    margin: float | None,
    attributes: tuple[str, ...],
    level: float,
    guesses: str | None,
    picture: str | None,
    machine: bool,
) -> None:
    """Predict standard errors and margins before anybody is asked.

    A margin is half of the width of the interval that `hush estimate` would give. Every row says for which people it
    is: the worst ones (half of them at each end of the range, or holding a category), typical ones, or those of
    --guesses. Margins for the worst people are safe, but do not compare mechanisms by them: some are at their best for
    these very people. Compare mechanisms with guesses, or by the worst variance that `hush plan` shows. Margins for
    typical people are not safe: others may have wider ones.

    \b
    Example:
      hush predict plan.json --people 100000 --picture margins.svg
      hush predict plan.json --margin 0.5 --attribute age
    """
    from hush.cli import files, progress

    if (people is None) == (margin is None):
        raise Refused("give either --people, or --margin to learn how many are needed")
    if own and picture:
        raise Refused("--picture is without the reports of a relay: leave out --own")
    made = files.read_plan(plan)
    known = files.read_guesses(guesses, made.schema) if guesses else None
    for name in attributes:
        made.schema[name]  # raises, and lists the known ones
    if margin is not None:
        people = _needed(made, margin, attributes, own, level, known, machine)
    else:
        assert people is not None
        _predicted(made, people, attributes, own, level, known, machine)
    if picture:
        from hush import plots
        from hush.planning.predictions import predict as predicted

        with progress.bar("predicting for other epsilons and people"):
            drawn = predicted(made, people, level=level, guesses=known)
            parts = plots.pages(drawn.of(*attributes) if attributes else drawn)
            pages = plots.margin_pages(made, parts, people=people, level=level, guesses=known)
            results.draw(pages, picture)


def _needed(
    made: Plan, margin: float, attributes: Sequence[str], own: int, level: float, known: Guesses, machine: bool
) -> int:
    """Print how many people a margin of each of these attributes needs, and return it."""
    from hush.cli import progress
    from hush.planning.needed import people_needed

    with progress.bar("searching for the people needed"):
        needed = max(
            people_needed(made, margin, attribute=name, own=own, level=level, guesses=known)
            for name in (attributes or (None,))
        )
    if machine:
        asked = {"margin": margin, "level": level, "own": own, "attributes": attributes}
        as_json({"plan": made.id, **asked, "people": needed})
    else:
        from hush.cli import printing
        from hush.planning.predictions import predict as predicted
        from hush.show.tables import number

        of = " and ".join(attributes) or "every attribute"
        printing.say(f"{needed:,} people are needed for a margin of ±{number(margin, 12)} of {of}, at level {level:g}.")
        rows = predicted(made, needed, own=own, level=level, guesses=known)
        printing.say(*(rows.of(*attributes) if attributes else rows).whom())
    return needed


def _predicted(
    made: Plan, people: int, attributes: Sequence[str], own: int, level: float, known: Guesses, machine: bool
) -> None:
    """Print what people's answers would show about these attributes, and about relations with them."""
    from hush.planning import finding, predictions, relations

    rows = predictions.predict(made, people, own=own, level=level, guesses=known)
    related = relations.foresee(made, people, level=level, guesses=known)
    texts = finding.floors(made, people)
    if attributes:
        rows = rows.like([row for row in rows if row.attribute in attributes])
        related = related.like([row for row in related if {row.attribute, row.by} & set(attributes)])
        texts = texts.like([row for row in texts if row.attribute in attributes])
    if machine:
        parts: dict[str, Sequence[Any]] = {"rows": rows, "relations": related, "texts": texts}
        found = {name: [results.plain(row) for row in part] for name, part in parts.items()}
        as_json({"plan": made.id, "people": people, "own": own, "level": level, **found})
        return
    from hush.cli import printing

    for part in (rows, related, texts):
        if part:
            printing.show(part)
    if not (rows or related or texts):
        printing.say(f"The plan asks nothing of which {' and '.join(attributes)} alone has a margin.")


@program.command()
@PLAN
@click.option("--draws", type=WHOLE, default=20_000, show_default=True, help="How often each sampler is run.")
@JSON
def audit(plan: str, draws: int, machine: bool) -> None:
    """Prove the cost of a plan, and attack it.

    It runs the plan's samplers, and compares their draws with the exact probabilities. The exit code is 1 if anything
    is wrong.

    \b
    Example:
      hush audit plan.json --draws 5000
    """
    from hush.cli import files, progress
    from hush.planning import audits

    made = files.read_plan(plan)
    with progress.bar("auditing") as told:
        result = audits.audit(made, draws=draws, told=told)
    if machine:
        questions = [
            {
                "attributes": item.attributes,
                "channel": item.kind,
                "epsilon": item.epsilon,
                "ratio": str(item.proof.ratio),
                "proof": item.proof.method,
                "attack": item.lower,
                "p_value": min(fit.p_value for fit in item.fits),
            }
            for item in result.questions
        ]
        as_json(
            {
                "plan": result.plan.id,
                "passed": result.passed,
                "failures": result.failures,
                "epsilon": result.epsilon,
                "ratio": str(result.ratio),
                "draws": draws,
                "questions": questions,
            }
        )
    else:
        from hush.cli import printing

        printing.say(*result.lines())
    if not result.passed:
        sys.exit(WRONG)


@program.command()
@PLAN
@click.argument("attribute", shell_complete=completing.attributes)
@click.option(
    "--value",
    "texts",
    multiple=True,
    required=True,
    metavar="V",
    shell_complete=completing.values,
    help="A value of the attribute, or (missing). Repeat it to compare.",
)
@click.option("--rows", type=Count(1), default=16, show_default=True, help="Longer tables are grouped.")
@PICTURE
@JSON
def law(plan: str, attribute: str, texts: tuple[str, ...], rows: int, picture: str | None, machine: bool) -> None:
    """Show how much one report reveals about a person.

    Every report has its probability, for each of the values given. With --json nothing is grouped, and
    probabilities are exact fractions.

    \b
    Example:
      hush law plan.json age --value 20 --value 60 --picture age.svg
    """
    from hush.cli import files
    from hush.planning import laws

    made = files.read_plan(plan)
    values = [files.value_of(made.schema[attribute], text) for text in texts]
    listed = laws.rows(made, attribute, values, most=None if machine else rows)  # refuses what has no law to show
    favour = laws.favour(made, attribute, values)
    if machine:
        found = [{"report": row.label, "probabilities": list(map(str, row.probabilities))} for row in listed]
        as_json({"plan": made.id, "attribute": attribute, "values": texts, "favour": str(favour), "rows": found})
    else:
        from hush.cli import printing

        printing.show_law(listed, texts, favour, made.channel(attribute).ratio)
    if picture:
        from hush import plots

        plots.save(plots.law(made, attribute, values), picture)


@program.command()
@click.option("--people", type=WHOLE, default=1_000_000, show_default=True, help="How many to make up.")
@click.option("--epsilon", type=NUMBER, help="The cost of answering for each of them [1, or 4 with --relay].")
@click.option("--level", type=NUMBER, default=0.95, show_default=True, help="Probability of the intervals.")
@click.option("--seed", type=WHOLE, default=2019, show_default=True, help="Another seed makes other people.")
@click.option("--port", type=WHOLE, help="The port to listen on [8000 if it is free]; 0 takes any free one.")
@click.option("--store", metavar="FILE", shell_complete=completing.files, help="Keep the reports in this file.")
@click.option(
    "--picture",
    default="demo/estimates.svg",
    show_default=True,
    metavar="FILE",
    shell_complete=completing.files,
    help="Draw the estimates.",
)
@click.option("--once", is_flag=True, help="End with the table, on a terminal too.")
@click.option("--fast", is_flag=True, help="Send without pauses, on a terminal too.")
@click.option("--relay", is_flag=True, help="Send through a relay, and print both promises.")
@click.option("--json", "machine", is_flag=True, help="Print the table as JSON and nothing else, and end.")
def demo(**options: Any) -> None:
    """Start a collector, let a made-up country answer it over HTTP, and hold the estimates against the truth.

    On a terminal it goes on until Ctrl-C, with a form for an answer of your own and a dashboard to watch.

    \b
    Example:
      hush demo --people 20000
      hush demo --relay --once
    """
    try:
        from hush.demo.run import Options, run
    except ModuleNotFoundError as error:
        raise Refused(f"the demo needs the library {error.name}: pip install 'hush-ldp[demo]'") from None

    run(Options(**options))
