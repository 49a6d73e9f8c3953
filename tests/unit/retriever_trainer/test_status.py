from __future__ import annotations

import subprocess
import sys

import pytest
import redis

from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import LessonTask
from memshare_memory.encoders.encoder import BEFORE
from memshare_memory.recall.retriever import adapter_key
from memshare_trainer.labels import Labels
from memshare_trainer.learn import LearnStage
from memshare_trainer.lesson_log import LessonLog
from memshare_trainer.rewriting import begin_with, roll_back
from memshare_trainer.status import PoolStatus, Status, read_status
from tests.support.lessons import ENCODER, FormLabeller, lesson, let_wait, make_hasty, make_worse, word


class Uneven(FormLabeller):
    """Sometimes undecided, and some of its labels are log-probabilities."""

    def label(self, task: LessonTask) -> Labels:
        number = int(task.prompt.split()[-1])
        labels = super().label(task)
        if number == 7:
            return labels._replace(values=tuple(0.2 for _ in task.candidates))
        return labels._replace(way="logprobs") if number % 4 == 0 else labels


def teach(client: redis.Redis, numbers: range, pool: str = "poem") -> None:
    learn = LearnStage(client, Uneven(), kept=200, keep_days=1)  # type: ignore[arg-type]
    for number in numbers:
        task = lesson(number, pool)
        learn.run(f"{pool} {task.journey}", task)


def read(client: redis.Redis, settings: Settings, pool: str | None = None, updates: int = 50) -> Status:
    return read_status(client, settings, ENCODER, pool, updates)


@pytest.fixture
def taught(redis_client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> PoolStatus:
    """Sixty lessons, of which the last twenty make it worse."""
    make_worse(monkeypatch, 40)
    teach(redis_client, range(60))
    return read(redis_client, settings).pools["poem"]


def test_every_lesson_is_counted_as_what_it_came_to(taught: PoolStatus) -> None:
    lessons = taught.lessons

    assert (lessons.held_out, lessons.no_update, lessons.carried_over) == (5, 1, 0)
    assert lessons.refused == 9
    assert lessons.learnt + lessons.refused + lessons.held_out == lessons.counted == 59
    assert taught.labelled_by == {"json": 44, "logprobs": 15}


def test_the_version_in_use_ranks_the_held_out_lessons_better_than_no_training(
    redis_client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_hasty(monkeypatch)
    teach(redis_client, range(100, 150))

    status = read(redis_client, settings).pools["poem"]

    accuracy = status.held_out_accuracy
    assert accuracy.lessons == 5
    assert accuracy.untrained is not None
    assert accuracy.in_use is not None
    assert accuracy.in_use > accuracy.untrained
    assert accuracy.in_use == status.versions[-1].accuracy_after


def test_one_figure_is_of_all_that_versions_are_compared_on(
    redis_client: redis.Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_hasty(monkeypatch)
    teach(redis_client, range(100, 140))
    let_wait(redis_client, *(word(f"reader {number}", number, "somebody", at=number) for number in range(200)))
    teach(redis_client, range(140, 149))

    status = read(redis_client, settings).pools["poem"]

    accuracy, last = status.held_out_accuracy, status.updates[-1].lesson
    assert (accuracy.lessons, accuracy.outcomes > 5) == (4, True)
    assert last.version == status.version, "the last update is in use"
    assert accuracy.in_use == pytest.approx(last.accuracy_after)
    assert accuracy.error is not None
    assert accuracy.error > 0


def test_the_kept_versions_have_the_lessons_and_accuracies_they_were_published_with(taught: PoolStatus) -> None:
    assert taught.version == taught.versions[-1].version > 1
    published = {one.lesson.version: one for one in taught.updates if one.lesson.version}
    for version in taught.versions:
        assert version.lessons == published[version.version].counted
        assert version.accuracy_after == published[version.version].lesson.accuracy_after is not None


def test_only_the_last_updates_are_given_and_the_newest_is_the_last(
    redis_client: redis.Redis, settings: Settings, taught: PoolStatus
) -> None:
    few = read(redis_client, settings, updates=5).pools["poem"].updates

    assert len(taught.updates) == 50
    assert few == taught.updates[-5:]
    assert [one.counted for one in few] == [55, 56, 57, 58, 59]
    assert "would fall" in next(one.lesson.reason for one in reversed(taught.updates) if one.lesson.refused)


def test_after_a_rollback_to_nothing_the_accuracy_is_that_of_no_training(
    redis_client: redis.Redis, settings: Settings
) -> None:
    teach(redis_client, range(40))
    roll_back(LessonLog(redis_client, "poem", ENCODER, kept=200, keep_days=1), 0)
    teach(redis_client, range(60, 72))

    status = read(redis_client, settings).pools["poem"]

    assert (status.version, status.held_out_accuracy.lessons) == (0, 2)
    assert status.held_out_accuracy.in_use == status.held_out_accuracy.untrained is not None


def test_a_pool_is_shown_alone_and_only_with_the_encoder_in_use(redis_client: redis.Redis, settings: Settings) -> None:
    teach(redis_client, range(3))
    teach(redis_client, range(2), pool="logic")
    redis_client.set(BEFORE, "the one before")

    assert list(read(redis_client, settings).pools) == ["logic", "poem"]
    assert list(read(redis_client, settings, "logic").pools) == ["logic"]
    assert read(redis_client, settings, "plan").pools == {}
    assert read_status(redis_client, settings, "another", None, 50).pools == {}
    assert read(redis_client, settings).encoder_before == "the one before"


def test_lessons_of_an_earlier_encoder_are_counted_apart(redis_client: redis.Redis, settings: Settings) -> None:
    teach(redis_client, range(20))
    old = LessonLog(redis_client, "poem", ENCODER, kept=200, keep_days=1)
    new = LessonLog(redis_client, "poem", "another", kept=200, keep_days=1)
    begin_with(new, [*old.lessons(), *old.held_out()], [], old.head().counted, None)

    status = read_status(redis_client, settings, "another", None, 50).pools["poem"]

    assert (status.lessons.carried_over, status.lessons.learnt, status.lessons.counted) == (19, 0, 19)
    assert status.version == 0
    assert status.held_out_accuracy.in_use == status.held_out_accuracy.untrained is not None


@pytest.mark.parametrize(
    ("blob", "fault"),
    [("{}", "it is missing, or no adapter"), (None, "it is missing, or no adapter"), ("damaged", "its hash does not")],
)
def test_a_version_that_no_agent_can_use_is_named(
    redis_client: redis.Redis, settings: Settings, blob: str | None, fault: str
) -> None:
    teach(redis_client, range(40))
    version = read(redis_client, settings).pools["poem"].version
    key = adapter_key("poem", ENCODER, version)
    if blob == "damaged":
        text = str(redis_client.get(key))
        start = text.index('"weights":"') + 1000
        redis_client.set(key, f"{text[:start]}AAAA{text[start + 4 :]}")
    elif blob is None:
        redis_client.delete(key)
    else:
        redis_client.set(key, blob)

    status = read(redis_client, settings).pools["poem"]

    assert status.version == version > 0
    assert status.fault is not None
    assert status.fault.startswith(fault)
    assert status.held_out_accuracy.in_use is None
    assert status.held_out_accuracy.untrained is not None


def test_reading_the_status_needs_no_torch() -> None:
    code = "import sys, memshare_trainer.status; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
