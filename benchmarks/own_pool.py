"""An empty pool on a Redis of its own, in this process, for benchmarks of what is kept and shown."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from memshare.broker.delivery.stage import NextMessage
from memshare.broker.settings import Settings
from memshare.local.own_redis import connected
from memshare.memory_service.admit.lessons import Lessons
from memshare.memory_service.admit.settle import SettleStage
from memshare.memory_service.curate.curate import Curate
from memshare.memory_service.curate.forgetting import Forgetting
from memshare.memory_service.encoders.sentence_encoder import SentenceTransformerEncoder
from memshare.memory_service.pool.pool import Pool
from memshare.memory_service.recall.credibility_ranking import CredibilityRanking
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.recall.retriever import Retriever
from memshare.memory_service.stores.edge_store import EdgeStore
from memshare.memory_service.stores.store import Layout


class OwnPool(NamedTuple):
    """What workers have of a pool."""

    recall: Recall
    curate: Curate
    forgetting: Forgetting
    settle: SettleStage
    standing: CredibilityRanking
    sent: list[NextMessage]
    """The messages that the pool has sent to the scorer."""


@contextmanager
def own_pool() -> Iterator[OwnPool]:
    """The pool exists while the block runs."""
    encoder = SentenceTransformerEncoder(None)
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as name:
        folder = Path(name)
        store = EdgeStore.open(folder / "pool", Layout(encoder.name, encoder.dimension), "benchmark")
        with closing(store), connected(Settings(data=folder, redis_url=None)) as client:
            standing = CredibilityRanking(client)
            recall = Recall(store, encoder, Retriever(client, encoder), standing)
            pool = Pool(client, recall, lambda _: recall)
            settle = SettleStage(pool, client, Lessons(client, 0, learn=False))
            sent: list[NextMessage] = []
            curate = Curate(pool, client, sent.extend)
            yield OwnPool(recall, curate, Forgetting(pool, client), settle, standing, sent)
