"""A plugin of pytest: imports fail as they do where only hush and the libraries of `versions.TESTING` are installed.

python -m pytest -p tests.release.bare [TESTS...]
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import PackageNotFoundError, distribution
from types import ModuleType

import pytest

from tests.release.versions import TESTING


def installed(requirements: Sequence[str]) -> set[str]:
    """Return the names of modules and packages that these requirements bring, with what they require themselves."""
    names: set[str] = set()
    seen: set[str] = set()
    waiting = [*requirements]
    while waiting:
        wanted, _, condition = waiting.pop().partition(";")
        name = re.split(r"[^\w.-]", wanted.strip(), maxsplit=1)[0].lower()
        if name in seen or "extra" in condition:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:  # other Pythons or systems need it
            continue
        names.update(path.parts[0].split(".")[0] for path in found.files or ())
        waiting += found.requires or ()
    return names


class Bare:
    """A finder that comes first, and says of every other library that it is not there."""

    def __init__(self, allowed: set[str]) -> None:
        self.allowed = allowed
        self.libraries = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Refuse a name, or leave it to the finders that follow."""
        if "." not in name and name not in self.allowed and PathFinder.find_spec(name, [*self.libraries]):
            raise ModuleNotFoundError(f"{name} is not among what versions.TESTING installs", name=name)
        return None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Begin before anything of the tests is imported."""
    sys.meta_path.insert(0, Bare(installed(TESTING)))
