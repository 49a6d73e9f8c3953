"""Steps after a memory is admitted to its pool: a tuple of functions, each of which gives messages.

Among them is the lesson that it is for the retriever, and those that have the sub-questions of its task graded, where
they were answered, as pairs of their own.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.app import MOST_LESSONS, TRAINER_QUEUE
from memshare_broker.delivery.hops import LEARN, SCORE, NextMessage
from memshare_broker.delivery.ledger import count_open
from memshare_broker.delivery.stage import Outcome
from memshare_broker.observe.logs import ids
from memshare_broker.wire.grades import VerdictTask
from memshare_broker.wire.lessons import (
    Candidate,
    ComparedPairs,
    Extracted,
    LessonTask,
    NotedConcepts,
    NotedPairs,
    Said,
)
from memshare_broker.wire.messages import AgentPair, AnsweredTask, Embedding, PartPair, Shown, derived_id
from memshare_memory.admit.asked_concepts import extraction
from memshare_memory.admit.stale import Derived
from memshare_memory.belief.bandit import WaitingEvidence
from memshare_memory.belief.trust import retriever_key
from memshare_memory.contradictions import Conflicts, comparison, comparisons, rivals_of
from memshare_memory.memory import Memory, memory_id, saying
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import MASK, Recall, masked, sparse_of
from memshare_memory.stores.store import Store, Vectors, by_ids
from memshare_memory.trash import decide_as_copies

log = logging.getLogger(__name__)


def note_concepts(pool: Pool, extracted: Extracted) -> Outcome:
    """Write the concepts of a memory, if it is there, says what they are of, and has none yet."""
    noted = NotedConcepts(memory_id=extracted.memory_id, outcome=_written(pool, extracted))
    about = ids(task_id=extracted.journey, memory_id=extracted.memory_id, pool=extracted.pool)
    log.info("Concepts: %s.", noted.outcome, extra=about)
    return Outcome(noted, ended=noted.outcome)


def _written(pool: Pool, extracted: Extracted) -> Literal["written", "known", "gone", "changed"]:
    with pool.writing(alone_in=extracted.pool) as recall:
        memory = by_ids(recall.store, [extracted.memory_id]).get(extracted.memory_id)
        vectors = recall.store.dense_of([extracted.memory_id])
        if memory is None or not vectors:
            return "gone"
        if memory_id(memory.pool, memory.prompt, memory.answer) != extracted.said:
            return "changed"
        if memory.concepts:
            return "known"
        changed = memory.model_copy(update={"concepts": extracted.concepts})
        recall.store.put([(changed, Vectors(vectors[memory.id], sparse_of(changed)))], in_place=True)
        return "written"


def note_compared(pool: Pool, client: redis.Redis, pairs: ComparedPairs) -> Outcome:
    """Note what a model said of each pair, but for those of which a memory was forgotten or changed meanwhile.

    What people decided meanwhile on copies of a pair is decided of it, too, and what was written from what so lost is
    stale.
    """
    compared = pairs.compared
    with pool.writing(alone_in=pairs.pool) as recall:
        found = by_ids(recall.store, [compared.memory_id, *pairs.others])
        texts = {name: Said.of(name, one.prompt, one.answer).digest for name, one in found.items()}
        there = {name: one for name, one in found.items() if pairs.said.get(name, texts[name]) == texts[name]}
        others = [one for one in pairs.others if one in there] if compared.memory_id in there else []
        conflicts = Conflicts(client)
        were_wrong = conflicts.wrong(pairs.pool, [*there])
        conflicts.note(pairs.pool, compared, others)
        if others:
            decide_as_copies(recall.store, client, there[compared.memory_id], [there[one] for one in others])
            Derived(recall, client).follow(there.values(), were_wrong)
    return Outcome(NotedPairs(memory_id=compared.memory_id, noted=len(others)), ended="noted" if others else "gone")


def gradings(task: AgentPair, memory: Memory) -> list[NextMessage]:
    """The messages that have a task's sub-questions graded, each in a journey of its own.

    Their parents are what they were answered from, and `memory`, which the task's own answer became.
    """
    whole = Shown(id=memory.id, similarity=0.0, share=0.0, said=saying(memory.answer))
    of_task = task.model_dump(include={"agent", "kind", "pool", "rubric", "model", "submitter"})
    messages: dict[str, NextMessage] = {}
    for part in task.parts:
        journey = str(derived_id(task.journey, "part", str(memory_id(task.pool, part.question, part.answer))))
        pair = PartPair(
            **of_task,
            journey=journey,
            prompt=part.question,
            answer=part.answer,
            shown=(whole, *(one for one in part.shown if one.id != memory.id)),
            part_of=task.journey,
        )
        messages[journey] = SCORE.next(pair, journey)
    return list(messages.values())


def parts_among(messages: Iterable[NextMessage]) -> dict[UUID, UUID]:
    """The journeys of the sub-questions among messages, by the memories that these may become."""
    pairs = [one.body for one in messages if isinstance(one.body, PartPair)]
    return {memory_id(pair.pool, pair.prompt, pair.answer): UUID(pair.journey) for pair in pairs}


def after_written(
    recall: Recall, client: redis.Redis, memory: Memory, vector: NDArray[np.float32], journey: str, *, concepts: bool
) -> Iterator[NextMessage]:
    """The messages for a memory that was written without a lesson, on a journey of its own.

    It is compared with what it may contradict, and its concepts are asked for if `concepts` is true.
    """
    if others := rivals_of(recall.store, client, memory, vector):
        yield comparison(journey, memory, others)._replace(journey=journey)
    if concepts:
        yield extraction(memory, journey)


def after_return(
    store: Store, client: redis.Redis, memories: Iterable[Memory], of: str | None = None
) -> list[NextMessage]:
    """The messages that have memories which are shown again compared with what came meanwhile; of a journey, once."""
    there = by_ids(store, {one.id for one in memories}).values()
    return comparisons(store, client, [*there], of or repr(time.time()))


class Admitted(NamedTuple):
    """A memory as it is about to be stored, its vector, the pool and the task that it comes from."""

    memory: Memory
    vector: NDArray[np.float32]
    recall: Recall
    task: AnsweredTask

    @property
    def stale(self) -> bool:
        """True if its answer rests on something that has changed since: then it teaches nothing."""
        return self.memory.status == "stale"


After = Callable[[Admitted], Iterable[NextMessage]]


def after_admission(client: redis.Redis, lessons: Lessons, *, concepts: bool) -> tuple[After, ...]:
    """Steps that follow, in this order. The concepts of a memory are asked for if `concepts` is true."""

    def judged(new: Admitted) -> Iterable[NextMessage]:
        """A lesson, and a comparison: as one question to the model where all that it asks about is in the lesson.

        What people decided on its copies is decided of a stale one, too.
        """
        others = rivals_of(new.recall.store, client, new.memory, new.vector)
        if new.stale:
            return
        lesson = lessons.of(new.task.journey, new.recall, new.memory, new.vector)
        rivals = tuple(one.id for one in others)
        if lesson is not None and {*rivals} <= {one.id for one in lesson.candidates}:
            lesson, others = lesson.model_copy(update={"rivals": rivals}), []
        if lesson is not None:
            yield LEARN.next(lesson)
        if others:
            yield comparison(new.task.journey, new.memory, others)

    def named(new: Admitted) -> Iterable[NextMessage]:
        return (extraction(new.memory, new.task.journey),)

    def parts(new: Admitted) -> Iterable[NextMessage]:
        if new.stale or not isinstance(new.task, AgentPair):
            return ()
        return gradings(new.task, new.memory)

    return (judged, *((named,) if concepts else ()), parts)


ALL_UNTIL = 200  # lessons of a pool, in which most is learnt
LEAST_SHARE = 1 / 16  # of new memories of a pool that has learnt much, so that a drift is seen
IN_VAIN = 5  # calls for labels in a row that taught nothing; after more, ever fewer are made
FEWEST_CANDIDATES = 2  # a lesson says that one is better than another
LONGEST_TEXT = 4_000  # characters of a prompt or an answer; enough to see what it is like
FEWEST_WORDS = 4  # of an answer that is made in some way; "yes" or a number is the answer to anything
EVIDENCE_AT_ONCE = 10  # words of evidence that are worth a message of their own


class Lessons:
    """Makes the messages to the trainer: for every memory until the pool had many lessons, then for ever fewer.

    `share` is the share of new memories that become lessons once there were `ALL_UNTIL`.
    Without `learn` there are no lessons.
    """

    def __init__(self, client: redis.Redis, share: float, *, learn: bool = True) -> None:
        self._client = client
        self._share = share
        self.learn = learn

    def of_brought(self, recall: Recall, memories: Sequence[Memory]) -> Iterator[NextMessage]:
        """The lessons that pairs are which people brought in, of those made like others: nobody is asked about them."""
        pairs = [memory for memory in memories if not memory.is_statement and memory.status == "active"]
        vectors = recall.store.dense_of([memory.id for memory in pairs]) if pairs and self.learn else {}
        for place, memory in enumerate(one for one in pairs if one.id in vectors):  # not forgotten since
            journey = str(derived_id("lesson", str(memory.id)))
            lesson = self.of(journey, recall, memory, vectors[memory.id], brought=place)
            if lesson is not None:
                yield LEARN.next(lesson)._replace(journey=journey)

    def of(
        self, journey: str, recall: Recall, memory: Memory, vector: NDArray[np.float32], *, brought: int | None = None
    ) -> LessonTask | None:
        """The lesson that a memory is which a journey is about to store, or None where it is none.

        One that is `brought` in, after so many others just now, is none where a model would have to label it.
        """
        if not self.learn or memory.prompt is None:
            return None
        had, in_vain, waiting = self._had(memory.pool, recall.encoder_name)
        had = max(had, brought or 0)
        if not is_chosen(memory, worth_learning(had, self._share)):
            return None
        candidates = tuple(
            Candidate(
                id=hit.memory.id,
                prompt=hit.memory.prompt and hit.memory.prompt[:LONGEST_TEXT],
                answer=hit.memory.answer[:LONGEST_TEXT],
                embedding=Embedding.pack(recall.encoder_name, hit.vector),
                submitter=hit.memory.submitter,
            )
            for hit in recall.candidates(memory, vector)
            if hit.vector is not None
        )
        if len(candidates) < FEWEST_CANDIDATES:
            return None
        labels = made_otherwise(memory.answer, [one.answer for one in candidates])
        may_ask = brought is None and waiting < MOST_LESSONS
        is_asked = may_ask and is_chosen(memory, worth_learning(had, self._share, in_vain))
        if not (labels or is_asked):
            return None
        return LessonTask(
            journey=journey,
            agent=memory.agent or "",
            submitter=memory.submitter,
            pool=memory.pool,
            memory_id=memory.id,
            prompt=memory.prompt[:LONGEST_TEXT],
            answer=memory.answer[:LONGEST_TEXT],
            embedding=Embedding.pack(recall.encoder_name, vector),
            candidates=candidates,
            labels=labels,
        )

    def _had(self, pool: str, encoder: str) -> tuple[int, int, int]:
        """How many lessons the pool's retriever has had, how many calls for labels in a row taught it nothing, and how
        many messages are open for the trainer."""
        with self._client.pipeline(transaction=False) as asked:
            asked.hget(retriever_key(pool, encoder, "state"), "counted")
            asked.get(retriever_key(pool, encoder, "in_vain"))
            count_open(asked, TRAINER_QUEUE)
            had, in_vain, waiting = asked.execute()
        return int(had or 0), int(in_vain or 0), waiting


def for_evidence(
    task: AnsweredTask | VerdictTask, recall: Recall, evidence: Mapping[str, WaitingEvidence], *, own: bool = True
) -> Iterator[NextMessage]:
    """The messages for evidence alone, by pool: one comes with each ten words more that wait there.

    Each has a journey of its own: in that of the task its pair may become a lesson. Without its `own` pool where that
    lesson brings its evidence.
    """
    for pool, waiting in evidence.items():
        is_due = waiting.words // EVIDENCE_AT_ONCE > (waiting.words - waiting.new) // EVIDENCE_AT_ONCE
        if not is_due or (pool == task.pool and not own):
            continue
        given = task.embedding if isinstance(task, AnsweredTask) else None
        journey = str(derived_id(task.journey, "evidence", *([] if pool == task.pool else [pool])))
        message = LEARN.next(
            LessonTask(
                journey=journey,
                submitter=task.submitter,
                pool=pool,
                embedding=Embedding.pack(recall.encoder_name, recall.vector(given, task.prompt)),
            )
        )
        yield message._replace(journey=journey)


def made_otherwise(answer: str, others: Sequence[str]) -> tuple[float, ...]:
    """P(¬Y) of other answers: 0 of one that is the same but for what it is about, else 1; nothing where all are alike.

    The target similarity of Synchromesh (arXiv 2201.11227), of any text, at its strictest: quoted strings, names and
    numbers are what an answer is about. One word more of others would be taken for a frame: "Dear customer, …".
    """
    own = _made(answer)
    if sum(part.isalpha() for part in own) < FEWEST_WORDS:
        return ()
    values = tuple(float(_made(text) != own) for text in others)
    return values if len({*values}) > 1 else ()


@lru_cache(maxsize=1_000)
def _made(text: str) -> tuple[str, ...]:
    """The words and signs of an answer; words in capitals alone, as of SQL, are no names."""
    return tuple(re.findall(rf"{MASK}|\w+|[^\w\s]", masked(_IN_CAPITALS.sub(lambda word: word[0].lower(), text))))


_IN_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")


def worth_learning(lessons: int, share: float, in_vain: int = 0) -> float:
    """The share of new memories that become lessons of a retriever that has had so many, 0 to 1.

    It falls as they grow in number, as one more then changes less, and as calls for labels are `in_vain`: where all
    candidates help, or all mislead, as in a pool of one kind of tasks, there is nothing to tell apart.
    """
    usual = 1.0 if lessons < ALL_UNTIL else min(share, max(LEAST_SHARE, share * ALL_UNTIL / lessons))
    return min(usual, max(LEAST_SHARE, usual * IN_VAIN / max(in_vain, IN_VAIN)))


def is_chosen(memory: Memory, share: float) -> bool:
    """True if a memory is in the share that is learnt from; the same at every call."""
    return memory.id.int % 10_000 < share * 10_000
