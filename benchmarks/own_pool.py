"""An empty pool on a Redis of its own, in this process, for benchmarks of what is kept and shown."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from memshare.operate.data_folder import connected
from memshare_broker.delivery.hops import NextMessage
from memshare_broker.settings import Settings
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.door.messages import RecallRequest, Recollection
from memshare_memory.door.service import RecallBatches
from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Order, Store, Where


class OwnPool(NamedTuple):
    """What workers have of a pool."""

    recall: Recall
    curate: Curate
    forgetting: Forgetting
    settle: SettleStage
    standing: CredibilityRanking
    sent: list[NextMessage]
    """The messages that the pool has sent to the scorer."""
    door: Door


class Door:
    """Recalls as agents ask for them, in this process."""

    def __init__(self, recalls: RecallBatches, store: Store) -> None:
        self._recalls = recalls
        self._store = store

    def recall(self, request: RecallRequest) -> Recollection:
        return self._recalls.ask(request).result()

    def first(self, where: Where, order: Order, limit: int) -> tuple[Memory, ...]:
        return tuple(self._store.page(where, limit, None, order=order).memories)


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
            with closing(RecallBatches(lambda: recall)) as recalls:
                yield OwnPool(recall, curate, Forgetting(pool, client), settle, standing, sent, Door(recalls, store))
