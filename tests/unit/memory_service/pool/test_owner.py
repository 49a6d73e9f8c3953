"""Who has the pool of a Redis, and who is refused."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_memory.pool import owner
from memshare_memory.pool.owner import OWNER, Claim, claim
from tests.support.deployment import wait_for

Claiming = Callable[[str], Claim]


@pytest.fixture
def claiming(tmp_path: Path, settings: Settings, redis_client: redis.Redis) -> Iterator[Claiming]:
    """Claims the Redis of all tests for the pool in a folder, as a process of its own would."""
    with ExitStack() as claims:

        def run(folder: str) -> Claim:
            made = claim(redis_client, Settings(data=tmp_path / folder, redis_url=settings.redis))
            assert made is not None
            claims.callback(made.release)
            return made

        yield run


def test_a_second_pool_on_one_redis_is_refused_with_both_addresses(claiming: Claiming, tmp_path: Path) -> None:
    claiming("first")

    with pytest.raises(BadInput) as refusal:
        claiming("second")

    for words in (
        str(tmp_path / "first"),
        str(tmp_path / "second"),
        socket.gethostname(),
        "MEMSHARE_DATA",
        "MEMSHARE_REDIS_URL",
        "MEMSHARE_QDRANT_URL",
        f"free in {owner.EXPIRY} s",
    ):
        assert words in str(refusal.value)


def test_the_same_folder_takes_over_from_a_killed_process_at_once(claiming: Claiming) -> None:
    killed, again = claiming("pool"), claiming("pool")

    assert again.renew()
    assert not killed.renew()
    assert killed.lost_to == again.owner


def test_what_was_released_can_be_claimed_by_another_pool(claiming: Claiming, redis_client: redis.Redis) -> None:
    claiming("first").release()
    assert not redis_client.exists(OWNER)

    second = claiming("second")

    assert second.renew()


def test_who_was_taken_over_releases_nothing(claiming: Claiming) -> None:
    killed, again = claiming("pool"), claiming("pool")

    killed.release()

    assert again.renew()
    with pytest.raises(BadInput):
        claiming("other")


def test_a_claim_that_is_not_renewed_expires(claiming: Claiming, redis_client: redis.Redis) -> None:
    claiming("first")
    assert 0 < redis_client.ttl(OWNER) <= owner.EXPIRY

    redis_client.delete(OWNER)  # as happens to the claim of a process that was killed

    assert claiming("second").renew()


def test_a_claim_is_renewed_and_comes_back_in_a_redis_that_lost_its_data(
    claiming: Claiming, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "RENEW_EVERY", 0.02)
    claiming("first")

    redis_client.flushall()

    wait_for(lambda: bool(redis_client.exists(OWNER)), 10, "the claim to come back")
    with pytest.raises(BadInput):
        claiming("second")


def test_a_process_that_was_away_for_too_long_says_whose_the_redis_is_now(
    claiming: Claiming, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    away = claiming("first")
    redis_client.delete(OWNER)
    second = claiming("second")

    assert not away.renew()
    assert not away.renew()

    assert away.lost_to == second.owner
    [said] = [record.getMessage() for record in caplog.records if record.name == owner.__name__]
    assert second.owner.folder in said
    assert away.owner.folder in said


def test_a_pool_on_a_server_needs_no_claim(settings: Settings, redis_client: redis.Redis, tmp_path: Path) -> None:
    on_server = Settings(data=tmp_path, redis_url=settings.redis, qdrant_url="http://127.0.0.1:6333")

    assert claim(redis_client, on_server) is None
    assert not redis_client.exists(OWNER)


def test_a_folder_that_does_not_say_which_pool_it_has_is_named(claiming: Claiming, tmp_path: Path) -> None:
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "pool-id.json").write_text("{}")

    with pytest.raises(BadInput, match=r"pool-id\.json"):
        claiming("pool")
