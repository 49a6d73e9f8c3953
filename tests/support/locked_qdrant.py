"""Qdrant's in-memory client made safe for threads, and honest about payload indexes. For tests alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from qdrant_client import QdrantClient, models


def locked_qdrant() -> QdrantClient:
    """A `QdrantClient(":memory:")`, of which one method runs at a time."""
    return cast("QdrantClient", _LockedQdrant(QdrantClient(":memory:")))


class _LockedQdrant:
    """Concurrent use breaks a collection of the in-memory client for good; it has no payload indexes either."""

    def __init__(self, client: QdrantClient) -> None:
        self._client = client
        self._lock = threading.RLock()
        self._indexes: dict[str, dict[str, models.PayloadIndexInfo]] = {}

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Any] = getattr(self._client, name)

        @wraps(method)
        def locked(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                return method(*args, **kwargs)

        return locked

    def create_payload_index(
        self, collection_name: str, field_name: str, field_schema: Any, **_: Any
    ) -> models.UpdateResult:
        """Remember the index, for the in-memory client would only warn that it has none."""
        index = models.PayloadIndexInfo(data_type=models.PayloadSchemaType.KEYWORD, params=field_schema, points=0)
        with self._lock:
            self._indexes.setdefault(collection_name, {})[field_name] = index
        return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)

    def get_collection(self, collection_name: str) -> models.CollectionInfo:
        with self._lock:
            info = self._client.get_collection(collection_name)
            aliases = {one.alias_name: one.collection_name for one in self._client.get_aliases().aliases}
            indexes = self._indexes.get(aliases.get(collection_name, collection_name), {})
            return info.model_copy(update={"payload_schema": dict(indexes)})
