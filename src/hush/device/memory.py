"""Answers from memory, wherever it is kept: the core of `hush.device.series`, which explains the reasons."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from hush.core import codec
from hush.core.channels import Output
from hush.core.coins import Coins
from hush.core.dealing import questions
from hush.core.exact import WORD, exp_bounds, log_above
from hush.core.plan import Plan
from hush.core.schema import Input
from hush.errors import StoreError

Levels = tuple[tuple[int | None, ...], ...]
"""How many levels each view of each question has; None for categories."""


class Memory(Protocol):
    """A device's memory of one series: texts by kind, subject and state."""

    def find(self, kind: str, subject: str, state: str = "") -> str | None:
        """Return the kept text, or None."""

    def keep(self, value: str, kind: str, subject: str, state: str = "") -> None:
        """Keep a new text."""


@dataclass(frozen=True)
class Asked:
    """A question for this device: its index in the plan, its identity, and the state as inputs and as text."""

    index: int
    subject: str
    inputs: tuple[Input, ...]
    state: str


def ask(coins: Coins, plan: Plan, inputs: Sequence[Input], levels: Levels, memory: Memory) -> list[Asked]:
    """Return the questions of this device with their states. It keeps the questions and dithers that it draws."""
    form, subjects, dithers = _identities(plan, levels)
    text = memory.find("questions", form)
    if text is None:
        text = codec.dump(questions(plan, coins))
        memory.keep(text, "questions", form)
    asked = []
    for index in codec.load(text, StoreError):
        state: list[Input] = []
        values: list[Input] = []
        for dither, value, count in zip(dithers[index], plan.seen(index, inputs), levels[index], strict=True):
            if count is None or value is None:
                state.append(value)
                values.append(value)
                continue
            word = memory.find("dither", dither)
            if word is None:
                word = str(coins.word())
                memory.keep(word, "dither", dither)
            state.append(at := level(value, count, codec.big(word, StoreError, "a dither of the ledger")))
            values.append(at / (count - 1))
        asked.append(Asked(index, subjects[index], tuple(values), codec.dump(state)))
    return asked


def define(plan: Plan, memory: Memory) -> str | None:
    """Keep the definitions of a plan's attributes. Return the name of one that was defined otherwise, or None.

    A device answers only if its values fit the plan's bounds and categories. A server that could choose new ones each
    week would find a number from the weeks of silence.
    """
    for attribute, definition in zip(plan.schema.names, json.loads(plan.to_json())["schema"], strict=True):
        known = memory.find("attribute", attribute)
        if known is None:
            memory.keep(_hash(definition), "attribute", attribute)
        elif known != _hash(definition):
            return attribute
    return None


def new(asked: Sequence[Asked], memory: Memory) -> list[int]:
    """Return the questions whose states have no answer yet."""
    return [item.index for item in asked if memory.find("answer", item.subject, item.state) is None]


def recall(coins: Coins, plan: Plan, asked: Sequence[Asked], memory: Memory) -> tuple[tuple[int, Output], ...]:
    """Return the answers of these states: the kept ones, and new ones, which it draws and keeps."""
    answers = []
    for item in asked:
        channel = plan.questions[item.index].channel
        text = memory.find("answer", item.subject, item.state)
        if text is None:
            text = codec.dump(channel.answer(item.inputs, coins))
            memory.keep(text, "answer", item.subject, item.state)
        answers.append((item.index, channel.alphabet.from_json(codec.load(text, StoreError))))
    return tuple(answers)


def level(x: float, levels: int, dither: int) -> int:
    """Round x in [0, 1] to floor(x*(levels-1) + dither/2^64), exactly.

    Of the 2^64 values of `dither`, floor(2^64 * f) round up, where f is the position of x between its level and the
    next (0 to 1). So the average is right to within 2^-64 of that distance. (A level stands for level/(levels-1) as a
    float, which is off by 2^-54 at most. Neither error affects privacy.)
    """
    top, bottom = x.as_integer_ratio()
    return (top * (levels - 1) * WORD + dither * bottom) // (bottom * WORD)


def cost_of(plan: Plan, indexes: Sequence[int]) -> Fraction:
    """Return the cost of new answers to these questions together. It is at most the cost of the plan.

    A question costs epsilon/k if all questions allow that, as in most designs. Otherwise it costs a float that is
    proved to be at least the logarithm of its ratio.
    """
    even = plan.cost / plan.k
    ratios = [question.channel.ratio for question in plan.questions]
    if max(ratios) <= exp_bounds(even)[0]:
        return even * len(indexes)
    return min(plan.cost, sum((Fraction(log_above(ratios[index])) for index in indexes), Fraction(0)))


@lru_cache(maxsize=256)
def _identities(plan: Plan, levels: Levels) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return a hash of all that decides the draw of questions, one for each question, and one for each dither's use.

    The hashes leave out the title, which differs from week to week, and claims of a cost. A dither belongs to one
    view of one definition of its attributes and one number of levels: if two shared it, the times at which a number
    passes their thresholds would reveal the number.
    """
    whole = json.loads(plan.to_json())
    form = _hash([whole["k"], whole["weights"], whole["schema"], whole["questions"]])
    subjects, dithers = [], []
    for question, counts in zip(plan.questions, levels, strict=True):
        seen = [[view.to_json(), [plan.schema[name].to_json() for name in view.of]] for view in question.views]
        subjects.append(_hash([seen, question.channel.to_json(), list(counts)]))
        dithers.append(tuple(_hash([view, count]) for view, count in zip(seen, counts, strict=True)))
    return form, tuple(subjects), tuple(dithers)


def _hash(value: object) -> str:
    return hashlib.sha256(codec.dump(value).encode()).hexdigest()
