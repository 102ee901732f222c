"""A training as JSON."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hush.core import codec
from hush.core.schema import Schema
from hush.core.training import labels
from hush.core.training.training import Training
from hush.errors import PlanError

_NAMES = tuple(field.name for field in fields(Training))


def to_json(training: Training) -> dict[str, Any]:
    """Return a training as JSON values."""
    values = {name: getattr(training, name) for name in _NAMES}
    return values | {"schema": training.schema.to_json(), "label": labels.to_json(training.label)}


def from_json(value: Any) -> Training:
    """Read a training back, strictly."""
    values = dict(zip(_NAMES, codec.fields(value, _NAMES, PlanError, "a training"), strict=True))
    for name in ("centre", "scale", "start", "selection"):
        if values[name] is not None:
            values[name] = tuple(codec.listed(values[name], PlanError, name))
    values["schema"] = Schema.from_json(values["schema"])
    values["label"] = labels.from_json(values["label"])
    return Training(**values)
