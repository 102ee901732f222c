"""Plans, records and words for the browser client, and the way to ask it what it makes of them."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hush.core.channels import Cells, Channel, Picks, Rows, Subset
from hush.core.coins import Coins
from hush.core.design import design
from hush.core.design.joint import cells
from hush.core.design.minimax import minimax
from hush.core.design.numeric import duchi, piecewise
from hush.core.exact import WORD, exp_bounds, largest_threshold
from hush.core.looking import View
from hush.core.plan import Plan, Question
from hush.core.schema import Attribute, Categorical, Choices, Numeric, Schema
from hush.core.texts import Text
from hush.core.views import Bands, Product, Sides, Value
from hush.errors import PlanError
from tests.cases import SMALL

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
BUILT = ROOT / "src" / "hush" / "collector" / "static" / "hush.js"
NODE = shutil.which("node")
RECORD = os.environ.get("HUSH_WEB_RECORD")
"""A file to which questions and answers are added, for tests/mutants: other clients are asked the same."""

needs_node = pytest.mark.skipif(NODE is None, reason="the browser client is tested with Node, which is not here")


def client_of(folder: Path, text: str) -> Path:
    """Write a changed client into a folder, as a module with the files beside it."""
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    for name in ("large.js", "training.js"):
        shutil.copy(BUILT.with_name(name), folder)
    found = folder / BUILT.name
    found.write_text(text, encoding="utf-8")
    return found


def node(*arguments: str | Path, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    assert NODE is not None
    return subprocess.run(  # noqa: S603
        [NODE, *map(str, arguments)],
        cwd=WEB,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
    )


def ask(path: Path, lines: Iterable[dict[str, Any]], module: Path = BUILT) -> list[Any]:
    """Give the client something to do, and return its answers."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = node("test/replay.mjs", path, HUSH_MODULE=module.as_uri())
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if RECORD is not None and module == BUILT:
        questions = path.read_text(encoding="utf-8").splitlines()
        with Path(RECORD).open("a", encoding="utf-8") as file:
            for question, answer in zip(questions, answers, strict=True):
                file.write(f'{{"question": {question}, "answer": {json.dumps(answer)}}}\n')
    return answers


class Borders(Coins):
    """Words of which many lie on the borders of a plan: thresholds and their neighbours, what Lemire's rule rejects.

    Half of them are random, so that every rejection ends. They protect nobody.
    """

    def __init__(self, seed: int, borders: list[int], fractions: Sequence[float] = (0.5,)) -> None:
        self._random = random.Random(seed)
        self._borders = borders
        self._fractions = fractions

    def word(self) -> int:
        """Return the next word."""
        kind = self._random.randrange(8)
        if kind >= 4:
            return self._random.getrandbits(64)
        fraction, step = self._random.choice(self._fractions), self._random.choice((-1, 0, 1))
        if kind == 1:  # the upper bits of a word round, but for windows
            return ((math.floor(fraction * 2**53) + step) << 11) % WORD
        if kind == 3:
            return self._random.choice((0, 1, WORD - 1, WORD >> 1, (WORD >> 1) - 1))
        near = self._random.choice(self._borders) + self._random.choice((-1, 0, 0, 1))
        if kind == 2:  # the lower bits of a word round, in windows
            near = near >> 24 << 24 | (math.floor(fraction * 2**24) + step) % 2**24
        return near % WORD


def borders(plan: Plan) -> list[int]:
    """Return words near which something changes."""
    found = set()
    numbers = [len(plan.questions), *(question.channel.alphabet.size for question in plan.questions)]
    for question in plan.questions:
        found |= set(_integers(question.channel.to_json()))
        numbers += [max(question.channel.alphabet.size - 1, 1)]
        found |= _cells(question.channel)
    if plan.weights is not None:
        numbers.append(sum(plan.weights))
    for n in numbers:  # multiples of 2^64/n, rounded up: there the lower half of word*n is least
        found |= {-(-WORD * i // n) for i in range(0, n, max(1, n // 8))}
    return sorted(word % WORD for word in found)


def fractions(plan: Plan, values: dict[str, Any]) -> list[float]:
    """Return how far the numbers of a record are on the way between the two states to which they may be rounded."""
    found = [0.5]
    inputs = plan.schema.encode(values)
    for index, question in enumerate(plan.questions):
        for u in plan.seen(index, inputs):
            if isinstance(u, float):
                parts: Any = getattr(question.channel, "parts", (question.channel,))
                found += [part._between(u)[1] if hasattr(part, "_between") else u for part in parts]
    return found


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _integers(item)
    elif isinstance(value, list):
        total = 0
        for item in value:
            yield from _integers(item)
            if isinstance(item, str):
                total += int(item)
                yield total
    elif isinstance(value, str) and value.isdigit():
        yield int(value)


def _cells(channel: Channel) -> set[int]:
    """Where one cell of a window ends and the next begins."""
    found = set()
    parts: tuple[Any, ...] = getattr(channel, "parts", (channel,))
    for part in parts:
        if part.kind in ("window", "ladder"):
            inside, outside = part.threshold // part.width, (WORD - part.threshold) // part.cells_outside
            found |= {inside * i for i in range(0, part.width, max(1, part.width // 6))}
            found |= {
                part.threshold + outside * i for i in range(0, part.cells_outside, max(1, part.cells_outside // 6))
            }
    return found


def record(plan: Plan, pick: random.Random) -> dict[str, Any]:
    """A valid record, often on the bounds."""
    values: dict[str, Any] = {}
    for attribute in plan.schema.attributes:
        if attribute.optional and pick.random() < 0.3:
            if pick.random() < 0.5:
                values[attribute.name] = None
        elif isinstance(attribute, Categorical):
            values[attribute.name] = pick.choice(attribute.values)
        elif isinstance(attribute, Choices):
            values[attribute.name] = pick.sample(attribute.values, pick.randint(0, attribute.most))
        elif isinstance(attribute, Text):
            values[attribute.name] = pick.choice(("", "nurse", "Zürich", "😀"))
        else:
            low, high = attribute.low, attribute.high
            number = pick.choice((low, high, (low + high) / 2, low + (high - low) * pick.random()))
            if (cuts := _cuts(plan, attribute.name)) and pick.random() < 0.5:
                near = pick.choice(cuts)
                number = max(low, pick.choice((near, math.nextafter(near, -math.inf), math.nextafter(near, math.inf))))
            if attribute.out_of_range == "clip" and pick.random() < 0.2:
                number = pick.choice((low - 1, high + 1e9))
            values[attribute.name] = min(number, high) if attribute.out_of_range == "error" else number
    return values


def _cuts(plan: Plan, name: str) -> list[float]:
    """Return the cuts and centres of an attribute."""
    found: list[float] = []
    for view in {view for question in plan.questions for view in question.views}:
        if isinstance(view, Bands) and view.attribute == name:
            found += view.cuts
        elif isinstance(view, Sides | Product):
            marks = view.cuts if isinstance(view, Sides) else view.centres
            found += [mark for of, mark in zip(view.attributes, marks, strict=True) if of == name]
    return sorted(found)


def _schema(pick: random.Random, *, optional: bool) -> Schema:
    """A few attributes with odd names and bounds, some of the names those of what JavaScript objects inherit."""
    names = ["constructor", "__proto__", "toString", "größe ☂", 'a "quoted" \\ name', "𝒳", "x", "high"]
    pick.shuffle(names)
    attributes: list[Any] = []
    for name in names[: pick.randint(1, 5)]:
        maybe = optional and pick.random() < 0.5
        if pick.random() < 0.5:
            low = pick.choice((0.0, -1.0, 1e-7, -1e16, 0.1, -3.5e-310, 123456789012345680.0))
            width = pick.choice((1.0, 0.30000000000000004, 1e22, 1e5, 7.0))
            high = low + width if low + width > low else low * 2 + 1
            attributes.append(
                Numeric(name, min(low, high), max(low, high), pick.choice(("error", "clip")), optional=maybe)
            )
        else:
            count = pick.choice((2, 3, 5, 10, 64, 65, 70, 130))
            values: Any = [f"v{i}" for i in range(count)] if pick.random() < 0.5 else list(range(-3, count - 3))
            attributes.append(Categorical(name, values, optional=maybe))
    return Schema(attributes)


NUMERIC = ("duchi", "piecewise", "hybrid", "minimax", "piecewise-sub", "laplace", "staircase", "scdf")
"""The mechanisms for one number. The last three have no output for a missing one."""


def some_plans(count: int, seed: int = 1) -> list[Plan]:
    """Plans of every mechanism, with every way of asking."""
    pick = random.Random(seed)
    result = []
    for number in range(count):
        epsilon = round(pick.choice((0.1, 0.5, 1.0, 2.0, 4.0, 8.0)) * pick.uniform(1, 1.0001), pick.choice((1, 3, 17)))
        numeric = ("duchi", "piecewise", "hybrid", "minimax", "piecewise-sub", "laplace", "staircase", "scdf")[
            number % 8
        ]
        schema = _schema(pick, optional=numeric not in ("laplace", "staircase", "scdf"))
        options: dict[str, Any] = {"categorical": ("subset", "grr", "oue", "sue")[number // 8 % 4]}
        ways = pick.randrange(4)
        if ways == 0:
            options["k"] = pick.randint(1, len(schema))
        elif ways == 1:
            options["k"] = "all"
        elif ways == 2:
            options["k"] = "weighted"
        title = pick.choice(("", "größer ☂", 'with "quotes"', "𝒳"))
        result.append(design(schema, epsilon, numeric=numeric, title=title, **options))
    return result


def ladder_plans(count: int, seed: int = 1) -> list[Plan]:
    """Plans of wide numbers, on one side or two, as the designer makes them; some follow another plan."""
    pick = random.Random(seed)
    result: list[Plan] = []
    for _ in range(count):
        attributes: list[Attribute] = []
        for name in "xyz"[: pick.randint(1, 3)]:
            high = pick.choice((1.0, 1e3, 1e7, 123456789.125))
            low = pick.choice((0.0, 0.0, -high, -high / 1000, high / 7, -2 * high))
            unit = pick.choice((None, (high - low) / 2**20, (high - low) / 5))
            maybe = pick.random() < 0.4
            attributes.append(Numeric(name, low, high, pick.choice(("error", "clip")), maybe, "log", unit))
        k = pick.randint(1, len(attributes))
        after = pick.choice((None, pick.randbytes(32).hex()))
        result.append(design(Schema(attributes), pick.choice((0.5, 1.0, 2.0, 6.0)), k=k, after=after))
    return result


def block_plans() -> list[Plan]:
    """Plans whose channels report several attributes together."""
    result = []
    for d in (1, 2, 3, 4, 7, 64, 65, 70):
        schema = Schema([Numeric(f"x{i}", -1, 1 + i) for i in range(d)])
        for epsilon in (0.1, 1.0, 8.0):
            result += [design(schema, epsilon, numeric=numeric) for numeric in ("duchi-multi", "cube")]
    for sizes in ((2,), (3, None), (None, None, None), (4, 3, 5, None), (2,) * 12, (16, None, 2, 64)):
        for text in ("0.1", "1", "6"):
            schema = Schema(
                [
                    Numeric(f"x{j}", 0, 10, "clip")
                    if size is None
                    else Categorical(f"c{j}", range(size - j % 2), optional=bool(j % 2))
                    for j, size in enumerate(sizes)
                ]
            )
            question = Question(schema.names, cells(Fraction(text), sizes))
            result.append(Plan(schema, Fraction(text), 1, (question,), "joint"))
    mixed = Schema(
        [Numeric("a", 0, 1), Numeric("b", 0, 1), Categorical("c", list("xyz")), Categorical("d", ["x", "y"])]
    )
    result.append(design(mixed, 4.0, numeric="duchi", joint=[["a", "b"], ["c", "d"]], k=1))
    result.append(design(Schema([Categorical(f"c{i}", [1, 2]) for i in range(300)]), 1.0, k=3))
    return result


def related_plans(count: int, seed: int = 1) -> list[Plan]:
    """Plans with views of every kind, rows, and sets of cells."""
    pick = random.Random(seed)
    result: list[Plan] = []
    while len(result) < count:
        schema = _schema(pick, optional=True)
        numbers = [one for one in schema.attributes if isinstance(one, Numeric)]
        groups: list[View] = [Value(one.name) for one in schema.attributes if isinstance(one, Categorical)]
        if not numbers:
            continue
        groups += [_bands(one, pick) for one in numbers]
        asked: dict[tuple[View, ...], Question] = {}
        for attribute in schema.attributes:
            asked[(Value(attribute.name),)] = _single(schema, Value(attribute.name), pick)
        for _ in range(6):
            one, other = pick.choice(numbers), pick.choice(numbers)
            marks = tuple(pick.uniform(item.low, item.high) for item in (one, other))
            both = (one.name, other.name)
            views: list[View] = [
                _bands(one, pick),
                Product(both, (marks[0], marks[1]), pick.choice((1.0, 0.25, 2.0**-20))),
            ]
            with contextlib.suppress(PlanError):
                sides = Sides(both, (marks[0], marks[1]))
                sides.seen(schema)
                views.append(sides)
            for view in views:
                asked[(view,)] = _single(schema, view, pick)
            pair = (pick.choice(groups), Value(one.name))
            size = pick.choice((2, 3, 8, 50))
            rows = _rows(_labels(schema, pair[0]), size, pick.randrange(1, size), one.optional, pick)
            asked[pair] = Question(pair, rows)
            table = tuple(dict.fromkeys(pick.choice(groups) for _ in range(pick.randint(1, 2))))
            sizes = tuple(_labels(schema, view) for view in table)
            if math.prod(sizes) <= 4096:
                weight = pick.randrange(1, math.prod(sizes))
                threshold = largest_threshold(BOUND, weight, math.prod(sizes) - weight)
                asked[table] = Question(table, Cells(sizes, weight, threshold))
        k = pick.randint(1, 3)
        result.append(Plan(schema, Fraction(k), k, tuple(asked.values()), "relations"))
    return result


BOUND = exp_bounds(Fraction(1))[0]


def _labels(schema: Schema, view: View) -> int:
    seen = view.seen(schema)
    assert isinstance(seen, Categorical)
    return len(seen.labels)


def _bands(number: Numeric, pick: random.Random) -> Bands:
    cuts = sorted({pick.uniform(number.low, number.high) for _ in range(pick.choice((1, 2, 7, 16)))} | {number.low})
    for _ in range(20):
        with contextlib.suppress(PlanError):
            bands = Bands(number.name, tuple(cuts))
            bands.seen(Schema([number]))
            return bands
        cuts = cuts[:1]
    raise AssertionError("a cut at the lower end is allowed")


def _single(schema: Schema, view: View, pick: random.Random) -> Question:
    """Return a question about one view."""
    seen = view.seen(schema)
    if isinstance(seen, Categorical):
        weight = pick.randrange(1, len(seen.labels))
        threshold = largest_threshold(BOUND, weight, len(seen.labels) - weight)
        return Question((view,), Subset(len(seen.labels), weight, threshold))
    return Question((view,), pick.choice((duchi, piecewise, minimax))(Fraction(1), optional=seen.optional))


def _rows(groups: int, size: int, width: int, optional: bool, pick: random.Random) -> Rows:
    weight = pick.randrange(1, groups)
    half = sorted(pick.sample(range(1, 1000), size // 2))
    uneven = (*(-level for level in reversed(half)), *[0] * (size % 2), *half)
    inside = weight * width
    threshold = largest_threshold(BOUND, inside, groups * (size + width * optional) - inside)
    return Rows(groups, weight, size, width, threshold, pick.choice(("even", uneven)), optional)


def small_plans() -> list[Plan]:
    """A plan for each small channel, on the attributes that it serves."""
    result = []
    for name, make in SMALL.items():
        for epsilon in (Fraction(1, 10), Fraction(2)):
            channel = make(epsilon)
            sizes = getattr(channel, "sizes", None)
            if sizes is not None:
                schema = Schema(
                    [
                        Numeric(f"a{j}", 0, 1) if n is None else Categorical(f"a{j}", range(n))
                        for j, n in enumerate(sizes)
                    ]
                )
            elif channel.kind in ("subset", "unary", "geometry"):
                schema = Schema([Categorical("c", range(getattr(channel, "size", 0)))])
            elif isinstance(channel, Picks):
                schema = Schema([Choices("c", [str(i) for i in range(channel.size)], channel.held)])
            elif channel.kind == "rows":
                maybe = Numeric("x", -1, 3, optional=getattr(channel, "optional", False))
                schema = Schema([Categorical("c", range(getattr(channel, "rows", 0))), maybe])
            elif channel.kind in ("signs", "cube", "corners"):
                schema = Schema([Numeric(f"x{j}", -2, 3) for j in range(getattr(channel, "size", 0))])
            else:
                schema = Schema([Numeric("x", -1, 3, optional=getattr(channel, "optional", False))])
            result.append(Plan(schema, epsilon, 1, (Question(schema.names, channel),), name))
    return result
