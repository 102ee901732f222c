"""The command `hush withdraw`: what another store has handed on is taken out again."""

from __future__ import annotations

import sys

import click

from hush.cli import completing, listening
from hush.cli.program import RESULT, Refused, as_json, program


@program.command()
@click.argument("url", metavar="URL")
@click.argument("plan", metavar="PLAN", shell_complete=completing.files)
@click.argument("name", metavar="NAME")
@click.option(
    "--token",
    metavar="FILE",
    shell_complete=completing.files,
    help="A file with a token for the role admin.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@RESULT
def withdraw(url: str, plan: str, name: str, token: str | None, yes: bool, machine: bool) -> None:
    """Take out what another store has handed on to a collector under a name, and take that name no more.

    PLAN is a file, or the beginning of a plan's id. NAME has 32 digits: `hush rename` prints it when a store takes a
    new one, and the refusal of a tally names it. Readers see the reports until others have brought more.

    \b
    Example:
      hush withdraw https://reports.example.org plan.json 0c1f64c2a7b3429dbc5f09d6e81a77f3 --token admin.secret
    """
    from hush.cli import operators, printing
    from hush.errors import CollectorError
    from hush.show.tables import counted

    operators.check_name(name)
    collector = operators.Operator(url, token=None if token is None else listening.token_of(token), attempts=2)
    try:
        entry = operators.find(collector.plans(), plan)
        if not yes:
            if not sys.stdin.isatty():
                raise Refused("a name that was withdrawn is never taken again: say --yes")
            click.confirm(f"Take out of plan {entry.id[:12]} what came from store {name}?", abort=True, err=True)
        found = collector.withdraw(entry.id, name)
    except CollectorError as error:
        raise operators.explained(error) from None
    if machine:
        as_json({"plan": entry.id, "name": name.lower(), "withdrawn": found.new, "reports": found.reports})
        return
    done = (
        f"{counted(found.reports, 'report')} taken out" if found.new else "nothing to take out: it was withdrawn before"
    )
    printing.say(f"Plan {entry.id[:12]}: {done}.")
