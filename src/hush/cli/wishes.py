"""The options of `hush plan` for relations, ranges, the expected people and margins, as `hush.design` takes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from hush.cli import completing
from hush.cli.groups import grouped
from hush.cli.numbers import NUMBER, WHOLE, refusal
from hush.cli.program import Refused, listed, number

if TYPE_CHECKING:
    from hush.core.schema import Schema

# As in `hush.core.design.relations`, which would have to be loaded for the help; a test compares.
KINDS = ("table", "means", "association", "moments")


@dataclass(frozen=True)
class Wishes:
    """Which relations and whole distributions a plan asks about, of how many people, and with which margins.

    A margin without a name is for `promises`: it finds the people.
    """

    relation: tuple[str, ...]
    singles: float | None
    bands: tuple[str, ...]
    range_: tuple[str, ...]
    people: int | None
    insist: bool
    margin: tuple[str, ...]

    @property
    def named(self) -> list[str]:
        """The margins of an attribute or a relation."""
        return [text for text in self.margin if "=" in text]

    @property
    def found(self) -> float | None:
        """The margin that finds the smallest crowd, without a name."""
        plain = [text for text in self.margin if "=" not in text]
        if len(plain) > 1 or (plain and self.named):
            raise Refused("--margin: give one number with --central, or NAME=MARGIN for each of some names")
        return number(plain[0], "--margin") if plain else None

    def read(self, schema: Schema) -> dict[str, Any]:
        """Return these options as `hush.design` takes them."""
        for given, option in ((self.singles is not None, "--singles"), (self.insist, "--insist")):
            if given and not (self.relation or self.range_):
                raise Refused(f"{option} is for plans with --relation or --range")
        if self.insist and self.people is None:
            raise Refused("--insist is for --people: without it no relation is left out")
        cuts = dict(_bands(schema, text) for text in self.bands)
        trees = dict(_range(schema, text) for text in self.range_)
        if len(cuts) < len(self.bands) or len(trees) < len(self.range_):
            raise Refused("--bands and --range: name every attribute once")
        if "all" in self.relation and len(self.relation) > 1:
            raise Refused("--relation all has every pair: leave out the others")
        return {
            "relations": "all"
            if "all" in self.relation
            else [tuple(listed(text, schema.names)) for text in self.relation],
            "singles": self.singles,
            "bands": cuts,
            "ranges": trees,
            "people": self.people,
            "insist": self.insist,
            "margins": self._margins(schema),
        }

    def written(self) -> list[str]:
        """Return the options again, as somebody would write them."""
        named = (
            ("--relation", self.relation),
            ("--bands", self.bands),
            ("--range", self.range_),
            ("--margin", self.margin),
            ("--singles", () if self.singles is None else (repr(self.singles),)),
            ("--people", () if self.people is None else (str(self.people),)),
        )
        found = [word for option, values in named for value in values for word in (option, value)]
        return found + ["--insist"] * self.insist

    def _margins(self, schema: Schema) -> dict[Any, float] | None:
        """Return the margins by attribute, by pair, or by pair and kind."""
        found: dict[Any, float] = {}
        for text in self.named:
            name, _, margin = text.rpartition("=")
            names = tuple(listed(name, schema.names))
            key: Any = name if name in schema.names or len(names) == 1 else names
            if key in found:
                raise Refused("--margin: name every attribute and every relation once")
            found[key] = number(margin, "--margin")
        if found and self.people is None:
            raise Refused("--margin NAME=MARGIN is for a number of people: give --people too")
        return found or None


options = grouped(
    "wishes",
    Wishes,
    click.option(
        "--relation",
        multiple=True,
        metavar="NAME,NAME[,KIND]",
        shell_complete=completing.relations(*KINDS),
        help=f"Ask two together: {', '.join(KINDS[:-1])} or {KINDS[-1]} (repeatable; all: every pair).",
    ),
    click.option(
        "--singles",
        type=NUMBER,
        help="With relations: the share of people who are asked one attribute alone. By default all attributes "
        "together count as much as all relations.",
    ),
    click.option(
        "--bands",
        multiple=True,
        metavar="NAME=CUTS",
        shell_complete=completing.attributes,
        help="Public cuts of a number in tables and groups: age=24,40,60 (repeatable).",
    ),
    click.option(
        "--range",
        "range_",
        multiple=True,
        metavar="NAME[=BANDS]",
        shell_complete=completing.attributes,
        help="Ask the whole distribution of a number, for quantiles (repeatable) [256 bands].",
    ),
    click.option(
        "--people",
        type=WHOLE,
        metavar="N",
        help="How many are expected: say what each question will be worth, and leave out relations that would be worth "
        "nothing.",
    ),
    click.option("--insist", is_flag=True, help="With --people: leave out no relation."),
    click.option(
        "--margin",
        multiple=True,
        metavar="NAME=MARGIN",
        shell_complete=completing.attributes,
        help="With --people: the margin that you want of an attribute, or of a relation NAME,NAME (repeatable). With "
        "--central and without a name, in place of --crowd: find the smallest crowd with this margin.",
    ),
)


@contextmanager
def designing() -> Iterator[None]:
    """Turn the advice of a design's error into that of the command line."""
    from hush.errors import DesignError

    try:
        yield
    except DesignError as error:
        text, wanted, _ = str(error).partition("such as bands=")
        raise DesignError(text + "such as --bands NAME=18,40,65" if wanted else text) from None


def _bands(schema: Schema, text: str) -> tuple[str, list[Any]]:
    from hush.core.calendar import Counted

    name, equals, cuts = text.rpartition("=")
    if not equals:
        raise Refused("--bands is written NAME=CUTS, such as age=24,40,60")
    if name in schema.names and isinstance(schema[name], Counted):
        return name, [cut.strip() for cut in cuts.split(",")]  # dates and times of day, which the design reads
    return name, [number(cut, "--bands") for cut in cuts.split(",")]


def _range(schema: Schema, text: str) -> tuple[str, int]:
    from hush.core.design.units import BRANCHES, DEPTH

    name, equals, count = text.rpartition("=")
    if text in schema.names or not equals:
        return text, BRANCHES**DEPTH
    if not (count.isascii() and count.isdecimal()) or len(count) > 9:
        raise Refused(f"--range is written NAME or NAME=BANDS, such as age=64; {refusal(count, whole=True)}")
    return name, int(count)
