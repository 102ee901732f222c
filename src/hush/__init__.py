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
    from hush.core.calendar import Date, Time
    from hush.core.kinds import Boolean, Integer
    from hush.core.lists import Listed
    from hush.core.plan import Plan
    from hush.core.report import Report
    from hush.core.schema import MISSING, OTHER, Categorical, Choices, Numeric, Schema
    from hush.core.sealing import CollectorKey
    from hush.core.texts import Text
    from hush.core.training.checks import Check
    from hush.core.training.courses import Course
    from hush.core.training.features import Features
    from hush.core.training.maps import RandomMap, TableMap, Unit
    from hush.core.training.rounds import Round
    from hush.core.training.stages import Stage
    from hush.core.training.training import Training
    from hush.device.asking import Asked, ask
    from hush.device.client import Client
    from hush.device.gradient import gradient, held_out
    from hush.device.ledger import Ledger
    from hush.device.pilot import pilot
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
    from hush.planning.assumed import Guess
    from hush.planning.audits import audit
    from hush.planning.designs import design
    from hush.planning.finding import Floor, Floors, floors
    from hush.planning.needed import epsilon_needed, people_needed
    from hush.planning.predictions import Prediction, Predictions, predict
    from hush.planning.relations import Foreseen, Foresights, foresee
    from hush.planning.shuffle import Shuffled, compose, shuffle
    from hush.planning.texts import second_round
    from hush.planning.worth import Worth, Worths, worth
    from hush.server.changes import Change, Changes, change
    from hush.server.course import advance, begin
    from hush.server.distributions import Distribution, distribution
    from hush.server.estimates import Estimate, Estimates, estimate
    from hush.server.frequent import FrequentText, FrequentTexts, frequent
    from hush.server.manipulations import Manipulation, Manipulations, manipulation
    from hush.server.narrowing import narrow
    from hush.server.relations.associations import Associations, association
    from hush.server.relations.consistent import Consistent, consistent
    from hush.server.relations.crosstabs import Crosstab, crosstab
    from hush.server.relations.groups import Differences, Means, means
    from hush.server.relations.lies import Shift, Shifts, shifts
    from hush.server.relations.pairs import Pairs, nothing, pairs
    from hush.server.relations.ranges import Below, Quantile, Quantiles, Shares, below, quantiles
    from hush.server.relations.rows import Related, Relations
    from hush.server.step import first_round, step
    from hush.server.tally import Tally

__version__ = "0.1.0"

_HOMES = {
    "batch.comparing": ["Compared", "Comparison", "compare"],
    "batch.outlines": ["Outline", "outline"],
    "batch.synthesis": ["synthesise"],
    "core.calendar": ["Date", "Time"],
    "core.kinds": ["Boolean", "Integer"],
    "core.plan": ["Plan"],
    "core.report": ["Report"],
    "core.sealing": ["CollectorKey"],
    "core.lists": ["Listed"],
    "core.schema": ["MISSING", "OTHER", "Categorical", "Choices", "Numeric", "Schema"],
    "core.texts": ["Text"],
    "core.training.checks": ["Check"],
    "core.training.courses": ["Course"],
    "core.training.features": ["Features"],
    "core.training.maps": ["RandomMap", "TableMap", "Unit"],
    "core.training.rounds": ["Round"],
    "core.training.stages": ["Stage"],
    "core.training.training": ["Training"],
    "device.asking": ["Asked", "ask"],
    "device.client": ["Client"],
    "device.gradient": ["gradient", "held_out"],
    "device.ledger": ["Ledger"],
    "device.pilot": ["pilot"],
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
    "planning.finding": ["Floor", "Floors", "floors"],
    "planning.needed": ["epsilon_needed", "people_needed"],
    "planning.assumed": ["Guess"],
    "planning.predictions": ["Prediction", "Predictions", "predict"],
    "planning.relations": ["Foreseen", "Foresights", "foresee"],
    "planning.shuffle": ["Shuffled", "compose", "shuffle"],
    "planning.texts": ["second_round"],
    "planning.worth": ["Worth", "Worths", "worth"],
    "server.changes": ["Change", "Changes", "change"],
    "server.estimates": ["Estimate", "Estimates", "estimate"],
    "server.frequent": ["FrequentText", "FrequentTexts", "frequent"],
    "server.manipulations": ["Manipulation", "Manipulations", "manipulation"],
    "server.course": ["advance", "begin"],
    "server.distributions": ["Distribution", "distribution"],
    "server.narrowing": ["narrow"],
    "server.relations.associations": ["Associations", "association"],
    "server.relations.consistent": ["Consistent", "consistent"],
    "server.relations.crosstabs": ["Crosstab", "crosstab"],
    "server.relations.groups": ["Differences", "Means", "means"],
    "server.relations.lies": ["Shift", "Shifts", "shifts"],
    "server.relations.pairs": ["Pairs", "nothing", "pairs"],
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
    "OTHER",
    "Asked",
    "Associations",
    "AuditError",
    "Below",
    "Boolean",
    "BudgetError",
    "Categorical",
    "Change",
    "Changes",
    "Check",
    "Choices",
    "Client",
    "CollectorError",
    "CollectorKey",
    "Compared",
    "Comparison",
    "Consistent",
    "Course",
    "Crosstab",
    "Date",
    "DesignError",
    "Differences",
    "Distribution",
    "Estimate",
    "EstimateError",
    "Estimates",
    "Features",
    "Floor",
    "Floors",
    "Foreseen",
    "Foresights",
    "FrequentText",
    "FrequentTexts",
    "Guess",
    "History",
    "HushError",
    "InputError",
    "Integer",
    "Ledger",
    "LedgerError",
    "Listed",
    "Manipulation",
    "Manipulations",
    "Means",
    "NetworkError",
    "Numeric",
    "Outline",
    "Pairs",
    "Plan",
    "PlanError",
    "Prediction",
    "Predictions",
    "Quantile",
    "Quantiles",
    "RandomMap",
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
    "Stage",
    "StoreError",
    "TableMap",
    "Tally",
    "TallyError",
    "Text",
    "Time",
    "Training",
    "Unit",
    "Worth",
    "Worths",
    "advance",
    "ask",
    "association",
    "audit",
    "begin",
    "below",
    "change",
    "compare",
    "compose",
    "consistent",
    "crosstab",
    "design",
    "distribution",
    "epsilon_needed",
    "estimate",
    "first_round",
    "floors",
    "foresee",
    "frequent",
    "gradient",
    "held_out",
    "manipulation",
    "means",
    "narrow",
    "nothing",
    "outline",
    "pairs",
    "people_needed",
    "pilot",
    "predict",
    "quantiles",
    "randomise",
    "seal",
    "second_round",
    "shifts",
    "shuffle",
    "step",
    "synthesise",
    "worth",
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
