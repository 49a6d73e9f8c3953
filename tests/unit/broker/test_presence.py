"""Who is there, also beside another release."""

import json

import pytest
import redis

from memshare_broker.presence import PREFIX, Presence, announce, present

WORKER = {"node": "new@host", "pid": 1, "incarnation": "l", "queues": ["poem"]}
CARD = {"name": "poem", "kinds": ["limerick"], "pool": "poem", "model": "m"}


def test_a_worker_of_a_newer_release_is_there_though_it_tells_more_of_itself(redis_client: redis.Redis) -> None:
    newer = WORKER | {"version": "9.9", "agents": [CARD | {"colour": "red"}]}
    redis_client.set(PREFIX + "new@host", json.dumps(newer))

    (worker,) = present(redis_client)

    assert (worker.node, worker.incarnation, worker.agents[0].kinds) == ("new@host", "l", ("limerick",))


@pytest.mark.parametrize("text", ["{}", "no JSON", json.dumps(WORKER | {"pid": "many"})])
def test_a_worker_that_cannot_be_read_does_not_hide_the_others(
    text: str, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client.set(PREFIX + "new@host", text)
    announce(redis_client, Presence(node="w@host", pid=1, incarnation="l", queues=("poem",)))

    assert [worker.node for worker in present(redis_client)] == ["w@host"]
    assert "'new@host'" in caplog.text


def test_a_full_redis_goes_on_knowing_a_worker_that_is_there(redis_client: redis.Redis) -> None:
    worker = Presence(node="w@host", pid=1, incarnation="l", queues=("poem",))
    announce(redis_client, worker)
    redis_client.expire(PREFIX + "w@host", 3)
    redis_client.config_set("maxmemory", 1)
    try:
        with pytest.raises(redis.exceptions.OutOfMemoryError):
            announce(redis_client, worker)
    finally:
        redis_client.config_set("maxmemory", 0)

    assert redis_client.ttl(PREFIX + "w@host") > 3
