"""The label of a training, which a model predicts, and the target from -1 to 1 that a loss sees in its place.

A label is an attribute like those of a schema, and part of the training's description. A number, for the squared loss,
is scaled from its bounds to [-1, 1]. For the logistic and the hinge loss there are two classes: the first declared
class becomes -1, the second 1. Labels are checked like all attributes, and any other value is refused. A boolean is
neither a number nor a class, though in Python True equals 1. To train on a flag, declare two classes, [0, 1] or
["no", "yes"], and convert the flag to one of them.
"""

from __future__ import annotations

from typing import Any

from hush.core import codec
from hush.core.schema import Categorical, Numeric, Schema
from hush.core.training.losses import Loss
from hush.errors import DesignError, PlanError

TARGETS = (-1, 1)
"""The targets of the lower and the upper bound, or of the first and the second class."""

Label = Numeric | Categorical


def check_label(label: object, schema: Schema, loss: Loss) -> None:
    """Refuse an attribute that cannot be the label of this loss, beside these features."""
    fits = isinstance(label, Categorical) and len(label.values) == 2 if loss.classes else isinstance(label, Numeric)
    if not fits:
        wanted = (
            'two classes, as in Categorical("bought", ["no", "yes"])'
            if loss.classes
            else 'a number with its bounds, as in Numeric("income", 0, 5000)'
        )
        raise DesignError(f"the label of a training with the {loss.name} loss must be {wanted}")
    assert isinstance(label, Label)
    if label.optional:
        raise DesignError(f"the label {label.name!r} must not be optional: there is nothing to learn without it")
    if label.name in schema.names:
        raise DesignError(f"the label {label.name!r} must not be one of the features")


def target(label: Label, value: object) -> float:
    """Return the target of a label, or refuse the label. It runs on the device."""
    if isinstance(label, Categorical):
        return float(TARGETS[label.encode(value)])
    share = label.encode(value)
    assert share is not None, "no label is optional"
    return 2.0 * share - 1.0


def to_json(label: Label) -> dict[str, Any]:
    """Return a label as JSON values, with the targets of its bounds or classes, in their order."""
    return {"attribute": label.to_json(), "targets": list(TARGETS)}


def from_json(value: Any) -> Label:
    """Read a label back, strictly. There is only one rule for targets, but the JSON must state it."""
    attribute, targets = codec.fields(value, ("attribute", "targets"), PlanError, "a label")
    if codec.dump(targets) != codec.dump(TARGETS):
        raise PlanError(f"the targets of a label must be {list(TARGETS)}: of its bounds or classes, in their order")
    return Schema.from_json([attribute]).attributes[0]
