"""The pool as it lies in the store, for who checks or copies it."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import numpy as np

from memshare_broker.wire.messages import Embedding
from memshare_memory.door.messages import RawMemories, RawMemory, RawRequest
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.points import WHOLE, problem
from memshare_memory.stores.store import RawPoint


def raw_memories(recall: Recall, request: RawRequest) -> RawMemories:
    """What a request asks for, of the generation of the pool that is in use."""
    page = recall.store.raw(request.limit, request.after, text_alone=request.only == "digests")
    if request.only == "digests":
        digests, found = {str(point.id): _digest(point) for point in page.points}, []
    else:
        digests, found = {}, [_whole(point, recall.encoder_name) for point in page.points]
    if request.only == "damaged":
        found = [one for one in found if one.problem is not None]
    return RawMemories(
        memories=tuple(found),
        digests=digests,
        seen=len(page.points),
        after=page.after,
        encoder=recall.encoder_name,
    )


def _whole(point: RawPoint, encoder: str) -> RawMemory:
    wrong = problem(point)
    dense = point.dense if point.dense is not None and np.isfinite(point.dense).all() else None
    return RawMemory(
        id=point.id,
        digest=_digest(point),
        text=None if wrong else point.payload[WHOLE],
        dense=None if dense is None else Embedding.pack(encoder, dense),
        fields=_plain(point.payload) if wrong else None,
        problem=wrong,
    )


def _digest(point: RawPoint) -> str:
    return blake2b(str(point.payload.get(WHOLE)).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _plain(payload: dict[str, Any]) -> dict[str, Any]:
    """A payload as JSON takes it, whatever is in it."""
    plain: dict[str, Any] = json.loads(json.dumps(payload, default=str), parse_constant=str)
    return plain
