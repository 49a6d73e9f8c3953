"""The pool in the generation that is in use: one encoder, and the store whose vectors it made.

Consolidation builds the next generation beside it and names its encoder in Redis: that is the swap, in one step. Every
process notices at its next recall, opens the new generation and lets go of the old one. Memories get into the other
store by passes (`Move`): each writes what is new or changed there and removes what is gone. Passes can be repeated and
broken off; the last one is made while nobody writes.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from uuid import UUID

import redis

from memshare_broker.errors import BadInput, MemshareError, TryAgain
from memshare_broker.settings import Settings
from memshare_memory.belief.bandit import Bandit
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.belief.writers import Writers
from memshare_memory.encoders.encoder import ENCODER, Encoder, first_name, folder_of, origin_of
from memshare_memory.encoders.open_encoder import open_encoder, open_model, within_reach
from memshare_memory.encoders.shared_batches import SharedBatches
from memshare_memory.memory import Memory
from memshare_memory.pool.known_pools import require_whole
from memshare_memory.pool.owner import WriteGate
from memshare_memory.recall.recall import Recall, vectors_of
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.open_store import layout_in_use, open_store, put_in_use
from memshare_memory.stores.store import Layout, Page, Store, Where, every, pages

BATCH = 64

Pages = Callable[[UUID | None], Page]
"""All memories of the pool in use in the order of their ids: the page that begins with this one."""


class Move:
    """The copy of a pool into another store, which may have been begun before."""

    def __init__(self, pages: Pages, target: Store, encoder: Encoder) -> None:
        self._pages = pages
        self._target = target
        self._encoder = encoder
        self._copied = {memory.id: _digest(memory) for memory in every(target, Where())}

    def catch_up(self, progress: Callable[[int], None]) -> int:
        """Make one pass, and return how many memories it wrote or removed; `progress` is told how many it has seen."""
        seen: set[UUID] = set()
        changes = 0
        for page in pages(self._pages):
            changed = [one for one in page.memories if self._copied.get(one.id) != _digest(one)]
            for start in range(0, len(changed), BATCH):
                batch = changed[start : start + BATCH]
                self._target.put(list(zip(batch, vectors_of(self._encoder, batch), strict=True)))
                self._copied |= {memory.id: _digest(memory) for memory in batch}
            seen |= {memory.id for memory in page.memories}
            changes += len(changed)
            progress(len(seen))
        gone = list(self._copied.keys() - seen)
        self._target.delete(gone)
        for one in gone:
            del self._copied[one]
        return changes + len(gone)


def _digest(memory: Memory) -> bytes:
    return blake2b(memory.model_dump_json().encode(), digest_size=16).digest()


log = logging.getLogger(__name__)

TRY_AGAIN_AFTER = 30.0  # seconds, when a new generation cannot be opened


class Pool:
    """Gives out the `Recall` of the generation in use; who holds one finishes with it, swapped or not."""

    def __init__(self, client: redis.Redis, current: Recall, open_generation: Callable[[str], Recall]) -> None:
        self._client = client
        self._current = current
        self._open_generation = open_generation
        self._gate = WriteGate(client)
        self._opening = threading.Lock()
        self._not_before = 0.0

    def __call__(self) -> Recall:
        """The generation to read from: the one before it while the newest is being opened, or cannot be."""
        name = self._client.get(ENCODER)
        if name in (None, self._current.encoder_name):
            return self._current
        if self._opening.acquire(blocking=False):
            try:
                self._turn_to(str(name))
            except MemshareError as error:
                log.error("Goes on with the encoder %s: %s", self._current.encoder_name, error)
            finally:
                self._opening.release()
        return self._current

    @contextmanager
    def writing(self, alone_in: str | None = None) -> Iterator[Recall]:
        """The generation to write to, which does not change while the block runs.

        With `alone_in`, nobody else is in such a block for the same pool. Raises `TryAgain` when the generation cannot
        be opened here: what is written to an older one would be lost.
        """
        with self._gate.writing(alone_in) as name:
            if name not in (None, self._current.encoder_name):
                with self._opening:
                    self._turn_to(str(name))
            if name not in (None, self._current.encoder_name):
                raise TryAgain(f"The pool has moved to the encoder {name!r}, which cannot be opened here just now.")
            yield self._current

    def _turn_to(self, name: str) -> None:
        if name == self._current.encoder_name or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + TRY_AGAIN_AFTER
        self._current = self._open_generation(name)
        self._not_before = 0.0
        log.info("Uses the encoder %s and the store that it made.", name)


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
