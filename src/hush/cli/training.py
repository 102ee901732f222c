"""`hush training`: from a schema and a label to the course of a training, for `hush serve --training`."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import click

from hush.cli import completing
from hush.cli.numbers import NUMBER, WHOLE
from hush.cli.planning import Target, target_options
from hush.cli.program import Refused, as_it_is, program

if TYPE_CHECKING:
    from hush.core.schema import Schema
    from hush.core.training.courses import Course
    from hush.core.training.labels import Label
    from hush.show.tables import Table


@program.command()
@click.argument("schema", metavar="SCHEMA.json", shell_complete=completing.files)
@click.option(
    "--label", required=True, metavar="NAME", help="The attribute that is predicted; the others are features."
)
@click.option("--epsilon", type=NUMBER, required=True, help="The cost of taking part for each person, 0.001 to 16.")
@click.option("--people", type=WHOLE, required=True, help="How many people take part, each once.")
@click.option(
    "--loss", help="logistic or hinge for classes, squared for numbers; by default the first or the last of these."
)
@click.option("--ordered", multiple=True, metavar="NAME", help="A category whose values are listed in their order.")
@click.option("--waves", type=WHOLE, metavar="N", help="Add a public map of N random waves to the features.")
@click.option("--pilot", type=NUMBER, metavar="SHARE", help="The share of people who answer the pilot.")
@click.option("--title", default="training", show_default=True, help="Its name; each person takes part in it once.")
@target_options
@click.option("--json", "machine", is_flag=True, help="Print the course itself, as JSON.")
def training(
    schema: str,
    label: str,
    epsilon: float,
    people: int,
    loss: str | None,
    ordered: tuple[str, ...],
    waves: int | None,
    pilot: float | None,
    title: str,
    target: Target,
    machine: bool,
) -> None:
    """Design the course of a training, and predict its noise.

    The schema is that of `hush plan`, and has the label too. A label with more than two classes has one training for
    each class, with people of its own.

    \b
    Example:
      hush training schema.json --label bought --epsilon 4 --people 100000 --title "who buys" -o course.json
      hush serve --training course.json
    """
    from hush.cli import files
    from hush.core.training.maps import RandomMap
    from hush.core.training.training import Training

    fields = files.read_schema(schema)
    own, features = _parted(fields, label)
    more: dict[str, Any] = {} if waves is None else {"map": RandomMap(waves)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sentence stands below the table
        course = Training.design(
            features, own, epsilon=epsilon, people=people, loss=loss, title=title, pilot=pilot, ordered=ordered, **more
        )
    text = course.to_json()
    target.keep(text.encode(), schema)
    if machine:
        as_it_is(text)
    else:
        from hush.cli import printing

        printing.show(_shown(course))
        if target.output:
            printing.say(f"Written to {target.output}.")


def _parted(fields: Schema, label: str) -> tuple[Label, Schema]:
    """Return the label, and the schema of the other attributes."""
    from hush.core.schema import Categorical, Numeric, Schema

    own = fields[label]
    if not isinstance(own, Numeric | Categorical):
        raise Refused(f"attribute {label!r}: a label is a number or a category")
    others = [one for one in fields.attributes if one.name != label]
    if not others:
        raise Refused("a training needs features: attributes beside the label")
    return own, Schema(others)


def _shown(course: Course) -> Table:
    from hush.core.design.courses import few
    from hush.core.design.directions import noise_of, people_needed
    from hush.show.tables import Table

    own = course.training
    needed = people_needed(own.epsilon, own.width)
    ratio = math.sqrt(needed / course.people)
    each = " of each class" if course.classes > 1 else ""
    rows = [
        ("loss", own.loss),
        (f"people{each}", f"{course.people:,}"),
        ("of them in the pilot", f"{course.pilot:,}"),
        ("features", f"{own.dimensions:,}"),
        *([("units of the map", f"{own.unit_count:,}")] if own.map is not None else []),
        ("weights, d", f"{own.width:,}"),
        ("noise of a report, C", f"{noise_of(own.epsilon, own.width):.3g}"),
        (f"people needed{each}, 1500 C d", f"{needed:,}"),
        ("noise of a round, in gradients", f"{ratio:.2f}"),
    ]
    said = few(course)
    notes = (
        f"Taking part costs each person epsilon {own.epsilon:g}, once.",
        f"Too much is asked: {said}." if said else "That is enough: the noise of a round is shorter than a gradient.",
    )
    return Table(("training", own.title), rows, notes=notes)
