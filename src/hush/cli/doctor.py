"""The command `hush doctor`: checks what is installed and whether it works."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from hush import __version__
from hush.cli.program import JSON, WRONG, as_json, program

if TYPE_CHECKING:
    from hush.cli.checks import Finding

COLOURS = {"good": "green", "note": "yellow", "missing": "yellow", "wrong": "red"}


def findings() -> Iterator[Finding]:
    """Run all checks, one after the other."""
    from hush.cli import engine, installed, randomness
    from hush.cli.checks import look

    # Forks first: the fewer libraries are loaded, the less there is to copy.
    checks: list[tuple[str, str, Callable[[], str]]] = [
        ("randomness", "source", randomness.pool),
        ("randomness", "words", lambda: randomness.healthy(randomness.system_words())),
        ("randomness", "fork", lambda: randomness.apart(randomness.system_draw)),
        ("keystream", "cipher", randomness.known_answer),
        ("keystream", "words", lambda: randomness.healthy(randomness.keystream_words())),
        ("keystream", "fork", lambda: randomness.apart(randomness.keystream_draw())),
        ("keystream", "processor", engine.instructions),
        ("batch engine", "agreement", engine.agreement),
        ("batch engine", "kernels", engine.kernels),
        ("batch engine", "threads", engine.threads),
        ("storage", "SQLite", installed.sqlite),
        ("storage", "PostgreSQL", installed.postgres),
        ("others", "Java", installed.java),
        ("others", "libraries", installed.loading),
    ]
    for check in checks:
        yield look(*check)
    try:
        yield from installed.extras()
    except Exception as error:  # noqa: BLE001 - every error becomes a line
        from hush.cli.checks import WRONG as BAD
        from hush.cli.checks import Finding, one_line

        yield Finding("extras", "hush", BAD, one_line(error))


def about() -> dict[str, str]:
    """Return the versions of hush, Python and the system."""
    import platform

    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"hush": __version__, "python": python, "platform": f"{platform.system()} {platform.machine()}"}


@program.command()
@JSON
def doctor(machine: bool) -> None:
    """Check what is installed, and whether it works: randomness, keystream, kernels, storage, extras.

    The exit code is 1 if something that is installed is wrong. Missing parts are not wrong. The first run may take a
    minute, as kernels are compiled.

    \b
    Example:
      hush doctor
      hush doctor --json | jq '.checks[] | select(.state != "good")'
    """
    here = about()
    if machine:
        found = list(findings())
        sound = all(finding.state != "wrong" for finding in found)
        as_json({**here, "sound": sound, "checks": [finding._asdict() for finding in found]})
        sys.exit(0 if sound else WRONG)
    click.echo(f"hush {here['hush']}, {here['python']}, {here['platform']}")
    part, counts = "", dict.fromkeys(COLOURS, 0)
    for finding in findings():
        if finding.part != part:
            part = finding.part
            click.echo(f"\n{part}")
        counts[finding.state] += 1
        state = click.style(f"{finding.state:<8}", fg=COLOURS[finding.state])
        click.echo(f"  {state} {finding.name:<12} {finding.text}{': ' + finding.remedy if finding.remedy else ''}")
    click.echo(f"\n{summary(counts)}")
    sys.exit(WRONG if counts["wrong"] else 0)


def summary(counts: dict[str, int]) -> str:
    """Return a summary in one sentence."""
    wrong, missing = counts["wrong"], counts["missing"]
    first = f"{wrong} {'thing is' if wrong == 1 else 'things are'} wrong." if wrong else "Everything installed works."
    return f"{first} Not installed, and not needed for the rest: {missing}." if missing else first
