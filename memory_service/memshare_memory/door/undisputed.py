"""Memories beside which an answer can be graded: nobody else's word stands against theirs."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory, said


def undisputed(memories: MemoryClient, ids: Sequence[UUID]) -> list[Memory]:
    """The memories with these ids, without words that lost to another memory, and without both of any two that people
    stand for and that contradict each other, as long as nobody decided which is right."""
    judged = {each.memory.id: each for each in memories.judge(ids)}
    against = [rival for each in judged.values() for rival in each.conflicts]
    rivals = {each.memory.id: each.memory for each in memories.judge(against)}
    out = set[str]()
    for memory in judged.values():
        for rival in (rivals[each] for each in memory.conflicts if each in rivals):
            has_won, has_lost = rival.id in memory.won_over, rival.id in memory.lost_to
            is_open = not has_won and not has_lost and rival.is_a_persons and rival.status == "active"
            out |= {said(rival.answer)} if has_won or is_open else set()
            out |= {said(memory.memory.answer)} if has_lost or is_open else set()
    return [judged[each].memory for each in ids if each in judged and said(judged[each].memory.answer) not in out]
