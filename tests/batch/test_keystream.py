"""The keystream is AES-256 of counters that never repeat, keyed by the operating system."""

from __future__ import annotations

import itertools
import os
import re
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import hush.batch
from hush.batch import keystream
from hush.batch.keystream import SPARE, CounterStream, Keystream, SealedStream
from tests.interleaving import orders

KEY = bytes(range(32))
COUNT = 1000


def words_of(stream: Any, *counts: int) -> bytes:
    found = b""
    for count in counts:
        room = np.zeros(count + SPARE, dtype=np.uint64)
        stream.fill(room, count)
        found += room[:count].tobytes()
    return found


def aes(blocks: list[bytes]) -> bytes:
    """AES-256 of each block by itself: what both streams must be made of."""
    encryptor = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()  # noqa: S305
    return bytes(encryptor.update(b"".join(blocks)))


def test_the_counter_stream_is_aes_of_number_and_counter() -> None:
    blocks = [(7).to_bytes(8, "big") + i.to_bytes(8, "big") for i in range(COUNT // 2)]
    assert words_of(CounterStream(KEY, 7), COUNT) == aes(blocks)


def test_the_counter_stream_goes_on_where_it_stopped() -> None:
    assert words_of(CounterStream(KEY, 3), 1, 10, 501, 488) == words_of(CounterStream(KEY, 3), COUNT)


@pytest.mark.skipif(not hasattr(AESGCM, "encrypt_into"), reason="this cryptography has no AESGCM.encrypt_into")
def test_the_sealed_stream_is_aes_of_number_message_and_counter() -> None:
    blocks = []
    for message in range(2):  # GCM starts to encrypt with its counter at 2
        nonce = (7).to_bytes(8, "big") + message.to_bytes(4, "big")
        blocks += [nonce + i.to_bytes(4, "big") for i in range(2, 2 + COUNT // 4)]
    assert words_of(SealedStream(KEY, 7), COUNT // 2, COUNT // 2) == aes(blocks)


@pytest.mark.parametrize("kind", [CounterStream, SealedStream])
def test_no_word_is_written_behind_the_spare_ones(kind: Any) -> None:
    if kind is SealedStream and not hasattr(AESGCM, "encrypt_into"):
        pytest.skip("this cryptography has no AESGCM.encrypt_into")
    room = np.full(64 + SPARE + 8, 5, dtype=np.uint64)
    kind(KEY, 0).fill(room, 64)
    assert (room[64 + SPARE :] == 5).all()
    assert len(set(room[:64].tolist())) == 64


def test_streams_and_calls_share_no_word() -> None:
    source, other = Keystream(), Keystream()
    found = [words_of(stream, COUNT) for stream in (source.stream(0), source.stream(1), other.stream(0))]
    seen = {part[i : i + 8] for part in found for i in range(0, 8 * COUNT, 8)}
    assert len(seen) == 3 * COUNT  # a chance repetition has a probability below 1e-12


def test_every_call_has_a_fresh_key_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return b"x" * size

    keystream.fastest()  # it is timed once, with a key of its own
    monkeypatch.setattr(os, "urandom", urandom)
    assert words_of(Keystream().stream(0), 10) == words_of(keystream.fastest()(b"x" * 32, 0), 10)
    assert asked == [32]


def test_no_statistical_generator_is_used() -> None:
    for path in Path(hush.batch.__file__).parent.glob("*.py"):
        if path.name == "synthesis.py":  # it makes up people from estimates: its randomness protects nobody
            continue
        assert not re.search(r"import random|from random|np\.random|numpy\.random|default_rng", path.read_text()), path


# -- threads and forks

HERE = "batch/keystream.py"


def drawn(source: Any, *numbers: int) -> list[bytes]:
    """Draw some words of each of these streams."""
    found = [words_of(source.stream(number), 4) for number in numbers]
    return [part[i : i + 8] for part in found for i in range(0, len(part), 8)]


def test_threads_of_a_forked_process_never_use_its_parents_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keystream.fastest()
    processes = itertools.count(os.getpid() + 1)
    parents: list[bytes] = []

    def make() -> tuple[Any, Any]:
        source = Keystream()
        parents[:] = drawn(source, 1, 2)
        process = next(processes)
        monkeypatch.setattr(os, "getpid", lambda: process)
        return lambda: source.stream(1), lambda: source.stream(2)

    orders_seen = 0
    for streams in orders(make, HERE, "stream", "opcode"):
        words = [words_of(stream, 1) for stream in streams]
        assert len({*parents, *words}) == 8 + 2  # a chance repetition has a probability below 1e-17
        orders_seen += 1
    assert orders_seen > 50


def test_a_number_is_dealt_once_to_one_thread_alone() -> None:
    def make() -> tuple[Any, Any]:
        source = Keystream()

        def ask() -> bool:
            try:
                source.stream(5)
            except RuntimeError as error:
                return "dealt before" not in str(error)
            return True

        return ask, ask

    for found in orders(make, HERE):
        assert sorted(found) == [False, True]


@pytest.mark.parametrize("kind", [CounterStream, SealedStream])
def test_two_threads_that_read_one_stream_get_other_words(kind: Any) -> None:
    if kind is SealedStream and not hasattr(AESGCM, "encrypt_into"):
        pytest.skip("this cryptography has no AESGCM.encrypt_into")

    def make() -> tuple[Any, Any]:
        stream = kind(KEY, 0)
        return lambda: words_of(stream, 4), lambda: words_of(stream, 4)

    alone = kind(KEY, 0)
    expected = {words_of(alone, 4), words_of(alone, 4)}
    for found in orders(make, HERE):
        assert set(found) == expected


def test_threads_that_need_more_than_usual_all_get_enough() -> None:
    """A thread that is given too few zeros to encrypt draws too few words, and takes what was there for the rest."""
    sizes = itertools.count((1 << 18) // 8 + 1)
    wanted: list[int] = []

    def ends(number: int, size: int) -> bytes:
        return words_of(CounterStream(KEY, number), size)[-16:]

    def make() -> tuple[Any, Any]:
        wanted[:] = next(sizes), next(sizes)
        small, large = wanted
        return lambda: ends(0, small), lambda: ends(1, large)

    for found in orders(make, HERE):
        assert found == (ends(0, wanted[0]), ends(1, wanted[1]))


def test_many_threads_share_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads change as often as Python can, and all want streams of one keystream that has just been forked."""
    before = sys.getswitchinterval()
    source, numbers = Keystream(), iter(range(800))
    parents = drawn(source, *range(10))
    process = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: process)
    gate, take = threading.Barrier(16), threading.Lock()

    def work() -> list[bytes]:
        gate.wait()
        found: list[bytes] = []
        for _ in range(50):
            with take:
                number = next(numbers)
            found += drawn(source, number)
        return found

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            found = [word for part in pool.map(lambda _: work(), range(16)) for word in part]
    finally:
        sys.setswitchinterval(before)
    assert len({*parents, *found}) == 4 * (10 + 800)  # a chance repetition has a probability below 1e-12


def test_a_stream_does_not_go_on_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (CounterStream, keystream.fastest()):
        stream = kind(KEY, 0)
        words_of(stream, 4)
        monkeypatch.setattr(keystream, "_here", keystream._Here())  # as after a fork that Python sees
        with pytest.raises(RuntimeError, match="ends with a fork"):
            words_of(stream, 4)
        stream = kind(KEY, 0)
        process = os.getpid() + 1
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda number=process: number)  # and after one that it does not see
            with pytest.raises(RuntimeError, match="ends with a fork"):
                words_of(stream, 4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked on this system")
def test_a_fork_while_another_thread_has_the_lock_does_not_wait_for_it() -> None:
    source = Keystream()
    parents, parent = drawn(source, 0), os.getpid()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with keystream._here.lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of threads
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        os.getpid = lambda: parent  # a process of another namespace may have its parent's number
        os.write(writer, b"".join(drawn(source, 0)))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    done.set()
    thread.join()
    assert len(found) == 32
    assert not {found[i : i + 8] for i in range(0, 32, 8)} & set(parents)


def test_a_signal_handler_may_randomise_while_its_thread_is_dealt_a_stream() -> None:
    source = Keystream()
    with keystream._here.lock:
        assert drawn(source, 0)


def test_a_cipher_that_writes_too_little_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystream, "_zeros", lambda size: memoryview(bytes(size - 8)))
    for kind in (CounterStream, SealedStream) if hasattr(AESGCM, "encrypt_into") else (CounterStream,):
        with pytest.raises((RuntimeError, ValueError)):
            words_of(kind(KEY, 0), 10)
