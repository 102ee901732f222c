"""Checks of the parameters of estimators. They happen at use: scikit-learn forbids earlier checks."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from hush.errors import DesignError

Array = np.ndarray[Any, Any]


def plain(value: object, name: str) -> float:
    """Return a parameter as a plain float."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise DesignError(f"{name} must be a finite number")
    return float(value)


def whole(value: object, name: str) -> int:
    """Return a parameter as a plain integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise DesignError(f"{name} must be an integer of at least 1")
    return int(value)


def pairs(value: object, count: int, rule: str) -> Array:
    """Return a range as `count` rows of (low, high); one pair serves for all rows. `rule` is the error message."""
    try:
        ends = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.empty(0)
    if ends.shape == (2,):
        ends = np.tile(ends, (count, 1))
    if ends.shape != (count, 2) or not np.isfinite(ends).all() or not (ends[:, 0] < ends[:, 1]).all():
        raise DesignError(rule)
    return ends
