"""Looks at a pool that no process has open and, if wanted, saves what can be read of a damaged one to a new one.

`python -m memshare_memory.pool.salvage [repair]` prints a `Salvaged`. It is a process of its own, for a damaged
file may end who reads it.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast
from uuid import UUID

import qdrant_edge as edge

from memshare_broker.settings import load_settings
from memshare_memory.pool.encoder_generation import encoder_named
from memshare_memory.pool.move import Move
from memshare_memory.pool.salvaged import Salvaged
from memshare_memory.stores import data_folder, edge_folder, points
from memshare_memory.stores.edge_folder import layout_of
from memshare_memory.stores.edge_opening import loaded
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.engine_damage import Damaged
from memshare_memory.stores.store import Layout, Page, Where

_PAGE = 256


def salvage(folder: Path, layout: Layout, *, repair: bool) -> Salvaged:
    """Open the pool; where that cannot be, and with `repair`, begin a new one with all that can be read of it."""
    try:
        with closing(EdgeStore.open(folder, layout, "memshare memories check")) as store:
            return Salvaged(memories=sum(store.count(Where()).values()))
    except Damaged as error:
        if not repair:
            return Salvaged(memories=0, damage=str(error))
        damage = str(error)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    fresh, kept = folder.with_name(f"{folder.name}.new-{stamp}"), folder.with_name(f"{folder.name}.damaged-{stamp}")
    encoder = encoder_named(load_settings(), layout.encoder)  # the vectors are made anew: theirs may be damaged
    with (
        damaged_pool(folder, layout) as source,
        closing(EdgeStore.open(fresh, layout, "memshare memories check --repair")) as target,
    ):
        Move(source.page, target, encoder).catch_up(lambda _: None)
        saved = sum(target.count(Where()).values())
        left_out = len(source.unreadable)
    folder.rename(kept)
    fresh.rename(folder)
    return Salvaged(memories=saved, damage=damage, left_out=left_out, kept=str(kept))


def main() -> None:
    logging.disable(logging.ERROR)  # what cannot be read is counted
    folder = data_folder.in_use(load_settings().data)
    layout = layout_of(folder)
    found = salvage(folder, layout, repair="repair" in sys.argv) if layout else Salvaged(memories=0)
    print(found.model_dump_json())


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


if __name__ == "__main__":
    main()
