"""What the pages take for granted about the collector is so: types of documents, and numbers that stand in both."""

from __future__ import annotations

import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec")

import msgspec

from hush.collector.http import documents, frequent_documents
from hush.device import network
from hush.plots import panels

WEB = Path(__file__).parent.parent.parent / "web"
NAMES = {
    "Attribute": "AttributeStatement",
    "Question": "QuestionStatement",
    "Distribution": "DistributionDocument",
    "Frequent": "FrequentDocument",
    "Timeline": "TimelineDocument",
    "Relation": "RelationStatement",
    "Related": "RelationDocument",
    "Range": "RangeDocument",
    "Period": "PeriodEntry",
    "Periods": "PeriodsDocument",
    "Changes": "ChangesDocument",
}
"""Interfaces of the pages that are called otherwise than the documents."""

TEXT = (WEB / "pages" / "documents.ts").read_text(encoding="utf-8")
INTERFACES = dict(re.findall(r"^export interface (\w+) \{\n(.*?)^\}", TEXT, re.MULTILINE | re.DOTALL))
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}


def written(kind: Any) -> str:
    """Return a type as TypeScript has it."""
    if kind in PLAIN:
        return PLAIN[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is list:
        return f"{written(inner[0])}[]"
    if origin is dict:
        return f"Record<{', '.join(map(written, inner))}>"
    if origin is types.UnionType:
        return " | ".join(dict.fromkeys(map(written, inner)))
    assert issubclass(kind, msgspec.Struct)
    name = next((ours for ours, theirs in NAMES.items() if theirs == kind.__name__), kind.__name__)
    if name in INTERFACES:
        return name
    return f"{{ {'; '.join(f'{field}: {text}' for field, text in fields(kind).items())} }}"


def fields(struct: Any) -> dict[str, str]:
    return {name: written(kind) for name, kind in typing.get_type_hints(struct).items()}


@pytest.mark.parametrize("name", INTERFACES)
def test_documents_of_the_pages_are_those_of_the_collector(name: str) -> None:
    """A page may leave out fields, and may know more of a text than that it is one."""
    room = frequent_documents if name.startswith("Frequent") else documents
    known = fields(getattr(room, NAMES.get(name, name)))
    found = dict(re.findall(r"^  (\w+): (.*);$", INTERFACES[name], re.MULTILINE))
    assert found
    if name == "Attribute":
        assert found.pop("kind") == '"numeric" | "categorical"'
    if name == "ChangeRow":
        assert found.pop("told") == '"up" | "down" | null'
    if name == "Periods":
        assert found.pop("by") == '"day" | "week" | null'
    if name == "Relation":
        assert found.pop("kind") == '"table" | "means" | "association" | "moments" | "range"'
    assert {field: known.get(field) for field in found} == found


def test_all_documents_that_the_pages_name_are_looked_at() -> None:
    assert len(INTERFACES) == TEXT.count("interface ") >= 10


def number(file: str, name: str) -> str:
    found = re.search(rf"const {name} = (.*?);", (WEB / file).read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def test_numbers_that_stand_on_both_sides_are_the_same() -> None:
    assert number("pages/charts.ts", "MOST_BARS") == str(panels.MAX_BARS)
    assert number("src/client.ts", "RETRIED") == str([*network.RETRIED])
    desk = re.search(r"\(min-width: \w+\)", number("pages/blocks.ts", "desk"))
    assert desk is not None
    assert f"@media {desk[0]} {{" in (WEB / "pages" / "dashboard.css").read_text(encoding="utf-8")
