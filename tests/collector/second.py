"""A second process that opens a store: it loads neither pytest nor the tests that start it, so it starts quickly."""

from __future__ import annotations

from typing import Any

from hush.collector.stores.opening import open_store
from hush.errors import StoreError


def open_and_say(url: str, answers: Any) -> None:
    """Open a store, and say what happened."""
    try:
        open_store(url).close()
        answers.put("opened")
    except StoreError as error:
        answers.put(str(error))
