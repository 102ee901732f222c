"""Presentations: checked against their plan at the start, bounded, and served beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import hush
from hush.collector import presentation
from hush.errors import InputError
from tests.collector.served import anybody, serving
from tests.sessions import blocks_of

ROOT = Path(__file__).parents[2]

PLAN = hush.design(
    hush.Schema(
        [
            hush.Numeric("mood", 1, 5),
            hush.Numeric("income", 0, 1e6, optional=True),
            hush.Numeric("height", 0.5, 2.5),
            hush.Numeric("day", 0, 10),
            hush.Categorical("way", ["foot", "bike"]),
            hush.Categorical("code", [1, 2, 3], optional=True),
        ]
    ),
    1.0,
)
WHOLE: dict[str, Any] = {
    "title": "A day",
    "introduction": "Two lines,\nno more.",
    "thanks": "Thank you.",
    "language": "de",
    "accent": "#1D5fa8",
    "order": ["way", "mood"],
    "attributes": {
        "mood": {"question": "How are you?", "help": "Today.", "unit": "points", "widget": "stars"},
        "day": {"widget": "buttons"},
        "way": {"labels": {"foot": "on foot"}, "order": ["bike", "foot"]},
        "code": {"labels": {"1": "one"}},
    },
}


def read(values: Any) -> presentation.Presentation:
    return presentation.read(json.dumps(values).encode(), PLAN)


def test_a_whole_one() -> None:
    found = read(WHOLE)
    assert found.title == "A day"
    assert found.attributes["mood"].widget == "stars"
    assert found.attributes["way"].order == ["bike", "foot"]
    assert read({}) == presentation.Presentation()


def of(name: str, **values: Any) -> dict[str, Any]:
    return {"attributes": {name: values}}


BAD: list[tuple[Any, str]] = [
    ([], "Expected `object`"),
    ({"titel": "A day"}, "unknown field `titel`"),
    ({"title": 3}, "Expected `str`, got `int` - at `$.title`"),
    ({"title": "x" * 201}, "title must have 200 characters at most"),
    ({"introduction": "x" * 2001}, "introduction must have 2,000 characters at most"),
    ({"thanks": "a\x00b"}, "thanks must not have control characters"),
    ({"title": "a\u202eb"}, "title must not have control characters"),
    ({"language": "tlh"}, "language must be one of 'en', 'de', 'fr', 'es', 'zh'; --words adds another one"),
    ({"accent": "red"}, "accent must be a colour written as #rrggbb"),
    ({"accent": "#1d5fa8;"}, "accent must be a colour written as #rrggbb"),
    ({"accent": "#1d5fa8\n"}, "accent must be a colour written as #rrggbb"),
    ({"order": ["mood", "mood"]}, "order must name attributes of the plan, each once"),
    ({"order": ["weight"]}, "order must name attributes of the plan, each once"),
    (of("weight"), "attribute 'weight': is not in the plan; there are: 'mood'"),
    (of("mood", question=3), "attribute 'mood': Expected `str`"),
    (of("mood", html="<b>"), "attribute 'mood': Object contains unknown field `html`"),
    (of("mood", question="x" * 301), "attribute 'mood': question must have 300 characters at most"),
    (of("mood", help="x" * 1001), "attribute 'mood': help must have 1,000 characters at most"),
    (of("mood", unit="x" * 31), "attribute 'mood': unit must have 30 characters at most"),
    (of("mood", widget="dial"), "attribute 'mood': Invalid enum value 'dial'"),
    (of("mood", labels={"1": "bad"}), "attribute 'mood': labels and order are for categories"),
    (of("height", widget="number"), "attribute 'height': a widget asks for integers"),
    (of("income", widget="buttons"), "attribute 'income': widget 'buttons' takes 11 integers at most"),
    (of("day", widget="stars"), "attribute 'day': widget 'stars' takes integers from 1 to 10 at most"),
    (of("income", widget="slider"), "attribute 'income': widget 'slider' takes 10,000 steps at most"),
    (of("way", widget="buttons"), "attribute 'way': widget and unit are for numbers"),
    (of("way", unit="km"), "attribute 'way': widget and unit are for numbers"),
    (of("way", labels={"car": "by car"}), "attribute 'way': labels name categories of the plan; there are: 'foot'"),
    (of("way", labels={"foot": " "}), "attribute 'way': a label must not be empty"),
    (of("way", labels={"foot": "bike"}), "attribute 'way': two categories have the same label"),
    (of("way", labels={"foot": "\u200b"}), "attribute 'way': a label must not be empty"),
    (of("way", labels={"foot": "bike\u00a0"}), "attribute 'way': two categories have the same label"),
    (of("way", labels={"foot": "go", "bike": "g\u200do"}), "attribute 'way': two categories have the same label"),
    (of("way", labels={"foot": "bike", "bike": "foot"}), "attribute 'way': the label of 'foot' is the name of another"),
    (
        of("way", labels={"foot": "Bike", "bike": "on two wheels"}),
        "the label of 'foot' is the name of another category",
    ),
    (of("way", labels={"foot": "x" * 201}), "attribute 'way': a label must have 200 characters at most"),
    (of("way", order=["foot"]), "attribute 'way': order must name every category once"),
]


@pytest.mark.parametrize(("values", "rule"), BAD, ids=[rule for _, rule in BAD])
def test_a_bad_one_is_refused_with_its_attribute_and_rule(values: Any, rule: str) -> None:
    with pytest.raises(InputError, match=re.escape(rule)):
        read(values)


def test_an_optional_slider_is_refused() -> None:
    plan = hush.design(hush.Schema([hush.Numeric("x", 0, 100, optional=True)]), 1.0)
    with pytest.raises(InputError, match="attribute 'x': widget 'slider' cannot be left empty"):
        presentation.read(json.dumps(of("x", widget="slider")).encode(), plan)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b'{"title": "a", "title": "b"}', "not valid JSON"),
        (b"{", "not valid JSON: line 1"),
        (b'{"title": "' + b"x" * presentation.LONGEST + b'"}', "is not read"),
        (b'\xff{"title": "a"}', "not valid JSON"),
    ],
    ids=["repeated", "broken", "long", "latin"],
)
def test_a_file_that_is_none(text: bytes, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        presentation.read(text, PLAN)


def test_it_is_served_beside_the_plan(tmp_path: Path) -> None:
    """The plan has the same id and text; a plan without a presentation has an empty one."""
    other = hush.design(PLAN.schema, 2.0)
    with serving(tmp_path, anybody(presentations={PLAN.id: read(WHOLE)}), plans=(PLAN, other), trainings={}) as served:
        found = served.client.get(f"/plans/{PLAN.id}/presentation")
        assert found.status_code == 200
        assert found.headers["content-type"] == "application/json"
        assert read(found.json()) == read(WHOLE)
        assert served.client.get(f"/plans/{PLAN.id}").text == PLAN.to_json()
        assert read(served.client.get(f"/plans/{other.id}/presentation").json()) == presentation.Presentation()
        assert served.client.get(f"/plans/{'0' * 64}/presentation").status_code == 404
        described = served.client.get("/openapi.json").json()
        schema = described["paths"]["/plans/{plan}/presentation"]["get"]["responses"]["200"]["content"]
        assert schema["application/json"]["schema"] == {"$ref": "#/components/schemas/Presentation"}


def test_the_plan_that_follows_a_pilot_looks_like_it() -> None:
    second = hush.design(PLAN.schema, 1.0, after=PLAN)
    shown = read(WHOLE)
    assert presentation.of_plan({PLAN.id: shown}, second) == shown
    own = presentation.Presentation(title="Again")
    assert presentation.of_plan({PLAN.id: shown, second.id: own}, second) is own


def test_a_pilot_lends_only_what_fits() -> None:
    """Buttons from 0.5 on would offer no integer, and a label of a category that is gone nothing at all."""
    numbers = [hush.Numeric("mood", 1.5, 5), hush.Numeric("day", 0, 10)]
    second = hush.design(hush.Schema([*numbers, hush.Categorical("way", ["car", "bike"])]), 1.0, after=PLAN)
    found = presentation.of_plan({PLAN.id: read(WHOLE)}, second)
    assert presentation.read(msgspec.json.encode(found), second) == found
    mood, way = found.attributes["mood"], found.attributes["way"]
    assert (mood.question, mood.unit, mood.widget) == ("How are you?", "points", "")
    assert (found.attributes["day"].widget, way.labels, way.order) == ("buttons", {}, [])


def test_the_presentation_of_the_documents() -> None:
    """It fits the plan that the page describes."""
    (text,) = [block.text for block in blocks_of(ROOT / "docs" / "browser.md") if block.file == "form.json"]
    schema = hush.Schema(
        [
            hush.Numeric("mood", 1, 5),
            hush.Numeric("commute", 0, 180),
            hush.Categorical("way", ["foot", "bike", "car"]),
        ]
    )
    shown = presentation.read(text.encode(), hush.design(schema, 1.0))
    assert shown.attributes["way"].question == "How do you get to work?"
