"""How memories become points of Qdrant's engine: the same in the process and on a server."""

from __future__ import annotations

import logging
import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from memshare_broker.observe.logs import ids
from memshare_broker.wire.forms import readable
from memshare_memory.memory import UNTRIED, Memory, said, saying
from memshare_memory.stores.bm25 import cjk_characters, document, query
from memshare_memory.stores.store import Hit, Query, RawPoint, Vectors, Where

log = logging.getLogger(__name__)

DENSE = "dense"
SPARSE = "bm25"
WHOLE = "memory"

KEYWORDS = ("pool", "status", "agent", "kind", "submitter", "model", "task_id", "parents", "saying")
"""The fields that a `Where` can name; each has an index."""

NUMBERS = ("created", "score", "credibility", "valid_until")
"""The fields by which memories are sorted, or found by a range; each has an index."""

WORDS = "words"  # the field with the marks of a memory's words, by which it is found; it has an index
ADDED = ("model", WORDS)  # fields that points of an older pool lack; the index of each is made once all points have it
MASKED = "masked"  # the vector of the masked text, in half precision as base 64; absent where there is nothing to mask

CREDIBILITY = "credibility"

_NO_SCORE = -1.0  # in place of a score, so that a memory without one is sorted, too

RRF_K = 60  # the k of reciprocal rank fusion (Cormack et al. 2009): a rank r counts 1 / (k + r), r from 0

MAX_POOLS = 10_000

_FUSED_DEPTH = 50
_OFF_LENGTH = 1e-2  # by which the length of a vector may differ from 1
_BATCH = 256
_PARSED = 4_000  # memories that are kept parsed, some 8 kB each

T = TypeVar("T")
Payload = dict[str, Any] | None
Found = tuple[Memory | None, float, object]
"""A memory as the engine found it, if it can be read, with its score and vectors."""


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
        "model": memory.model,
        "task_id": memory.task_id,
        "parents": [str(parent) for parent in memory.parents],
        "saying": sorted({saying(memory.answer), saying(said(memory.answer))}),
        "created": memory.created,
        "score": _NO_SCORE if memory.score is None else memory.score,
        "valid_until": memory.valid_until,
        WORDS: word_marks(f"{memory.prompt or ''}\n{memory.answer}"),
        WHOLE: memory.model_dump_json(),
    }


def memories(found: Iterable[tuple[object, Payload]], unreadable: set[UUID]) -> list[Memory]:
    """The memories that points were made of; those that cannot be read are noted, and left out."""
    return [read for point, stored in found if (read := memory(point, stored, unreadable))]


def memory(point: object, stored: Payload, unreadable: set[UUID]) -> Memory | None:
    """The memory that a point was made of; one that cannot be read is noted."""
    read = _parse((stored or {}).get(WHOLE))
    if isinstance(read, Memory):
        return read
    name = UUID(str(point))
    if name not in unreadable:
        unreadable.add(name)
        log.error("A memory cannot be read, and is left out: %s. See `memshare memories check`.", read,
                  extra=ids(memory_id=str(name)))  # fmt: skip
    return None


@lru_cache(maxsize=_PARSED)
def _parse(text: Any) -> Memory | str:
    """A memory, or why it is none. Memories are frozen, so those who find the same text, as recalls do, share one."""
    if not isinstance(text, str):
        return f"it has no text {WHOLE!r}"
    try:
        return Memory.model_validate_json(text)
    except ValidationError as error:
        return readable(error, "it is no memory").rstrip(".")


def problem(point: RawPoint) -> str | None:
    """Description of the damage to a stored point; None if it is as it was written."""
    read = _parse(point.payload.get(WHOLE))
    if not isinstance(read, Memory):
        return read
    if read.id != point.id:
        return f"it says that it is the memory {read.id}"
    stored = point.payload | {WHOLE: read.model_dump_json()}
    wrong = [key for key, value in payload(read).items() if not _same(stored.get(key), value)]
    if wrong:
        return f"its field {wrong[0]!r} is {point.payload.get(wrong[0])!r}"
    if point.dense is None or not _has_length_one(point.dense):
        return "its vector is damaged"
    return None


def _same(stored: object, value: object) -> bool:
    """True if a field is as it was written; the engine returns some numbers with a different last bit."""
    if isinstance(stored, float) and isinstance(value, float):
        return math.isclose(stored, value, rel_tol=1e-12)
    return stored == value


def conditions(where: Where) -> list[tuple[str, list[str]]]:
    """Fields and the values of which each must have one; `ids` is no field."""
    given: list[tuple[str, list[str]]] = [] if where.pools is None else [("pool", [*where.pools])]
    for key in KEYWORDS:
        value: str | Sequence[object] | None = getattr(where, key)
        if value is not None:
            meant = [value] if isinstance(value, str) else [str(part) for part in value]
            given.append((key, meant))
    return given


def ranges(where: Where) -> list[tuple[str, float | None, float | None]]:
    """Fields, each with the lowest and the highest value that it may have; `created` is below its highest."""
    score_from = 0.0 if where.score_from is None and where.score_to is not None else where.score_from
    given = [
        ("created", where.created_from, where.created_before),
        ("score", score_from, where.score_to),
        (CREDIBILITY, where.credibility_from, where.credibility_to),
        ("valid_until", None, where.valid_to),
    ]
    return [(key, low, high) for key, low, high in given if low is not None or high is not None]


def wanted_marks(where: Where) -> list[int]:
    return sorted({mark for word in where.words for mark in query(word).indices})


def word_marks(text: str) -> list[int]:
    """The marks of a text's words: those of its BM25 vector, and of each Chinese or Japanese character by itself."""
    return sorted({*document(text).indices, *query(" ".join(cjk_characters(text))).indices})


def depth(limit: int) -> int:
    """How many candidates each of the rankings gives to the fusion."""
    return max(limit, _FUSED_DEPTH)


def is_fused(search: Query) -> bool:
    return search.dense is not None and search.sparse is not None


def hits(search: Query, found: Iterable[Found]) -> list[Hit]:
    """Hits of a search, best first; equal scores, as fused ranks often have, in order of similarity, then of id."""
    unsorted = [
        hit for memory, score, vectors in found if memory is not None and (hit := _hit(search, memory, score, vectors))
    ]
    return sorted(unsorted, key=lambda hit: (-hit.score, -hit.similarity, hit.memory.id))


def _hit(search: Query, found: Memory, score: float, vectors: object) -> Hit | None:
    """The hit of a memory. With the dense vector alone, its score is the cosine; a fused search needs `vectors`."""
    if not math.isfinite(score):  # of a damaged vector
        return None
    own = dense_in(vectors) if isinstance(vectors, dict) else None
    if search.dense is None:
        return Hit(found, score, 0.0, own)
    if not is_fused(search):
        return Hit(found, score, min(max(score, -1.0), 1.0), own)
    if own is None:
        raise TypeError(f"A fused search asks for the dense vectors; this point came with {vectors!r}.")
    return Hit(found, score, _cosine(search.dense, own), own)


def dense_in(vectors: Any) -> NDArray[np.float32]:
    """The dense vector among those that came with a point, of shape (dimension,)."""
    return np.asarray(vectors[DENSE], dtype=np.float32)


def dense_of(vectors: object) -> NDArray[np.float32] | None:
    """The same, or None where there is none."""
    return dense_in(vectors) if isinstance(vectors, dict) and DENSE in vectors else None


def has_vectors(vectors: object) -> bool:
    """True if a point came with both of its vectors, the dense one of length 1."""
    dense = dense_of(vectors)
    return dense is not None and SPARSE in cast("dict[str, object]", vectors) and _has_length_one(dense)


def _has_length_one(dense: NDArray[np.float32]) -> bool:
    return math.isclose(float(np.linalg.norm(dense)), 1, abs_tol=_OFF_LENGTH)


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return float(np.clip(a @ b / lengths, -1, 1)) if lengths else 0.0  # of a text without words a vector may be nothing


STAYING = [CREDIBILITY, MASKED]  # fields that stay with a memory that is written again


def staying(found: Iterable[tuple[object, Payload]]) -> dict[UUID, dict[str, Any]]:
    """Fields that stay with a point that is written again, for each of these points, by id."""
    return {UUID(str(point)): _staying(stored) for point, stored in found}


def _staying(stored: Payload) -> dict[str, Any]:
    return {key: stored[key] for key in STAYING if stored and key in stored}


def fields(memory: Memory, given: Vectors, stays: Mapping[str, Any] | None) -> dict[str, Any]:
    """All fields of a memory that is written, and what `stays` of what it was."""
    noted = {CREDIBILITY: UNTRIED} | dict(stays or {})
    if given.masked is not None:
        noted.pop(MASKED, None)
        if not np.array_equal(given.masked, given.dense):
            noted[MASKED] = b64encode(given.masked.astype("<f2").tobytes()).decode()
    return payload(memory) | noted


def both_in(found: Iterable[tuple[object, Payload, object]]) -> dict[UUID, NDArray[np.float32]]:
    """The dense vectors of points with those of their masked texts, of shape (2, dimension)."""
    rows = {}
    for point, stored, vectors in found:
        dense, masked = dense_of(vectors), (stored or {}).get(MASKED)
        if dense is not None:
            rows[UUID(str(point))] = np.stack([dense, dense if masked is None else unpacked(masked)])
    return rows


def unpacked(text: str) -> NDArray[np.float32]:
    """A vector of a masked text as it was written."""
    return np.frombuffer(b64decode(text), "<f2").astype(np.float32)


def completed(point: object, stored: Payload) -> dict[str, Any] | None:
    """All fields of a point that may lack some; None for one that cannot be read."""
    noted = {CREDIBILITY: UNTRIED} | _staying(stored)
    return next((payload(memory) | noted for memory in memories([(point, stored)], set())), None)


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Parts small enough for one write: Qdrant refuses requests above 32 MiB."""
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
