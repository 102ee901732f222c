"""The pilot of simulated people: a few of them report privately how the features are spread, and nothing else.

Training is faster and needs less noise if features are centred and of similar size, and if gradients are clipped to
their typical length. All that may be learnt only through private reports. So a small share of the people is asked
first, in the stages of `hush.core.training.stages`. `hush.server.pilot` reads the answers, here and in a collector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hush import batch
from hush.batch.columns import Encoded
from hush.core.design.courses import stage_plan
from hush.core.training.courses import stage_people
from hush.core.training.stages import (
    SHARES,
    SPREADS,
    Known,
    Stage,
    asks_target,
    categories_of,
    indicators,
    numbers_of,
    stage_names,
)
from hush.core.training.training import Training
from hush.learn.simulation import People, source_for
from hush.server.pilot import Pilot, estimates, read

Array = np.ndarray[Any, Any]


def ask(people: People, training: Training, *, seed: str | None, threads: int) -> Pilot:
    """Ask all these people, each in one stage. `training` is what is known before the pilot."""
    known: tuple[Known, ...] = ()
    start = 0
    for name, count in zip(stage_names(training), stage_people(training, len(people)), strict=True):
        stage = Stage(training, name, known, stage_plan(training, name))
        source = source_for(None if seed is None else f"{seed}/{stage.plan.title}")
        columns = Encoded.of(stage.plan.schema, answers(stage, people.some(start, start + count)))
        tally = batch._collect_from(source, stage.plan, columns, threads)  # noqa: SLF001 - no public function takes words
        known = (*known, estimates(tally))
        start += count
    return read(training, known, start)


def answers(stage: Stage, people: People) -> list[Array]:
    """Return what people are asked in a stage, as columns: the records of `hush.device.pilot`, for all rows at once."""
    training = stage.training
    if stage.name == SHARES:
        return _categories(people, training)
    columns = [people.x[:, j] for j in numbers_of(training)] + ([people.y] if asks_target(training) else [])
    columns = [np.clip(column.astype(np.float64), -1.0, 1.0) for column in columns]
    if stage.name == SPREADS:
        columns = [np.minimum(np.abs(column - mean), 1.0) for column, mean in zip(columns, stage.middle, strict=True)]
    return columns


def _categories(people: People, training: Training) -> list[Array]:
    """Return the columns of the class, if it is asked for, and of the categories."""
    columns = [] if asks_target(training) else [(people.y > 0).astype(np.int16)]
    for part in categories_of(training):
        count = indicators(part)
        block = people.x[:, part.start : part.start + count] > 0.5
        columns.append(np.where(block.any(axis=1), block.argmax(axis=1), count).astype(np.int16))
    return columns
