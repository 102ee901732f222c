"""All figures and tables, in the paper's order, then what hush adds."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PAPER = (
    "worst_variance",
    "variance_at",
    "regions",
    "many_dimensions",
    "means_and_frequencies",
    "gaussian",
    "shapes",
    "users",
    "dimensions",
    "logistic",
    "svm",
    "linear",
)
BEYOND = (
    "limit_gap",
    "ratio_estimator",
    "best_k",
    "subset_oue",
    "float_attack",
    "joint_reports",
    "gradients",
    "fewer_people",
    "relations",
    "wide",
    "small",
    "crowds",
)
NAMES = (*PAPER, *BEYOND)


def figure(name: str) -> Any:
    """Return the module of a figure."""
    if name not in NAMES:
        raise KeyError(name)
    return import_module(f"experiments.reproduce.{name}")
