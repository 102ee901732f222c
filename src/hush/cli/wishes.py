"""The options of `hush plan` for relations and ranges, as `hush.design` takes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from hush.cli import completing
from hush.cli.groups import grouped
from hush.cli.numbers import NUMBER, refusal
from hush.cli.program import Refused, listed, number

if TYPE_CHECKING:
    from hush.core.schema import Schema

# As in `hush.core.design.relations`, which would have to be loaded for the help; a test compares.
KINDS = ("table", "means", "association", "moments")
SINGLES = 0.2


@dataclass(frozen=True)
class Wishes:
    """Which relations and whole distributions a plan asks about."""

    relation: tuple[str, ...]
    singles: float | None
    bands: tuple[str, ...]
    range_: tuple[str, ...]

    def read(self, schema: Schema) -> dict[str, Any]:
        """Return these options as `hush.design` takes them."""
        if self.singles is not None and not (self.relation or self.range_):
            raise Refused("--singles is for plans with --relation or --range")
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
            "singles": SINGLES if self.singles is None else self.singles,
            "bands": cuts,
            "ranges": trees,
        }

    def written(self) -> list[str]:
        """Return the options again, as somebody would write them."""
        named = (("--relation", self.relation), ("--bands", self.bands), ("--range", self.range_))
        found = [word for option, values in named for value in values for word in (option, value)]
        return found if self.singles is None else [*found, "--singles", f"{self.singles!r}"]


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
        help=f"With relations: the share of people who are asked one attribute alone. [default: {SINGLES}]",
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
    from hush.core.design.relations import BRANCHES, DEPTH

    name, equals, count = text.rpartition("=")
    if text in schema.names or not equals:
        return text, BRANCHES**DEPTH
    if not (count.isascii() and count.isdecimal()) or len(count) > 9:
        raise Refused(f"--range is written NAME or NAME=BANDS, such as age=64; {refusal(count, whole=True)}")
    return name, int(count)
