"""The channels: random functions with exactly known laws, one file each.

A new channel is one file with a subclass of `Channel`, one line in `CHANNELS`, one file of vectors.
"""

from __future__ import annotations

from typing import Any

from hush.channels.additive import Additive
from hush.channels.alphabet import Alphabet, Output, Signed, Subsets, Symbols
from hush.channels.base import Channel, Coins, Reading, State, draw_subset
from hush.channels.cells import Cells
from hush.channels.cube import Cube
from hush.channels.mixture import Mixture
from hush.channels.signs import Signs
from hush.channels.subset import Subset
from hush.channels.unary import Unary
from hush.channels.window import Window
from hush.errors import PlanError

CHANNELS: dict[str, type[Channel]] = {
    channel.kind: channel for channel in (Window, Mixture, Subset, Unary, Additive, Signs, Cube, Cells)
}


def from_json(value: Any) -> Channel:
    """Read any channel back, fully checked."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if type(kind) is not str or kind not in CHANNELS:
        raise PlanError(f"the kind of a channel must be one of: {', '.join(CHANNELS)}")
    return CHANNELS[kind].from_json(value)


__all__ = [
    "CHANNELS",
    "Additive",
    "Alphabet",
    "Cells",
    "Channel",
    "Coins",
    "Cube",
    "Mixture",
    "Output",
    "Reading",
    "Signed",
    "Signs",
    "State",
    "Subset",
    "Subsets",
    "Symbols",
    "Unary",
    "Window",
    "draw_subset",
    "from_json",
]
