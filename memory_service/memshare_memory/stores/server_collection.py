"""The collection of a pool on a Qdrant server: one for each encoder, and an alias for the current one."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

import httpx
from pydantic import ValidationError
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from memshare_broker.errors import BadInput, GiveUp, TryAgain, Unreachable
from memshare_memory.stores import points
from memshare_memory.stores.store import Layout, StoreMetadata, place_of, require_same

_LATER = (408, 425, 429)
_KEY = (401, 403)

_TIMEOUT = 10  # seconds

# To compress a reply takes both sides longer than to send it. It is sent in pieces then, and on a connection that is
# kept the second of them waits 40 ms until the first is acknowledged.
_PLAIN = {"Accept-Encoding": "identity"}
# For an address of this machine the client keeps no connection by itself. The server closes one that is idle for 5 s.
_KEPT = httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=2.0)

USED = {
    (1, 16): "metadata of a collection, and the constant of reciprocal rank fusion",
    (1, 17): "writing a point only where it is there already (update_mode)",
}
"""Features that memshare uses and older servers ignore or refuse, by the version that introduced them."""
OLDEST = max(USED)


class KeyRefused(TryAgain):
    """The server does not take the key, or not for writing: tasks wait until it does."""

    def __init__(self, address: str, status: int, words: str) -> None:
        super().__init__(
            f"Qdrant at {address} refuses the key of MEMSHARE_QDRANT_API_KEY (status {status}): {words}. Give the"
            " memory service a key that may read and write, and start it again; or let the server take this one",
            reason="store",
        )


@contextmanager
def connected(url: str, api_key: str | None) -> Iterator[QdrantClient]:
    """A client for the block to begin with; it is closed where the block fails, and left open where it does not.

    Raises `Unreachable` where no Qdrant answers, `BadInput` where the address or the key is wrong.
    """
    try:
        with warnings.catch_warnings():  # of a key over plain HTTP, as in a private network, at each connection
            warnings.simplefilter("ignore", UserWarning)
            client = QdrantClient(
                url=url,
                api_key=api_key,
                timeout=_TIMEOUT,
                prefer_grpc=False,
                check_compatibility=False,
                limits=_KEPT,
                metadata=_PLAIN,
            )
    except ValueError as error:
        raise BadInput(f"MEMSHARE_QDRANT_URL={url!r} is no address like http://HOST:6333: {error}.") from error
    try:
        with answering(url):
            _require_version(client, url)
            yield client
    except KeyRefused as error:
        client.close()
        raise BadInput(f"{error}.") from error
    except TryAgain as error:
        client.close()
        raise Unreachable(
            f"{error}. Start Qdrant there (docker run -p 6333:6333 qdrant/qdrant), give MEMSHARE_QDRANT_URL"
            " the right address, or unset it to keep the pool in a folder."
        ) from error
    except GiveUp as error:
        client.close()
        raise BadInput(f"{error}. Check MEMSHARE_QDRANT_URL and MEMSHARE_QDRANT_API_KEY.") from error
    except BaseException:
        client.close()
        raise


def _require_version(client: QdrantClient, url: str) -> None:
    """Raise `BadInput` for a server that passes over what it does not know, such as how a memory is to be written."""
    version = client.info().version
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or tuple(map(int, found.groups())) >= OLDEST:
        return  # what has a version of another form is somebody's own build
    lacking = "; ".join(f"{call} (since {major}.{minor})" for (major, minor), call in USED.items())
    raise BadInput(
        f"The Qdrant server at {url} has the version {version!r}, and memshare uses {lacking}. Upgrade it to"
        f" {OLDEST[0]}.{OLDEST[1]} or newer, one minor version at a time, or give MEMSHARE_QDRANT_URL another server."
    )


@contextmanager
def answering(address: str) -> Iterator[None]:
    """Turn the client's errors into `TryAgain` (no answer, overload, 5xx, the key) or `GiveUp` (what it refuses).

    A key that was rotated, or may only read now, concerns every task alike: none is given up for it.
    """
    try:
        yield
    except ResponseHandlingException as error:
        if isinstance(error.source, ValidationError):
            raise GiveUp(f"The server at {address} is not a Qdrant server") from error
        raise TryAgain(f"Qdrant does not answer at {address}: {error.source}", reason="store") from error
    except ResourceExhaustedResponse as error:
        raise TryAgain(f"Qdrant at {address} is busy: {error}", wait=error.retry_after_s, reason="store") from error
    except (JSONDecodeError, AssertionError) as error:
        # The client asserts that a reply has a result.
        raise GiveUp(f"The server at {address} is not a Qdrant server") from error
    except UnexpectedResponse as error:
        status, words = error.status_code or 0, error.content.decode(errors="replace")[:500]
        if status in _LATER or status >= 500:
            raise TryAgain(f"Qdrant at {address} could not do it (status {status}): {words}", reason="store") from error
        if status in _KEY:
            raise KeyRefused(address, status, words) from error
        raise GiveUp(f"Qdrant at {address} refused (status {status}): {words}", reason="store") from error


ALIAS = "memshare"  # it names the collection in use

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
    """Layout of the collection that the alias names; None if there is no alias."""
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
    return next((alias.collection_name for alias in aliases if alias.alias_name == ALIAS), None)


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
