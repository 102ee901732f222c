"""The files of a new survey, written together or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shlex
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any

from hush.core.calendar import Counted, Time
from hush.core.plan import Plan
from hush.core.schema import Attribute, Categorical, Numeric

EXAMPLE = "reports.example.org"
SECRET = (".env", "read.secret", "admin.secret")
"""Files for the owner alone."""
NAMES = ("schema.json", "plan.json", "compose.yaml", "Caddyfile", "README.md", "tokens", *SECRET)


def check(folder: Path) -> None:
    """Refuse a folder that has any of the files: they may belong to a survey that people answer."""
    for name in NAMES:
        if os.path.lexists(folder / name):
            raise FileExistsError(errno.EEXIST, "exists already, and is never overwritten", str(folder / name))


def write(folder: Path, plan: Plan, host: str) -> list[str]:
    """Write all files, and return their names. After an error none of them stays."""
    texts = made(plan, host)
    check(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as undo:
        for name, text in texts.items():
            path = folder / name
            # A file that somebody else has made meanwhile is an error too, and secrets are never readable by others.
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                undo.callback(path.unlink, missing_ok=True)
                file.write(text.encode())
            if name not in SECRET:
                path.chmod(0o644)  # the user within the container reads them
        undo.pop_all()
    return list(texts)


def made(plan: Plan, host: str) -> dict[str, str]:
    """Return the text of every file."""
    tokens = {role: secrets.token_urlsafe(32) for role in ("read", "admin")}
    words = {
        EXAMPLE: host,
        "HEADING": plan.title or "A survey",
        "OPTIONS": f"--epsilon {plan.epsilon:g}" + (f" --title {shlex.quote(plan.title)}" if plan.title else ""),
        "EPSILON": f"{plan.epsilon:g}",
        "PLAN": plan.id,
    }
    found = {
        "schema.json": schema_of(plan),
        "plan.json": plan.to_json(),
        **{name: _template(name, words) for name in ("compose.yaml", "Caddyfile", "README.md")},
        "tokens": "".join(f"{role} {hashlib.sha256(token.encode()).hexdigest()}\n" for role, token in tokens.items()),
        ".env": f"DATABASE_PASSWORD={secrets.token_urlsafe(24)}\n",
        **{f"{role}.secret": f"{token}\n" for role, token in tokens.items()},
    }
    return {name: found[name] for name in NAMES}


def _template(name: str, words: dict[str, str]) -> str:
    text = files("hush.cli").joinpath("templates", name).read_text(encoding="utf-8")
    return re.sub("|".join(map(re.escape, words)), lambda found: words[found[0]], text)


def schema_of(plan: Plan) -> str:
    """Return the schema as people write it, a line for each attribute."""
    lines = ",\n".join(f"    {json.dumps(_short(item), ensure_ascii=False)}" for item in plan.schema.attributes)
    return f'{{\n  "attributes": [\n{lines}\n  ]\n}}\n'


def _short(item: Attribute) -> dict[str, Any]:
    """Return an attribute without its defaults."""
    usual: dict[str, Any] = {
        "out_of_range": "error",
        "scale": "linear",
        "unit": None,
        "optional": False,
        "kind": type(item).kind if type(item) in (Numeric, Categorical) else None,
    }
    value = {name: held for name, held in item.to_json().items() if usual.get(name, ...) != held}
    if isinstance(item, Time):
        value |= {end: value[end][:5] for end in ("low", "high") if value[end].endswith(":00")}
        if item == Time(item.name, step=item.step, out_of_range=item.out_of_range, optional=item.optional):
            value = {name: held for name, held in value.items() if name not in ("low", "high")}
        return {name: held for name, held in value.items() if (name, held) != ("step", 60)}
    if isinstance(item, Numeric) and not isinstance(item, Counted):
        value |= {end: int(value[end]) for end in ("low", "high") if value[end] == int(value[end])}
    return value
