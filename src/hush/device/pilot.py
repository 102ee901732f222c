"""The device's part in the pilot of a training: one private report of features, and of nothing else.

The rules of `hush.device.gradient` hold here too. A person answers once in a training: a stage of the pilot, a round or
a loss. A record and a label must fit before anything is drawn or spent, whatever the stage asks about. The ledger keeps
the description. Estimates of earlier stages, which the server sends, change what is reported, and never whether.
"""

from __future__ import annotations

from functools import partial

from hush.core.report import Report
from hush.core.schema import Record
from hush.core.training.labels import target
from hush.core.training.stages import (
    SHARES,
    SPREADS,
    TARGET,
    Stage,
    asks_target,
    categories_of,
    indicators,
    numbers_of,
)
from hush.device.answered import Person
from hush.device.gradient import answer_once
from hush.device.ledger import Ledger


def pilot(stage: Stage, record: Record, label: object, ledger: Ledger | Person | None = None) -> Report:
    """Return one person's private answer in a stage of a pilot. It runs on the device. See `gradient` for `ledger`."""
    return answer_once(stage.training, stage.plan, partial(pilot_record, stage), record, label, ledger)


def pilot_record(stage: Stage, record: Record, label: object) -> dict[str, float | int]:
    """Return what a person is asked in a stage, as a record of its plan."""
    training = stage.training
    features, y = training.plain(record), target(training.label, label, training.against)
    if stage.name == SHARES:
        found: dict[str, float | int] = {} if asks_target(training) else {TARGET: int(y > 0)}
        for part in categories_of(training):
            count = indicators(part)
            # The indicators are 0 and 1, and at most one of them is 1: the work does not depend on which.
            found[f"x{part.start}"] = count + sum(
                int(features[part.start + index]) * (index - count) for index in range(count)
            )
        return found
    names = [f"x{j}" for j in numbers_of(training)]
    values = [features[j] for j in numbers_of(training)]
    if asks_target(training):
        names, values = [*names, TARGET], [*values, y]
    if stage.name == SPREADS:
        values = [min(abs(value - mean), 1.0) for value, mean in zip(values, stage.middle, strict=True)]
    return dict(zip(names, values, strict=True))
