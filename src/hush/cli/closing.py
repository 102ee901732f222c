"""The command `hush close`: the end of a collection."""

from __future__ import annotations

import sys

import click

from hush.cli import completing, listening
from hush.cli.program import RESULT, Refused, as_json, program


@program.command()
@click.argument("url", metavar="URL")
@click.argument("plan", metavar="PLAN", shell_complete=completing.files)
@click.option(
    "--token",
    metavar="FILE",
    shell_complete=completing.files,
    help="A file with a token for the role admin.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@RESULT
def close(url: str, plan: str, token: str | None, yes: bool, machine: bool) -> None:
    """Close a plan at a collector: it takes no more reports, for good. The tally stays.

    PLAN is a file, or the beginning of a plan's id. The collector forgets the ids of the reports that it has counted:
    a device that sends its report again is told that the plan is closed, and the report is not counted twice.

    \b
    Example:
      hush close https://reports.example.org plan.json --token admin.secret
      hush close http://127.0.0.1:8000 80a6a72c --token admin.secret --yes
    """
    from hush.cli import operators
    from hush.errors import CollectorError

    collector = operators.Operator(url, token=None if token is None else listening.token_of(token), attempts=2)
    try:
        entry = operators.find(collector.plans(), plan)
        title = f" {entry.title!r}" if entry.title else ""
        if entry.open and not yes:
            if not sys.stdin.isatty():
                raise Refused("a closed plan cannot be opened again: say --yes")
            click.confirm(f"Close plan {entry.id[:12]}{title}? It cannot be opened again.", abort=True, err=True)
        closed = collector.close_plan(entry.id)
    except CollectorError as error:
        raise operators.explained(error) from None
    if machine:
        as_json({"plan": closed.id, "closed": not closed.open, "was_open": entry.open, "reports": closed.reports})
        return
    from hush.cli import printing
    from hush.show.tables import counted

    now = "takes no more reports" if entry.open else "was closed before"
    count = counted(closed.reports, "report")
    printing.say(f"Plan {closed.id[:12]}{title} {now}. It has {count}.")
