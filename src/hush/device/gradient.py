"""The device's part in a training: one private gradient, or one private loss.

**Each person answers once.** With a ledger, a second report for the same training is refused, whatever its round or
its seed; a second request for the same round returns the report that was sent. A training is known by its name
(`hush.core.training.names`): the server chooses the seed, and would get another report for each.

**Refusals.** A record must fit the training's schema, and a label its declaration, before anything is drawn or spent.
Nothing else that a server sends (weights, coordinates, centre, scale, radius) decides whether a person answers.

**The description is kept.** A device whose record does not fit must refuse, and a server can notice that. A server that
could describe a training one way today and another way tomorrow would find a number by bisection, from the days on
which the device is silent. So a ledger keeps the schema and the label that it first saw under a name (without classes
at its end), before it reads the record. From then on the device refuses other bounds or classes under this name, in any
round and for any record.

**Gradients.** With `gradient="vector"` (the default) a gradient g is clipped to length R and rotated in public to Qg.
The record holds |g|/R times the signs of the largest coordinates of Qg, and 0 for the others; the corners channel
reports one coordinate and sign with the whole epsilon. (Where the plan has a cube, which is better from epsilon 10 or
so on, the record holds all signs, and the cube reports some of them.) With the name of a mechanism (hybrid, piecewise,
duchi, laplace, minimax, duchi-multi, ...) coordinates are clipped to [-bound, bound] and reported as the numbers of a
record, as in Wang et al. (ICDE 2019). All of this happens before the channel and only decides the channel's input: the
report is as private as the plan.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from hush.core import codec
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.schema import Record
from hush.core.training import labels
from hush.core.training.checks import Check
from hush.core.training.directions import kept, pointed
from hush.core.training.labels import target
from hush.core.training.maps import zeroed
from hush.core.training.names import plans_under, subject
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
    other schema, label or seed under the same title. Without one, every call draws anew and costs the epsilon of the
    training again. `Client.train` remembers what it has sent.
    """
    check_open(round)
    return answer_once(round.training, round.plan, partial(gradient_record, round), record, label, ledger)


def held_out(
    round: Round | Check,  # noqa: A002
    record: Record,
    label: object,
    ledger: Ledger | Person | None = None,
) -> Report:
    """Return one person's private loss under the weights so far. It runs on the device.

    A person who answers this takes part in no round. A check comes with its plan, and is refused after the last round:
    collectors take no more losses then. The plan of a round is `loss_plan(round.training, round.number)`. For `ledger`
    see `gradient`.
    """
    if isinstance(round, Check):
        check_open(round)
        plan = round.plan
    else:
        from hush.core.design.rounds import loss_plan

        plan = loss_plan(round.training, round.number)
    return answer_once(round.training, plan, partial(loss_record, round), record, label, ledger)


def gradient_record(round: Round, record: Record, label: object) -> dict[str, float]:  # noqa: A002
    """Return the record that stands for one person's clipped gradient.

    Weights below 1e-100 count as 0, and so does a slope below 1e-150: no product and no sum is subnormal then.
    """
    training = round.training
    inputs, y = training.features(record), target(training.label, label, training.against)
    score = dot(inputs, [zeroed(weight) for weight in round.weights])
    slope = flushed(training.loss_function.slope(score, y))
    vector = [flushed(slope * inputs[j]) for j in round.coordinates]
    if training.gradient != VECTOR:
        bound = _divisor(training.bound)
        return {f"g{j}": min(max(value / bound, -1.0), 1.0) for j, value in enumerate(vector)}
    size = min(math.sqrt(dot(vector, vector)) / _divisor(training.radius), 1.0)
    turned = pointed(rotate(vector, round.rotation), size, kept(round.plan))
    return {f"g{j}": value for j, value in enumerate(turned)}


def _divisor(value: float) -> float:
    """Return a public number, neither so large nor so small that processors may be slow with it or with quotients.

    What is not flushed is above 1e-150.
    """
    return min(max(value, 1e-150), 1e150)


def loss_record(round: Round | Check, record: Record, label: object) -> dict[str, float]:  # noqa: A002
    """Return the record that stands for one person's loss under the weights so far.

    A loss that is tiny, or tiny beside the cap, counts as 0: processors are slow with such quotients.
    """
    training = round.training
    inputs, y = training.features(record), target(training.label, label, training.against)
    score = dot(inputs, [zeroed(weight) for weight in round.result])
    cap = float(training.cap)
    value = min(training.loss_function.value(score, y), cap)
    return {"loss": value if value > 1e-150 * max(cap, 1.0) else 0.0}


def answer_once(
    training: Training,
    plan: Plan,
    make: Callable[[Record, object], Record],
    record: Record,
    label: object,
    ledger: Ledger | Person | None,
) -> Report:
    """Answer one of the plans of a training, and no other, if there is a ledger. The record is read last.

    `make` computes the record of the plan. It depends on what the server sent, so it does not say whose record it is.
    """
    if ledger is None:
        return randomise(plan, make(record, label))
    description = keep(training, ledger)
    once = plans_under(training.name)
    if isinstance(ledger, Ledger):
        return ledger.randomise(plan, make(record, label), once=once)
    held = training.schema.read(record)
    own = [description, *training.schema.encode(held), training.label.encode(label)]
    return ledger.randomise(plan, make(held, label), once=once, own=own)


def keep(training: Training, ledger: Ledger | Person) -> str:
    """Keep the schema, the label and the map of a training, or refuse them if others are kept under its name.

    Return the hash of them.

    This costs and draws nothing. It does not depend on the record, and stays even if the record is then refused.
    """
    wanted: list[Any] = [training.schema.to_json(), labels.to_json(training.label)]
    if training.map is not None:
        wanted.append(training.map.to_json())
    description = hashlib.sha256(codec.dump(wanted).encode()).hexdigest()
    if ledger.described(subject(training.name), description) != description:
        raise LedgerError(
            f"the training {training.title!r} had other features or another label when this device first saw it; "
            "a training with a changed description needs another title"
        )
    return description
