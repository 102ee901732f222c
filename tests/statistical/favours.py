"""Which of two records a report favours: what somebody who has the report knows before looking at a stop-watch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hush import Plan
from hush.core.channels import Cells, Channel, Corners, Cube, Geometry, Output, Picks, Rows, Signs, Subset, Unary
from hush.core.report import Report
from hush.core.schema import Input
from hush.device.coins import SystemCoins

Score = Callable[[Output], float]


def favours(plan: Plan, one: dict[str, Any], other: dict[str, Any]) -> Callable[[Report], int]:
    """Return a function of a report to one question: 1 if it favours the one record, -1 the other, 0 neither."""
    (question,) = plan.questions
    score = _score(question.channel, *(plan.seen(0, plan.schema.encode(record)) for record in (one, other)))

    def side(report: Report) -> int:
        ((_, output),) = report.answers
        return (score(output) > 0) - (score(output) < 0)

    return side


def _score(channel: Channel, one: list[Input], other: list[Input]) -> Score:
    if isinstance(channel, Cube):
        return lambda output: channel.sample - 2 * sum(member % 2 for member in _members(output))
    if isinstance(channel, Corners):  # the same records as for signs
        return lambda output: 1 - 2 * (_members(output)[0] % 2)
    if isinstance(
        channel, Signs
    ):  # the one record has all numbers at their lower ends, and the other at their upper ones
        return lambda output: channel.size - 2 * len(_members(output))
    if isinstance(channel, Subset | Unary | Cells):
        here, there = (channel.state(inputs, SystemCoins()) for inputs in (one, other))
        return lambda output: (here in _members(output)) - (there in _members(output))
    if isinstance(channel, Picks):
        held = [_held(channel, inputs) for inputs in (one, other)]
        chances = [float(chance / channel.chances_of[0]) for chance in channel.chances_of]
        return lambda output: chances[len(held[0] & {*_members(output)})] - chances[len(held[1] & {*_members(output)})]
    if isinstance(channel, Geometry):
        marks = [set(_orthogonal(channel, inputs)) for inputs in (one, other)]
        return lambda output: (output in marks[0]) - (output in marks[1])
    if isinstance(channel, Rows):
        near, far = (_cells(channel, inputs) for inputs in (one, other))
        return lambda output: len(near & {*_members(output)}) - len(far & {*_members(output)})
    laws = [channel.likelihood(_number(inputs)) or [] for inputs in (one, other)]
    return lambda output: laws[0][_members(output)[0]] - laws[1][_members(output)[0]]


def _held(channel: Picks, inputs: list[Input]) -> set[int]:
    """The items that are held, blanks included."""
    marks = channel.state(inputs, SystemCoins())
    assert isinstance(marks, bytes)
    return {item for item, mark in enumerate(marks) if mark}


def _cells(channel: Rows, inputs: list[Input]) -> set[int]:
    """The cells that are likelier under these inputs."""
    state: Any = channel.state(inputs, SystemCoins())
    row, start = state
    first = channel.size if start is None else start
    inside = range(first, channel.group if start is None else first + channel.width)
    return {row * channel.group + cell for cell in inside}


def _orthogonal(channel: Geometry, inputs: list[Input]) -> list[int]:
    """The points that are likelier under these inputs."""
    state = channel.state(inputs, SystemCoins())
    assert isinstance(state, int)
    vector = channel.vector(state)
    return [
        point
        for point in range(channel.points)
        if channel.field.against(0, vector, reversed(channel.vector(point))) == 0
    ]


def _members(output: Output) -> tuple[int, ...]:
    return output if isinstance(output, tuple) else (output,)


def _number(inputs: list[Input]) -> float | None:
    (only,) = inputs
    return only
