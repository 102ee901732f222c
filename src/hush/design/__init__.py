"""Choosing channels and their integers. All of it is public knowledge, made before anybody is asked."""

from __future__ import annotations

from hush.design.average import histogram
from hush.design.categorical import CATEGORICAL
from hush.design.choice import Makers, best_k, cube_error, question_weights
from hush.design.joint import cells, cube
from hush.design.numeric import BLOCK, NUMERIC

__all__ = [
    "BLOCK",
    "CATEGORICAL",
    "NUMERIC",
    "Makers",
    "best_k",
    "cells",
    "cube",
    "cube_error",
    "histogram",
    "question_weights",
]
