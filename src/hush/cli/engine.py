"""Checks of the batch engine: the same reports as the scalar path, kept kernels, AES in the processor."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hush.cli.checks import Noted, Trouble
from hush.core.coins import Coins
from hush.core.design import design
from hush.device.coins import SystemCoins

PEOPLE = 40
PROCESSOR = "/proc/cpuinfo"


class _Kept(Coins):
    """Words of the system, which are remembered."""

    def __init__(self) -> None:
        self._coins = SystemCoins()
        self.words: list[int] = []

    def word(self) -> int:
        """Return the next word."""
        self.words.append(self._coins.word())
        return self.words[-1]


class Again:
    """The words of one person for the batch engine, with others behind them that must not matter."""

    def __init__(self, words: list[int], behind: Any) -> None:
        self._words, self._behind = words, behind

    def stream(self, number: int) -> Again:
        """Return the only stream."""
        return self

    def fill(self, words: Any, count: int) -> None:
        """Write the next words."""
        given = min(count, len(self._words))
        words[:given] = self._words[:given]
        del self._words[:given]
        words[given:count] = self._behind[: count - given]


def agreement(again: Any = Again) -> str:
    """Draw reports of made-up people by the scalar path, and by the batch engine from the same words."""
    import numpy as np

    from hush import batch
    from hush.batch.engine import BLOCK
    from hush.batch.plainly import kernels_only
    from hush.core.schema import Categorical, Numeric, Schema
    from hush.device.randomise import randomise_from
    from hush.server.tally import Tally

    schema = Schema([Numeric("x", 0, 1), Categorical("few", ["a", "b", "c"]), Categorical("many", list(range(30)))])
    plan = design(schema, 1.0, k=2, title="hush doctor")
    behind = np.frombuffer(os.urandom(8 * BLOCK), dtype=np.uint64)
    for person in range(PEOPLE):
        record = {"x": person / PEOPLE, "few": "abc"[person % 3], "many": person % 30}
        coins = _Kept()
        report = randomise_from(coins, plan, record)
        data = batch.encode(plan, {name: [value] for name, value in record.items()})
        with kernels_only():
            table = batch._randomise_from(again(coins.words, behind), plan, data, 1, True)  # noqa: SLF001 - no public function takes words
        alone = Tally(plan)
        alone.add(report)
        if batch.tally(plan, table) != alone or table.column("report")[0].as_py() != report.id:
            raise Trouble("the batch engine draws other reports than the scalar path. Do not use it on this machine")
    return f"{PEOPLE} people have the same reports by the scalar path and by compiled kernels"


def kernels() -> str:
    """Look for compiled kernels that are kept for the next process."""
    from numba import config

    from hush.batch.kernels import KERNELS
    from hush.batch.native import kept

    if config.DISABLE_JIT:
        raise Trouble("NUMBA_DISABLE_JIT is set, so nothing is compiled", "unset NUMBA_DISABLE_JIT")
    places = {name: kept(kernel) for name, kernel in KERNELS.items()}
    folder = next((place.folder for place in places.values() if place is not None), None)
    remedy = "set NUMBA_CACHE_DIR to a folder that stays and can be written to"
    if folder is None:
        raise Noted("no folder can be written to, so kernels are compiled in every process", remedy)
    ready = sum(place is not None and place.compiled for place in places.values())
    text = f"{ready} of {len(KERNELS)} are compiled, in {folder}; others when they are first used"
    if not os.access(folder, os.W_OK):
        raise Noted(f"{text}. It cannot be written to", remedy)
    return text


def threads() -> str:
    """Return how many threads are used."""
    from hush.batch.engine import thread_count

    return f"{thread_count(None)}, one for each core that this process may use"


def instructions(path: str = PROCESSOR) -> str:
    """Look for the processor's instructions for AES, without which words take ten times as long or more."""
    try:
        text = Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        raise Noted("this system does not say what its processor can do") from None
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.M)
    if found is None:
        raise Noted("this system does not say what its processor can do")
    flags = found[1].split()
    if "aes" not in flags:
        raise Noted("the processor has no instructions for AES: the same words, but slower")
    return "instructions for AES" + (", wide ones too" if "vaes" in flags else "")
