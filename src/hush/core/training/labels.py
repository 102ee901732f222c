"""The label of a training, which a model predicts, and the target from -1 to 1 that a loss sees in its place.

A label is an attribute like those of a schema, and part of the training's description. A number, for the squared loss,
is scaled from its bounds to [-1, 1]. For the logistic and the hinge loss there are two classes: the first declared
class becomes -1, the second 1. If there are more, each has a training of its own, in which it becomes 1 and all others
-1. Labels are checked like all attributes, and any other value is refused. A boolean is
neither a number nor a class, though in Python True equals 1. To train on a flag, declare two classes, [0, 1] or
["no", "yes"], and convert the flag to one of them.
"""

from __future__ import annotations

from typing import Any

from hush.core import codec
from hush.core.schema import Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.core.training.losses import Loss
from hush.errors import DesignError, PlanError

TARGETS = (-1, 1)
"""The targets of the lower and the upper bound, or of the first and the second class."""

Label = Numeric | Categorical


def check_label(label: object, schema: Schema, loss: Loss, against: object = None) -> None:
    """Refuse an attribute that cannot be the label of this loss, beside these features."""
    fits = isinstance(label, Categorical) if loss.classes else isinstance(label, Numeric)
    if isinstance(label, Categorical) and against is not None:
        codec.integer(against, 0, len(label.values) - 1, DesignError, "the place of the class that is told apart")
    if isinstance(label, Categorical):
        fits = fits and (len(label.values) == 2) == (against is None)
    else:
        fits = fits and against is None
    fits = fits and not (isinstance(label, Categorical) and label.other)  # that would be a third class
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


def target(label: Label, value: object, against: int | None = None) -> float:
    """Return the target of a label, or refuse the label. It runs on the device.

    With `against`, the target is 1 for the class in this place and -1 for all others.
    """
    if isinstance(label, Categorical):
        place = label.encode(value)
        return float(TARGETS[place if against is None else place == against])
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
    (found,) = Schema.from_json([attribute]).attributes
    if isinstance(found, Choices | Text):
        raise PlanError("a label must be a number or a category")
    return found
