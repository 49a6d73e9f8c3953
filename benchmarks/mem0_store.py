"""mem0 in a folder, with vectors that are known already, or an encoder.

`benchmarks.peers` measures it, `benchmarks.doors` its recall over HTTP, and `benchmarks.calls` what its model is asked.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.synthetic import DIMENSION, Query
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.memory import Memory
from memshare_memory.stores import points


def text_of(memory: Memory) -> str:
    """What mem0 keeps as one text."""
    return f"{memory.prompt}\n{memory.answer}"


class KnownVectors:
    """An embedder, as mem0 asks one, that looks up what was made before."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's signature
        return self._vectors[text]


class Encoded:
    """An embedder, as mem0 asks one, that is the encoder our memory service has."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's signature
        vector: list[float] = self._encoder.encode([text])[0].tolist()
        return vector


class Mem0:
    """mem0's own `Memory`, asked as we ask our store."""

    def __init__(self, folder: Path, vectors: dict[str, list[float]], url: str | None = None) -> None:
        """`url` is that of a chat server, where its model is asked."""
        # Read when mem0 is imported: nothing may leave the machine or land in the user's home.
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}
        from mem0 import Memory as Mem0Memory

        store = {"path": str(folder / "qdrant"), "embedding_model_dims": DIMENSION, "on_disk": True}
        openai = {"provider": "openai", "config": {"api_key": "never used"}}
        model = {"provider": "openai", "config": {"api_key": "benchmark", "model": "expert", "openai_base_url": url}}
        self._memory = Mem0Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
                "embedder": openai,
                "llm": model if url else openai,
            }
        )
        self._memory.embedding_model = KnownVectors(vectors)

    def add(self, memory: Memory) -> None:
        """Add one memory as it is, with all that our payload has beside the text and the pool."""
        payload = points.payload(memory)
        metadata = {name: value for name, value in payload.items() if name not in ("pool", "prompt", "answer")}
        self._memory.add(text_of(memory), user_id=memory.pool, metadata=metadata, infer=False)

    def remember(self, pool: str, prompt: str, answer: str) -> None:
        """Have mem0 find what is worth keeping in a task and its answer, as it does by default."""
        turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
        self._memory.add(turns, user_id=pool)

    def count(self, pool: str) -> int:
        """How many memories a pool has."""
        return len(self._memory.get_all(filters={"user_id": pool}, top_k=10_000)["results"])

    def fill(self, pairs: Sequence[tuple[Memory, NDArray[np.float32]]]) -> None:
        """Write many memories at once as `add` would have, without the lines of its history."""
        payloads = []
        for memory, _ in pairs:
            payload = points.payload(memory)
            text, now = text_of(memory), datetime.now(UTC).isoformat()
            own = {name: value for name, value in payload.items() if name not in ("pool", "prompt", "answer")}
            said = {"data": text, "hash": md5(text.encode()).hexdigest(), "text_lemmatized": text}
            payloads.append(own | said | {"user_id": memory.pool, "created_at": now, "updated_at": now})
        vectors, ids = [vector.tolist() for _, vector in pairs], [str(memory.id) for memory, _ in pairs]
        self._memory.vector_store.insert(vectors, payloads, ids)

    def embed_with(self, encoder: Encoder) -> None:
        """Encode texts from now on, in place of looking them up."""
        self._memory.embedding_model = Encoded(encoder)

    def search(self, query: Query, limit: int) -> list[Any]:
        """The nearest active memories of the query's pool."""
        return self.search_text(query.pool, query.text, limit)

    def search_text(self, pool: str, text: str, limit: int) -> list[Any]:
        """The active memories of a pool that are nearest to a text."""
        filters = {"user_id": pool, "status": "active"}
        found: list[Any] = self._memory.search(text, top_k=limit, filters=filters)["results"]
        return found

    def close(self) -> None:
        self._memory.close()
        self._memory.vector_store.client.close()
