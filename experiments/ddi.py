"""The codebook of an extract of IPUMS, from its DDI file (XML): where variables are in a line, and what codes mean.

The file is parsed by the standard library's expat. A document type is refused, as only there can a file declare
entities that grow to gigabytes or name other files; so are files of an unlikely size.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

MOST_BYTES = 200_000_000
MOST_DIGITS = 18  # what 64 bits hold
# How codes are labelled that stand for no value. Such a code must never be taken for a number.
NO_VALUE = re.compile(r"\b(niu|not in universe|unknown|missing|not reported|not stated|n/a|illegible)\b", re.I)


class ExtractError(ValueError):
    """An extract, its codebook, or what was chosen of it, is not usable. Messages never have a person's value."""


@dataclass(frozen=True)
class Variable:
    """A variable of an extract. `start` and `end` are its place in a line of fixed width, from 0, if known."""

    name: str
    start: int = -1
    end: int = -1
    decimals: int = 0
    labels: dict[int, str] = field(default_factory=dict)
    no_value: dict[int, str] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    text: bool = False


@dataclass(frozen=True)
class Codebook:
    """The variables of an extract by name, and the width of its lines."""

    variables: dict[str, Variable]
    width: int


def read(path: Path) -> Codebook:
    """Return the codebook of a DDI file."""
    root = _parsed(path)
    for structure in root.iter("fileStrc"):
        if structure.get("type", "rectangular") != "rectangular":
            raise ExtractError(f"{path.name}: the extract must be rectangular, one line for each person")
    variables: dict[str, Variable] = {}
    for element in root.iter("var"):
        variable = _variable(element, path.name)
        if variable.name in variables:
            raise ExtractError(f"{path.name}: variable {variable.name} is there twice")
        variables[variable.name] = variable
    if not variables:
        raise ExtractError(f"{path.name}: no variables found; it should be the DDI file of an extract")
    return Codebook(variables, max(variable.end for variable in variables.values()))


def _parsed(path: Path) -> Element:
    if not path.exists():
        raise ExtractError(f"{path.name}: not in the folder")
    if path.stat().st_size > MOST_BYTES:
        raise ExtractError(f"{path.name}: too large for a codebook")
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(*_: object) -> None:
        raise ExtractError(f"{path.name}: a document type is not accepted; codebooks of IPUMS have none")

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda name, attributes: builder.start(name.rpartition(" ")[2], attributes)
    parser.EndElementHandler = lambda name: builder.end(name.rpartition(" ")[2])
    parser.CharacterDataHandler = builder.data
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except expat.ExpatError as error:
        raise ExtractError(f"{path.name}: not XML ({error})") from None
    return builder.close()


def _variable(element: Element, where: str) -> Variable:
    name = element.get("name", "")
    location, form = element.find("location"), element.find("varFormat")
    start = end = 0
    if location is not None:
        start = _whole(location.get("StartPos", ""), f"{where}: the start of {name}")
        end = _whole(location.get("EndPos", ""), f"{where}: the end of {name}")
        if not 1 <= start <= end or location.get("width", str(end - start + 1)) != str(end - start + 1):
            raise ExtractError(f"{where}: the place of {name} makes no sense")
    decimals = _whole(element.get("dcml", "0"), f"{where}: the decimals of {name}")
    if not 0 <= decimals <= (end - start + 1 if location is not None else MOST_DIGITS):
        raise ExtractError(f"{where}: {name} has more decimals than digits, or fewer than none")
    labels = {}
    for category in element.iter("catgry"):
        code, label = category.findtext("catValu", "").strip(), category.findtext("labl", "").strip()
        if re.fullmatch(r"-?\d+", code):  # others are those of texts, which cannot be chosen
            labels[int(code)] = label
    # Some codes of numbers are not listed, but in the text: "9999999 = NIU (not in universe)".
    noted = re.findall(r"(-?\d+)\s*=\s*([^\n.;]+)", element.findtext("codInstr", ""))
    described = {int(code): label.strip() for code, label in noted} | labels
    return Variable(
        name,
        start - 1,
        end,
        decimals,
        labels,
        {code: label for code, label in described.items() if NO_VALUE.search(label)},
        _bounds(element.find("valrng/range"), f"{where}: the range of {name}"),
        form is not None and form.get("type") == "character",
    )


def _bounds(element: Element | None, what: str) -> tuple[float, float] | None:
    if element is None or element.get("min") is None or element.get("max") is None:
        return None
    try:
        return float(element.get("min", "")), float(element.get("max", ""))
    except ValueError:
        raise ExtractError(f"{what} must be two numbers") from None


def _whole(text: str, what: str) -> int:
    if not re.fullmatch(r"-?\d{1,9}", text.strip()):
        raise ExtractError(f"{what} must be a whole number")
    return int(text)
