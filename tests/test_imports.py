"""What is loaded, and when: the trust boundary is an import boundary."""

from __future__ import annotations

import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hush

SOURCE = Path(hush.__file__).parent.parent


def isolated(code: str) -> str:
    """Run code without site-packages: an import of anything but hush and the standard library fails."""
    program = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {code}"
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


SESSION = """
import hush
schema = hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b"])])
plan = hush.Plan.from_json(hush.Plan.design(schema, 1.0).to_json())
tally = hush.Tally(plan)
for _ in range(200):
    tally.add(hush.Report.decode(plan, hush.randomise(plan, {"x": 0.5, "c": "a"}).encode()))
rows = hush.estimate(hush.Tally.from_json(tally.to_json(), plan))
print(len(rows))
"""


def test_the_whole_flow_needs_the_standard_library_alone() -> None:
    assert isolated(f"exec({SESSION!r})").strip() == "3"


LEARNING = """
from hush.learn import Features, Round, Training, gradient, held_out, step
import hush
schema = hush.Schema([hush.Numeric("x", 0, 1), hush.Categorical("c", ["a", "b", "c"])])
assert Features(schema).names == ("x", "c=a", "c=b")
label = hush.Categorical("bought", ["no", "yes"])
training = Training("t", "logistic", schema, label, 8.0, 2, 0.5, centre=(0.1, 0.2, 0.3), selection=(1, 1, 0.1))
round = Round.first(training)
for _ in range(2):
    round = Round.from_json(round.to_json())
    tally = hush.Tally(round.plan)
    for _ in range(20):
        tally.add(gradient(round, {"x": 0.5, "c": "a"}, "yes"))
    round = step(round, tally)
held_out(round, {"x": 0.5, "c": "b"}, "no")
print(round.done, *training.model(round.result)[0], "numpy" in sys.modules, "random" in sys.modules)
"""


def test_a_device_and_a_server_train_with_the_standard_library_alone() -> None:
    done, *coefficients, numpy, _ = isolated(f"exec({LEARNING!r})").split()
    assert (done, numpy) == ("True", "False")
    assert len(coefficients) == 3
    assert any(float(value) for value in coefficients)


def test_the_public_names_of_learning_are_listed_once() -> None:
    import hush.learn

    assert sorted(hush.learn._HOME) == sorted(hush.learn.__all__)
    for name in hush.learn.__all__:
        assert getattr(hush.learn, name).__name__ == name
    assert set(hush.learn.__all__) <= set(dir(hush.learn))
    block = Path(hush.learn.__file__).read_text().split("if TYPE_CHECKING:")[1].split("_HOMES")[0]
    for name in hush.learn.__all__:
        assert name in block
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hush.learn.nothing  # noqa: B018


def test_learning_loads_what_it_needs_and_no_more() -> None:
    loaded = isolated("import hush.learn; print(*sys.modules)").split()
    assert "hush.learn.rounds" not in loaded
    assert "hush.plan" not in loaded


def test_every_public_name_loads() -> None:
    for name in hush.__all__:
        assert getattr(hush, name) is not None
    assert {*hush.__all__, *hush._MODULES} <= set(dir(hush))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hush.nothing  # noqa: B018


PAGES = [
    *SOURCE.parent.glob("*.md"),
    *(page for page in (SOURCE.parent / "docs").rglob("*.md") if page.parent.name != "api"),  # docstrings name modules
    *(SOURCE.parent / "docs").glob("*.ipynb"),
]
REACHED = """
import sys
from operator import attrgetter
first = ""
for name in sys.argv[1:]:
    if name.partition(".")[0] != first:
        first = name.partition(".")[0]
        for module in [module for module in sys.modules if module.partition(".")[0] == "hush"]:
            del sys.modules[module]
        import hush
    try:
        attrgetter(name)(hush)
    except ModuleNotFoundError as error:
        if (error.name or "hush").partition(".")[0] == "hush":
            raise
"""


def test_every_name_in_the_documents_is_reached_from_hush() -> None:
    """`import hush` is enough, whatever else was imported before; a library that is not here may be missing."""
    names: set[str] = set()
    for page in PAGES:
        found = re.findall(r"(?<![\w.])hush\.([A-Za-z]\w*(?:\.[A-Za-z]\w*)*)", page.read_text())
        names |= {name for name in found if _exists(name)}
    assert {"client.Collector", "remote.CollectorError", "plots.save", "batch.files.randomise_file"} <= names
    command = [sys.executable, "-c", REACHED, *sorted(names)]
    env = os.environ | {"PYTHONPATH": str(SOURCE)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=env)  # noqa: S603
    assert result.returncode == 0, result.stderr


def _exists(name: str) -> bool:
    """Say whether hush has something of this name; other things are files (`hush.db`) and content types."""
    try:
        pkgutil.resolve_name(f"hush.{name}")
    except AttributeError:
        return False
    except ModuleNotFoundError as error:
        return (error.name or "hush").partition(".")[0] != "hush"
    return True


def test_the_public_names_are_listed_once() -> None:
    """The facade lists names for type checkers, for people and for loading: the lists agree."""
    assert sorted(hush._HOME) == sorted(hush.__all__)
    text = Path(hush.__file__).read_text()
    block = text.split("if TYPE_CHECKING:")[1].split("__version__")[0]
    for name in hush.__all__:
        assert name in block


@pytest.mark.parametrize(
    ("use", "absent"),
    [
        ("hush.Plan, hush.randomise", ["hush.tally", "hush.estimates", "sqlite3"]),
        ("hush.Tally, hush.estimate", ["hush.client", "hush.coins", "hush.ledger"]),
        ("hush.__version__", ["hush.plan", "hush.channels", "fractions"]),
    ],
)
def test_a_role_loads_only_its_own_code(use: str, absent: list[str]) -> None:
    loaded = isolated(f"import hush; {use}; print(*sys.modules)").split()
    assert not set(absent) & set(loaded)
    assert "random" not in loaded or "statistics" in loaded  # the standard library's normal quantile loads it
    assert "hush.testing" not in loaded


def test_the_device_never_loads_a_statistical_generator() -> None:
    loaded = isolated("import hush; hush.randomise, hush.Ledger; print(*sys.modules)").split()
    assert "random" not in loaded
    assert "numpy" not in loaded


def test_every_module_is_under_the_contracts() -> None:
    """A new module must be listed where seeded words are forbidden, and have its place in the layers."""
    import tomllib

    contracts = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    modules = {
        path.stem for path in (SOURCE / "hush").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    modules -= {"__init__", "__main__", "testing"}
    seeded = next(item for item in contracts if item.get("forbidden_modules") == ["hush.testing"])
    assert {name.removeprefix("hush.") for name in seeded["source_modules"]} == modules
    assert {name for layer in contracts[0]["layers"] for name in layer.split(" | ")} == modules
