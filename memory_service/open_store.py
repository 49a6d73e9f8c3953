"""Opens the store that the settings ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from broker.settings import Settings
from memory_service.edge_store import EdgeStore
from memory_service.server_store import ServerStore
from memory_service.store import Layout, Store


@contextmanager
def open_store(settings: Settings, layout: Layout, owner: str) -> Iterator[Store]:
    """The pool on the Qdrant server of the settings, else the one in the data folder; closed at the end.

    `owner` says what this process is, for the next one that wants to open the same folder.
    """
    if settings.qdrant_url:
        key = settings.qdrant_api_key
        server = ServerStore.open(settings.qdrant_url, key.get_secret_value() if key else None, layout)
        with closing(server):
            yield server
    else:
        with closing(EdgeStore.open(settings.data / "pool", layout, owner)) as edge:
            yield edge
