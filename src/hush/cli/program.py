"""The program: errors in one line each, and the shared parts of its commands."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from hush import __version__
from hush.cli import completing, streams
from hush.cli.numbers import refusal

DISTRIBUTION = "hush-ldp"  # as package indexes know hush, where another program has its name
EXTRAS = {
    "altair": "plot",
    "cryptography": "batch",
    "duckdb": "duckdb",
    "httptools": "collector",
    "msgspec": "collector",
    "numba": "batch",
    "numpy": "batch",
    "packaging": "cli",
    "psycopg": "postgres",
    "pyarrow": "batch",
    "pyspark": "spark",
    "rich": "cli",
    "sklearn": "learn",
    "starlette": "collector",
    "uvloop": "collector",
    "vl_convert": "plot",
}


# Exit codes, besides 0. After a signal it is 128 plus the signal's number, as in shells.
WRONG, REFUSED, FAULT, FAILED, INTERRUPTED, UNREAD = 1, 2, 3, 4, 128 + 2, 128 + 13


class Refused(click.ClickException):
    """An error in one line: the refused input, and why."""

    exit_code = REFUSED

    def show(self, file: Any = None) -> None:
        """Print the line."""
        click.echo(f"hush: {streams.visible(' '.join(self.message.split()))}", err=True)


class Failed(Refused):
    """A store or a network that failed: the same command may succeed later."""

    exit_code = FAILED


class Fault(Refused):
    """An error that hush did not foresee."""

    exit_code = FAULT


class Stopped(SystemExit):
    """A signal to end: the exit code is what a shell reports of a program that the signal ended."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


def _stop(number: int, _: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second signal must not stop the clearing up
    raise Stopped(number)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, of a kind of our own.

    Python remembers a plain `KeyboardInterrupt` that leaves compiled text, such as the one behind every dataclass. It
    then ends by the signal, and ignores the exit code that a program asks for.
    """

    number = signal.SIGINT


def _interrupt(*_: object) -> NoReturn:
    raise Interrupted


HANDLERS: tuple[tuple[str, Any, Any], ...] = (  # the signal, how Python leaves it, and what it does to commands
    ("SIGINT", signal.default_int_handler, _interrupt),
    ("SIGTERM", signal.SIG_DFL, _stop),
    ("SIGHUP", signal.SIG_DFL, _stop),
)


AGAIN = 0.05  # seconds until a lost signal comes again


def _again(lost: Any) -> None:
    """Send a signal once more if its exception was lost: Python drops those of callbacks, as of weak references.

    The signal would be ignored from then on. The callback has ended when it comes again.
    """
    error = lost.exc_value
    if not isinstance(error, Stopped | Interrupted):
        sys.__unraisablehook__(lost)
        return
    handlers = {int(getattr(signal, name)): handler for name, _, handler in HANDLERS}
    signal.signal(error.number, handlers[error.number])
    timer = threading.Timer(AGAIN, os.kill, (os.getpid(), error.number))
    timer.daemon = True
    timer.start()


def _behind(error: BaseException | None) -> Stopped | Interrupted | None:
    """Return the signal behind an error: in the middle of a class, Python 3.11 makes a RuntimeError of it."""
    while error is not None and not isinstance(error, Stopped | Interrupted):
        error = error.__cause__
    return error


@contextmanager
def stopping() -> Iterator[None]:
    """Let a signal to end be an exception, as Ctrl-C is one, so that no half-written file stays behind.

    A handler that somebody else has set is left alone, and only the main thread can set one.
    """
    ours: dict[int, Any] = {}
    try:
        for name, before, handler in HANDLERS:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) is before:
                try:
                    signal.signal(number, handler)
                except ValueError:
                    break
                ours[number] = before
        if hasattr(signal, "SIGHUP") and ours:  # else the system has no signals that can be sent again
            sys.unraisablehook = _again
        yield
    finally:
        if sys.unraisablehook is _again:
            sys.unraisablehook = sys.__unraisablehook__
        for number, before in ours.items():
            signal.signal(number, before)


class Program(click.Group):
    """The commands, with errors that people can read."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run from beginning to end."""
        streams.prepare()
        return super().main(*args, **options)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Read the options before the command; help is printed here."""
        with plainly():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with plainly(), stopping():
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


@contextmanager
def plainly() -> Iterator[None]:
    """Turn refusals of hush, errors of files, missing libraries and faults of hush into one line each."""
    from hush.errors import HushError, InputError
    from hush.files import atomic

    try:
        yield
    except click.UsageError as error:
        vars(error)["message"] = "\n".join(map(streams.visible, error.message.split("\n")))  # final for its heirs alone
        raise
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt:
        click.echo("\nhush: stopped", err=True)
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        streams.abandon()  # the reader has read enough
        raise SystemExit(UNREAD) from None
    except InputError as error:
        raise Refused(str(error)) from None
    except HushError as error:
        raise Failed(str(error)) from None
    except OSError as error:
        lost = streams.abandon() or error.errno in atomic.NO_ROOM
        name = error.filename or ("standard output" if lost else "a file")
        raise Refused(f"{_shown(name)}: {(error.strerror or 'cannot be used').lower()}") from None
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library == "hush":
            raise
        extra = EXTRAS.get(library)
        remedy = f": pip install '{DISTRIBUTION}[{extra}]'" if extra else ""
        raise Refused(f"this needs the library {library}{remedy}") from None
    except MemoryError:
        raise Refused("there is not enough memory for this") from None
    except Exception as error:
        if (signalled := _behind(error)) is not None:
            with plainly():
                raise signalled from None
        if os.environ.get("HUSH_TRACEBACK"):
            raise
        # The message of another library's error may hold a value of a person, so only its kind is shown.
        raise Fault(
            f"a fault of hush itself, {type(error).__name__}; HUSH_TRACEBACK=1 in the environment shows it"
        ) from None


def _shown(name: Any) -> str:
    return os.fsdecode(name) if isinstance(name, bytes) else str(name)


def as_json(value: object) -> None:
    """Print JSON for a machine."""
    click.echo(json.dumps(value, ensure_ascii=not streams.is_unicode(), indent=2))


def as_it_is(text: str) -> None:
    """Print a canonical text, whose hash counts: the same bytes everywhere, and a line's end for people alone."""
    click.echo(text.encode(), nl=sys.stdout.isatty())


def number(text: str, option: str) -> float:
    """Read a number within the value of an option."""
    try:
        found = float(text)
    except ValueError:
        raise Refused(f"{option}: {refusal(text)}") from None
    if not math.isfinite(found):
        raise Refused(f"{option}: {text!r} is not a finite number")
    return found


def listed(text: str, known: Sequence[str] = ()) -> list[str]:
    """Return the names in a list with commas. Spaces around a name are forgiven, unless a known name has them.

    A known name may have commas itself.
    """
    parts, found = text.split(","), list[str]()
    while parts:
        for many in (*range(1, len(parts) + 1), 1):  # if no name begins here, a part is one: an error will name it
            whole = ",".join(parts[:many])
            name = whole if whole in known else whole.strip()
            if name in known:
                break
        found.append(name)
        del parts[:many]
    return found


def numbers(text: str, option: str) -> list[float]:
    """Read numbers with commas between them."""
    return [number(part.strip(), option) for part in text.split(",")]


JSON = click.option("--json", "machine", is_flag=True, help="Print JSON, not a table.")
RESULT = click.option("--json", "machine", is_flag=True, help="Print JSON, not a sentence.")
OVERWRITE = click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
PICTURE = click.option(
    "--picture",
    "--plot",
    "picture",
    metavar="FILE",
    shell_complete=completing.files,
    help="Draw a picture: a file that ends in .svg, .png or .html.",
)
PLAN = click.argument("plan", metavar="PLAN.json", shell_complete=completing.files)
ATTRIBUTES = click.option(
    "--attribute",
    "attributes",
    multiple=True,
    metavar="NAME",
    shell_complete=completing.attributes,
    help="Only this attribute (repeatable).",
)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hush")
def program() -> None:
    """Learn from a crowd without hearing anyone: exact local differential privacy.

    Plan a collection, predict its accuracy, audit it, and see how much one report reveals about a person; then
    randomise, tally and estimate. A file called - is the standard input.

    \b
    Example:
      hush plan schema.json --epsilon 1 -o plan.json
      hush predict plan.json --people 100000
      hush randomise plan.json people.parquet -o reports.parquet
      hush tally plan.json reports.parquet -o tally.json
      hush estimate tally.json
    """
