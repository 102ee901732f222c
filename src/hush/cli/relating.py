"""The commands for relations: `hush crosstab`, `means`, `association`, `quantiles`, `below` and `pairs`.

A plan answers them if it was made with `hush plan --relation` or `--range`, and the last one with `--choices pairs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from hush.cli import completing, results
from hush.cli.numbers import NUMBER
from hush.cli.program import JSON, PICTURE, PLAN, Refused, numbers, program
from hush.cli.results import CSV, EXPECTED, LEVEL, STATED, TALLY

if TYPE_CHECKING:
    from hush.server.relations.groups import Means
    from hush.server.tally import Tally
    from hush.show.rows import Rows

TOGETHER = click.option("--simultaneous", is_flag=True, help="All intervals hold together with this probability.")
OWN = click.option("--no-pool", "alone", is_flag=True, help="Use no other question about the same attributes.")
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)  # of `hush.quantiles`; a test compares
ATTRIBUTE = click.argument("attribute", metavar="NUMBER", shell_complete=completing.attributes)


@contextmanager
def _advised(options: str, otherwise: str = "") -> Iterator[None]:
    """Turn the advice of a library's error into that of the command line; `otherwise` is another way."""
    from hush.errors import EstimateError

    try:
        yield
    except EstimateError as error:
        text, asked, _ = str(error).partition("design it with")
        text += f"make another with `hush plan ... {options}`{otherwise}" if asked else ""
        for name in ("crosstab", "means"):
            text = text.replace(f"hush.{name}", f"`hush {name}`")
        raise EstimateError(text) from None


def _draw(rows: Any, picture: str | None) -> None:
    if picture:
        from hush import plots

        plots.save(rows.plot(), picture)


def _named(averages: Means, text: str) -> str | int:
    """Return the group that somebody wrote: categories may be integers."""
    known = {str(row.group): row.group for row in averages if row.group is not None}
    if text not in known:
        raise Refused(f"attribute {averages[0].by!r}: has no group {text!r}; there are: {', '.join(map(repr, known))}")
    return known[text]


@program.command()
@TALLY
@click.argument("rows", metavar="ROWS", shell_complete=completing.attributes)
@click.argument("columns", metavar="COLUMNS", shell_complete=completing.attributes)
@EXPECTED
@LEVEL
@click.option(
    "--shares",
    type=click.Choice(["all", "rows", "columns"]),
    default="all",
    show_default=True,
    help="Of all people, of each row or of each column.",
)
@OWN
@TOGETHER
@click.option(
    "--remedy",
    type=click.Choice(["proper", "shrunk"]),
    help="Look better, but are biased. proper: nonnegative, and all tables agree; shrunk: also less noise.",
)
@PICTURE
@JSON
@CSV
def crosstab(
    tally: str,
    rows: str,
    columns: str,
    plan: str | None,
    level: float,
    shares: str,
    alone: bool,
    simultaneous: bool,
    remedy: str | None,
    picture: str | None,
    machine: bool,
    commas: bool,
) -> None:
    """Estimate the shares of a table of two attributes, with intervals.

    ROWS and COLUMNS are categories, or numbers in bands. The plan must ask for their table: `hush plan --relation`.

    \b
    Example:
      hush crosstab tally.json education region
      hush crosstab tally.json education region --shares rows --picture table.svg
    """
    from hush.server.relations import consistent, crosstabs

    counted = results.read(tally, plan, machine=machine, commas=commas)
    if remedy and (shares != "all" or alone or simultaneous):
        raise Refused("--remedy is for shares of all people: leave out --shares, --no-pool and --simultaneous")
    with _advised(f"--relation {rows},{columns},table"):
        found = crosstabs.crosstab(
            counted,
            rows,
            columns,
            shares=shares,  # type: ignore[arg-type]
            level=level,
            pooled=not alone,
            simultaneous=simultaneous,
        )
        if remedy:
            found = consistent.consistent(counted, remedy).crosstab(rows, columns, level=level)  # type: ignore[arg-type]
    about = {"level": level, "shares": shares, "pooled": not alone, "simultaneous": simultaneous, "remedy": remedy}
    results.put(found, counted, about, machine=machine, commas=commas)
    _draw(found, picture)


@program.command()
@TALLY
@ATTRIBUTE
@click.option(
    "--by",
    required=True,
    metavar="NAME",
    shell_complete=completing.attributes,
    help="The attribute that groups people.",
)
@EXPECTED
@LEVEL
@click.option("--versus", metavar="GROUP", help="Differences: how far every other group lies above this one.")
@click.option("--differences", is_flag=True, help="Differences between all pairs of groups.")
@OWN
@TOGETHER
@PICTURE
@JSON
@CSV
def means(
    tally: str,
    attribute: str,
    by: str,
    plan: str | None,
    level: float,
    versus: str | None,
    differences: bool,
    alone: bool,
    simultaneous: bool,
    picture: str | None,
    machine: bool,
    commas: bool,
) -> None:
    """Estimate the mean of a number in every group, or the differences between groups.

    Groups are those of a category, or the bands of a number. The plan must ask for them: `hush plan --relation`.

    \b
    Example:
      hush means tally.json income --by education
      hush means tally.json income --by education --versus none
    """
    from hush.server.relations import groups

    counted = results.read(tally, plan, machine=machine, commas=commas)
    found: Rows[Any]
    with _advised(f"--relation {attribute},{by},means"):
        found = averages = groups.means(
            counted, attribute, by=by, level=level, pooled=not alone, simultaneous=simultaneous
        )
        if versus is not None or differences:
            found = averages.differences(None if versus is None else _named(averages, versus))
    about = {
        "level": level,
        "what": "means" if found is averages else "differences",
        "versus": versus,
        "pooled": not alone,
        "simultaneous": simultaneous,
    }
    results.put(found, counted, about, machine=machine, commas=commas)
    _draw(found, picture)


@program.command()
@TALLY
@click.argument("attribute", metavar="NUMBER", shell_complete=completing.attributes)
@click.argument("by", metavar="NUMBER", shell_complete=completing.attributes)
@EXPECTED
@LEVEL
@click.option(
    "--method",
    type=click.Choice(["copula", "moments"]),
    default="copula",
    show_default=True,
    help="copula: from one bit, as if both were normal on some scale; moments: Pearson's, which needs more people.",
)
@JSON
@CSV
def association(
    tally: str, attribute: str, by: str, plan: str | None, level: float, method: str, machine: bool, commas: bool
) -> None:
    """Estimate the association of two numbers, from -1 to 1.

    The plan must ask for it: `hush plan --relation`. The method moments needs the kind moments there.

    \b
    Example:
      hush association tally.json age hours
      hush association tally.json age hours --method moments
    """
    from hush.server.relations import associations

    counted = results.read(tally, plan, machine=machine, commas=commas)
    kind = "association" if method == "copula" else "moments"
    with _advised(f"--relation {attribute},{by},{kind}"):
        found = associations.association(counted, attribute, by, method=method, level=level)  # type: ignore[arg-type]
    results.put(found, counted, {"level": level, "method": method}, machine=machine, commas=commas)


@program.command()
@TALLY
@ATTRIBUTE
@EXPECTED
@LEVEL
@click.option(
    "--share",
    "shares",
    type=NUMBER,
    multiple=True,
    metavar="X",
    help="Find the value that this share of people lie below (repeatable). [default: .1 .25 .5 .75 .9]",
)
@click.option("--at", metavar="X,X", help="Several such shares at once: .25,.5,.75.")
@click.option(
    "--rough",
    is_flag=True,
    help="For a plan that asks for no range: from the reports about the mean, without intervals.",
)
@PICTURE
@JSON
@CSV
def quantiles(
    tally: str,
    attribute: str,
    plan: str | None,
    level: float,
    shares: tuple[float, ...],
    at: str | None,
    rough: bool,
    picture: str | None,
    machine: bool,
    commas: bool,
) -> None:
    """Estimate the median and other quantiles of a number.

    The plan must ask for its range: `hush plan --range`. If it does not, --rough takes them from the likeliest
    distribution, without intervals.

    \b
    Example:
      hush quantiles tally.json income --at .25,.5,.75
      hush quantiles tally.json income --share 0.5 --picture income.svg
    """
    from hush.server.relations import ranges

    counted = results.read(tally, plan, machine=machine, commas=commas)
    wanted = [*shares, *(numbers(at, "--at") if at else [])]
    if rough:
        _rough(counted, attribute, wanted or SHARES, picture, machine=machine, commas=commas)
        return
    with _advised(f"--range {attribute}", f"; or see `hush quantiles {tally} {attribute} --rough`"):
        found = ranges.quantiles(counted, attribute, *([wanted] if wanted else []), level=level)
    results.put(found, counted, {"level": level}, machine=machine, commas=commas)
    _draw(found, picture)


def _rough(
    counted: Tally, attribute: str, shares: Sequence[float], picture: str | None, *, machine: bool, commas: bool
) -> None:
    """Print the quantiles of the likeliest distribution, which has no intervals."""
    from math import nan

    from hush.server.distributions import distribution
    from hush.server.relations.ranges import Quantile, Quantiles
    from hush.show.tables import Table
    from hush.show.tables import number as written

    found = distribution(counted, attribute)
    answers = counted.answered[counted.plan.question(attribute)]
    rows = Quantiles(Quantile(attribute, None, share, found.quantile(share), nan, nan, answers) for share in shares)
    if machine or commas:
        results.put(rows, counted, {"level": None, "rough": True}, machine=machine, commas=commas)
    else:
        from hush.cli import printing

        cells = [(row.attribute, f"{100 * row.share:g} % below", written(row.point), f"{answers:,}") for row in rows]
        printing.show(Table(("attribute", "quantile", "value", "answers"), cells, texts=2))
        printing.say(
            "Rough: from the likeliest distribution of the reports about the mean, without intervals. "
            f"`hush plan ... --range {attribute}` asks for quantiles with intervals."
        )
    _draw(found, picture)


@program.command()
@TALLY
@ATTRIBUTE
@EXPECTED
@LEVEL
@click.option(
    "--cut",
    "cuts",
    type=NUMBER,
    multiple=True,
    metavar="X",
    help="Find the share of people with at most this value (repeatable). [default: all cuts of the plan]",
)
@TOGETHER
@PICTURE
@JSON
@CSV
def below(
    tally: str,
    attribute: str,
    plan: str | None,
    level: float,
    cuts: tuple[float, ...],
    simultaneous: bool,
    picture: str | None,
    machine: bool,
    commas: bool,
) -> None:
    """Estimate the share of people with at most some value of a number.

    The plan must ask for its range: `hush plan --range`. Shares are known at the cuts of the plan only.

    \b
    Example:
      hush below tally.json income --cut 50000
      hush below tally.json income --csv
    """
    from hush.server.relations import ranges

    counted = results.read(tally, plan, machine=machine, commas=commas)
    with _advised(f"--range {attribute}"):
        found = ranges.below(counted, attribute, cuts or None, level=level, simultaneous=simultaneous)
    results.put(found, counted, {"level": level, "simultaneous": simultaneous}, machine=machine, commas=commas)
    _draw(found, picture)


@program.command()
@PLAN
@click.argument("attribute", metavar="CHOICES", shell_complete=completing.attributes)
@click.argument("reports", nargs=-1, required=True, metavar="REPORTS...", shell_complete=completing.files)
@click.option("--value", "values", multiple=True, metavar="V", help="Only pairs of these values (repeatable).")
@LEVEL
@click.option("--each", is_flag=True, help="Each interval holds on its own with this probability, not all together.")
@STATED
@JSON
@CSV
def pairs(
    plan: str,
    attribute: str,
    reports: tuple[str, ...],
    values: tuple[str, ...],
    level: float,
    each: bool,
    own: int | None,
    machine: bool,
    commas: bool,
) -> None:
    """Estimate the shares of people who hold both of two values of choices, with intervals.

    REPORTS are Parquet or Arrow files of reports: a tally does not say which values came together. A collector writes
    those that it keeps with `hush export`. The plan must report sets of values: make it with --choices pairs.

    \b
    Example:
      hush pairs plan.json uses reports.parquet
      hush pairs plan.json uses reports.parquet --value tv --value web
    """
    from hush.batch.files import Reports
    from hush.batch.together import pairs as counted
    from hush.cli import files
    from hush.core.owned import Owned

    if machine and commas:
        raise Refused("give either --json or --csv")
    made = files.read_plan(plan)
    made.schema[attribute]  # raises, and lists the known ones
    kept, owned = Reports(made, files.expand(reports), own=own), Owned(own)
    with _advised("--choices pairs"):
        found, tally = counted(made, kept.batches(owned), attribute, values=values or None, owned=owned)
        rows = found.pairs(level, simultaneous=not each)
    results.put(rows, tally, {"level": level, "simultaneous": not each}, machine=machine, commas=commas)
