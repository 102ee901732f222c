"""Writes the tables of the documents from the channels themselves. `make docs` runs it, and a test compares."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path

from hush.core.design.average import average_variance, histogram
from hush.core.design.categorical import grr, oue, subset, sue, total_variance
from hush.core.design.choice import Makers, best_k
from hush.core.design.numeric import NUMERIC, best_average, best_worst_case, hybrid
from hush.core.schema import Numeric

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

import api_pages  # noqa: E402
import cli_tables  # noqa: E402
import collector_tables  # noqa: E402
import coverage_tables  # noqa: E402
import first_visit_tables  # noqa: E402
import joint_tables  # noqa: E402  # a neighbour, not a part of the package
import large_tables  # noqa: E402
import learning_tables  # noqa: E402
import mutants_tables  # noqa: E402
import promise_tables  # noqa: E402
import relations_tables  # noqa: E402
import reproduction_tables  # noqa: E402
import series_tables  # noqa: E402
import shuffle_tables  # noqa: E402
import speed_tables  # noqa: E402
import speed_targets  # noqa: E402
import stopwatch_tables  # noqa: E402
import wide_tables  # noqa: E402
import words_tables  # noqa: E402

LIMITS = json.loads((FOLDER.parent / "experiments" / "results" / "limit.json").read_text())
ENGINES = json.loads((FOLDER.parent / "benchmarks" / "engines.json").read_text())["rows"]
EPSILONS = [Fraction(text) for text in ("0.5", "1", "2", "4", "6")]
START, END = "<!-- {} -->", "<!-- end of {} -->"


def numeric() -> str:
    """Worst variance of one numeric attribute."""
    lines = ["| mechanism | " + " | ".join(f"eps = {float(e):g}" for e in EPSILONS) + " |", "|---" * 6 + "|"]
    for name, make in NUMERIC.items():
        cells = " | ".join(f"{float(make(e, False).worst_variance):.4g}" for e in EPSILONS)
        lines.append(f"| `{name}` | {cells} |")
    return "\n".join(lines)


def categorical() -> str:
    """Total variance of a categorical attribute, at epsilon 1 and 4."""
    sizes = [2, 4, 8, 16, 64]
    lines = ["| mechanism, epsilon | " + " | ".join(f"K = {size}" for size in sizes) + " |", "|---" * 6 + "|"]
    for epsilon in (Fraction(1), Fraction(4)):
        for name, make in (("subset", subset), ("grr", grr), ("oue", oue), ("sue", sue)):
            cells = " | ".join(f"{float(total_variance(make(epsilon, size))):.4g}" for size in sizes)
            lines.append(f"| `{name}`, {float(epsilon):g} | {cells} |")
    return "\n".join(lines)


def limit() -> str:
    """The minimax design beside the limit of linear programming."""
    lines = ["| eps | N, W | worst variance | limit | above the limit | hybrid / minimax |", "|---" * 6 + "|"]
    for row in LIMITS:
        epsilon = Fraction(repr(row["eps"]))
        channel = best_worst_case(epsilon)
        worst = float(channel.worst_variance)
        gain = float(hybrid(epsilon).worst_variance / channel.worst_variance)
        above = 100 * (worst / row["limit"] - 1)
        lines.append(
            f"| {row['eps']:g} | {channel.size}, {channel.width} | {worst:.5g} | {row['limit']:.5g} "
            f"| {above:.2f} % | {gain:.3f} |"
        )
    return "\n".join(lines)


def averages() -> str:
    """Average variance under priors: designed for the prior, and designed for the worst case."""
    lines = ["| prior | " + " | ".join(f"eps = {float(e):g}" for e in EPSILONS[:4]) + " |", "|---" * 5 + "|"]
    for prior in ("uniform", "centre"):
        shares = histogram(prior)
        cells = []
        for epsilon in EPSILONS[:4]:
            designed, worst = best_average(epsilon, shares), best_worst_case(epsilon)
            cells.append(
                f"{float(average_variance(designed, shares)):.4g} / {float(average_variance(worst, shares)):.4g}"
            )
        lines.append(f"| {prior} | {' | '.join(cells)} |")
    return "\n".join(lines)


def questions() -> str:
    """How many of 16 numeric questions each person answers."""
    epsilons = [Fraction(e) for e in (1, 2, 4, 5, 6, 8, 12, 16)]
    blocks = [[Numeric(f"x{i}", 0, 1)] for i in range(16)]
    makers = Makers("minimax", "subset", None)
    importance = {f"x{i}": 1.0 for i in range(16)}
    lines = ["| eps | best k | paper's k | error of the paper's k / of the best |", "|---" * 4 + "|"]
    for epsilon in epsilons:
        best, _ = best_k(makers, blocks, epsilon, importance)
        paper = max(1, min(16, int(epsilon / Fraction(5, 2))))
        errors = [makers.error(blocks[0], epsilon / k) / k for k in (paper, best)]
        lines.append(f"| {float(epsilon):g} | {best} | {paper} | {errors[0] / errors[1]:.3f} |")
    return "\n".join(lines)


def categories() -> str:
    """Total variance over that of the subset channel, and its weight."""
    lines = ["| K, eps | w | `grr` | `oue` | `sue` |", "|---" * 5 + "|"]
    for size in (2, 4, 16, 64, 256, 1024):
        for epsilon in (Fraction(1, 10), Fraction(1), Fraction(2), Fraction(4), Fraction(8)):
            best = subset(epsilon, size)
            cells = " | ".join(
                f"{float(total_variance(make(epsilon, size)) / total_variance(best)):.3g}" for make in (grr, oue, sue)
            )
            lines.append(f"| {size}, {float(epsilon):g} | {best.weight} | {cells} |")
    return "\n".join(lines)


def engines() -> str:
    """Rates of the engines, as they were measured."""
    lines = [
        "| engine | rows | variant | ratio | million rows per core-second | before, core-seconds |",
        "|---" * 6 + "|",
    ]
    for row in ENGINES:
        lines.append(
            f"| {row['engine']} | {row['kind']} | {row['variant'] or 'as it is'} | {row['ratio']:.0f} "
            f"| {row['rows_per_core_second'] / 1e6:.2g} | {row['fixed_core_seconds']:.1f} |"
        )
    return "\n".join(lines)


def costs() -> str:
    """Ten billion rows, from the measured rates."""
    lines = ["| rows | Parquet, GB | engine | core-minutes | dollars |", "|---" * 5 + "|"]
    for row in ENGINES:
        if not row["variant"]:
            seconds = 1e10 / row["rows_per_core_second"]
            lines.append(
                f"| {row['kind']} | {10 * row['bytes_per_row']:.0f} | {row['engine']} | {seconds / 60:.2g} "
                f"| {seconds / 3600 * 0.05:.2g} |"
            )
    return "\n".join(lines)


def billion() -> str:
    """A billion reports on disk, as they were counted."""
    names = {"duckdb": "DuckDB", "spark 1": "Spark, one worker", "spark 2": "Spark, two workers"}
    head = [
        "reports",
        "Parquet, GB",
        "engine",
        "seconds",
        "core-seconds",
        "memory, MB",
        "spilt, MB",
        "shuffled, KB",
        "load",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in speed_tables.kept("billion")["rows"]:
        cells = [
            row["kind"],
            f"{row['bytes'] / 1e9:.1f}",
            names[row["case"]],
            f"{row['wall']:.0f}",
            f"{row['core']:.0f}",
        ]
        cells += [f"{row['memory'] / 1e6:.0f}", f"{row['spilt'] / 1e6:.0f}", f"{row['shuffled'] / 1e3:.0f}"]
        lines.append(f"| {' | '.join(cells)} | {row['load']:.1f} |")
    return "\n".join(lines)


PAGES = {
    "mechanisms.md": {"numeric": numeric, "categorical": categorical, "categories": categories},
    "minimax.md": {"limit": limit, "averages": averages, "questions": questions},
    "joint-figures.md": joint_tables.TABLES,
    "what-it-promises.md": promise_tables.TABLES,
    "planning.md": promise_tables.PLANNING,
    "shuffle.md": shuffle_tables.SHUFFLE,
    "speed.md": speed_tables.TABLES | speed_targets.TABLES,
    "cli-reference.md": cli_tables.TABLES,
    "collector.md": collector_tables.TABLES,
    "collector-reference.md": collector_tables.REFERENCE,
    "collector-figures.md": collector_tables.FIGURES,
    "first-visit.md": first_visit_tables.TABLES,
    "over-time.md": series_tables.TABLES,
    "scale.md": {"engines": engines, "costs": costs, "billion": billion},
    "learning-figures.md": learning_tables.TABLES,
    "networks.md": learning_tables.NETWORK_TABLES,
    "reproduction.md": reproduction_tables.TABLES,
    "beyond.md": reproduction_tables.BEYOND_TABLES,
    "relations.md": relations_tables.TABLES,
    "wide-figures.md": wide_tables.TABLES,
    "words.md": words_tables.TABLES,
    "large-domains.md": large_tables.TABLES,
    "small.md": wide_tables.SMALL,
    "mutants.md": mutants_tables.TABLES,
    "threat-model.md": stopwatch_tables.TABLES,
    "decisions/0008-intervals.md": coverage_tables.TABLES,
    "decisions/0033-a-connection-of-our-own.md": {"ways": collector_tables.ways},
}


def filled(page: str) -> str:
    """Return a page with its tables made anew."""
    text = (FOLDER / page).read_text(encoding="utf-8")
    for name, make in PAGES[page].items():
        start, end = START.format(name), END.format(name)
        before, rest = text.split(start)
        after = rest.split(end)[1]
        text = f"{before}{start}\n{make()}\n{end}{after}"
    return text


if __name__ == "__main__":
    api_pages.write()
    for page in PAGES:
        (FOLDER / page).write_text(filled(page), encoding="utf-8")
