"""The commands of a collector: `hush serve`, `export`, `compact` and `token`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from hush.cli import completing
from hush.cli.program import RESULT, Refused, as_json, program
from hush.cli.streams import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hush.collector.settings import Settings
    from hush.collector.stores.base import Store
    from hush.core.plan import Plan
    from hush.core.training.rounds import Round

STORE = click.option(
    "--store",
    default="sqlite://hush.db",
    show_default=True,
    metavar="URL",
    # As in `hush.collector.stores.base`, which would have to be loaded for the help; a test compares.
    help="sqlite://FILE (sqlite://hush.db is a file here, sqlite:///var/lib/hush.db one with a full path) or "
    "postgresql://... for several collectors on one database.",
)


MOST_DIGITS = 12  # of a number of people

SEGMENTS = click.option(
    "--segments",
    metavar="FOLDER",
    shell_complete=completing.folders,
    help="Where compacted reports are (beside a SQLite file).",
)


@program.command()
@click.argument("plans", nargs=-1, metavar="PLAN.json...", shell_complete=completing.files)
@STORE
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--keep",
    default="reports",
    show_default=True,
    metavar="reports|tallies",
    shell_complete=completing.words("reports", "tallies"),
    help="Keep whole reports, or only tallies and ids.",
)
@click.option("--check-ids", is_flag=True, help="Check every report id within batches too.")
@click.option("--training", multiple=True, metavar="ROUND.json=PEOPLE", help="First round, people per round.")
@click.option(
    "--narrow",
    multiple=True,
    metavar="PLAN.json=PILOT+OTHERS",
    help="Serve a plan with wide numbers as a pilot: after PILOT reports, narrow them for OTHERS more people.",
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
    help="Roles that everybody has without a token, such as submit,read. The default is none; but submit and read if "
    "there are no tokens and only this machine can reach the collector.",
)
@click.option(
    "--host-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="A host name of the collector, such as reports.example.org. Requests for other names are refused, except "
    "localhost; and numeric addresses, if the collector listens beyond this machine.",
)
@click.option(
    "--origin",
    multiple=True,
    metavar="[PLAN=]ORIGIN",
    help="The origin (https://host, no path) of pages that may send reports.",
)
@click.option("--rate", default=0.0, metavar="N", help="Reports per second from one address (0: no limit).")
@click.option(
    "--reveal-every",
    "every",
    default="60s",
    show_default=True,
    metavar="TIME",
    help="Numbers that readers see move at most once in this time: 60s, 5m, 1h.",
)
@click.option(
    "--reveal-least",
    "least",
    default=20,
    show_default=True,
    type=click.IntRange(0, 10**9),
    metavar="N",
    help="Those numbers move by at least this many reports. With --reveal-every 0s and 0 here they move at once.",
)
@click.option(
    "--tickets",
    metavar="FILE",
    shell_complete=completing.files,
    help="Deal the questions by tickets; the key in FILE is made if the file is missing.",
)
@click.option(
    "--sealed-key",
    metavar="FILE",
    shell_complete=completing.files,
    help="Take sealed batches from a relay; the secret key in FILE is made if the file is missing. FILE.pub has the "
    "public key.",
)
@click.option("--sealed-only", is_flag=True, help="Take sealed batches from a relay, and nothing else.")
@click.option("--forwarded", default="", metavar="ADDRESSES", help="Proxies whose X-Forwarded-For is trusted.")
@click.option(
    "--connections",
    default=8192,
    show_default=True,
    type=click.IntRange(1, 10**6),
    metavar="N",
    help="How many connections may be open; files that may be open limit it too.",
)
@click.option(
    "--connections-each",
    "each",
    default=512,
    show_default=True,
    type=click.IntRange(1, 10**6),
    metavar="N",
    help="How many of them one address may have. Addresses of this machine and proxies of --forwarded may have all.",
)
@click.option(
    "--held",
    default=256,
    show_default=True,
    type=click.IntRange(16, 10**6),
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
    tokens: str | None,
    open_: str | None,
    names: tuple[str, ...],
    origin: tuple[str, ...],
    rate: float,
    every: str,
    least: int,
    tickets: str | None,
    sealed_key: str | None,
    sealed_only: bool,
    forwarded: str,
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
    """
    from hush.cli import access, files
    from hush.collector import serve as service
    from hush.collector.stores.opening import open_store

    if not 0 <= rate < 1e9:
        raise Refused("--rate must be a number of reports per second, or 0")
    if keep not in ("reports", "tallies"):
        raise Refused("--keep must be reports or tallies")
    if sealed_key is not None and tickets is not None:
        raise Refused("--sealed-key and --tickets exclude each other: a sealed report comes without a ticket")
    if sealed_only and (sealed_key is None or training):
        raise Refused("--sealed-only needs --sealed-key, and does not go with --training")
    read = [files.read_plan(name) for name in plans]
    pilots = [_pilot(spec) for spec in narrow]
    settings = _settings(
        tokens,
        origin,
        rate,
        tickets,
        check_ids,
        open_=open_,
        names=names,
        local=access.is_local(host),
        private=access.is_private(host, names, forwarded),
        every=access.seconds(every),
        least=least,
    )
    settings = replace(
        settings,
        connections=connections,
        connections_each=each,
        held_bytes=held << 20,
        body_timeout=access.seconds(patience, "--body-timeout"),
        sealed_key=b"" if sealed_key is None else _key(Path(sealed_key), "sealed reports"),
        sealed_only=sealed_only,
    )
    public = _public(settings.sealed_key)
    if sealed_key is not None:
        try:
            Path(f"{sealed_key}.pub").write_text(f"{public}\n")
        except OSError as error:
            raise Refused(f"the public key cannot be written: {error.strerror}") from None
    with failing():
        opened = open_store(store)
        try:
            for plan in read:
                opened.add_plan(plan, keep)  # type: ignore[arg-type]
            for pilot in pilots:
                _add_pilot(opened, pilot, keep)
            for spec in training:
                _add_training(opened, spec)
            if not opened.plans() and not opened.trainings():
                raise Refused("the store has no plan: name one, as made by `hush plan`")

            def ready(address: str) -> None:
                ids = [held.plan.id for held in opened.plans()]
                roles: list[str] = sorted(settings.open)
                _announce(address, ids, list(opened.trainings()), roles, machine, public, form=not sealed_only)

            service.run(opened, settings, host=host, port=port, forwarded=forwarded, ready=ready)
        finally:
            opened.close()


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
) -> None:
    """Print where a collector listens and which roles are open, for people or for the program that started it."""
    from urllib.parse import quote

    rounds = {name: f"{address}/trainings/{quote(name, safe='')}/round" for name in trainings}
    pages = [
        {"id": id_, "url": f"{address}/plans/{id_}"}
        | ({"form": f"{address}/?plan={id_}"} if form else {})
        | {"dashboard": f"{address}/dashboard?plan={id_}"}
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
    for url in rounds.values():
        click.echo(f"hush: {url}")


@contextmanager
def failing() -> Iterator[None]:
    """Turn errors of a socket into one line."""
    try:
        yield
    except OSError as error:
        raise Refused(f"{error.strerror or error}") from None


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
        pages.setdefault(plan if found else "*", set()).add(origin_of(url))
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
        ticket_key=b"" if tickets is None else _key(Path(tickets), "tickets"),
    )


def origin_of(text: str) -> str:
    """Return an origin as browsers write it: any other form would never match, and silently."""
    import re
    from urllib.parse import urlsplit

    if text == "*":
        return text
    # A name, or an IPv6 address in brackets; international names are written as browsers send them, xn--...
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?", text) is None:
        raise Refused("--origin is scheme://host or scheme://host:port, without a path, as in https://www.example.org")
    scheme, place, *_ = urlsplit(text.lower())
    usual = {"http": ":80", "https": ":443"}.get(scheme, ":")
    return f"{scheme}://{place.removesuffix(usual)}"


def _key(path: Path, of: str) -> bytes:
    """Return a key of 32 bytes from a file: the same after a restart, and for several collectors."""
    import os
    import secrets
    from contextlib import suppress

    try:
        with suppress(FileExistsError):
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(32) + "\n")
        key = bytes.fromhex(path.read_text())
    except OSError as error:
        raise Refused(f"the key of {of} cannot be read or made: {error.strerror}") from None
    except ValueError:
        key = b""
    if len(key) != 32:
        raise Refused(f"the key of {of} must be 64 hexadecimal digits")
    return key


class _Pilot(NamedTuple):
    """A plan whose wide numbers are narrowed after this many reports, for this many people who come later."""

    plan: Plan
    first: int
    people: int


def _pilot(spec: str) -> _Pilot:
    """Read and check a pilot, before the store and the port are opened."""
    from hush.cli import files
    from hush.collector.narrowing import check
    from hush.errors import InputError

    name, _, numbers = spec.rpartition("=")
    counts = numbers.split("+")
    if not name or len(counts) != 2 or not all(_is_count(text) for text in counts):
        raise Refused(
            "--narrow is the file of a plan, the people of the pilot and those expected after it: PLAN.json=20000+80000"
        )
    if max(map(len, counts)) > MOST_DIGITS:
        raise Refused("--narrow: fewer people than that exist")
    plan = files.read_plan(name)
    try:
        check(plan)
    except InputError as error:
        raise Refused(f"--narrow: {error}") from None
    return _Pilot(plan, int(counts[0]), int(counts[1]))


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and bool(text.strip("0"))


def _add_pilot(store: Store, pilot: _Pilot, keep: str) -> None:
    from hush.errors import InputError

    store.add_plan(pilot.plan, keep)  # type: ignore[arg-type]
    try:
        store.add_narrowing(pilot.plan, pilot.first, pilot.people)
    except InputError as error:
        raise Refused(f"--narrow: {error}") from None
    held = next(one for one in store.plans() if one.plan.id == pilot.plan.id)
    state = next(one for one in store.narrowings() if one.pilot == pilot.plan.id)
    if state.second is not None:
        click.echo(f"hush: the pilot {pilot.plan.id[:12]} is over: plan {state.second[:12]} follows it", err=True)
    elif not held.open:
        raise Refused("--narrow: this plan is closed, so it cannot be a pilot")


def _add_training(store: Store, spec: str) -> None:
    from hush.core.training.rounds import Round

    name, _, people = spec.rpartition("=")
    if not name or not _is_count(people):
        raise Refused("--training is the file of a first round and the people per round: ROUND.json=10000")
    if len(people) > MOST_DIGITS:
        raise Refused("--training: fewer people than that exist")
    try:
        first = Round.from_json(Path(name).read_bytes())
    except OSError as error:
        raise Refused(f"the round cannot be read: {error.strerror}") from None
    title = first.training.title
    if "/" in title or title in (".", ".."):
        raise Refused("the title of a training becomes a part of its address, and must not have a slash")
    if title in store.trainings():
        _check_same(store, title, first, int(people))
        return
    store.add_training(title, first, int(people))


def _check_same(store: Store, title: str, first: Round, people: int) -> None:
    """Refuse a training whose title is taken by another; print that it goes on if it is the same."""
    live, past = store.live(title), store.history(title)
    begun = past[0].weights if past else live.round.weights
    if (live.round.training, live.wanted, begun) != (first.training, people, first.weights):
        raise Refused(
            f"--training: the store has another training with the title {visible(title)}: other settings, people per "
            "round or first weights; give this one a title of its own"
        )
    how = "is over" if live.round.done else f"goes on in round {live.round.number}"
    click.echo(f"hush: the training {visible(title)} is in the store, and {how}", err=True)


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


@program.command()
@STORE
@SEGMENTS
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FOLDER",
    shell_complete=completing.folders,
    help="Write Parquet files into this folder.",
)
@click.option("--plan", "plan_id", metavar="ID", help="The plan, if the store has several: the start of its id.")
@RESULT
def export(store: str, segments: str | None, output: str, plan_id: str | None, machine: bool) -> None:
    """Write the reports that a collector keeps as Parquet, for DuckDB, Spark or `hush tally`.

    \b
    Example:
      hush export --store sqlite://hush.db -o reports
    """
    from hush.collector.segments import export as write

    with _opened(store, plan_id) as (opened, plan):
        reports = write(opened, plan, _folder(store, segments), Path(output))
    if machine:
        as_json({"plan": plan.id, "reports": reports})
    else:
        click.echo(f"{reports} reports of plan {plan.id[:12]} written to {visible(output)}")


@program.command()
@STORE
@SEGMENTS
@click.option("--plan", "plan_id", metavar="ID", help="The plan, if the store has several: the start of its id.")
@RESULT
def compact(store: str, segments: str | None, plan_id: str | None, machine: bool) -> None:
    """Move the reports that a collector keeps from its database into Parquet files beside it.

    \b
    Example:
      hush compact --store sqlite://hush.db
    """
    from hush.collector.segments import compact as move
    from hush.collector.stores.opening import file_of

    with _opened(store, plan_id) as (opened, plan):
        made = move(opened, plan, _folder(store, segments), tidy=file_of(store) is not None)
    if machine:
        written = [{"file": segment.file, "reports": segment.reports} for segment in made]
        as_json({"plan": plan.id, "segments": written})
        return
    for segment in made:
        click.echo(f"{visible(segment.file)}: {segment.reports} reports")
    if not made:
        click.echo("nothing to compact")


@contextmanager
def _opened(url: str, plan_id: str | None) -> Iterator[tuple[Store, Plan]]:
    """Open a store for one of its plans; an error is one line."""
    from hush.collector.stores.opening import open_store

    with failing():
        opened = open_store(url, create=False)
        try:
            yield opened, _chosen(opened, plan_id)
        finally:
            opened.close()


def _chosen(store: Store, plan_id: str | None) -> Plan:
    plans = [held.plan for held in store.plans() if held.plan.id.startswith(plan_id or "")]
    if len(plans) != 1:
        raise Refused("name one plan of the store with --plan: the start of its id")
    return plans[0]


def _folder(url: str, segments: str | None) -> Path:
    """Return where the segments of a store are: beside its file, or where the operator says."""
    if segments is not None:
        return Path(segments)
    from hush.collector.stores.opening import file_of

    file = file_of(url)
    if file is None:
        raise Refused("a store that is no file needs --segments: the folder of its Parquet files")
    path = Path(file)
    return path.with_name(f"{path.name}.segments")
