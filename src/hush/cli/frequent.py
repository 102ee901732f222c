"""The command `hush frequent`: the texts that many people hold."""

from __future__ import annotations

from pathlib import Path

import click

from hush.cli import completing, results
from hush.cli.numbers import NUMBER, WHOLE
from hush.cli.program import JSON, OVERWRITE, Refused, as_json, program
from hush.cli.results import CSV, LEVEL


@program.command()
@click.argument("tally", metavar="TALLY.json", shell_complete=completing.files)
@click.option("--attribute", metavar="NAME", help="The text, if the plan asks about several.")
@click.option("--top", type=WHOLE, default=32, show_default=True, help="How many texts to show at most.")
@click.option("--second", metavar="TALLY.json", shell_complete=completing.files, help="The tally of a second round.")
@click.option(
    "--false",
    type=NUMBER,
    default=0.05,
    show_default=True,
    help="Which share of the texts shown may be wrong: held by nobody.",
)
@click.option("--plan", metavar="PLAN.json", help="Write the plan of a second round here, and show nothing.")
@click.option("--epsilon", type=NUMBER, help="The epsilon of the second round.")
@OVERWRITE
@LEVEL
@JSON
@CSV
def frequent(
    tally: str,
    attribute: str | None,
    top: int,
    second: str | None,
    false: float,
    plan: str | None,
    epsilon: float | None,
    overwrite: bool,
    level: float,
    machine: bool,
    commas: bool,
) -> None:
    """Find the texts that most people hold, with their shares and intervals.

    Texts that cannot be told from noise are left out.

    \b
    Example:
      hush frequent words.json --top 20
      hush frequent words.json --plan second.json --epsilon 2
      hush frequent words.json --second ranked.json
    """
    from hush.cli import files
    from hush.core.texts import Text
    from hush.server import frequent as found

    if machine and commas:
        raise Refused("give either --json or --csv")
    if (plan is None) != (epsilon is None):
        raise Refused("the plan of a second round needs both --plan and --epsilon")
    first = files.read_tally(tally)
    names = [item.name for item in first.plan.schema.attributes if isinstance(item, Text)]
    if attribute is None:
        if len(names) != 1:
            raise Refused(
                f"name the text with --attribute: {', '.join(names)}" if names else "the plan asks for no text"
            )
        attribute = names[0]
    if plan is not None and epsilon is not None:
        from hush.files import atomic
        from hush.planning.texts import second_round

        made = second_round(first, attribute, epsilon)
        with atomic.replacing(Path(plan), overwrite=overwrite) as file:
            file.write(made.to_json().encode())  # its SHA-256 is the plan's id
        return
    ranked = None if second is None else files.read_tally(second)
    rows = found.frequent(first, attribute, top, second=ranked, level=level, false=false)
    if machine:
        head = {"plan": first.plan.id, "reports": first.reports, "attribute": attribute, "level": level}
        if ranked is not None:
            head |= {"second": ranked.plan.id, "reports_second": ranked.reports}
        about = {name: results.known(getattr(rows, name)) for name in ("others", "missing", "floor", "liars")}
        as_json({**head, **about, "rows": [results.plain(row) for row in rows]})
    elif commas:
        results.print_csv(rows)
    else:
        from hush.cli import printing
        from hush.show.tables import counted

        printing.show(rows)
        more = "" if ranked is None else f" of the first round and {ranked.reports:,} of the second"
        printing.say(f"From {counted(first.reports, 'report')}{more}.")
