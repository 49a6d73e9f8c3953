"""Crediting: the memories that a task was shown earn what its answer was worth, when that was graded or checked.

A reward of 1 is what is usual: whatever earns it is no less credible than a memory that nobody has tried yet.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar
from uuid import UUID

import numpy as np
import redis

from memshare_broker.wire.grades import GradedTask, VerdictTask
from memshare_broker.wire.lessons import Evidence, UsedMemory
from memshare_broker.wire.messages import AnsweredTask, Embedding, OutsidePair, Shown
from memshare_memory.admit.followed import contradicts, followed, that_count
from memshare_memory.belief.bandit import (
    BANDIT,
    KEEP_MARKER_DAYS,
    USUAL_SCORES,
    Arm,
    Arms,
    Bandit,
    Credit,
    D,
    GivenCredit,
    GradeOfKind,
    WaitingEvidence,
    features,
    in_general,
    most_that_keeps,
)
from memshare_memory.belief.writers import Reading, Writers
from memshare_memory.memory import UNTRIED, Memory, memory_id
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import by_ids
from memshare_memory.trash import by_pool

BEST = 1.5  # of a right answer; the least is 0
HALF_TRUST = 5  # tasks of a kind after which what is usual for it counts half


class Usual(NamedTuple):
    """Usual score of the tasks of a pool and kind: the number of graded tasks, and their mean, 0 to 100."""

    tasks: int
    mean: float


def reward_of_verdict(verdict: float) -> float:
    """The reward for an answer that was found right (1) or wrong (0), or anything between."""
    return BEST * verdict


def reward_of_score(score: float, usual: Usual) -> float:
    """The reward for a graded answer: how far its score, 0 to 100, is from what tasks of its kind score anyway.

    r = 1 + n / (n + 5) · (S - m) / 100, kept from 0 to 1.5, for the mean m of the n tasks that were graded before.
    """
    return min(max(1 + trust(usual) * (score - usual.mean) / 100, 0.0), BEST)


def trust(usual: Usual) -> float:
    """How much can be said of a score by what is usual, 0 to 1: n / (n + 5) after n tasks."""
    return usual.tasks / (usual.tasks + HALF_TRUST)


def usual_score(client: redis.Redis, pool: str, kind: str | None) -> Usual:
    """Usual score of the tasks of a pool and a kind so far."""
    text = client.hget(USUAL_SCORES + pool, kind or "")
    if text is None:
        return Usual(0, 0.0)
    tasks, total = (float(number) for number in str(text).split())
    return Usual(round(tasks), total / tasks)


LONGEST_TEXT = 4_000  # characters of a prompt
CLEAR = 0.5  # of the scale of scores: so far from what is usual, a score says all that it can say
LEAST_WEIGHT = 0.05  # evidence that weighs less teaches nothing, and may still prove somebody


class Word(NamedTuple):
    """Word on a memory: that it helped (1) or misled (0), its weight, 0 to 1, and whether the answer was accepted."""

    memory: Memory
    helped: float
    weight: float
    accepted: bool = False


def followed_most(answer: str, shown: Iterable[Memory], prompt: str) -> Memory | None:
    """The pair that an answer to a prompt followed most, of those that it does not contradict."""
    pairs = [one for one in shown if not one.is_statement and not contradicts(answer, one, prompt)]
    place = followed(answer, [one.answer for one in pairs])
    return None if place is None else pairs[place]


def that_helped(task: AnsweredTask, shown: Sequence[Memory]) -> list[Memory]:
    """The pairs that have a share in an answer; where nobody judged that, the one that it followed."""
    if shares := {one.id: one.share for one in task.shown if one.share is not None}:
        return [one for one in shown if not one.is_statement and shares.get(one.id)]
    most = followed_most(task.answer, shown, task.prompt)
    return [most] if most else []


def of_graded(graded: GradedTask, there: Sequence[Memory], usual: Usual) -> list[Word]:
    """Words of a graded task on the pairs that it was shown and that are still `there`.

    With shares in the answer, which was found right: each by its share. Else on the pair that the answer followed, and
    does not contradict: how far the score is from what is usual for the task's kind.
    """
    task, pairs = graded.task, [memory for memory in there if not memory.is_statement]
    shares = {one.id: one.share for one in task.shown if one.share is not None}
    if shares:
        return [Word(memory, 1.0, shares[memory.id], accepted=True) for memory in pairs if shares.get(memory.id)]
    most = followed_most(task.answer, pairs, task.prompt)
    if most is None:
        return []
    above = (graded.score.total - usual.mean) / 100
    weight = trust(usual) * min(abs(above) / CLEAR, 1.0)
    return [Word(most, float(above >= 0), weight, graded.score.accepted)]


def of_verdict(task: VerdictTask, there: Sequence[Memory]) -> list[Word]:
    """Words of verdicts on the pairs that their answers were shown: by their shares, or all alike without any."""
    pairs = {memory.id: memory for memory in there if not memory.is_statement}
    total, right = dict.fromkeys(pairs, 0.0), dict.fromkeys(pairs, 0.0)
    for answer in task.answers:
        for one in answer.shown:
            if one.id in pairs:
                weight = 1 / len(pairs) if one.share is None else one.share
                total[one.id] += weight
                right[one.id] += weight * answer.verdict
    return [
        Word(memory, right[name] / total[name], min(total[name], 1.0)) for name, memory in pairs.items() if total[name]
    ]


def as_evidence(
    recall: Recall, task: AnsweredTask | VerdictTask, there: Sequence[Memory], words: Sequence[Word], pool: str
) -> list[Evidence]:
    """The evidence that words are of memories of a pool, with the vectors that the learner takes."""
    heavy = [word for word in words if (word.weight >= LEAST_WEIGHT or word.accepted) and word.memory.pool == pool]
    if not heavy:
        return []
    pairs = [memory for memory in there if not memory.is_statement and memory.pool == pool]
    vectors = recall.store.dense_of([memory.id for memory in pairs])
    used = {
        memory.id: UsedMemory(
            id=memory.id,
            embedding=Embedding.pack(recall.encoder_name, vectors[memory.id]),
            submitter=memory.submitter,
            curated=memory.task_id is None,
        )
        for memory in pairs
        if memory.id in vectors
    }
    answered = task if isinstance(task, AnsweredTask) else None
    of_answer: Literal["offer", "outcome"] = "offer" if is_from_outside(task) else "outcome"
    prompt = recall.vector(answered.embedding if answered else None, task.prompt)
    return [
        Evidence(
            by=task.submitter,
            source=of_answer if answered else "feedback",
            text=task.prompt[:LONGEST_TEXT],
            prompt=Embedding.pack(recall.encoder_name, prompt),
            pair=memory_id(task.pool, task.prompt, answered.answer) if answered else None,
            memory=used[word.memory.id],
            beside=tuple(one for name, one in used.items() if name != word.memory.id),
            helped=word.helped,
            weight=0.0 if _takes_back(task) else word.weight,  # replaces the word, also in what was learnt from
            accepted=word.accepted,
            at=time.time(),
        )
        for word in heavy
        if word.memory.id in used
    ]


NOTHING = np.zeros(D)  # what is credited of a context that weighs nothing
_Task = TypeVar("_Task", AnsweredTask, VerdictTask)


class Credited(NamedTuple):
    """The memories that there still are, and by pool the evidence that waits, of the task's pools.

    `unused` are those that the grade says nothing of: statements that the answer does not follow, and pairs that it
    contradicts.
    """

    memories: list[Memory]
    evidence: Mapping[str, WaitingEvidence] = {}
    unused: Collection[UUID] = ()


class Crediting:
    """Says once for a task what the memories of all pools were worth to it.

    Statements, and what an agent judged its share of, are credited as arms of the bandit: a share is how much the
    answer's verdict weighs for a memory. What is said of pairs is evidence, from which the pool's trainer learns.
    What comes from outside, by a door or as an offered pair, is one word for each person and memory: the last.
    """

    def __init__(
        self, client: redis.Redis, keep_days: float = KEEP_MARKER_DAYS, bandit: Bandit = BANDIT, *, learn: bool = True
    ) -> None:
        """For `keep_days` it is known that a task has credited. Without `learn` there is no evidence."""
        self._client = client
        self._arms = Arms(client, keep_days, bandit)
        self._given = GivenCredit(client)
        self._writers = Writers(client, keep_days)
        self._learn = learn

    def graded(self, recall: Recall, journey: str, graded: GradedTask) -> Credited:
        """Credit what a graded task was shown.

        A memory with a share in it was judged with the answer, which was found right. Any other earns the score,
        compared with what is usual for the task's kind, but for a statement that the answer does not follow, and a
        pair that it contradicts. By a score that was not accepted none becomes more credible.
        """
        task, score = graded.task, graded.score.total
        there, usual = _there(recall, task.shown), usual_score(self._client, task.pool, task.kind)
        earned = reward_of_score(score, usual)
        shown, known = {one.id: one for one in task.shown}, {memory.id: memory for memory in there}
        told = [memory for name, memory in known.items() if shown[name].share is None]
        counting = {*that_count(task.answer, task.prompt, shown, known)}
        counting |= {one.id for one in told if not (one.is_statement or contradicts(task.answer, one, task.prompt))}
        unused = {one.id for one in told} - counting
        judged = [one for one in shown.values() if one.id not in unused]
        rewards = [(one, earned if one.share is None else reward_of_verdict(1)) for one in judged]
        words = of_graded(graded, there, usual) if self._learn else []
        if words and task.model and usual.tasks >= HALF_TRUST and not is_from_outside(task):
            self._writers.count(Reading(task.pool, task.model), journey, words[0].memory.model, score - usual.mean)
        credited = self._credit(
            recall, journey, task, there, rewards, words, GradeOfKind(task.kind, score), raises=graded.score.accepted
        )
        return credited._replace(unused=unused)

    def judged(self, recall: Recall, task: VerdictTask) -> Credited:
        """Credit what each answer was shown that was found right or wrong."""
        shown = [one for answer in task.answers for one in answer.shown]
        there = _there(recall, shown)
        rewards = [(one, reward_of_verdict(answer.verdict)) for answer in task.answers for one in _once(answer.shown)]
        words = of_verdict(task, there) if self._learn else []
        # The same journey may credit by its grade, too.
        credited = self._credit(recall, f"{task.journey} judged", task, there, rewards, words)
        counting = {one.id for one in shown if one.share != 0}
        return credited._replace(memories=[memory for memory in there if memory.id in counting])

    def _credit(
        self,
        recall: Recall,
        task_id: str,
        task: AnsweredTask | VerdictTask,
        there: list[Memory],
        rewards: Sequence[tuple[Shown, float]],
        words: Sequence[Word],
        graded: GradeOfKind | None = None,
        *,
        raises: bool = True,
    ) -> Credited:
        memories = {memory.id: memory for memory in there}
        arms = {} if raises else self._arms_of([memory for memory in there if memory.is_statement])
        earned: defaultdict[str, list[Credit]] = defaultdict(list)
        for one, earning in rewards:
            memory = memories.get(one.id)
            if memory and one.share != 0 and not self._is_self_praise(task, memory):
                # That of a pair without a share is counted, and weighs nothing: its learner ranks it.
                times = float(not _takes_back(task))
                weight = float(memory.is_statement) * times if one.share is None else one.share
                x = features(memory, task.prompt, one.similarity, task.kind) if weight else NOTHING
                if weight and one.share is None and not raises:
                    alpha = self._arms.bandit.alpha
                    most = most_that_keeps(arms[memory.id], x, (x, in_general(memory)), weight, alpha)
                    earning = min(earning, UNTRIED, most)
                earned[memory.pool].append(Credit(memory.id, x, earning, weight, times))
        waiting = {}
        for pool in dict.fromkeys((*earned, *pools_of(task))):
            said = as_evidence(recall, task, there, words, pool) if pool in pools_of(task) else ()
            waiting[pool] = self._arms.add(
                pool,
                task_id,
                earned.get(pool, ()),
                submitter=task.submitter,
                graded=graded if pool == task.pool else None,
                replaces=is_from_outside(task),
                evidence=said,
                encoder=recall.encoder_name,
            )
        return Credited(there, waiting)

    def _arms_of(self, memories: Sequence[Memory]) -> dict[UUID, Arm]:
        ids = [(pool, [memory.id for memory in some]) for pool, some in by_pool(memories)]
        return {one: arm for pool, some in ids for one, arm in zip(some, self._arms.of(pool, some), strict=True)}

    def _is_self_praise(self, task: AnsweredTask | VerdictTask, memory: Memory) -> bool:
        """True if somebody outside judges their own statement, where others speak, too."""
        own = is_from_outside(task) and memory.is_statement and memory.submitter == task.submitter
        return own and self._given.others_speak(memory.pool, task.submitter)


def of_own_pool(recall: Recall, task: _Task) -> _Task:
    """A task from outside without what it says was shown of other pools; of its own, and gone, is what is gone."""
    if not is_from_outside(task) or not task.shown:
        return task
    found = by_ids(recall.store, [one.id for one in task.shown])
    elsewhere = {one for one, memory in found.items() if memory.pool not in pools_of(task)}
    return task.model_copy(update={"shown": tuple(one for one in task.shown if one.id not in elsewhere)})


def pools_of(task: AnsweredTask | VerdictTask) -> tuple[str, ...]:
    """The pools that a task looked in, of which the first is its own."""
    return task.pools or (task.pool,)


def is_from_outside(task: AnsweredTask | VerdictTask) -> bool:
    """True if shown memories, or their worth, are stated from outside: agents of the deployment judge by shares."""
    if isinstance(task, VerdictTask):
        return all(one.share is None for one in task.shown)
    return isinstance(task, OutsidePair)


def _takes_back(task: AnsweredTask | VerdictTask) -> bool:
    return isinstance(task, VerdictTask) and task.takes_back


def _once(shown: Sequence[Shown]) -> Iterable[Shown]:
    return {one.id: one for one in shown}.values()


def _there(recall: Recall, shown: Sequence[Shown]) -> list[Memory]:
    """The memories that were shown and are still there, the best first."""
    places = {one.id: place for place, one in enumerate(shown)}
    return sorted(by_ids(recall.store, places.keys()).values(), key=lambda memory: places[memory.id])
