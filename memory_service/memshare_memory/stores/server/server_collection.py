"""The collection of a pool on a Qdrant server: one for each encoder, and an alias for the current one."""

from __future__ import annotations

from pydantic import ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from memshare_broker.errors import BadInput
from memshare_memory.stores import points
from memshare_memory.stores.store import Layout
from memshare_memory.stores.store_metadata import StoreMetadata, place_of, require_same

ALIAS = "memshare"
"""It names the collection in use."""

_CONFLICT = 409
_AT_ONCE = 256  # memories


def current_collection(client: QdrantClient, layout: Layout, address: str) -> str:
    """The collection behind the alias, made if need be; any number of processes may do this at once.

    Raises `BadInput` where it holds another encoder's vectors.
    """
    wanted = StoreMetadata.of(layout)
    name = _behind(client)
    if name is None:
        _create(client, _named(layout), wanted)
        turn_alias(client, layout)
        name = _behind(client) or _named(layout)
    return _checked(client, name, wanted, address)


def collection_beside(client: QdrantClient, layout: Layout, address: str) -> str:
    """The collection for a layout, made if need be, whatever the alias names."""
    _create(client, _named(layout), StoreMetadata.of(layout))
    return _checked(client, _named(layout), StoreMetadata.of(layout), address)


def turn_alias(client: QdrantClient, layout: Layout) -> None:
    """Let the alias name the collection for a layout, in one step."""
    pointing = models.CreateAlias(collection_name=_named(layout), alias_name=ALIAS)
    changes: list[models.AliasOperations] = [models.CreateAliasOperation(create_alias=pointing)]
    if _behind(client):
        changes.insert(0, models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=ALIAS)))
    client.update_collection_aliases(changes)


def layout_behind(client: QdrantClient, address: str) -> Layout | None:
    """What the collection that the alias names was made for; None where there is no alias."""
    name = _behind(client)
    return _metadata_of(client.get_collection(name), name, address).layout if name else None


def _named(layout: Layout) -> str:
    return f"{ALIAS}-{place_of(layout)}"


def _checked(client: QdrantClient, name: str, wanted: StoreMetadata, address: str) -> str:
    info = client.get_collection(name)
    found = _metadata_of(info, name, address)
    require_same(found, wanted, _place(name, address), "give MEMSHARE_QDRANT_URL another server")
    if any(key not in info.payload_schema for key in points.ADDED):
        _add_fields(client, name)
    for key in (*points.KEYWORDS, *points.NUMBERS, points.WORDS):
        if key not in info.payload_schema:
            client.create_payload_index(name, key, _index(key), wait=True)
    return name


def _add_fields(client: QdrantClient, name: str) -> None:
    """Write the fields by which memories are found, where points of an older pool lack some."""
    after: models.ExtendedPointId | None = None
    while True:
        wanted = [points.WHOLE, points.CREDIBILITY]
        found, after = client.scroll(name, limit=_AT_ONCE, offset=after, with_payload=wanted)
        changes: list[models.UpdateOperation] = []
        for point in found:
            if fields := points.completed(point.id, point.payload):
                given = models.SetPayload(payload=fields, points=[point.id])
                changes.append(models.SetPayloadOperation(set_payload=given))
        if changes:
            client.batch_update_points(name, changes, wait=True)
        if after is None:
            return


def _metadata_of(info: models.CollectionInfo, name: str, address: str) -> StoreMetadata:
    try:
        return StoreMetadata.model_validate(info.config.metadata)
    except ValidationError as error:
        raise BadInput(
            f"{_place(name, address)} does not say what it was made for: it is not memshare's. Point the alias"
            f" {ALIAS!r} elsewhere, or give MEMSHARE_QDRANT_URL another server."
        ) from error


def _place(name: str, address: str) -> str:
    return f"The Qdrant collection {name!r} at {address}"


def _behind(client: QdrantClient) -> str | None:
    aliases = client.get_aliases().aliases
    return next((one.collection_name for one in aliases if one.alias_name == ALIAS), None)


def _create(client: QdrantClient, name: str, metadata: StoreMetadata) -> None:
    try:
        client.create_collection(
            name,
            vectors_config={
                points.DENSE: models.VectorParams(size=metadata.dimension, distance=models.Distance.COSINE)
            },
            sparse_vectors_config={points.SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            metadata=metadata.model_dump(),
        )
    except UnexpectedResponse as error:
        # Another process was first, now or before it ended without setting the alias.
        if error.status_code != _CONFLICT:
            raise


def _index(key: str) -> models.KeywordIndexParams | models.FloatIndexParams | models.IntegerIndexParams:
    if key in points.NUMBERS:
        return models.FloatIndexParams(type=models.FloatIndexType.FLOAT)
    if key == points.WORDS:
        return models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=False)
    # The points of one pool lie together on disk, and a search in a pool passes over the others.
    return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True if key == "pool" else None)
