"""Choosing channels and their integers. The choice uses public knowledge only, before anybody is asked."""

from __future__ import annotations

from hush.core.design.average import histogram
from hush.core.design.categorical import CATEGORICAL
from hush.core.design.choice import Makers, best_k, cube_error, question_weights
from hush.core.design.joint import cells, cube
from hush.core.design.numeric import BLOCK, NUMERIC
from hush.core.design.plans import design

__all__ = [
    "BLOCK",
    "CATEGORICAL",
    "NUMERIC",
    "Makers",
    "best_k",
    "cells",
    "cube",
    "cube_error",
    "design",
    "histogram",
    "question_weights",
]
