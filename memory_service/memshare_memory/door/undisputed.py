"""Memories beside which an answer can be graded: nobody else's word stands against theirs."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory, said


def undisputed(memories: MemoryClient, ids: Sequence[UUID]) -> list[Memory]:
    """The memories with these ids, each with what a person found right beside it and tasks are shown, without words
    that lost to another memory, and without both of any two that people stand for and that contradict each other, as
    long as nobody decided which is right."""
    judged = {each.memory.id: each for each in memories.judge(ids)}
    wanted = dict.fromkeys(each for name in ids if name in judged for each in (name, *judged[name].both_right))
    beside = memories.judge([each for each in wanted if each not in judged])
    judged |= {each.memory.id: each for each in beside if each.memory.status == "active"}
    against = [rival for each in judged.values() for rival in each.conflicts]
    rivals = {each.memory.id: each.memory for each in memories.judge(against)}
    out = set[str]()
    for memory in judged.values():
        for rival in (rivals[each] for each in memory.conflicts if each in rivals):
            is_disputed = rival.is_a_persons and memory.is_open(rival)
            out |= {said(rival.answer)} if is_disputed or rival.id in memory.won_over else set()
            out |= {said(memory.memory.answer)} if is_disputed or rival.id in memory.lost_to else set()
    return [judged[each].memory for each in wanted if each in judged and said(judged[each].memory.answer) not in out]
