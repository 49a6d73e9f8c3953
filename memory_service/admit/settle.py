"""Settle: a graded pair becomes a memory, once, if it is good enough."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare.broker.delivery.stage import Following, Outcome
from memshare.broker.observe.logs import ids
from memshare.broker.wire.grades import GradedTask, Settlement, VerdictTask
from memshare.broker.wire.messages import AnsweredTask
from memshare.memory_service.admit.asked_concepts import extraction
from memshare.memory_service.admit.comparisons import comparison, rivals_of
from memshare.memory_service.admit.crediting import Crediting
from memshare.memory_service.admit.learnt import Kept, keep_learnt
from memshare.memory_service.admit.lessons import Lessons
from memshare.memory_service.admit.outdated import outdated
from memshare.memory_service.admit.parts import gradings
from memshare.memory_service.admit.probation import vouched
from memshare.memory_service.admit.regrade import regrade
from memshare.memory_service.admit.seeds import note_seeds
from memshare.memory_service.memory import SHOWN, Memory, Status, memory_id, saying
from memshare.memory_service.pool.pool import Pool
from memshare.memory_service.recall.bandit_arms import KEEP_MARKER_DAYS
from memshare.memory_service.recall.conflicts import Conflicts
from memshare.memory_service.recall.credibility_ranking import CredibilityRanking
from memshare.memory_service.recall.recall import Recall, sparse_of
from memshare.memory_service.stores.store import Store, Vectors, Where

log = logging.getLogger(__name__)

NEAR_DUPLICATE = 0.98  # cosine of the prompts
SAME_ANSWERS = 10  # of the pool, nearest prompt first
ALONE_FOR = 5.0  # seconds for which it is known whether a pool has memories of other submitters


def memory_of(graded: GradedTask, created: float, status: Status = "active", learnt: Sequence[UUID] = ()) -> Memory:
    """The memory that a graded pair would become: a seed as one that a person brought in, trusted and of no task."""
    task, score = graded.task, graded.score
    return Memory(
        id=memory_id(task.pool, task.prompt, task.answer),
        pool=task.pool,
        prompt=task.prompt,
        answer=task.answer,
        agent=task.agent,
        kind=task.kind,
        submitter=task.submitter,
        model=task.model,
        score=score.total,
        criteria=score.criteria,
        rubric_version=score.rubric_version,
        task_id=None if task.seed else task.journey,
        parents=(*(shown.id for shown in task.shown), *learnt),
        created=created,
        status="active" if task.seed else status,
    )


def better_rival(memory: Memory, rivals: Sequence[Memory]) -> Memory | None:
    """The best of the pool's memories that say the same, if it is at least as good as the new one.

    One that a person has hidden counts as better than any: it is not to come back. A stale one is worse than any.
    """
    able = [rival for rival in rivals if rival.status != "stale"]
    best = max(able, key=lambda rival: (rival.status == "hidden", rival.score or 0), default=None)
    wins = best and (best.status == "hidden" or memory.status == "stale" or (best.score or 0) >= (memory.score or 0))
    return best if wins else None


class Settle:
    """The stage's work. One pair of a pool is settled at a time, so that no two miss each other."""

    def __init__(
        self,
        pool: Pool,
        client: redis.Redis,
        lessons: Lessons,
        *,
        probation: bool = True,
        keep_days: float = KEEP_MARKER_DAYS,
        concepts: bool = False,
    ) -> None:
        """With `concepts`, those of what is stored are asked for."""
        self._pool = pool
        self._status: Status = "probation" if probation else "active"
        self._client = client
        self._crediting = Crediting(client, keep_days)
        self._conflicts = Conflicts(client)
        self._ranking = CredibilityRanking(client)
        self._lessons = lessons
        self._concepts = concepts
        self._alone: dict[tuple[str, str], tuple[bool, float]] = {}
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def run(self, journey: str, graded: GradedTask) -> Outcome:
        """Store the pair, or say why not; what is stored may become a lesson for the retriever."""
        task = graded.task
        if task.regrades is not None:
            return regrade(self._pool, self._client, graded, task.regrades, self._status)
        if not task.remember:
            reason = "the task was submitted with remember=false: it was graded, and that is all"
            return Outcome(Settlement(memory_id=None, outcome="not kept", reason=reason), ended="not kept")
        recall = self._pool()
        # What a sub-question was answered from is credited with the whole answer.
        shown = self._crediting.graded(recall, journey, graded) if task.part_of is None else []
        outcome = self._keep(recall, journey, graded)
        self._ranking.note(self._pool().store, {memory.id for memory in shown})
        return outcome

    def _keep(self, recall: Recall, journey: str, graded: GradedTask) -> Outcome:
        task, score = graded.task, graded.score
        kept = self._keep_learnt(task)
        learnt = tuple(memory.id for memory in kept.memories)
        if not score.accepted:
            reason = f"its score {score.total:.1f} is below the threshold {score.threshold:.1f}"
            settlement = Settlement(memory_id=None, outcome="rejected", reason=reason, learnt=learnt)
            return Outcome(settlement, kept.following, ended="rejected")
        vector = recall.vector(task.embedding, task.prompt)  # before the gate, for others wait for who is inside
        # The threads of a process wait for each other without polling Redis.
        with self._turns[task.pool], self._pool.writing(alone_in=task.pool) as current:
            if current.encoder_name != recall.encoder_name:
                vector = current.vector(task.embedding, task.prompt)
            settlement, following = self._remember(current, graded, vector, learnt)
        about = ids(task_id=journey, memory_id=settlement.memory_id, agent=task.agent, pool=task.pool)
        log.info("Settled: %s.", settlement.outcome, extra=about)
        return Outcome(
            settlement.model_copy(update={"learnt": learnt}), (*following, *kept.following), settlement.outcome
        )

    def _keep_learnt(self, task: AnsweredTask) -> Kept:
        """What its sources taught is kept whatever the answer's grade: it was checked with the answer."""
        if not task.learnt:
            return Kept((), ())
        with self._turns[task.pool], self._pool.writing(alone_in=task.pool) as recall:
            return keep_learnt(recall, self._client, task, self._status, concepts=self._concepts)

    def credit(self, task: VerdictTask) -> int:
        """Credit the memories of an answer that was found right or wrong; returns how many were credited."""
        credited = self._crediting.judged(self._pool(), task)
        self._ranking.note(self._pool().store, {one.id for one in task.shown})
        return credited

    def _remember(
        self,
        recall: Recall,
        graded: GradedTask,
        vector: NDArray[np.float32],
        learnt: Sequence[UUID],
    ) -> tuple[Settlement, tuple[Following, ...]]:
        store, task = recall.store, graded.task
        shown = store.page(Where(ids=[one.id for one in task.shown]), len(task.shown)).memories if task.shown else []
        on_probation = [memory for memory in shown if memory.status == "probation"]
        if task.part_of is None:
            self._vouch(store, task, on_probation)
        stale = outdated(store, task.pool, task.shown, shown)
        # A sub-question is trusted no sooner than the answer that it was a part of.
        status: Status = "stale" if stale else "probation" if task.part_of and on_probation else self._status
        memory = memory_of(graded, time.time(), status, learnt)
        same = store.search(Where(pool=memory.pool, saying=saying(memory.answer)), SAME_ANSWERS, dense=vector)
        near = [hit.memory for hit in same if hit.similarity >= NEAR_DUPLICATE]
        # A task that is settled again is no rival of itself; a seed that is there is one, and changes nothing.
        rivals = [rival for rival in near if task.seed or rival.task_id != memory.task_id]
        rival = better_rival(memory, rivals)
        if rival:
            if task.seed:
                note_seeds(self._client, store, there=[rival])  # by a run that was killed it may not have been noted
            reason = f"the pool has it already, with a score of {rival.score or 0:.1f}"
            return Settlement(memory_id=rival.id, outcome="duplicate", reason=reason), ()
        lesson = None if stale else self._lessons.following(task.journey, recall, memory, vector)
        store.put([(memory, Vectors(vector, sparse_of(memory)))])
        store.delete([rival.id for rival in rivals if rival.id != memory.id])
        note_seeds(self._client, store, there=[memory], gone=rivals)
        asked = (extraction(memory, task.journey),) if self._concepts else ()
        if stale:
            reason = f"{stale}, so this answer is stale: it is shown once it was graded again or a person kept it"
            return Settlement(memory_id=memory.id, outcome="stored", reason=reason), asked
        others = rivals_of(store, self._conflicts, memory, vector)
        compared = comparison(task.journey, memory, others) if others else None
        parts = gradings(task, memory)
        following = (*(one for one in (lesson, compared) if one is not None), *asked, *parts.values())
        settlement = Settlement(
            memory_id=memory.id,
            outcome="stored",
            reason="it is good enough",
            parts={becomes: UUID(message.journey) for becomes, message in parts.items()},
        )
        if rivals:
            reason = f"it is better than the same answer with a score of {rivals[0].score or 0:.1f}"
            settlement = settlement.model_copy(update={"outcome": "replaced", "reason": reason})
        return settlement, following

    def _vouch(self, store: Store, task: AnsweredTask, on_probation: Sequence[Memory]) -> None:
        """Let an accepted task speak for the memories on probation that it was shown."""
        judged: dict[UUID, Memory] = {}
        for before in on_probation:
            own = task.submitter == before.submitter
            memory = vouched(before, task, alone=own and self._is_alone(store, before.pool, before.submitter))
            if memory != before:
                judged[memory.id] = memory
                log.info("Vouched for, now %s.", memory.status, extra=ids(task_id=task.journey, memory_id=memory.id))
        vectors = store.dense_of(list(judged)) if judged else {}
        pairs = [(judged[one], Vectors(dense, sparse_of(judged[one]))) for one, dense in vectors.items()]
        store.put(pairs, in_place=True)

    def _is_alone(self, store: Store, pool: str, submitter: str) -> bool:
        """Whether nobody else's tasks made a memory that a pool shows; asked anew every few seconds.

        What people brought in, such as seeds, was submitted by nobody who could vouch.
        """
        known = self._alone.get((pool, submitter))
        if known is None or time.monotonic() > known[1]:
            where = Where(pool=pool, status=SHOWN, submitter_not=[submitter], with_task=True)
            others = store.page(where, 1).memories
            known = self._alone[pool, submitter] = (not others, time.monotonic() + ALONE_FOR)
        return known[0]
