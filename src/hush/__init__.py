"""hush: learn from a crowd without hearing anyone.

Records of numbers and categories are randomised on people's devices and counted on a server:

    record -> report -> tally -> estimate, all under one plan.

Names are imported when they are first used, so that a device loads only the code of a device.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import hush.device.family  # noqa: F401  # now, so that this process and all its later forks share the key

if TYPE_CHECKING:
    from hush import batch as batch
    from hush import collector as collector
    from hush import core as core
    from hush import device as device
    from hush import engines as engines
    from hush import errors as errors
    from hush import learn as learn
    from hush import planning as planning
    from hush import plots as plots
    from hush import server as server
    from hush import show as show
    from hush import testing as testing
    from hush.batch.comparing import Compared, Comparison, compare
    from hush.batch.outlines import Outline, outline
    from hush.batch.synthesis import synthesise
    from hush.core.plan import Plan
    from hush.core.report import Report
    from hush.core.schema import MISSING, Categorical, Numeric, Schema
    from hush.core.sealing import CollectorKey
    from hush.core.training.features import Features
    from hush.core.training.rounds import Round
    from hush.core.training.training import Training
    from hush.device.asking import Asked, ask
    from hush.device.client import Client
    from hush.device.gradient import gradient, held_out
    from hush.device.ledger import Ledger
    from hush.device.randomise import randomise
    from hush.device.sealing import seal
    from hush.device.series import History, Series
    from hush.errors import (
        AuditError,
        BudgetError,
        CollectorError,
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
    from hush.planning.audits import audit
    from hush.planning.designs import design
    from hush.planning.predictions import Guess, Prediction, Predictions, epsilon_needed, people_needed, predict
    from hush.planning.relations import Foreseen, Foresights, foresee
    from hush.planning.shuffle import Shuffled, compose, shuffle
    from hush.server.distributions import Distribution, distribution
    from hush.server.estimates import Estimate, Estimates, estimate
    from hush.server.manipulations import Manipulation, Manipulations, manipulation
    from hush.server.narrowing import narrow
    from hush.server.relations.associations import Associations, association
    from hush.server.relations.consistent import Consistent, consistent
    from hush.server.relations.crosstabs import Crosstab, crosstab
    from hush.server.relations.groups import Differences, Means, means
    from hush.server.relations.lies import Shift, Shifts, shifts
    from hush.server.relations.ranges import Below, Quantile, Quantiles, Shares, below, quantiles
    from hush.server.relations.rows import Related, Relations
    from hush.server.step import first_round, step
    from hush.server.tally import Tally

__version__ = "0.1.0"

_HOMES = {
    "batch.comparing": ["Compared", "Comparison", "compare"],
    "batch.outlines": ["Outline", "outline"],
    "batch.synthesis": ["synthesise"],
    "core.plan": ["Plan"],
    "core.report": ["Report"],
    "core.sealing": ["CollectorKey"],
    "core.schema": ["MISSING", "Categorical", "Numeric", "Schema"],
    "core.training.features": ["Features"],
    "core.training.rounds": ["Round"],
    "core.training.training": ["Training"],
    "device.asking": ["Asked", "ask"],
    "device.client": ["Client"],
    "device.gradient": ["gradient", "held_out"],
    "device.ledger": ["Ledger"],
    "device.randomise": ["randomise"],
    "device.sealing": ["seal"],
    "device.series": ["History", "Series"],
    "errors": [
        "AuditError",
        "BudgetError",
        "CollectorError",
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
    "planning.audits": ["audit"],
    "planning.designs": ["design"],
    "planning.predictions": ["Guess", "Prediction", "Predictions", "epsilon_needed", "people_needed", "predict"],
    "planning.relations": ["Foreseen", "Foresights", "foresee"],
    "planning.shuffle": ["Shuffled", "compose", "shuffle"],
    "server.estimates": ["Estimate", "Estimates", "estimate"],
    "server.manipulations": ["Manipulation", "Manipulations", "manipulation"],
    "server.distributions": ["Distribution", "distribution"],
    "server.narrowing": ["narrow"],
    "server.relations.associations": ["Associations", "association"],
    "server.relations.consistent": ["Consistent", "consistent"],
    "server.relations.crosstabs": ["Crosstab", "crosstab"],
    "server.relations.groups": ["Differences", "Means", "means"],
    "server.relations.lies": ["Shift", "Shifts", "shifts"],
    "server.relations.ranges": ["Below", "Quantile", "Quantiles", "Shares", "below", "quantiles"],
    "server.relations.rows": ["Related", "Relations"],
    "server.step": ["first_round", "step"],
    "server.tally": ["Tally"],
}
"""Where each public name is defined."""

_HOME = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = (
    "batch",
    "collector",
    "core",
    "device",
    "engines",
    "errors",
    "learn",
    "planning",
    "plots",
    "server",
    "show",
    "testing",
)
"""Modules that are loaded when they are first used: some need more than the standard library, none is always needed."""

__all__ = [
    "MISSING",
    "Asked",
    "Associations",
    "AuditError",
    "Below",
    "BudgetError",
    "Categorical",
    "Client",
    "CollectorError",
    "CollectorKey",
    "Compared",
    "Comparison",
    "Consistent",
    "Crosstab",
    "DesignError",
    "Differences",
    "Distribution",
    "Estimate",
    "EstimateError",
    "Estimates",
    "Features",
    "Foreseen",
    "Foresights",
    "Guess",
    "History",
    "HushError",
    "InputError",
    "Ledger",
    "LedgerError",
    "Manipulation",
    "Manipulations",
    "Means",
    "NetworkError",
    "Numeric",
    "Outline",
    "Plan",
    "PlanError",
    "Prediction",
    "Predictions",
    "Quantile",
    "Quantiles",
    "RecordError",
    "Related",
    "Relations",
    "Report",
    "ReportError",
    "Round",
    "Schema",
    "SchemaError",
    "Series",
    "Shares",
    "Shift",
    "Shifts",
    "Shuffled",
    "StoreError",
    "Tally",
    "TallyError",
    "Training",
    "ask",
    "association",
    "audit",
    "below",
    "compare",
    "compose",
    "consistent",
    "crosstab",
    "design",
    "distribution",
    "epsilon_needed",
    "estimate",
    "first_round",
    "foresee",
    "gradient",
    "held_out",
    "manipulation",
    "means",
    "narrow",
    "outline",
    "people_needed",
    "predict",
    "quantiles",
    "randomise",
    "seal",
    "shifts",
    "shuffle",
    "step",
    "synthesise",
]


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
