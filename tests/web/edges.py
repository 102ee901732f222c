"""Plans on both sides of every limit of spec/wire.md, as texts: the last that are taken, and the first that are not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hush.core.exact import WORD
from tests.web.drafts import (
    HALF,
    additive,
    category,
    cells,
    falling,
    ladder,
    mixture,
    number,
    rows,
    seeing,
    subset,
    text,
    value,
    window,
)


def plans() -> Iterator[str]:
    """Every text."""
    yield from _wholes()
    yield from _attributes()
    yield from _windows()
    yield from _additives()
    yield from _others()
    yield from _views()
    yield from _rows()
    yield from _ladders()


def _wholes() -> Iterator[str]:
    pair = [category(2, "c"), category(2, "d")]
    for epsilon in ("0.001", "0.0009999999999999998", "16.0", "16.000000000000004", "0.0", "-1.0", "1e-3", "1", "inf"):
        yield text([category(2)], subset(), epsilon=epsilon)
    for k in (0, 1, 2, 3):
        yield text(pair, subset(), subset(), k=k)
    for weights in ([1, 1], [1, 2**32], [1, 2**32 + 1], [0, 1], [1], [1, 1, 1], []):
        yield text(pair, subset(), subset(), weights=weights)
    yield text(pair, subset(), subset(), weights=[1, 1], k=2)
    for count in (1, 1024, 1025):
        yield text([category(2, f"c{i}") for i in range(count)], *([subset()] * count))
    # The outputs of all channels together: 128 of 32768, and one more.
    for size in (32767, 32768):
        schema = [number(f"x{i}") for i in range(129)]
        yield text(schema, *([window(32768, 16384)] * 127), window(size, 16384), window(2, 1))
    yield text([number(f"x{i}") for i in range(128)], *([window(32768, 16384)] * 128))
    zeros = "0" * 63
    for after in (
        None,
        f"{zeros}f",
        zeros,
        f"{zeros}00",
        f"{zeros}F",
        f"{zeros}g",
        f"{zeros}\u0660",
        "",
        0,
        True,
        [zeros],
    ):
        yield text([category(2)], subset(), after=after)
    both = {"kind": "cells", "sizes": [2, 2], "weight": 1, "threshold": str(HALF)}
    for views in ([value("c"), value("d")], [value("c"), value("c")], [value("d"), value("c"), value("d")]):
        sizes = [2] * len(views)
        yield text(pair, subset(), questions=[{"views": views, "channel": both | {"sizes": sizes}}])
    yield text([], subset())
    yield text([category(2)], subset(), questions=[])
    one = {"views": [value("c")], "channel": subset()}
    yield text(pair, subset(), questions=[one])
    yield text([category(2)], subset(), questions=[one, one])
    yield text([category(2)], subset(), questions=[one, {"views": [], "channel": subset()}])
    yield text(pair, subset(), questions=[{"views": [value("d")], "channel": subset()}, one])
    yield text([category(2), category(2)], subset(), subset())
    for title in ("x" * 256, "x" * 257, "é\u0301", "\U000e0001", "\u2028", "\xad", "\ufffd"):
        yield text([category(2)], subset(), title=title)


def _ladders() -> Iterator[str]:
    top = 2**44
    for states in (2, 3, 4, 128, 129, 130):
        yield text([number()], ladder(list(range(states))))
        yield text([number()], ladder(list(range(states)), states - 1))
        yield text([number()], ladder(list(range(states)), states))
    for knots in (
        [0, 1, top],
        [0, 1, top + 1],
        [0, top - 1, top],
        [1, 2, 3],
        [-1, 0, 1],
        [0, 0, 1],
        [0, 1, 1],
        [0, 2, 1],
        [0, 1, 2.5],
        [0, 1.0, 2],
        [0, True, 2],
        [0, "1", 2],
        [0, None, 2],
        [],
        "even",
        None,
        {"0": 0, "1": 1, "2": 2},
    ):
        yield text([number()], ladder(knots))
    yield text([number()], ladder([0, 1, 2], 0))
    yield text([number()], ladder([0, 1, 2], up=0))
    yield text([number()], ladder([0, 1, 2], optional=True))
    yield text([number(optional=True)], ladder([0, 1, 2]))
    yield text([number(optional=True)], ladder([0, 1, 2], optional=True))
    yield text([number(optional=True)], ladder([0, 1, 2], optional=True, up=0))
    yield text([number(scale="log")], ladder([0, 1, 2]) | {"optional": 0})
    yield text([category(2)], ladder([0, 1, 2]))
    yield text([number("x"), number("y")], ladder([0, 1, 2]))
    for step in (1 << 23, 1 << 24, 3 << 24, 5 << 24, 15 << 24, -15 << 24):
        channel = ladder([0, 1, 2, 3, 4, 5], 3)
        yield text([number()], channel | {"threshold": str(int(channel["threshold"]) + step)})


def _attributes() -> Iterator[str]:
    channel = window(2, 1)
    for unit in (None, 5e-324, 0.5, math.nextafter(1.0, 0), 1.0, 2.0, 1e300, 0.0, -0.5, 1, True, "0.5", [0.5], []):
        yield text([number(scale="log", unit=unit)], channel)
        yield text([number(unit=unit)], channel)
    for low, high, unit in ((-1e308, 7e307, 1.6e308), (-1e308, 7e307, 1.75e308), (0.0, 1e-300, 9e-301)):
        yield text([number(low=low, high=high, scale="log", unit=unit)], channel)
    for scale in ("linear", "log", "Log", "", None, 1, True, ["log"]):
        yield text([number(scale=scale)], channel)
    yield text([category(2, scale="linear", unit=None)], subset())
    yield text([{key: item for key, item in number().items() if key != "unit"}], channel)
    yield text([{key: item for key, item in number().items() if key != "scale"}], channel)
    for low, high in ((0.0, 1e-300), (0.0, 9e-301), (-1e308, 7e307), (-1e308, 1e308), (1.0, 1.0), (2.0, 1.0), (0, 1)):
        yield text([number(low=low, high=high)], channel)
    for change in ({"out_of_range": "clip"}, {"out_of_range": "wrap"}, {"optional": True}, {"optional": 0}):
        yield text([number(**change)], channel)
    for name in ("n" * 128, "n" * 129, "", " ", "\t", "𝒳" * 128, "__proto__", "constructor"):
        yield text([number(name)], channel)
    for size in (1, 2, 4096, 4097):
        yield text([category(size)], subset(max(size, 2)))
        yield text([category(size, optional=True)], subset(size + 1))
        yield text([category(size, optional=True)], subset(max(size, 2)))
    top = 2**53 - 1
    for values in (
        ["a" * 256, ""],
        ["a" * 257, "b"],
        ["a", "(missing)"],
        ["a", "a"],
        [1, "1"],
        [-top, top],
        [0, top + 1],
    ):
        yield text([category(values)], subset())
    for mixed in ([True, False], [1.5, 2], [None, 1], [[], 1], "ab", {"0": 1}):
        yield text([category(mixed)], subset())


def _windows() -> Iterator[str]:
    for size, width in ((2, 1), (32768, 1), (32769, 1), (1, 1), (2, 0), (5, 4), (8, 2)):
        if 0 < width < size:
            yield text([number()], window(size, width))
        yield text([number()], window(8, 2) | {"size": size, "width": width})
    yield text([number()], window(2, 1, up=0))
    yield text([number()], window(4, 2, up=0))
    yield text([number(optional=True)], window(5, 2, optional=True))
    yield text([number()], window(5, 2, optional=True))
    yield text([number(optional=True)], window(5, 2))
    yield text([category(2)], window(2, 1))
    yield text([number("x"), number("y")], window(2, 1))
    big = 2**30
    for levels in ([-1, 1], [-big, big], [-big - 1, big + 1], [1, -1], [0, 0], [-1, 2], [-1, 0, 1], [-1], "odd", None):
        yield text([number()], window(2, 1, levels))
    for four in ([-2, -1, 1, 2], [-2, -2, 2, 2], [-2, 0, 0, 2], [-2, 1, -1, 2], [-1, -1, 1, 1], [-1.0, 0, 0, 1]):
        yield text([number()], window(4, 1, four))
        yield text([number()], window(4, 2, four))
    for count in (1, 2, 8, 9):
        yield text([number()], mixture([window(2, 1)] * count))
    pair = [window(2, 1), window(8, 2)]
    for shares in (
        [HALF, HALF],
        [1, WORD - 1],
        [HALF, HALF - 1],
        [HALF, HALF + 1],
        [0, WORD - 1],
        [HALF, HALF // 2, HALF // 2],
    ):
        yield text([number()], mixture(pair, shares))
    yield text([number()], mixture([window(2, 1), window(8, 2, optional=True)]))
    yield text([number(optional=True)], mixture([window(2, 1, optional=True), window(8, 2, optional=True)]))
    yield text([number()], mixture([window(2, 1), mixture(pair)]))


def _additives() -> Iterator[str]:
    most = 2**52 - 1
    fair = [
        [[1, 1]],
        [[4, 1]],
        [[1, most]],
        [[1, most + 1]],
        [[1, 0]],
        [[0, 1]],
        [[1, 2], [1, 1]],
        [[1, 1], [1, 1]],
        [[1, 1], [1, 2]],
        [[3, 3], [1, 1]],
        [[3, 4], [1, 1]],
    ]
    others: list[Any] = [[], [[1]], [[1, 1, 1]], [1, 1], [[8, 1]], [[9, 1]]]
    for runs in [*fair, *others]:
        steps = sum(run[0] for run in runs if isinstance(run, list))
        for reach in (1, 2, 8):
            yield text([number()], additive(runs, falling(steps, reach), reach))
    for length, reach in ((4096, 4096), (4096, 4095), (4097, 4097), (1, 32768), (1, 32769), (1, 0)):
        decays = falling(length, reach)
        yield text([number()], additive([[length, 1]], decays, reach))
        yield text([number()], additive([[length - 1, 2], [1, 1]], decays, reach))
    # How many digits there must be: two below a reach of 14, three below one of 30.
    for reach in (13, 14, 29, 30):
        for count in (13, 14, 29, 30):
            yield text([number()], additive([[4, 1]], falling(4, count), reach))
    # Periods that do not fall, but in the last digit, by a third; and those beyond the reach as rare as may be.
    quarter, least = WORD // 4, -(-WORD // 33)
    good = (HALF, HALF, quarter, least)
    for place in range(4):
        for step in (-1, 1):
            yield text([number()], additive([[4, 1]], (*good[:place], good[place] + step, *good[place + 1 :]), 20))
    for decays in (good, (HALF, HALF, HALF, WORD - 1), (*good[:3], WORD - 1), (*good[:3], WORD), (0, *good[1:])):
        yield text([number()], additive([[4, 1]], decays, 20))
    # The last weight must not be below that of the next period.
    for second in (WORD // 16, WORD // 10, WORD // 10 + 1):
        for weight in (2, 3, 4):
            yield text([number()], additive([[3, weight], [1, 1]], (quarter, second, HALF), 8))
    wrong: list[Any] = [[], None, "12", {"0": "1"}, [1, 2], ["01", "2"], ["1", ["2"]]]
    for decays in wrong:
        yield text([number()], additive([[4, 1]], decays, 5))
    yield text([number()], additive([[4, 1]], falling(4, 8), 8) | {"decay": str(HALF)})
    yield text([number(optional=True)], additive([[4, 1]], falling(4, 8), 8))


def _others() -> Iterator[str]:
    for threshold in (HALF - 1, HALF, HALF + 1, WORD - 1, WORD, 1):
        yield text([category(2)], subset(threshold=threshold))
    for weight in (0, 1, 4, 5):
        yield text([category(5)], subset(5) | {"weight": weight, "threshold": str(WORD - WORD // 16)})
    for true, other in ((2, 1), (1, 1), (1, 2), (WORD - 1, HALF), (HALF, 0), (WORD, 1), (HALF + 1, HALF)):
        yield text([category(3)], {"kind": "unary", "size": 3, "true": str(true), "other": str(other)})
    for size in (1, 2, 3, 1024):
        schema = [number(f"x{i}") for i in range(size)]
        for threshold in (HALF - 1, HALF, HALF + 1, WORD // 4, WORD // 4 + 1):
            yield text(schema, {"kind": "signs", "size": size, "threshold": str(threshold)})
        yield text(
            [*schema[1:], number("y", optional=True)], {"kind": "signs", "size": size, "threshold": str(HALF + 1)}
        )
        yield text([*schema[1:], category(2)], {"kind": "signs", "size": size, "threshold": str(HALF + 1)})
    schema = [number(f"x{i}") for i in range(66)]
    for sample, agree in (
        (64, 33),
        (64, 32),
        (64, 64),
        (64, 65),
        (65, 33),
        (1, 1),
        (1, 0),
        (0, 1),
        (5, 3),
        (5, 2),
        (66, 66),
    ):
        for threshold in (1, HALF, HALF + 1, WORD - 1):
            cube = {"kind": "cube", "size": 66, "sample": sample, "agree": agree, "threshold": str(threshold)}
            yield text(schema, cube)
    yield text(schema[1:], {"kind": "cube", "size": 66, "sample": 5, "agree": 3, "threshold": str(HALF + 1)})
    for count in (0, 1, 11, 12, 13):
        yield text([category(2, f"c{i}") for i in range(count)], cells(*[2] * count))
    for sizes in ((64, 64), (64, 65), (4096,), (4097,), (1, 2), (2, 2), (None, 2)):
        kinds = [category(size, f"a{i}") if size else number(f"a{i}") for i, size in enumerate(sizes)]
        yield text(kinds, cells(*sizes))
        yield text([*kinds[1:], number("b", optional=True)], cells(*sizes))
        yield text([*kinds[1:], category(max((sizes[0] or 2) - 1, 1), "b", optional=True)], cells(*sizes))
    weights: list[Any] = [0, 1, 2, 5, 6, 7, "1", 1.0, None]
    for several in weights:
        yield text([category(6)], cells(6, weight=several, threshold=WORD - WORD // 16))
    for threshold in (WORD // 3, WORD // 3 + 1):
        yield text([category(6)], cells(6, weight=2, threshold=threshold))
    yield text([number()], cells(2))
    yield text([category(2)], cells(None))


def _views() -> Iterator[str]:
    def bands(*cuts: Any, of: Any = ("x",), **change: Any) -> dict[str, Any]:
        return {"kind": "bands", "of": list(of), "cuts": list(cuts)} | change

    def sides(*cuts: Any, of: Any = ("x", "y")) -> dict[str, Any]:
        return {"kind": "sides", "of": list(of), "cuts": list(cuts)}

    def product(*centres: Any, of: Any = ("x", "y"), reach: Any = 0.5) -> dict[str, Any]:
        return {"kind": "product", "of": list(of), "centres": list(centres), "reach": reach}

    below = math.nextafter(1.0, 0)
    for cut in (0.0, -0.0, 5e-324, below, 1.0, -1e-300, 0, "0.0", None, True, [0.5], 1e-320, math.nextafter(1.0, 2)):
        yield seeing(bands(cut), subset())
        yield seeing(sides(cut, -1.0), subset())
        yield seeing(sides(0.5, cut), subset())
        yield seeing(product(cut, 0.0), window(2, 1))
    for cut in (0.1, math.nextafter(0.1, 0), 0.09, -1000.0, -1000.5):
        yield seeing(bands(cut, of=["y"]), subset())
        yield seeing(sides(cut, 0.5, of=["y", "x"]), subset())
        yield seeing(product(0.5, cut), window(2, 1))
    for cuts in ([0.25, 0.5], [0.5, 0.5], [0.5, 0.25], [0.5, math.nextafter(0.5, 1)], [0.0, 5e-324]):
        yield seeing(bands(*cuts), subset(3))
    for pair in ([-1e-3, 0.0], [math.nextafter(0.05, 0), 0.05], [0.0, 1e-320]):  # on y these may lie too close
        yield seeing(bands(*pair, of=["y"]), subset(3))
    for count in (4095, 4096):
        cuts = [(i + 0.5) / count for i in range(count)]
        yield seeing(bands(*cuts), subset(min(count + 1, 4097)))
    for reach in (1.0, math.nextafter(1.0, 2), 2.0**-20, math.nextafter(2.0**-20, 0), 0.0, -0.0, 1, "1.0", None, -0.5):
        yield seeing(product(0.5, 0.0, reach=reach), window(2, 1))
    for of in (["x"], ["x", "y"], ["x", "x"], ["y", "x"], [], ["x", "y", "x"], ["z"], [0], "x", None):
        yield seeing({"kind": "value", "of": of}, window(2, 1))
        yield seeing(bands(0.0, of=["x"]) | {"of": of}, subset())
        yield seeing(sides(0.0, 0.0) | {"of": of}, subset())
        yield seeing(product(0.0, 0.0) | {"of": of}, window(2, 1))
    both = [number(), category(2)]
    for view in (bands(0.5, of=["c"]), sides(0.5, 0.5, of=["x", "c"]), product(0.5, 0.5, of=["c", "x"]), value("c")):
        yield seeing(view, subset(), *both)
    maybe = [number(), number("y", optional=True)]
    for size in (2, 3, 4):
        yield seeing(bands(0.5, of=["y"]), subset(size), *maybe)
        yield seeing(sides(0.5, 0.5), subset(size), *maybe)
        yield seeing(sides(0.5, 0.5, of=["x", "x"]), subset(size), *maybe)
    for optional in (False, True):
        yield seeing(product(0.5, 0.5), window(5, 2, optional=optional), *maybe)
        yield seeing(product(0.5, 0.5, of=["x", "x"]), window(5, 2, optional=optional), *maybe)
    wrong: list[Any] = [None, [], {}, "value", {"kind": "value"}, {"kind": "toString", "of": ["x"]}]
    for odd in [*wrong, value() | {"cuts": []}]:
        yield seeing([odd], subset())
    yield seeing([bands(0.5), bands(0.5)], cells(2, 2))
    yield seeing([value(), value()], {"kind": "signs", "size": 2, "threshold": str(HALF + 1)})
    for count in (4093, 4095):  # with those of x and y: 4095 and 4097
        questions = [
            {"views": [value("x")], "channel": window(2, 1)},
            {"views": [value("y")], "channel": window(2, 1)},
            *({"views": [bands((i + 0.5) / count)], "channel": subset()} for i in range(count)),
        ]
        yield text([number(), number("y")], subset(), questions=questions)


def _rows() -> Iterator[str]:
    for groups, weight, size, width in (
        (2, 1, 2, 1),
        (1, 1, 2, 1),
        (3, 2, 2, 1),
        (3, 3, 2, 1),
        (3, 0, 2, 1),
        (3, 1, 1, 1),
        (3, 1, 5, 0),
        (3, 1, 5, 4),
        (3, 1, 5, 5),
        (2, 1, 32768, 1),
        (2, 1, 32769, 1),
        (3, 1, 21845, 1),
        (3, 1, 21846, 1),
        (4096, 1, 16, 1),
        (4097, 4096, 15, 14),
        (4096, 1, 17, 1),
    ):
        yield text(
            [category(max(groups, 2)), number()] if groups < 4097 else [category(4096, optional=True), number()],
            rows(groups, weight, size, width),
        )
    for size in (21844, 21845):
        yield text([category(3), number(optional=True)], rows(3, 1, size, 7, optional=True))
    fair = rows(3, 2, 4, 3)
    for step in (-1, 0, 1):
        yield text([category(3), number()], fair | {"threshold": str(HALF + step)})
    for change in (
        {"optional": True},
        {"optional": 1},
        {"levels": "odd"},
        {"threshold": 5},
        {"weight": "2"},
        {"extra": 1},
    ):
        yield text([category(3), number()], fair | change)
    for levels in (
        [-2, -1, 1, 2],
        [-1, -1, 1, 1],
        [-2, 0, 0, 2],
        [-1, 0, 1],
        [0, 0, 0, 0],
        [1, 0, 0, -1],
        [-1.0, 0, 0, 1],
    ):
        yield text([category(3), number()], fair | {"levels": levels})
        yield text([category(3), number()], fair | {"levels": levels, "width": 1, "threshold": str(HALF)})
    for optional in (False, True):
        yield text([category(3), number(optional=True)], rows(3, 2, 4, 3, optional=optional))
        yield text([category(2, optional=True), number(optional=optional)], rows(3, 2, 4, 3, optional=optional))
    yield text([number(), category(3)], fair)
    yield text([category(3), category(3, "d")], fair)
    yield text([number("x"), number("y")], fair)
    yield text([category(3)], fair)
    yield text([category(3), number(), number("y")], fair)
    yield text([category(4), number()], fair)
