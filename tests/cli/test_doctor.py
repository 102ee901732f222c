"""The doctor: every check passes what is sound, and has a broken twin that it must catch."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache, reduce
from importlib import import_module
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import hush
from hush.batch import keystream, native
from hush.batch.kernels import KERNELS
from hush.batch.keystream import CounterStream, Keystream, SealedStream
from hush.cli import checks, doctor, engine, installed, randomness
from hush.cli.checks import Finding, Noted, Trouble, look
from hush.cli.commands import program

# -- words


def fair(seed: int) -> list[int]:
    generator = random.Random(seed)
    return [generator.getrandbits(64) for _ in range(randomness.COUNT)]


def test_fair_words_pass() -> None:
    """The words are fixed. Over other seeds 1200 tests of at most 5e-8 each would raise 6e-5 false alarms."""
    assert [randomness.alarms(fair(seed)) for seed in range(200)] == [[]] * 200


def test_the_systems_words_pass() -> None:
    """False alarms: 12 tests of at most 5e-8 each, 6e-7 together."""
    for draw in (randomness.system_words, randomness.keystream_words):
        assert randomness.alarms(draw()) == []


def sparse() -> list[int]:
    """Return words of which every bit is 1 once in 64 times."""
    return [reduce(and_, words) for words in zip(*(fair(seed) for seed in range(100, 106)), strict=True)]


BROKEN: dict[str, Callable[[list[int]], Sequence[int]]] = {
    "constant": lambda words: [words[0]] * len(words),
    "zeros": lambda words: [0] * len(words),
    "a counter": lambda words: range(len(words)),
    "a repeated block": lambda words: words[: len(words) // 2] * 2,
    "one repeated word": lambda words: [*words[:-1], words[0]],
    "a stuck bit": lambda words: [word | 1 << 17 for word in words],
    "a biased bit": lambda words: [word | (words[i - 1] & words[i - 2] & 1 << 5) for i, word in enumerate(words)],
    "too many ones, by 0.8 in 100": lambda words: [word | rare for word, rare in zip(words, sparse(), strict=True)],
    "neighbours alike, 0.8 in 100 too often": lambda words: [
        word ^ (word ^ word >> 1) & rare & randomness.ALL >> 1 for word, rare in zip(words, sparse(), strict=True)
    ],
    "one byte never": lambda words: [
        int.from_bytes(word.to_bytes(8, "big").replace(b"\x55", b"\xaa"), "big") for word in words
    ],
    "text": lambda words: [int.from_bytes(f"{word % 10**8:08}".encode(), "big") for word in words],
    "doubled bits": lambda words: [sum((word >> i & 1) * 3 << 2 * i for i in range(32)) for word in words],
    "each word and its complement": lambda words: [words[i // 2] ^ (-(i % 2) & randomness.ALL) for i in range(4096)],
    "32 bits": lambda words: [word >> 32 for word in words],
    "bytes below 250": lambda words: [
        int.from_bytes(bytes(byte % 250 for byte in word.to_bytes(8, "big")), "big") for word in words
    ],
    "no words": lambda words: [],
    "too large": lambda words: [word + (1 << 64) for word in words],
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_words_are_caught(name: str) -> None:
    words = list(BROKEN[name](fair(7)))
    assert randomness.alarms(words), name
    with pytest.raises(Trouble, match="Do not randomise"):
        randomness.healthy(words)


@cache
def alarms_of_broken_words() -> list[list[str]]:
    return [randomness.alarms(list(make(fair(7)))) for make in BROKEN.values()]


@pytest.mark.parametrize("test", randomness.TESTS)
def test_every_test_of_words_catches_something_alone(test: str) -> None:
    """No test is there for nothing: it is the only one that catches some of the broken words."""
    assert [test] in alarms_of_broken_words()


def test_a_constant_source_of_the_system_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: b"x" * size)
    assert look("", "", lambda: randomness.healthy(randomness.system_words())).state == checks.WRONG


def test_a_keystream_of_zeros_is_caught() -> None:
    class Zeros:
        def stream(self, number: int) -> Any:
            return self

        def fill(self, words: Any, count: int) -> None:
            words[:count] = 0

    with pytest.raises(Trouble, match="words repeat"):
        randomness.healthy(randomness.keystream_words(Zeros()))


@pytest.mark.skipif(not hasattr(os, "getrandom"), reason="this system has no getrandom")
def test_a_kernel_without_entropy_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "initialised" in randomness.pool()

    def waits(size: int, flags: int) -> bytes:
        raise BlockingIOError

    monkeypatch.setattr(os, "getrandom", waits)
    with pytest.raises(Trouble, match="gathered"):
        randomness.pool()
    monkeypatch.delattr(os, "getrandom")
    assert randomness.pool() == "os.urandom"


# -- forks


def test_forks_draw_apart() -> None:
    assert "of its own" in randomness.apart(randomness.system_draw)
    assert "of its own" in randomness.apart(randomness.keystream_draw())


def test_a_fork_that_repeats_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from hush.device.coins import SystemCoins

    shared = SystemCoins()
    shared.word()  # a block of words that both processes hold
    with pytest.raises(Trouble, match="same words"):
        randomness.apart(lambda: shared.word().to_bytes(8, "big"))
    here = keystream._here
    monkeypatch.setattr(keystream, "_Here", lambda: here)  # it cannot notice the fork, in either way
    monkeypatch.setattr(keystream.os, "getpid", lambda: 1)  # type: ignore[attr-defined]
    with pytest.raises(Trouble, match="same words"):
        randomness.apart(randomness.keystream_draw())


def test_a_fork_that_fails_or_hangs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "PATIENCE", 0.2)
    parent = os.getpid()

    def fails() -> bytes:
        if os.getpid() != parent:
            raise OSError
        return b"here"

    def hangs() -> bytes:
        while os.getpid() != parent:
            pass
        return b"here"

    for draw in (fails, hangs):
        with pytest.raises(Trouble, match="drew nothing"):
            randomness.apart(draw)
    monkeypatch.delattr(os, "fork")
    with pytest.raises(Noted):
        randomness.apart(randomness.system_draw)


# -- the keystream and the engine


def test_the_keystream_is_as_published() -> None:
    assert randomness.known_answer().startswith("AES-256 as published")


class WrongKey(CounterStream):
    def __init__(self, key: bytes, number: int) -> None:
        super().__init__(key[:-1] + bytes([key[-1] ^ 1]), number)


class NoNumber(CounterStream):
    def __init__(self, key: bytes, number: int) -> None:
        super().__init__(key, 0)


class Swapped(SealedStream):
    def fill(self, words: Any, count: int) -> None:
        super().fill(words, count)
        words[:count] = words[:count].byteswap()


class Stuck(SealedStream):
    """As published for the key of the published values alone."""

    def __init__(self, key: bytes, number: int) -> None:
        super().__init__(bytes(32), number)


@pytest.mark.parametrize("streams", [(WrongKey, None), (NoNumber, None), (None, Swapped), (None, Stuck)])
def test_a_wrong_keystream_is_caught(streams: tuple[Any, Any]) -> None:
    if streams[0] is None and not hasattr(AESGCM, "encrypt_into"):
        pytest.skip("this version of cryptography has no stream by GCM that could be wrong")
    with pytest.raises(Trouble, match="not AES-256"):
        randomness.known_answer(*streams)


def test_both_paths_draw_the_same() -> None:
    assert "same reports" in engine.agreement()


def test_an_engine_that_draws_otherwise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shifted(engine.Again):
        def __init__(self, words: list[int], behind: Any) -> None:
            super().__init__([words[0], *words], behind)

    with pytest.raises(Trouble, match="other reports"):
        engine.agreement(Shifted)
    monkeypatch.setitem(KERNELS, "symbol", lambda job, done, words, at, limit: (len(job.people), at + 1))
    assert look("", "", engine.agreement).state == checks.WRONG


def test_kernels_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.agreement()
    kept = native.kept(KERNELS["symbol"])
    assert kept is not None
    assert kept.compiled
    assert Path(kept.folder).is_dir()
    assert kept.folder in engine.kernels()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(Noted, match="cannot be written"):
        engine.kernels()
    monkeypatch.setattr(native, "kept", lambda kernel: None)
    with pytest.raises(Noted, match="every process"):
        engine.kernels()
    assert native.kept is not None
    from numba import config

    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    with pytest.raises(Trouble, match="NUMBA_DISABLE_JIT"):
        engine.kernels()


def test_a_kernel_that_is_not_kept_has_no_place() -> None:
    assert native.kept(len) is None


def test_the_processor_is_asked(tmp_path: Path) -> None:
    page = tmp_path / "cpuinfo"
    for text, wanted in {
        "flags\t\t: fpu aes vaes": "wide",
        "Features\t: fp asimd aes": "instructions for AES",
    }.items():
        page.write_text(f"processor : 0\n{text}\n")
        assert wanted in engine.instructions(str(page))
    for text, wanted in {"flags : fpu": "slower", "nothing": "does not say"}.items():
        page.write_text(text)
        with pytest.raises(Noted, match=wanted):
            engine.instructions(str(page))
    with pytest.raises(Noted, match="does not say"):
        engine.instructions(str(tmp_path / "absent"))


# -- the command


def test_everything_becomes_one_line() -> None:
    def lacking() -> str:
        return str(import_module("hush_of_another_world"))

    def odd() -> str:
        raise RuntimeError("a\nb")

    def numpyless() -> str:
        raise ModuleNotFoundError(name="numpy.core")

    assert look("p", "n", lambda: "yes") == Finding("p", "n", "good", "yes")
    assert look("p", "n", lacking).state == "wrong"
    assert look("p", "n", odd) == Finding("p", "n", "wrong", "RuntimeError: a b")
    assert look("p", "n", numpyless).remedy == "pip install 'hush-ldp[batch]'"


def test_the_home_folder_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, link = tmp_path / "somebody", tmp_path / "link"
    home.mkdir()
    link.symlink_to(home)

    def cannot() -> str:
        raise PermissionError(13, "Permission denied", str(home / "x"))

    def troubled() -> str:
        raise Noted(f"in {home}. It cannot be written to")

    for folder in (home, link):
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("USERPROFILE", str(folder))
        for place in (folder, folder.resolve()):
            assert look("", "", lambda place=place: f"2 in {place}/.cache/a; b").text == "2 in ~/.cache/a; b"  # type: ignore[misc]
        assert look("", "", lambda: f"{home}").text == "~"
        for other in (f"{home}s/x", f"{home}-2", f"/else{home}/x"):
            assert look("", "", lambda other=other: other).text == other  # type: ignore[misc]
        assert look("", "", cannot).text == "PermissionError: [Errno 13] Permission denied: '~/x'"
        assert look("", "", troubled).text == "in ~. It cannot be written to"
    for nowhere in ("/", ""):
        monkeypatch.setenv("HOME", nowhere)
        assert look("", "", lambda: "/a b/ c").text == "/a b/ c"


def test_no_check_of_the_doctor_tells_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of kernels, and a Java that does not say what it is."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setattr(installed, "version_of", lambda name: "4.0.0")
    monkeypatch.setattr(native, "kept", lambda kernel: native.Kept(str(tmp_path / "kernels"), True))
    (tmp_path / "kernels").mkdir()
    found = [look("", "", engine.kernels).text, look("", "", installed.java).text]
    assert found[0].startswith(f"{len(KERNELS)} of {len(KERNELS)} are compiled, in ~/kernels; ")
    assert found[1] == "~/jdk/bin/java does not say which version it is"


def test_the_command_for_machines() -> None:
    """False alarms: 12 tests of at most 5e-8 each."""
    result = CliRunner().invoke(program, ["doctor", "--json"])
    found = json.loads(result.stdout)
    assert result.exit_code == (0 if found["sound"] else 1)
    assert found["hush"] == hush.__version__
    wrong = [check for check in found["checks"] if check["state"] == "wrong" and check["part"] != "extras"]
    assert wrong == []
    assert {"randomness", "keystream", "batch engine", "storage", "others", "extras"} == {
        check["part"] for check in found["checks"]
    }


def test_the_exit_code_says_that_something_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = Finding("a", "b", "good", "c"), Finding("a", "d", "wrong", "e", "f")
    missing = Finding("x", "y", "missing", "z", "w")
    for found, code, words in (
        ([good], 0, "Everything installed works."),
        ([good, missing], 0, "Not installed, and not needed for the rest: 1."),
        ([good, bad, missing], 1, "1 thing is wrong."),
    ):
        monkeypatch.setattr(doctor, "findings", lambda found=found: iter(found))
        result = CliRunner().invoke(program, ["doctor"])
        assert (result.exit_code, words in result.output) == (code, True)
        assert CliRunner().invoke(program, ["doctor", "--json"]).exit_code == code
    assert "  wrong    d            e: f\n" in result.output


def test_it_works_with_nothing_but_the_command_line() -> None:
    """Click, packaging and Rich are there: what needs more is missing, and nothing is wrong. False alarms: 3e-7."""
    code = """
import sys
class Bare:
    def find_spec(self, name, path=None, target=None):
        top = name.partition('.')[0]
        if top not in sys.stdlib_module_names and top not in ('click', 'packaging', 'rich', 'hush', 'pygments'):
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
sys.meta_path.insert(0, Bare())
from hush.cli import installed
here = installed.version_of
installed.version_of = lambda name: here(name) if name in ('click', 'packaging', 'rich') else None
installed.extras.__defaults__ = (None, installed.version_of)
import importlib.util
seen = importlib.util.find_spec
def find(name):
    try:
        return seen(name)
    except ModuleNotFoundError:
        return None
importlib.util.find_spec = find
sys.argv[1:] = ['doctor', '--json']
from hush.cli import main
main()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert result.returncode == 0, (result.stdout, result.stderr)
    assert result.stderr == ""
    states = {(check["part"], check["name"]): check["state"] for check in json.loads(result.stdout)["checks"]}
    assert states["randomness", "words"] == states["storage", "SQLite"] == "good"
    assert states["keystream", "cipher"] == states["batch engine", "agreement"] == "missing"


def test_numbers_are_words_of_the_keystream() -> None:
    words = randomness.keystream_words(Keystream())
    assert len(words) == randomness.COUNT
    assert np.array(words, dtype=np.uint64).dtype == np.uint64
