"""A training as JSON, and the part of it that a device holds on to: which records and labels it takes.

A device whose record does not fit must refuse, and that can be noticed. A server that could describe a training one way
today and another way tomorrow would find a number by halves, from the days on which the device is silent. So a ledger
keeps the schema and the label that it first saw under a title, before the record is looked at. From then on the device
refuses other bounds or classes under this title, in any round and whatever its record is.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import Any

from hush import codec
from hush.answered import Person
from hush.errors import LedgerError, PlanError
from hush.learn import labels
from hush.learn.training import Training
from hush.ledger import Ledger
from hush.schema import Schema

_NAMES = tuple(field.name for field in fields(Training))
_TABLE = "create table if not exists trainings (title text primary key, description text not null) strict"


def to_json(training: Training) -> dict[str, Any]:
    """Return a training as JSON values."""
    values = {name: getattr(training, name) for name in _NAMES}
    return values | {"schema": training.schema.to_json(), "label": labels.to_json(training.label)}


def from_json(value: Any) -> Training:
    """Read a training back, strictly."""
    values = dict(zip(_NAMES, codec.fields(value, _NAMES, PlanError, "a training"), strict=True))
    for name in ("centre", "scale", "start", "selection"):
        if values[name] is not None:
            values[name] = tuple(codec.listed(values[name], PlanError, name))
    values["schema"] = Schema.from_json(values["schema"])
    values["label"] = labels.from_json(values["label"])
    return Training(**values)


def keep(training: Training, ledger: Ledger | Person) -> None:
    """Keep the schema and the label of a training, or refuse those that differ from what is kept under its title.

    This costs nothing, draws nothing, and stays if the record is then refused: it does not depend on the record.
    """
    wanted = [training.schema.to_json(), labels.to_json(training.label)]
    description = hashlib.sha256(codec.dump(wanted).encode()).hexdigest()
    if _first(training.title, description, ledger) != description:
        raise LedgerError(
            f"the training {training.title!r} had other features or another label when this device first saw it; "
            "a training with a changed description needs another title"
        )


def _first(title: str, description: str, ledger: Ledger | Person) -> str:
    """Return the description that is kept under a title: this one, if there was none."""
    if isinstance(ledger, Person):
        return ledger.described(title, description)
    with ledger.transaction() as connection:
        connection.execute(_TABLE)
        connection.execute("insert or ignore into trainings values (?, ?)", (title, description))
        row = connection.execute("select description from trainings where title = ?", (title,)).fetchone()
    return str(row[0])
