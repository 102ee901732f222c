"""A training as JSON.

A training without a map has no field for it, as before there were maps: clients that know none still read it, and
refuse one with a map.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hush.core import codec
from hush.core.schema import Schema
from hush.core.training import labels, maps
from hush.core.training.training import Training
from hush.errors import PlanError

_NAMES = tuple(field.name for field in fields(Training) if field.name != "map")


def to_json(training: Training) -> dict[str, Any]:
    """Return a training as JSON values."""
    values = {name: getattr(training, name) for name in _NAMES}
    values |= {"schema": training.schema.to_json(), "label": labels.to_json(training.label)}
    values |= {"ordered": list(training.ordered)}
    return values if training.map is None else values | {"map": training.map.to_json()}


def from_json(value: Any) -> Training:
    """Read a training back, strictly."""
    names = (*_NAMES, "map") if isinstance(value, dict) and "map" in value else _NAMES
    values = dict(zip(names, codec.fields(value, names, PlanError, "a training"), strict=True))
    for name in ("centre", "scale", "start", "selection", "ordered"):
        if values[name] is not None:
            values[name] = tuple(codec.listed(values[name], PlanError, name))
    values["schema"] = Schema.from_json(values["schema"])
    values["label"] = labels.from_json(values["label"])
    if "map" in values:
        values["map"] = maps.from_json(values["map"])
    return Training(**values)
