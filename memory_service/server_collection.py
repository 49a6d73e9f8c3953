"""The collection of a pool on a Qdrant server: one for each encoder, and an alias for the current one."""

from __future__ import annotations

import re

from pydantic import ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from broker.errors import BadInput
from memory_service import points
from memory_service.stamp import Stamp, require_same
from memory_service.store import Layout

ALIAS = "memshare"

_CONFLICT = 409


def current_collection(client: QdrantClient, layout: Layout, alias: str, address: str) -> str:
    """The collection behind the alias, made if need be; any number of processes may do this at once.

    Raises `BadInput` where it holds another encoder's vectors.
    """
    wanted = Stamp.of(layout)
    name = _behind(client, alias)
    if name is None:
        made = f"{alias}-{re.sub('[^a-z0-9]+', '-', layout.encoder.lower()).strip('-')}-{layout.dimension}"
        _create(client, made, wanted)
        pointing = models.CreateAlias(collection_name=made, alias_name=alias)
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=pointing)])
        name = _behind(client, alias) or made
    info = client.get_collection(name)
    place = f"The Qdrant collection {name!r} at {address}"
    try:
        found = Stamp.model_validate(info.config.metadata)
    except ValidationError as error:
        raise BadInput(
            f"{place} does not say what it was made for: it is not memshare's, or the server is older"
            f" than 1.16. Point the alias {alias!r} elsewhere, or give MEMSHARE_QDRANT_URL another server."
        ) from error
    require_same(found, wanted, place, "give MEMSHARE_QDRANT_URL another server")
    for key in points.KEYWORDS:
        if key not in info.payload_schema:
            client.create_payload_index(name, key, _index(key), wait=True)
    return name


def _behind(client: QdrantClient, alias: str) -> str | None:
    aliases = client.get_aliases().aliases
    return next((one.collection_name for one in aliases if one.alias_name == alias), None)


def _create(client: QdrantClient, name: str, stamp: Stamp) -> None:
    try:
        client.create_collection(
            name,
            vectors_config={points.DENSE: models.VectorParams(size=stamp.dimension, distance=models.Distance.COSINE)},
            sparse_vectors_config={points.SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            metadata=stamp.model_dump(),
        )
    except UnexpectedResponse as error:
        # Another process was first, now or before it ended without setting the alias.
        if error.status_code != _CONFLICT:
            raise


def _index(key: str) -> models.KeywordIndexParams:
    # The points of one pool lie together on disk, and a search in a pool passes over the others.
    return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True if key == "pool" else None)
