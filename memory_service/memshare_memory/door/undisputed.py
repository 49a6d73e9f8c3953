"""Memories beside which an answer can be graded: nobody else's word stands against theirs."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory, said


def undisputed(memories: MemoryClient, ids: Sequence[UUID]) -> list[Memory]:
    """The memories with these ids, without words that lost to another memory, and without both of any two that people
    stand for and that contradict each other, as long as nobody decided which is right."""
    judged = {one.memory.id: one for one in memories.judge(ids)}
    asked = [each for one in judged.values() for each in one.conflicts]
    rivals = {one.memory.id: one.memory for one in memories.judge(asked)}
    out = set[str]()
    for one in judged.values():
        for rival in (rivals[each] for each in one.conflicts if each in rivals):
            is_open = rival.id not in one.lost_to + one.won_over and rival.is_a_persons and rival.status == "active"
            out |= {said(rival.answer)} if rival.id in one.won_over or is_open else set()
            out |= {said(one.memory.answer)} if rival.id in one.lost_to or is_open else set()
    there = (judged[each].memory for each in ids if each in judged)
    return [one for one in there if said(one.answer) not in out]
