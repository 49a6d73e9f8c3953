"""Opens the store that the settings ask for, or a damaged one, and says what it was made for.

Qdrant's client, which takes most of a second to import, is imported where the settings name a server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast
from uuid import UUID

import qdrant_edge as edge

from memshare_broker.settings import Settings
from memshare_memory.stores import data_folder, edge_folder, points
from memshare_memory.stores.edge_engine import loaded
from memshare_memory.stores.edge_folder import layout_of
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Page, Store


def open_store(settings: Settings, layout: Layout, owner: str, *, beside: bool = False) -> Store:
    """The pool on the Qdrant server of the settings, else the one in the data folder; close it at the end.

    `owner` says what this process is, for the next one that wants to open the same folder. `beside` opens the
    store for this layout, in use or not. Raises `BadInput` where the store in use is of another layout.
    """
    if settings.qdrant_url:
        from memshare_memory.stores.server_store import ServerStore

        return ServerStore.open(settings.qdrant_url, _key(settings), layout, beside=beside)
    folder = data_folder.folder_for(settings.data, layout) if beside else data_folder.in_use(settings.data)
    return open_folder(folder, layout, owner)


def open_folder(folder: Path, layout: Layout, owner: str) -> Store:
    """The embedded pool of a folder, made where there is none; close it at the end. Raises `Damaged`."""
    return EdgeStore.open(folder, layout, owner)


def layout_in_use(settings: Settings) -> Layout | None:
    """Layout that the pool was made for; None while there is no pool."""
    if not settings.qdrant_url:
        return layout_of(data_folder.in_use(settings.data))
    from memshare_memory.stores.server_collection import connected, layout_behind

    with connected(settings.qdrant_url, _key(settings)) as client:
        layout = layout_behind(client, settings.qdrant_url)
        client.close()
        return layout


def put_in_use(settings: Settings, layout: Layout) -> None:
    """Let the store for this layout, which exists, be the one that is opened from now on."""
    if not settings.qdrant_url:
        data_folder.put_in_use(settings.data, layout)
        return
    from memshare_memory.stores.server_collection import connected, turn_alias

    with connected(settings.qdrant_url, _key(settings)) as client:
        turn_alias(client, layout)
        client.close()


def _key(settings: Settings) -> str | None:
    return settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None


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
        memories = points.memories(((point.id, point.payload) for point in found), self.unreadable)
        return Page(memories, cast("UUID | None", following))


def rewrite_files(store: Store) -> tuple[str, ...] | None:
    """Rewrite a pool's files, so that nothing of what was removed stands in them; returns the copies that may have it.

    None for a server's, which it rewrites by itself, in its own time.
    """
    return store.rewrite() if isinstance(store, EdgeStore) else None


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
