"""The commands about one person. Each imports what it needs when it runs, and prints a table, or JSON with --json.

Those about many people are in `collecting`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hush.cli import (
    closing,
    collecting,
    comparing,
    completing,
    completion,
    doctor,
    outlining,
    relating,
    relaying,
    results,
    serving,
    shuffling,
    starting,
    storing,
    wishes,
)
from hush.cli.program import (
    ATTRIBUTES,
    JSON,
    OVERWRITE,
    PICTURE,
    PLAN,
    WRONG,
    Refused,
    as_it_is,
    as_json,
    listed,
    number,
    program,
)

__all__ = [
    "closing",
    "collecting",
    "comparing",
    "completion",
    "doctor",
    "outlining",
    "program",
    "relating",
    "relaying",
    "serving",
    "shuffling",
    "starting",
    "storing",
]

# As in `hush.core.design`, which would have to be loaded for the help; a test compares.
NUMERIC = (
    *("minimax", "hybrid", "piecewise", "piecewise-sub", "duchi", "laplace", "scdf", "staircase", "duchi-multi"),
    "cube",
)
CATEGORICAL = ("subset", "grr", "oue", "sue")


@program.command()
@click.argument("schema", metavar="SCHEMA.json", shell_complete=completing.files)
@click.option("--epsilon", type=float, help="The cost of answering for each person, 0.001 to 16.")
@click.option(
    "--numeric",
    default="minimax",
    show_default=True,
    metavar="NAME",
    shell_complete=completing.words(*NUMERIC),
    help=f"{', '.join(NUMERIC[:-1])} or {NUMERIC[-1]}.",
)
@click.option(
    "--categorical",
    default="subset",
    show_default=True,
    metavar="NAME",
    shell_complete=completing.words(*CATEGORICAL),
    help=f"{', '.join(CATEGORICAL[:-1])} or {CATEGORICAL[-1]}.",
)
@click.option(
    "-k",
    default="best",
    show_default=True,
    metavar="best|paper|weighted|all|N",
    shell_complete=completing.words("best", "paper", "weighted", "all"),
    help="How many questions each person answers; weighted: one, drawn by its error; all: epsilon is split.",
)
@click.option(
    "--objective",
    default="worst",
    show_default=True,
    metavar="NAME|WEIGHTS",
    shell_complete=completing.words("worst", "uniform", "centre"),
    help="For minimax: worst, uniform, centre, or weights of equal bins such as 1,4,1.",
)
@click.option(
    "--importance",
    multiple=True,
    metavar="NAME=WEIGHT",
    help="How much an attribute counts (1); with relations, also a pair: NAME,NAME=WEIGHT.",
)
@click.option("--joint", multiple=True, metavar="NAME,NAME", help="Neighbouring attributes to report together.")
@wishes.options
@shuffling.options
@click.option("--title", default="", help="Part of the plan: another title is another collection.")
@click.option(
    "-o", "--output", metavar="FILE", shell_complete=completing.files, help="Write the plan here, as canonical JSON."
)
@OVERWRITE
@click.option("--json", "machine", is_flag=True, help="Print the plan itself, as canonical JSON.")
def plan(
    schema: str,
    epsilon: float | None,
    numeric: str,
    categorical: str,
    k: str,
    objective: str,
    importance: tuple[str, ...],
    joint: tuple[str, ...],
    relation: tuple[str, ...],
    singles: float | None,
    bands: tuple[str, ...],
    range_: tuple[str, ...],
    central: float | None,
    delta: float | None,
    crowd: int | None,
    own: int | None,
    local: float | None,
    margin: float | None,
    attribute: str | None,
    title: str,
    output: str | None,
    overwrite: bool,
    machine: bool,
) -> None:
    """Design a plan for a schema, and show its cost.

    The schema is {"attributes": [...]}, or the array alone. A number has low and high, and may have "out_of_range":
    "clip"; a category has values; both may have "optional": true.

    \b
    Example:
      hush plan schema.json --epsilon 1.0 --title "spring survey" -o plan.json
      hush plan schema.json --epsilon 1.0 --relation education,region --relation income,education --range income
      hush plan schema.json --central 1.0 --delta 1e-6 --crowd 10000
    """
    from hush.cli import files

    fields = files.read_schema(schema)
    with wishes.designing():
        asked = dict(
            numeric=numeric,
            categorical=categorical,
            k=int(k) if k.isdecimal() and len(k) < 9 else k,  # anything else is refused there
            objective=[number(part, "--objective") for part in objective.split(",")] if "," in objective else objective,
            importance=dict(_importance(text, fields.names) for text in importance),
            joint=[listed(names, fields.names) for names in joint],
            **wishes.wished(fields, relation, singles, bands, range_),
            title=title,
        )
        promise = shuffling.Promise(central, delta, crowd, own, local, margin, attribute)
        made, shuffled, needed = shuffling.designed(fields, epsilon, promise, asked)
    if output:
        _keep(made.to_json().encode(), Path(output), overwrite, schema)  # its SHA-256 is the plan's id
    if machine:
        as_it_is(made.to_json())
        return
    from hush.cli import printing

    printing.show(made.table())
    if shuffled is not None:
        printing.say("")
        printing.show(shuffled.table())
    if needed is not None:
        printing.say(needed)
    if relation or range_:
        from hush.planning.relations import needs

        printing.say("", *needs(made))
    if output:
        printing.say(f"Written to {output}.")


def _keep(text: bytes, path: Path, overwrite: bool, schema: str) -> None:
    """Write a plan, unless the file has the same one: a plan in use must not be replaced silently."""
    from hush.files import atomic

    if path.is_file() and path.stat().st_size == len(text) and path.read_bytes() == text:
        return
    atomic.check_target(path, overwrite=overwrite, inputs=[schema], what="the plan")
    with atomic.replacing(path, overwrite=overwrite) as file:
        file.write(text)


def _importance(text: str, known: Sequence[str]) -> tuple[Any, float]:
    name, equals, weight = text.rpartition("=")
    if not equals:
        raise Refused("--importance is written NAME=WEIGHT")
    pair = tuple(listed(name, known))
    return pair if len(pair) == 2 and name not in known else name, number(weight, "--importance")


@program.command()
@PLAN
@click.option("--people", type=int, help="How many people are asked.")
@click.option(
    "--own", type=int, default=0, metavar="N", help="How many reports a relay adds to theirs, in all batches together."
)
@click.option("--margin", type=float, help="The other way round: find how many people this margin needs.")
@ATTRIBUTES
@click.option("--level", type=float, default=0.95, show_default=True, help="Probability of the intervals.")
@click.option(
    "--guesses",
    metavar="FILE",
    shell_complete=completing.files,
    help='Assumptions about the people: {"age": {"mean": 40, "spread": 15}}.',
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

    A margin is half of the width of the interval that `hush estimate` would give. Without guesses the worst population
    is assumed for each estimate: half of the people at either end. Use that for margins, not for comparing mechanisms,
    as some are at their best just there: compare them with guesses, or by the worst variance of `hush plan`.

    \b
    Example:
      hush predict plan.json --people 100000 --picture margins.svg
      hush predict plan.json --margin 0.5 --attribute age
    """
    from hush.cli import files
    from hush.planning import predictions, relations

    if (people is None) == (margin is None):
        raise Refused("give either --people, or --margin to learn how many are needed")
    if own and picture:
        raise Refused("--picture is without the reports of a relay: leave out --own")
    made = files.read_plan(plan)
    known = files.read_guesses(guesses, made.schema) if guesses else None
    for name in attributes:
        made.schema[name]  # raises, and lists the known ones
    if margin is not None:
        needed = max(
            predictions.people_needed(made, margin, attribute=name, own=own, level=level, guesses=known)
            for name in attributes or [None]
        )
        if machine:
            asked = {"margin": margin, "level": level, "own": own, "attributes": attributes}
            as_json({"plan": made.id, **asked, "people": needed})
        else:
            from hush.cli import printing

            of = " and ".join(attributes) or "every attribute"
            printing.say(f"{needed:,} people are needed for a margin of ±{margin:g} of {of}, at level {level:g}.")
        people = needed
    else:
        assert people is not None
        rows = predictions.predict(made, people, own=own, level=level, guesses=known)
        rows = rows.of(*attributes) if attributes else rows
        related = relations.foresee(made, people, level=level, guesses=known)
        if attributes:
            related = related.like([row for row in related if {row.attribute, row.by} & set(attributes)])
        if machine:
            found = {"rows": [vars(row) for row in rows], "relations": [vars(row) for row in related]}
            as_json({"plan": made.id, "people": people, "own": own, "level": level, **found})
        else:
            from hush.cli import printing

            printing.show(rows)
            if related:
                printing.show(related)
    if picture:
        from hush import plots

        drawn = predictions.predict(made, people, level=level, guesses=known)
        options: dict[str, Any] = {"people": people, "level": level, "guesses": known}
        parts = plots.pages(drawn.of(*attributes) if attributes else drawn)
        results.draw([plots.margins(made, attributes=names, **options) for names in parts], picture)


@program.command()
@PLAN
@click.option("--draws", type=int, default=20_000, show_default=True, help="How often each sampler is run.")
@JSON
def audit(plan: str, draws: int, machine: bool) -> None:
    """Prove the cost of a plan, and attack it.

    Its samplers are run and compared with their laws. The exit code is 1 if anything is wrong.

    \b
    Example:
      hush audit plan.json --draws 5000
    """
    from hush.cli import files
    from hush.planning import audits

    result = audits.audit(files.read_plan(plan), draws=draws)
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
@click.option("--rows", type=click.IntRange(1), default=16, show_default=True, help="Longer tables are grouped.")
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
    favour = laws.favour(made, attribute, values)
    if machine:
        found = [
            {"report": row.label, "probabilities": list(map(str, row.probabilities))}
            for row in laws.rows(made, attribute, values)
        ]
        as_json({"plan": made.id, "attribute": attribute, "values": texts, "favour": str(favour), "rows": found})
    else:
        from hush.cli import printing

        printing.show_law(laws.rows(made, attribute, values, most=rows), texts, favour, made.channel(attribute).ratio)
    if picture:
        from hush import plots

        plots.save(plots.law(made, attribute, values), picture)


@program.command()
@click.option("--people", default=1_000_000, show_default=True, help="How many to make up.")
@click.option("--epsilon", type=float, help="The cost of answering for each of them [1; by a relay 4].")
@click.option("--level", default=0.95, show_default=True, help="Probability of the intervals.")
@click.option("--seed", default=2019, show_default=True, help="Another seed makes other people.")
@click.option("--port", type=int, help="Where to listen (8000 if it is free; 0: a free one).")
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
