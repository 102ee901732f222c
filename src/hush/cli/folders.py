"""The files of a new survey, written together or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from hush.cli import schemas
from hush.core.plan import Plan
from hush.core.texts import Text
from hush.files import atomic
from hush.server.relations.related import related

EXAMPLE = "reports.example.org"
SECRET = (".env", "read.secret", "admin.secret")
"""Files for the owner alone."""
NAMES = ("schema.json", "plan.json", "compose.yaml", "Caddyfile", "README.md", "tokens", *SECRET)


@dataclass(frozen=True)
class Beside:
    """What a collector needs besides its plan: files by name, options of `hush serve`, and those of `hush plan`."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    serving: Sequence[tuple[str, str]] = ()
    planning: Sequence[str] = ()


NOTHING = Beside()


def check(folder: Path, names: Iterable[str] = NAMES) -> None:
    """Refuse a folder that has any of the files: they may belong to a survey that people answer."""
    for name in names:
        if os.path.lexists(folder / name):
            raise FileExistsError(errno.EEXIST, "exists already, and is never overwritten", str(folder / name))


def write(folder: Path, plan: Plan, host: str, beside: Beside = NOTHING) -> list[str]:
    """Write all files, and return their names. After an error none of them stays."""
    texts = {name: text.encode() for name, text in made(plan, host, beside).items()}
    if taken := texts.keys() & beside.files.keys():
        raise FileExistsError(errno.EEXIST, "is a file of `hush init` itself: give it another name", min(taken))
    texts |= beside.files
    check(folder, texts)
    if not folder.is_dir():
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)  # nobody else may put another secret in place of one
        atomic.sync(folder.parent)
    with ExitStack() as undo:
        for name, text in texts.items():
            path = folder / name
            # Secrets are never readable by others; the rest is read by the user within the container.
            if not atomic.write_once(path, text, mode=atomic.PRIVATE if name in SECRET else 0o644):
                raise FileExistsError(errno.EEXIST, "exists already, and is never overwritten", str(path))
            undo.callback(path.unlink, missing_ok=True)
        undo.pop_all()
    return list(texts)


def made(plan: Plan, host: str, beside: Beside = NOTHING) -> dict[str, str]:
    """Return the text of every file but those that are copied."""
    tokens = {role: secrets.token_urlsafe(32) for role in ("read", "admin")}
    epsilon, titled = f"{plan.epsilon!r}".removesuffix(".0"), ["--title", plan.title] if plan.title else []
    words = {
        EXAMPLE: host,
        "HEADING": plan.title or "A survey",
        "OPTIONS": shlex.join(["--epsilon", epsilon, *titled, *beside.planning]),
        "SERVING": "".join(f" {option} {shlex.quote(value)}" for option, value in beside.serving),
        "COPIED": "".join(f"\n| `{name}` | {_copied(name)} |" for name in beside.files),
        "READING": "".join(f"\n       {line}" for line in _reading(plan)),
        "EPSILON": epsilon,
        "PLAN": plan.id,
    }
    found = {
        "schema.json": schemas.written(plan.schema),
        "plan.json": plan.to_json(),
        **{name: _template(name, words) for name in ("Caddyfile", "README.md")},
        "compose.yaml": _composed(_template("compose.yaml", words), beside),
        "tokens": "".join(f"{role} {hashlib.sha256(token.encode()).hexdigest()}\n" for role, token in tokens.items()),
        ".env": f"DATABASE_PASSWORD={secrets.token_urlsafe(24)}\n",
        **{f"{role}.secret": f"{token}\n" for role, token in tokens.items()},
    }
    return {name: found[name] for name in NAMES}


def _template(name: str, words: dict[str, str]) -> str:
    text = files("hush.cli").joinpath("templates", name).read_text(encoding="utf-8")
    return re.sub("|".join(map(re.escape, words)), lambda found: words[found[0]], text)


def _composed(text: str, beside: Beside) -> str:
    """Return the compose file with the options and the files that the collector was given."""
    for option, value in beside.serving:
        there = value
        if option in ("--words", "--presentation"):
            name, _, file = value.partition("=")
            there = f"{f'/survey/{name}' if option == '--presentation' else name}=/survey/{file}"
        text = text.replace("      - --rate=5\n", f"      - --rate=5\n      - {option}={there}\n")
    mounted = "      - ./tokens:/survey/tokens:ro\n"
    return text.replace(mounted, mounted + "".join(f"      - ./{name}:/survey/{name}:ro\n" for name in beside.files))


def _copied(name: str) -> str:
    """Say what a copied file is."""
    if name == "form.json":
        return "how the form presents the questions: see docs/browser.md"
    if name.startswith("words-"):
        return "the form's own words in another language"
    return "a picture of the form" if name.startswith("image-") else "a long list of values: `plan.json` has its hash"


def _reading(plan: Plan) -> list[str]:
    """Return the commands that read what `hush estimate` does not: relations, ranges and texts."""
    found = []
    for kind, attribute, by in related(plan):
        names = shlex.join([attribute] if by is None else [attribute, by])
        found.append(
            {
                "table": f"hush crosstab tally.json {names}",
                "means": f"hush means tally.json {shlex.quote(attribute)} --by {shlex.quote(by or '')}",
                "association": f"hush association tally.json {names}",
                "moments": f"hush association tally.json {names} --method moments",
                "range": f"hush quantiles tally.json {names}",
            }[kind]
        )
    texts = [item.name for item in plan.schema.attributes if isinstance(item, Text)]
    return [*found, *(f"hush frequent tally.json --attribute {shlex.quote(name)}" for name in texts)]
