"""Questions before answers: a device draws what it will report, asks the person just that, and reports it.

Which questions a report answers never depends on the record. So they can be drawn first, and a form need not ask for
the six answers of seven that nobody will use:

    asked = hush.ask(plan)
    [attribute.name for attribute in asked.attributes]  # ["smoker"]
    report = asked.answer({"smoker": "no"})

The questions follow from an id by a public rule (`hush.core.dealing`). If the collector has signed the id, it is a
ticket, and becomes the id of the report. An id that the device drew itself stays on the device, and the report gets
another one. Otherwise the id of a report would match its questions. No report that a relay adds does that, so the
collector could tell it from those of people, and it would hide nobody.

**Draw once.** A person who may draw again until a harmless question comes chooses what is learnt about them, and spoils
the estimates. A `Ledger`, and `hush.Client.questions`, keep the first draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from hush.core.coins import Coins
from hush.core.dealing import questions_of
from hush.core.plan import Plan
from hush.core.report import ID_SIZE, Report
from hush.core.schema import Attribute, Record
from hush.core.word_views import Member
from hush.device.coins import SystemCoins
from hush.errors import PlanError


@dataclass(frozen=True)
class Asked:
    """The questions that a device has drawn, before the person has answered them.

    The questions follow from `id`. `ticket` is the collector's signature of it, if the collector dealt it: then the
    report has this id too.
    """

    plan: Plan
    id: bytes
    ticket: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.plan, Plan):
            raise PlanError("ask(plan) needs a Plan")
        if type(self.id) is not bytes or len(self.id) != ID_SIZE:
            raise PlanError(f"the id of a ticket must be {ID_SIZE} bytes")

    @cached_property
    def questions(self) -> tuple[int, ...]:
        """The questions of the plan that the report will answer, by their position."""
        return tuple(questions_of(self.plan, self.id))

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that these questions look at, in the order of the schema. All others need no answer."""
        names = {name for index in self.questions for name in self.plan.questions[index].attributes}
        return tuple(attribute for attribute in self.plan.schema.attributes if attribute.name in names)

    @cached_property
    def members(self) -> dict[str, tuple[str, ...]]:
        """The values to ask about, by attribute, where these questions look at single values of choices.

        A person need only say which of these they hold: other values do not change the report, and a list may leave
        them out.
        """
        views = [view for index in self.questions for view in self.plan.questions[index].views]
        found: dict[str, tuple[str, ...]] = {}
        for attribute in self.attributes:
            about = [view for view in views if attribute.name in view.of]
            members = tuple(view.value for view in about if isinstance(view, Member))
            if len(members) == len(about):
                found[attribute.name] = members
        return found

    def answer(self, record: Record) -> Report:
        """Return a fresh random report that answers these questions. It runs on the device.

        The record may leave out what is not asked. All that it has is checked first, and a bad one is refused before
        any randomness is drawn. A second report costs the plan's epsilon again.
        """
        return answer_from(SystemCoins(), self, record)


def ask(plan: Plan) -> Asked:
    """Draw the questions that a device will answer, so that a person need only be asked those."""
    coins = SystemCoins()
    return Asked(plan, _fresh(coins))


def check_dealt(plan: Plan, dealt: Asked | None) -> None:
    """Refuse questions of another plan."""
    if dealt is not None and dealt.plan.id != plan.id:
        raise PlanError("these questions were drawn for another plan")


def answer_from(coins: Coins, asked: Asked, record: Record) -> Report:
    """Return a report that is a function of these coins, as `hush.device.randomise.randomise_from` does."""
    plan = asked.plan
    inputs = plan.schema.encode(record, [attribute.name for attribute in asked.attributes])
    answers = []
    for index in asked.questions:
        channel = plan.questions[index].channel
        answers.append((index, channel.answer(plan.seen(index, inputs), coins)))
    return Report(plan, _fresh(coins) if asked.ticket is None else asked.id, tuple(answers))


def _fresh(coins: Coins) -> bytes:
    return coins.word().to_bytes(8, "big") + coins.word().to_bytes(8, "big")
