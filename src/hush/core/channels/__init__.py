"""The channels: random functions with exactly known laws, one file each.

To add a channel, add one file with a subclass of `Channel`, one line in `CHANNELS` and one file of vectors.
"""

from __future__ import annotations

from typing import Any

from hush.core.channels.additive import Additive
from hush.core.channels.alphabet import Alphabet, Grouped, Output, Points, Subsets, Symbols
from hush.core.channels.base import Channel, Coins, Presence, Reading, State, Summed, draw_subset
from hush.core.channels.cells import Cells
from hush.core.channels.corners import Corners
from hush.core.channels.cube import Cube
from hush.core.channels.geometry import Geometry
from hush.core.channels.ladder import Ladder
from hush.core.channels.mixture import Mixture
from hush.core.channels.picks import Picks
from hush.core.channels.rows import Rows
from hush.core.channels.signs import Signs
from hush.core.channels.subset import Subset
from hush.core.channels.unary import Unary
from hush.core.channels.window import Window
from hush.errors import PlanError

CHANNELS: dict[str, type[Channel]] = {
    channel.kind: channel
    for channel in (
        Window,
        Mixture,
        Subset,
        Unary,
        Additive,
        Signs,
        Cube,
        Cells,
        Rows,
        Ladder,
        Picks,
        Corners,
        Geometry,
    )
}


def from_json(value: Any) -> Channel:
    """Read a channel of any kind, and check it fully."""
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
    "Corners",
    "Cube",
    "Geometry",
    "Grouped",
    "Ladder",
    "Mixture",
    "Output",
    "Picks",
    "Points",
    "Presence",
    "Reading",
    "Rows",
    "Signs",
    "State",
    "Subset",
    "Subsets",
    "Summed",
    "Symbols",
    "Unary",
    "Window",
    "draw_subset",
    "from_json",
]
