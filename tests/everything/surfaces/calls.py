"""Python: what a notebook calls and shows of a made-up plan, its tally and its predictions."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import hush
from hush.errors import EstimateError
from tests.everything.hostile import calls, faults
from tests.everything.surfaces.lives import Life
from tests.everything.surfaces.saying import amiss

OFTEN = 3
"""There are few of some calls: so many times their share of them is tried."""


class Calls:
    """The functions of hush, with what a life has."""

    def __init__(self, life: Life, share: float = 1.0) -> None:
        self.life, self.share = life, share

    def __call__(self) -> Iterator[str]:
        """Yield findings."""
        plan, people = self.life.plan, self.life.case.people
        shown: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("plan", lambda: plan),
            ("predict", lambda: hush.predict(plan, people)),
            ("predict for one", lambda: hush.predict(plan, 1)),
            ("foresee", lambda: hush.foresee(plan, people) if _relates(self.life) else None),
            ("worth", lambda: hush.worth(plan, people)),
        )
        world, drawn = random.Random(self.life.seed), random.Random(f"calls {self.life.seed}")
        for name, show in shown:
            if drawn.random() < OFTEN * self.share:
                yield from self._shown(name, show)
        for name, call in calls(self.life.tally, self.life.other, world):
            if drawn.random() >= self.share:
                continue
            try:
                rows = call()
                yield from (f"{name}: {wrong}" for wrong in faults(plan.schema, rows))
            except EstimateError as error:
                yield from (f"{name}: {wrong}" for wrong in amiss(str(error)))
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
                yield f"{name}: {type(error).__name__}: {error}"

    def _shown(self, name: str, call: Callable[[], Any]) -> Iterator[str]:
        try:
            with warnings.catch_warnings(record=True):
                found = call()
                text = str(found)
                html = getattr(found, "_repr_html_", str)()
        except hush.DesignError as error:
            if "people are needed for this margin" not in str(error):
                yield f"hush.{name}: {error}"
            return
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a finding
            yield f"hush.{name}: {type(error).__name__}: {error}"
            return
        yield from (f"hush.{name}: {wrong}" for wrong in amiss(text) if found is not None)
        if "nan" in html.lower().split():
            yield f"hush.{name}: nan in its HTML"


def _relates(life: Life) -> bool:
    return bool(life.case.options.get("relations") or life.case.options.get("ranges"))
