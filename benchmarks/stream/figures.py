"""What an arm got right, and by how much one is better than another, with its error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.stream.arms import Answered
from benchmarks.stream.tasks import TaskSet

QUARTERS = 4
EDGE = 100  # tasks at the beginning and at the end of a stream
ROUNDS = 4_000  # of the bootstrap

Orders = Mapping[int, Sequence[Answered]]
"""By the number of the order: all of an arm's answers."""


def of_arm(orders: Orders) -> dict[str, Any]:
    """The shares of right answers, how many examples were shown, and how many tasks the model had no answer for."""
    streams = [[one.right for one in some if one.phase == "stream"] for some in orders.values()]
    stream = [one for some in streams for one in some]
    unseen = [one for some in orders.values() for one in some if one.phase == "unseen"]
    return {
        "first 100": _share([one for some in streams for one in some[:EDGE]]),
        "last 100": _share([one for some in streams for one in some[-EDGE:]]),
        "stream": _share(stream),
        "unseen": _share([one.right for one in unseen]),
        "shown": _share([len(one.shown) for some in orders.values() for one in some]),
        "tasks": len(stream) + len(unseen),
        "none": sum(not one.answer for some in orders.values() for one in some),
    }


def difference(one: Orders, other: Orders, phase: str) -> dict[str, Any]:
    """How much more one arm has right than another of the same tasks in the same orders.

    The interval is that of 95 % of a paired bootstrap over the tasks: a task's orders stay together. One task won and
    one lost are added for it, as by Bonett and Price (2012): without a loss no interval could reach below 0.
    """
    paired: dict[int, list[float]] = {}
    for order in one.keys() & other.keys():
        theirs = {answer.place: answer.right for answer in other[order] if answer.phase == phase}
        for answer in one[order]:
            if answer.phase == phase and answer.place in theirs:
                place = answer.place if phase == "unseen" else 100_000 * order + answer.place
                paired.setdefault(place, []).append(float(answer.right) - float(theirs[answer.place]))
    if not paired:
        return {"difference": None, "low": None, "high": None, "won": 0, "lost": 0}
    values = np.array([mean(some) for some in paired.values()])
    known = np.append(values, (1, -1))
    drawn = np.random.default_rng(1).integers(0, len(known), (ROUNDS, len(known)))
    low, high = np.percentile(known[drawn].mean(axis=1), [2.5, 97.5])
    every = [value for some in paired.values() for value in some]
    return {
        "difference": round(float(values.mean()), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
        "won": sum(value > 0 for value in every),
        "lost": sum(value < 0 for value in every),
    }


def by_kind(orders: Orders, sets: Mapping[int, TaskSet]) -> dict[str, Any]:
    """The share of right answers of each kind, where there are kinds: of the last half of the stream and the unseen."""
    right: dict[str, list[bool]] = {}
    for order, answers in orders.items():
        for one in answers:
            tasks = sets[order].of(one.phase)
            kind = tasks[one.place].kind
            if kind is not None and (one.phase == "unseen" or one.place >= len(tasks) / 2):
                right.setdefault(kind, []).append(one.right)
    return {kind: _share(right[kind]) for kind in sorted(right)}


def places_of(author: str, orders: Orders) -> list[float | None]:
    """The share of the places shown that an author's memories took, in each quarter of the stream."""
    streams = [[one.by for one in some if one.phase == "stream"] for some in orders.values()]
    return [
        _share(
            [
                float(one == author)
                for some in streams
                for by in some[at * len(some) // QUARTERS : (at + 1) * len(some) // QUARTERS]
                for one in by
            ]
        )
        for at in range(QUARTERS)
    ]


def by_author(orders: Orders) -> dict[str, dict[str, Any]]:
    """By who answered and who wrote what it was shown: how much of it there was, and how many answers were right."""
    shown: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for answers in orders.values():
        for one in answers:
            for author in one.by:
                shown[one.model, author] += 1
                right[one.model, author] += one.right
    return {
        f"{reader} reads {author}": {"examples": count, "right beside it": right[reader, author] / count}
        for (reader, author), count in sorted(shown.items())
    }


def _share(found: Sequence[float]) -> float | None:
    return round(sum(found) / len(found), 4) if found else None
