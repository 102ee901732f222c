"""The server's part in a course: from the first stage of the pilot to the last round, one tally after the other.

`begin` makes the first message to people, and `advance` makes the next one from the tally of the answers. Both are
functions of the course and the tallies alone, so a collector can stop and go on anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from hush.core.training.courses import Course
from hush.core.training.rounds import Round
from hush.core.training.stages import Known, Phase, Stage, stage_names
from hush.core.training.training import Training
from hush.errors import TallyError
from hush.server import pilot
from hush.server.rules import planned
from hush.server.step import first_round, step
from hush.server.tally import Tally


def begin(course: Course) -> Phase:
    """Return the first message of a course: the first stage of its pilot, or the first round if it has none."""
    return _phase(course, ())


def advance(course: Course, phase: Phase, tally: Tally) -> Phase:
    """Return the message that follows, once the people of a stage or round have answered."""
    if isinstance(phase, Round):
        return step(phase, tally)
    if tally.plan.id != phase.plan.id:
        raise TallyError("this tally belongs to another stage")
    return _phase(course, (*phase.known, pilot.estimates(tally)))


def decided(course: Course, known: Sequence[Known]) -> Training:
    """Return the training that a pilot leads to, from the estimates of its stages."""
    found = pilot.read(course.training, known, course.pilot) if course.pilot else None
    return planned(course.training, course.trained, found, course.wishes)


def _phase(course: Course, known: tuple[Known, ...]) -> Phase:
    names = stage_names(course.training) if course.pilot else ()
    if len(known) < len(names):
        return Stage(course.training, names[len(known)], known, course.plans[len(known)])
    return first_round(decided(course, known), course.channel)
