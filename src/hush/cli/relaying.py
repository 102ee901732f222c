"""The command of a relay: `hush relay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hush.cli import completing, listening
from hush.cli.numbers import NUMBER, Count
from hush.cli.program import program

if TYPE_CHECKING:
    from hush.core.plan import Plan
    from hush.device.client import Client


@program.command()
@click.argument("plans", nargs=-1, required=True, metavar="PLAN...", shell_complete=completing.files)
@click.option("--collector", required=True, metavar="URL", help="The address of the collector.")
@click.option("--key", required=True, metavar="HEX", help="The public key of the collector, as `hush serve` prints it.")
@click.option(
    "--least",
    required=True,
    type=Count(2, 65536),
    metavar="N",
    help="Hold reports of a plan until this many are there.",
)
@click.option(
    "--own",
    required=True,
    type=Count(0, 65535),
    metavar="M",
    help="Reports that the relay draws itself and adds to each batch.",
)
@click.option("--store", default="relay.db", show_default=True, metavar="FILE", help="The SQLite file of the relay.")
@listening.address(8001)
@click.option(
    "--token",
    metavar="FILE",
    shell_complete=completing.files,
    help="A file with the collector's token for the role submit-batch.",
)
@click.option(
    "--every",
    default="5s",
    show_default=True,
    metavar="TIME",
    help="How often the relay checks whether it has enough reports.",
)
@listening.host_names("relay", "relay.example.net")
@click.option("--origin", multiple=True, metavar="ORIGIN", help="The origin of pages that may send sealed reports.")
@click.option(
    "--rate",
    default=10.0,
    show_default=True,
    type=NUMBER,
    metavar="N",
    help="Reports per second from one address (0: no limit). Behind a proxy, --forwarded says whose address counts.",
)
@click.option(
    "--most",
    default=10_000_000,
    show_default=True,
    type=Count(1, 10**12),
    metavar="N",
    help="Take this many reports of a plan in all. Each leaves about 25 bytes in the file, until the plan is closed.",
)
@listening.FORWARDED
@listening.NOTICE
@listening.connections
@click.option("--json", "machine", is_flag=True, help="Print the address as one line of JSON.")
def relay(
    plans: tuple[str, ...],
    collector: str,
    key: str,
    least: int,
    own: int,
    store: str,
    host: str,
    port: int,
    token: str | None,
    every: str,
    names: tuple[str, ...],
    origin: tuple[str, ...],
    rate: float,
    most: int,
    forwarded: str,
    notice: str | None,
    connections: int,
    each: int,
    machine: bool,
) -> None:
    """Run a relay: take sealed reports, mix them, and send them to a collector in batches.

    A plan is a file, or the id of a plan that the collector has. The relay keeps neither addresses nor times. It stops
    at Ctrl-C or SIGTERM, and continues where it was when it starts again.

    \b
    Example:
      hush relay plan.json --collector https://reports.example.org --key 8f2a... --least 1000 --own 150
    """
    from hush.cli import access
    from hush.collector.settings import LOCAL, Settings
    from hush.core.sealing import CollectorKey
    from hush.device.client import Client as Collector
    from hush.relay.forwarding import Mix
    from hush.relay.serve import MAX_BODY, run
    from hush.relay.store import RelayStore

    listening.check_rate(rate)
    mix = Mix(CollectorKey.from_hex(key), least, own)
    secret = None if token is None else listening.token_of(token)
    client = Collector(collector, token=secret, attempts=2)
    found = [_plan(name, client) for name in plans]
    settings = Settings(
        hosts=LOCAL | {access.host_name(name) for name in names},
        addresses=not access.is_local(host),
        origins={"*": frozenset(listening.origin_of(url) for url in origin)} if origin else {},
        rate=rate,
        max_body=MAX_BODY,
        connections=connections,
        connections_each=each,
    )
    for plan in found:
        mix.check(plan)
    seconds = access.seconds(every, "--every")
    leaving = access.notice(notice, private=access.is_private(host, names, forwarded))

    def ready(address: str) -> None:
        if machine:
            import json

            ids = [plan.id for plan in found]
            click.echo(json.dumps({"address": address, "plans": ids, "closed": list(filter(opened.is_closed, ids))}))
            return
        click.echo(f"hush: listening on {address}")
        if fresh:
            click.echo(f"hush: made {store}: it knows of no reports that another file has taken")
        for plan in found:
            over = ": closed, and takes nothing" if opened.is_closed(plan.id) else ""
            click.echo(f"hush: {address}/sealed/{plan.id}{over}")

    fresh = not Path(store).exists()
    with listening.failing():
        opened = RelayStore(store, mix.key, most)
        try:
            run(
                opened,
                found,
                mix,
                collector,
                settings,
                host=host,
                port=port,
                token=secret,
                every=seconds,
                forwarded=forwarded,
                notice=leaving,
                ready=ready,
            )
        finally:
            opened.close()


def _plan(name: str, client: Client) -> Plan:
    """Read a plan from a file, or fetch it by its id."""
    import re

    from hush.cli import files

    if re.fullmatch("[0-9a-f]{64}", name) and not Path(name).exists():
        return client.plan(name)
    return files.read_plan(name)
