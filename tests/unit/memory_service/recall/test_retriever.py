from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import redis
from numpy.typing import NDArray

from memshare_memory.belief.trust import Standing, Standings, standings_key, standings_number_key
from memshare_memory.recall.retriever import Adapter, PublishedAdapter, Retriever, adapter_key, version_key
from tests.support.memories import remembered
from tests.support.word_encoder import WordEncoder

Publish = Callable[[PublishedAdapter], None]
LOGGER = "memshare_memory.recall.retriever"


@pytest.fixture
def retriever(redis_client: redis.Redis, encoder: WordEncoder) -> Retriever:
    return Retriever(redis_client, encoder)


@pytest.fixture
def publish(redis_client: redis.Redis) -> Publish:
    """Puts a version into use for the pool `poem`."""

    def put(published: PublishedAdapter) -> None:
        redis_client.set(adapter_key("poem", "tests/words", published.version), published.model_dump_json())
        redis_client.set(version_key("poem", "tests/words"), published.version)

    return put


def weights(factor: float) -> NDArray[np.float32]:
    """Weights that turn the fourth axis towards the first."""
    made = np.zeros((WordEncoder.dimension, WordEncoder.dimension), dtype=np.float32)
    made[0, 3] = factor
    return made


def turned(factor: float) -> tuple[float, float]:
    """Where normalise(AᵀA e₃) lies on the first axis and the fourth: A e₃ is (factor, 1), and Aᵀ of it adds factor²."""
    length = np.hypot(factor, 1 + factor**2)
    return factor / length, (1 + factor**2) / length


def packed(version: int, factor: float = 1, encoder: str = "tests/words") -> PublishedAdapter:
    return PublishedAdapter.pack(version, encoder, weights(factor))


def axis(place: int) -> NDArray[np.float32]:
    vector = np.zeros(WordEncoder.dimension, dtype=np.float32)
    vector[place] = 1
    return vector


def test_without_a_version_a_query_stays_as_it_is(retriever: Retriever) -> None:
    adapter = retriever.adapter("poem")

    assert adapter.version == 0
    assert adapter(axis(3)) is not None
    assert (adapter(axis(3)) == axis(3)).all()


def test_a_search_is_made_with_the_question_turned_twice_at_length_one() -> None:
    search = Adapter.of(1, weights(7), {})(axis(3))

    assert np.linalg.norm(search) == pytest.approx(1)
    assert search[[0, 3]] == pytest.approx(turned(7))
    assert search.dtype == np.float32


def test_the_score_is_the_cosine_of_both_turned_and_the_worth_of_the_submitter() -> None:
    adapter = Adapter.of(1, weights(7), {"ada": 0.25})

    scores = adapter.scores(axis(3), np.stack([axis(0), axis(3), axis(0)]), ["eve", "eve", "ada"])

    cosine = 7 / np.sqrt(50)
    assert scores == pytest.approx([cosine, 1, cosine + 0.25])


@pytest.mark.parametrize("factor", [0, 7])
def test_scores_are_the_same_where_lengths_are_known_and_no_memory_is_turned_again(factor: float) -> None:
    chance = np.random.default_rng(0)
    adapter = Adapter.of(1, weights(factor), {"ada": 0.25})
    texts, submitters = ["a", "b", "c"], ["eve", "eve", "ada"]
    rows = chance.normal(size=(3, 2, WordEncoder.dimension)).astype(np.float32)
    query = chance.normal(size=WordEncoder.dimension).astype(np.float32)
    adapter.lengths(texts[:2], rows[:2])

    known = adapter.lengths(texts, np.where([[[False]], [[False]], [[True]]], rows, np.float32(np.nan)))

    for side in (0, 1):
        plainly = adapter.scores(query, rows[:, side], submitters)
        assert adapter.scores(query, rows[:, side], submitters, known[:, side]) == pytest.approx(plainly, abs=1e-5)


def test_an_adapter_that_has_learnt_nothing_scores_by_the_cosine_alone() -> None:
    assert Adapter().scores(axis(3), np.stack([axis(0), axis(3)]), ["ada", "eve"]) == pytest.approx([0, 1])


def test_a_published_version_brings_the_worth_of_submitters(retriever: Retriever, publish: Publish) -> None:
    publish(PublishedAdapter.pack(1, "tests/words", weights(1), {"ada": 0.1}))

    assert retriever.adapter("poem").worth == {"ada": 0.1}


def stand(client: redis.Redis, **proven: bool) -> None:
    """Lets the pool `poem` know who is proven."""
    known = {name: Standing(worth=0, error=0.1, words=3, proven=one) for name, one in proven.items()}
    client.set(standings_key("poem", "tests/words"), Standings(submitters=known).model_dump_json())
    client.incr(standings_number_key("poem", "tests/words"))


def is_proven(retriever: Retriever, submitter: str, task_id: str | None) -> bool:
    memory = remembered("A lamp", submitter=submitter, task_id=task_id)[0]
    return retriever.adapter("poem").proven(memory, axis(0), {})


def test_a_memory_of_a_task_is_proven_once_its_submitter_is(retriever: Retriever, redis_client: redis.Redis) -> None:
    assert is_proven(retriever, "ada", None), "a person brought it in"
    assert not is_proven(retriever, "ada", "task")

    stand(redis_client, ada=True, eve=False)
    assert is_proven(retriever, "ada", "task")
    assert not is_proven(retriever, "eve", "task"), "words were said of them, but not for them"
    assert not is_proven(retriever, "bob", "task")

    stand(redis_client, ada=False)
    assert not is_proven(retriever, "ada", "task")


def test_standings_are_read_once_for_each_time_that_they_are_written(
    retriever: Retriever, redis_client: redis.Redis
) -> None:
    stand(redis_client, ada=True)
    assert is_proven(retriever, "ada", "task")

    redis_client.delete(standings_key("poem", "tests/words"))
    assert is_proven(retriever, "ada", "task")

    redis_client.incr(standings_number_key("poem", "tests/words"))
    assert not is_proven(retriever, "ada", "task")


def test_where_nobody_learns_everything_is_proven(redis_client: redis.Redis, encoder: WordEncoder) -> None:
    stand(redis_client, eve=False)

    assert is_proven(Retriever(redis_client, encoder, learns=False), "eve", "task")


def test_where_standings_cannot_be_read_nobody_is_proven_and_recall_goes_on(
    retriever: Retriever, redis_client: redis.Redis
) -> None:
    redis_client.set(standings_key("poem", "tests/words"), '{"submitters": 3}')

    assert not is_proven(retriever, "ada", "task")
    assert is_proven(retriever, "ada", None)


def test_weights_that_were_packed_come_out_again_in_half_precision() -> None:
    made = np.random.default_rng(0).normal(0, 0.1, (32, 32)).astype(np.float32)

    published = PublishedAdapter.model_validate_json(PublishedAdapter.pack(4, "tests/words", made).model_dump_json())

    assert (published.version, published.dimension) == (4, 32)
    assert published.unpack() == pytest.approx(made, abs=1e-3)


def test_the_adapter_of_the_bundled_encoder_takes_some_300_kilobytes() -> None:
    published = PublishedAdapter.pack(1, "all-MiniLM-L6-v2", np.zeros((384, 384), dtype=np.float32))

    assert 290_000 < len(published.weights) * 3 / 4 < 300_000


def test_a_new_version_is_used_at_the_next_recall(retriever: Retriever, publish: Publish) -> None:
    assert retriever.adapter("poem").version == 0

    publish(packed(1, factor=1))
    assert retriever.adapter("poem")(axis(3))[0] == pytest.approx(turned(1)[0])

    publish(packed(2, factor=7))
    assert retriever.adapter("poem")(axis(3))[0] == pytest.approx(turned(7)[0])
    assert retriever.adapter("plan").version == 0


def test_a_version_that_was_loaded_is_not_fetched_again(
    retriever: Retriever, publish: Publish, redis_client: redis.Redis
) -> None:
    publish(packed(1))
    first = retriever.adapter("poem").weights
    redis_client.delete(adapter_key("poem", "tests/words", 1))

    assert first is not None
    assert retriever.adapter("poem").weights is first


@pytest.mark.parametrize("back", [0, 1])
def test_an_earlier_version_is_used_again_after_a_rollback(
    retriever: Retriever, publish: Publish, redis_client: redis.Redis, back: int
) -> None:
    publish(packed(1, factor=1))
    publish(packed(2, factor=7))
    assert retriever.adapter("poem").version == 2

    redis_client.set(version_key("poem", "tests/words"), back)

    adapter = retriever.adapter("poem")
    assert adapter.version == back
    assert adapter(axis(3))[0] == pytest.approx([0, turned(1)[0]][back])


def damaged(version: int) -> PublishedAdapter:
    good, other = packed(version, factor=1), packed(version, factor=2)
    return good.model_copy(update={"weights": other.weights})


def misshapen(version: int) -> PublishedAdapter:
    small = PublishedAdapter.pack(version, "tests/words", np.zeros((3, 3), dtype=np.float32))
    return small.model_copy(update={"dimension": WordEncoder.dimension})


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (damaged(2), "its hash does not fit"),
        (misshapen(2), "its weights have the shape (3, 3)"),
        (packed(2, encoder="tests/other"), "it was made for the encoder 'tests/other' and not 'tests/words'"),
    ],
    ids=["damaged", "misshapen", "another encoder"],
)
def test_a_version_that_cannot_be_used_is_refused_once_and_the_old_one_kept(
    retriever: Retriever,
    publish: Publish,
    caplog: pytest.LogCaptureFixture,
    bad: PublishedAdapter,
    reason: str,
) -> None:
    publish(packed(1))
    assert retriever.adapter("poem").version == 1
    publish(bad)

    with caplog.at_level(logging.INFO, LOGGER):
        versions = [retriever.adapter("poem").version for _ in range(3)]

    assert versions == [1, 1, 1]
    assert caplog.messages == [f"Keeps retriever version 1 of pool poem: version 2 is refused, {reason}."]

    publish(packed(3))
    assert retriever.adapter("poem").version == 3


def test_a_version_that_is_not_there_is_refused_once_and_the_old_one_kept(
    retriever: Retriever, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client.set(version_key("poem", "tests/words"), 5)

    versions = [retriever.adapter("poem").version for _ in range(3)]

    assert versions == [0, 0, 0]
    assert caplog.messages == ["Keeps retriever version 0 of pool poem: version 5 is refused, it is not there."]


def test_what_is_no_adapter_at_all_is_refused_in_one_line(
    retriever: Retriever, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client.set(version_key("poem", "tests/words"), 5)
    redis_client.set(adapter_key("poem", "tests/words", 5), '{"version": 5}')

    assert retriever.adapter("poem").version == 0

    (line,) = caplog.messages
    assert line.startswith("Keeps retriever version 0 of pool poem: version 5 is refused, ")
    assert "\n" not in line


def test_threads_that_meet_a_bad_version_together_refuse_it_once(
    retriever: Retriever, publish: Publish, caplog: pytest.LogCaptureFixture
) -> None:
    publish(damaged(1))
    threads = 16
    start = threading.Barrier(threads)

    def version(_: int) -> int:
        start.wait(30)
        return retriever.adapter("poem").version

    with ThreadPoolExecutor(threads) as executor:
        versions = set(executor.map(version, range(threads)))

    assert versions == {0}
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_version_with_weights_that_are_no_numbers_is_refused(
    retriever: Retriever, publish: Publish, caplog: pytest.LogCaptureFixture, wrong: float
) -> None:
    publish(packed(1))
    assert retriever.adapter("poem").version == 1
    damaged = weights(1)
    damaged[2, 3] = wrong

    publish(PublishedAdapter.pack(2, "tests/words", damaged))

    assert retriever.adapter("poem").version == 1
    assert np.isfinite(retriever.adapter("poem")(axis(3))).all()
    assert "version 2 is refused, its weights are not all finite numbers" in caplog.text
