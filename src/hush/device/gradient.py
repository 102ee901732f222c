"""The device's part in a training: one private gradient, or one private loss.

**Each person answers once.** With a ledger, a second report for the same training is refused, whatever its round; a
second request for the same round returns the report that was sent.

**Refusals.** A record must fit the training's schema, and a label its declaration, before anything is drawn or spent.
Nothing else that a server sends (weights, coordinates, centre, scale, radius) decides whether a person answers.

**The description is kept.** A device whose record does not fit must refuse, and a server can notice that. A server that
could describe a training one way today and another way tomorrow would find a number by bisection, from the days on
which the device is silent. So a ledger keeps the schema and the label that it first saw under a title, before it reads
the record. From then on the device refuses other bounds or classes under this title, in any round and for any record.

**Gradients.** With `gradient="vector"` (the default) a gradient g is clipped to length R and rotated in public to Qg.
The record holds |g|/R times the sign of every coordinate of Qg, and the cube channel reports some of the signs with
the whole epsilon. With the name of a mechanism (hybrid, piecewise, duchi, laplace, minimax, duchi-multi, ...)
coordinates are clipped to [-bound, bound] and reported as the numbers of a record, as in Wang et al. (ICDE 2019). All
of this happens before the channel and only decides the channel's input: the report is as private as the plan.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable

from hush.core import codec
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Record
from hush.core.training import labels
from hush.core.training.labels import target
from hush.core.training.rotations import rotate
from hush.core.training.rounds import Round, check_open
from hush.core.training.training import VECTOR, Training, dot, flushed
from hush.device.answered import Person
from hush.device.ledger import Ledger
from hush.device.randomise import randomise
from hush.errors import LedgerError


def gradient(
    round: Round,  # noqa: A002
    record: Record,
    label: object,
    ledger: Ledger | Person | None = None,
) -> Report:
    """Return one person's private gradient. It runs on the device.

    `record` and `label` must fit the training (`Training.schema`, `Training.label`), or are refused before anything is
    drawn. With a ledger, the person answers once in a training, never spends more than the ledger's cap, and accepts no
    other schema or label under the same title. Without one, every call draws anew and costs the epsilon of the training
    again. `Client.train` remembers what it has sent.
    """
    check_open(round)
    return _answer(round, round.plan, lambda: gradient_record(round, record, label), ledger)


def held_out(
    round: Round,  # noqa: A002
    record: Record,
    label: object,
    ledger: Ledger | Person | None = None,
) -> Report:
    """Return one person's private loss under the weights so far. It runs on the device.

    A person who answers this takes part in no round. The plan is `loss_plan(round.training, round.number)`. For
    `ledger` see `gradient`.
    """
    from hush.core.design.rounds import loss_plan

    plan = loss_plan(round.training, round.number)
    return _answer(round, plan, lambda: loss_record(round, record, label), ledger)


def gradient_record(round: Round, record: Record, label: object) -> dict[str, float]:  # noqa: A002
    """Return the record that stands for one person's clipped gradient."""
    training = round.training
    inputs, y = training.features(record), target(training.label, label)
    score = dot(inputs, [flushed(weight) for weight in round.weights])
    slope = training.loss_function.slope(score, y)
    vector = [flushed(slope * inputs[j]) for j in round.coordinates]
    if training.gradient != VECTOR:
        return {f"g{j}": min(max(value / training.bound, -1.0), 1.0) for j, value in enumerate(vector)}
    size = min(math.sqrt(dot(vector, vector)) / training.radius, 1.0)
    turned = rotate(vector, round.rotation)
    return {f"g{j}": size * ((value > 0) - (value < 0)) for j, value in enumerate(turned)}


def loss_record(round: Round, record: Record, label: object) -> dict[str, float]:  # noqa: A002
    """Return the record that stands for one person's loss under the weights so far."""
    training = round.training
    inputs, y = training.features(record), target(training.label, label)
    score = dot(inputs, [flushed(weight) for weight in round.result])
    return {"loss": min(training.loss_function.value(score, y), float(training.cap))}


def _answer(
    round: Round,  # noqa: A002
    plan: Plan,
    record: Callable[[], Record],
    ledger: Ledger | Person | None,
) -> Report:
    if ledger is None:
        return randomise(plan, record())
    keep(round.training, ledger)  # before the record is read
    return ledger.randomise(plan, record(), once=round.training.family)


def keep(training: Training, ledger: Ledger | Person) -> None:
    """Keep the schema and the label of a training, or refuse them if others are kept under its title.

    This costs and draws nothing. It does not depend on the record, and stays even if the record is then refused.
    """
    wanted = [training.schema.to_json(), labels.to_json(training.label)]
    description = hashlib.sha256(codec.dump(wanted).encode()).hexdigest()
    if ledger.described(training.title, description) != description:
        raise LedgerError(
            f"the training {training.title!r} had other features or another label when this device first saw it; "
            "a training with a changed description needs another title"
        )
