"""The swap: the pool is re-encoded beside the one in use, and takes its place in one step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing

import redis

from memshare_broker.settings import Settings
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.pool.encoder_names import BEFORE, ENCODER
from memshare_memory.pool.move import Move, Pages
from memshare_memory.pool.write_gate import WriteGate
from memshare_memory.stores.open_store import open_store, put_in_use
from memshare_memory.stores.store import Layout, Store

OWNER = "memshare retriever"


def swap(
    settings: Settings,
    client: redis.Redis,
    pages: Pages,
    encoder: Encoder,
    *,
    before: str,
    prepare: Callable[[Store], None],
    progress: Callable[[int], None],
) -> None:
    """Re-encode the pool with the encoder and put that into use; `before` is the encoder that it takes over from.

    `prepare` is called with the finished store, while nobody writes, right before the step. Agents answer and
    memories are settled all the time, but for the last pass.
    """
    layout = Layout(encoder.name, encoder.dimension)

    # 1. Copy what there is. Opening the store again lets its engine build its index here and not at its next owner.
    with closing(open_store(settings, layout, OWNER, beside=True)) as target:
        Move(pages, target, encoder).catch_up(progress)
    with ExitStack() as gate:
        with closing(open_store(settings, layout, OWNER, beside=True)) as target:
            move = Move(pages, target, encoder)
            move.catch_up(progress)

            # 2. The last pass, with nothing written meanwhile.
            alive = gate.enter_context(WriteGate(client).closed())
            move.catch_up(lambda _: alive())
            prepare(target)

        # 3. The step. Every process looks at this key before it reads or writes.
        alive()
        client.mset({ENCODER: encoder.name, BEFORE: before})
    put_in_use(settings, layout)
