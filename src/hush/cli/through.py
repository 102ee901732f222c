"""The options of `hush serve` about a relay that people send through, and what its batches promise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hush.cli import progress
from hush.cli.numbers import NUMBER, WHOLE
from hush.cli.program import Refused

if TYPE_CHECKING:
    from hush.collector.settings import RelayNamed
    from hush.collector.stores.base import Store
    from hush.core.plan import Plan

F = TypeVar("F", bound=Callable[..., None])

LONG = 15.0  # seconds of accounting that are worth a line


@dataclass(frozen=True)
class Promise:
    """Both promises of a plan: for programs, and in words."""

    document: dict[str, Any]
    sentences: list[str]


def options(command: F) -> F:
    """Add the options."""
    relay = click.option(
        "--relay",
        metavar="URL",
        help="The relay that people send through, such as https://relay.example.net. The form sends there, and all "
        "pages name both promises. It needs --sealed-only, --relay-delta, and --relay-crowd or --relay-own.",
    )
    crowd = click.option(
        "--relay-crowd",
        type=WHOLE,
        metavar="N",
        help="How many people answer honestly in each of its batches, at least: its --least, minus possible liars.",
    )
    own = click.option(
        "--relay-own", type=WHOLE, metavar="M", help="How many reports it adds to each batch: its --own."
    )
    delta = click.option(
        "--relay-delta", type=NUMBER, metavar="DELTA", help="The probability with which its promise may fail: 1e-6."
    )
    for option in (delta, own, crowd, relay):
        command = option(command)
    return command


def relay_of(
    url: str | None, crowd: int | None, own: int | None, delta: float | None, *, sealed_only: bool, narrow: bool
) -> RelayNamed | None:
    """Return the relay that the options name, or refuse those that make no sense together."""
    if url is None:
        if (crowd, own, delta) != (None, None, None):
            raise Refused("--relay-crowd, --relay-own and --relay-delta describe a relay: name it with --relay URL")
        return None
    if not sealed_only:
        raise Refused("--relay needs --sealed-only: its promise would be false for reports that come directly")
    if narrow:
        raise Refused("--relay does not go with --narrow: a relay serves the plans that it was started with")
    if delta is None:
        raise Refused("--relay-delta is missing: the probability with which the relay's promise may fail, such as 1e-6")
    if crowd is None and own is None:
        raise Refused("--relay needs --relay-own, the reports that the relay adds to a batch, or --relay-crowd")
    from hush.collector.settings import RelayNamed

    return RelayNamed(url.rstrip("/"), delta, crowd, own)


def promises(plans: Sequence[Plan], relay: RelayNamed | None) -> dict[str, Promise]:
    """Account for plans, and say so if it takes long. A plan without a second promise is refused.

    Nobody should learn from a page that is open already that the second promise is missing.
    """
    if relay is None:
        return {}
    from hush.collector.http.statements import relayed
    from hush.collector.promises import central

    found = {}
    with progress.bar("accounting for the relay") as note, _patience(len(plans)):
        for number, plan in enumerate(plans):
            note(number, len(plans), f"accounting for plan {plan.id[:12]}")
            said = relayed(plan, relay, "")
            names = ("epsilon", "delta", "crowd", "own")
            each = [{name: getattr(one, name) for name in names} for one in central(plan, relay)]
            found[plan.id] = Promise({"url": relay.url, "local": said.local, "central": each}, said.sentences)
    return found


@contextmanager
def _patience(plans: int) -> Iterator[None]:
    """Say in a log, which has no bar, why the collector does not listen yet."""
    clock = Timer(LONG, click.echo, (f"hush: accounting for the relay (plans: {plans})",), {"err": True})
    clock.daemon = True
    if not sys.stderr.isatty():
        clock.start()
    try:
        yield
    finally:
        clock.cancel()


def stored(store: Store, relay: RelayNamed | None) -> dict[str, Promise]:
    """Account for the open plans of a store."""
    if relay is not None and any(found.second is None for found in store.narrowings()):
        raise Refused("the store has a pilot that is not over: a relay serves the plans that it was started with")
    return promises([held.plan for held in store.plans() if held.open], relay)
