"""The commands that run a collector: `hush serve` and `hush token`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from hush.cli import completing, listening, rounds, through
from hush.cli.numbers import Count
from hush.cli.program import RESULT, Refused, as_json, program
from hush.cli.storing import STORE

if TYPE_CHECKING:
    from hush.collector.settings import Settings
    from hush.collector.stores.base import Store


@program.command()
@click.argument("plans", nargs=-1, metavar="PLAN.json...", shell_complete=completing.files)
@STORE
@listening.address(8000)
@click.option(
    "--keep",
    default="reports",
    show_default=True,
    metavar="reports|tallies",
    shell_complete=completing.words("reports", "tallies"),
    help="Keep whole reports, or only tallies and ids.",
)
@click.option("--check-ids", is_flag=True, help="Check every report id within batches too.")
@click.option(
    "--training",
    multiple=True,
    metavar="COURSE.json",
    help="Run a training from its pilot to its result (`Training.design`); or ROUND.json=PEOPLE: from a first round.",
)
@click.option(
    "--narrow",
    multiple=True,
    metavar="PLAN.json=PILOT+OTHERS",
    help="Serve a plan with wide numbers as a pilot: after PILOT reports, narrow them for OTHERS more people.",
)
@click.option(
    "--presentation",
    multiple=True,
    metavar="PLAN.json=FILE.json",
    help="How the form presents a plan, or the training of COURSE.json: words, order, widgets, colour and pictures. "
    "The plan and its id stay the same.",
)
@click.option(
    "--preview",
    is_flag=True,
    help="Show the forms and keep nothing: no store, and no report is taken. On any collector, an address of the form "
    "that ends in &preview shows it without sending.",
)
@click.option(
    "--words",
    multiple=True,
    metavar="LANGUAGE=FILE.json",
    help="The form's own words in a further language, such as it=it.json: all sentences of /pages/words-en.json, and, "
    "for the explanation, of /pages/explanation-en.json.",
)
@click.option(
    "--list",
    "lists",
    multiple=True,
    metavar="FILE",
    shell_complete=completing.files,
    help="A long list of values of a plan. A list that lies beside the file of its plan need not be named.",
)
@click.option(
    "--tokens",
    metavar="FILE",
    shell_complete=completing.files,
    help="Lines of ROLE HASH, as `hush token` prints: submit, submit-batch, read or admin.",
)
@click.option(
    "--open",
    "open_",
    metavar="ROLES",
    shell_complete=completing.words("submit", "read", "submit,read", "submit-batch"),
    help="Roles that everybody has without a token, such as submit,read. The default is submit,read if there "
    "are no tokens and only this machine can reach the collector, and otherwise none.",
)
@listening.host_names("collector", "reports.example.org")
@click.option(
    "--origin",
    multiple=True,
    metavar="[PLAN=]ORIGIN",
    help="The origin (https://host, no path) of pages that may send reports.",
)
@click.option(
    "--embed",
    multiple=True,
    metavar="ORIGIN",
    help="The origin of pages that may show the form in a frame, as https://www.example.org. The default is none.",
)
@listening.RATE
@click.option(
    "--reveal-every",
    "every",
    default="60s",
    show_default=True,
    metavar="TIME",
    help="Renew the numbers that readers see at most once in this time: 60s, 5m, 1h.",
)
@click.option(
    "--reveal-least",
    "least",
    default=20,
    show_default=True,
    type=Count(0, 10**9),
    metavar="N",
    help="Renew them after at least this many new reports. With --reveal-every 0s and 0 here, they follow each report.",
)
@click.option(
    "--by",
    type=click.Choice(["day", "week"]),
    help="Count by day or week too (UTC), so that readers see change. A report counts in the period in which readers "
    "first see it. The default stores no times; PostgreSQL's own log has those of commits (docs/postgres.md).",
)
@click.option(
    "--tickets",
    metavar="FILE",
    shell_complete=completing.files,
    help="Deal the questions by tickets; the key in FILE is made if the file is missing.",
)
@click.option(
    "--sealed-key",
    "sealed_keys",
    multiple=True,
    metavar="FILE",
    shell_complete=completing.files,
    help="Take sealed batches from a relay; the secret key in FILE is made if the file is missing. FILE.pub has the "
    "public key. The first is given out; name those that were given out before, too, until their plans are closed.",
)
@click.option(
    "--lost-key",
    "lost_keys",
    multiple=True,
    metavar="HEX",
    help="A public key that was given out, and whose secret is lost: reports for it are dropped.",
)
@click.option("--sealed-only", is_flag=True, help="Take sealed batches from a relay, and nothing else.")
@through.options
@listening.FORWARDED
@listening.NOTICE
@listening.connections
@click.option(
    "--held",
    default=256,
    show_default=True,
    type=Count(16, 10**6),
    metavar="MIB",
    help="Memory for unanswered requests.",
)
@click.option(
    "--body-timeout",
    "patience",
    default="30s",
    show_default=True,
    metavar="TIME",
    help="How long the body of a request may take.",
)
@click.option("--json", "machine", is_flag=True, help="Print the addresses as one line of JSON.")
def serve(
    plans: tuple[str, ...],
    store: str,
    host: str,
    port: int,
    keep: str,
    check_ids: bool,
    training: tuple[str, ...],
    narrow: tuple[str, ...],
    presentation: tuple[str, ...],
    preview: bool,
    words: tuple[str, ...],
    lists: tuple[str, ...],
    tokens: str | None,
    open_: str | None,
    names: tuple[str, ...],
    origin: tuple[str, ...],
    embed: tuple[str, ...],
    rate: float,
    every: str,
    least: int,
    by: str | None,
    tickets: str | None,
    sealed_keys: tuple[str, ...],
    lost_keys: tuple[str, ...],
    sealed_only: bool,
    relay: str | None,
    relay_crowd: int | None,
    relay_own: int | None,
    relay_delta: float | None,
    forwarded: str,
    notice: str | None,
    connections: int,
    each: int,
    held: int,
    patience: str,
    machine: bool,
) -> None:
    """Run a collector: take reports over HTTP, count each once, show estimates.

    It stops at Ctrl-C or SIGTERM, after all acknowledged reports are safe. Plans that are in the store already need not
    be named again.

    \b
    Example:
      hush serve plan.json
      hush serve plan.json --store postgresql://hush@localhost/hush --port 80 --tokens tokens
      hush serve --narrow plan.json=20000+80000
      hush serve plan.json --sealed-key key --sealed-only --relay https://r.example --relay-own 150 --relay-delta 1e-6
    """
    from hush.cli import access, files
    from hush.collector import serve as service
    from hush.core.sealing import CollectorKey

    listening.check_rate(rate)
    private = access.is_private(host, names, forwarded)
    leaving = access.notice(notice, private=private)
    if keep not in ("reports", "tallies"):
        raise Refused("--keep must be reports or tallies")
    if sealed_keys and tickets is not None:
        raise Refused("--sealed-key and --tickets exclude each other: a sealed report comes without a ticket")
    if sealed_only and (not sealed_keys or training):
        raise Refused("--sealed-only needs --sealed-key, and does not go with --training")
    named = through.relay_of(relay, relay_crowd, relay_own, relay_delta, sealed_only=sealed_only, narrow=bool(narrow))
    rounds.read_lists(lists)
    read = [files.read_plan(name) for name in plans]
    pilots = [rounds.pilot_of(spec) for spec in narrow]
    spoken = rounds.words(words)
    presented = rounds.presentations(presentation, spoken)
    settings = _settings(
        tokens,
        origin,
        rate,
        tickets,
        check_ids,
        open_=open_,
        names=names,
        local=access.is_local(host),
        private=private,
        every=access.seconds(every, "--reveal-every", at_once=True),
        least=least,
    )
    secrets = [listening.key_of(Path(name), "sealed reports", make=not i) for i, name in enumerate(sealed_keys)]
    settings = replace(
        settings,
        connections=connections,
        connections_each=each,
        held_bytes=held << 20,
        body_timeout=access.seconds(patience, "--body-timeout"),
        sealed_key=secrets[0] if secrets else b"",
        older_keys=tuple(secrets[1:]),
        sealed_only=sealed_only,
        relay=named,
        by=by,  # type: ignore[arg-type]
        presentations=presented.plans,
        presented_trainings=presented.trainings,
        images=presented.images,
        words=spoken,
        embed=frozenset(listening.origin_of(site, "--embed") for site in embed),
        preview=preview,
    )
    through.promises(read, named)  # before they are added to the store
    public = _public(settings.sealed_key)
    if sealed_keys:
        try:
            listening.write_public(Path(f"{sealed_keys[0]}.pub"), public)
        except OSError as error:
            raise Refused(f"the public key cannot be written: {error.strerror}") from None
    with listening.failing(), _opened(store, preview) as opened:
        try:
            for plan in read:
                opened.add_plan(plan, keep)  # type: ignore[arg-type]
            for pilot in pilots:
                rounds.add_pilot(opened, pilot, keep)
            for spec in training:
                rounds.add_training(opened, spec)
            for lost in lost_keys:
                opened.take_back_key(CollectorKey.from_hex(lost).public)
            if not opened.plans() and not opened.trainings():
                raise Refused("the store has no plan: name one, as made by `hush plan`")
            rounds.check_presented(opened, presented)
            rounds.check_lists(opened)
            promises = through.stored(opened, named)

            def ready(address: str) -> None:
                ids = [held.plan.id for held in opened.plans()]
                roles: list[str] = sorted(settings.open)
                form = named is not None or not sealed_only
                if preview and not machine:
                    click.echo("hush: a preview: no report is taken, and nothing is kept")
                _announce(address, ids, list(opened.trainings()), roles, machine, public, form=form, promises=promises)
                if named is not None and not machine:
                    page = f"https://{names[0]}" if names else address
                    click.echo(f"hush: the form sends to {named.url}, which must allow its page: --origin {page}")

            service.run(opened, settings, host=host, port=port, forwarded=forwarded, notice=leaving, ready=ready)
        finally:
            opened.close()


@contextmanager
def _opened(url: str, preview: bool) -> Iterator[Store]:
    """Open the store, or one that counts nothing and is forgotten."""
    if not preview:
        from hush.collector.stores.opening import open_store

        yield open_store(url)
        return
    from click.core import ParameterSource

    if click.get_current_context().get_parameter_source("store") is not ParameterSource.DEFAULT:
        raise Refused("--preview keeps nothing: leave out --store")
    from hush.collector.stores.preview import PreviewStore

    with tempfile.TemporaryDirectory(prefix="hush-") as folder:
        yield PreviewStore(Path(folder) / "preview.db")


def _public(secret: bytes) -> str:
    """Return the public key of sealed reports in hexadecimal, or nothing without a secret one."""
    if not secret:
        return ""
    from hush.collector.opening import Opener

    return Opener(secret).key.public.hex()


def _announce(
    address: str,
    plans: list[str],
    trainings: list[str],
    roles: list[str],
    machine: bool,
    key: str = "",
    *,
    form: bool = True,
    promises: Mapping[str, through.Promise] = MappingProxyType({}),
) -> None:
    """Print where a collector listens and which roles are open, for people or for the program that started it."""
    from urllib.parse import quote

    rounds = {name: f"{address}/trainings/{quote(name, safe='')}/round" for name in trainings}
    pages: list[dict[str, Any]] = [
        {"id": id_, "url": f"{address}/plans/{id_}"}
        | ({"form": f"{address}/?plan={id_}"} if form else {})
        | {"dashboard": f"{address}/dashboard?plan={id_}"}
        | ({"relay": promises[id_].document} if id_ in promises else {})
        for id_ in plans
    ]
    if machine:
        import json

        said = {"address": address, "open": roles, "plans": pages, "trainings": rounds} | ({"key": key} if key else {})
        click.echo(json.dumps(said))  # one line, read at once
        return
    click.echo(f"hush: listening on {address}")
    if roles:
        click.echo(f"hush: open without a token: {', '.join(roles)}")
    if key:
        click.echo(f"hush: key {key}")
        click.echo("hush: pin this key beside the id of the plan: in the app, and as --key of `hush relay`")
    for page in pages:
        click.echo(f"hush: {page['url']}")
        if form:
            click.echo(f"hush: form {page['form']}")
        click.echo(f"hush: dashboard {page['dashboard']}")
        for sentence in promises[page["id"]].sentences if page["id"] in promises else ():
            click.echo(f"hush: {sentence}")
    for name, url in rounds.items():
        click.echo(f"hush: {url}")
        click.echo(f"hush: form {address}/train?training={quote(name, safe='')}")


def _settings(
    tokens: str | None,
    origin: tuple[str, ...],
    rate: float,
    tickets: str | None,
    check_ids: bool,
    *,
    open_: str | None = None,
    names: tuple[str, ...] = (),
    local: bool = True,
    private: bool = True,
    every: float = 60.0,
    least: int = 20,
) -> Settings:
    from hush.cli import access
    from hush.collector.settings import LOCAL, Settings

    held = {} if tokens is None else access.read_tokens(tokens)
    pages: dict[str, set[str]] = {}
    for item in origin:
        plan, found, url = item.rpartition("=")
        pages.setdefault(plan if found else "*", set()).add(listening.origin_of(url))
    return Settings(
        tokens=held,
        open=access.opened(open_, held, private=private),
        hosts=LOCAL | {access.host_name(name) for name in names},
        addresses=not local,
        origins={plan: frozenset(urls) for plan, urls in pages.items()},
        rate=rate,
        check_ids=check_ids,
        reveal_every=every,
        reveal_least=least,
        tickets=tickets is not None,
        ticket_key=b"" if tickets is None else listening.key_of(Path(tickets), "tickets"),
    )


@program.command()
@click.argument(
    "role",
    metavar="submit|submit-batch|read|admin",
    shell_complete=completing.words("submit", "submit-batch", "read", "admin"),
)
@RESULT
def token(role: str, machine: bool) -> None:
    """Make a bearer token for a role. The first line is the token, for the client; the second is for `serve --tokens`.

    \b
    Example:
      hush token submit
    """
    import secrets

    from hush.collector.http.security import hashed
    from hush.collector.settings import ROLES

    if role not in ROLES:
        raise Refused(f"a role is one of: {', '.join(ROLES)}")
    made = secrets.token_urlsafe(32)
    if machine:
        as_json({"role": role, "token": made, "hash": hashed(made)})
        return
    click.echo(made)
    click.echo(f"{role} {hashed(made)}")
