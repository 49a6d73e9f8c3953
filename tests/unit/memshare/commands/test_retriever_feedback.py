"""`memshare retriever feedback` on a real memory service: it switches on what ranks held-out lessons better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redis
from typer.testing import CliRunner

from memshare.broker.errors import BadInput
from memshare.commands.retriever import app
from memshare.memory_service.door.client import MemoryClient
from memshare.memory_service.door.messages import RecallRequest
from memshare.memory_service.memory import Memory
from memshare.memory_service.pool.encoder_names import ENCODER
from memshare.memory_service.recall.recall import Recall
from memshare.retriever_trainer.feedback_switch import FeedbackSwitch
from memshare.retriever_trainer.kept_lesson import KeptLesson, packed
from memshare.retriever_trainer.lesson_log import LessonLog
from tests.support.memories import remembered

LESSONS = 22


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, redis_folder: Path, memory: MemoryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands' settings: the memory service and the Redis of the test."""
    assert memory
    monkeypatch.setenv("MEMSHARE_DATA", str(tmp_path))
    monkeypatch.setenv("MEMSHARE_REDIS_URL", f"unix://{redis_folder}/redis.sock?db=0")
    monkeypatch.setenv("COLUMNS", "100")


def group(number: int, kind: str, count: int, prompt: str, answer: str) -> list[Memory]:
    texts = [(f"{prompt} {kind}{number}x{one}", f"{answer} {kind}{one}") for one in range(count)]
    return [remembered(asked, answer=said)[0] for asked, said in texts]


def teach(recall: Recall, client: redis.Redis, lessons: int) -> LessonLog:
    """Lessons whose good examples have the nearest memories' words in their answers, and whose poor ones are nearer."""
    kept = []
    for number in range(1, lessons + 1):
        task, words = f"task{number} about", f"word{number} other{number}"
        new = group(number, "new", 1, task, words)
        near = group(number, "near", 5, task, words)
        alike = group(number, "alike", 3, "zzz", words)
        poor = group(number, "poor", 3, "about", "nothing")
        memories = [*new, *near, *alike, *poor]
        recall.store.put(list(zip(memories, recall.vectors(memories), strict=True)))
        good, bad = ([one.id for one in some] for some in ([*near, *alike], poor))
        kept.append(
            KeptLesson(
                number=10 * number, memory_id=new[0].id, labelled_by="json",
                labels=dict.fromkeys(good, 0.1) | dict.fromkeys(bad, 0.9), positives=tuple(good), negatives=tuple(bad),
                vectors=packed(recall.encode([one.key for one in (*new, *near, *alike, *poor)])),
            )
        )  # fmt: skip
    client.set(ENCODER, recall.encoder_name)
    log = LessonLog(client, "poem", recall.encoder_name, kept=2_000, keep_days=1)
    log.begin_with(kept, 10 * lessons, np.zeros((256, 256), np.float32))
    return log


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    return result.stdout


def found(memory: MemoryClient) -> list[Any]:
    request = RecallRequest(pool="poem", text="task3 about", k=9)
    return [one.memory.prompt for one in memory.recall(request).found]


def test_words_are_fed_back_where_held_out_lessons_rank_better(
    recall: Recall, redis_client: redis.Redis, memory: MemoryClient
) -> None:
    teach(recall, redis_client, LESSONS)
    before = found(memory)

    said = json.loads(run("feedback", "--pool", "poem", "--json"))

    words, concepts = said["measured"]
    assert said["feedback"] == "words"
    assert (words["way"], words["lessons"], words["sure"]) == ("words", LESSONS, True)
    assert words["after"] > words["before"] + 0.1
    assert not concepts["sure"]
    assert concepts["after"] == concepts["before"]  # no memory has concepts
    assert not [one for one in before if one.startswith("zzz")]
    assert [one for one in found(memory) if one.startswith("zzz alike3x")]
    assert "words of the first hits" in run("status")

    assert "feed nothing back" in run("feedback", "--pool", "poem", "--off")
    assert found(memory) == before
    assert "off, as somebody wanted" in run("status")


def test_the_trainer_decides_after_every_fifth_held_out_lesson_unless_a_person_has(
    recall: Recall, redis_client: redis.Redis, memory: MemoryClient
) -> None:
    def finds_what_is_alike() -> bool:
        return any(one.startswith("zzz alike3x") for one in found(memory))

    switch = FeedbackSwitch(redis_client, memory)
    switch.look_again(teach(recall, redis_client, LESSONS))
    assert not finds_what_is_alike()

    lessons = teach(recall, redis_client, 25)
    switch.look_again(lessons)
    assert finds_what_is_alike()

    switch.switch_off(lessons)
    switch.look_again(lessons)
    assert not finds_what_is_alike()


def test_few_lessons_switch_nothing_on_and_say_how_many_it_takes(recall: Recall, redis_client: redis.Redis) -> None:
    teach(recall, redis_client, 3)

    said = run("feedback", "--pool", "poem")

    assert "On 3 held-out lessons" in said
    assert "It takes 20." in said
    assert "feed nothing back" in said


def test_a_pool_without_lessons_is_named(recall: Recall, redis_client: redis.Redis) -> None:
    teach(recall, redis_client, 1)

    with pytest.raises(BadInput, match="There are: poem"):
        run("feedback", "--pool", "nowhere")
