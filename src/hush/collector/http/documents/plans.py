"""Plans, reports and those who may read them."""

from __future__ import annotations

from typing import Any

import msgspec

from hush.collector.stores.base import HeldPlan


class Shown(msgspec.Struct):
    """When the numbers that readers see move: at most once in `every` seconds, by at least `least` reports.

    Both 0: at once. `next`: the seconds until they may move.
    """

    every: float
    least: int
    next: int


class CentralPromise(msgspec.Struct):
    """An upper bound of the collector's knowledge about a person in one batch, if the relay does not work with it.

    It is `epsilon`, except with the probability `delta`. It rests on a `crowd` of people who answer honestly in the
    batch, or on `own` reports that the relay adds to it; the other one is null.
    """

    epsilon: float
    delta: float
    crowd: int | None
    own: int | None


class RelayPromise(msgspec.Struct):
    """Both promises of a plan whose reports come through a relay. Never show one of them alone.

    `local` is an epsilon that holds whatever anybody does. Each of `central` holds if relay and collector do not work
    together. `sentences` say the same in words. `url` is the relay's, and `key` the collector's: devices have both
    built in, and do not take them from here.
    """

    url: str
    key: str
    local: str
    central: list[CentralPromise]
    sentences: list[str]


class PlanEntry(msgspec.Struct):
    """A plan that this collector has, and the reports that readers see of it.

    `after`: the pilot that it follows. `next`: the plan that follows this pilot. Both are ids, or null. `own`: the
    number of a relay's own reports that came with them; estimates take them out. `refused`: sealed reports that
    were dropped, as they did not open or came twice in a batch. `relay`: both promises of its reports, if they come
    through a relay; null without one.
    """

    id: str
    title: str
    epsilon: float
    open: bool
    keep: str
    reports: int
    shown: Shown
    after: str | None = None
    next: str | None = None
    own: int = 0
    refused: int = 0
    relay: RelayPromise | None = None


class Survey(msgspec.Struct):
    """The id of the only plan that is open, apart from one that follows it; null if there is none, or several."""

    plan: str | None


class Current(msgspec.Struct):
    """The id of the plan to answer now: the plan itself, or the one that follows it."""

    plan: str


class Plans(msgspec.Struct):
    """All plans."""

    plans: list[PlanEntry]


class Access(msgspec.Struct):
    """Who has a role: everybody if it is `open`, and the holders of a number of tokens. No token is named."""

    role: str
    open: bool
    tokens: int


class Overview(msgspec.Struct):
    """The state of a collector, for those who operate it.

    `budget`: the epsilon that one person can spend on all open plans and trainings; of a pilot and the plan that
    follows it, only the dearer one counts. `storage`: the bytes of the store, or null if they are unknown. `waiting`:
    submissions that are not committed yet. Both are as old as the tally that readers see may be, and rounded.
    """

    plans: list[PlanEntry]
    budget: float
    storage: int | None
    waiting: int
    access: list[Access]


class Receipt(msgspec.Struct):
    """A receipt: the submission is durable, and was counted once. `new`: by this request."""

    id: str
    new: bool
    reports: int


class SealedReceipt(msgspec.Struct):
    """A receipt of a sealed batch: it is durable, and was counted once. `new`: by this request.

    `reports` of the batch did open, each id once, and `refused` did not.
    """

    id: str
    new: bool
    reports: int
    refused: int


class ClosedDocument(msgspec.Struct):
    """Whether a plan takes no more reports. `proof`: the text of the question, if it is closed."""

    closed: bool
    proof: str | None


class TicketDocument(msgspec.Struct):
    """A ticket: the id that the report must have, the questions that it deals, and its signature for `Hush-Ticket`."""

    id: str
    questions: list[int]
    signature: str


class Charts(msgspec.Struct):
    """Specifications of Vega-Lite for data under the name `rows`, and configurations for light and dark."""

    charts: dict[str, dict[str, Any]]
    themes: dict[str, dict[str, Any]]


class Health(msgspec.Struct):
    """Whether the collector is alive."""

    status: str


def plan_entry(
    held: HeldPlan,
    reports: int,
    shown: Shown,
    second: str | None,
    own: int = 0,
    refused: int = 0,
    relay: RelayPromise | None = None,
) -> PlanEntry:
    """Return a plan of a store as a document.

    `second`: the plan that follows it. `own`: reports of a relay's own that came with those of people. `refused`:
    sealed reports that were dropped. `relay`: both promises of reports through a relay.
    """
    plan, keep = held.plan, held.keep
    about = plan.id, plan.title, plan.epsilon
    return PlanEntry(*about, held.open, keep, reports, shown, plan.after, second, own, refused, relay)
