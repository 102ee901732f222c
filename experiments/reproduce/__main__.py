"""The paper's figures and tables, from scratch: `python -m experiments.reproduce --list`, in a clone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.reproduce import catalogue, frame, runner
from hush.cli.program import Refused, as_json, plainly
from hush.cli.streams import visible

if TYPE_CHECKING:
    from collections.abc import Callable


VERDICTS = {True: "pass", False: "FAIL", None: "open"}


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Few people and runs: minutes instead of hours.")
@click.option("--runs", type=click.IntRange(2), metavar="N", help="How often each survey is repeated.")
@click.option("--people", type=click.IntRange(1000), metavar="N", help="How many people answer each survey, at most.")
@click.option("--learners", type=click.IntRange(1000), metavar="N", help="How many people models learn from, at most.")
@click.option("--folds", type=click.IntRange(2), metavar="N", help="Folds of the cross-validations.")
@click.option("--repeats", type=click.IntRange(1), metavar="N", help="How often cross-validations are repeated.")
@click.option(
    "--data",
    metavar="FOLDER",
    help="Real microdata instead of made-up people (docs/data.md).",
)
@click.option(
    "-o",
    "--output",
    default="reproduction",
    show_default=True,
    metavar="FOLDER",
    help="Where results go.",
)
@click.option(
    "--cache",
    default=".reproduce",
    show_default=True,
    metavar="FOLDER",
    help="Where finished work is kept.",
)
@click.option("--processes", type=click.IntRange(1), help="How many run at once (all cores).")
@click.option("--list", "listed", is_flag=True, help="Only say which figures there are.")
@click.option("--json", "machine", is_flag=True, help="Print the list, or the claims, as JSON.")
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    runs: int | None,
    people: int | None,
    learners: int | None,
    folds: int | None,
    repeats: int | None,
    data: str | None,
    output: str,
    cache: str,
    processes: int | None,
    listed: bool,
    machine: bool,
) -> None:
    r"""Compute the figures and tables of the paper anew, and check what it says about them.

    Numbers are written as CSV, pictures as SVG and PNG, and every claim of the paper with what was measured. A run that
    is stopped goes on where it was. A claim that does not hold is a result: the exit code is 0.

    \b
    Example:
      python -m experiments.reproduce --list
      python -m experiments.reproduce gaussian --quick
    """
    import os
    from dataclasses import asdict, replace

    chosen = names or catalogue.NAMES
    unknown = [name for name in chosen if name not in catalogue.NAMES]
    if unknown:
        raise Refused(f"there is no figure {unknown[0]!r}; there are: {', '.join(catalogue.NAMES)}")
    if listed:
        figures = [(name, catalogue.figure(name)) for name in chosen]
        if machine:
            as_json([{"name": name, "paper": figure.PAPER, "title": figure.TITLE} for name, figure in figures])
            return
        for name, figure in figures:
            click.echo(f"{name:<24}{figure.PAPER:<15}{figure.TITLE}")
        return
    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise Refused("--data must be a folder")
    wanted: dict[str, Any] = {"runs": runs, "people": people, "learners": learners, "folds": folds, "repeats": repeats}
    settings = replace(
        frame.QUICK if quick else frame.FULL, **{name: value for name, value in wanted.items() if value is not None}
    )
    count = processes or os.cpu_count() or 1
    failed = 0
    results: dict[str, list[dict[str, Any]]] = {}

    def told(name: str, figure: Any, claims: list[Any]) -> None:
        nonlocal failed
        results[name] = [asdict(claim) for claim in claims]
        if machine:
            return
        click.echo(f"\n{figure.PAPER}: {figure.TITLE} ({name})")
        for claim in claims:
            failed += claim.holds is False
            click.echo(f"  {VERDICTS[claim.holds]}  {claim.text}")
            click.echo(f"        {claim.measured}{'. ' + claim.why if claim.why else ''}")

    with _watching() as watch:
        bench = frame.Bench(settings, Path(cache), count, folder, watch)
        runner.reproduce(chosen, bench, Path(output), told)
    if machine:
        as_json({"output": output, "figures": results})
        return
    click.echo(f"\nNumbers, pictures and claims are in {visible(output)}. Claims that do not hold: {failed}.")


def _watching() -> Any:
    """Return a context that draws a bar for each piece of work on a terminal."""
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    @contextmanager
    def inner() -> Any:
        columns = (*Progress.get_default_columns()[:-1], MofNCompleteColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

            def watch(what: str, total: int) -> Callable[[], None]:
                task = progress.add_task(what, total=total)

                def advance() -> None:
                    progress.advance(task)
                    if progress.tasks[-1].id == task and progress.finished:
                        progress.update(task, visible=False)

                return advance

            yield watch

    return inner()


if __name__ == "__main__":
    with plainly():
        reproduce()
