"""Long lists: what their text is, that only the very list is taken, and what is said of a bad one."""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path

import pytest

import hush
from hush.core import lists
from hush.core.lists import MAX_LISTED, Labels, fetched
from hush.device.randomise import randomise_from
from hush.errors import RecordError, SchemaError
from hush.testing import SeededCoins


def fresh(count: int = 5000) -> list[str]:
    """Values that no other test has listed."""
    mark = uuid.uuid4().hex
    return [f"{mark}/{i}" for i in range(count)]


def test_a_file_is_read_however_its_lines_end(tmp_path: Path) -> None:
    values = ["a", "größer", "☂ 日本", " spaces kept "]
    found = set()
    for number, data in enumerate(
        (
            "\n".join(values).encode(),
            "\n".join([*values, ""]).encode(),
            "\r\n".join([*values, ""]).encode(),
            b"\xef\xbb\xbf" + "\n".join(values).encode(),
        )
    ):
        path = tmp_path / f"list-{number}.txt"
        path.write_bytes(data)
        listed = hush.Listed(path, name="list.txt")
        assert list(listed) == values
        found.add(listed.sha256)
    assert found == {hashlib.sha256("".join(f"{value}\n" for value in values).encode()).hexdigest()}


BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", r"line 1: a value must be 1 to 256 printable characters"),
    "an empty line": (b"a\n\nb\n", "line 2"),
    "not UTF-8": (b"a\nb\xff\n", "line 2: must be UTF-8"),
    "twice": (b"a\nb\nc\nb\n", "line 4: the value is repeated"),
    "not printable": (b"a\nb\tc\n", "line 2"),
    "too long": (b"a\n" + b"x" * 257 + b"\n", "line 2"),
    "reserved": (b"a\n(missing)\n", "line 2"),
    "reserved too": (b"(other)\nb\n", "line 1"),
    "a lone carriage return": (b"a\rb\n", "line 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_list_is_refused_with_its_line(case: str, tmp_path: Path) -> None:
    path = tmp_path / "pages.txt"
    path.write_bytes(BAD[case][0])
    with pytest.raises(SchemaError, match=BAD[case][1]) as caught:
        hush.Listed(path)
    assert "'pages.txt'" in str(caught.value)


def test_there_must_be_a_file_and_a_good_name(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"'no\.txt' cannot be read"):
        hush.Listed(tmp_path / "no.txt")
    for name in ("", ".hidden", "../up.txt", "a/b", "x" * 65, "ä.txt", "a b"):
        with pytest.raises(SchemaError, match="name of a list"):
            hush.Listed(["a", "b"], name=name)


def test_a_plan_carries_the_hash_and_not_the_values() -> None:
    values = fresh()
    schema = hush.Schema([hush.Categorical("page", hush.Listed(values, "pages.txt"), optional=True, other=True)])
    plan = hush.design(schema, 1.0)
    text = plan.to_json()
    assert len(text) < 600
    assert values[0] not in text
    again = hush.Plan.from_json(text)
    assert again == plan
    assert again.id == plan.id
    page = again.schema["page"]
    assert isinstance(page, hush.Categorical)
    assert len(page.labels) == 5002
    assert [page.encode(value) for value in (values[0], values[-1], "elsewhere", None)] == [0, 4999, 5000, 5001]
    assert page.labels[4998:] == (values[-2], values[-1], hush.OTHER, hush.MISSING)
    assert [*page.labels][-1] == page.labels[-1] == hush.MISSING
    with pytest.raises(IndexError):
        page.labels[5002]


def test_without_its_list_a_plan_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = fresh()
    listed = hush.Listed(values, "pages.txt")
    plan = hush.design(hush.Schema([hush.Categorical("page", listed)]), 1.0)
    monkeypatch.setattr(lists, "_known", {})
    again = hush.Plan.from_json(plan.to_json())
    assert not listed.here
    assert hush.Tally.from_json(hush.Tally(again).to_json()) == hush.Tally(again)  # counting needs no names
    for use in (
        lambda: randomise_from(SeededCoins(1), again, {"page": values[1]}),
        lambda: again.schema["page"].labels[0],  # type: ignore[union-attr]
    ):
        with pytest.raises(SchemaError, match=r"the list 'pages\.txt' of 5000 values is not here.*SHA-256 is"):
            use()
    fetched(listed, "".join(f"{value}\n" for value in values).encode())
    assert again.schema["page"].encode(values[7]) == 7  # a plan that was read earlier finds it
    with pytest.raises(RecordError, match="one of the 5000 values declared"):
        again.schema["page"].encode("secret page")


def test_only_the_very_list_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    values = fresh(10)
    listed = hush.Listed(values)
    monkeypatch.setattr(lists, "_known", {})
    for data in (b"", "\n".join(values).encode(), "".join(f"{value}\n" for value in values[::-1]).encode()):
        with pytest.raises(SchemaError, match="its hash is another one"):
            fetched(listed, data)
    lying = lists.Listed.from_json(listed.to_json() | {"count": 9})
    with pytest.raises(SchemaError, match="9 lines"):
        fetched(lying, "".join(f"{value}\n" for value in values).encode())
    fetched(listed, "".join(f"{value}\n" for value in values).encode())
    with pytest.raises(SchemaError, match="has 10 values, and the plan says 9"):
        lying[0]


@pytest.mark.parametrize(
    "change",
    [
        {"count": 0},
        {"count": MAX_LISTED + 1},
        {"count": 10.0},
        {"count": True},
        {"name": "../../etc/passwd"},
        {"name": None},
        {"sha256": "0" * 63},
        {"sha256": "G" * 64},
        {"more": 1},
    ],
)
def test_a_hostile_plan_is_refused(change: dict[str, object]) -> None:
    attribute = hush.Categorical("page", hush.Listed(["a", "b", "c"])).to_json()
    attribute["values"] |= change
    with pytest.raises(SchemaError):
        hush.Schema.from_json(json.loads(json.dumps([attribute])))


def test_more_values_than_a_plan_carries_are_to_be_listed() -> None:
    with pytest.raises(SchemaError, match=r"needs 2 to 4096 values; for more, pass hush\.Listed\(values\)"):
        hush.Categorical("page", [str(i) for i in range(5000)])
    with pytest.raises(SchemaError, match="choices are listed in the plan itself"):
        hush.Choices("pages", hush.Listed(["a", "b"]))
    assert hush.Categorical("page", hush.Listed(["a", "b"])) == hush.Categorical("page", hush.Listed(["a", "b"]))
    assert len(Labels(hush.Listed(["a", "b"]), ())) == 2


def test_what_nobody_asks_for_may_be_left_out_and_its_list_be_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """An optional value takes its steps although nobody asks for it, unless its list is not here."""
    elsewhere = hush.Listed(fresh(3))
    monkeypatch.setattr(lists, "_known", {})
    schema = hush.Schema(
        [
            hush.Categorical("asked", ["a", "b"]),
            hush.Categorical("spared", ["a", "b"], optional=True),
            hush.Categorical("here", hush.Listed(["a", "b"]), optional=True),
            hush.Categorical("elsewhere", elsewhere, optional=True),
            hush.Categorical("left", ["a", "b"]),
        ]
    )
    assert schema.encode({"asked": "b"}, ["asked"]) == [1, 2, 2, None, None]
    assert schema.encode({"asked": "b", "left": "a"}, ["asked"]) == [1, 2, 2, None, 0]  # what is given is checked
    with pytest.raises(RecordError, match="'asked'"):
        schema.encode({"left": "a"}, ["asked"])


def test_a_file_that_is_too_long_is_refused_and_never_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are left out, such as those of line ends, must not make room for the end of a file."""
    assert lists.MAX_BYTES == 1 << 28  # as in the other clients
    monkeypatch.setattr(lists, "MAX_BYTES", 8)
    path = tmp_path / "list.txt"
    path.write_bytes(b"abc\ndefg")
    assert list(hush.Listed(path)) == ["abc", "defg"]
    for data in (b"abc\ndefgh", b"abc\r\ndefgh", b"\xef\xbb\xbfabc\ndefgh"):
        path.write_bytes(data)
        with pytest.raises(SchemaError, match="at most 8 bytes"):
            hush.Listed(path)
    named = hush.Listed(["abc", "defgh"])
    with pytest.raises(SchemaError, match="at most 8 bytes"):
        fetched(named, named.text())


def test_as_many_values_as_a_list_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    named = hush.Listed(["a"]).to_json()
    assert [len(hush.Listed.from_json(named | {"count": count})) for count in (1, 4_194_302)] == [1, 4_194_302]
    with pytest.raises(SchemaError, match="the number of values"):
        hush.Listed.from_json(named | {"count": 4_194_303})
    assert list(hush.Listed(["x" * 256])) == ["x" * 256]
    monkeypatch.setattr(lists, "MAX_LISTED", 3)
    assert len(hush.Listed(["a", "b", "c"])) == 3
    for values in ([], ["a", "b", "c", "d"]):
        with pytest.raises(SchemaError, match="must have 1 to 3 values"):
            hush.Listed(values)


def test_lists_are_equal_if_their_names_and_values_are() -> None:
    one, same, other = hush.Listed(["a", "b"]), hush.Listed(["a", "b"]), hush.Listed(["a", "c"])
    assert (one == same, one == other, one == "a") == (True, False, False)
    attributes = [hush.Categorical("x", one), hush.Categorical("y", same), hush.Numeric("z", 0, 1)]
    assert lists.listed_in([*attributes, hush.Categorical("w", ["a", "b"])]) == [one]  # each once
    assert one.text() == b"a\nb\n"
    labels = Labels(one, ("(other)",))
    assert list(labels) == ["a", "b", "(other)"]
    assert labels[-3] == "a"


def test_a_list_from_elsewhere_is_checked_although_its_hash_is_right(tmp_path: Path) -> None:
    text = b"a\na\n"
    named = hush.Listed.from_json({"count": 2, "name": "list.txt", "sha256": hashlib.sha256(text).hexdigest()})
    with pytest.raises(SchemaError, match="line 2: the value is repeated"):
        fetched(named, text)
    (tmp_path / "list.txt").write_bytes(b"\n\xff")
    with pytest.raises(SchemaError, match="line 2: must be UTF-8"):
        hush.Listed(tmp_path / "list.txt")
