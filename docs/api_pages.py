"""Writes the reference of the Python interface, docs/api/*.md, from signatures and docstrings. A test compares."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import hush

FOLDER = Path(__file__).parent / "api"

# The names of `hush.__all__`, in the order of a collection. Names that no group has come under the last one.
GROUPS = {
    "The questions": ["Schema", "Numeric", "Categorical", "MISSING", "design", "Plan"],
    "Before the collection": [
        *("predict", "people_needed", "epsilon_needed", "Guess", "Prediction", "Predictions"),
        *("worth", "Worth", "Worths", "floors", "Floor", "Floors", "audit"),
    ],
    "In a crowd": ["shuffle", "Shuffled", "compose"],
    "On the device": ["randomise", "Report", "Ledger", "Series", "History", "Client"],
    "On the server": [
        *("Tally", "estimate", "Estimate", "Estimates", "change", "Change", "Changes"),
        *("distribution", "Distribution", "manipulation", "Manipulation", "Manipulations", "narrow"),
    ],
    "Relations": [
        *("crosstab", "Crosstab", "means", "Means", "Differences", "association", "Associations"),
        *("quantiles", "Quantile", "Quantiles", "below", "Below", "Shares", "consistent", "Consistent"),
        *("Related", "Relations", "foresee", "Foreseen", "Foresights", "shifts", "Shift", "Shifts", "synthesise"),
    ],
    "Trainings": ["Training", "Features", "Round", "Check", "first_round", "step", "gradient", "held_out"],
    "Errors": ["HushError"],
}
# Other modules: what each is for, and its public names if it has no `__all__`.
MODULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "hush.device.receipts": ("what a collector answers", ("Receipt",)),
    "hush.batch": ("whole tables", ()),
    "hush.batch.files": ("tables in files", ("randomise_file", "tally_files")),
    "hush.engines.duckdb": ("count reports in DuckDB", ("tally",)),
    "hush.engines.spark": ("count and randomise in Spark", ("tally", "randomise_once", "randomise")),
    "hush.learn.bayes": ("naive Bayes from relations", ("NaiveBayes", "one_round", "usual_bands")),
    "hush.learn.simulate": ("simulated trainings", ("LinearRegression", "LogisticRegression", "LinearSVC")),
    "hush.planning.audits": ("results of an audit", ()),
    "hush.plots": (
        "pictures",
        ("margins", "law", "estimates", "crosstab", "means", "differences", "quantiles", "below", "save"),
    ),
    "hush.testing": ("seeded randomness for tests", ("SeededCoins", "ListedCoins", "RecordedCoins")),
}
HEAD = "<!-- Written by docs/api_pages.py from the docstrings: change those, then run `python docs/api_pages.py`. -->\n"


def loaded(name: str) -> types.ModuleType:
    """Import a module. PySpark is 400 MB, and not needed to read three docstrings."""
    if importlib.util.find_spec("pyspark") is not None or not name.endswith(".spark"):
        return importlib.import_module(name)
    with mock.patch.dict(sys.modules):  # nobody else meets the stand-ins, or the module that was imported with them
        for part in ("pyspark", "pyspark.sql", "pyspark.sql.functions", "pyspark.sql.types", "pyspark.errors"):
            sys.modules[part] = mock.MagicMock()
        module = importlib.import_module(name)
    home, _, last = name.rpartition(".")
    vars(sys.modules[home]).pop(last, None)
    return module


def annotation(value: Any) -> str:
    """Return a type as the source writes it."""
    if isinstance(value, str):
        return value.strip("'\"")
    return value.__name__ if isinstance(value, type) else str(value).replace("typing.", "")


def parameter(item: inspect.Parameter) -> str:
    """Return a parameter as the source writes it."""
    stars: dict[Any, str] = {item.VAR_POSITIONAL: "*", item.VAR_KEYWORD: "**"}
    text = stars.get(item.kind, "") + item.name
    typed = item.annotation is not item.empty
    if typed:
        text += f": {annotation(item.annotation)}"
    if item.default is not item.empty:
        default = repr(item.default)
        default = "..." if " at 0x" in default or default.startswith("<") else default
        text += f" = {default}" if typed else f"={default}"
    return text


def signature(name: str, function: Any, *, method: bool = False, result: bool = True) -> str:
    """Return a call as the source declares it, on several lines if it is long."""
    found = inspect.signature(function)
    parameters = list(found.parameters.values())[1 if method else 0 :]
    parts, starred = [], False
    for item in parameters:
        if item.kind is item.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred = starred or item.kind is item.VAR_POSITIONAL
        parts.append(parameter(item))
    end = ""
    if result and found.return_annotation is not found.empty:
        end = f" -> {annotation(found.return_annotation)}"
    line = f"{name}({', '.join(parts)}){end}"
    return line if len(line) <= 100 else f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def prose(text: str) -> str:
    """Return a docstring as Markdown: indented drawings and formulas are fenced, signs of Markdown escaped."""
    found: list[str] = []
    fenced = False
    for line in text.splitlines():
        if line.startswith("    ") and (fenced or not found or not found[-1]):
            if not fenced:
                found.append("```text")
            fenced = True
            found.append(line[4:])
            continue
        if fenced and line:
            while not found[-1]:
                found.pop()
            found += ["```", ""]
            fenced = False
        parts = re.split(r"(`+[^`]+`+)", line)
        parts[::2] = [re.sub(r"(<|(?<= )\*(?= ))", r"\\\1", part) for part in parts[::2]]
        found.append("".join(parts))
    if fenced:
        found.append("```")
    return re.sub(r"::$", ":", "\n".join(found), flags=re.M)


def ours(value: Any) -> bool:
    """Return whether something is defined in hush."""
    return str(getattr(value, "__module__", "")).partition(".")[0] == "hush"


def members(kind: type) -> Iterator[tuple[str, str, str]]:
    """Return name, declaration and docstring of the public methods and properties of a class, inherited ones too."""
    seen = set()
    for base in kind.__mro__:
        for name, value in vars(base).items() if ours(base) else ():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            shown = f"{kind.__name__}.{name}"
            if isinstance(value, property | functools.cached_property):
                function = value.fget if isinstance(value, property) else value.func
                result = inspect.signature(function).return_annotation if function else inspect.Parameter.empty
                typed = "" if result is inspect.Parameter.empty else f": {annotation(result)}"
                yield name, shown + typed, inspect.getdoc(value) or ""
            elif isinstance(value, classmethod):
                yield (
                    name,
                    "@classmethod\n" + signature(shown, value.__func__, method=True),
                    inspect.getdoc(value) or "",
                )
            elif isinstance(value, staticmethod):
                yield name, "@staticmethod\n" + signature(shown, value.__func__), inspect.getdoc(value) or ""
            elif isinstance(value, types.FunctionType) and ours(value):
                yield name, signature(shown, value, method=True), inspect.getdoc(value) or ""


def block(declaration: str, text: str) -> str:
    """Return a declaration and its docstring."""
    return f"```py\n{declaration}\n```\n\n{prose(text)}\n"


def entry(name: str, value: Any) -> str:
    """Return the section of one public name."""
    if inspect.isclass(value):
        text = inspect.getdoc(value) or ""
        if issubclass(value, BaseException):
            bases = ", ".join(base.__name__ for base in value.__bases__)
            return f"### {name}\n\n" + block(f"class {name}({bases})", text)
        makes = [base for base in value.__mro__ if {"__init__", "__new__"} & vars(base).keys()][:1]
        called = dataclasses.is_dataclass(value) or any(map(ours, makes))
        declared = signature(f"class {name}", value, result=False) if called else f"class {name}"
        if dataclasses.is_dataclass(value) and text.startswith(f"{name}("):
            text = ""
        parts = [f"### {name}\n\n" + block(declared, text)]
        parts += [f"#### {name}.{member}\n\n{block(line, said)}" for member, line, said in members(value)]
        return "\n".join(parts)
    if callable(value):
        return f"### {name}\n\n" + block(signature(name, value), inspect.getdoc(value) or "")
    return f"### {name}\n\n" + f"```py\n{name} = {value!r}\n```\n"


def hush_page() -> str:
    """Return the page of `hush` itself."""
    groups = {title: list(names) for title, names in GROUPS.items()}
    grouped = {name for names in groups.values() for name in names}
    groups[list(groups)[-1]] += [name for name in hush.__all__ if name not in grouped]
    parts = [
        HEAD,
        "# hush\n",
        "`import hush` needs the standard library alone, and loads each name at its first use.\n",
    ]
    for title, names in groups.items():
        parts.append(f"## {title}\n")
        if title == "Errors":
            parts.append(prose(inspect.getdoc(sys.modules[hush.HushError.__module__]) or "") + "\n")
        parts += [entry(name, getattr(hush, name)) for name in names]
    return "\n".join(parts)


def module_page(name: str) -> str:
    """Return the page of another module."""
    about, names = MODULES[name]
    module = loaded(name)
    parts = [HEAD, f"# {name}: {about}\n", prose(inspect.getdoc(module) or "") + "\n"]
    parts += [entry(item, getattr(module, item)) for item in names or module.__all__]
    return "\n".join(parts)


def contents() -> str:
    """Return the list of pages."""
    rows = [
        HEAD,
        "# Python interface\n",
        "Every public name with its signature and docstring. [In Python](../guide.md) shows how they work together.\n",
        "| module | for |",
        "|---|---|",
        "| [hush](hush.md) | plans, reports, tallies, estimates, the ledger, errors |",
    ]
    rows += [f"| [{name}]({name}.md) | {about} |" for name, (about, _) in MODULES.items()]
    return "\n".join(rows) + "\n"


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    made = {"index.md": contents(), "hush.md": hush_page()}
    made |= {f"{name}.md": module_page(name) for name in MODULES}
    return {name: re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n" for name, text in made.items()}


def write() -> None:
    """Write the pages, and remove those of modules that are gone."""
    FOLDER.mkdir(exist_ok=True)
    written = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in written:
            old.unlink()
    for page, text in written.items():
        (FOLDER / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
