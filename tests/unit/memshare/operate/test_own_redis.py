from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import redis

from memshare.operate.data_folder import connected, hold_folder, redis_running
from memshare_broker.connection import connect
from memshare_broker.errors import MemshareError, Unreachable
from memshare_broker.settings import Settings
from tests.support.full_redis import full_disk


def test_a_redis_is_there_for_the_block_alone_and_keeps_what_it_was_told(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)

    with connected(settings) as client:
        client.set("told", "kept")
    with closing(connect(settings.redis, tries=0)) as client, pytest.raises(redis.ConnectionError):
        client.ping()

    with connected(settings) as client:
        assert client.get("told") == "kept"


def test_nobody_else_can_start_a_redis_on_the_folder_meanwhile(tmp_path: Path) -> None:
    with (
        redis_running(Settings(data=tmp_path)),
        pytest.raises(MemshareError, match="runs already"),
        hold_folder(tmp_path),
    ):
        pass

    with (
        hold_folder(tmp_path),
        pytest.raises(MemshareError, match="runs already"),
        redis_running(Settings(data=tmp_path)),
    ):
        pass


def test_a_redis_that_answers_is_used_as_it_is(settings: Settings, redis_client: redis.Redis) -> None:
    redis_client.set("told", "before")

    with connected(settings) as client:
        assert client.get("told") == "before"
        with hold_folder(settings.data):
            pass
    assert redis_client.ping()


def test_a_redis_whose_disk_is_full_is_used_as_it_is(settings: Settings, redis_client: redis.Redis) -> None:
    with full_disk(redis_client), hold_folder(settings.data), connected(settings) as client:
        assert client.get("told") is None


@pytest.mark.slow  # a command waits some seconds for a Redis that does not answer
def test_a_redis_of_the_settings_is_not_started(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, redis_url=f"unix://{tmp_path}/nobody.sock?db=0")

    with redis_running(settings):
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(Unreachable, match="does not answer"), connected(settings):
        pass
