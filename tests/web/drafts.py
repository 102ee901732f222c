"""Parts of plans as dictionaries, and plans of them as texts: also those that no plan may have."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hush.core import codec
from hush.core.exact import WORD, aligned_threshold

HALF = WORD // 2


def number(name: str = "x", low: float = 0.0, high: float = 1.0, **change: Any) -> dict[str, Any]:
    fields = {"kind": "numeric", "name": name, "low": low, "high": high, "out_of_range": "error", "optional": False}
    return fields | {"scale": "linear", "unit": None} | change


def category(values: Any, name: str = "c", **change: Any) -> dict[str, Any]:
    listed = list(range(values)) if isinstance(values, int) else values
    return {"kind": "categorical", "name": name, "values": listed, "optional": False} | change


def subset(size: int = 2, weight: int = 1, threshold: int | None = None) -> dict[str, Any]:
    fair = WORD * weight // size
    return {"kind": "subset", "size": size, "weight": weight, "threshold": str(threshold or fair + 1)}


def window(size: int, width: int, levels: Any = "even", *, optional: bool = False, up: int = 1) -> dict[str, Any]:
    """A window that is hardly likelier than what is outside, or with up = 0 not at all."""
    outside = size if optional else size - width
    bound = Fraction(1) + Fraction(up, 10)
    threshold = aligned_threshold(bound, width, outside, 1 << 24)
    fields = {"kind": "window", "size": size, "width": width, "threshold": str(threshold), "levels": levels}
    return fields | {"optional": optional}


def ladder(knots: Any, width: int = 1, *, optional: bool = False, up: int = 1) -> dict[str, Any]:
    """A ladder that is hardly likelier to show the window, or with up = 0 not at all."""
    states = len(knots) if isinstance(knots, list) else 3
    threshold = 1 << 24
    outside = states - 1 + width * optional
    if 0 < width < states and math.gcd(width, outside).bit_count() == 1:
        threshold = aligned_threshold(Fraction(1) + Fraction(up, 10), width, outside, 1 << 24)
    return {"kind": "ladder", "knots": knots, "width": width, "threshold": str(threshold), "optional": optional}


def mixture(parts: list[dict[str, Any]], shares: list[int] | None = None) -> dict[str, Any]:
    count = max(len(parts), 1)
    even = [WORD // count] * (count - 1)
    return {
        "kind": "mixture",
        "shares": [str(share) for share in shares or [*even, WORD - sum(even)]],
        "parts": parts,
    }


def additive(runs: Any, decays: Any, reach: int) -> dict[str, Any]:
    written = [str(decay) for decay in decays] if isinstance(decays, tuple) else decays
    return {"kind": "additive", "runs": runs, "decays": written, "reach": reach}


def falling(steps: int, reach: int) -> tuple[int, ...]:
    """The least decays of periods that fall by at most a third each."""
    decays: list[int] = []
    ones = every = Fraction(1)  # the product of the odds, and that of the probabilities
    while len(decays) < max((-(-(reach - 1) // max(steps, 1))).bit_length(), 1):
        decays.append(math.ceil(WORD * ones / (ones + 3)))
        ones *= Fraction(decays[-1], WORD - decays[-1])
        every *= Fraction(decays[-1], WORD)
    return *decays, math.ceil(WORD * every / (every + 2))


def cells(*sizes: int | None, weight: Any = 1, threshold: int = HALF) -> dict[str, Any]:
    return {"kind": "cells", "sizes": list(sizes), "weight": weight, "threshold": str(threshold)}


def rows(groups: Any = 3, weight: Any = 1, size: Any = 2, width: Any = 1, **change: Any) -> dict[str, Any]:
    """A rows channel that is hardly likelier to have the person in it, if its numbers make one."""
    fields = {"kind": "rows", "rows": groups, "weight": weight, "size": size, "width": width, "levels": "even"}
    optional = change.get("optional", False)
    cells_of_all = groups * (size + width * bool(optional))
    threshold = WORD * weight * width // cells_of_all + 1 if cells_of_all else 1
    return fields | {"threshold": str(threshold), "optional": False} | change


def value(name: str = "x") -> dict[str, Any]:
    return {"kind": "value", "of": [name]}


def text(schema: list[dict[str, Any]], *channels: dict[str, Any], **change: Any) -> str:
    """A plan with these channels: each for one attribute, or one for all of them."""
    names = [attribute["name"] for attribute in schema]
    asked = [names] if len(channels) == 1 else [[name] for name in names]
    questions = [
        {"views": [value(name) for name in of], "channel": channel} for of, channel in zip(asked, channels, strict=True)
    ]
    fields = {"hush": 2, "title": "", "after": None, "epsilon": "16.0", "k": 1, "weights": None}
    return codec.dump(fields | {"schema": schema, "questions": questions} | change)


def seeing(view: Any, channel: dict[str, Any], *schema: dict[str, Any], **change: Any) -> str:
    """A plan with a question that looks through a view, and one question for each attribute."""
    attributes = list(schema) or [number(), number("y", -1000.0, 0.1)]
    alone = [
        {"views": [value(one["name"])], "channel": window(2, 1, optional=one["optional"])}
        for one in attributes
        if one["kind"] == "numeric"
    ]
    others = [
        {"views": [value(one["name"])], "channel": subset(len(one["values"]) + one["optional"])}
        for one in attributes
        if one["kind"] == "categorical"
    ]
    questions = [*alone, *others, {"views": view if isinstance(view, list) else [view], "channel": channel}]
    return text(attributes, *[subset()] * len(attributes), questions=questions, **change)
