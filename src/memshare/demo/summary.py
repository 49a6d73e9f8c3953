"""What a demo shows, in figures: grades with and without memories, and who learnt from whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from memshare.demo.play import Played


@dataclass(frozen=True)
class Group:
    """Some graded tasks together."""

    tasks: int
    mean_score: float
    accepted: int


@dataclass(frozen=True)
class Summary:
    """`first` and `again` are the same tasks, asked on an empty pool and at the end."""

    without: Group
    with_memories: Group
    first: Group
    again: Group
    users: int
    reused: int
    users_accepted: int
    chain: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def summarise(played: Sequence[Played]) -> Summary:
    """Compare and count; what was not graded is left out of the means."""
    again = [one for one in played if one.name.endswith(" again")]
    prompts = {one.prompt for one in again}
    first = [one for one in played if one.prompt in prompts and one not in again]
    users = [one for one in played if _parents(one)]
    return Summary(
        without=_group([one for one in played if not one.shown]),
        with_memories=_group([one for one in played if one.shown]),
        first=_group(first),
        again=_group(again),
        users=len(users),
        reused=len({parent for one in users for parent in _parents(one)}),
        users_accepted=sum(one.accepted for one in users),
        chain=_longest_chain(played),
    )


def _group(tasks: Sequence[Played]) -> Group:
    scores = [one.score for one in tasks if one.score is not None]
    return Group(len(tasks), round(fmean(scores), 1) if scores else 0.0, sum(one.accepted for one in tasks))


def _parents(one: Played) -> list[str]:
    return [name for name, _ in one.shown if name.startswith("task ")]


def _longest_chain(played: Sequence[Played]) -> tuple[str, ...]:
    """From the first ancestor to the last descendant; each was shown the one before it."""
    chains: dict[str, tuple[str, ...]] = {}
    for one in played:  # in the order of time: parents come first
        best = max((chains.get(name, (name,)) for name, _ in one.shown), key=len, default=())
        chains[one.name] = (*best, one.name)
    longest = max(chains.values(), key=len, default=())
    return longest if len(longest) > 1 else ()
