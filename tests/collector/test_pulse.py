"""Checks of a store that come together share one look, whoever asks between its end and the answers."""

from __future__ import annotations

import asyncio

import pytest

from hush.collector.pulse import Pulse
from hush.errors import StoreError


class Store:
    """It says what it is told, look by look."""

    def __init__(self, *failures: Exception | None) -> None:
        self._failures = list(failures)

    def check(self) -> None:
        failure = self._failures.pop(0)
        if failure is not None:
            raise failure


@pytest.mark.parametrize(
    "failures",
    [(None, None), (None, StoreError("away")), (StoreError("away"), None)],
    ids=["well", "then away", "then back"],
)
def test_a_request_hears_of_the_look_for_which_it_waited(failures: tuple[Exception | None, ...]) -> None:
    """One of two that wait for a look is answered, and begins the next before the other goes on."""

    async def scenario() -> list[Exception | None]:
        pulse = Pulse(Store(*failures), timeout=60.0, every=0.0)

        async def answer() -> Exception | None:
            try:
                await pulse.check()
            except StoreError as error:
                return error
            return None

        async def twice() -> tuple[Exception | None, Exception | None]:
            return await answer(), await answer()

        (first, second), other = await asyncio.gather(twice(), answer())
        return [first, other, second]

    assert asyncio.run(scenario()) == [failures[0], failures[0], failures[1]]
