"""What is said of PostgreSQL's errors: the message, and nothing that quotes rows.

A server's error has more than its message: DETAIL quotes the row or the key that broke a rule, CONTEXT the values of a
statement. These are ids and reports, and belong in no log. So the text of an error is its message alone, the error of
psycopg is no cause of ours (a traceback would print it), and psycopg's own warnings, which print errors that came
second, are cut in the same way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from hush.errors import StoreError


def told(error: BaseException) -> str:
    """Return what may be said of an error: without DETAIL, CONTEXT and the rest, which quote rows."""
    if isinstance(error, psycopg.Error) and error.diag.message_primary is not None:
        hint = error.diag.message_hint  # the server's own words
        return error.diag.message_primary + (f" ({hint})" if hint else "")
    if isinstance(error, psycopg.Error):  # of libpq or psycopg: there was no row
        return str(error)
    return type(error).__name__


@contextmanager
def failing(what: str = "used") -> Iterator[None]:
    """Turn errors of PostgreSQL into a StoreError."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"the store cannot be {what}: {told(error)}") from None


class _Cut(logging.Filter):
    """Lets psycopg say that an error was ignored, and leaves out what it quotes."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return that a line is written, after cutting the errors in it."""
        if isinstance(record.args, tuple):
            record.args = tuple(told(one) if isinstance(one, BaseException) else one for one in record.args)
        record.exc_info = record.exc_text = None
        return True


def cut_warnings() -> None:
    """Cut the warnings of psycopg in this process."""
    for name in ("psycopg", "psycopg.transaction"):
        logger = logging.getLogger(name)
        if not any(isinstance(held, _Cut) for held in logger.filters):
            logger.addFilter(_Cut())
