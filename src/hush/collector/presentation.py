"""How the form presents a plan: its words, the order of its questions, their widgets and a colour.

A presentation lies beside the plan and is not in its id: words may be mended while people answer. It changes no value
of a record and no part of a report. All of it is text, and no page reads it as markup. Everything is checked at the
start, against the plan that it presents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from hush.core import codec
from hush.core.plan import Plan
from hush.core.schema import Attribute, Numeric
from hush.errors import InputError

LONGEST = 1 << 20
"""The longest file in bytes."""
LANGUAGES = ("en", "de", "fr", "es", "zh")
COLOUR = re.compile("#[0-9a-fA-F]{6}")
# Control characters, and those that turn the direction of the text around them.
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
MOST_BUTTONS, MOST_STEPS = 11, 10_000
LENGTHS = {
    "title": 200,
    "introduction": 2000,
    "thanks": 2000,
    "question": 300,
    "help": 1000,
    "a label": 200,
    "unit": 30,
}
"""The most characters of each text."""

Widget = Literal["", "buttons", "stars", "slider", "number"]
Language = Literal["", "en", "de", "fr", "es", "zh"]


class PresentedAttribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one attribute is asked.

    `labels`: words for categories, by the category as text. `order`: all categories, in the order in which they are
    shown. `widget`: how an integer is asked. Empty texts leave the form's own.
    """

    question: str = ""
    help: str = ""
    unit: str = ""
    widget: Widget = ""
    labels: dict[str, str] = {}
    order: list[str] = []


class Presentation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words and looks of a form. `order`: attributes to ask first. `accent`: a colour, as #1d5fa8."""

    title: str = ""
    introduction: str = ""
    thanks: str = ""
    language: Language = ""
    accent: str = ""
    order: list[str] = []
    attributes: dict[str, PresentedAttribute] = {}


def read(text: bytes, plan: Plan) -> Presentation:
    """Read the presentation of a plan, and check all of it."""
    value = codec.load(text, InputError, LONGEST, public=True)
    named = value.get("attributes") if isinstance(value, dict) else None
    for name, one in named.items() if isinstance(named, dict) else ():
        _converted(one, PresentedAttribute, f"attribute {name!r}: ")
    found: Presentation = _converted(value, Presentation, "")
    for what in ("title", "introduction", "thanks"):
        _check_text(getattr(found, what), what, "")
    if found.accent and COLOUR.fullmatch(found.accent) is None:
        raise InputError("accent must be a colour written as #rrggbb, such as #1d5fa8")
    _check_order(found.order, plan.schema.names, "order", "attributes of the plan")
    for name, shown in found.attributes.items():
        if name not in plan.schema.names:
            raise InputError(f"attribute {name!r}: is not in the plan; there are: {_few(plan.schema.names)}")
        _check(shown, plan.schema[name])
    return found


def _converted(value: Any, kind: type[Any], where: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}{error}") from None


def _check(shown: PresentedAttribute, attribute: Attribute) -> None:
    where = f"attribute {attribute.name!r}: "
    for what, text in _texts(shown):
        _check_text(text, what, where)
    if isinstance(attribute, Numeric):
        if shown.labels or shown.order:
            raise InputError(f"{where}labels and order are for categories, and this is a number")
        _check_widget(shown.widget, attribute, where)
        return
    if shown.widget or shown.unit:
        raise InputError(f"{where}widget and unit are for numbers, and this has categories")
    known = [str(value) for value in attribute.values]
    for value, label in shown.labels.items():
        if value not in known:
            raise InputError(f"{where}labels name categories of the plan; there are: {_few(known)}")
        if not label.strip():
            raise InputError(f"{where}a label must not be empty")
    labels = [shown.labels.get(value, value) for value in known]
    if len(set(labels)) < len(labels):
        raise InputError(f"{where}two categories have the same label")
    if shown.order and sorted(shown.order) != sorted(known):
        raise InputError(f"{where}order must name every category once; there are: {_few(known)}")


def _texts(shown: PresentedAttribute) -> Iterator[tuple[str, str]]:
    single = (("question", shown.question), ("help", shown.help), ("unit", shown.unit))
    return chain(single, (("a label", label) for label in shown.labels.values()))


def _check_widget(widget: Widget, attribute: Numeric, where: str) -> None:
    if not widget:
        return
    low, high = attribute.low, attribute.high
    if not (low.is_integer() and high.is_integer() and max(abs(low), abs(high)) < 2**53):
        raise InputError(f"{where}a widget asks for integers, so low and high must be integers")
    if widget == "buttons" and high - low >= MOST_BUTTONS:
        raise InputError(f"{where}widget 'buttons' takes {MOST_BUTTONS} integers at most, as 0 to 10")
    if widget == "stars" and not (low == 1 and high <= 10):
        raise InputError(f"{where}widget 'stars' takes integers from 1 to 10 at most: low must be 1")
    if widget == "slider" and high - low > MOST_STEPS:
        raise InputError(f"{where}widget 'slider' takes {MOST_STEPS:,} steps at most; use 'number'")
    if widget == "slider" and attribute.optional:
        raise InputError(f"{where}widget 'slider' cannot be left empty, and this attribute is optional; use 'number'")


def _check_text(text: str, what: str, where: str) -> None:
    most = LENGTHS[what]
    if len(text) > most:
        raise InputError(f"{where}{what} must have {most:,} characters at most")
    if UNSEEN.search(text) is not None:
        raise InputError(f"{where}{what} must not have control characters, other than line feeds")


def _check_order(order: Sequence[str], known: Sequence[str], what: str, kind: str) -> None:
    if len(set(order)) < len(order) or not set(order) <= set(known):
        raise InputError(f"{what} must name {kind}, each once; there are: {_few(known)}")


def _few(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")


def of_plan(given: Mapping[str, Presentation], plan: Plan) -> Presentation:
    """Return the presentation of a plan, that of its pilot if it has none of its own, or an empty one."""
    return given.get(plan.id) or given.get(plan.after or "") or Presentation()
