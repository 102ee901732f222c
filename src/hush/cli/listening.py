"""What the programs that listen have in common, `hush serve` and `hush relay`: options, origins, keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from hush.cli.numbers import NUMBER, Count
from hush.cli.program import Refused

F = TypeVar("F", bound=Callable[..., None])

RATE = click.option(
    "--rate", type=NUMBER, default=0.0, metavar="N", help="Reports per second from one address (0: no limit)."
)


def _forwarded(_: click.Context, __: click.Parameter, text: str) -> str:
    from hush.collector.http.forwarded import Proxies
    from hush.errors import InputError

    try:
        Proxies(text)
    except InputError as error:
        raise Refused(f"--forwarded: {error}") from None
    return text


FORWARDED = click.option(
    "--forwarded",
    default="",
    metavar="ADDRESSES",
    callback=_forwarded,
    help="Proxies whose X-Forwarded-For is trusted: addresses and networks, with commas between them.",
)

NOTICE = click.option(
    "--notice",
    metavar="TIME",
    help="How long it serves on after SIGTERM, no longer ready, so that a proxy notices.  "
    "[default: 7s; 0s if only this machine can reach it]",
)


def address(port: int) -> Callable[[F], F]:
    """Return the options for where to listen."""

    def add(command: F) -> F:
        listen = click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
        kind = Count(0, 65535)
        number = click.option("--port", default=port, show_default=True, type=kind, help="0 takes a free one.")
        return listen(number(command))

    return add


def host_names(who: str, example: str) -> Callable[[F], F]:
    """Return the option for the names under which it is reached."""
    return click.option(
        "--host-name",
        "names",
        multiple=True,
        metavar="NAME",
        help=f"A host name of the {who}, such as {example}. Requests for other names are refused. localhost is "
        f"always allowed, and so are numeric addresses if the {who} listens beyond this machine.",
    )


def connections(command: F) -> F:
    """Add the options that bound connections."""
    most = click.option(
        "--connections",
        default=8192,
        show_default=True,
        type=Count(1, 10**6),
        metavar="N",
        help="How many connections may be open. The system's limit of open files bounds it too.",
    )
    each = click.option(
        "--connections-each",
        "each",
        default=512,
        show_default=True,
        type=Count(1, 10**6),
        metavar="N",
        help="How many of them one address may have. This machine and proxies of --forwarded may have all of them.",
    )
    return most(each(command))


def check_rate(rate: float) -> None:
    """Refuse a rate that is negative, not a number or too large."""
    if not 0 <= rate < 1e9:
        raise Refused("--rate must be a number of reports per second, or 0")


@contextmanager
def failing() -> Iterator[None]:
    """Turn errors of a socket into one line."""
    try:
        yield
    except OSError as error:
        raise Refused(f"{error.strerror or error}") from None


def origin_of(text: str, option: str = "--origin") -> str:
    """Return an origin as browsers write it: any other form would never match, and silently."""
    import re
    from urllib.parse import urlsplit

    if text == "*":
        return text
    # A name, or an IPv6 address in brackets; international names are written as browsers send them, xn--...
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?", text) is None:
        raise Refused(f"{option} is scheme://host or scheme://host:port, without a path, as in https://www.example.org")
    scheme, place, *_ = urlsplit(text.lower())
    usual = {"http": ":80", "https": ":443"}.get(scheme, ":")
    return f"{scheme}://{place.removesuffix(usual)}"


def key_of(path: Path, of: str, *, make: bool = True) -> bytes:
    """Return a key of 32 bytes from a file: the same after a restart, and for several collectors.

    A file that is missing is made, unless the key was given out before. Collectors that start at once use one key, and
    it is on disk before anybody is told of it.
    """
    import secrets

    from hush.files import atomic

    try:
        if make and not os.path.lexists(path):
            atomic.write_once(path, f"{secrets.token_hex(32)}\n".encode())
        text = path.read_bytes()
        atomic.sync(path.parent)  # another process may have named it a moment ago
    except OSError as error:
        raise Refused(f"the key of {of} cannot be read or made: {error.strerror}") from None
    try:
        key = bytes.fromhex(text.decode())
    except ValueError:
        key = b""
    if len(key) != 32 or not any(key):
        raise Refused(
            f"the key of {of} must be 64 hexadecimal digits, and {path} has something else: if the file was cut short, "
            "bring it back from a copy; if its key was never given out, remove it, and a new one is made"
        )
    return key


def write_public(path: Path, text: str) -> None:
    """Write a public key beside its secret one, unless it is there."""
    from hush.files import atomic

    data = f"{text}\n".encode()
    if path.is_file() and path.read_bytes() == data:
        return
    with atomic.replacing(path, overwrite=True) as file:
        file.write(data)


def token_of(name: str) -> str:
    """Read a token from a file: its first word, as `hush token` prints it."""
    try:
        words = Path(name).read_text().split()
    except (OSError, ValueError) as error:
        raise Refused(f"the token cannot be read: {getattr(error, 'strerror', 'not UTF-8')}") from None
    if not words:
        raise Refused("the file of --token is empty: its first word is the token, as `hush token` prints it")
    return words[0]
