"""The reference of the command line: made of the commands themselves."""

from __future__ import annotations

import inspect
import re

import click

from hush.cli.commands import program


def commands() -> str:
    """Every command, with its arguments, options and examples."""
    lines = ["| command | what it does |", "|---|---|"]
    for name, command in sorted(program.commands.items()):
        lines.append(f"| [`hush {name}`](#hush-{name}) | {_text(command.get_short_help_str(200))} |")
    parts = ["\n".join(lines)]
    parts += [_section(name, command) for name, command in sorted(program.commands.items())]
    return "\n\n".join(parts)


def _section(name: str, command: click.Command) -> str:
    ctx = click.Context(command, info_name=f"hush {name}")
    help_, _, example = inspect.cleandoc(command.help or "").partition("\b\nExample:\n")
    parts = [f"## hush {name}", f"```text\n{' '.join(['hush', name, *command.collect_usage_pieces(ctx)])}\n```"]
    parts += [_text(paragraph) for paragraph in help_.strip().split("\n\n")]
    rows = []
    for parameter in command.get_params(ctx):
        if isinstance(parameter, click.Option) and "--help" not in parameter.opts:
            rows.append(_row(parameter))
    if rows:
        parts.append("\n".join(["| option | what | default |", "|---|---|---|", *rows]))
    parts.append(f"```sh\n{inspect.cleandoc(example)}\n```")
    return "\n\n".join(parts)


def _row(option: click.Option) -> str:
    words = ", ".join(f"`{word}`" for word in option.opts)
    if not option.is_flag:
        words += f" `{_cell(_placeholder(option))}`"
    default = "required" if option.required else ""
    if option.show_default and option.default is not None:
        default = f"`{_cell(str(option.default))}`"
    if option.multiple:
        words += " ..."
    return f"| {words} | {_text(option.help or '')} | {default} |"


def _placeholder(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(option.type.choices)
    return {"float": "X", "text": "TEXT"}.get(option.type.name, "N")


def _text(text: str) -> str:
    """Return help as one paragraph of Markdown; what looks like code becomes code."""
    line = " ".join(text.split())
    line = re.sub(r"(?<![`\w-])(--?[a-z][\w-]*)(?![\w`])", r"`\1`", line)
    return _cell(line.replace("<", "&lt;").replace("*", "\\*"))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


TABLES = {"commands": commands}
