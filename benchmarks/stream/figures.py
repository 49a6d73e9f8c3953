"""What an arm got right, and by how much one is better than another, with its error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.stream.arms import Answered
from benchmarks.stream.tasks import TaskSet
from memshare.operations.difference import RIGHT, of_pairs

QUARTERS = 4
EDGE = 100  # tasks at the beginning and at the end of a stream

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


def difference(one: Orders, other: Orders, phase: str, sets: Mapping[int, TaskSet]) -> dict[str, Any]:
    """How much more one arm has right than another of the same tasks in the same orders.

    The interval of 95 % is that of pairs with one won and one lost added (Bonett and Price, 2012): without a loss none
    could reach below 0. Tasks of a form count together, so in all orders, and those of a kind by themselves. There is
    none of fewer than ten forms.
    """
    pairs: list[tuple[float, float]] = []
    forms: list[Hashable] = []
    for order in sorted(one.keys() & other.keys()):
        theirs = {answer.place: answer.right for answer in other[order] if answer.phase == phase}
        for answer in one[order]:
            if answer.phase == phase and answer.place in theirs:
                task = sets[order].of(answer.phase)[answer.place]
                pairs.append((RIGHT * theirs[answer.place], RIGHT * answer.right))
                forms.append(task.prompt if task.kind or not task.form else (task.form,))
    found, steps = of_pairs(pairs, clusters=forms), [after - before for before, after in pairs]
    low, high = (round(found.low / RIGHT, 4), round(found.high / RIGHT, 4)) if found else (None, None)
    return {
        "difference": round(mean(steps) / RIGHT, 4) if steps else None,
        "low": low,
        "high": high,
        "won": steps.count(RIGHT),
        "lost": steps.count(-RIGHT),
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
