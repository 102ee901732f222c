"""Views of choices and texts, in numbers: where each rule ends, what people read, and how many steps a search takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hush.core import views
from hush.core.looking import View
from hush.core.schema import Categorical, Choices, Numeric, Points, Schema
from hush.core.texts import Text, extended
from hush.core.word_views import Among, Member, Prefix
from hush.errors import PlanError

TEXT = Text("word", 3, "ab", bits=12, optional=True)
PLAIN = Text("more", 3, "ab", bits=12)
USES = Choices("uses", ["tv", "radio", "web"], optional=True)
SCHEMA = Schema([Numeric("age", 0, 1), USES, TEXT, PLAIN, Choices("likes", ["a", "b"])])
KINDS: list[View] = [Member("uses", "web"), Prefix("word", (3, 2, 0), 61), Among("word", ("b", "", "ab"))]


def seen(view: View, **values: Any) -> Any:
    """What a view gives for a record, as a device evaluates it."""
    record = {"age": 0.5, "uses": [], "word": "", "more": "", "likes": []} | values
    return view.look(SCHEMA)(SCHEMA.encode(record))


@pytest.mark.parametrize(
    ("view", "of", "words"),
    [
        (Member("uses", "web"), ("uses",), "uses: web"),
        (Prefix("word", (3, 2), 61), ("word",), "word: first 5 bits"),
        (Prefix("word", (3, 2, 0), 61), ("word",), "word: first 5 bits once more"),
        (Prefix("word", (3, 0, 1), 61), ("word",), "word: first 4 bits"),
        (Among("word", ("b", "a")), ("word",), "word: one of 2 texts"),
    ],
)
def test_what_people_read_of_a_view(view: View, of: tuple[str, ...], words: str) -> None:
    assert view.of == of
    assert view.words == view.told(SCHEMA) == words


@pytest.mark.parametrize("view", KINDS, ids=lambda view: view.kind)
def test_a_view_reads_back(view: View) -> None:
    again = views.from_json(json.loads(json.dumps(view.to_json())))
    assert again == view
    assert again.to_json() == view.to_json()
    with pytest.raises(PlanError):
        views.from_json(view.to_json() | {"of": ["uses", "word"]})


def test_the_json_of_views() -> None:
    assert [json.dumps(view.to_json()) for view in KINDS] == [
        '{"kind": "member", "of": ["uses"], "value": "web"}',
        '{"kind": "prefix", "of": ["word"], "chunks": [3, 2, 0], "points": 61}',
        '{"kind": "among", "of": ["word"], "values": ["b", "", "ab"]}',
    ]


# -- members


def test_a_member_is_no_yes_or_missing() -> None:
    for place, value in enumerate(USES.values):
        view = Member("uses", value)
        assert view.place(SCHEMA) == place
        assert [seen(view, uses=held) for held in ([value], [], None)] == [1, 0, 2]
    assert Member("uses", "tv").seen(SCHEMA) == Categorical("uses: tv", ("no", "yes"), optional=True)
    assert Member("likes", "b").seen(SCHEMA) == Categorical("likes: b", ("no", "yes"))


def test_the_name_of_a_member_is_cut() -> None:
    long, other = "n" * 61, "v" * 61
    schema = Schema([Choices(long, [other, "x"])])
    assert Member(long, other).seen(schema).name == f"{'n' * 60}: {'v' * 60}"


@pytest.mark.parametrize(
    ("attribute", "value", "rule"),
    [
        ("age", "web", "'age': a member is one of choices"),
        ("word", "web", "'word': a member is one of choices"),
        ("uses", "wine", "'uses': the value of a member must be one of its choices"),
    ],
)
def test_what_is_no_member_is_refused(attribute: str, value: str, rule: str) -> None:
    view = Member(attribute, value)
    for method in (view.seen, view.look):
        with pytest.raises(PlanError, match=rule):
            method(SCHEMA)


@pytest.mark.parametrize("value", [7, None, b"web", ["web"]])
def test_a_member_is_a_string(value: Any) -> None:
    with pytest.raises(PlanError, match="'uses': the value of a member must be a string"):
        Member("uses", value)


# -- prefixes


@pytest.mark.parametrize(
    ("chunks", "points"), [((0,), 2), ((24,), 1 << 22), ((0,) * 32, 2), ((12,), 2), ((24,) * 32, 3)]
)
def test_the_last_prefix_that_is_taken(chunks: tuple[int, ...], points: int) -> None:
    assert Prefix("word", chunks, points).points == points


@pytest.mark.parametrize(
    ("chunks", "points", "rule"),
    [
        ((), 2, "'word': a prefix has 1 to 32 chunks"),
        ((1,) * 33, 2, "'word': a prefix has 1 to 32 chunks"),
        ([3], 2, "'word': a prefix has 1 to 32 chunks"),
        ((3, 25), 2, "the bits of a chunk"),
        ((3, -1), 2, "the bits of a chunk"),
        ((3.0,), 2, "the bits of a chunk"),
        ((3,), 1, "the points of a prefix"),
        ((3,), (1 << 22) + 1, "the points of a prefix"),
    ],
)
def test_the_first_prefix_that_is_refused(chunks: Any, points: int, rule: str) -> None:
    with pytest.raises(PlanError, match=rule):
        Prefix("word", chunks, points)


def test_a_prefix_has_the_bits_of_the_text_at_most() -> None:
    found = Prefix("word", (6, 6), 61).seen(SCHEMA)
    assert isinstance(found, Points)
    assert (found.name, len(found.values), len(found.labels)) == ("word", 61, 62)
    assert len(Prefix("more", (6, 6), 61).seen(SCHEMA).labels) == 61  # type: ignore[union-attr]
    with pytest.raises(PlanError, match="'word': a prefix has at most the 12 bits"):
        Prefix("word", (6, 7), 61).seen(SCHEMA)
    for method in (Prefix("age", (6,), 61).seen, Prefix("age", (6,), 61).look):
        with pytest.raises(PlanError, match="'age': this view is of a text"):
            method(SCHEMA)


@pytest.mark.parametrize("chunks", [(12,), (3, 2), (3, 2, 0), (0, 1, 4, 0, 7)])
def test_a_prefix_is_the_hash_of_its_chunks(chunks: tuple[int, ...]) -> None:
    view = Prefix("word", chunks, 1009)
    for value in ("", "a", "b", "abb", "bab"):
        code = TEXT.encode(value)
        assert code is not None
        assert seen(view, word=value) == extended(0, code, 12, chunks) % 1009
    assert seen(view, word=None) == 1009


# -- listed texts


def test_every_listed_text_is_found_in_however_long_a_list() -> None:
    every = [
        "".join("ab"[i >> place & 1] for place in range(length)) for length in range(4) for i in range(1 << length)
    ]
    for size in range(2, len(every) + 1):
        view = Among("word", tuple(every[-size:]))
        found = [seen(view, word=value) for value in (*every, None)]
        assert found == [size] * (len(every) - size) + list(range(size)) + [size + 1]


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (("A", "b"), "'word': a listed text is cut, or not in its normal form"),
        (("a ", "b"), "'word': a listed text is cut, or not in its normal form"),
        (("ax", "b"), "'word': a listed text is cut, or not in its normal form"),
        (("aaaa", "b"), "'word': a listed text is cut, or not in its normal form"),
        (("a", 3), "'word': the listed texts must be strings"),
        (["a", "b"], "'word': the listed texts must be strings"),
    ],
)
def test_what_cannot_be_listed_is_refused(values: Any, rule: str) -> None:
    view = Among("word", values)
    for method in (view.seen, view.look, view.codes):
        with pytest.raises(PlanError, match=rule):
            method(SCHEMA)


def test_a_listed_text_must_fit_in_the_bits() -> None:
    """Of "aaab" the end is cut: another text may begin with the same bits."""
    schema = Schema([Text("word", 4, "ab", bits=8)])
    assert Among("word", ("aaa", "b")).seen(schema).name == "word"
    assert Among("word", ("aaaa", "b")).seen(schema).name == "word"  # no end is written after the last character
    short = Schema([Text("word", 5, "ab", bits=8)])
    with pytest.raises(PlanError, match="is cut"):
        Among("word", ("aaaa", "b")).seen(short)


def test_listed_texts_are_categories_with_others() -> None:
    assert Among("word", ("b", "")).seen(SCHEMA) == Categorical("word", ("b", ""), optional=True, other=True)
    assert Among("more", ("b", "")).seen(SCHEMA) == Categorical("more", ("b", ""), other=True)
    with pytest.raises(PlanError, match="'age': this view is of a text"):
        Among("age", ("b", "")).seen(SCHEMA)


class Counted(int):
    """A code that counts how often it is compared: a search in C takes no bytecodes."""

    compared = 0

    def __gt__(self, other: int) -> bool:
        Counted.compared += 1
        return int(self) > int(other)


@pytest.mark.parametrize("size", [2, 3, 4, 7, 8])
def test_a_text_is_found_in_as_many_comparisons_wherever_it_is(size: int) -> None:
    """A search asks whether a limit is less than the code, and so the code whether it is more."""
    every = ["".join("ab"[i >> place & 1] for place in range(3)) for i in range(8)]
    look = Among("word", tuple(every[:size])).look(Schema([TEXT]))
    found = set()
    for value in ("", "a", "bb", *every):
        Counted.compared = 0
        look([Counted(TEXT.encode(value) or 0)])
        found.add(Counted.compared)
    assert found == {size.bit_length()}
