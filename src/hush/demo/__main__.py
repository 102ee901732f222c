"""`python -m hush.demo`: read the options, and run. Every error is one line."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from hush import demo
from hush.errors import HushError, InputError


def main(arguments: list[str] | None = None) -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="python -m hush.demo", description=(demo.__doc__ or "").splitlines()[0])
    parser.add_argument("--people", type=int, help="how many people to make up (1000000)")
    parser.add_argument("--epsilon", type=float, help="the cost of answering for each of them (1, or 4 with --relay)")
    parser.add_argument("--level", type=float, help="probability of the intervals (0.95)")
    parser.add_argument("--seed", type=int, help="another seed makes other people (2019)")
    parser.add_argument("--port", type=int, help="the port to listen on (8000 if it is free); 0 takes any free one")
    parser.add_argument("--store", metavar="FILE", help="keep the reports in this file")
    parser.add_argument("--picture", metavar="FILE", help="where to draw the estimates (demo/estimates.svg)")
    parser.add_argument("--once", action="store_true", help="end with the table, on a terminal too")
    parser.add_argument("--fast", action="store_true", help="send without pauses, on a terminal too")
    parser.add_argument("--relay", action="store_true", help="send through a relay, and print both promises")
    options = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value is not None}
    try:
        from hush.demo.run import Options, run

        with _signals():
            run(Options(**options))
    except KeyboardInterrupt:
        _end("stopped", 130)
    except HushError as error:
        _end(str(error), 2 if isinstance(error, InputError) else 4)
    except OSError as error:
        _end(f"{error.filename or 'the demo'}: {(error.strerror or str(error)).lower()}")
    except ModuleNotFoundError as error:
        if (error.name or "hush").partition(".")[0] == "hush":
            raise
        _end(f"the demo needs the library {error.name}: pip install 'hush-ldp[demo]'")


@contextmanager
def _signals() -> Iterator[None]:
    """Turn signals to end into exceptions, so that the collector ends in order and no temporary file stays."""
    before = {
        signal.SIGTERM: signal.signal(signal.SIGTERM, _stop),
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),  # background jobs of a shell ignore it
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _: Any) -> NoReturn:
    raise SystemExit(128 + number)


def _end(message: str, code: int = 2) -> NoReturn:
    print(f"hush: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
