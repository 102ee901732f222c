"""Choosing channels and their integers. All of it is public knowledge, made before anybody is asked."""

from __future__ import annotations

from hush.design.categorical import CATEGORICAL
from hush.design.joint import cells, cube
from hush.design.numeric import BLOCK, NUMERIC

__all__ = ["BLOCK", "CATEGORICAL", "NUMERIC", "cells", "cube"]
