"""What a collector begins with besides plans: pilots of wide numbers, presentations, and trainings."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from hush.cli.numbers import RULE
from hush.cli.program import Refused
from hush.cli.streams import visible

if TYPE_CHECKING:
    from hush.collector.presentation import Presentation
    from hush.collector.stores.base import Store
    from hush.core.plan import Plan
    from hush.core.training.courses import Course
    from hush.core.training.rounds import Round
    from hush.core.training.stages import Phase
    from hush.core.training.training import Training

MOST_DIGITS = 12  # of a number of people


class Pilot(NamedTuple):
    """A plan whose wide numbers are narrowed after this many reports, for this many people who come later."""

    plan: Plan
    first: int
    people: int


def pilot_of(spec: str) -> Pilot:
    """Read and check a pilot, before the store and the port are opened."""
    from hush.cli import files
    from hush.collector.narrowing import check
    from hush.errors import InputError

    name, _, numbers = spec.rpartition("=")
    counts = numbers.split("+")
    if not name or len(counts) != 2 or not all(_is_count(text) for text in counts):
        raise Refused(
            "--narrow is the file of a plan, the people of the pilot and those expected after it: "
            f"PLAN.json=20000+80000; {RULE}"
        )
    if max(map(len, counts)) > MOST_DIGITS:
        raise Refused("--narrow: fewer people than that exist")
    plan = files.read_plan(name)
    try:
        check(plan)
    except InputError as error:
        raise Refused(f"--narrow: {error}") from None
    return Pilot(plan, int(counts[0]), int(counts[1]))


def add_pilot(store: Store, pilot: Pilot, keep: str) -> None:
    """Add a pilot to a store, or go on with it."""
    from hush.errors import InputError

    store.add_plan(pilot.plan, keep)  # type: ignore[arg-type]
    try:
        store.add_narrowing(pilot.plan, pilot.first, pilot.people)
    except InputError as error:
        raise Refused(f"--narrow: {error}") from None
    held = next(one for one in store.plans() if one.plan.id == pilot.plan.id)
    state = next(one for one in store.narrowings() if one.pilot == pilot.plan.id)
    if state.second is not None:
        click.echo(f"hush: the pilot {pilot.plan.id[:12]} is over: plan {state.second[:12]} follows it", err=True)
    elif not held.open:
        raise Refused("--narrow: this plan is closed, so it cannot be a pilot")


class Presented(NamedTuple):
    """How forms present what a collector serves: plans by their ids, trainings by their names; and all pictures."""

    plans: dict[str, Presentation]
    trainings: dict[str, Presentation]
    described: dict[str, Training]  # the trainings against which they were checked
    images: dict[str, bytes]


def presentations(specs: tuple[str, ...], languages: Iterable[str] = ()) -> Presented:
    """Read the presentations of plans and trainings, and check them, before the store and the port are opened.

    `languages`: those that files of words add.
    """
    from hush.cli import files
    from hush.collector.images import gather
    from hush.collector.presentation import read, read_training
    from hush.errors import InputError

    found = Presented({}, {}, {}, {})
    for spec in specs:
        name, _, file = spec.rpartition("=")
        if not name or not file:
            raise Refused(
                "--presentation is the file of a plan or training and that of its presentation: PLAN.json=FILE.json"
            )
        trained = _trainings_in(name)
        plan = None if trained else files.read_plan(name)
        if (plan is not None and plan.id in found.plans) or any(one.name in found.trainings for one in trained):
            raise Refused(f"--presentation: a {'training' if trained else 'plan'} has one, and this one has two")
        try:
            text = Path(file).read_bytes()
            whole = read(text, plan, languages) if plan is not None else read_training(text, trained[0], languages)
            shown, pictures = gather(whole, Path(file).parent)
        except OSError as error:
            raise Refused(f"--presentation: the file cannot be read: {error.strerror}") from None
        except InputError as error:
            raise Refused(f"--presentation: {error}") from None
        found.images.update(pictures)
        if plan is not None:
            found.plans[plan.id] = shown
        for one in trained:
            found.trainings[one.name], found.described[one.name] = shown, one
    return found


def copied(plan: Plan, path: Path, languages: Iterable[str]) -> dict[str, bytes]:
    """Check the presentation of a plan, and return copies of its files: form.json, and the pictures beside it."""
    import json

    from hush.collector.images import gather
    from hush.collector.presentation import read
    from hush.core import codec
    from hush.errors import InputError

    try:
        text = path.read_bytes()
        shown, pictures = gather(read(text, plan, languages), path.parent)
        value = codec.load(text, InputError)
    except OSError as error:
        raise Refused(f"--presentation: the file cannot be read: {error.strerror}") from None
    except InputError as error:
        raise Refused(f"--presentation: {error}") from None
    if shown.logo is not None:
        value["logo"]["file"] = shown.logo.file
    for name, one in shown.attributes.items():
        if one.image is not None:
            value["attributes"][name]["image"]["file"] = one.image.file
    return {"form.json": f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode(), **pictures}


def _trainings_in(path: str) -> list[Training]:
    """Return the trainings in the file of a course, one for each class, or of a first round; none in other files."""
    from hush.core import codec
    from hush.core.training.courses import Course
    from hush.core.training.rounds import Round
    from hush.errors import InputError, PlanError

    try:
        text = Path(path).read_bytes()
        value = codec.load(text, PlanError)
    except (OSError, InputError):
        return []  # reading it as a plan fails with the reason
    if not isinstance(value, dict) or "training" not in value:
        return []
    if "wishes" in value:
        return [own.training for own in Course.from_json(text).branches()]
    return [Round.from_json(text).training]


def check_presented(store: Store, presented: Presented) -> None:
    """Refuse presentations of what is not served."""
    if not presented.plans.keys() <= {held.plan.id for held in store.plans()}:
        raise Refused("--presentation: its plan is not served; name the plan too")
    held = set(store.trainings())
    for name, own in presented.described.items():
        if name not in held:
            raise Refused("--presentation: its training is not served; name it with --training too")
        now = store.live(name).round.training
        if (now.schema, now.label) != (own.schema, own.label):
            raise Refused(f"--presentation: the training {visible(name)} in the store has other features or classes")


def read_lists(paths: tuple[str, ...]) -> None:
    """Read long lists of values, so that the plans that name them find them."""
    from hush.core.lists import Listed

    for path in paths:
        Listed(path)


def check_lists(store: Store) -> None:
    """Refuse a store with an open plan whose list is not here: devices could not be asked, and shares have no names."""
    from hush.core.lists import listed_in

    for held in store.plans():
        for listed in listed_in(held.plan.schema.attributes):
            if held.open and not listed.here:
                raise Refused(
                    f"the list {listed.name!r} of plan {held.plan.id[:12]} is not here: name it with --list. "
                    f"Its SHA-256 is {listed.sha256}"
                )


def words(specs: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Read the form's words in further languages, and check them."""
    from hush.collector.http.pages import english
    from hush.collector.presentation import LANGUAGE, read_words
    from hush.errors import InputError

    found: dict[str, dict[str, str]] = {}
    for spec in specs:
        tag, _, file = spec.partition("=")
        if not file or LANGUAGE.fullmatch(tag) is None or tag == "en":
            raise Refused("--words is the tag of a language other than en, and a file: it=FILE.json")
        if tag in found:
            raise Refused("--words: a language has one file, and this one has two")
        try:
            found[tag] = read_words(Path(file).read_bytes(), english(), english("explanation"))
        except OSError as error:
            raise Refused(f"--words: the file cannot be read: {error.strerror}") from None
        except InputError as error:
            raise Refused(f"--words: {error}") from None
    return found


def add_training(store: Store, spec: str) -> None:
    """Add a training to a store, or go on with it."""
    from hush.core.training.courses import Course, is_course
    from hush.core.training.rounds import Round

    text = b""
    with suppress(OSError):
        text = Path(spec).read_bytes()
    if text:
        if not is_course(text):
            raise Refused("--training takes the file of a course, or a first round with its people: ROUND.json=10000")
        _add_course(store, Course.from_json(text))
        return
    name, _, people = spec.rpartition("=")
    if not name or not _is_count(people):
        raise Refused(
            "--training is the file of a course, COURSE.json, or that of a first round and the people per round: "
            f"ROUND.json=10000; {RULE}"
        )
    if len(people) > MOST_DIGITS:
        raise Refused("--training: fewer people than that exist")
    try:
        first = Round.from_json(Path(name).read_bytes())
    except OSError as error:
        raise Refused(f"the round cannot be read: {error.strerror}") from None
    title = first.training.name
    _check_title(title)
    if title in store.trainings():
        _check_same(store, title, first, int(people))
        return
    store.add_training(title, first, int(people))


def _check_title(title: str) -> None:
    if "/" in title or title in (".", ".."):
        raise Refused("the title of a training becomes a part of its address, and must not have a slash")


def _add_course(store: Store, course: Course) -> None:
    """Add the trainings of a course to a store, or go on with them. A note says if it has too few people."""
    from hush.core.design.courses import few
    from hush.server.course import begin

    _check_title(course.training.title)
    if said := few(course):
        click.echo(f"hush: note: {said}", err=True)
    held = set(store.trainings())
    for own in course.branches():
        if own.name in held and store.live(own.name).course != own:
            raise Refused(
                f"--training: the store has another training with the title {visible(own.name)}: give this one a "
                "title of its own"
            )
    for own in course.branches():
        if own.name in held:
            where = _where(store.live(own.name).round)
            click.echo(f"hush: the training {visible(own.name)} is in the store, and {where}", err=True)
        else:
            store.add_training(own.name, begin(own), own.people, own)


def _where(now: Phase) -> str:
    from hush.core.training.stages import Stage

    if isinstance(now, Stage):
        return f"goes on with its pilot ({now.name})"
    return "is over" if now.done else f"goes on in round {now.number}"


def _check_same(store: Store, title: str, first: Round, people: int) -> None:
    """Refuse a training whose title is taken by another; print that it goes on if it is the same."""
    live, past = store.live(title), store.history(title)
    begun = past[0].weights if past else getattr(live.round, "weights", None)
    if live.course is not None or (live.round.training, live.wanted, begun) != (first.training, people, first.weights):
        raise Refused(
            f"--training: the store has another training with the title {visible(title)}: other settings, people per "
            "round or first weights; give this one a title of its own"
        )
    click.echo(f"hush: the training {visible(title)} is in the store, and {_where(live.round)}", err=True)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and bool(text.strip("0"))
