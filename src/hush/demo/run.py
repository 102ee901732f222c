"""The demo from beginning to end: serve, send, read the estimates, compare them with the truth."""

from __future__ import annotations

import json
import math
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from hush import batch, design, plots
from hush.batch.plainly import kernels_only
from hush.collector import formats
from hush.core.plan import Plan
from hush.core.report import ID_SIZE
from hush.core.sealing import KEY_SIZE
from hush.demo import relayed
from hush.demo.people import SCHEMA, Truth, people, truth
from hush.demo.relayed import Division
from hush.demo.service import DemoError, Service, serving
from hush.device.client import Client
from hush.server.estimates import MAX_LEVEL, Estimate
from hush.show.tables import decimals, farther, percent

MOST = 10_000_000  # people; they are held in memory
EPSILON = 1.0
BATCH = 20_000  # people whose reports travel together
SPREAD = 20.0  # seconds over which somebody can watch them arrive
GLANCE = 0.5  # seconds between two looks at the count

Tell = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Options:
    """The options. `epsilon`: the cost of answering, 1 if it is None; with `relay`, which sends through a relay, it is
    the most that the local epsilon may be. `once`: end by itself on a terminal too. `fast`: send without pauses there.
    `machine`: print nothing but JSON, and end.
    """

    people: int = 1_000_000
    epsilon: float | None = None
    level: float = 0.95
    seed: int = 2019
    port: int | None = None
    store: str | None = None
    picture: str = "demo/estimates.svg"
    once: bool = False
    fast: bool = False
    relay: bool = False
    machine: bool = False

    def __post_init__(self) -> None:
        """Refuse options that would fail later."""
        if not 1 <= self.people <= MOST:
            raise DemoError(f"--people must be from 1 to {MOST:,}")
        if not 0 < self.level <= MAX_LEVEL:
            raise DemoError("--level must be between 0 and 1, such as 0.95")
        if self.seed < 0:
            raise DemoError("--seed must be 0 or more")
        if self.port is not None and not 0 <= self.port <= 65535:
            raise DemoError("--port must be from 0 (a free one) to 65535")
        if Path(self.picture).suffix.lower() not in (".svg", ".png"):
            raise DemoError("--picture must end in .svg or .png")


def run(options: Options) -> None:
    """Run the demo, and on a terminal go on serving until Ctrl-C."""
    stays = sys.stdout.isatty() and not options.once and not options.machine
    say = _nothing if options.machine else _say
    # Each run is a collection of its own: a browser that answered an earlier one may answer this one too.
    title = f"A made-up census, {datetime.now():%Y-%m-%d %H:%M:%S}"
    division = Division.of(options.people) if options.relay else None
    if division is None:
        plan = design(SCHEMA, EPSILON if options.epsilon is None else options.epsilon, title=title)
    else:
        plan = relayed.plan_of(division, relayed.LOCAL if options.epsilon is None else options.epsilon, title)
    secret = secrets.token_bytes(KEY_SIZE) if options.relay else b""
    Path(options.picture).parent.mkdir(parents=True, exist_ok=True)
    with serving(plan, options.store, options.port, secret) as service:
        if stays:  # else nobody is there to look, and both are gone when this ends
            say(f"The form       {service.page('/')}", f"The dashboard  {service.page('/dashboard')}", "")
        say(
            f"{options.people:,} people each answer {plan.k} of {len(plan.questions)} questions, at epsilon = "
            f"{plan.epsilon:g}.",
            *(["", *relayed.promises(plan, division), ""] if division else []),
        )
        true = _collect(service, options, division, secret, SPREAD if stays and not options.fast else 0.0)
        rows = fetched(service, options.level)
        say("", *table(rows, true, options.level), "", verdict(rows, true, options.level))
        plots.save(plots.estimates(rows, SCHEMA, level=options.level), options.picture)
        if options.machine:
            print(json.dumps(results(rows, true, service.plan, options), ensure_ascii=False, indent=2), flush=True)
        say(f"A picture of the estimates is in {options.picture}.")
        if not stays:
            say("On a terminal, and without --once, form and dashboard stay open until Ctrl-C.")
        if stays:
            _say(
                "",
                "The collector goes on. Answer for yourself in the form, and see the count on the dashboard rise:",
                f"  {service.page('/')}",
                f"  {service.page('/dashboard')}",
                "Ctrl-C ends it.",
            )
            _linger(service, options.people)
    if stays:
        _say(f"Ended in good order. {_more(service.count - options.people)} from browsers; {service.count:,} in all.")
    if options.store:
        say(f"They are kept, and can be seen again: hush serve --store sqlite://{options.store}")


def _collect(service: Service, options: Options, division: Division | None, secret: bytes, seconds: float) -> Truth:
    """Make people up, let them answer, and return the truth about them."""
    with _progress() as tell:
        tell("making people up", 0, None)
        population = people(options.people, options.seed)
        true = truth(population)
        tell("compiling, which is kept for the next time", 0, None)
        with kernels_only():
            others = batch.randomise(service.plan, people(1000, options.seed + 1))  # nobody is randomised twice
            batch.tally(service.plan, others)
        start = time.perf_counter()
        if division is None:
            size = send(service, population, seconds, tell)
            lines = [
                f"{options.people:,} reports, {size / options.people:.1f} bytes each, sent over HTTP in "
                f"{time.perf_counter() - start:.1f} s. The collector has nothing else."
            ]
        else:
            lines = relayed.collect(service, secret, population, division, tell)
    say = _nothing if options.machine else _say
    say(*lines)
    return true


def send(service: Service, population: pa.Table, seconds: float, tell: Tell) -> int:
    """Randomise everybody and send the reports, over at least `seconds` seconds; return their size in bytes."""
    collector = Client(service.address)
    n, size, start = population.num_rows, 0, time.monotonic()
    for first in range(0, n, BATCH):
        tell("sending", first, n)
        time.sleep(max(0.0, start + seconds * first / n - time.monotonic()))
        id_ = secrets.token_bytes(ID_SIZE)
        reports = batch.randomise(service.plan, population.slice(first, BATCH))
        body = formats.pack(service.plan, reports, id_)  # nothing else leaves these devices
        collector.submit_batch(service.plan, body, id_, formats.COLUMNS)
        size += len(body)
    return size


def fetched(service: Service, level: float) -> list[Estimate]:
    """Ask the collector for its estimates, as any reader would."""
    rows = json.loads(service.asked.get(f"/plans/{service.plan.id}/estimates?level={level!r}"))["estimates"]
    numbers = ("point", "stderr", "low", "high")  # null where nobody has answered
    return [Estimate(**{**row, **{name: math.nan for name in numbers if row[name] is None}}) for row in rows]


def results(rows: Sequence[Estimate], true: Truth, plan: Plan, options: Options) -> dict[str, object]:
    """Return the truth beside the estimates as JSON values; null where nobody has answered."""
    shown = [
        {
            "attribute": row.attribute,
            "category": row.category,
            "truth": float(true[row.attribute, row.category]),
            **{name: _finite(getattr(row, name)) for name in ("point", "stderr", "low", "high")},
            "answers": row.answers,
            "covered": covers(row, true),
        }
        for row in rows
    ]
    about = {"plan": plan.id, "people": options.people, "epsilon": plan.epsilon, "level": options.level}
    return {**about, "picture": options.picture, "rows": shown}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def covers(row: Estimate, true: Truth) -> bool:
    """Return whether an interval contains the truth."""
    return row.low <= true[row.attribute, row.category] <= row.high


def verdict(rows: Sequence[Estimate], true: Truth, level: float) -> str:
    """Return how many intervals contain the truth, as a sentence."""
    inside = sum(covers(row, true) for row in rows)
    others = ", all but those with a star" if inside < len(rows) else ""
    expected = f"about {level * len(rows):.0f} were to be expected"
    return f"{inside} of {len(rows)} intervals contain the truth{others}; {expected}."


def table(rows: Sequence[Estimate], true: Truth, level: float) -> Iterator[str]:
    """Return the lines of a table: truth beside estimate, and a star where the interval misses it."""
    interval = percent(level, "interval")
    yield f"{'attribute':<17}{'category':<16}{'truth':>9}{'estimate':>10}{'margin':>9}{interval:>21}{'answers':>9}"
    for row in rows:
        fact = true[row.attribute, row.category]
        name = f"{row.attribute:<17}{'mean' if row.category is None else row.category:<16}"
        if math.isnan(row.point):
            yield f"{name}{fact:>9,.3f}   nobody has answered"
            continue
        wide = farther(row.point, row.low, row.high)
        places = min(3, max(0, 1 - math.floor(math.log10(wide)))) if wide > 0 else 3  # two digits of the margin
        truth, point, shown, low, high = (
            decimals(value, places) for value in (fact, row.point, wide, row.low, row.high)
        )
        star = "" if covers(row, true) else " *"
        yield f"{name}{truth:>9}{point:>10}{'±' + shown:>9}{f'{low} .. {high}':>21}{row.answers:>9,}{star}"


def _linger(service: Service, sent: int) -> None:
    """Report new arrivals until Ctrl-C."""
    seen = sent
    try:
        while True:
            if (count := service.count) != seen:
                _say(f"{_more(count - sent)} from browsers; {count:,} in all.")
                seen = count
            time.sleep(GLANCE)
    except KeyboardInterrupt:
        print()  # behind the ^C


def _more(count: int) -> str:
    return {0: "No report", 1: "1 report"}.get(count, f"{count:,} reports")


def _nothing(*lines: str) -> None:
    """Print nothing: a machine reads the JSON alone."""


def _say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


@contextmanager
def _progress() -> Iterator[Tell]:
    """Yield a function that shows progress: as a bar on a terminal, as lines elsewhere."""
    if not sys.stderr.isatty():
        stages: list[str] = []

        def tell(stage: str, *_: int | None) -> None:
            if stage not in stages:
                stages.append(stage)
                print(f"{stage} ...", file=sys.stderr, flush=True)

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda stage, done, total: shown.update(task, description=stage, completed=done, total=total)
