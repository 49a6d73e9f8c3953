"""Opens the store that the settings ask for, and says what it was made for.

Qdrant's client, which takes most of a second to import, is imported where the settings name a server.
"""

from __future__ import annotations

from pathlib import Path

from memshare_broker.settings import Settings
from memshare_memory.stores import data_folder
from memshare_memory.stores.edge_folder import layout_of
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Store


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
    """What the pool was made for; None while there is none."""
    if not settings.qdrant_url:
        return layout_of(data_folder.in_use(settings.data))
    from memshare_memory.stores.server_collection import ALIAS, layout_behind
    from memshare_memory.stores.server_connection import connected

    with connected(settings.qdrant_url, _key(settings)) as client:
        layout = layout_behind(client, ALIAS, settings.qdrant_url)
        client.close()
        return layout


def put_in_use(settings: Settings, layout: Layout) -> None:
    """Let the store for this layout, which exists, be the one that is opened from now on."""
    if not settings.qdrant_url:
        data_folder.put_in_use(settings.data, layout)
        return
    from memshare_memory.stores.server_collection import ALIAS, turn_alias
    from memshare_memory.stores.server_connection import connected

    with connected(settings.qdrant_url, _key(settings)) as client:
        turn_alias(client, layout, ALIAS)
        client.close()


def _key(settings: Settings) -> str | None:
    return settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None
