"""Forgetting: memories go into the trash, come back out of it, or are purged for good.

With a purge go the records in Redis about memories beside the pool: traces, results, dead letters, outcomes and counts.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import redis
from redis.exceptions import ResponseError

from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import derived_id
from memshare_memory.admit.after import after_return
from memshare_memory.admit.asked_concepts import extraction, needing
from memshare_memory.admit.seeds import note_seeds
from memshare_memory.admit.stale import Derived, children_of
from memshare_memory.belief.bandit import BANDIT, Bandit, GivenCredit, less
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.belief.promotions import Promotions
from memshare_memory.contradictions import Send
from memshare_memory.curate.curate import write
from memshare_memory.curate.requests import (
    FilesRewritten,
    Forget,
    ForgetPreview,
    Purged,
    RestoredMemories,
    RestoreForgotten,
    TrashPage,
    TrashRequest,
)
from memshare_memory.curate.traces import remove_traces
from memshare_memory.memory import ForgottenMemory, Memory
from memshare_memory.people import (
    drop_decisions,
    drop_questions,
    drop_summaries,
    forget_decider,
    is_called_wrong,
)
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.open_store import rewrite_files
from memshare_memory.stores.store import Store, Where, by_ids, every
from memshare_memory.trash import Trash, Worths


@dataclass(frozen=True)
class Selection:
    """The memories that are meant, by id."""

    there: dict[UUID, Memory]  # memories in the pool
    trashed: dict[UUID, Memory]  # memories in the trash
    unreadable: list[UUID]  # ids that were asked for, of points of the pool that cannot be read as memories
    unknown: list[UUID]  # ids that were asked for and that the pool does not have; the trash has them
    derived: int  # how many of all these were derived from those asked for

    @classmethod
    def find(cls, store: Store, trash: Trash, forget: Forget) -> Selection:
        """Raises `BadInput` for an id that neither has."""
        there = {memory.id: memory for where in _wheres(forget) for memory in every(store, where)}
        trashed = {memory.id: memory for memory in _in_trash(trash, forget)}
        absent = [one for one in dict.fromkeys(forget.ids) if one not in there]
        has_vector = store.dense_of(absent) if absent else {}
        unreadable = [one for one in absent if one in has_vector]
        unknown = [one for one in absent if one not in unreadable]
        missing = [one for one in unknown if one not in trashed]
        if missing:
            raise BadInput(f"No memory has the id {str(missing[0])!r}; nothing was forgotten.")
        asked = len(there.keys() | trashed.keys())
        if forget.with_children or forget.only_children:
            wanted = there.keys() | trashed.keys()
            _add_children(store, trash, there, trashed)
            if forget.only_children:
                there = {one: memory for one, memory in there.items() if one not in wanted}
                trashed = {one: memory for one, memory in trashed.items() if one not in wanted}
                asked, unreadable, unknown = 0, [], []
        return cls(there, trashed, unreadable, unknown, len(there.keys() | trashed.keys()) - asked)


def _add_children(store: Store, trash: Trash, there: dict[UUID, Memory], trashed: dict[UUID, Memory]) -> None:
    """All memories that were derived from these, directly or by others."""
    in_trash = [item.memory for item in trash.every()]
    fresh = [*there, *trashed]
    while fresh:
        parents, known = set(fresh), there.keys() | trashed.keys()
        children = children_of(store, fresh)
        forgotten = {memory.id: memory for memory in in_trash if parents.intersection(memory.parents)}
        there |= children
        trashed |= forgotten
        fresh = sorted((children.keys() | forgotten.keys()) - known)


def _given(forget: Forget) -> dict[str, str]:
    """The fields of memories that say which are meant."""
    wanted = {"submitter": forget.submitter, "model": forget.model, "task_id": forget.task_id}
    return {name: value for name, value in wanted.items() if value is not None}


def _wheres(forget: Forget) -> list[Where]:
    meant = [Where(ids=forget.ids)] if forget.ids else []
    meant += [Where(**{name: value}) for name, value in _given(forget).items()]  # type: ignore[arg-type]
    if not meant:
        raise BadInput("Say what to forget: ids, a submitter, a model or a task.")
    return meant


def _in_trash(trash: Trash, forget: Forget) -> list[Memory]:
    found, given = [item.memory for item in trash.read(forget.ids)], _given(forget)
    forgotten = (item.memory for item in trash.every()) if given else ()
    return found + [memory for memory in forgotten if any(getattr(memory, name) == given[name] for name in given)]


log = logging.getLogger(__name__)

LONGEST = 240.0  # seconds that Redis may take for each of its files
POLL = 0.05


def _rewrite_redis(client: redis.Redis) -> bool:
    """Have Redis write its append-only log anew, and its snapshot where it makes any; False where it does not."""
    try:
        if _state(client)["aof_enabled"]:
            client.bgrewriteaof()
            _wait(client, "aof_rewrite_in_progress", "aof_rewrite_scheduled")
            _require_ok(client, "aof_last_bgrewrite_status")
        if client.config_get("save").get("save"):
            client.bgsave()
            _wait(client, "rdb_bgsave_in_progress")
            _require_ok(client, "rdb_last_bgsave_status")
    except (ResponseError, _NotRewritten) as error:
        log.warning("Redis does not rewrite its files, which have what was purged until it does: %s", error)
        return False
    return True


class _NotRewritten(Exception):
    pass


def _state(client: redis.Redis) -> dict[str, Any]:
    return dict(client.info("persistence"))


def _wait(client: redis.Redis, *signs: str) -> None:
    deadline = time.monotonic() + LONGEST
    while any(_state(client).get(sign) for sign in signs):
        if time.monotonic() > deadline:
            raise _NotRewritten(f"it took longer than {LONGEST:.0f} s")
        time.sleep(POLL)


def _require_ok(client: redis.Redis, status: str) -> None:
    if (found := _state(client)[status]) != "ok":
        raise _NotRewritten(f"{status} is {found!r}")


EXAMPLES = 5  # memories that a preview shows


class Forgetting:
    """Takes memories out of the pool, and puts them back."""

    def __init__(
        self,
        pool: Pool,
        client: redis.Redis,
        send: Send = lambda _: None,
        bandit: Bandit = BANDIT,
        *,
        concepts: bool = False,
    ) -> None:
        """With `send`, what is shown again is compared; with `concepts`, those that are not known are asked for."""
        self._send = send
        self._concepts = concepts
        self._pool = pool
        self._client = client
        self._worths = Worths(client)
        self._trash = Trash(client)
        self._ranking = CredibilityRanking(client, bandit)
        self._given = GivenCredit(client, bandit)
        self._promotions = Promotions(client)
        self._bandit = bandit

    def preview(self, forget: Forget) -> ForgetPreview:
        """Memories that `forget` or `purge` would take; changes nothing. Raises `BadInput` for an unknown id."""
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
            shown_again = self._take_out(recall, meant, keeps=True)
        self._compare(shown_again)
        note_seeds(self._client, self._pool().store, there=(), gone=meant.there.values())
        return [*meant.there, *meant.unreadable]

    def _take_out(self, recall: Recall, meant: Selection, *, keeps: bool) -> Sequence[Memory]:
        """Take memories out of the pool, into the trash where that `keeps` them; what lost to them is shown again.

        Returns what is so that was stale.
        """
        derived, there = Derived(recall, self._client), meant.there.values()
        stale = {one.id: derived.stale_once(one, "forgotten") for one in there}
        left = {name: [one for one in some if one.id not in meant.there] for name, some in stale.items()}
        lost = self._trash.lost_to(meant.there) | self._worths.decided(recall.store, there, "right")
        if keeps:
            self._trash.take(there, left)
        derived.make_stale(one for some in left.values() for one in some)
        self._trash.remove(recall.store, there, meant.unreadable)
        derived.follow(lost.values(), lost)
        return derived.shown_again

    def follow(self, ids: Sequence[UUID]) -> None:
        """Let what was written from memories in the trash be stale where these are called wrong, and no more once they
        are not."""
        if not any(self._trash.read(ids)):
            return
        with self._pool.writing() as recall:
            derived, there = Derived(recall, self._client), by_ids(recall.store, ids)
            for item in (each for each in self._trash.read(ids) if each.memory.id not in there):
                if is_called_wrong(self._client, item.memory):
                    derived.make_stale(derived.stale_once(item.memory, "found wrong"))
                elif not item.wrong:
                    derived.free(item.memory, "found wrong")
        self._compare(derived.shown_again)

    def _compare(self, shown_again: Sequence[Memory]) -> None:
        """Have memories that are shown again compared with what came meanwhile."""
        self._send(after_return(self._pool().store, self._client, shown_again))

    def trash(self, request: TrashRequest) -> TrashPage:
        """Memories in the trash that match the request."""
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
        """Take memories back out of the trash: their text, score, status and credibility are as they were.

        But for what was said of them, their copies and their sources meanwhile: it is as if they had been there.
        """
        found, store = self._asked_for(request), self._pool().store
        pool_has = by_ids(store, found.keys())
        back = {one: self._trash.as_known(store, item) for one, item in found.items() if one not in pool_has}
        came = {one: item.back(is_wrong=is_called_wrong(self._client, item.memory)) for one, item in back.items()}
        write(self._pool, self._client, [*came.values()])
        with self._pool.writing() as recall:
            lost = by_ids(recall.store, {one for item in back.values() for one in item.right})
            were_wrong = {one.id for one in lost.values() if self._worths.is_wrong(one)}
            were_wrong |= {one for one, item in back.items() if item.wrong or item.is_called_wrong}
            derived = Derived(recall, self._client)
            for one, item in back.items():
                lost |= {copy.id: copy for copy in self._worths.put_back(recall.store, came[one], item)}
                recall.rewrite(self._worths.decided_then(recall.store, item))
                self._trash.tell_rivals(item)
            lost |= self._trash.lost_to(back)
            stale = by_ids(recall.store, {one for item in back.values() for one in item.made_stale})
            derived.no_longer_stale(stale.values(), back, "forgotten")
            derived.follow((lost | came).values(), were_wrong, is_back=True)
        self._ranking.note(self._pool().store, back.keys())
        self._compare([*came.values(), *derived.shown_again])
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
            shown_again = self._take_out(recall, meant, keeps=False)
            self._trash.drop([*meant.there, *meant.trashed])
            self._promotions.drop([*meant.there, *meant.trashed], purged=True)
            if forget.submitter is not None:
                _unname(recall, forget.submitter)
                self._promotions.take_back(forget.submitter, self._given.credited_by(forget.submitter))
                self._given.forget(forget.submitter)
                forget_decider(self._client, forget.submitter)
        self._compare(shown_again)
        memories = {**meant.trashed, **meant.there}
        ids, store = (*memories, *meant.unreadable), self._pool().store
        drop_questions(self._client, memories)
        drop_summaries(self._client, ids, "members")
        drop_decisions(self._client, store, memories.values())
        note_seeds(self._client, store, there=(), gone=memories.values())
        tasks = {memory.task_id for memory in memories.values() if memory.task_id is not None}
        return remove_traces(self._client, ids, tasks, forget.submitter)

    def rewrite(self) -> FilesRewritten:
        """Rewrite the files of pool and Redis, which have what was purged until then; return when that is done."""
        copies = rewrite_files(self._pool().store)
        return FilesRewritten(pool=copies is not None, redis=_rewrite_redis(self._client), copies=copies or ())

    def _ask_for_concepts(self, found: Mapping[UUID, ForgottenMemory]) -> None:
        """In a journey of this return: the message that asked before has ended, as the memory was gone."""
        if self._concepts:
            wanted = needing(self._pool().store, [item.memory for item in found.values()])
            journeys = {one.id: derived_id("restored", str(one.id), repr(found[one.id].forgotten)) for one in wanted}
            self._send([extraction(memory, str(journeys[memory.id])) for memory in wanted])

    def _take_credit_back(self, submitter: str) -> None:
        """From the memories of the pool, and from those in the trash, too."""
        credited = self._given.credited_by(submitter)
        self._promotions.take_back(submitter, credited)
        self._given.take_back(submitter)
        self._ranking.note(self._pool().store, credited)
        items = [one for one in self._trash.every() if one.arm is not None and submitter in one.given]
        for item in items:
            left = {name: sums for name, sums in item.given.items() if name != submitter}
            arm = less(item.arm or "", item.given[submitter], self._bandit)
            self._trash.put([item.model_copy(update={"arm": arm, "given": left})])

    def _asked_for(self, request: RestoreForgotten) -> dict[UUID, ForgottenMemory]:
        every = self._trash.every() if request.submitter is not None else ()
        items = [item for item in every if item.memory.submitter == request.submitter]
        found = {item.memory.id: item for item in (*self._trash.read(request.ids), *items)}
        missing = [one for one in request.ids if one not in found]
        if missing:
            raise BadInput(f"The trash has no memory {str(missing[0])!r}. `memshare memories trash` shows what it has.")
        if not request.ids and request.submitter is None:
            raise BadInput("Say what to restore: ids, or a submitter.")
        return found


def _unname(recall: Recall, editor: str) -> None:
    """The memories that a purged person changed or approved stay as they are; by whom is not known any more."""
    changed = []
    for memory in every(recall.store, Where()):
        history = tuple(one.model_copy(update={"by": None}) if one.by == editor else one for one in memory.history)
        origin = memory.origin
        if origin is not None and origin.approved_by == editor:
            origin = origin.model_copy(update={"approved_by": None})
        if (history, origin) != (memory.history, memory.origin):
            changed.append(memory.model_copy(update={"history": history, "origin": origin}))
    vectors = recall.vectors(changed) if changed else []
    recall.store.put(list(zip(changed, vectors, strict=True)), in_place=True)
