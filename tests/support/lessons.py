"""Lessons for tests of the trainer: candidates of the task's form help it, those of its topic mislead."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest
import redis
from numpy.typing import NDArray

from memshare_broker.wire.lessons import Candidate, Evidence, LessonTask, UsedMemory
from memshare_broker.wire.messages import Embedding, Usage, derived_id
from memshare_memory.belief.trust import waiting_key
from memshare_memory.recall.retriever import Adapter
from memshare_trainer.labels import Labels

DIMENSION = 128
ENCODER = "tests/forms"
FORMS, TOPICS = 6, 20
ON_FORM, ON_TOPIC, BY_CHANCE = 0.7, 0.7, 0.8  # so that the untrained retriever is right about half the time


class FormLabeller:
    """Says that a candidate helps if its prompt begins as the task's does; `inverted` makes it say the contrary."""

    def __init__(self) -> None:
        self.inverted = False
        self.asked: list[UUID | None] = []

    def label(self, task: LessonTask) -> Labels:
        self.asked.append(task.memory_id)
        same = [helps(one, task) for one in task.candidates]
        return Labels(tuple(0.9 if alike is self.inverted else 0.1 for alike in same), "json", Usage(prompt_tokens=1))


def helps(candidate: Candidate, task: LessonTask) -> bool:
    return candidate.prompt is not None and candidate.prompt.split()[0] == task.prompt.split()[0]


def lesson(number: int, pool: str = "poem", by: str = "anonymous", whose: Sequence[str] = ("anonymous",)) -> LessonTask:
    """A lesson with four candidates of its form and four of its topic; the same number is the same lesson.

    It is `by` somebody, and the candidates are of the submitters `whose`, in turns.
    """
    drawn = np.random.default_rng(number)
    form, topic = int(drawn.integers(FORMS)), int(drawn.integers(TOPICS))
    kinds = [(form, (topic + place) % TOPICS) for place in range(1, 5)]
    kinds += [((form + place) % FORMS, topic) for place in range(1, 5)]
    return LessonTask(
        journey=f"journey-{number}",
        submitter=by,
        pool=pool,
        memory_id=derived_id(pool, f"memory {number}"),
        prompt=f"form{form} topic{topic} memory {number}",
        answer="Yes.",
        embedding=Embedding.pack(ENCODER, _vector(drawn, form, topic)),
        candidates=tuple(
            Candidate(
                id=derived_id(pool, f"{number}", f"{place}"),
                prompt=f"form{of_form} topic{on_topic} candidate {place}",
                answer="Yes.",
                embedding=Embedding.pack(ENCODER, _vector(drawn, of_form, on_topic)),
                submitter=whose[place % len(whose)],
            )
            for place, (of_form, on_topic) in enumerate(kinds)
        ),
    )


def word(by: str, number: int, of: str, helped: float = 1.0, at: float = 0.0, place: int = 0) -> Evidence:
    """What somebody says of a memory of the submitter `of`: a candidate of the lesson with this number."""
    task = lesson(number)
    shown = task.candidates[place]
    return Evidence(
        by=by,
        source="feedback",
        text=task.prompt,
        prompt=task.embedding,
        memory=UsedMemory(id=shown.id, embedding=shown.embedding, submitter=of),
        helped=helped,
        at=at,
    )


def accepted(by: str, number: int, of: str, at: float = 0.0) -> Evidence:
    """What the grade of somebody's task says that was accepted."""
    return word(by, number, of, at=at).model_copy(update={"source": "outcome", "accepted": True})


def let_wait(client: redis.Redis, *said: Evidence, pool: str = "poem") -> None:
    """As crediting does."""
    if said:
        client.hset(waiting_key(pool, ENCODER), mapping={one.key: one.model_dump_json() for one in said})


def make_hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the learner make steps so large that few lessons show."""
    from memshare_trainer import step  # torch, which takes more than a second

    monkeypatch.setitem(step.LEARNING_RATES, "weights", 1e-2)


def make_worse(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """Let what is learnt once there were so many lessons be that topics are all that counts."""
    from memshare_trainer.learn import Learner

    whole, deaf = Learner.adapter, np.zeros((DIMENSION, DIMENSION), np.float32)
    np.fill_diagonal(deaf[:FORMS, :FORMS], -1)

    def adapter(self: Learner, version: int = 0) -> Adapter:
        return whole(self, version) if self._head.counted < first else Adapter.of(version, deaf, {})

    monkeypatch.setattr(Learner, "adapter", adapter)


def notice(journey: str, pool: str = "poem") -> LessonTask:
    """A message for evidence alone."""
    return LessonTask(journey=journey, pool=pool, embedding=lesson(0).embedding)


def _vector(drawn: np.random.Generator, form: int, topic: int) -> NDArray[np.float32]:
    vector = BY_CHANCE * drawn.normal(size=DIMENSION) / DIMENSION**0.5
    vector[form] += ON_FORM
    vector[FORMS + topic] += ON_TOPIC
    return (vector / np.linalg.norm(vector)).astype(np.float32)
