"""What people do with a pool: look, add, edit, forget, bring in and take out."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

import redis

from memshare.broker.errors import BadInput
from memshare.memory_service.admit.probation import without
from memshare.memory_service.admit.seeds import note_seeds
from memshare.memory_service.curate.requests import Edit, Forget, NewMemory
from memshare.memory_service.memory import Memory, Revision, memory_id
from memshare.memory_service.pool.pool import Pool
from memshare.memory_service.recall.credibility_ranking import Credibility, CredibilityRanking
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.stores.store import Page, Store, Where, every

BATCH = 256  # memories that are encoded in one call and written in one operation


class Curate:
    """The pool as people see it."""

    def __init__(self, pool: Pool, client: redis.Redis) -> None:
        self._pool = pool
        self._client = client
        self._ranking = CredibilityRanking(client)

    def page(self, where: Where, limit: int, after: UUID | None) -> Page:
        return self._pool().store.page(where, limit, after)

    def stats(self) -> dict[str, int]:
        """Memories by pool."""
        return self._pool().store.count(Where())

    def get(self, memory: UUID) -> Memory:
        """One memory; raises `BadInput` for an unknown id."""
        return _get(self._pool().store, memory)

    def add(self, new: Sequence[NewMemory]) -> list[UUID]:
        """Bring memories in; the same again is the same memory, and keeps its history."""
        return self.restore(
            [
                Memory(id=memory_id(one.pool, one.prompt, one.answer), created=time.time(), **one.model_dump())
                for one in new
            ],
            keep_existing=True,
        )

    def restore(self, memories: Sequence[Memory], *, keep_existing: bool = False) -> list[UUID]:
        """Write memories as they are, such as exported ones."""
        for start in range(0, len(memories), BATCH):
            self._restore(memories[start : start + BATCH], keep_existing=keep_existing)
        return [memory.id for memory in memories]

    def _restore(self, batch: Sequence[Memory], *, keep_existing: bool) -> None:
        """Encode a batch in one call, then write it in one operation, for which alone a closed gate has to wait."""
        recall = self._pool()
        known = {
            memory.id: memory for memory in recall.store.page(Where(ids=[one.id for one in batch]), BATCH).memories
        }
        wanted = [memory for memory in batch if not (keep_existing and memory.id in known)]
        if wanted:
            vectors = recall.vectors(wanted)
            with self._pool.writing() as current:
                if current.encoder_name != recall.encoder_name:
                    vectors = current.vectors(wanted)
                current.store.put(list(zip(wanted, vectors, strict=True)))
        replaced = [known[memory.id] for memory in wanted if memory.id in known]
        # Those that stood there already may be of an import that was killed before it noted them.
        note_seeds(
            self._client, recall.store, there={**known, **{one.id: one for one in wanted}}.values(), gone=replaced
        )

    def edit(self, edit: Edit) -> Memory:
        """Change a memory in its place: it keeps its id and its history, and has to prove itself anew."""
        changes = {name: value for name, value in edit.model_dump(exclude={"id"}).items() if value is not None}
        with self._pool.writing() as recall:
            before = _get(recall.store, edit.id)
            changed = before.model_copy(update=changes)
            rewritten = (changed.prompt, changed.answer) != (before.prompt, before.answer)
            if rewritten:
                revision = Revision(prompt=before.prompt, answer=before.answer, until=time.time())
                changed = changed.model_copy(update={"history": (*before.history, revision)})
            recall.store.put([(changed, recall.vectors([changed])[0])])
            if rewritten:
                self._begin_anew([changed])
        return changed

    def forget(self, forget: Forget) -> list[UUID]:
        """Remove memories, and with_children all that was derived from them; returns what was removed.

        Where a submitter is forgotten, what their tasks said for memories on probation counts no more, either.
        """
        with self._pool.writing() as recall:
            doomed = {memory.id: memory for where in _meant(forget) for memory in every(recall.store, where)}
            missing = [str(one) for one in forget.ids if one not in doomed]
            if missing:
                raise BadInput(f"No memory has the id {missing[0]!r}; nothing was forgotten.")
            fresh = list(doomed)
            while forget.with_children and fresh:
                children = {
                    memory.id: memory
                    for start in range(0, len(fresh), BATCH)
                    for memory in every(recall.store, Where(parents=fresh[start : start + BATCH]))
                }
                fresh = [child for child in children if child not in doomed]
                doomed |= children
            recall.store.delete(list(doomed))
            self._begin_anew(doomed.values())
            if forget.submitter is not None:
                _withdraw_vouchers(recall, forget.submitter)
        note_seeds(self._client, self._pool().store, there=(), gone=doomed.values())
        return list(doomed)

    def judge(self, ids: Sequence[UUID]) -> list[tuple[Memory, Credibility, list[UUID]]]:
        """Memories with their credibility and their rivals; unknown ids are left out."""
        found = []
        for pool, memories in _by_pool(self._pool().store.page(Where(ids=ids), len(ids)).memories if ids else []):
            rivals = self._ranking.conflicts.rivals(pool, [memory.id for memory in memories])
            for memory, how in zip(memories, self._ranking.credibilities(pool, memories), strict=True):
                found.append((memory, how, rivals.get(memory.id, [])))
        return found

    def conflicts(self, pool: str) -> list[tuple[UUID, UUID]]:
        """Every two memories of a pool that contradict each other."""
        return self._ranking.conflicts.pairs(pool)

    def _begin_anew(self, memories: Iterable[Memory]) -> None:
        """What was said of these memories says nothing of what they are now."""
        for pool, some in _by_pool(memories):
            self._ranking.arms.drop(pool, [memory.id for memory in some])
            self._ranking.conflicts.drop(pool, [memory.id for memory in some])


def _by_pool(memories: Iterable[Memory]) -> list[tuple[str, list[Memory]]]:
    pools: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        pools[memory.pool].append(memory)
    return sorted(pools.items())


def _withdraw_vouchers(recall: Recall, submitter: str) -> None:
    """What a forgotten submitter said for memories of others counts no more."""
    for memory in every(recall.store, Where(status="active")):
        judged = without(memory, submitter)
        if judged != memory:
            recall.store.put([(judged, recall.vectors([judged])[0])])


def _get(store: Store, memory: UUID) -> Memory:
    found = store.page(Where(ids=[memory]), 1).memories
    if not found:
        raise BadInput(f"No memory has the id {str(memory)!r}. `memshare memories list` shows them.")
    return found[0]


def _meant(forget: Forget) -> list[Where]:
    meant = [Where(ids=forget.ids)] if forget.ids else []
    if forget.submitter is not None:
        meant.append(Where(submitter=forget.submitter))
    if forget.task_id is not None:
        meant.append(Where(task_id=forget.task_id))
    if not meant:
        raise BadInput("Say what to forget: ids, a submitter or a task.")
    return meant
