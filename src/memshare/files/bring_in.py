"""Brings what a file of memories has into the pool: twice is the same as once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from memshare.client.client import Client
from memshare.client.pools import pools_known
from memshare.files.pairs import PairsFile
from memshare_memory.door.client import BATCH


def unknown_pools(client: Client, found: PairsFile) -> str:
    """The pools that memories of a file are for and nobody has, in a sentence; empty where there is none."""
    lines = Counter([one.pool for one in found.whole] + [one.pool for one in found.pairs])
    known = pools_known(client)
    unknown = sorted(set(lines) - known)
    if not unknown:
        return ""
    names = ", ".join(f"{one!r} ({lines[one]:,} lines)" for one in unknown[:5])
    return f"nobody has the pool {names}. There are: {', '.join(sorted(known))}."


def bring_in(client: Client, found: PairsFile) -> Iterator[int]:
    """Write its memories; yields how many are in after each batch."""
    done = 0
    for start in range(0, len(found.whole), BATCH):
        done += len(client.memories.restore(found.whole[start : start + BATCH]))
        yield done
    for start in range(0, len(found.pairs), BATCH):
        done += len(client.memories.add(found.pairs[start : start + BATCH]))
        yield done
