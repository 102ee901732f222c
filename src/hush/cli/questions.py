"""The questions of a new survey: by the options of `hush init`, or asked on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from hush.cli import completing
from hush.cli.groups import grouped
from hush.cli.numbers import NUMBER, WHOLE, refusal
from hush.cli.program import Refused, listed, number

WAYS = (
    "--number age=18..100, --wide, --integer, --yes-no, --category system=linux,mac,other, --choices, --list, --text, "
    "--date, --time, or --schema FILE"
)
ENGLISH, KEEP = "english", "keep"

Item = dict[str, Any]


@dataclass(frozen=True)
class Questions:
    """The questions that the options name: values by kind, and what else is said of some of them."""

    ranges: tuple[str, ...]
    wide: tuple[str, ...]
    wholes: tuple[str, ...]
    booleans: tuple[str, ...]
    lists: tuple[str, ...]
    choices: tuple[str, ...]
    files: tuple[str, ...]
    texts: tuple[str, ...]
    dates: tuple[str, ...]
    times: tuple[str, ...]
    optional: tuple[str, ...]
    clip: tuple[str, ...]
    other: tuple[str, ...]
    most: tuple[str, ...]
    unit: tuple[str, ...]
    step: tuple[str, ...]
    alphabet: tuple[str, ...]

    def read(self) -> list[Item] | None:
        """Return the attributes as a schema file has them; None if no option names a question."""
        found = [
            *(_number(text, "--number") for text in self.ranges),
            *(_number(text, "--wide") | {"scale": "log"} for text in self.wide),
            *({"kind": "integer"} | _number(text, "--integer") for text in self.wholes),
            *({"kind": "boolean", "name": name.strip()} for name in self.booleans),
            *(_category(text, "--category") for text in self.lists),
            *({"kind": "choices"} | _category(text, "--choices") for text in self.choices),
            *(_named(text, "--list", "FILE", "pages=pages.txt", "list") for text in self.files),
            *(_text(text) for text in self.texts),
            *({"kind": "date"} | _ends(text, "--date", "birthday=1920-01-01..2020-12-31") for text in self.dates),
            *(
                {"kind": "time"}
                | (_ends(text, "--time", "bed_time=18:00..06:00") if "=" in text else {"name": text.strip()})
                for text in self.times
            ),
        ]
        return self._completed(found) if found else None

    def _completed(self, found: list[Item]) -> list[Item]:
        """Return the attributes with what the other options say of them."""
        more: list[tuple[str, str, Item]] = [
            *(("--optional", name, {"optional": True}) for name in self.optional),
            *(("--clip", name, {"out_of_range": "clip"}) for name in self.clip),
            *(("--other", name, {"other": True}) for name in self.other),
            *(_counted(text, "--most", "uses=2", "most") for text in self.most),
            *(_counted(text, "--step", "wake_up=900", "step") for text in self.step),
        ]
        for text in self.unit:
            said = _named(text, "--unit", "SIZE", "income=100", "unit")
            more.append(("--unit", said["name"], {"unit": number(said["unit"], "--unit")}))
        for text in self.alphabet:
            said = _named(text, "--alphabet", "LETTERS", "job=abcdefghijklmnopqrstuvwxyz", "alphabet")
            more.append(("--alphabet", said["name"], {"alphabet": said["alphabet"]}))
        names = [item["name"] for item in found]
        for option, name, extra in more:
            if name.strip() not in names:
                listed_names = ", ".join(map(repr, names))
                raise Refused(f"{option}: no question is called {name.strip()!r}; there are: {listed_names}")
            found[names.index(name.strip())] |= extra
        return found


options = grouped(
    "questions",
    Questions,
    click.option("--number", "ranges", multiple=True, metavar="NAME=LOW..HIGH", help="Ask for a number (repeatable)."),
    click.option(
        "--wide",
        multiple=True,
        metavar="NAME=LOW..HIGH",
        help="Ask for a number on a range far wider than where people are, such as an income (repeatable).",
    ),
    click.option(
        "--integer", "wholes", multiple=True, metavar="NAME=LOW..HIGH", help="Ask for a whole number (repeatable)."
    ),
    click.option("--yes-no", "booleans", multiple=True, metavar="NAME", help="Ask for yes or no (repeatable)."),
    click.option("--category", "lists", multiple=True, metavar="NAME=A,B,C", help="Ask for a category (repeatable)."),
    click.option("--choices", multiple=True, metavar="NAME=A,B,C", help="Ask which of these (repeatable)."),
    click.option(
        "--list",
        "files",
        multiple=True,
        metavar="NAME=FILE",
        shell_complete=completing.files,
        help="Ask for one of a long list of values, one on each line of a file (repeatable).",
    ),
    click.option(
        "--text",
        "texts",
        multiple=True,
        metavar="NAME[=LENGTH]",
        help="Ask for words that nobody listed; so many characters count [16]. With =LENGTH,english English letters "
        "alone, with =LENGTH,keep capitals are kept (repeatable).",
    ),
    click.option(
        "--date",
        "dates",
        multiple=True,
        metavar="NAME=FROM..TO",
        help="Ask for a date, such as birthday=1920-01-01..2020-12-31 (repeatable).",
    ),
    click.option(
        "--time",
        "times",
        multiple=True,
        metavar="NAME[=FROM..TO]",
        help="Ask for a time of day, such as bed_time=18:00..06:00 (repeatable).",
    ),
    click.option("--optional", multiple=True, metavar="NAME", help="An answer that may be missing (repeatable)."),
    click.option(
        "--clip", multiple=True, metavar="NAME", help="Values outside the bounds count as the nearer one (repeatable)."
    ),
    click.option(
        "--other", multiple=True, metavar="NAME", help="Count all texts that a category does not list (repeatable)."
    ),
    click.option("--most", multiple=True, metavar="NAME=N", help="How many choices at most (repeatable)."),
    click.option(
        "--unit",
        multiple=True,
        metavar="NAME=SIZE",
        help="A size below which wide numbers need not be told apart (repeatable).",
    ),
    click.option(
        "--step", multiple=True, metavar="NAME=SECONDS", help="Times of day in steps of so many seconds (repeatable)."
    ),
    click.option(
        "--alphabet", multiple=True, metavar="NAME=LETTERS", help="The characters of a text that count (repeatable)."
    ),
)


def _number(text: str, option: str) -> Item:
    found = _ends(text, option, "age=18..100", "LOW..HIGH")
    return found | {end: number(found[end], option) for end in ("low", "high")}


def _ends(text: str, option: str, example: str, form: str = "FROM..TO") -> Item:
    name, equals, bounds = text.rpartition("=")
    low, dots, high = bounds.partition("..")
    if not (equals and dots):
        raise Refused(f"{option} is written NAME={form}, such as {example}")
    return {"name": name.strip(), "low": low.strip(), "high": high.strip()}


def _category(text: str, option: str) -> Item:
    found = _named(text, option, "A,B,C", "system=linux,mac,other", "values")
    return found | {"values": listed(found["values"])}


def _named(text: str, option: str, form: str, example: str, key: str) -> Item:
    name, equals, value = text.partition("=")
    if not equals:
        raise Refused(f"{option} is written NAME={form}, such as {example}")
    return {"name": name.strip(), key: value.strip()}


def _counted(text: str, option: str, example: str, key: str) -> tuple[str, str, Item]:
    found = _named(text, option, "N", example, key)
    try:
        return option, found["name"], {key: int(found[key])}
    except ValueError:
        raise Refused(f"{option}: {refusal(found[key], whole=True)}") from None


def _text(text: str) -> Item:
    name, _, rest = text.partition("=")
    item: Item = {"kind": "text", "name": name.strip()}
    for part in filter(None, (one.strip() for one in rest.split(","))):
        if part == ENGLISH:
            item["alphabet"] = ENGLISH
        elif part == KEEP:
            item["case"] = KEEP
        elif part.isascii() and part.isdecimal() and len(part) < 9:
            item["length"] = int(part)
        else:
            raise Refused("--text is written NAME, NAME=LENGTH, NAME=LENGTH,english or NAME=LENGTH,keep, as job=16")
    return item


# -- on a terminal


def ask(check: Callable[[Sequence[Item]], object]) -> list[Item]:
    """Ask for questions until there is an empty name. `check` refuses those that cannot be: they are asked again."""
    found: list[Item] = []
    while True:
        more = "Name of another question (or nothing)" if found else "Name of the first question, such as age"
        name = click.prompt(more, default="" if found else None, show_default=False).strip()
        if not name:
            return found
        kind = click.prompt("What is it", type=click.Choice(tuple(KINDS)), default="number")
        item: Item = {"name": name} | KINDS[kind]()
        if click.confirm("May the answer be missing?", default=False):
            item["optional"] = True
        try:
            check([*found, item])
        except ValueError as error:  # an input error of hush, which names the question and the rule
            click.echo(f"Not like this: {error}", err=True)
            continue
        found.append(item)


def _ask_number() -> Item:
    low = click.prompt("Its lowest value, which everybody may know", type=NUMBER)
    return {"low": low, "high": click.prompt("Its highest value", type=NUMBER)} | _ask_clip()


def _ask_clip() -> Item:
    clipped = click.confirm("Shall values outside count as the nearer end?", default=False)
    return {"out_of_range": "clip"} if clipped else {}


def _ask_wide() -> Item:
    unit = _or_nothing("A size below which numbers need not be told apart (or nothing)", NUMBER.convert)
    return {"scale": "log"} | _ask_number() | ({} if unit is None else {"unit": unit})


def _ask_category() -> Item:
    item: Item = {"values": listed(click.prompt("Its categories, with commas between them"))}
    other: Item = {"other": True} if click.confirm("Count all other texts as one more?", default=False) else {}
    return item | other


def _ask_choices() -> Item:
    values = listed(click.prompt("Its values, with commas between them"))
    most = _or_nothing("How many of them at most (or nothing)", WHOLE.convert)
    return {"kind": "choices", "values": values} | ({} if most is None else {"most": most})


def _ask_list() -> Item:
    return {"list": click.prompt("The file with one value on each line")}


def _ask_text() -> Item:
    item: Item = {"kind": "text", "length": click.prompt("How many characters count", default=16, type=WHOLE)}
    english = click.confirm("Are they English words, in small letters?", default=False)
    return item | ({"alphabet": ENGLISH} if english else {})


def _ask_date() -> Item:
    first = click.prompt("The first date, which everybody may know, such as 1920-01-01")
    return {"kind": "date", "low": first, "high": click.prompt("The last date")} | _ask_clip()


def _ask_time() -> Item:
    item: Item = {"kind": "time"}
    first = click.prompt("The earliest time, such as 18:00 (or nothing for any time)", default="", show_default=False)
    if first:
        item |= {"low": first, "high": click.prompt("The latest time, such as 06:00")} | _ask_clip()
    return item


def _or_nothing(text: str, convert: Callable[[Any, None, None], Any]) -> Any:
    return click.prompt(
        text, default="", show_default=False, value_proc=lambda value: convert(value, None, None) if value else None
    )


KINDS: Mapping[str, Callable[[], Item]] = {
    "number": _ask_number,
    "wide number": _ask_wide,
    "integer": lambda: {"kind": "integer"} | _ask_number(),
    "yes/no": lambda: {"kind": "boolean"},
    "category": _ask_category,
    "choices": _ask_choices,
    "list": _ask_list,
    "text": _ask_text,
    "date": _ask_date,
    "time": _ask_time,
}
"""What may be asked, and how the rest is asked."""
