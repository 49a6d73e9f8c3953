"""Evidence for the learner: what a graded task, or feedback, says of the memories that it was shown."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

from memshare_broker.wire.grades import GradedTask, VerdictTask
from memshare_broker.wire.lessons import Evidence, UsedMemory
from memshare_broker.wire.messages import AnsweredTask, Embedding
from memshare_memory.admit.following import followed
from memshare_memory.memory import Memory, memory_id
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.reward import Usual, trust

LONGEST_TEXT = 4_000  # characters of a prompt
CLEAR = 0.5  # of the scale of scores: so far from what is usual, a score says all that it can say
LEAST_WEIGHT = 0.05  # evidence that weighs less teaches nothing, and may still prove somebody


class Word(NamedTuple):
    """That a memory helped (1) or misled (0), how much that weighs, 0 to 1, and whether the answer was accepted."""

    memory: Memory
    helped: float
    weight: float
    accepted: bool = False


def of_graded(graded: GradedTask, there: Sequence[Memory], usual: Usual) -> list[Word]:
    """What a graded task says of the pairs it was shown, which are still `there`.

    With shares in the answer, which was found right: each by its share. Else of the one that the answer followed: how
    far the score is from what is usual for the task's kind.
    """
    task, pairs = graded.task, [memory for memory in there if not memory.is_statement]
    shares = {one.id: one.share for one in task.shown if one.share is not None}
    if shares:
        return [Word(memory, 1.0, shares[memory.id], accepted=True) for memory in pairs if shares.get(memory.id)]
    place = followed(task.answer, [memory.answer for memory in pairs])
    if place is None:
        return []
    above = (graded.score.total - usual.mean) / 100
    weight = trust(usual) * min(abs(above) / CLEAR, 1.0)
    return [Word(pairs[place], float(above >= 0), weight, graded.score.accepted)]


def of_verdict(task: VerdictTask, there: Sequence[Memory]) -> list[Word]:
    """What verdicts say of the pairs that their answers were shown: by their shares, or all alike without any."""
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
    recall: Recall, task: AnsweredTask | VerdictTask, there: Sequence[Memory], words: Sequence[Word]
) -> list[Evidence]:
    """The evidence that words are, of the task's own pool, with the vectors that the learner takes."""
    heavy = [word for word in words if (word.weight >= LEAST_WEIGHT or word.accepted) and word.memory.pool == task.pool]
    if not heavy:
        return []
    pairs = [memory for memory in there if not memory.is_statement and memory.pool == task.pool]
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
    of_answer: Literal["offer", "outcome"] = "offer" if answered and answered.offered else "outcome"
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
            weight=word.weight,
            accepted=word.accepted,
            at=time.time(),
        )
        for word in heavy
        if word.memory.id in used
    ]
