"""The figures and claims of docs/reproduction.md and docs/beyond.md, written by `python -m experiments.reproduce`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "reproduction"
KINDS = {"synthetic": "synthetic people", "real": "American Community Survey 2024"}
WORDS = {True: "holds", False: "**does not hold**", None: "open"}


def _kept() -> dict[str, dict[str, Any]]:
    """Return what was found about each figure, by kind of data."""
    found: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        path = FOLDER / kind / "claims.json"
        if path.exists():
            for name, content in json.loads(path.read_text(encoding="utf-8")).items():
                found.setdefault(name, {})[kind] = content
    return found


def paper() -> str:
    """Every figure and table of the paper."""
    return _figures(lambda title: title != "beyond")


def beyond() -> str:
    """What hush adds."""
    return _figures(lambda title: title == "beyond")


def _figures(wanted: Any) -> str:
    parts = []
    for name, by_kind in _kept().items():
        first = next(iter(by_kind.values()))
        if not wanted(first["paper"]):
            continue
        heading = first["title"] if first["paper"] == "beyond" else f"{first['paper']}: {first['title']}"
        parts += [f"## {heading}", _about_figure(first["about"], by_kind)]
        for kind, content in by_kind.items():
            about = _about(kind, name, content)
            parts.append(f"![{heading}, {about}](reproduction/{kind}/{name}.svg)")
            parts.append(f"*{about[0].upper()}{about[1:]}; the numbers: [{name}.csv](reproduction/{kind}/{name}.csv).*")
        parts.append(_table(by_kind, "stderr" in rows(next(iter(by_kind)), name)[0]))
    return "\n\n".join(parts)


def _about_figure(about: str, by_kind: dict[str, Any]) -> str:
    """Return what a figure shows, and how many of its claims hold."""
    claims = [claim for content in by_kind.values() for claim in content["claims"]]
    hold, open_, not_ = (sum(claim["holds"] is value for claim in claims) for value in (True, None, False))
    if hold == len(claims):
        fate = "Both claims hold." if hold == 2 else f"All {hold} claims hold."
    else:
        fate = f"{hold} of {len(claims)} claims hold"
        fate += f", {open_} {'is' if open_ == 1 else 'are'} open" if open_ else ""
        fate += f", {not_} {'does' if not_ == 1 else 'do'} not hold" if not_ else ""
        fate += "."
    text = about.replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n\n")
    return f"{text} {fate}" if "\n" not in text else f"{text}\n\n{fate}"


def _about(kind: str, name: str, content: dict[str, Any]) -> str:
    """Say what numbers are from: some are of people, others are computed from channels alone."""
    fields, settings = rows(kind, name)[0], content["settings"]
    if "surveys" in content:  # of several kinds, which the figure itself describes
        return f"{KINDS[kind]}, {content['surveys']}{_time(content)}"
    if "folds" in fields or "fold" in fields:
        times = f"{settings['repeats']} x {settings['folds']}-fold cross-validation"
        return f"{KINDS[kind]}, {times}, at most {settings['learners']:,} people{_time(content)}"
    if "stderr" in fields:
        return f"{KINDS[kind]}, {settings['runs']} runs, at most {settings['people']:,} people{_time(content)}"
    return "computed from the channels"


def _time(content: dict[str, Any]) -> str:
    """Say how long it took, if that was kept."""
    if "seconds" not in content:
        return ""
    minutes = content["seconds"] / 60
    wall = f", {content['wall'] / 60:,.0f} by the clock" if "wall" in content else ""
    took = f"{minutes:,.0f} processor minutes{wall}" if minutes >= 1.5 else "about a minute or less"
    return f", {took} ({content['machine']})"


def _table(by_kind: dict[str, Any], measured_on_people: bool) -> str:
    texts = list(dict.fromkeys(claim["text"] for content in by_kind.values() for claim in content["claims"]))
    lines = ["| claim | data | verdict | measured |", "|---" * 4 + "|"]
    for text in texts:
        for kind, content in by_kind.items():
            for claim in content["claims"]:
                if claim["text"] == text:
                    why = f" {_sentence(claim['why'])}" if claim["why"] else ""
                    data = kind if measured_on_people else "channels"
                    cells = [text, data, WORDS[claim["holds"]], _sentence(claim["measured"]) + why]
                    lines.append(_row(cells))
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def summary() -> str:
    """How many claims hold."""
    lines = ["| | holds | open | does not hold |", "|---" * 4 + "|"]
    for kind, label in KINDS.items():
        for ours, who in ((False, "claims of the paper"), (True, "claims of hush")):
            claims = [
                claim
                for by_kind in _kept().values()
                if kind in by_kind
                for claim in by_kind[kind]["claims"]
                if claim["text"].startswith("(hush)") == ours
            ]
            if claims:
                counts = [sum(claim["holds"] is value for claim in claims) for value in (True, None, False)]
                lines.append(f"| {who}, {label} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def rows(kind: str, name: str) -> list[dict[str, str]]:
    """Return the numbers of a figure."""
    with (FOLDER / kind / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def refuted() -> str:
    """The claims that do not hold; the figures have the measurements and the reasons."""
    lines = ["| where | claim |", "|---" * 2 + "|"]
    for name, by_kind in _kept().items():
        for kind, content in by_kind.items():
            for claim in content["claims"]:
                if claim["holds"] is False:
                    of_people = "stderr" in rows(kind, name)[0]
                    where = content["title"] if content["paper"] == "beyond" else content["paper"]
                    where += f", {KINDS[kind]}" if of_people else ""
                    lines.append(_row([where, claim["text"]]))
    return "\n".join(lines)


def people() -> str:
    """How many people HM needs where hush needs a thousand, for the same error."""
    found: dict[tuple[str, str], dict[float, dict[str, str]]] = {}
    for kind in reversed(KINDS):  # real people first
        if (FOLDER / kind / "fewer_people.csv").exists():
            for row in rows(kind, "fewer_people"):
                if row["what"] == "gain":
                    found.setdefault((row["data"], row["target"]), {})[float(row["epsilon"])] = row
    epsilons = sorted({epsilon for by_epsilon in found.values() for epsilon in by_epsilon})
    lines = ["| people, attributes | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons) + " |"]
    lines.append("|---" * (len(epsilons) + 1) + "|")
    for (data, target), by_epsilon in found.items():
        cells = []
        for epsilon in epsilons:
            row = by_epsilon[epsilon]
            times, error = float(row["value"]), float(row["stderr"])
            cells.append(f"{1000 * float(row['exact']):,.0f} ({1000 * times:,.0f} ± {1000 * error:,.0f})")
        lines.append(_row([f"{data}, {target}", *cells]))
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


TABLES = {"reproduction summary": summary, "refuted": refuted, "reproduction": paper}
BEYOND_TABLES = {"fewer people": people, "beyond": beyond}
