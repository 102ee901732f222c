"""Two threads, one after the other and in between: every order of their steps with at most two changes of turn.

A step is a line of some file, or one instruction of Python's virtual machine. The first thread does a number of steps,
then the second some, then the first goes on to its end, and then the second. Most races show in one of these orders,
and the same ones are tried every time. A Python without a global lock runs instructions side by side, but it keeps
lists, dictionaries and sets whole: what is left to the program is what is tried here.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

PATIENCE = 0.003  # seconds after which a thread counts as waiting for a lock; a slow one costs an order, no alarm
ENOUGH = 60.0

Two = tuple[Callable[[], Any], Callable[[], Any]]


class _Turns:
    """A thread that stops after a number of steps, until it is told to go on."""

    def __init__(self, work: Callable[[], Any], counts: Callable[[CodeType], bool], step: str, steps: int) -> None:
        self._work, self._counts, self._step, self._left = work, counts, step, steps
        self.result: Any = None
        self.error: BaseException | None = None
        self.stopped, self.go_on = threading.Event(), threading.Event()
        self.done = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        sys.settrace(self._trace)
        try:
            self.result = self._work()
        except BaseException as error:  # noqa: BLE001 - a thread hands on what it raises
            self.error = error
        finally:
            sys.settrace(None)
            self.done = True
            self.stopped.set()

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not self._counts(frame.f_code):
            return None
        frame.f_trace_opcodes = self._step == "opcode"
        if event == self._step:
            if self._left == 0:
                self.stopped.set()
                self.go_on.wait(ENOUGH)
            self._left -= 1
        return self._trace

    def end(self, patience: float) -> bool:
        """Go on to the end. Say whether it was reached."""
        self.go_on.set()
        self._thread.join(patience)
        return self.done


def orders(make: Callable[[], Two], file: str, function: str = "", step: str = "line") -> Iterator[tuple[Any, Any]]:
    """Yield what two functions return, for every order. `make` is called anew for each; errors are raised.

    `step` is "line" or "opcode". Steps are counted in files whose path ends so, and there perhaps in one function only.
    """

    def counts(code: CodeType) -> bool:
        return code.co_filename.endswith(file) and function in ("", code.co_name)

    first_steps = 0
    while True:
        second_steps = 0
        while True:
            one, other = make()
            first = _Turns(one, counts, step, first_steps)
            assert first.stopped.wait(ENOUGH)
            ended = first.done
            second = _Turns(other, counts, step, second_steps)
            late = not second.stopped.wait(PATIENCE) or second.done
            first.end(PATIENCE)  # it may wait for a lock that the second one has
            assert second.end(ENOUGH)
            assert first.end(ENOUGH)
            for turns in (first, second):
                if turns.error is not None:
                    raise turns.error
            yield first.result, second.result
            if late:  # more steps of the second change nothing
                break
            second_steps += 1
        if ended:
            return
        first_steps += 1
