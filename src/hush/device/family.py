"""The key of a process and of all processes that it forks, made when hush is imported: `hush.device.answered`."""

from __future__ import annotations

import os

PROCESS, KEY = os.getpid(), os.urandom(32)
