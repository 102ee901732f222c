"""hush: learn from a crowd without hearing anyone.

Records of numbers and categories are randomised on people's devices and counted on a server:

    record -> report -> tally -> estimate, all under one plan.

Names are imported when they are first used, so that a device loads only the code of a device.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush.audits import audit
    from hush.client import randomise
    from hush.errors import (
        AuditError,
        BudgetError,
        DesignError,
        EstimateError,
        HushError,
        LedgerError,
        PlanError,
        RecordError,
        ReportError,
        SchemaError,
        TallyError,
    )
    from hush.estimates import Estimate, Manipulation, estimate, manipulation
    from hush.ledger import Ledger
    from hush.plan import Plan
    from hush.postprocess import Distribution, clip, distribution, project
    from hush.predictions import Guess, Prediction, epsilon_needed, people_needed, predict
    from hush.report import Report
    from hush.schema import MISSING, Categorical, Numeric, Schema
    from hush.series import History, Series
    from hush.tally import Tally

__version__ = "0.1.0.dev0"

_HOMES = {
    "audits": ["audit"],
    "client": ["randomise"],
    "errors": [
        "AuditError",
        "BudgetError",
        "DesignError",
        "EstimateError",
        "HushError",
        "LedgerError",
        "PlanError",
        "RecordError",
        "ReportError",
        "SchemaError",
        "TallyError",
    ],
    "estimates": ["Estimate", "Manipulation", "estimate", "manipulation"],
    "ledger": ["Ledger"],
    "plan": ["Plan"],
    "postprocess": ["Distribution", "clip", "distribution", "project"],
    "predictions": ["Guess", "Prediction", "epsilon_needed", "people_needed", "predict"],
    "report": ["Report"],
    "schema": ["MISSING", "Categorical", "Numeric", "Schema"],
    "series": ["History", "Series"],
    "tally": ["Tally"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "MISSING",
    "AuditError",
    "BudgetError",
    "Categorical",
    "DesignError",
    "Distribution",
    "Estimate",
    "EstimateError",
    "Guess",
    "History",
    "HushError",
    "Ledger",
    "LedgerError",
    "Manipulation",
    "Numeric",
    "Plan",
    "PlanError",
    "Prediction",
    "RecordError",
    "Report",
    "ReportError",
    "Schema",
    "SchemaError",
    "Series",
    "Tally",
    "TallyError",
    "audit",
    "clip",
    "distribution",
    "epsilon_needed",
    "estimate",
    "manipulation",
    "people_needed",
    "predict",
    "project",
    "randomise",
]


_MODULES = ("batch", "learn")  # loaded when they are first used, as they need more than the standard library


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"hush.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'hush' has no attribute {name!r}")
    value = getattr(import_module(f"hush.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
