"""Training linear models from people who never send their data.

On a device: `gradient(round, record, label)`, and `held_out` for those who only check. On a server:
`Round.first(training)` and `step(round, tally)`. These need the standard library alone. `LinearRegression`,
`LogisticRegression` and `LinearSVC` play whole trainings with simulated people, in the shape of scikit-learn; they
need `hush-ldp[learn]`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush.learn.estimators import LinearRegression, LinearSVC, LogisticRegression
    from hush.learn.features import Features
    from hush.learn.rounds import Round, gradient, held_out, step
    from hush.learn.training import Training

_HOMES = {
    "estimators": ["LinearRegression", "LinearSVC", "LogisticRegression"],
    "features": ["Features"],
    "rounds": ["Round", "gradient", "held_out", "step"],
    "training": ["Training"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Features",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "Round",
    "Training",
    "gradient",
    "held_out",
    "step",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'hush.learn' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"hush.learn.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "hush":
            raise
        needed = f"hush.learn.{name} needs {error.name}: pip install 'hush-ldp[learn]'"
        raise ModuleNotFoundError(needed, name=error.name) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
