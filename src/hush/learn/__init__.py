"""Simulated trainings: find out what a number of people could teach a model at some epsilon.

`hush.learn.simulate` has models with the interface of scikit-learn. They take data in the clear, and protect nobody.
Live trainings use `hush.Training`, `hush.first_round` and `hush.step` on a server, and `hush.gradient` on a device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush.learn import simulate as simulate


def __getattr__(name: str) -> object:
    if name == "simulate":  # it needs scikit-learn, and is loaded when it is first used
        import hush.learn.simulate as module

        return module
    raise AttributeError(f"module 'hush.learn' has no attribute {name!r}")
