"""Connecting to a Qdrant server, with errors that say what to mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qdrant_client import QdrantClient

from memshare_broker.errors import BadInput, GiveUp, TryAgain, Unreachable
from memshare_memory.stores.server_errors import answering

_TIMEOUT = 10  # seconds


@contextmanager
def connected(url: str, api_key: str | None) -> Iterator[QdrantClient]:
    """A client for the block to begin with; it is closed where the block fails, and left open where it does not.

    Raises `Unreachable` where no Qdrant answers, `BadInput` where the address or the key is wrong.
    """
    try:
        client = QdrantClient(url=url, api_key=api_key, timeout=_TIMEOUT, prefer_grpc=False, check_compatibility=False)
    except ValueError as error:
        raise BadInput(f"MEMSHARE_QDRANT_URL={url!r} is no address like http://HOST:6333: {error}.") from error
    try:
        with answering(url):
            yield client
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
