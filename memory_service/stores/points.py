"""How memories become points of Qdrant's engine: the same in the process and on a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memshare.memory_service.memory import Memory, saying
from memshare.memory_service.stores.store import Hit, Query, Where

DENSE = "dense"
SPARSE = "bm25"
WHOLE = "memory"

KEYWORDS = ("pool", "status", "agent", "kind", "submitter", "task_id", "parents", "saying")
"""The fields that a `Where` can name; each has an index."""

RRF_K = 60
"""The k of reciprocal rank fusion (Cormack et al. 2009): a rank r counts 1 / (k + r), r from 0."""

MAX_POOLS = 10_000

_FUSED_DEPTH = 50
_BATCH = 256
_PARSED = 4_000  # memories that are kept parsed, some 8 kB each

T = TypeVar("T")
Found = tuple[dict[str, Any] | None, float, object]
"""A point as the engine gives it: payload, score and vectors."""


def payload(memory: Memory) -> dict[str, Any]:
    """The fields that memories are found by, and the whole memory as one JSON text.

    The engine takes and gives back one text far faster than nested fields.
    """
    return {
        "pool": memory.pool,
        "status": memory.status,
        "agent": memory.agent,
        "kind": memory.kind,
        "submitter": memory.submitter,
        "task_id": memory.task_id,
        "parents": [str(parent) for parent in memory.parents],
        "saying": saying(memory.answer),
        WHOLE: memory.model_dump_json(),
    }


def memory(stored: dict[str, Any] | None) -> Memory:
    """The memory that a point was made of."""
    return _parse((stored or {})[WHOLE])


@lru_cache(maxsize=_PARSED)
def _parse(text: str) -> Memory:
    """A memory is frozen, so those who find the same text share one; a recall looks at dozens."""
    return Memory.model_validate_json(text)


def conditions(where: Where) -> list[tuple[str, list[str]]]:
    """Fields and the values of which each must have one; `ids` is no field."""
    given: list[tuple[str, list[str]]] = []
    for key in KEYWORDS:
        value: str | Sequence[object] | None = getattr(where, key)
        if value is not None:
            given.append((key, [value] if isinstance(value, str) else [str(one) for one in value]))
    return given


def depth(limit: int) -> int:
    """How many candidates each of the two rankings gives to the fusion."""
    return max(limit, _FUSED_DEPTH)


def is_fused(query: Query) -> bool:
    """Whether a search fuses two rankings."""
    return query.dense is not None and query.sparse is not None


def hits(query: Query, found: Iterable[Found]) -> list[Hit]:
    """What a search found, best first; equal scores, as fused ranks often have, by similarity and then by id."""
    unsorted = [_hit(query, *one) for one in found]
    return sorted(unsorted, key=lambda hit: (-hit.score, -hit.similarity, hit.memory.id))


def _hit(query: Query, stored: dict[str, Any] | None, score: float, vector: object) -> Hit:
    """One point. Searched by the dense vector alone, its score is the cosine; fused, `vector` brings what it takes."""
    own = dense_in(vector) if isinstance(vector, dict) else None
    if query.dense is None:
        return Hit(memory(stored), score, 0.0, own)
    if not is_fused(query):
        return Hit(memory(stored), score, score, own)
    if own is None:
        raise TypeError(f"A fused search asks for the dense vectors; this point came with {vector!r}.")
    return Hit(memory(stored), score, _cosine(query.dense, own), own)


def dense_in(vectors: Any) -> NDArray[np.float32]:
    """The dense vector among those that came with a point, of shape (dimension,)."""
    return np.asarray(vectors[DENSE], dtype=np.float32)


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Parts small enough for one write: Qdrant refuses requests above 32 MiB."""
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
