"""The options of `hush plan` that choose channels, as `hush.design` takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from hush.cli import completing
from hush.cli.groups import grouped
from hush.cli.program import Refused, listed, number

# As in `hush.core.design`, which would have to be loaded for the help; a test compares.
NUMERIC = (
    *("minimax", "hybrid", "piecewise", "piecewise-sub", "duchi", "laplace", "scdf", "staircase", "duchi-multi"),
    "cube",
)
CHOICES = ("best", "members", "picks", "pairs")
CATEGORICAL = ("subset", "grr", "oue", "sue", "geometry", "best")


@dataclass(frozen=True)
class Channels:
    """How attributes are randomised, and how many of them one person reports."""

    numeric: str
    categorical: str
    choices: str
    k: str
    objective: str
    importance: tuple[str, ...]
    joint: tuple[str, ...]

    def read(self, names: Sequence[str]) -> dict[str, Any]:
        """Return these options as `hush.design` takes them, for a schema with these names."""
        return {
            "numeric": self.numeric,
            "categorical": self.categorical,
            "choices": self.choices,
            "k": int(self.k) if self.k.isdecimal() and len(self.k) < 9 else self.k,  # `hush.design` refuses others
            "objective": _objective(self.objective),
            "importance": dict(_importance(text, names) for text in self.importance),
            "joint": [listed(text, names) for text in self.joint],
        }


options = grouped(
    "channels",
    Channels,
    click.option(
        "--numeric",
        default="minimax",
        show_default=True,
        metavar="NAME",
        shell_complete=completing.words(*NUMERIC),
        help=f"{', '.join(NUMERIC[:-1])} or {NUMERIC[-1]}.",
    ),
    click.option(
        "--categorical",
        default="best",
        show_default=True,
        metavar="NAME",
        shell_complete=completing.words(*CATEGORICAL),
        help=f"{', '.join(CATEGORICAL[:-1])} or {CATEGORICAL[-1]}.",
    ),
    click.option(
        "--choices",
        type=click.Choice(CHOICES),
        default="best",
        show_default=True,
        help="members: a question about each value; picks: one about all; pairs: picks that also say which values are "
        "held together (`hush pairs`).",
    ),
    click.option(
        "-k",
        default="best",
        show_default=True,
        metavar="best|paper|weighted|all|N",
        shell_complete=completing.words("best", "paper", "weighted", "all"),
        help="How many questions each person answers. weighted: one, and noisier ones are asked more often; "
        "all: all of them, with epsilon split among them.",
    ),
    click.option(
        "--objective",
        default="worst",
        show_default=True,
        metavar="NAME|WEIGHTS",
        shell_complete=completing.words("worst", "uniform", "centre"),
        help="For minimax: worst, uniform, centre, or weights of equal bins such as 1,4,1.",
    ),
    click.option(
        "--importance",
        multiple=True,
        metavar="NAME=WEIGHT",
        help="How much an attribute counts (1); with relations, also a pair: NAME,NAME=WEIGHT.",
    ),
    click.option("--joint", multiple=True, metavar="NAME,NAME", help="Neighbouring attributes to report together."),
)


def _objective(text: str) -> str | list[float]:
    return [number(part, "--objective") for part in text.split(",")] if "," in text else text


def _importance(text: str, known: Sequence[str]) -> tuple[Any, float]:
    name, equals, weight = text.rpartition("=")
    if not equals:
        raise Refused("--importance is written NAME=WEIGHT")
    pair = tuple(listed(name, known))
    return pair if len(pair) == 2 and name not in known else name, number(weight, "--importance")
