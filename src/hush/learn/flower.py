"""A mod for Flower clients: the update of a model leaves the device through hush's channel, once.

    from flwr.clientapp import ClientApp
    app = ClientApp(mods=[HushMod("keyboard", radius=0.5, epsilon=4.0, ledger=lambda context: Ledger(path, cap=4.0))])

The mod lets the app train, takes the difference between its arrays and those of the server as one vector, clips it to
`radius`, rotates it and reports its direction by the corners or cube channel with the whole epsilon: pure, exact
epsilon-LDP for everything that leaves the device (`hush.device.gradient` does the same for hush's own trainings). The
reply has the server's arrays plus the *decoded* report, which is a function of the report alone and right on average.
So strategies that average, such as FedAvg, work as they are.

**Once.** The ledger lets a person take part in one round under a title. Every later round is answered by an error. The
app is not asked then: a server that could let it train again and again, on arrays of its choice, would learn from its
time and its failures.

**Nothing else leaves.** Metrics of the app are dropped, and the number of examples is always 1: both tell about the
data. Messages to evaluate, or to query, are refused, because their replies would not be private. Whether the app fails
may depend on its data. So an app that fails, or whose arrays have other shapes or are not finite, counts as no update,
and is reported like any other; the device's own log has a warning.

**How many people.** d weights take about 1500 C d people, where C is the noise of a report (`people_needed`): 9,500
people for 1 weight at epsilon 1, 1 million for 100. A mod cannot change that: use it for small heads of public models.
A vector has at most 1024 weights.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

try:
    from flwr.app import Array, ArrayRecord, Error, Message, MessageType, MetricRecord, RecordDict
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"hush.learn.flower needs {error.name}: pip install 'hush-ldp[flower]'") from None

from hush.core.design.directions import direction, people_needed
from hush.core.plan import MAX_EPSILON, MIN_EPSILON, Plan, Question
from hush.core.report import Report
from hush.core.schema import MAX_ATTRIBUTES
from hush.core.training.directions import kept, pointed, top_sum
from hush.core.training.rotations import padded, rotate, rotate_back
from hush.core.training.training import MAX_NAME, cost_of, dot, flushed, gradient_schema, is_number
from hush.device.ledger import Ledger
from hush.errors import BudgetError, DesignError, LedgerError, RecordError, StoreError

REFUSED = 6  # Flower's code for a precondition of a mod that does not hold
ONCE = "hush: this person has taken part under this title, or would spend more than the cap"
ONLY = "hush: only training is private here, so messages of other kinds are refused"
FAILED = "hush: the app has failed, or its arrays have other shapes; this counts as no update"
SHAPE = "hush: the message does not have one record of arrays"
WEIGHTS = f"hush: a vector has at most {MAX_ATTRIBUTES} weights"

_log = logging.getLogger(__name__)
Next = Callable[[Message, Any], Message]


@lru_cache(maxsize=64)
def vector_plan(epsilon: float, weights: int, title: str) -> Plan:
    """Return the plan of a vector with this many weights: one question about its rotated direction."""
    cost, schema = cost_of(epsilon), gradient_schema(padded(weights))
    return Plan(schema, cost, 1, (Question(schema.names, direction(cost, len(schema))),), title=title)


def vector_record(vector: list[float], radius: float, seed: str, plan: Plan) -> dict[str, float]:
    """Return the record that stands for a vector, clipped to a length and rotated."""
    values = [flushed(value) for value in vector]
    size = min(dot(values, values) ** 0.5 / radius, 1.0)
    return {f"g{j}": value for j, value in enumerate(pointed(rotate(values, seed), size, kept(plan)))}


def decoded(report: Report, radius: float, seed: str, weights: int) -> list[float]:
    """Return the vector that a report stands for. Over many reports, its mean is that of the clipped vectors."""
    plan = report.plan
    means = [float(value) for value in plan.questions[0].channel.decode(report.answers[0][1])]
    scale = radius / top_sum(len(means), kept(plan))
    return [scale * value for value in rotate_back(means, seed, weights)]


class HushMod:
    """Randomises the update of a Flower client, once. See `hush.learn.flower`.

    title: what the person takes part in, once. radius: the length to which updates are clipped. ledger: a
    `hush.Ledger`, or a function from Flower's context to one (for simulations, where nodes share a process).
    """

    def __init__(self, title: str, *, radius: float, epsilon: float, ledger: Ledger | Callable[[Any], Ledger]) -> None:
        if type(title) is not str or not 0 < len(title) <= MAX_NAME or not title.isprintable():
            raise DesignError(f"the title must be 1 to {MAX_NAME} printable characters")
        if not is_number(radius) or not 0 < radius < 1e100:
            raise DesignError("radius must be a finite number above 0")
        if not is_number(epsilon) or not MIN_EPSILON <= epsilon <= MAX_EPSILON:
            raise DesignError(f"epsilon must be from {float(MIN_EPSILON)} to {float(MAX_EPSILON)}")
        self._title, self._radius, self._epsilon, self._ledger = title, float(radius), float(epsilon), ledger

    def people_needed(self, weights: int) -> int:
        """Return about how many people a training of this many weights needs: 1500 C d."""
        return people_needed(self._epsilon, weights)

    def __call__(self, msg: Message, context: Any, call_next: Next) -> Message:
        """Answer one message of a server."""
        if msg.metadata.message_type != MessageType.TRAIN:
            return _refusal(msg, ONLY)
        key, old = _only(msg.content)
        if old is None:
            return _refusal(msg, SHAPE)
        weights = sum(array.size for array in old.values())
        if not 1 <= weights <= MAX_ATTRIBUTES:
            return _refusal(msg, WEIGHTS)
        number = _round(msg)
        try:
            ledger = self._ledger if isinstance(self._ledger, Ledger) else self._ledger(context)
            sent = self._kept(ledger, weights, number)
        except (BudgetError, LedgerError, StoreError):
            return _refusal(msg, ONCE)
        if sent is not None:
            return Message(_content(key, old, self._moved(sent, weights, number, context)), reply_to=msg)
        try:
            vector = _update(old, call_next(msg, context))
        except Exception:  # noqa: BLE001 - whether it fails, and why, may depend on the data
            _log.warning(FAILED)
            vector = np.zeros(weights)
        try:
            report = self._report(ledger, vector, number, context)
        except (BudgetError, LedgerError, StoreError):
            return _refusal(msg, ONCE)
        return Message(_content(key, old, self._moved(report, weights, number, context)), reply_to=msg)

    @property
    def _family(self) -> str:
        return f"{self._title} [flower]: "

    def _seed(self, number: int, context: Any) -> str:
        return f"{self._family}{number}/{context.node_id}"

    def _plan(self, weights: int, number: int) -> Plan:
        return vector_plan(self._epsilon, weights, f"{self._family}round {number}")

    def _kept(self, ledger: Ledger, weights: int, number: int) -> Report | None:
        """Return the report that was drawn before, or None if one may be drawn now. Nothing is drawn here."""
        try:
            return ledger.randomise(self._plan(weights, number), {}, once=self._family)
        except RecordError:  # the ledger would draw, and an empty record fits no plan
            return None

    def _report(self, ledger: Ledger, vector: Any, number: int, context: Any) -> Report:
        """Return the report of a vector. The ledger draws it, or returns the one that was drawn meanwhile."""
        plan = self._plan(len(vector), number)
        longest = float(np.abs(vector).max())
        shorter = vector / (longest / self._radius) if longest > self._radius else vector  # no square overflows
        record = vector_record(shorter.tolist(), self._radius, self._seed(number, context), plan)
        return ledger.randomise(plan, record, once=self._family)

    def _moved(self, report: Report, weights: int, number: int, context: Any) -> Any:
        """Return the decoded report."""
        return np.array(decoded(report, self._radius, self._seed(number, context), weights))


def _only(content: RecordDict) -> tuple[str, dict[str, Any] | None]:
    """Return the only record of arrays."""
    records = dict(content.array_records)
    if len(records) != 1:
        return "", None
    ((key, record),) = records.items()
    return key, {name: array.numpy() for name, array in record.items()}


def _update(old: dict[str, Any], reply: Message) -> Any:
    """Return what an app adds to all weights."""
    _, new = (None, None) if reply.has_error() else _only(reply.content)
    if new is None or [(name, a.shape) for name, a in new.items()] != [(name, a.shape) for name, a in old.items()]:
        raise ValueError(FAILED)
    vector = np.concatenate([(new[name].astype(float) - old[name]).ravel() for name in old])
    return np.where(np.isfinite(vector), vector, 0.0)


def _round(msg: Message) -> int:
    for record in msg.content.config_records.values():
        number = record.get("server-round")
        if type(number) is int and number >= 0:
            return number
    return 0


def _content(key: str, old: dict[str, Any], moved: Any) -> RecordDict:
    start, arrays = 0, {}
    for name, array in old.items():
        part = moved[start : start + array.size].reshape(array.shape)
        arrays[name] = Array((array + part).astype(array.dtype))
        start += array.size
    return RecordDict({key: ArrayRecord(arrays), "metrics": MetricRecord({"num-examples": 1})})


def _refusal(msg: Message, reason: str) -> Message:
    return Message(Error(REFUSED, reason), reply_to=msg)
