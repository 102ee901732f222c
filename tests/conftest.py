"""Hypothesis without deadlines, as machines are shared; the same examples every time where CI is set."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("hush", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("hush")
