"""The program: its errors in one line each, and what its commands share."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from hush import __version__

EXTRAS = {
    "altair": "plot",
    "cryptography": "batch",
    "duckdb": "duckdb",
    "msgspec": "collector",
    "numba": "batch",
    "numpy": "batch",
    "psycopg": "postgres",
    "pyarrow": "batch",
    "pyspark": "spark",
    "rich": "cli",
    "starlette": "collector",
    "uvicorn": "collector",
    "vl_convert": "plot",
}


class Refused(click.ClickException):
    """An error in one line: what was refused, and why."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the line."""
        click.echo(f"hush: {' '.join(self.message.split())}", err=True)


def _stop(number: int, _: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second one must not stop the clearing up
    raise SystemExit(128 + number)  # what a shell says of a program that a signal ended


@contextmanager
def stopping() -> Iterator[None]:
    """Let a signal to end be an exception, as Ctrl-C is one, so that no half-written file stays behind.

    A handler that somebody else has set is left alone, and only the main thread can set one.
    """
    ours = []
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no second one
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            try:
                signal.signal(number, _stop)
            except ValueError:
                break
            ours.append(number)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


class Program(click.Group):
    """The commands, with errors that people can read."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; turn what hush refuses, files and missing libraries into one line each."""
        from hush.errors import HushError

        try:
            with stopping():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except HushError as error:
            raise Refused(str(error)) from None
        except OSError as error:
            raise Refused(f"{error.filename or 'a file'}: {(error.strerror or 'cannot be used').lower()}") from None
        except ModuleNotFoundError as error:
            library = (error.name or "").partition(".")[0]
            if library not in EXTRAS:
                raise
            raise Refused(f"this needs the library {library}: pip install 'hush[{EXTRAS[library]}]'") from None


def as_json(value: object) -> None:
    """Print JSON for a machine."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


JSON = click.option("--json", "machine", is_flag=True, help="Print JSON, not a table.")
PICTURE = click.option("--picture", metavar="FILE", help="Draw a picture: a file that ends in .svg or .png.")
PLAN = click.argument("plan", metavar="PLAN.json")


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hush")
def program() -> None:
    """Learn from a crowd without hearing anyone: exact local differential privacy.

    Plan a collection, predict what it will tell, audit it, and see what one report says about a person; then
    randomise, tally and estimate. A file called - is the standard input.

    \b
    Example:
      hush plan schema.json --epsilon 1 -o plan.json
      hush predict plan.json --people 100000
      hush randomise plan.json people.parquet -o reports.parquet
      hush tally plan.json reports.parquet -o tally.json
      hush estimate tally.json
    """
