"""Settle: what was shown is credited, and a graded pair becomes a memory, once, if it is good enough."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from uuid import UUID

import redis

from memshare_broker.delivery.hops import LEARN, NextMessage
from memshare_broker.delivery.journey_records import OPINION, ask_noted, note_unremembered, unpack
from memshare_broker.delivery.stage import Outcome
from memshare_broker.observe.logs import ids
from memshare_broker.settings import PROMPT_LIMIT
from memshare_broker.wire.grades import GradedTask, MemoriesCredited, Score, Settlement, SettlementOutcome, VerdictTask
from memshare_broker.wire.messages import AgentPair, AnsweredTask, PartPair, RegradePair, derived_id
from memshare_memory.admit.admission import Admission, StoredStatements, is_stale_as, keep_learnt
from memshare_memory.admit.after import Lessons, after_admission, after_return, after_written, for_evidence
from memshare_memory.admit.crediting import (
    Credited,
    Crediting,
    followed_most,
    is_from_outside,
    of_own_pool,
    that_helped,
)
from memshare_memory.admit.seeds import note_seeds
from memshare_memory.belief.bandit import BANDIT, KEEP_MARKER_DAYS, Bandit
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.belief.lift import HowMany, LiftSums, tries_of
from memshare_memory.belief.promotions import BY_RULE, Promotions, Proposal, note_used, promoted
from memshare_memory.memory import KNEW_BETTER, Memory, memory_id
from memshare_memory.people import each_barred, least_alike, wrong_prompts
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.near_enough import HelpedFrom
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Store, by_ids
from memshare_memory.trash import ask_items, by_pool, read_items

log = logging.getLogger(__name__)
UNDECIDED = 0.5  # a verdict that is neither good nor bad
CONFIRMED_EVERY = 86_400.0  # seconds; a memory that says when is written anew


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
        text_limit: int = PROMPT_LIMIT,
        bandit: Bandit = BANDIT,
    ) -> None:
        """With `concepts`, those of what is stored are asked for. No longer text than `text_limit` is stored."""
        self._pool = pool
        self._client = client
        self._crediting = Crediting(client, keep_days, bandit, learn=lessons.learn)
        self._lift = LiftSums(client, keep_days)
        self._how_many = HowMany(client, keep_days)
        self._helped = HelpedFrom(client, keep_days)
        self._promotions = Promotions(client)
        self._admission = Admission(client, after_admission(client, lessons, concepts=concepts))
        self._ranking = CredibilityRanking(client, bandit)
        self._concepts = concepts
        self._text_limit = text_limit
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def run(self, journey: str, graded: GradedTask) -> Outcome:
        """Store the pair, or say why not; what is stored may become a lesson for the retriever."""
        if isinstance(graded.task, RegradePair):
            return _regrade(journey, self._pool, self._client, graded.task, graded.score)
        if not graded.task.remember:
            note_unremembered(self._client, graded.task.agent, journey)
            return _ended("not kept", "the task was submitted with remember=false: it was graded, and that is all")

        # 1. Credit what was shown. What a sub-question was answered from was credited by its verdict.
        recall = self._pool()
        task = of_own_pool(recall, graded.task)
        graded = graded.model_copy(update={"task": task})
        is_known = graded.score.accepted and self._was_called_wrong(recall, task, graded.score)
        is_credited = not (is_known or isinstance(task, PartPair))
        credited = self._crediting.graded(recall, journey, graded) if is_credited else Credited([])
        if isinstance(task, AgentPair):
            self._count_tries(recall.store, task, None if is_known else graded.score.total)
        self._count_near(recall, journey, graded, credited.memories)
        unused = {*credited.unused, *(one.id for one in task.shown if one.share == 0)}
        with self._client.pipeline(transaction=False) as look:
            ask_noted(look, journey, OPINION)
            ask_items(look, [memory_id(task.pool, task.prompt, task.answer)])
            opinion, in_trash = look.execute()
        is_wrong = opinion is not None and unpack(opinion)["reward"] < UNDECIDED
        is_well = graded.score.accepted and not is_wrong
        self._note_used([one for one in credited.memories if one.id not in unused], well=is_well)

        # 2. Keep what its sources taught, whatever the answer's grade: it was checked with the answer.
        learnt = self._keep_learnt(task)

        # 3. Admit the pair to its pool.
        ids_learnt, is_lost = [memory.id for memory in learnt.memories], any(one.wrong for one in read_items(in_trash))
        settlement, following = self._admit(recall, graded, ids_learnt, called_wrong=is_known, is_lost=is_lost)
        about = ids(task_id=journey, memory_id=settlement.memory_id, agent=task.agent, pool=task.pool)
        log.info("Settled: %s.", settlement.outcome, extra=about)

        # 4. What follows: of the pair, of what was learnt, and of the evidence, which a lesson brings with it.
        self._ranking.note_of(self._pool().store, credited.memories)
        following = (*following, *learnt.following)
        is_alone = not any(one.hop is LEARN for one in following)
        following = (*following, *for_evidence(task, recall, credited.evidence, own=is_alone))
        return Outcome(settlement, (*following, *self._note_help(graded, credited.memories)), settlement.outcome)

    def credit(self, task: VerdictTask) -> Outcome:
        """Credit the memories of answers that were found right or wrong."""
        recall = self._pool()
        task = of_own_pool(recall, task)
        credited = self._crediting.judged(recall, task)
        for answer in task.answers:
            shown = {one.id for one in answer.shown if answer.verdict != UNDECIDED}
            self._note_used([one for one in credited.memories if one.id in shown], well=answer.verdict > UNDECIDED)
        self._ranking.note(recall.store, {one.id for answer in task.answers for one in answer.shown})
        learn = tuple(for_evidence(task, recall, credited.evidence))
        return Outcome(MemoriesCredited(memories=len(credited.memories)), learn)

    def _note_used(self, memories: Iterable[Memory], *, well: bool) -> None:
        """Note that memories were used, and whether it went well."""
        now = time.time()
        for pool, some in by_pool(memories):
            note_used(self._client, pool, [one.id for one in some], now, well=well)
            long_ago = [one.id for one in some if well and (one.confirmed or 0) < now - CONFIRMED_EVERY]
            if long_ago:
                with self._turns[pool], self._pool.writing(alone_in=pool) as recall:
                    there = by_ids(recall.store, long_ago).values()
                    recall.rewrite([one.model_copy(update={"confirmed": now}) for one in there])

    def _count_tries(self, store: Store, task: AgentPair, score: float | None) -> None:
        """Count the task in the lift of the memory that was withheld, or could have been, and of its number of them.

        Of those shown chance takes the one that could have been: of many each is withheld more seldom, so if all were
        counted, tasks with few would stand against tasks with many. None is no grade.
        """
        shown = len(task.shown)
        for group, withheld in tries_of(task):
            self._lift.note(task.pool, task.journey, group, withheld=withheld, is_graded=score is not None)
            if score is None:
                continue
            found = [(task.pool, list[Memory]())]
            if group.way != "all withheld":
                one_of = task.withheld or task.shown[derived_id("lift", task.journey).int % shown]
                found = [*by_pool(by_ids(store, [one_of.id]).values())] or found
            for pool, some in found:
                ids_of = [memory.id for memory in some]
                self._lift.count(pool, task.journey, score, group, ids_of, withheld=withheld)
        of = task.examples
        if of is not None and shown == of.number and score is not None:  # else there were too few, or no room
            self._how_many.count(task.pool, task.kind, task.journey, score, of)

    def _count_near(self, recall: Recall, journey: str, graded: GradedTask, shown: Sequence[Memory]) -> None:
        """Count how near the pair was that an accepted answer followed."""
        task = graded.task
        most = followed_most(task.answer, [one for one in shown if one.pool == task.pool], task.prompt)
        if graded.score.accepted and most is not None and not is_from_outside(task):
            [near] = {one.similarity for one in task.shown if one.id == most.id}
            self._helped.count(task.pool, recall.encoder_name, journey, near)

    def _note_help(self, graded: GradedTask, shown: Sequence[Memory]) -> Iterator[NextMessage]:
        """Note which memories helped; one that is proposed by that is promoted where nobody has to approve it."""
        task, spaces = graded.task, graded.task.spaces
        if spaces is None or not graded.score.accepted:
            return
        if spaces.approval == "none" and is_from_outside(task):  # anybody may say what they were shown
            return
        checked = graded.score.by_program
        for memory in that_helped(task, shown):
            proposal = self._promotions.note(memory, spaces, task.submitter, task.prompt, checked=checked)
            if proposal is not None and spaces.approval == "none":
                yield from self._promote(memory, proposal)

    def _promote(self, memory: Memory, proposal: Proposal) -> Iterator[NextMessage]:
        """Write a memory into the pool that it is proposed for, unless that has the same, or a person called it wrong;
        what follows from it."""
        new = promoted(memory, proposal, BY_RULE)
        if any(each_barred(self._client, [(new.answer, new.pool, new.prompt)], partial(self._pool().vector, None))):
            return
        with self._turns[proposal.to], self._pool.writing(alone_in=proposal.to) as recall:
            [vectors] = recall.vectors([new])
            if not by_ids(recall.store, [new.id]):
                recall.store.put([(new, vectors)])
        self._promotions.put(proposal.decided("promoted", BY_RULE, new.id))
        journey = str(derived_id("promoted", str(new.id)))
        named = self._concepts and not new.concepts
        yield from after_written(recall, self._client, new, vectors.dense, journey, concepts=named)

    def _keep_learnt(self, task: AnsweredTask) -> StoredStatements:
        if not (isinstance(task, AgentPair) and task.learnt):
            return StoredStatements((), ())
        with self._turns[task.pool], self._pool.writing(alone_in=task.pool) as recall:
            return keep_learnt(recall, self._client, task, concepts=self._concepts, text_limit=self._text_limit)

    def _was_called_wrong(self, recall: Recall, task: AnsweredTask, score: Score) -> bool:
        """True if a person called the same answer to a like prompt wrong."""
        wrong = [*wrong_prompts(self._client, task.pool, task.answer, task.submitter, by_program=score.by_program)]
        if not wrong:
            return False
        vector = recall.vector(task.embedding, task.prompt)
        least = least_alike(task.answer, by_program=score.by_program)
        return any(float(vector @ recall.vector(None, prompt)) >= least for prompt in wrong)

    def _admit(
        self, recall: Recall, graded: GradedTask, learnt: Sequence[UUID], *, called_wrong: bool, is_lost: bool
    ) -> tuple[Settlement, tuple[NextMessage, ...]]:
        task, score = graded.task, graded.score
        if not score.accepted:
            reason = f"its score {score.total:.1f} is below the threshold {score.threshold:.1f}"
            return Settlement(memory_id=None, outcome="rejected", reason=reason, learnt=tuple(learnt)), ()
        if (longest := max(len(task.prompt), len(task.answer))) > self._text_limit:
            reason = f"it has a text of {longest:,} characters, and a memory at most {self._text_limit:,}"
            return Settlement(memory_id=None, outcome="not kept", reason=reason, learnt=tuple(learnt)), ()
        vector = recall.vector(task.embedding, task.prompt)  # before the gate, for others wait for who is inside
        if called_wrong:
            reason = "a person called this answer wrong"
            return Settlement(memory_id=None, outcome="not kept", reason=reason, learnt=tuple(learnt)), ()
        if is_lost:
            reason = "a person found this answer wrong, and it is in the trash"
            return Settlement(memory_id=None, outcome="not kept", reason=reason, learnt=tuple(learnt)), ()
        masked = recall.masked(vector, task.prompt)
        # The threads of a process wait for each other without polling Redis.
        with self._turns[task.pool], self._pool.writing(alone_in=task.pool) as current:
            if current.encoder_name != recall.encoder_name:
                vector = current.vector(task.embedding, task.prompt)
                masked = current.masked(vector, task.prompt)
            settlement, following = self._admission.admit(current, graded, vector, masked, learnt)
        return settlement.model_copy(update={"learnt": tuple(learnt)}), following


def _ended(outcome: SettlementOutcome, reason: str, memory: UUID | None = None) -> Outcome:
    return Outcome(Settlement(memory_id=memory, outcome=outcome, reason=reason), ended=outcome)


def _regrade(journey: str, pool: Pool, client: redis.Redis, task: RegradePair, score: Score) -> Outcome:
    """Write the score to the memory, if it says what was graded; a score that is too low hides it.

    One that was stale is not so any more, unless a person found its source wrong, or changed it, and the grade does not
    know what is right, as a program does not.
    """
    memory = task.memory_id
    with pool.writing(alone_in=task.pool) as recall:
        before = by_ids(recall.store, [memory]).get(memory)
        if before is None or (before.prompt, before.answer) != (task.prompt, task.answer):
            reason = "the memory is gone, or says something else by now"
            return _ended("not kept", reason, memory)
        is_unaware = is_stale_as(before, "found wrong", "changed") and (score.by_program or not task.known)
        is_well = score.accepted and not is_unaware
        status = "active" if is_well and before.status == "stale" else before.status
        knew_better = bool(task.known) and before.status != "hidden" and not score.accepted
        changes = {
            "score": score.total,
            "criteria": score.criteria,
            "rubric_version": score.rubric_version,
            "status": status if score.accepted else "hidden",
            "confirmed": time.time() if is_well else before.confirmed,
            "why_hidden": KNEW_BETTER if knew_better else before.why_hidden,
        }
        changed = before.model_copy(update=changes)
        recall.store.put([(changed, recall.vectors([changed])[0])], in_place=True)
    note_seeds(client, pool().store, there=[changed], gone=[before])
    note_used(client, task.pool, [memory], time.time(), well=is_well)
    again = f"it was graded again: {score.total:.1f}"
    if score.accepted:
        unaware = "; it stays stale: a person found wrong or changed what it rests on, which the grade does not know"
        following = tuple(after_return(pool().store, client, [changed], journey))
        return _ended("stored", again + unaware * is_unaware, memory)._replace(following=following)
    return _ended("rejected", f"{again} is below the threshold {score.threshold:.1f}, so it is hidden", memory)
