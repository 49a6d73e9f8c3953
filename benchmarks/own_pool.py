"""An empty pool on a Redis of its own, in this process, for benchmarks of what is kept and shown."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from broker.settings import Settings
from memory_service.curate import Curate
from memory_service.edge_store import EdgeStore
from memory_service.lessons import Lessons
from memory_service.pool import Pool
from memory_service.recall import Recall
from memory_service.retriever import Retriever
from memory_service.sentence_encoder import SentenceTransformerEncoder
from memory_service.settle import Settle
from memory_service.standing import Standing
from memory_service.store import Layout
from memshare.own_redis import connected


class OwnPool(NamedTuple):
    """What workers have of a pool."""

    recall: Recall
    curate: Curate
    settle: Settle
    standing: Standing


@contextmanager
def own_pool() -> Iterator[OwnPool]:
    """The pool exists while the block runs."""
    encoder = SentenceTransformerEncoder(None)
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as name:
        folder = Path(name)
        store = EdgeStore.open(folder / "pool", Layout(encoder.name, encoder.dimension), "benchmark")
        with closing(store), connected(Settings(data=folder, redis_url=None)) as client:
            standing = Standing(client)
            recall = Recall(store, encoder, Retriever(client, encoder), standing)
            pool = Pool(client, recall, lambda _: recall)
            yield OwnPool(recall, Curate(pool, client), Settle(pool, client, Lessons(0)), standing)
