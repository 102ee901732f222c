"""Opening a store by its URL: SQLite or PostgreSQL."""

from __future__ import annotations

from hush.collector.stores.base import Store
from hush.errors import InputError

STORES = "sqlite://FILE (sqlite://hush.db is a file here, sqlite:///var/lib/hush.db one with a full path) or postgresql://..."


def file_of(url: str) -> str | None:
    """Return the file of a SQLite store, by its URL or by its name alone; None for other stores."""
    if url.startswith("sqlite://"):
        return url.removeprefix("sqlite://")
    # An unfinished URL is a slip, and not the name of a file.
    return None if not url or "://" in url or url.startswith(("sqlite:", "postgres:", "postgresql:")) else url


def open_store(url: str, *, create: bool = True) -> Store:
    """Open a store: sqlite://FILE, the name of a file alone, or postgresql://...; `create` makes a missing file."""
    file = file_of(url)
    if file is not None:
        from hush.collector.stores.sqlite import SqliteStore  # here, as a process needs one of the two

        return SqliteStore(file, create=create)
    if url.startswith(("postgresql://", "postgres://")):
        from hush.collector.stores.postgres import PostgresStore  # here, as a process needs one of the two

        return PostgresStore(url)
    raise InputError(f"the store must be {STORES}")
