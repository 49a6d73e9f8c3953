"""How memories become points of Qdrant's engine: the same in the process and on a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memshare.memory_service.memory import Memory, saying
from memshare.memory_service.stores.store import Hit, Where

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

T = TypeVar("T")


def payload(memory: Memory) -> dict[str, Any]:
    """The fields that memories are found by, and the whole memory as one JSON text.

    The engine takes and gives back one text far faster than nested fields.
    """
    fields = memory.model_dump(mode="json", include=set(KEYWORDS))
    return {**fields, "saying": saying(memory.answer), WHOLE: memory.model_dump_json()}


def memory(stored: dict[str, Any] | None) -> Memory:
    """The memory that a point was made of."""
    return Memory.model_validate_json((stored or {})[WHOLE])


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


def hit(
    stored: dict[str, Any] | None,
    score: float,
    vector: object,
    dense: NDArray[np.float32] | None,
    *,
    fused: bool,
) -> Hit:
    """A point that was found. Searched by the dense vector alone, its score is the cosine; fused, `vector`
    brings the dense one to take it from."""
    own = np.asarray(vector[DENSE], dtype=np.float32) if isinstance(vector, dict) else None
    if dense is None:
        return Hit(memory(stored), score, 0.0, own)
    if not fused:
        return Hit(memory(stored), score, score, own)
    if own is None:
        raise TypeError(f"A fused search asks for the dense vectors; this point came with {vector!r}.")
    return Hit(memory(stored), score, _cosine(dense, own), own)


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def ranked(hits: Iterable[Hit]) -> list[Hit]:
    """The best first; where scores are equal, as fused ranks often are, the more similar, then by id."""
    return sorted(hits, key=lambda hit: (-hit.score, -hit.similarity, hit.memory.id))


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Parts small enough for one write: Qdrant refuses requests above 32 MiB."""
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
