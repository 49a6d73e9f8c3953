"""A generation of the pool: an encoder, and the store of the vectors that it made."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from functools import partial

import redis

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_memory.belief.bandit import Bandit
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.belief.writers import Writers
from memshare_memory.encoders.encoder import ENCODER, Encoder, first_name, folder_of, origin_of
from memshare_memory.encoders.open_encoder import open_encoder, open_model, within_reach
from memshare_memory.encoders.shared_batches import SharedBatches
from memshare_memory.pool.known_pools import require_whole
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.open_store import layout_in_use, open_store, put_in_use
from memshare_memory.stores.store import Layout

EXPORTS = "exports"  # in the folder of the encoders that consolidation writes


def encoder_named(settings: Settings, name: str) -> Encoder:
    """The encoder of the settings or one that goes back to it, ready for many threads.

    Raises `BadInput` for any other: its pool has to be re-encoded first.
    """
    if origin_of(name) != first_name(settings):
        raise BadInput(
            f"The pool has vectors of the encoder {name!r}, and MEMSHARE_ENCODER names {first_name(settings)!r}: they"
            f" cannot be compared. Re-encode the pool with `memshare retriever consolidate`, or set MEMSHARE_ENCODER"
            f" back to {origin_of(name)!r}."
        )
    device, exports = settings.device, settings.exports_dir
    first = partial(open_encoder, settings.encoder, device=device, timeout=settings.model_timeout, exports=exports)
    if name == first_name(settings):
        opened = first()
    else:
        folder = folder_of(settings, name)
        if not folder.is_dir():
            raise BadInput(
                f"The pool's encoder {name!r} is not in {str(settings.encoders_dir)!r}. Give MEMSHARE_ENCODERS the"
                " folder in which the machine that consolidated keeps it, or a copy of that."
            )
        # Beside it, where every machine finds it that has the folder: who consolidates exports it first.
        trained = open_model(str(folder), name=name, device=device, exports=settings.encoders_dir / EXPORTS)
        opened = within_reach(trained, folder, first)
    encoder = SharedBatches(opened)
    encoder.encode(["The first text takes longer than those after it."])
    return encoder


def open_generation(settings: Settings, client: redis.Redis, name: str) -> Recall:
    """The generation of an encoder's name, made if need be; its store is closed when nobody uses it any more."""
    encoder = encoder_named(settings, name)
    layout = Layout(encoder.name, encoder.dimension)
    is_other = layout_in_use(settings) not in (None, layout)
    store = open_store(settings, layout, owner=" ".join(sys.argv), beside=is_other)
    ranking = CredibilityRanking(client, Bandit(settings.alpha, settings.credit_half_life))
    retriever = Retriever(client, encoder, learns=settings.learn)
    recall = Recall(store, encoder, retriever, ranking, settings.submitter_share, Writers(client))
    weakref.finalize(recall, store.close)
    if is_other:
        put_in_use(settings, layout)
    return recall


def name_in_use(settings: Settings, client: redis.Redis) -> str | None:
    """The encoder whose vectors the pool has, or None while there is no pool.

    Redis says which that is; the store does so for a Redis that has lost its data.
    """
    there = layout_in_use(settings)
    return str(client.get(ENCODER) or there.encoder) if there else None


def open_pool(settings: Settings, client: redis.Redis, claim: Callable[[], object] = lambda: None) -> Pool:
    """The pool in the generation that is in use, made if need be.

    `claim` is called when its store is open, and raises where the Redis belongs to another pool.
    """
    require_whole(client)
    there = layout_in_use(settings)
    name = name_in_use(settings, client) or first_name(settings)
    recall = open_generation(settings, client, name)
    claim()
    client.set(ENCODER, name, nx=there is not None)
    return Pool(client, recall, lambda other: open_generation(settings, client, other))
