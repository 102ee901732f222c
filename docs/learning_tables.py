"""The tables of docs/learning-figures.md, made from what was measured.

Errors come from experiments/results/learning.json (`make learning`), times from docs/measured/learn.json (`make
bench`).
"""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from speed_tables import Results, Row, heading, kept, number, size, table

RESULTS = Path(__file__).parent.parent / "experiments" / "results" / "learning.json"
TARGETS = Path(__file__).parent / "measured" / "training.json"
PATHS = Path(__file__).parent / "measured" / "paths.json"
REMAINDER = Path(__file__).parent / "measured" / "remainder.json"
NETWORKS = Path(__file__).parent / "measured" / "networks.json"
LABELS = Path(__file__).parent / "measured" / "labels.json"
MAPS = Path(__file__).parent / "measured" / "maps.json"
BAYES = Path(__file__).parent / "measured" / "bayes.json"
TREES = Path(__file__).parent / "measured" / "trees.json"
TASKS = {
    "logistic": "logistic regression, misclassified",
    "svm": "SVM, misclassified",
    "linear": "linear regression, MSE",
    "linear, clipped": "linear regression, incomes clipped, MSE",
}
METHODS = ("Laplace", "Duchi", "PM", "HM", "hush", "PrivUnit")
MANY, MINUTES = 500_000, 10.0  # people through a live training, and the time for them
PASSES = 3.0  # times that one private pass may cost of one pass in the clear


def results() -> Results:
    """Return the errors of the run that is kept."""
    found: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def _cell(row: Row | None, name: str = "error") -> str:
    if row is None:
        return ""
    spread = row["stderr" if name == "error" else "excess_stderr"]
    return f"{row[name]:.4f}" + ("" if spread is None else f" ± {spread:.4f}")


def _errors(data: str) -> str:
    """Errors of every method, at the epsilons that all of them have; the variants are in the other table."""
    rows = [r for r in results()["rows"] if r["data"] == data and not r["everybody"]]
    epsilons = sorted({r["epsilon"] for r in rows if r["method"] == "hush"})
    parts = []
    for task, title in TASKS.items():
        mine = [r for r in rows if r["task"] == task]
        lines = []
        for method in METHODS:
            cells = [next((r for r in mine if r["method"] == method and r["epsilon"] == e), None) for e in epsilons]
            if any(cells):
                first = next(r for r in cells if r is not None)
                fewer = "" if first["repetitions"] > 1 else f" ({first['people']:,} people, once)"
                lines.append([method + fewer, *map(_cell, cells)])
        if lines:
            clear = {r["method"]: _cell(r) for r in mine if r["epsilon"] == 0}
            lines = [[name, *[error] * len(epsilons)] for name, error in clear.items()] + lines
            head = [title, *(f"eps = {e:g}" for e in epsilons)]
            parts.append(table(head, lines))
    people = max(r["people"] for r in rows)
    return f"{people:,} people:\n\n" + "\n\n".join(parts)


def verdict() -> str:
    """The goal at epsilon 1."""
    constant = {
        (r["data"], r["task"], r["people"]): r["excess"] for r in results()["rows"] if r["method"] == "constant"
    }
    head = ["data, model", "people", "excess of a constant", "of HM", "of hush", "hush / HM", "at most a third"]
    rows = []
    for row in sorted(results()["verdicts"], key=lambda r: (-r["everybody"], r["data"])):
        rows.append(
            [
                f"{row['data']}, {row['task']}",
                f"{row['people']:,}",
                f"{constant[row['data'], row['task'], row['people']]:.4f}",
                f"{row['HM']:.4f}",
                f"{row['hush']:.4f}",
                f"{row['ratio']:.2f}",
                "reached" if row["reached"] else "**not reached**",
            ]
        )
    return table(head, rows)


def ablation() -> str:
    """What each part is worth: excess at epsilon 1."""
    rows = [r for r in results()["rows"] if r["epsilon"] in (0.0, 1.0) and not r["everybody"]]
    names = [
        "constant",
        "HM",
        "HM, the theorem's steps",
        "HM, attributes selected",
        "HM, projected to 30",
        "HM, pilot and averaging",
        "HM, all of hush's training",
        "hush, the paper's training",
        "hush, projected to 30",
        "hush, no pilot",
        "hush",
        "PrivUnit",
    ]
    sets = sorted({r["data"] for r in rows if r["method"] == "hush, no pilot"})
    tasks = ("logistic", "svm", "linear")
    head = ["excess at eps = 1", *(f"{data}, {task}" for data in sets for task in tasks)]
    lines = []
    for name in names:
        cells = [
            next((r for r in rows if r["data"] == data and r["task"] == task and r["method"] == name), None)
            for data in sets
            for task in tasks
        ]
        lines.append([name, *(_cell(cell, "excess") for cell in cells)])
    return table(head, lines)


def few() -> str:
    """Gradients and statistics by dimension."""
    head = ["people, eps, features", "statistics", "gradients", "measured ratio", "predicted ratio", "taken", "better"]
    rows = []
    for row in results()["few"]:
        better = min(("statistics", "gradients"), key=lambda way: row[way])
        rows.append(
            [
                f"{row['people']:,}, {row['epsilon']:g}, {row['d']}",
                f"{row['statistics']:.2g}",
                f"{row['gradients']:.2g}",
                f"{row['gradients'] / row['statistics']:.2g}",
                "" if row["predicted"] is None else f"{row['predicted']:.2g}",
                row["chosen"],
                better,
            ]
        )
    return table(head, rows)


def speed(measured: Results) -> str:
    """Nanoseconds of one person, and ratios."""
    head = [
        "people, epsilon",
        "ns a person",
        "one pass of SGD, ns",
        "ratio",
        "SGD to its end, ratio",
        "copies",
        "at most 3",
    ]
    rows = []
    for row in measured["rows"]:
        ratio = row["ns"] / row["pass_ns"]
        rows.append(
            [
                f"{size(row['n'])}, {row['epsilon']:g}",
                number(row["ns"]),
                number(row["pass_ns"]),
                number(ratio),
                f"{number(row['ns'] / row['sgd_ns'])} ({row['sgd_passes']} passes)",
                number(row["ns"] / row["copy_ns"]),
                "met" if ratio <= PASSES else "**missed**",
            ]
        )
    return table(head, rows)


def live(found: Results) -> str:
    """How fast people go through a collector that trains."""
    head = ["people", "how", "seconds", "people a second", "rounds", "misclassified", "in 10 minutes"]
    rows = []
    for row in found["rows"]:
        goal = ""
        if row["what"] == "live, in batches":
            goal = "met" if row["people"] >= MANY and row["seconds"] <= MINUTES * 60 else "**missed**"
        rows.append(
            [
                f"{row['people']:,}",
                row["what"],
                f"{row['seconds']:.1f}",
                f"{row['people'] / row['seconds']:,.0f}",
                "" if row["rounds"] is None else str(row["rounds"]),
                "" if row["error"] is None else f"{row['error']:.4f}",
                goal,
            ]
        )
    return table(head, rows)


def _networks() -> Results:
    found: Results = json.loads(NETWORKS.read_text(encoding="utf-8"))
    return found


def networks_needed() -> str:
    """The people that the rule asks for, by weights and epsilon."""
    found = _networks()
    head = ["weights", *(f"eps = {epsilon:g}" for epsilon in found["settings"]["epsilons"])]
    return table(head, [[f"{row['weights']:,}", *(f"{n:,}" for n in row["people"])] for row in found["needed"]])


def networks_errors() -> str:
    """Errors of the linear model and of the network."""
    found = _networks()
    head = [f"misclassified, {found['settings']['people']:,} people", "linear", "network"]
    rows = []
    for row in found["rows"]:
        name = "no privacy" if row["epsilon"] is None else f"eps = {row['epsilon']:g}"
        rows.append([name, f"{row['linear']:.4f}", f"{row['network']:.4f}"])
    return table(head, rows)


def networks_share() -> str:
    """How much of the gain of a network remains."""
    clear, *rest = _networks()["rows"]
    gain = clear["linear"] - clear["network"]
    shares = [round(100 * (row["linear"] - row["network"]) / gain) for row in rest]
    left = [f"{share}% at epsilon {row['epsilon']:g}" for share, row in zip(shares, rest, strict=True)]
    return f"Without privacy the network gains {gain:.3f}. Of this gain it keeps {', '.join(left)}."


def _of(make: Callable[[Results], str]) -> Callable[[], str]:
    return lambda: make(kept("learn"))


def _targets() -> dict[tuple[str, int, str, float], dict[str, Row]]:
    """Return what was measured of the goal: rows of all methods, by data, people, model and epsilon.

    A limit without a certain one beside it is from before limits held for every channel, and left out.
    """
    found: dict[tuple[str, int, str, float], dict[str, Row]] = {}
    for row in json.loads(TARGETS.read_text(encoding="utf-8")):
        if row["method"] != "clear":
            found.setdefault((row["data"], row["people"], row["model"], row["epsilon"]), {})[row["method"]] = row
    for methods in found.values():
        if "certain" not in methods:
            methods.pop("limit", None)
    return found


def _reached(methods: dict[str, Row]) -> bool:
    return bool(methods["hush"]["value"] <= methods["HM"]["value"] / 3)


def targets() -> str:
    """The excess of HM, of hush and at the limit, and whether the goal is reached."""
    lines = ["| data, people, model | eps | HM | hush | limit | hush / HM | at most a third |", "|---" * 7 + "|"]
    for (data, people, model, epsilon), methods in _targets().items():
        cells = [
            _plus(methods["HM"]),
            _plus(methods["hush"]),
            f"{methods['limit']['value']:.4f}" if "limit" in methods else "",
        ]
        ratio = methods["hush"]["value"] / methods["HM"]["value"]
        verdict_ = "reached" if _reached(methods) else "**not reached**"
        lines.append(f"| {data}, {people:,}, {model} | {epsilon:g} | {' | '.join(cells)} | {ratio:.2f} | {verdict_} |")
    return "\n".join(lines)


def targets_missed() -> str:
    """In how many of the missed rows the goal is below the limit, how far starts agree, and how often was measured."""
    everything = [*_targets().values()]
    rows = [methods for methods in everything if "limit" in methods]
    missed = [methods for methods in rows if not _reached(methods)]
    some = "" if len(rows) == len(everything) else " that have a limit"
    below = {
        name: sum(methods["HM"]["value"] / 3 < methods[name]["value"] for methods in missed)
        for name in ("limit", "certain")
    }
    better = sum(methods["hush"]["value"] < methods["limit"]["value"] for methods in rows)
    starts = [methods["limit"]["starts"] for methods in rows if "starts" in methods["limit"]]
    kinds = [[max(found[kind][i] for kind in found) for i in range(len(found["random"]))] for found in starts]
    apart = max(max(values) / min(values) - 1 for values in kinds)
    random = [
        min(a / b for a, b in zip(found["random"], best, strict=True))
        for found, best in zip(starts, kinds, strict=True)
    ]
    times = {methods[name]["repetitions"] for methods in rows for name in ("HM", "hush", "limit")}
    often = f"{min(times)}" if len(times) == 1 else f"{min(times)} to {max(times)}"
    clearly = sum(
        methods["hush"]["value"] - methods["HM"]["value"] / 3
        > 2 * math.hypot(methods["hush"]["stderr"], methods["HM"]["stderr"] / 3)
        for methods in missed
    )
    sentences = [
        f"The goal is missed in {len(missed)} of the {len(rows)} rows{some}, by more than two standard",
        f"errors in {clearly}.",
        f"In {below['limit']} of the missed rows a third of HM's excess is below the limit, in {below['certain']}",
        "even below the certain one: no private protocol reaches the goal there, unless it knows something of the",
        "weights beforehand. A short path is such knowledge, as it expects small weights, and so is the order of",
        f"categories; real people do not follow the model either. hush is below the limit in {better} rows.",
        f"Information does not rule out the goal in the other {len(missed) - below['limit']} missed rows.",
        f"The information that the search finds differs by at most {100 * apart:.0f}% between repetitions;",
        f"random starts alone find at least {100 * min(random):.0f}% of it.",
        f"All figures have {often} repetitions.",
    ]
    return "\n".join(textwrap.wrap(" ".join(sentences), 120))


def remainder() -> str:
    """What the excess of a training consists of."""
    kept_rows = json.loads(REMAINDER.read_text(encoding="utf-8"))["rows"]
    lines = ["| data, model | eps | hush | noise of the reports | the rest |", "|---" * 5 + "|"]
    for row in kept_rows:
        cells = [_plus(row), f"{row['value'] - row['rest']:.4f}", f"{row['rest']:.4f}"]
        lines.append(f"| {row['data']}, {row['model']} | {row['epsilon']:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def paths() -> str:
    """The excess along the path of the rule, and along others."""
    kept_rows = json.loads(PATHS.read_text(encoding="utf-8"))["rows"]
    names = [name for name, found in kept_rows[0].items() if isinstance(found, dict)]
    lines = [f"| data, people, model | eps | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for row in kept_rows:
        cells = " | ".join(_plus(row[name]) for name in names)
        lines.append(f"| {row['data']}, {row['people']:,}, {row['model']} | {row['epsilon']:g} | {cells} |")
    return "\n".join(lines)


def _plus(row: Row) -> str:
    return f"{row['value']:.4f}" + ("" if row["stderr"] is None else f" ± {row['stderr']:.4f}")


def labels() -> str:
    """Misclassified people with private labels, beside no privacy."""
    rows = json.loads(LABELS.read_text(encoding="utf-8"))
    at = {(row["data"], row["people"], row["epsilon"]): row for row in rows}
    columns = {"linear": "linear, no privacy", None: "trees, no privacy", 2.0: "eps 2", 1.0: "eps 1", 0.5: "eps .5"}
    lines = ["| data, people | " + " | ".join(columns.values()) + " |", "|---" * (len(columns) + 1) + "|"]
    for data, people in dict.fromkeys(key[:2] for key in at):
        cells = [_cell(at.get((data, people, column))) for column in columns]
        lines.append(f"| {data}, {people:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_epsilon(rows: list[Row], column: str, head: str) -> str:
    """Errors with a line for each population and value of a column, and a column for each epsilon."""
    at = {(row["data"], row["people"], row[column], row["epsilon"]): row for row in rows}
    epsilons = sorted({row["epsilon"] for row in rows if row["epsilon"] is not None})
    lines = [
        [f"{data}, {people:,}, {name}", *(_cell(at.get((data, people, name, epsilon))) for epsilon in epsilons)]
        for data, people, name in dict.fromkeys(key[:3] for key in at if key[3] is not None)
    ]
    return table([head, *(f"eps = {epsilon:g}" for epsilon in epsilons)], lines)


def _maps(real: bool) -> list[Row]:
    found: list[Row] = json.loads(MAPS.read_text(encoding="utf-8"))
    return [row for row in found if row["data"].endswith("_like") == real]


def maps_real() -> str:
    """Misclassified real people, with and without a map."""
    return _by_epsilon(_maps(True), "map", "data, people, map")


def maps_made_up() -> str:
    """Misclassified made-up people, with maps of several kinds."""
    return _by_epsilon(_maps(False), "map", "data, people, map")


def maps_clear() -> str:
    """The errors of lines without privacy."""
    clear = [row for row in json.loads(LABELS.read_text(encoding="utf-8")) if row["epsilon"] == "linear"]
    return "A line without privacy has " + ", ".join(f"{row['error']:.4f} ({row['data']})" for row in clear) + "."


def bayes() -> str:
    """Misclassified people, of naive Bayes and of a line."""
    return _by_epsilon(json.loads(BAYES.read_text(encoding="utf-8")), "method", "data, people, method")


def trees() -> str:
    """Misclassified people, of trees from relations beside naive Bayes and a line."""
    rows = [row for path in (BAYES, TREES) for row in json.loads(path.read_text(encoding="utf-8"))]
    at = {(row["data"], row["method"], row["epsilon"]): row for row in rows}
    columns = {None: "no privacy", 1.0: "eps = 1", 2.0: "eps = 2", 4.0: "eps = 4"}
    methods = dict.fromkeys(row["method"] for row in rows)
    lines = [
        [f"{data}, {method}", *(_cell(at.get((data, method, epsilon))) for epsilon in columns)]
        for data in dict.fromkeys(row["data"] for row in rows)
        for method in methods
    ]
    return table(["data, method", *columns.values()], lines)


def directions() -> str:
    """The noise of corners, cube and PrivUnit."""
    sys.path.append(str(RESULTS.parent.parent.parent))  # the folder of the experiments' package
    from experiments.directions import rows

    lines = ["| D | eps | m | corners | cube | PrivUnit | taken |", "|---" * 7 + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows())])


TABLES: dict[str, Callable[[], str]] = {
    "targets": targets,
    "targets-missed": targets_missed,
    "remainder": remainder,
    "paths": paths,
    "labels": labels,
    "maps-real": maps_real,
    "maps-clear": maps_clear,
    "maps-made-up": maps_made_up,
    "bayes": bayes,
    "trees": trees,
    "directions": directions,
    "verdict": verdict,
    "errors-synthetic": lambda: _errors("synthetic"),
    "errors-br": lambda: _errors("br_like"),
    "ablation": ablation,
    "few": few,
    "learn-machine": _of(heading),
    "learn-speed": _of(speed),
    "live-machine": lambda: heading(kept("live")),
    "live-speed": lambda: live(kept("live")),
}

NETWORK_TABLES = {
    "networks-needed": networks_needed,
    "networks-errors": networks_errors,
    "networks-share": networks_share,
}
