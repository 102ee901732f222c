"""The tables of docs/collector*.md: made of the endpoints, the problems and the channels themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from hush import Numeric, Schema, design
from hush.collector import formats
from hush.collector.http import protocol, security
from hush.collector.http.app import Collector
from hush.collector.http.problems import KINDS
from hush.collector.settings import Settings
from hush.server.manipulations import leverage

PEOPLE, LIARS = 40_000, 400
MEASURED = Path(__file__).parent / "measured" / "collector.json"
LOADED, ALONE = MEASURED.with_name("load.json"), MEASURED.with_name("singles.json")
STARTING = MEASURED.with_name("starting.json")
WAYS = MEASURED.with_name("ways.json")
RELAY = MEASURED.with_name("relay.json")
STORM, KILLS, IDS = (MEASURED.with_name(f"{name}.json") for name in ("storm", "kills", "ids"))
GOALS = {"packed batches": 4e6, "Arrow batches": 2e6}
PEER_GOALS = {"to_nothing": 0.6, "to_group": 0.8, "p99_to_p50": 4.0}


def endpoints() -> str:
    """Every endpoint."""
    lines = ["| request | what | role | body | parameters | answer |", "|---" * 6 + "|"]
    for endpoint in Collector(cast(Any, None), Settings()).endpoints:
        reads = ", ".join(_short(kind) for kind in endpoint.reads)
        parameters = ", ".join(f"`{parameter.name}`" for parameter in endpoint.parameters)
        json = ["JSON"] if endpoint.answers is not None else []
        answers = ", ".join([*json, *(_short(kind) for kind in endpoint.also)])
        role = endpoint.role or "everybody"
        lines.append(
            f"| `{endpoint.method} {endpoint.path}` | {endpoint.summary} | {role} | {reads} | {parameters} "
            f"| {endpoint.status}: {answers} |"
        )
    return "\n".join(lines)


def problems() -> str:
    """Every kind of problem."""
    lines = ["| `urn:hush:problem:` | status | meaning |", "|---" * 3 + "|"]
    for kind, (status, title) in sorted(KINDS.items(), key=lambda item: (item[1][0], item[0])):
        lines.append(f"| `{kind}` | {status} | {title} |")
    return "\n".join(lines)


def limits() -> str:
    """What is bounded, and what becomes of more."""
    most = Settings()
    batch = f"{_size(most.max_body)}, {formats.MAX_ROWS:,} rows or {formats.MAX_REPORTS:,} binary reports"
    loopback = f"{most.streams:,}; {most.streams_each} to one address (IPv6: to its first half)"
    rows = [
        ("a batch or tally", f"{batch}, {formats.MAX_PIECES:,} record batches", "413, 422"),
        ("a single report", f"{_size(most.max_single)}, or what the largest report of the plan takes", "413"),
        (
            "waiting for a request",
            f"{_size(protocol.MAX_HEADERS)} of empty lines; {protocol.HEADER_SECONDS:g} seconds for the first, "
            f"{protocol.KEEP_SECONDS:g} for another",
            "the connection is closed",
        ),
        (
            "address and headers",
            f"{_size(protocol.MAX_HEADERS)}, the address {_size(protocol.MAX_ADDRESS)}, "
            f"within {protocol.HEADER_SECONDS:g} seconds",
            "431, or the connection is closed",
        ),
        (
            "a body",
            f"{most.body_timeout:g} seconds (`--body-timeout`), {_size(protocol.LEAST_RATE)} a second after "
            f"{protocol.GRACE:g} seconds",
            "408",
        ),
        (
            "chunk sizes and extensions, and trailers (dropped)",
            f"{_size(protocol.MAX_HEADERS)}, and before the trailer as many bytes more as the body has",
            "400",
        ),
        (
            "unanswered requests, all together",
            f"{_size(most.held_bytes)} (`--held`)",
            "503 for the oldest unfinished body of the address that holds most",
        ),
        (
            "until the answer begins",
            f"{most.body_timeout + most.answer_timeout:g} seconds after the headers: `--body-timeout`, and "
            f"{most.answer_timeout:g} more",
            "503, and the connection is closed",
        ),
        ("waiting requests on one connection", f"{protocol.MAX_PIPELINED}", "it is closed"),
        (
            "answers that are not read, also those in the kernel",
            f"{_size(protocol.READ_LEAST)}, or all of it, read in {protocol.READ_SECONDS:g} seconds; "
            f"{_size(most.held_bytes)} wait",
            "the connection is reset",
        ),
        (
            "after an answer: the rest of a body that was refused or that nobody reads, or the client's own end",
            f"{_size(protocol.LINGER_BYTES)}, {protocol.LINGER_SECONDS:g} seconds",
            "the connection is closed",
        ),
        (
            "connections",
            f"{most.connections:,} (`--connections`); {most.connections_each} from one address "
            "(`--connections-each`; IPv6: from its first half); "
            "files that may be open, less 64",
            "the one that has waited longest for a request is closed; 503, 429",
        ),
        ("waiting for a commit", f"{most.queue:,} submissions, {_size(most.queue_bytes)}", "503"),
        ("streams, counted when they are asked for", loopback, "503, 429"),
        ("with `--rate`: reports at once", f"{most.burst}, of at most {security.MAX_ADDRESSES:,} addresses", "429"),
    ]
    lines = ["| what | limit | beyond |", "|---" * 3 + "|"]
    return "\n".join([*lines, *(f"| {what} | {limit} | {beyond} |" for what, limit, beyond in rows)])


def starting() -> str:
    """How long a start takes, beside reading the store's files once."""
    lines = ["| store | seconds until it is ready | reading its files once, seconds |", "|---|---:|---:|"]
    for row in json.loads(STARTING.read_text())["rows"]:
        lines.append(f"| {row['store']} | {row['seconds']:.2f} | {row['reading']:.3f} |")
    return "\n".join(lines)


def ways() -> str:
    """What the parts of the way of a report earn, each left out in turn."""
    rows = json.loads(WAYS.read_text())["rows"]
    numbers = sorted({row["connections"] for row in rows})
    lines = ["| a collector | " + " | ".join(map(str, numbers)) + " |", "|---" * (len(numbers) + 1) + "|"]
    for way in dict.fromkeys(row["way"] for row in rows):
        if way != "whole":
            found = {row["connections"]: row["processor"] for row in rows if row["way"] == way}
            name = "as it was, on uvicorn" if way == "before" else way
            lines.append(f"| {name} | " + " | ".join(f"{found[number]:.2f}" for number in numbers) + " |")
    return "\n".join(lines)


def _size(size: int) -> str:
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"


def tickets() -> str:
    """How far liars can move a mean, if they pick their question and if it is dealt."""
    lines = ["| attributes d | picked | dealt | factor d/k |", "|---" * 4 + "|"]
    for d in (1, 5, 20, 100):
        plan = design(Schema([Numeric(f"x{i}", 0, 1) for i in range(d)]), 1.0, k=1)
        answers = PEOPLE * plan.k / d
        picked = LIARS * leverage(plan)[0].shift / answers
        lines.append(f"| {d} | {picked:.3g} | {picked * plan.k / d:.3g} | {d / plan.k:g} |")
    return "\n".join(lines)


def rates() -> str:
    """How many reports a second, from a kept run of benchmarks/collector.py."""
    head = "| what is sent | reports/s | p50, ms | p99, ms | p99.9, ms | server, us | sender, us | goal |"
    lines = [head, "|---" + "|---:" * 6 + "|---|"]
    for name, row in json.loads(MEASURED.read_text())["cases"].items():
        rate, goal = row["reports_per_second"], GOALS.get(name)
        verdict = "" if goal is None else f"{goal:,.0f}: {'met' if rate >= goal else '**missed**'}"
        cells = [f"{row[key]:g}" for key in ("p50", "p99", "p99.9", "server_us", "sender_us")]
        lines.append(f"| {name} | {rate:,.0f} | {' | '.join(cells)} | {verdict} |")
    return "\n".join(lines)


def peers() -> str:
    """Single reports beside endpoints that do less, from the same run."""
    lines = [
        "| connections | of an endpoint that does nothing | of a bare one that commits | p99 / p50 | us |",
        "|---:" * 5 + "|",
    ]
    for connections, row in json.loads(MEASURED.read_text())["peers"].items():
        cells = []
        for name, goal in PEER_GOALS.items():
            met = row[name] <= goal if name == "p99_to_p50" else row[name] >= goal
            cells.append(f"{row[name]:.2f} (goal {goal:g}: {'met' if met else '**missed**'})")
        cells.append(", ".join(f"{row['server_us'][name]:.0f}" for name in ("hush", "nothing", "group")))
        lines.append(f"| {connections} | {' | '.join(cells)} |")
    return "\n".join(lines)


def pgbench() -> str:
    """Single reports on PostgreSQL beside pgbench, from the same run."""
    lines = ["| connections | hush, reports/s | pgbench, rows/s | ratio | load of the machine |", "|---:" * 5 + "|"]
    for connections, row in json.loads(MEASURED.read_text())["pgbench"].items():
        known = row["ratio"] is not None
        rate, ratio = (f"{row['pgbench']:,.0f}", f"{row['ratio']:.2f}") if known else ("the disk stalled", "")
        lines.append(f"| {connections} | {row['hush']:,.0f} | {rate} | {ratio} | {row.get('load', '')} |")
    return "\n".join(lines)


def load() -> str:
    """What mixed load came to, from a kept run of benchmarks/load.py."""
    kept = json.loads(LOADED.read_text())
    return (
        f"`python benchmarks/load.py --minutes {kept['seconds'] / 60:.0f} --keep`: {kept['singles']:,} single reports, "
        f"{kept['batches']:,} batches of 1000 and {kept['readers']:,} answers to readers; {kept['refused']} requests "
        f"were refused. In the median second 99 % of single reports were answered within {kept['p99']:g} ms, in the "
        f"worst within {kept['worst_p99']:,.0f} ms. The longest health check took {kept['health']:,.0f} ms, and "
        f"{_begun(kept):,.0f} ms while the collector warmed up. {_memory(kept)}"
    )


def _begun(kept: dict[str, Any]) -> float:
    """Return the longest health check of the first row, whose first seconds the others leave out."""
    return float(kept["rows"][0]["health_most"])


def alone() -> str:
    """What single reports alone came to, from a kept run."""
    kept = json.loads(ALONE.read_text())
    taken = 12 * kept["singles"] / (1 << 20)
    return (
        f"`python benchmarks/load.py --singles {kept['wanted']} --keep`: {kept['singles']:,} single reports in "
        f"{kept['seconds'] / 60:.0f} minutes, whose ids take {taken:.0f} MiB. {_memory(kept)}"
    )


def _memory(kept: dict[str, Any]) -> str:
    return (
        f"Memory: {kept['rss_first']:.0f} MiB after the first seconds, {kept['rss_half']:.0f} half-way, "
        f"{kept['rss_last']:.0f} at the end. Others used the machine meanwhile: its load was "
        f"{kept['machine']['load']:g} at the beginning and {kept['load_after']:g} at the end, on "
        f"{kept['machine']['cores']} cores."
    )


def ids() -> str:
    """The rate of single reports as stored ids grow, from the same run."""
    lines = ["| stored ids | bytes each, in the file | single reports/s | p99, ms |", "|---:|---:|---:|---:|"]
    for row in json.loads(MEASURED.read_text())["ids"]:
        size = f"{row['bytes'] / row['ids']:.1f}" if row["ids"] else ""
        lines.append(f"| {row['ids']:,} | {size} | {row['per_second']:,.0f} | {row['p99']:g} |")
    return "\n".join(lines)


def memory() -> str:
    """The memory that ids take, from a kept run of benchmarks/ids.py."""
    kept = json.loads(IDS.read_text())
    lines = [
        "| what takes ids | ids | MiB, at 12 bytes each | MiB taken | most beside the ids | peak, bytes for an id "
        "| longest step, ms of processor time |"
    ]
    lines.append("|---" + "|---:" * 6 + "|")
    for way, name in (("index", "the index alone"), ("store", "a store, by single reports")):
        row = kept[way]
        taken = f"{12 * row['ids'] / (1 << 20):.0f} | {row['taken']:.0f} | {row['beside']:.0f}"
        peak = f"{row['peak_each']:.0f}" if way == "index" else ""  # a store has too few ids for it to mean something
        lines.append(f"| {name} | {row['ids']:,} | {taken} | {peak} | {row['longest_ms']:.0f} |")
    return "\n".join(lines)


def storm() -> str:
    """What very many bent requests came to, from a kept run of tests/collector/storm.py."""
    kept = json.loads(STORM.read_text())
    faults = "; ".join(f"{name} ({count})" for name, count in kept["failures"].items())
    wrong = f"**with faults: {faults}**" if faults else "none of them lost, counted twice or answered wrongly"
    answers = ", ".join(f"{status} {count:,} times" for status, count in kept["statuses"].items())
    return (
        f"`python -m tests.collector.storm --requests {kept['requests']} --keep`: {kept['requests']:,} requests and "
        f"{kept['attacks']:,} attacks in {kept['seconds'] / 60:.0f} minutes, {wrong}. Answers: {answers}. Health "
        f"checks took {kept['health_median_ms']:.0f} ms in the median, {kept['health_worst_ms']:,.0f} at most. Memory: "
        f"{kept['rss_first']} MiB at first, {kept['rss_most']} at most, {kept['rss_last']} at the end. Load of the "
        f"machine when it began: {kept['load']}."
    )


def kills() -> str:
    """What kills came to, from kept runs of tests/collector/test_kill.py."""
    lines = ["| killed | times | submissions | reports | answers | broken connections | lost | counted twice |"]
    lines.append("|---" + "|---:" * 7 + "|")
    for name, row in json.loads(KILLS.read_text()).items():
        cells = [f"{row[key]:,}" for key in ("kills", "submissions", "reports", "answers", "broken")]
        lines.append(f"| {name} | {' | '.join(cells)} | 0 | 0 |")
    return "\n".join(lines)


def relay() -> str:
    """Sealed reports that a relay takes beside an endpoint that does nothing, and a collector opens, from one run."""
    kept = json.loads(RELAY.read_text())
    lines = [
        "| sealed reports a request | reports/s | requests/s, of an endpoint that does nothing | its processor time |",
        "|---:" * 4 + "|",
    ]
    for row in kept["taken"]:
        ratios = f"{row['to_nothing']:.2f} | {row['time_to_nothing']:.1f} times"
        lines.append(f"| {row['reports']} | {row['per_second']:,.0f} | {ratios} |")
    opened, machine = kept["opened"], kept["machine"]
    busy = " Others used it meanwhile." if machine["load"] > machine["cores"] else ""
    return "\n".join(lines) + (
        f"\n\nA collector opens {opened['per_second']:,.0f} a second and core, {opened['to_bare']:.2f} of what bare "
        f"X25519 and AES-GCM allow. Load of the {machine['cores']} cores when it began: {machine['load']}.{busy}"
    )


def run() -> str:
    """Where and how the figures were measured."""
    kept = json.loads(MEASURED.read_text())
    machine = kept["machine"]
    busy = ""
    if machine["load"] > machine["cores"]:
        busy = " Others used it meanwhile: rates, quantiles and verdicts are those of a machine that is too busy."
    how = "--full" if len(kept["ids"]) > 2 else f"--seconds {kept['seconds']:g}"
    return (
        f"Command: `python benchmarks/collector.py {how} --keep`. Machine: {machine['processor']}, {machine['cores']} "
        f"cores, Python {machine['python']}; a disk that makes {kept['fsyncs_per_second']:,.0f} small appends a second "
        f"durable, one by one; load when it began: {machine['load']}.{busy}"
    )


def _short(kind: str) -> str:
    return "JSON" if kind == formats.JSON else f"`{kind}`"


TABLES = {"tickets": tickets}
REFERENCE = {"endpoints": endpoints, "problems": problems, "limits": limits}
FIGURES = {
    "rates": rates,
    "peers": peers,
    "ids": ids,
    "collector-run": run,
    "pgbench": pgbench,
    "load": load,
    "alone": alone,
    "relay": relay,
    "memory": memory,
    "starting": starting,
    "storm": storm,
    "kills": kills,
}
