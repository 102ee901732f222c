"""The keys of a collector: the one that it gives out, and those that it gave out before.

Devices have a key built in, and seal a report once. After the key has changed some still come with reports for the one
before, and so may a relay that held them meanwhile. A collector that had forgotten it would thank for these reports and
drop them. So a store notes which keys were given out for a plan (the public ones; the secret ones never leave their
files), and a collector does not start without any of them, until the plan is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hush.collector.opening import Opener
from hush.collector.settings import Settings
from hush.collector.stores.base import Store
from hush.core.plan import Plan
from hush.core.report import Report
from hush.core.sealing import CollectorKey
from hush.errors import InputError, ReportError


class Keys:
    """Opens sealed reports with any of several secret keys. The first is the one that is given out now."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        openers = [Opener(secret) for secret in secrets]
        self.given = openers[0].key
        self._openers = {opener.key: opener for opener in openers}

    @classmethod
    def of(cls, settings: Settings) -> Keys | None:
        """Return the keys of a collector, if it takes sealed reports."""
        return cls([settings.sealed_key, *settings.older_keys]) if settings.sealed_key else None

    def __contains__(self, key: CollectorKey) -> bool:
        return key in self._openers

    def open(self, plan: Plan, sealed: bytes, likely: CollectorKey) -> Report:
        """Return the report of this plan; try the likely key first. Anything else is a ReportError."""
        first, *others = sorted(self._openers.values(), key=lambda opener: opener.key != likely)
        for opener in others:
            with suppress(ReportError):
                return first.open(plan, sealed)
            first = opener
        return first.open(plan, sealed)

    def prove(self, plan: Plan, question: bytes, key: CollectorKey) -> bytes:
        """Return the text of a question that a relay has sealed for one of the keys. Else a ReportError."""
        return self._openers[key].prove(plan, question)


def settle(store: Store, settings: Settings) -> None:
    """Note which key is given out for the open plans. Refuse to go on without one that was given out before."""
    keys = Keys.of(settings)
    for plan_id, given in store.given_keys().items():
        for public in sorted(given):
            if keys is None or CollectorKey(public) not in keys:
                raise InputError(
                    f"plan {plan_id[:12]} was given out with the key {public.hex()}, and reports that are sealed for "
                    "it may still come: name its secret key as a further --sealed-key; if it is lost, say "
                    f"--lost-key {public.hex()}"
                )
    if keys is not None:
        store.give_key(keys.given.public)
