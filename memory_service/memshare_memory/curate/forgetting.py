"""Forgetting: memories go into the trash, come back out of it, or are purged for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from uuid import UUID

import redis

from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import derived_id
from memshare_memory.admit.asked_concepts import extraction, needing
from memshare_memory.admit.seeds import note_seeds
from memshare_memory.curate.comparing import Send
from memshare_memory.curate.concept_decisions import drop_decisions, forget_decider
from memshare_memory.curate.requests import Forget, RestoreForgotten, TrashRequest
from memshare_memory.curate.rewriting import rewrite_all
from memshare_memory.curate.selection import Selection
from memshare_memory.curate.stale import make_stale, no_longer_stale, stale_once
from memshare_memory.curate.traces import remove_traces
from memshare_memory.curate.write import write
from memshare_memory.forget.answers import (
    FilesRewritten,
    ForgetPreview,
    ForgottenMemory,
    Purged,
    RestoredMemories,
    TrashPage,
)
from memshare_memory.forget.reviews import drop_question_concepts, drop_questions, drop_summaries
from memshare_memory.forget.take_out import TakeOut
from memshare_memory.forget.trash import Trash
from memshare_memory.forget.worths import Worths
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.credibility_ranking import CredibilityRanking
from memshare_memory.recall.given_credit import GivenCredit, less
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.pages import by_ids, every
from memshare_memory.stores.store import Where

EXAMPLES = 5  # memories that a preview shows


class Forgetting:
    """Takes memories out of the pool, and puts them back."""

    def __init__(self, pool: Pool, client: redis.Redis, send: Send | None = None, *, concepts: bool = False) -> None:
        """With `send` and `concepts`, what comes back before its concepts were known is asked about."""
        self._send = send if concepts else None
        self._pool = pool
        self._client = client
        self._worths = Worths(client)
        self._trash = Trash(client)
        self._take_out = TakeOut(client)
        self._ranking = CredibilityRanking(client)
        self._given = GivenCredit(client)

    def preview(self, forget: Forget) -> ForgetPreview:
        """What `forget` or `purge` would take, and nothing is done. Raises `BadInput` for an unknown id."""
        meant = Selection.find(self._pool().store, self._trash, forget)
        return ForgetPreview(
            memories=len(meant.there),
            by_pool=dict(sorted(Counter(memory.pool for memory in meant.there.values()).items())),
            derived=meant.derived,
            trashed=len(meant.trashed),
            examples=tuple(meant.there.values())[:EXAMPLES],
        )

    def forget(self, forget: Forget) -> list[UUID]:
        """Take memories out of the pool, and keep them in the trash; returns what was taken.

        With children, all that was derived from them goes, too; without, what was written from a statement among them
        is stale. Where a submitter is forgotten with `roll_back`, the credit that their tasks gave counts no more.
        """
        if forget.roll_back and forget.submitter is not None:
            self._take_credit_back(forget.submitter)
        with self._pool.writing() as recall:
            meant = Selection.find(recall.store, self._trash, forget)
            if meant.unknown:
                raise BadInput(f"Memory {str(meant.unknown[0])!r} is in the trash already; nothing was forgotten.")
            stale = {one: _left_behind(recall, meant, memory) for one, memory in meant.there.items()}
            self._take_out.put_in_trash(meant.there.values(), stale)
            make_stale(recall, [child for children in stale.values() for child in children])
            self._take_out.remove(recall.store, meant.there.values(), meant.unreadable)
        note_seeds(self._client, self._pool().store, there=(), gone=meant.there.values())
        return [*meant.there, *meant.unreadable]

    def trash(self, request: TrashRequest) -> TrashPage:
        """What is in the trash."""
        ids = list(request.ids) or self._trash.ids(request.prefix)
        if request.submitter is None and request.pools is None and not request.ids:
            return TrashPage(total=len(ids), forgotten=tuple(self._trash.read(ids[: request.limit])))
        found = [
            one
            for one in self._trash.read(ids)
            if request.submitter in (None, one.memory.submitter)
            and (request.pools is None or one.memory.pool in request.pools)
        ]
        return TrashPage(total=len(found), forgotten=tuple(found[: request.limit]))

    def restore(self, request: RestoreForgotten) -> RestoredMemories:
        """Take memories back out of the trash: their text, score, status and credibility are as they were."""
        found = self._asked_for(request)
        pool_has = by_ids(self._pool().store, found.keys())
        back = {one: item for one, item in found.items() if one not in pool_has}
        write(self._pool, self._client, [item.memory for item in back.values()])
        there = by_ids(self._pool().store, {rival for item in back.values() for rival in item.rivals})
        for item in back.values():
            self._worths.put_back(item.memory, item, there)
        with self._pool.writing() as recall:
            no_longer_stale(recall, {one for item in back.values() for one in item.made_stale}, back, "forgotten")
        self._ranking.note(self._pool().store, back.keys())
        self._ask_for_concepts(found)
        # One that the pool has as it was had been forgotten by a run that was killed half-way.
        same = [one for one, memory in pool_has.items() if memory == found[one].memory]
        self._trash.drop([*back, *same])
        return RestoredMemories(restored=tuple(back), there=tuple(pool_has))

    def purge(self, forget: Forget) -> Purged:
        """Remove memories for good, from the pool, the trash, and all that Redis tells of them and of their tasks.

        With a submitter, what is known of all their tasks goes, too.
        """
        with self._pool.writing() as recall:
            meant = Selection.find(recall.store, self._trash, forget)
            make_stale(recall, [one for each in meant.there.values() for one in _left_behind(recall, meant, each)])
            self._take_out.remove(recall.store, meant.there.values(), meant.unreadable)
            self._trash.drop([*meant.there, *meant.trashed])
            if forget.submitter is not None:
                _unname(recall, forget.submitter)
                self._given.forget(forget.submitter)
                forget_decider(self._client, forget.submitter)
        memories = {**meant.trashed, **meant.there}
        drop_questions(self._client, memories)
        drop_question_concepts(self._client)
        drop_summaries(self._client, [*memories, *meant.unreadable], "members")
        drop_decisions(self._client, self._pool().store, memories.values())
        note_seeds(self._client, self._pool().store, there=(), gone=memories.values())
        tasks = {memory.task_id for memory in memories.values() if memory.task_id is not None}
        ids = (*memories, *meant.unreadable)
        return remove_traces(self._client, ids, tasks, forget.submitter)

    def rewrite(self) -> FilesRewritten:
        """Rewrite the files of pool and Redis, in which what was purged stands until then."""
        return rewrite_all(self._pool().store, self._client)

    def _ask_for_concepts(self, found: Mapping[UUID, ForgottenMemory]) -> None:
        """In a journey of this return: the message that asked before has ended, as the memory was gone."""
        if self._send is not None:
            wanted = needing(self._pool().store, [item.memory for item in found.values()])
            journeys = {one.id: derived_id("restored", str(one.id), repr(found[one.id].forgotten)) for one in wanted}
            self._send([extraction(memory, str(journeys[memory.id])) for memory in wanted])

    def _take_credit_back(self, submitter: str) -> None:
        """From the memories of the pool, and from those in the trash, too."""
        credited = self._given.credited_by(submitter)
        self._given.take_back(submitter)
        self._ranking.note(self._pool().store, credited)
        items = [one for one in self._trash.every() if one.arm is not None and submitter in one.given]
        for item in items:
            left = {name: sums for name, sums in item.given.items() if name != submitter}
            self._trash.put(
                [item.model_copy(update={"arm": less(item.arm or "", item.given[submitter]), "given": left})]
            )

    def _asked_for(self, request: RestoreForgotten) -> dict[UUID, ForgottenMemory]:
        if request.submitter is not None:
            items = [one for one in self._trash.every() if one.memory.submitter == request.submitter]
        else:
            items = []
        found = {item.memory.id: item for item in (*self._trash.read(request.ids), *items)}
        missing = [one for one in request.ids if one not in found]
        if missing:
            raise BadInput(f"The trash has no memory {str(missing[0])!r}. `memshare memories trash` shows what it has.")
        if not request.ids and request.submitter is None:
            raise BadInput("Say what to restore: ids, or a submitter.")
        return found


def _left_behind(recall: Recall, meant: Selection, memory: Memory) -> list[Memory]:
    """What is stale once a memory is gone, and is not forgotten with it."""
    return [one for one in stale_once(recall.store, memory, "forgotten") if one.id not in meant.there]


def _unname(recall: Recall, editor: str) -> None:
    """The memories that a purged person changed stay as they are; by whom is not known any more."""
    changed = []
    for memory in every(recall.store, Where()):
        history = tuple(one.model_copy(update={"by": None}) if one.by == editor else one for one in memory.history)
        if history != memory.history:
            changed.append(memory.model_copy(update={"history": history}))
    vectors = recall.vectors(changed) if changed else []
    recall.store.put(list(zip(changed, vectors, strict=True)), in_place=True)
