"""hush: learn from a crowd without hearing anyone.

Records of numbers and categories are randomised on people's devices and counted on a server:

    record -> report -> tally -> estimate, all under one plan.

Names are imported when they are first used, so that a device loads only the code of a device.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush import audits as audits
    from hush import batch as batch
    from hush import client as client
    from hush import collector as collector
    from hush import design as design
    from hush import engines as engines
    from hush import exact as exact
    from hush import learn as learn
    from hush import panels as panels
    from hush import plots as plots
    from hush import remote as remote
    from hush import testing as testing
    from hush.audits import audit
    from hush.client import randomise
    from hush.errors import (
        AuditError,
        BudgetError,
        DesignError,
        EstimateError,
        HushError,
        InputError,
        LedgerError,
        NetworkError,
        PlanError,
        RecordError,
        ReportError,
        SchemaError,
        StoreError,
        TallyError,
    )
    from hush.estimates import Estimate, Estimates, Manipulation, estimate, manipulation
    from hush.ledger import Ledger
    from hush.plan import Plan
    from hush.postprocess import Distribution, clip, distribution, project
    from hush.predictions import Guess, Prediction, Predictions, epsilon_needed, people_needed, predict
    from hush.report import Report
    from hush.schema import MISSING, Categorical, Numeric, Schema
    from hush.series import History, Series
    from hush.tally import Tally

__version__ = "0.1.0"

# Made at once, so that this process and all that it forks later have the same: see `hush.answered`.
_PROCESS, _KEY = os.getpid(), os.urandom(32)

_HOMES = {
    "audits": ["audit"],
    "client": ["randomise"],
    "errors": [
        "AuditError",
        "BudgetError",
        "DesignError",
        "EstimateError",
        "HushError",
        "InputError",
        "LedgerError",
        "NetworkError",
        "PlanError",
        "RecordError",
        "ReportError",
        "SchemaError",
        "StoreError",
        "TallyError",
    ],
    "estimates": ["Estimate", "Estimates", "Manipulation", "estimate", "manipulation"],
    "ledger": ["Ledger"],
    "plan": ["Plan"],
    "postprocess": ["Distribution", "clip", "distribution", "project"],
    "predictions": ["Guess", "Prediction", "Predictions", "epsilon_needed", "people_needed", "predict"],
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
    "Estimates",
    "Guess",
    "History",
    "HushError",
    "InputError",
    "Ledger",
    "LedgerError",
    "Manipulation",
    "NetworkError",
    "Numeric",
    "Plan",
    "PlanError",
    "Prediction",
    "Predictions",
    "RecordError",
    "Report",
    "ReportError",
    "Schema",
    "SchemaError",
    "Series",
    "StoreError",
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


_MODULES = (
    *("answered", "audits", "batch", "channels", "client", "codec", "coins", "collector", "design", "engines"),
    *("errors", "estimates", "exact", "intervals", "laws", "learn", "ledger", "memory", "panels", "plan", "plots"),
    *("postprocess", "predictions", "remote", "report", "rows", "schema", "series", "tables", "tally", "testing"),
    *("summary", "tickets"),
)
"""Modules that are loaded when they are first used: some need more than the standard library, none is always needed."""


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"hush.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'hush' has no attribute {name!r}")
    value = getattr(import_module(f"hush.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
