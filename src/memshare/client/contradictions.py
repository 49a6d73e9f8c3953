"""Memories that contradict each other, as people are shown them."""

from __future__ import annotations

from collections.abc import Iterable

from memshare.client.rest.calls.conflicts import Contradiction
from memshare_memory.door.client import MemoryClient


def contradictions(memories: MemoryClient, pools: Iterable[str]) -> list[Contradiction]:
    """Every two memories of some pools that contradict each other and are both there, pool by pool."""
    found = [conflict for one in pools for conflict in memories.conflicts(one)]
    known = {one.memory.id: one for one in memories.judge([each for one in found for each in one.memories])}
    there = [one for one in found if known.keys() >= set(one.memories)]
    pairs = [sorted((known[each] for each in one.memories), key=lambda each: each.memory.created) for one in there]
    return [
        Contradiction(memories=(older, younger), claims=one.claims, confirmed=one.confirmed, right=one.right)
        for one, (older, younger) in zip(there, pairs, strict=True)
    ]
