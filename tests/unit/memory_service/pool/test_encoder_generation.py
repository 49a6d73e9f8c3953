from __future__ import annotations

import gc
import shutil
from pathlib import Path

import numpy as np
import pytest
import redis
import torch
from sentence_transformers import SentenceTransformer

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_memory.belief.bandit import Arms, Bandit, Credit, in_general
from memshare_memory.encoders.encoder import BUNDLED, ENCODER, bundled_folder, folder_of, origin_of, tuned_name
from memshare_memory.encoders.open_encoder import Reach
from memshare_memory.pool.pool import EXPORTS, encoder_named, name_in_use, open_pool
from memshare_memory.stores.open_store import layout_in_use
from memshare_memory.stores.store import Where
from tests.support.memories import remembered

TUNED = f"{BUNDLED}@0123abcd"


@pytest.fixture
def settings(tmp_path: Path, settings: Settings) -> Settings:
    """A data folder of the test's own, and the Redis and the exported encoders of all tests."""
    return Settings(data=tmp_path, redis_url=settings.redis, device="cpu")


@pytest.fixture
def tuned(settings: Settings, exports: Path) -> str:
    """An encoder as consolidation leaves it; its weights, and so its export, are those of the bundled one."""
    shutil.copytree(bundled_folder(), folder_of(settings, TUNED))
    (settings.encoders_dir / EXPORTS).symlink_to(exports)
    return TUNED


def test_a_tuned_encoder_is_named_after_the_one_it_goes_back_to() -> None:
    assert tuned_name("BAAI/bge-m3", "0123abcd99") == "BAAI/bge-m3@0123abcd"
    assert tuned_name("BAAI/bge-m3@0123abcd", "99999999") == "BAAI/bge-m3@99999999"
    assert origin_of("BAAI/bge-m3@99999999") == origin_of("BAAI/bge-m3") == "BAAI/bge-m3"
    assert origin_of("me@example") == "me@example"


def test_a_pool_begins_with_the_encoder_of_the_settings_and_finds_it_again(
    settings: Settings, redis_client: redis.Redis
) -> None:
    assert name_in_use(settings, redis_client) is None
    pool = open_pool(settings, redis_client)
    moon, _ = remembered("moon", pool="poem")
    pool().store.put([(moon, pool().vectors([moon])[0])])
    assert redis_client.get(ENCODER) == BUNDLED

    del pool
    gc.collect()  # nobody holds it any more, so its folder is free
    redis_client.flushall()

    assert name_in_use(settings, redis_client) == BUNDLED
    assert open_pool(settings, redis_client)().store.count(Where()) == {"poem": 1}


@pytest.mark.parametrize(
    ("times", "changed", "is_shown"),
    [
        (8, {}, True),
        (8, {"credit_half_life": 0}, False),
        (2, {"credit_half_life": 0}, True),
        (2, {"credit_half_life": 0, "alpha": 0}, False),
    ],
)
def test_credit_fades_and_doubt_counts_as_the_settings_say(
    settings: Settings, redis_client: redis.Redis, times: int, changed: dict[str, float], is_shown: bool
) -> None:
    recall = open_pool(settings.model_copy(update=changed), redis_client)()
    moon, _ = remembered("moon", pool="poem")
    recall.store.put([(moon, recall.vectors([moon])[0])])
    wrong, long_ago = Credit(moon.id, in_general(moon), 0.0), Bandit(today=lambda: 10_000)
    for number in range(times):
        Arms(redis_client, bandit=long_ago).add("poem", f"{number}", [wrong])

    hits = recall.nearest("poem", "moon", recall.encode(["moon"])[0], 1).hits

    assert bool(hits) == is_shown


def test_a_running_pool_follows_to_a_tuned_encoder_and_lets_go_of_the_old_folder(
    settings: Settings, redis_client: redis.Redis, tuned: str
) -> None:
    pool = open_pool(settings, redis_client)
    old = pool()

    redis_client.set(ENCODER, tuned)

    assert pool().encoder_name == tuned
    assert layout_in_use(settings) is not None
    assert layout_in_use(settings).encoder == tuned
    assert (settings.data / "pool" / "owner.json").exists()
    del old
    gc.collect()
    assert not (settings.data / "pool" / "owner.json").exists()


def test_texts_out_of_reach_of_a_tuned_encoder_keep_the_vectors_of_the_first(settings: Settings, tuned: str) -> None:
    folder = folder_of(settings, tuned)
    model = SentenceTransformer(str(folder))
    with torch.no_grad():
        model[0].auto_model.encoder.layer[-1].output.dense.weight.mul_(0.5)
    model.save(str(folder))
    (settings.encoders_dir / EXPORTS).unlink()
    owls = np.asarray(model.encode(["A poem about an owl."], normalize_embeddings=True))
    first = encoder_named(settings, BUNDLED)
    Reach(first.encode(["A poem about an owl."])[0], -0.9).write(folder)
    used = encoder_named(settings, tuned)

    texts = ["A poem about an owl.", "How long do I boil an egg?"]
    assert np.allclose(used.encode(texts[:1]), owls, atol=1e-3)
    assert not np.allclose(used.encode(texts[:1]), first.encode(texts[:1]), atol=1e-3)
    assert np.allclose(used.encode(texts[1:]), first.encode(texts[1:]), atol=1e-6)
    assert [*(settings.encoders_dir / EXPORTS).glob("*/encoder.onnx")], "others find its export beside it"


def test_redis_has_the_last_word_on_which_encoder_is_in_use(
    settings: Settings, redis_client: redis.Redis, tuned: str
) -> None:
    open_pool(settings, redis_client)
    gc.collect()
    redis_client.set(ENCODER, tuned)  # and then whoever made the swap was killed

    pool = open_pool(settings, redis_client)

    assert pool().encoder_name == tuned
    assert name_in_use(settings, redis_client) == tuned


def test_a_name_that_was_left_in_redis_by_another_pool_does_not_keep_a_new_one_from_opening(
    settings: Settings, redis_client: redis.Redis
) -> None:
    redis_client.set(ENCODER, TUNED)

    assert open_pool(settings, redis_client)().encoder_name == BUNDLED
    assert redis_client.get(ENCODER) == BUNDLED


def test_a_pool_of_another_encoder_is_refused_with_the_way_out(settings: Settings, redis_client: redis.Redis) -> None:
    open_pool(settings, redis_client)
    gc.collect()

    with pytest.raises(BadInput) as refusal:
        open_pool(settings.model_copy(update={"encoder": "BAAI/bge-m3"}), redis_client)

    for words in (BUNDLED, "BAAI/bge-m3", "memshare retriever consolidate", "MEMSHARE_ENCODER"):
        assert words in str(refusal.value)


def test_a_tuned_encoder_that_is_not_on_this_machine_is_named_with_the_folder_it_should_be_in(
    settings: Settings, redis_client: redis.Redis
) -> None:
    open_pool(settings, redis_client)
    gc.collect()
    redis_client.set(ENCODER, TUNED)

    with pytest.raises(BadInput, match=r"MEMSHARE_ENCODERS") as refusal:
        open_pool(settings, redis_client)

    assert str(settings.encoders_dir) in str(refusal.value)
