"""The tables of docs/first-visit.md, from docs/measured/first-visit.json and experiments/first_visit.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.first_visit import GOALS, KEPT, PACES, seconds, waited

KINDS = {"smoker": "yes or no", "system": "one of four", "age": "a number of two digits"}


def kept() -> dict[str, Any]:
    """Return the kept run."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def paces() -> str:
    """What each act of a person costs."""
    sources = {
        "word": "a word that is read: 238 a minute, silent reading of English prose (Brysbaert 2019)",
        "tap": "a tap or click, with the way to it: P (Card, Moran and Newell 1980)",
        "key": "a key: K, an average typist (the same)",
        "thought": "a moment of thought: M (the same)",
    }
    lines = ["| act | seconds |", "|---|---:|"]
    return "\n".join([*lines, *(f"| {text} | {PACES[name]:.2f} |" for name, text in sources.items())])


def visitor() -> str:
    """Each step of a visit, for each kind of question."""
    columns = ("question", "step", "words", "taps", "keys", "thoughts", "person, s", "machine, s")
    lines = ["| " + " | ".join(columns) + " |", "|---|---|" + "---:|" * 6]
    for one in kept()["visits"]:
        for step in one["steps"]:
            acts = " | ".join(str(step.get(name, 0)) for name in ("words", "taps", "keys", "thoughts"))
            lines.append(
                f"| {KINDS[one['question']]} | {step['step']} | {acts} | {seconds(step):.1f} | {step['machine']:.1f} |"
            )
    return "\n".join(lines)


def visit_sums() -> str:
    """The sum of each visit beside its goal, and with every word that can be seen."""
    columns = ("words before the first answer", "steps", "person, s", "machine, s", "together, s", "goal")
    lines = [f"| question | {' | '.join(columns)} | every word read, s |", "|---|" + "---:|" * 7]
    for one in kept()["visits"]:
        person, machine = sum(map(seconds, one["steps"])), waited(one)
        whole = sum(seconds(step | {"words": step["all"]}) for step in one["steps"]) + machine
        first, steps = one["steps"][0]["words"], len(one["steps"])
        lines.append(
            f"| {KINDS[one['question']]} | {first} | {steps} | {person:.1f} | {machine:.1f} "
            f"| {person + machine:.1f} | {_goal(person + machine, 'visitor')} | {whole:.1f} |"
        )
    return "\n".join(lines)


def operator() -> str:
    """Each step of the operator, and the sum."""
    lines = ["| step | words | keys | person, s | machine, s |", "|---|" + "---:|" * 4]
    rows = kept()["operator"]
    for row in rows:
        lines.append(f"| {row['step']} | {row['words']} | {row['keys']} | {seconds(row):.0f} | {row['machine']:.1f} |")
    person, machine = sum(map(seconds, rows)), sum(row["machine"] for row in rows)
    words, keys = (sum(row[name] for row in rows) for name in ("words", "keys"))
    lines.append(f"| all | {words} | {keys} | {person:.0f} | {machine:.1f} |")
    total = person + machine
    return "\n".join([*lines, "", f"Together {total:.0f} seconds. Goal: {_goal(total, 'operator')}."])


def machine() -> str:
    """What the machine was doing besides."""
    found = kept()
    said = f"The kept run was on {found['cores']} cores, with a load of {found['load']:.1f} when it began."
    if found["load"] >= 2 * found["cores"]:
        each = found["load"] / found["cores"]
        said += (
            f"\nSo about {each:.0f} processes wanted each core, and the machine's seconds are several times those of "
            "an idle one."
            "\nJudge the person's seconds, or run it again on an idle machine."
        )
    return said


def _goal(total: float, who: str) -> str:
    return f"under {GOALS[who]:g} s: {'met' if total < GOALS[who] else '**missed**'}"


TABLES = {"paces": paces, "machine": machine, "visitor": visitor, "visit sums": visit_sums, "operator": operator}
