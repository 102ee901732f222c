"""The key that a process shares with all processes it forks, made on import. `hush.device.answered` uses it."""

from __future__ import annotations

import os

PROCESS, KEY = os.getpid(), os.urandom(32)
