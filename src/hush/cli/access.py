"""Options of `hush serve` about roles, host names and readers; and the file of tokens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hush.cli.program import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hush.collector.settings import Role

WAYS = (
    "name a file of tokens (`hush token submit` prints a line for it): --tokens FILE; "
    "or name the roles that everybody has: --open submit,read"
)


def read_tokens(name: str) -> dict[Role, frozenset[str]]:
    """Read the hashes of tokens, by role. A file without any would open nothing, and most often is a slip."""
    import re

    from hush.collector.settings import ROLES

    try:
        lines = Path(name).read_text().splitlines()
    except (OSError, ValueError) as error:
        raise Refused(f"the tokens cannot be read: {getattr(error, 'strerror', 'not UTF-8')}") from None
    held: dict[Role, frozenset[str]] = {}
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or words[0] not in ROLES or re.fullmatch("[0-9a-f]{64}", words[1]) is None:
            raise Refused(
                f"line {number} of the tokens: a line is ROLE HASH, as `hush token` prints it, "
                f"and a role is one of {', '.join(ROLES)}"
            )
        role = next(role for role in ROLES if role == words[0])
        held[role] = held.get(role, frozenset()) | {words[1]}
    if not held:
        raise Refused("the file of tokens has none: add lines of ROLE HASH, as `hush token` prints them")
    return held


def opened(named: str | None, tokens: Mapping[Role, frozenset[str]], *, private: bool) -> frozenset[Role]:
    """Return the roles that everybody has: the named ones. `private`: only this machine can reach the collector.

    There, without tokens, sending and reading are open, so that it can be tried out.
    """
    from hush.collector.settings import ROLES

    if named is not None:
        words = {word.strip() for word in named.split(",")}
        if "admin" in words:
            raise Refused("--open: the role admin is never open; it needs a token")
        if not words <= set(ROLES):
            raise Refused(f"--open takes roles, with commas between them: {', '.join(ROLES[:-1])}")
        return frozenset(role for role in ROLES if role in words)
    if tokens:
        return frozenset()
    if not private:
        raise Refused(f"others can reach this collector, but nobody may use it: {WAYS}")
    return frozenset({"submit", "read"})


def host_name(text: str) -> str:
    """Return a host name of a collector as browsers send it: without a port, in lower case."""
    import re

    if re.fullmatch(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]", text) is None:
        raise Refused("--host-name is a name alone, as in reports.example.org: no scheme, no port, no path")
    return text.lower().removesuffix(".")


def seconds(text: str, option: str, *, at_once: bool = False) -> float:
    """Return a time that was written as 60s, 5m or 1h. `at_once`: it may be none."""
    import re

    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smh])", text)
    time = 0.0 if found is None else float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]
    if found is None or (not time and not at_once):
        raise Refused(f"{option} is a time, as in 60s, 5m or 1h; {'0s for at once' if at_once else 'more than 0s'}")
    return time


def is_local(host: str) -> bool:
    """Return whether an address to listen on can be reached from this machine alone."""
    from hush.collector.http.security import is_here

    return host == "localhost" or is_here(host)


def is_private(host: str, names: tuple[str, ...], forwarded: str) -> bool:
    """Return whether only this machine can reach a collector: it listens on loopback, and no proxy stands before it."""
    return is_local(host) and not names and not forwarded


def notice(given: str | None, *, private: bool) -> float:
    """Return how long to serve on after SIGTERM (`--notice`)."""
    from hush.collector import serve

    if given is None:
        return 0.0 if private else serve.NOTICE
    return seconds(given, "--notice", at_once=True)
