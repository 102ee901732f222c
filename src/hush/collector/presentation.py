"""How a form presents a plan or a training: its words, the order of its questions, their widgets and a colour.

A presentation lies beside the plan and is not in its id: words may be mended while people answer. It changes no value
of a record and no part of a report. All of it is text, and no page reads it as markup. Everything is checked at the
start, against the plan that it presents, or against the features and the label of its training.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import msgspec

from hush.core import codec
from hush.core.plan import Plan
from hush.core.schema import MISSING, Attribute, Numeric, Schema
from hush.core.texts import Text
from hush.core.training.training import Training
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
    "alt": 300,
}
"""The most characters of each text."""

Widget = Literal["", "buttons", "stars", "slider", "number"]


class Image(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture: its file, beside that of the presentation, and what it shows, for those who do not see it."""

    file: str
    alt: str


class PresentedAttribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one attribute is asked.

    `labels`: words for categories, by the category as text. `order`: all categories, in the order in which they are
    shown. `widget`: how an integer is asked. `image`: a picture beside the question. Empty texts leave the form's own.
    """

    question: str = ""
    help: str = ""
    unit: str = ""
    widget: Widget = ""
    labels: dict[str, str] = {}
    order: list[str] = []
    image: Image | None = None


class Presentation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words and looks of a form.

    `order`: attributes to ask first. `accent`: a colour, as #1d5fa8. `logo`: a picture above the title.
    """

    title: str = ""
    introduction: str = ""
    thanks: str = ""
    language: str = ""
    accent: str = ""
    order: list[str] = []
    attributes: dict[str, PresentedAttribute] = {}
    logo: Image | None = None


def read(text: bytes, plan: Plan, added: Iterable[str] = ()) -> Presentation:
    """Read the presentation of a plan, and check all of it. `added`: languages that the operator has added by files."""
    return _read(text, plan.schema, "plan", added)


def read_training(text: bytes, training: Training, added: Iterable[str] = ()) -> Presentation:
    """Read the presentation of a training, whose label is asked like its features, and check all of it."""
    return _read(text, Schema([*training.schema.attributes, training.label]), "training", added)


def _read(text: bytes, schema: Schema, what: str, added: Iterable[str]) -> Presentation:
    value = codec.load(text, InputError, LONGEST, public=True)
    named = value.get("attributes") if isinstance(value, dict) else None
    for name, one in named.items() if isinstance(named, dict) else ():
        _converted(one, PresentedAttribute, f"attribute {name!r}: ")
    found: Presentation = _converted(value, Presentation, "")
    for each in ("title", "introduction", "thanks"):
        _check_text(getattr(found, each), each, "")
    _check_image(found.logo, "logo: ")
    languages = (*LANGUAGES, *added)
    if found.language and found.language not in languages:
        raise InputError(f"language must be one of {_few(languages)}; --words adds another one")
    if found.accent and COLOUR.fullmatch(found.accent) is None:
        raise InputError("accent must be a colour written as #rrggbb, such as #1d5fa8")
    _check_order(found.order, schema.names, "order", f"attributes of the {what}")
    for name, shown in found.attributes.items():
        if name not in schema.names:
            raise InputError(f"attribute {name!r}: is not in the {what}; there are: {_few(schema.names)}")
        _check(shown, schema[name])
    return found


LANGUAGE = re.compile("[a-z]{2,3}")
PLACE = re.compile(r"\{(\w+)\}")
MOST_SENTENCE = 4000


def read_words(text: bytes, form: Mapping[str, str], explanation: Mapping[str, str]) -> dict[str, str]:
    """Read the words of a further language: all sentences of the form, with the same placeholders.

    The sentences of the explanation are there too, or none of them: then it stays in English.
    """
    value = codec.load(text, InputError, LONGEST, public=True)
    if not isinstance(value, dict) or not all(isinstance(sentence, str) for sentence in value.values()):
        raise InputError("words are a JSON object of sentences")
    whole = not explanation.keys().isdisjoint(value)
    known = {**form, **(explanation if whole else {})}
    missing = [key for key in known if not value.get(key, "").strip()]
    if missing:
        raise InputError(f"words are missing: {_few(missing)}")
    if extra := [key for key in value if key not in known]:
        raise InputError(f"the form has no such words: {_few(extra)}")
    for key, sentence in value.items():
        wanted = sorted(set(PLACE.findall(known[key])))
        if sorted(set(PLACE.findall(sentence))) != wanted:
            named = ", ".join(f"{{{name}}}" for name in wanted) or "none"
            raise InputError(f"{key!r}: must have the same placeholders as in English: {named}")
        if len(sentence) > MOST_SENTENCE or UNSEEN.search(sentence) is not None:
            raise InputError(f"{key!r}: must have {MOST_SENTENCE:,} characters at most, and no control characters")
    return value


def _converted(value: Any, kind: type[Any], where: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}{error}") from None


def _check(shown: PresentedAttribute, attribute: Attribute) -> None:
    where = f"attribute {attribute.name!r}: "
    _check_image(shown.image, f"{where}image: ")
    for what, text in _texts(shown):
        _check_text(text, what, where)
    if isinstance(attribute, Numeric):
        if shown.labels or shown.order:
            raise InputError(f"{where}labels and order are for categories, and this is a number")
        _check_widget(shown.widget, attribute, where)
        return
    if isinstance(attribute, Text) and (shown.labels or shown.order):
        raise InputError(f"{where}labels and order are for categories, and this is a text")
    if shown.widget or shown.unit:
        raise InputError(f"{where}widget and unit are for numbers, and this has categories")
    known = [str(label) for label in attribute.labels if label != MISSING]
    _check_labels(shown.labels, known, where)
    if shown.order and sorted(shown.order) != sorted(known):
        raise InputError(f"{where}order must name every category once; there are: {_few(known)}")


def _check_labels(labels: Mapping[str, str], known: Sequence[str], where: str) -> None:
    """Refuse labels by which people could choose another category than they think."""
    if not set(labels) <= set(known):
        raise InputError(f"{where}labels name categories of the plan; there are: {_few(known)}")
    looks = {value: _seen(labels[value]) if value in labels else value for value in known}
    if "" in looks.values():
        raise InputError(f"{where}a label must not be empty")
    if len(set(looks.values())) < len(looks):
        raise InputError(f"{where}two categories have the same label")
    names = {value.casefold() for value in known}
    for value in labels:
        label = looks[value].casefold()
        if label in names and label != value.casefold():
            raise InputError(f"{where}the label of {value!r} is the name of another category")


def _seen(text: str) -> str:
    """Return a text without differences that nobody sees: in blanks, invisible characters, and ways to encode."""
    shown = "".join(each for each in unicodedata.normalize("NFKC", text) if unicodedata.category(each) != "Cf")
    return " ".join(shown.split())


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


def _check_image(image: Image | None, where: str) -> None:
    if image is not None:
        if not _seen(image.alt):
            raise InputError(f"{where}alt must say what the picture shows, for people who do not see it")
        _check_text(image.alt, "alt", where)


def _check_order(order: Sequence[str], known: Sequence[str], what: str, kind: str) -> None:
    if len(set(order)) < len(order) or not set(order) <= set(known):
        raise InputError(f"{what} must name {kind}, each once; there are: {_few(known)}")


def _few(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")


def of_plan(given: Mapping[str, Presentation], plan: Plan) -> Presentation:
    """Return the presentation of a plan, that of its pilot if it has none of its own, or an empty one."""
    return given.get(plan.id) or _fitted(given.get(plan.after or "") or Presentation(), plan)


def _fitted(pilot: Presentation, plan: Plan) -> Presentation:
    """Return the part of a pilot's presentation that fits a plan: narrowed bounds need not be integers, say."""
    names = plan.schema.names
    shown = {name: _fitting(one, plan.schema[name]) for name, one in pilot.attributes.items() if name in names}
    order = [name for name in pilot.order if name in names]
    return msgspec.structs.replace(pilot, attributes=shown, order=order)


def _fitting(shown: PresentedAttribute, attribute: Attribute) -> PresentedAttribute:
    """Return how an attribute is asked: by the form's own input if another was presented that does not fit."""
    try:
        _check(shown, attribute)
    except InputError:
        unit = shown.unit if isinstance(attribute, Numeric) else ""
        return PresentedAttribute(question=shown.question, help=shown.help, unit=unit, image=shown.image)
    return shown
