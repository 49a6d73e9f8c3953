"""What consolidation reads from the pool: the texts of the lessons, and prompts on which nothing must change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from typing import NamedTuple
from uuid import UUID

from memshare.memory_service.pool.move import Pages
from memshare.retriever_trainer.consolidation.finetune import TextLesson
from memshare.retriever_trainer.kept_lesson import KeptLesson

MOST_ANCHORS = 1_000  # prompts of other pools, the first by id, which is by chance


class Texts(NamedTuple):
    """The encoded text of each memory that a lesson names, prompts of other pools, and how many memories there are."""

    keys: dict[UUID, str]
    anchors: list[str]
    memories: int


def read_texts(
    pages: Pages, lessons: Iterable[KeptLesson], trained: Sequence[str], progress: Callable[[int], None]
) -> Texts:
    """Go through the pool once. Memories that were forgotten since are in no lesson any more."""
    wanted = {one for lesson in lessons for one in lesson.memories}
    keys: dict[UUID, str] = {}
    anchors: list[str] = []
    count, after = 0, None
    while True:
        page = pages(after)
        for memory in page.memories:
            if memory.id in wanted:
                keys[memory.id] = memory.asked
            if memory.pool not in trained and len(anchors) < MOST_ANCHORS:
                anchors.append(memory.asked)
        count += len(page.memories)
        progress(count)
        after = page.after
        if after is None:
            return Texts(keys, anchors, count)


def general_anchors() -> list[str]:
    """Texts of all sorts, for deployments that have few other prompts."""
    return (
        files("memshare.retriever_trainer.consolidation")
        .joinpath("anchors.txt")
        .read_text(encoding="utf-8")
        .splitlines()
    )


def as_texts(lessons: Iterable[KeptLesson], keys: dict[UUID, str]) -> Iterator[TextLesson]:
    """The lessons of which there is still something to tell apart."""
    for lesson in lessons:
        left = remaining(lesson, keys.keys())
        if left:
            documents = (*left.positives, *left.negatives)
            yield TextLesson(
                query=keys[left.memory_id],
                documents=tuple(keys[one] for one in documents),
                positive=tuple(place < len(left.positives) for place in range(len(documents))),
            )


def remaining(lesson: KeptLesson, known: Iterable[UUID]) -> KeptLesson | None:
    """A lesson without the memories that are no longer known, or None where it teaches nothing any more.

    Its vectors are those of the whole lesson.
    """
    there = set(known)
    left = lesson.model_copy(
        update={
            "positives": tuple(one for one in lesson.positives if one in there),
            "negatives": tuple(one for one in lesson.negatives if one in there),
        }
    )
    return left if lesson.memory_id in there and left.positives and left.negatives else None
