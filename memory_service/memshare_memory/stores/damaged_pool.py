"""An embedded pool that does not open, read point by point for what can still be saved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast
from uuid import UUID

import qdrant_edge as edge

from memshare_memory.stores import edge_folder, points
from memshare_memory.stores.edge_opening import loaded
from memshare_memory.stores.store import Layout, Page

_PAGE = 256


class DamagedPool:
    """The memories that can be read of a damaged pool; `unreadable` are those that cannot, of those looked at."""

    def __init__(self, shard: edge.EdgeShard) -> None:
        self._shard = shard
        self.unreadable: set[UUID] = set()

    def page(self, after: UUID | None) -> Page:
        """Some memories in the order of their ids, from `after` on."""
        found, following = self._shard.scroll(
            edge.ScrollRequest(offset=after, limit=_PAGE, with_payload=[points.WHOLE], with_vector=False)
        )
        memories = points.memories(((one.id, one.payload) for one in found), self.unreadable)
        return Page(memories, cast("UUID | None", following))


@contextmanager
def damaged_pool(folder: Path, layout: Layout) -> Iterator[DamagedPool]:
    """Have a damaged pool open while the block runs; raises `Damaged` where the engine cannot open it at all."""
    engine = edge_folder.prepare(folder, layout)
    with edge_folder.lock(folder):
        shard = loaded(folder, engine, layout)
        try:
            yield DamagedPool(shard)
        finally:
            shard.close()
