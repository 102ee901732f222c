"""Simulated trainings: find out what a number of people could teach a model at some epsilon.

`hush.learn.simulate` has models with the interface of scikit-learn. They take data in the clear, and protect nobody.
Live trainings use `hush.Training`, `hush.first_round` and `hush.step` on a server, and `hush.gradient` on a device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush.learn import bayes as bayes
    from hush.learn import labels as labels
    from hush.learn import live as live
    from hush.learn import simulate as simulate


def __getattr__(name: str) -> object:
    if name == "simulate":  # it needs scikit-learn, and is loaded when it is first used
        import hush.learn.simulate as module

        return module
    if name == "labels":
        import hush.learn.labels as found

        return found
    if name == "live":
        import hush.learn.live as batches

        return batches
    if name == "bayes":
        import hush.learn.bayes as relations

        return relations
    if name == "flower":  # it needs Flower: the extra `flower`
        import hush.learn.flower as mod

        return mod
    if name == "torch":  # it needs PyTorch, which no extra brings
        import hush.learn.torch as loss

        return loss
    raise AttributeError(f"module 'hush.learn' has no attribute {name!r}")
