"""mem0 in a folder, with vectors that are known already; `benchmarks.peers` measures it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.synthetic import DIMENSION, Query
from memshare.memory_service.memory import Memory
from memshare.memory_service.stores import points


def text_of(memory: Memory) -> str:
    """What mem0 keeps as one text."""
    return f"{memory.prompt}\n{memory.answer}"


class KnownVectors:
    """An embedder, as mem0 asks one, that looks up what was made before."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's signature
        return self._vectors[text]


class Mem0:
    """mem0's own `Memory`, asked as we ask our store."""

    def __init__(self, folder: Path, vectors: dict[str, list[float]]) -> None:
        # Read when mem0 is imported: nothing may leave the machine or land in the user's home.
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}
        from mem0 import Memory as Mem0Memory

        store = {"path": str(folder / "qdrant"), "embedding_model_dims": DIMENSION, "on_disk": True}
        openai = {"provider": "openai", "config": {"api_key": "never used"}}
        self._memory = Mem0Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
                "embedder": openai,
                "llm": openai,
            }
        )
        self._memory.embedding_model = KnownVectors(vectors)

    def add(self, memory: Memory) -> None:
        """Add one memory as it is, with all that our payload has beside the text and the pool."""
        payload = points.payload(memory)
        metadata = {name: value for name, value in payload.items() if name not in ("pool", "prompt", "answer")}
        self._memory.add(text_of(memory), user_id=memory.pool, metadata=metadata, infer=False)

    def search(self, query: Query, limit: int) -> list[Any]:
        """The nearest active memories of the query's pool."""
        filters = {"user_id": query.pool, "status": "active"}
        found: list[Any] = self._memory.search(query.text, top_k=limit, filters=filters)["results"]
        return found

    def close(self) -> None:
        self._memory.close()
        self._memory.vector_store.client.close()
