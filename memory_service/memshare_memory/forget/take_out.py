"""Takes memories out of the pool: into the trash with what they were worth, or for good."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from uuid import UUID

import redis

from memshare_memory.forget.answers import ForgottenMemory
from memshare_memory.forget.reviews import drop_cards, drop_summaries
from memshare_memory.forget.trash import KEEP_SECONDS, Trash
from memshare_memory.forget.worths import Worths
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Store


class TakeOut:
    """First into the trash, then out of the pool: a run that is killed between the two has lost nothing."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._trash = Trash(client)
        self._worths = Worths(client)

    def put_in_trash(self, memories: Collection[Memory], made_stale: Mapping[UUID, Sequence[Memory]]) -> None:
        """Keep memories as they are, each with what becomes stale as it goes."""
        now, worths = time.time(), self._worths.of(memories)
        self._trash.put(
            [
                ForgottenMemory(
                    memory=memory,
                    forgotten=now,
                    until=now + KEEP_SECONDS,
                    made_stale=tuple(child.id for child in made_stale.get(memory.id, ())),
                    **dict(worths[memory.id]),
                )
                for memory in memories
            ]
        )

    def remove(self, store: Store, memories: Collection[Memory], unreadable: Iterable[UUID] = ()) -> None:
        """Remove memories, what they were worth, and what was made of them."""
        ids = [*(memory.id for memory in memories), *unreadable]
        store.delete(ids)
        self._worths.drop(memories)
        drop_cards(self._client, ids)
        drop_summaries(self._client, ids, "read")
