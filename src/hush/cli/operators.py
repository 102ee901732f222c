"""What an operator asks of a running collector: the list of its plans, and the end of one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from hush.cli.program import Refused
from hush.core import codec
from hush.device.client import Client
from hush.errors import CollectorError

LATER = (408, 425, 429)  # refusals of 4xx that do not last
SHORTEST = 4  # digits of an id


class Entry(NamedTuple):
    """A plan of a collector: its id and title, whether it takes reports, and how many were counted."""

    id: str
    title: str
    open: bool
    reports: int


class Withdrawn(NamedTuple):
    """What was taken out: whether anything was, and how many reports."""

    new: bool
    reports: int


class Operator(Client):
    """A collector, for those who run it. The token needs the role admin."""

    def plans(self) -> list[Entry]:
        """Return the plans of the collector, with the reports that readers see."""
        answer = codec.load(self._server.get("/plans"), CollectorError)
        (found,) = codec.fields(answer, ("plans",), CollectorError, "the collector's list of plans")
        return [_entry(item) for item in codec.listed(found, CollectorError, "the collector's list of plans")]

    def close_plan(self, plan_id: str) -> Entry:
        """Take no more reports of a plan, for good. Return how many were counted."""
        return _entry(codec.load(self._server.send(f"/plans/{plan_id}/close", b"", "application/json"), CollectorError))

    def withdraw(self, plan_id: str, name: str) -> Withdrawn:
        """Take out what another store has handed on. Return whether there was anything, and how many reports."""
        path = f"/plans/{plan_id}/withdraw/{name}"
        answer = codec.load(self._server.send(path, b"", "application/json"), CollectorError)
        if (
            not isinstance(answer, dict)
            or type(answer.get("new")) is not bool
            or type(answer.get("reports")) is not int
        ):
            raise CollectorError("the collector's answer cannot be read")
        return Withdrawn(answer["new"], answer["reports"])


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a store."""
    if re.fullmatch("[0-9a-fA-F]{32}", name) is None:
        raise Refused("the name of a store has 32 hexadecimal digits, as `hush rename` prints it")


def _entry(value: Any) -> Entry:
    """Read an entry. Collectors of later versions may add fields."""
    kinds = {"id": str, "title": str, "open": bool, "reports": int}
    if not isinstance(value, dict) or any(type(value.get(name)) is not kind for name, kind in kinds.items()):
        raise CollectorError("the collector's entry of a plan cannot be read")
    if re.fullmatch("[0-9a-f]{64}", value["id"]) is None:
        raise CollectorError("the collector's entry of a plan has no id")
    title = "".join(letter if letter.isprintable() else " " for letter in value["title"])
    return Entry(value["id"], title, value["open"], value["reports"])


def find(entries: list[Entry], name: str) -> Entry:
    """Return the plan that somebody means: by a file, or by the beginning of its id."""
    wanted = name.lower()
    if Path(name).is_file():
        from hush.cli import files

        wanted = files.read_plan(name).id
    elif re.fullmatch(f"[0-9a-f]{{{SHORTEST},64}}", wanted) is None:
        raise Refused(f"{name}: is neither a file nor the beginning of a plan's id ({SHORTEST} digits or more)")
    found = [entry for entry in entries if entry.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{entry.id[:12]} {entry.title!r}" for entry in entries[:8]) or "none"
    problem = "has several such plans" if found else "does not have this plan"
    raise Refused(f"the collector {problem}; there are: {listed}")


def explained(error: CollectorError) -> Exception:
    """Return the error of a command for a refusal: one that lasts is no failure of the network."""
    if error.status is None or not 400 <= error.status < 500 or error.status in LATER:
        return error
    hint = ": name a file with a token for the role admin, --token FILE" if error.status in (401, 403) else ""
    return Refused(f"{error}{hint}")
