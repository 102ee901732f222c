"""Completions for shells: names of files, mechanisms, attributes and values.

A shell asks after every press of the tab key, so nothing of hush is loaded here: plans are read as plain JSON. An
unreadable file gives no completions, and no error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

MOST = 16 * 1024 * 1024  # bytes of a plan that are read

Completer = Callable[["click.Context", "click.Parameter", str], "list[CompletionItem[str]]"]


def files(ctx: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem[str]]:
    """Let the shell complete names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(start, type="file")]


def folders(ctx: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem[str]]:
    """Let the shell complete names of folders."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(start, type="dir")]


def words(*choices: str) -> Completer:
    """Return a completion of some fixed words."""

    def complete(ctx: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem[str]]:
        return _starting(choices, start)

    return complete


def attributes(ctx: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem[str]]:
    """Complete the names of attributes, if the plan, tally or schema before them can be read."""
    return _starting((item["name"] for item in _attributes(ctx)), start)


def relations(*kinds: str) -> Completer:
    """Return a completion of two names of attributes and a kind, with commas between them."""

    def complete(ctx: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem[str]]:
        names = [item["name"] for item in _attributes(ctx)]
        *before, _ = start.split(",")
        if len(before) == 2:
            return _starting((",".join([*before, kind]) for kind in kinds), start)
        found = [",".join([*before, name]) for name in names if name not in before]
        return _starting(found if before else ["all", *found], start)

    return complete


def values(ctx: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem[str]]:
    """Complete the categories of the attribute before them."""
    found: list[str] = []
    for item in _attributes(ctx):
        if item["name"] == _given(ctx, "attribute"):
            found += [
                str(value) for value in item.get("values", ["no", "yes"] if item.get("kind") == "boolean" else [])
            ]
            found += ["(other)"] if item.get("other") else []
            found += ["(missing)"] if item.get("optional") else []
    return _starting(found, start)


def _starting(choices: Iterable[str], start: str) -> list[CompletionItem[str]]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(choice) for choice in choices if choice.startswith(start)]


def _given(ctx: click.Context, name: str) -> str | None:
    """Return the value given for a parameter. Click assigns nothing while an option still lacks its value."""
    value = ctx.params.get(name)
    if isinstance(value, str):
        return value
    names = [item.name for item in ctx.command.params if item.param_type_name == "argument"]
    return ctx.args[names.index(name)] if name in names and names.index(name) < len(ctx.args) else None


def _attributes(ctx: click.Context) -> list[dict[str, Any]]:
    """Return the attributes of the plan, tally or schema that precedes the word to complete."""
    import json
    from pathlib import Path

    for name in ("plan", "tally", "schema"):
        path = _given(ctx, name)
        try:
            if not path or not Path(path).is_file() or Path(path).stat().st_size > MOST:
                continue
            value = json.loads(Path(path).read_bytes())
            if name == "schema":
                found = value if isinstance(value, list) else value["attributes"]
            else:
                found = value.get("plan", value)["schema"]
            return [item for item in found if isinstance(item.get("name"), str)]
        except Exception:  # noqa: BLE001, S112 - any file may be named there
            continue
    return []
