"""What all connections share costs little, however many there are: counted in steps, with made-up connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hush.collector.http import bounds
from hush.collector.http.bounds import Bounds
from hush.collector.settings import Settings

MANY = 2000


class Transport:
    def get_write_buffer_size(self) -> int:
        return 0


class Connection:
    """A connection with an unfinished body."""

    deadline = 0.0

    def __init__(self, among: Bounds, size: int, household: str) -> None:
        self.among, self.size, self.asked, self.failed, self.expired = among, size, 0, False, False
        among.held += size
        among.open[self] = household  # type: ignore[index]
        among.arriving[self] = None  # type: ignore[index]
        self.transport = Transport()

    @property
    def held(self) -> int:
        self.asked += 1
        return self.size

    def fail(self, kind: str) -> None:
        assert kind == "busy"
        self.among.arriving.pop(self, None)  # type: ignore[call-overload]
        self.among.held -= self.size
        self.size, self.failed = 0, True

    def too_slow(self, now: float) -> bool:
        return False

    def expire(self, now: float) -> None:
        self.expired = True

    def unsent(self, now: float) -> int:
        return 0


class Loop:
    """A loop that is turned by hand."""

    def __init__(self) -> None:
        self.soon: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self.later = 0

    def time(self) -> float:
        return 1.0

    def call_soon(self, call: Callable[..., None], *arguments: Any) -> None:
        self.soon.append((call, arguments))

    def call_later(self, *_: Any) -> None:
        self.later += 1


def crowd(found: Bounds, size: int, households: int = 50) -> list[Any]:
    return [Connection(found, size, f"household {i % households}") for i in range(MANY)]


def test_room_is_made_in_one_look() -> None:
    """Unfinished bodies are small, and must nearly all go: each is looked at a few times, not once for each other."""
    found = Bounds(Settings(held_bytes=1 << 20))
    found.held = (1 << 20) - 1000  # by requests that are whole
    senders = crowd(found, 100)
    found.make_room(senders[-1])
    assert 0 < found.held <= 1 << 20
    assert sum(one.failed for one in senders) >= MANY - 10
    assert sum(one.asked for one in senders) <= 3 * MANY


def test_the_next_piece_finds_room() -> None:
    found = Bounds(Settings(held_bytes=100 * MANY - 1))
    senders = crowd(found, 100)
    found.make_room(senders[-1])
    refused = [one for one in senders if one.failed]
    assert MANY // bounds.PART <= len(refused) <= MANY // bounds.PART + 1
    assert {one for one in senders if one.failed} == set(senders[: len(refused)])  # the oldest, of all alike
    assert found.held <= found.settings.held_bytes - 100 * MANY // bounds.PART + 1


def test_whoever_holds_most_goes_first() -> None:
    found = Bounds(Settings(held_bytes=100 * MANY + 5000))
    senders = crowd(found, 100)
    greedy: list[Any] = [Connection(found, 1000, "greedy") for _ in range(10)]
    found.make_room(senders[-1])
    assert [one.failed for one in greedy[:5]] == [True] * 5
    assert found.held <= found.settings.held_bytes


def test_unfinished_bodies_stay_if_refusing_them_would_not_help() -> None:
    """Requests that are whole hold everything: whoever sends more is refused, and only they."""
    found = Bounds(Settings(held_bytes=1 << 20))
    found.held = 2 << 20
    senders = crowd(found, 100)
    found.make_room(senders[7])
    assert [one for one in senders if one.failed] == [senders[7]]


def test_a_look_at_all_connections_lets_others_in_between() -> None:
    found, loop = Bounds(Settings()), Loop()
    senders = crowd(found, 100)
    found._sweep(loop)  # type: ignore[arg-type]
    turns = 1
    while loop.soon:
        assert sum(one.expired for one in senders) <= turns * bounds.LOOK
        assert not loop.later
        call, arguments = loop.soon.pop()
        call(*arguments)
        turns += 1
    assert all(one.expired for one in senders)
    assert (turns, loop.later) == (-(-MANY // bounds.LOOK), 1)


def test_one_connection_that_fails_does_not_stop_the_clock() -> None:
    """The others are checked, now and later; that one is reset."""
    found, loop = Bounds(Settings()), Loop()
    senders = crowd(found, 100)
    ended: list[bool] = []

    def broken(_: float) -> int:
        raise RuntimeError

    senders[3].unsent, senders[3].reset = broken, lambda: ended.append(True)
    found._sweep(loop)  # type: ignore[arg-type]
    while loop.soon:
        call, arguments = loop.soon.pop()
        call(*arguments)
    assert all(one.expired for one in senders)
    assert (ended, loop.later) == ([True], 1)
