"""Feedback: what the first hits say is looked for, too; and nothing is where it is not switched on."""

from __future__ import annotations

import logging

import pytest
import redis

from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.feedback import FeedbackInUse, Way, summed
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.recall.retriever import feedback_key
from memshare.memory_service.recall.search_steps import Wanted
from memshare.memory_service.stores.store import Sparse
from tests.support.memories import prompts, remembered

TASK = "why does the tide rise ä"


def learnt(prompt: str, answer: str, topic: str = "Other", **fields: object) -> Memory:
    return remembered(prompt, answer=answer, concepts={"0": (topic,)}, **fields)[0]


HITS = [learnt(f"why does the tide fall ö{number}", "the moon pulls the ocean", "Gravity") for number in range(5)]
LIKE_THEIR_WORDS = learnt("zzz one", "ocean and moon")
LIKE_THEIR_CONCEPTS = learnt("zzz two", "qqq", "Gravity")
NEXT = [learnt(f"ü{number}", f"qq{number}") for number in range(9)]
"""The nearest after the hits, as the encoder takes all words that are not ASCII for the same one."""


def shown(recall: Recall, feedback: Way | None = None, **about: object) -> list[str | None]:
    wanted = Wanted("poem", TASK, recall.embed(TASK).unpack(), 7, feedback=feedback, **about)  # type: ignore[arg-type]
    return prompts(recall.nearest_each([wanted])[0].hits)


def remember(recall: Recall, *memories: Memory) -> None:
    recall.store.put(list(zip(memories, recall.vectors(list(memories)), strict=True)))


@pytest.mark.parametrize(("way", "alike"), [("words", LIKE_THEIR_WORDS), ("concepts", LIKE_THEIR_CONCEPTS)])
def test_a_pool_finds_what_its_best_hits_are_like_once_that_is_switched_on(
    recall: Recall, redis_client: redis.Redis, way: Way, alike: Memory
) -> None:
    remember(recall, *HITS, *NEXT, LIKE_THEIR_WORDS, LIKE_THEIR_CONCEPTS)
    in_use = FeedbackInUse(way=way, before=0.5, after=0.9, lessons=30, version=1, decided=1.0)
    assert alike.prompt not in shown(recall)

    redis_client.set(feedback_key("poem", recall.encoder_name), in_use.model_dump_json())

    assert alike.prompt in shown(recall)
    assert shown(recall) == shown(recall, way)
    assert {hit.prompt for hit in HITS} < set(shown(recall))
    assert alike.prompt not in shown(recall, "off")
    assert alike.prompt not in shown(recall, mode="hybrid")  # whoever asks for words gets the task's own


def test_what_may_not_be_shown_has_no_say(recall: Recall) -> None:
    remember(recall, *(hit.model_copy(update={"status": "hidden"}) for hit in HITS), *NEXT, LIKE_THEIR_WORDS)
    assert LIKE_THEIR_WORDS.prompt not in shown(recall, "words")

    remember(recall, learnt(TASK, "the moon pulls the ocean", task_id="t", submitter="ada"))

    assert LIKE_THEIR_WORDS.prompt not in shown(recall, "words", submitter="ada")  # it came of this very task
    assert LIKE_THEIR_WORDS.prompt in shown(recall, "words", submitter="bob")


def test_an_empty_pool_and_memories_without_concepts_are_no_matter(recall: Recall) -> None:
    assert shown(recall, "words") == shown(recall, "concepts") == []

    remember(recall, HITS[0].model_copy(update={"concepts": {}}))

    assert shown(recall, "concepts") == [HITS[0].prompt]


def test_a_record_that_cannot_be_read_switches_nothing_on(
    recall: Recall, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    remember(recall, *HITS, *NEXT, LIKE_THEIR_WORDS)
    redis_client.set(feedback_key("poem", recall.encoder_name), '{"way": "dreams"}')

    with caplog.at_level(logging.ERROR):
        assert LIKE_THEIR_WORDS.prompt not in shown(recall)

    assert "feeds nothing back" in caplog.text


def test_a_later_hit_counts_less_and_the_sixth_does_not() -> None:
    documents = [Sparse([1, 2], [1.0, 1.0]), Sparse([2, 3], [1.0, 4.0]), *[Sparse([1], [0.0])] * 3, Sparse([9], [1.0])]

    assert summed(documents) == Sparse([1, 2, 3], [1.0, 1.5, 2.0])
