"""The key that a process shares with all processes it forks, made on import. `hush.device.answered` uses it."""

from __future__ import annotations

import os

PROCESS, KEY = os.getpid(), os.urandom(32)
forks = 0  # how many children this process has made by a fork


def first() -> bool:
    """Return whether this process imported hush itself, rather than being forked by one that did."""
    return os.getpid() == PROCESS


def alone() -> bool:
    """Return whether no other process has this key: this one was not forked, and has not forked."""
    return first() and not forks


def _count() -> None:
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_count)
