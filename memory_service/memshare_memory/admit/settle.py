"""Settle: a graded pair becomes a memory, once, if it is good enough."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.delivery.hops import NextMessage
from memshare_broker.delivery.stage import Outcome
from memshare_broker.observe.logs import ids
from memshare_broker.wire.grades import GradedTask, MemoriesCredited, Settlement, VerdictTask
from memshare_broker.wire.messages import AnsweredTask, Shown
from memshare_memory.admit.after import Admitted, after_admission
from memshare_memory.admit.crediting import Credited, Crediting, of_own_pool
from memshare_memory.admit.learnt import Kept, keep_learnt
from memshare_memory.admit.lessons import Lessons, for_evidence
from memshare_memory.admit.parts import parts_among
from memshare_memory.admit.regrade import regrade
from memshare_memory.admit.same_saying import is_a_persons, same_in_pool, that_stands, why_it_stands
from memshare_memory.admit.seeds import note_seeds
from memshare_memory.forget.take_out import TakeOut
from memshare_memory.memory import Memory, Status, memory_id, saying
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.bandit_arms import KEEP_MARKER_DAYS
from memshare_memory.recall.credibility_ranking import CredibilityRanking
from memshare_memory.recall.lift import LiftSums
from memshare_memory.recall.recall import Recall, sparse_of
from memshare_memory.stores.store import Store, Vectors, Where

log = logging.getLogger(__name__)


def memory_of(graded: GradedTask, created: float, status: Status = "active", learnt: Sequence[UUID] = ()) -> Memory:
    """The memory that a graded pair would become: a seed as one that a person brought in, of no task."""
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


class SettleStage:
    """The stage's work. One pair of a pool is settled at a time, so that no two miss each other."""

    def __init__(
        self,
        pool: Pool,
        client: redis.Redis,
        lessons: Lessons,
        *,
        keep_days: float = KEEP_MARKER_DAYS,
        concepts: bool = False,
    ) -> None:
        """With `concepts`, those of what is stored are asked for."""
        self._pool = pool
        self._client = client
        self._crediting = Crediting(client, keep_days, learn=lessons.learn)
        self._lift = LiftSums(client, keep_days)
        self._after = after_admission(client, lessons, concepts=concepts)
        self._take_out = TakeOut(client)
        self._ranking = CredibilityRanking(client)
        self._concepts = concepts
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def run(self, journey: str, graded: GradedTask) -> Outcome:
        """Store the pair, or say why not; what is stored may become a lesson for the retriever."""
        task = graded.task
        if task.regrades is not None:
            return regrade(self._pool, self._client, graded, task.regrades)
        if not task.remember:
            reason = "the task was submitted with remember=false: it was graded, and that is all"
            return Outcome(Settlement(memory_id=None, outcome="not kept", reason=reason), ended="not kept")
        recall = self._pool()
        task = of_own_pool(recall, task)
        graded = graded.model_copy(update={"task": task})
        # What a sub-question was answered from was credited by its verdict.
        credited = self._crediting.graded(recall, journey, graded) if task.part_of is None else Credited([])
        shown = credited.memories
        if task.randomized:
            self._count_lift(recall.store, journey, graded, shown)
        outcome = self._keep(recall, journey, graded)
        self._ranking.note(self._pool().store, {memory.id for memory in shown})
        learn = for_evidence(task, recall, credited.evidence)
        if learn is None or any(one.hop is learn.hop for one in outcome.followings):
            return outcome
        return outcome._replace(following=(*outcome.followings, learn))

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

    def _count_lift(self, store: Store, journey: str, graded: GradedTask, shown: Sequence[Memory]) -> None:
        """Count the task in the lift of the memories that are still there: those shown, or the one withheld."""
        task = graded.task
        counted = shown if task.withheld is None else store.page(Where(ids=[task.withheld.id]), 1).memories
        ids_of = [memory.id for memory in counted]
        self._lift.count(task.pool, journey, graded.score.total, ids_of, withheld=task.withheld is not None)

    def _keep_learnt(self, task: AnsweredTask) -> Kept:
        """What its sources taught is kept whatever the answer's grade: it was checked with the answer."""
        if not task.learnt:
            return Kept((), ())
        with self._turns[task.pool], self._pool.writing(alone_in=task.pool) as recall:
            return keep_learnt(recall, self._client, task, concepts=self._concepts)

    def credit(self, task: VerdictTask) -> Outcome:
        """Credit the memories of answers that were found right or wrong."""
        recall = self._pool()
        task = of_own_pool(recall, task)
        credited = self._crediting.judged(recall, task)
        self._ranking.note(recall.store, {one.id for answer in task.answers for one in answer.shown})
        learn = for_evidence(task, recall, credited.evidence)
        return Outcome(MemoriesCredited(memories=len(credited.memories)), learn)

    def _remember(
        self,
        recall: Recall,
        graded: GradedTask,
        vector: NDArray[np.float32],
        learnt: Sequence[UUID],
    ) -> tuple[Settlement, tuple[NextMessage, ...]]:
        store, task = recall.store, graded.task
        shown = store.page(Where(ids=[one.id for one in task.shown]), len(task.shown)).memories if task.shown else []
        stale = outdated(store, task.pool, task.shown, shown)
        memory = memory_of(graded, time.time(), "stale" if stale else "active", learnt)
        # A task that is settled again is no rival of itself, unless a person has changed what it became.
        rivals = [
            rival
            for rival in same_in_pool(store, memory, vector)
            if rival.task_id != memory.task_id or is_a_persons(rival)
        ]
        rival = that_stands(memory, rivals)
        if rival:
            if task.seed:
                note_seeds(self._client, store, there=[rival])  # by a run that was killed it may not have been noted
            return Settlement(memory_id=rival.id, outcome="duplicate", reason=why_it_stands(rival)), ()
        new = Admitted(memory, vector, recall, task)
        following = tuple(message for follow in self._after for message in follow(new))
        others = [rival for rival in rivals if rival.id != memory.id]
        self._take_out.put_in_trash(others, {})
        store.put([(memory, Vectors(vector, sparse_of(memory)))])
        self._take_out.remove(store, others)
        note_seeds(self._client, store, there=[memory], gone=rivals)
        outcome: Literal["stored", "replaced"] = "stored"
        reason = "it is good enough"
        if stale:
            reason = f"{stale}, so this answer is stale: it is shown once it was graded again or a person kept it"
        elif rivals:
            outcome = "replaced"
            reason = f"it is better than the same answer with a score of {rivals[0].score or 0:.1f}"
        settlement = Settlement(memory_id=memory.id, outcome=outcome, reason=reason, parts=parts_among(following))
        return settlement, following


def outdated(store: Store, pool: str, shown: Sequence[Shown], there: Sequence[Memory]) -> str | None:
    """Why what was written from these memories is stale; None where nothing has become of them. `there` are those left.

    It is where one is stale itself or was forgotten, and where a statement says something else. One in whose place
    the pool has a better pair with the same answer was not forgotten.
    """
    left = {memory.id: memory for memory in there}
    for one in shown:
        memory = left.get(one.id)
        if memory is None:
            if one.said is not None and not store.page(Where(pool=pool, saying=one.said), 1).memories:
                return f"the memory {one.id} was forgotten after it was shown"
        elif memory.status == "stale":
            return f"the memory {one.id} has become stale since it was shown"
        elif memory.is_statement and one.said not in (None, saying(memory.answer)):
            return f"the memory {one.id} was changed after it was shown"
    return None
