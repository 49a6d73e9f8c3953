"""Lessons for tests of the trainer: candidates of the task's form help it, those of its topic mislead."""

from __future__ import annotations

from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare.broker.wire.lessons import Candidate, LessonTask
from memshare.broker.wire.messages import Embedding, Usage, derived_id
from memshare.retriever_trainer.labels import Labels

DIMENSION = 128
ENCODER = "tests/forms"
FORMS, TOPICS = 6, 20
ON_FORM, ON_TOPIC, BY_CHANCE = 0.7, 0.7, 0.8  # so that the untrained retriever is right about half the time


class FormLabeller:
    """Says that a candidate helps if its prompt begins as the task's does; `inverted` makes it say the contrary."""

    def __init__(self) -> None:
        self.inverted = False
        self.asked: list[UUID] = []

    def label(self, task: LessonTask) -> Labels:
        self.asked.append(task.memory_id)
        same = [helps(one, task) for one in task.candidates]
        return Labels(tuple(0.9 if alike is self.inverted else 0.1 for alike in same), "json", Usage(prompt_tokens=1))


def helps(candidate: Candidate, task: LessonTask) -> bool:
    return candidate.prompt is not None and candidate.prompt.split()[0] == task.prompt.split()[0]


def lesson(number: int, pool: str = "poem") -> LessonTask:
    """A lesson with four candidates of its form and four of its topic; the same number is the same lesson."""
    drawn = np.random.default_rng(number)
    form, topic = int(drawn.integers(FORMS)), int(drawn.integers(TOPICS))
    kinds = [(form, (topic + place) % TOPICS) for place in range(1, 5)]
    kinds += [((form + place) % FORMS, topic) for place in range(1, 5)]
    return LessonTask(
        journey=f"journey-{number}",
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
            )
            for place, (of_form, on_topic) in enumerate(kinds)
        ),
    )


def _vector(drawn: np.random.Generator, form: int, topic: int) -> NDArray[np.float32]:
    vector = BY_CHANCE * drawn.normal(size=DIMENSION) / DIMENSION**0.5
    vector[form] += ON_FORM
    vector[FORMS + topic] += ON_TOPIC
    return (vector / np.linalg.norm(vector)).astype(np.float32)
