"""Moving a pool to another encoder while it is in use, in a folder and on a server."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import redis

from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import Candidate, LessonTask
from memshare_memory.encoders.encoder import BEFORE, BUNDLED, bundled_folder, folder_of
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import EXPORTS, Pool, name_in_use, open_pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from memshare_trainer.consolidation.consolidation import Consolidation
from memshare_trainer.learn import LearnStage
from memshare_trainer.lesson_log import LessonLog
from tests.support.lessons import FormLabeller
from tests.support.memories import remembered
from tests.support.qdrant_server import emptied

TUNED = f"{BUNDLED}@0123abcd"
PROMPTS = [f"{form} {topic}" for form in ("haiku", "recipe", "letter") for topic in ("whale", "tram", "snow", "bread")]


@pytest.fixture(params=["folder", "server"])
def settings(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings, exports: Path) -> Iterator[Settings]:
    """A pool of the test's own; its next encoder, with the weights and the export of the bundled one, is there."""
    with emptied() if request.param == "server" else nullcontext() as url:
        own = Settings(
            data=tmp_path,
            redis_url=settings.redis,
            qdrant_url=url,
            device="cpu",
        )
        shutil.copytree(bundled_folder(), folder_of(own, TUNED))
        (own.encoders_dir / EXPORTS).symlink_to(exports)
        yield own


@pytest.fixture
def pool(settings: Settings, redis_client: redis.Redis) -> Iterator[Pool]:
    """As an agent's process has it open."""
    pool = open_pool(settings, redis_client)
    remember(pool, *(remembered(prompt)[0] for prompt in PROMPTS))
    yield pool
    del pool._current  # what has its store open closes it when nobody has it any more: while its folder is there
    gc.collect()


def remember(pool: Pool, *memories: Memory) -> None:
    with pool.writing() as recall:
        recall.store.put(list(zip(memories, recall.vectors(list(memories)), strict=True)))


def consolidation(
    settings: Settings,
    client: redis.Redis,
    pool: Pool,
    in_use: str = BUNDLED,
    re_encoding: Callable[[int], None] = lambda _: None,
) -> Consolidation:
    def progress(what: str, done: int, total: int | None) -> None:
        if total and what.startswith("Re-encoding"):
            re_encoding(done)

    return Consolidation(settings, client, lambda after: pool().store.page(Where(), 5, after), in_use, progress)


def nearest(recall: Recall, prompt: str) -> str | None:
    return recall.nearest("poem", prompt, recall.embed(prompt).unpack(), 1, "dense").hits[0].memory.prompt


def test_a_pool_that_is_in_use_moves_with_what_was_written_meanwhile(
    settings: Settings, redis_client: redis.Redis, pool: Pool
) -> None:
    written: list[int] = []

    def write(done: int) -> None:
        if len(written) < 3:
            written.append(done)
            remember(pool, remembered(f"riddle number {len(written)}")[0])

    done = consolidation(settings, redis_client, pool, re_encoding=write).move_to(TUNED, with_lessons=True)

    assert (done.encoder_before, done.encoder, done.memories) == (BUNDLED, TUNED, len(PROMPTS))
    assert written
    assert pool().encoder_name == TUNED
    assert pool().store.count(Where()) == {"poem": len(PROMPTS) + len(written)}
    assert nearest(pool(), "riddle number 1") == "riddle number 1"
    assert name_in_use(settings, redis_client) == TUNED
    assert redis_client.get(BEFORE) == BUNDLED


def test_killed_half_way_nothing_has_changed_and_it_can_be_run_again(
    settings: Settings, redis_client: redis.Redis, pool: Pool
) -> None:
    def killed(done: int) -> None:
        if done > 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consolidation(settings, redis_client, pool, re_encoding=killed).move_to(TUNED, with_lessons=True)

    assert pool().encoder_name == BUNDLED
    assert name_in_use(settings, redis_client) == BUNDLED
    remember(pool, remembered("riddle of the tide")[0])

    consolidation(settings, redis_client, pool).move_to(TUNED, with_lessons=True)

    assert nearest(pool(), "riddle of the tide") == "riddle of the tide"
    assert pool().store.count(Where()) == {"poem": len(PROMPTS) + 1}


def test_going_back_takes_along_what_was_written_since(
    settings: Settings, redis_client: redis.Redis, pool: Pool
) -> None:
    consolidation(settings, redis_client, pool).move_to(TUNED, with_lessons=True)
    remember(pool, remembered("riddle of the tide")[0])

    consolidation(settings, redis_client, pool, in_use=TUNED).move_to(BUNDLED, with_lessons=False)

    assert pool().encoder_name == BUNDLED
    assert nearest(pool(), "riddle of the tide") == "riddle of the tide"


def test_lessons_are_carried_over_with_the_vectors_of_the_new_encoder(
    settings: Settings, redis_client: redis.Redis, pool: Pool
) -> None:
    memories = {prompt: remembered(prompt)[0] for prompt in PROMPTS}
    learn = LearnStage(redis_client, FormLabeller(), kept=100, keep_days=1)  # type: ignore[arg-type]
    for number, prompt in enumerate(PROMPTS):
        others = [memories[other] for other in PROMPTS if other != prompt]
        task = LessonTask(
            journey=f"journey-{number}",
            pool="poem",
            memory_id=memories[prompt].id,
            prompt=prompt,
            answer="Yes.",
            embedding=pool().embed(prompt),
            candidates=tuple(
                Candidate(id=one.id, prompt=one.prompt, answer="Yes.", embedding=pool().embed(one.key))
                for one in others
            ),
        )
        learn.run(task.journey, task)
    with pool.writing() as recall:
        recall.store.delete([memories["letter bread"].id])  # of what was forgotten, nothing is carried over

    consolidation(settings, redis_client, pool).move_to(TUNED, with_lessons=True)

    old, new = (LessonLog(redis_client, "poem", name, kept=100, keep_days=1) for name in (BUNDLED, TUNED))
    assert new.head().counted == old.head().counted == len(PROMPTS)
    carried = [*new.lessons(), *new.held_out()]
    assert sorted(one.number for one in carried) == list(range(1, len(PROMPTS)))
    assert all(memories["letter bread"].id not in one.memories for one in carried)
    haiku = next(one for one in carried if one.memory_id == memories["haiku whale"].id)
    assert haiku.example().query == pytest.approx(pool().embed("haiku whale").unpack(), abs=1e-3)
    before = next(one for one in old.lessons() if one.memory_id == haiku.memory_id).labels
    assert haiku.labels == {one: label for one, label in before.items() if one != memories["letter bread"].id}
