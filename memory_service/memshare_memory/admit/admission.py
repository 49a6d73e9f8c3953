"""Admits a good pair to its pool as a memory, unless the pool has the same and it stays in its place."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.delivery.hops import COMPARE, NextMessage
from memshare_broker.delivery.journey_records import OPINION, noted
from memshare_broker.observe.logs import ids
from memshare_broker.settings import PROMPT_LIMIT
from memshare_broker.wire.grades import GradedTask, Opinion, Settlement
from memshare_broker.wire.messages import AgentPair, AnsweredTask, Learnt, PartPair, Shown, derived_id
from memshare_memory.admit.after import Admitted, After, after_written, parts_among
from memshare_memory.admit.followed import that_count
from memshare_memory.admit.seeds import note_seeds
from memshare_memory.contradictions import Conflicts
from memshare_memory.memory import KNOWLEDGE, Became, Cause, Memory, memory_id, said, saying, sayings
from memshare_memory.people import called_wrong, each_barred
from memshare_memory.recall.recall import Recall, sparse_of
from memshare_memory.stores.store import Store, Vectors, Where, by_ids, search_one
from memshare_memory.trash import Trash

log = logging.getLogger(__name__)

SAME_STATEMENT = 0.95  # cosine of two statements from one source that say the same in other words
LOOKED_AT = 5  # statements of the pool, the nearest ones


class StoredStatements(NamedTuple):
    """The memories that the statements of a task are, and the messages that follow from the new ones."""

    memories: tuple[Memory, ...]
    following: tuple[NextMessage, ...]


def keep_learnt(
    recall: Recall, client: redis.Redis, task: AgentPair, *, concepts: bool = False, text_limit: int = PROMPT_LIMIT
) -> StoredStatements:
    """Store what a task's sources taught; what the pool knows from the same source already is that memory.

    With `concepts`, those of the new ones are asked for. What follows has a journey of its own for each. Statements of
    more than `text_limit` characters are left out, and those that a person called wrong.
    """
    new = [_statement(task, learnt) for learnt in task.learnt if len(learnt.statement) <= text_limit]
    if left_out := len(task.learnt) - len(new):
        log.warning(
            "Left out %d statements of over %d characters.", left_out, text_limit, extra=ids(task_id=task.journey)
        )
    vectors = recall.vectors(new) if new else []
    known = by_ids(recall.store, [memory.id for memory in new])
    memories, following = list[Memory](), list[NextMessage]()
    faults = each_barred(client, [(memory.answer, memory.pool, None) for memory in new], partial(recall.vector, None))
    for memory, vector, fault in zip(new, vectors, faults, strict=True):
        there = known.get(memory.id) or _told_before(recall.store, memory, vector.dense)
        if there is None and fault:
            continue
        if there is None:
            recall.store.put([(memory, vector)])
            journey = str(derived_id(task.journey, "learnt", str(memory.id)))
            following += after_written(recall, client, memory, vector.dense, journey, concepts=concepts)
        memories.append(there or memory)
    return StoredStatements(tuple(memories), tuple(following))


def _statement(task: AnsweredTask, learnt: Learnt) -> Memory:
    known = {"kind": KNOWLEDGE, "task_id": task.journey, "source": learnt.source, "parents": learnt.parents}
    return _memory_of(task, None, learnt.statement, created=learnt.read, **known)


def _memory_of(task: AnsweredTask, prompt: str | None, answer: str, **known: Any) -> Memory:
    """A memory of what a task said, with what is `known` of it beside."""
    of_task = task.model_dump(include={"pool", "agent", "kind", "submitter", "model"})
    return Memory(id=memory_id(task.pool, prompt, answer), prompt=prompt, answer=answer, **of_task | known)


def _told_before(store: Store, memory: Memory, vector: NDArray[np.float32]) -> Memory | None:
    """Memory of the pool from the same source that says nearly the same, even if a person has hidden it."""
    near = search_one(store, Where(pool=memory.pool, kind=KNOWLEDGE), LOOKED_AT, dense=vector)
    same = [hit for hit in near if hit.memory.source == memory.source and hit.similarity >= SAME_STATEMENT]
    return same[0].memory if same else None


NEAR_DUPLICATE = 0.98  # cosine of the prompts
SAME_ANSWERS = 10  # of the pool, nearest prompt first


class Admission:
    """Lets pairs into pools; what follows each is in `after`."""

    def __init__(self, client: redis.Redis, after: Sequence[After]) -> None:
        self._client = client
        self._after = after
        self._conflicts = Conflicts(client)
        self._trash = Trash(client)

    def admit(
        self,
        recall: Recall,
        graded: GradedTask,
        vector: NDArray[np.float32],
        masked: NDArray[np.float32],
        learnt: Sequence[UUID],
    ) -> tuple[Settlement, tuple[NextMessage, ...]]:
        """Store the memory that an accepted pair is, and say what follows; or say which memory stands in its place.

        Its prompt has this `vector`, and without names and numbers the one `masked`, each of shape (dimension,).
        `learnt` are the statements that its sources taught. Nobody else may write to the pool meanwhile.
        """
        # 1. Does it rest on what has changed?
        store, task = recall.store, graded.task
        own = memory_id(task.pool, task.prompt, task.answer)
        named = {own, *(one.id for one in task.shown)}
        there = list(by_ids(store, named).values())
        named_now = {memory.id: memory for memory in there}
        is_part = isinstance(task, PartPair)
        counting = that_count(task.answer, task.prompt, {one.id: one for one in task.shown}, named_now)
        used = [one for one in task.shown if is_part or one.id in counting]
        wrong = {one for pool in task.pools for one in self._conflicts.wrong(pool, [each.id for each in used])}
        hidden = [named_now[one.id] for one in used if one.id in named_now and named_now[one.id].status == "hidden"]
        wrong |= {one.id for one in hidden if called_wrong(self._client, one)}
        stale, because = outdated(store, task.pool, task.shown, there, wrong, {one.id for one in used})
        parents = (*(one.id for one in used), *learnt)
        memory = memory_of(graded, time.time(), because if stale else None, parents)

        # 2. Does the pool have it? A task that is settled again is no rival of itself, unless a person has changed what
        # it became.
        rivals = [
            rival
            for rival in same_in_pool(store, memory, vector, there, by_program=graded.score.by_program)
            if rival.task_id != memory.task_id or is_a_persons(rival)
        ]
        standing = that_stands(memory, rivals, self._conflicts.wrong(task.pool, [rival.id for rival in rivals]))
        if standing:
            if memory.task_id is None:
                note_seeds(self._client, store, there=[standing])  # a run that was killed may not have noted it
            return Settlement(memory_id=standing.id, outcome="duplicate", reason=why_it_stands(standing)), ()

        # 3. What follows from it is found before it is in the pool itself.
        following = tuple(
            message for follow in self._after for message in follow(Admitted(memory, vector, recall, task))
        )

        # 4. It takes the place of what said the same.
        others = [rival for rival in rivals if rival.id != memory.id]
        self._trash.take(others, {})
        is_new = all(one.id != memory.id for one in there)
        vectors = Vectors(vector, sparse_of(memory), masked)
        store.put([(memory, vectors)], are_new=is_new)
        self._trash.remove(store, others)
        note_seeds(self._client, store, there=[memory], gone=rivals)
        if self._is_wrong(task):  # looked for once it is there, so that of what is said meanwhile nothing is missed
            store.put([(memory.model_copy(update={"status": "hidden"}), vectors)], in_place=True)
            reason = "it is good enough, and hidden, for it was said to be wrong"
            return Settlement(memory_id=memory.id, outcome="stored", reason=reason), ()
        outcome: Literal["stored", "replaced"] = "stored"
        reason = "it is good enough"
        is_compared = any(one.hop is COMPARE or getattr(one.body, "rivals", ()) for one in following)
        if is_compared and recall.is_unproven(memory):
            reason += "; beside what is proven on the same question it is shown once it was compared with that"
        if stale:
            reason = f"{stale}, so this answer is stale: it is shown once a person or a grade that knows that kept it"
        elif rivals:
            outcome = "replaced"
            reason = f"it is better than the same answer with a score of {rivals[0].score or 0:.1f}"
        return Settlement(memory_id=memory.id, outcome=outcome, reason=reason, parts=parts_among(following)), following

    def _is_wrong(self, task: AnsweredTask) -> bool:
        """True if somebody who may hide what an answer becomes has said already that it is wrong."""
        said = noted(self._client, task.journey, OPINION)
        return said is not None and Opinion.model_validate(said).hides


def memory_of(
    graded: GradedTask, created: float, because: Sequence[Cause] | None = None, parents: Sequence[UUID] = ()
) -> Memory:
    """The memory that a graded pair would become; with `because` it is stale."""
    task, score = graded.task, graded.score
    return _memory_of(
        task,
        task.prompt,
        task.answer,
        score=score.total,
        criteria=score.criteria,
        rubric_version=score.rubric_version,
        task_id=task.task_id,
        parents=tuple(parents),
        created=created,
        status="active" if because is None else "stale",
        because=tuple(because or ()),
    )


def same_in_pool(
    store: Store, memory: Memory, vector: NDArray[np.float32], there: Sequence[Memory], *, by_program: bool
) -> list[Memory]:
    """The memories with the same answer to the same prompt, and what has the new one's id, whatever it says by now.

    `there` is among others what has that id.
    """
    same = search_one(store, Where(pool=memory.pool, saying=sayings(memory.answer)), SAME_ANSWERS, dense=vector)
    own = said(memory.answer, by_program=by_program)
    near = [hit.memory for hit in same if hit.similarity >= NEAR_DUPLICATE]
    found = {one.id: one for one in near if said(one.answer, by_program=by_program) == own}
    found |= {one.id: one for one in there if one.id == memory.id}
    return list(found.values())


def that_stands(memory: Memory, rivals: Sequence[Memory], wrong: Collection[UUID] = ()) -> Memory | None:
    """The one of some memories that say the same which stays in place of the new one, if one does.

    What others submitted stays, and what a person has brought in, changed, hidden or found `wrong`. Of the submitter's
    own the best stays, if it is at least as good; a stale one is worse than any.
    """
    staying = [one for one in rivals if one.submitter != memory.submitter or one.id in wrong or is_a_persons(one)]
    if staying:
        return max(staying, key=lambda rival: rival.score or 0)
    able = [rival for rival in rivals if rival.status != "stale"]
    best = max(able, key=lambda rival: rival.score or 0, default=None)
    is_as_good = best is not None and (memory.status == "stale" or (best.score or 0) >= (memory.score or 0))
    return best if is_as_good else None


def is_a_persons(memory: Memory) -> bool:
    """True if a person brought it in, changed or hid it, or found its source wrong: no task takes its place."""
    is_decided = memory.status == "hidden" or is_stale_as(memory, "found wrong")
    return memory.task_id is None or memory.score is None or bool(memory.history) or is_decided


def is_stale_as(memory: Memory, *became: Became) -> bool:
    """True if it is stale as one of these became of what it was written from."""
    return memory.status == "stale" and any(cause.became in became for cause in memory.because)


def why_it_stands(rival: Memory) -> str:
    """Reason why the rival stays, for the journey of the new memory."""
    graded = f", with a score of {rival.score:.1f}" if rival.score is not None else ", from a person"
    is_not_shown = "" if rival.status == "active" else f"; it is {rival.status}"
    return f"the pool has it already{graded}{is_not_shown}"


def outdated(
    store: Store,
    pool: str,
    shown: Sequence[Shown],
    there: Sequence[Memory],
    wrong: Collection[UUID],
    used: Collection[UUID] = (),
) -> tuple[str, tuple[Cause, ...]]:
    """Why what was written from these memories is stale, in words and by its causes; no words where it is not.

    It is where one is stale itself, was forgotten or found `wrong`, and where a statement, or a pair that is `used`,
    says something else. `there` are those left. One in whose place the pool has a better pair with the same answer was
    not forgotten.
    """
    left = {memory.id: memory for memory in there}
    why, causes = "", dict[Cause, None]()
    for one in shown:
        memory = left.get(one.id)
        became: Became | None = None
        if memory is None:
            if one.said is not None and not store.page(Where(pool=pool, saying=one.said), 1).memories:
                became = "forgotten"
        elif memory.status == "stale":
            why = why or f"the memory {one.id} has become stale since it was shown"
            causes |= dict.fromkeys(memory.because)
        elif (memory.is_statement or one.id in used) and one.said not in (None, saying(memory.answer)):
            became = "changed"
        elif one.id in wrong:
            became = "found wrong"
        if became:
            why = why or f"the memory {one.id} was {became} after it was shown"
            causes[Cause(memory=one.id, became=became, at=time.time())] = None
    return why, tuple(causes)
