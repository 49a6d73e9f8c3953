"""Keys of Redis, written out and in again."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
import redis

from memshare.client.rest.calls.operating import LastBackup
from memshare.operate.backup import make
from memshare.operate.backup.make import nobody_writes, read_keys
from memshare.operate.backup.restore import is_used, remove_keys, write_keys
from memshare.operations.caller import Tokens
from memshare.operations.operating import note_backup, read_last_backup
from memshare_broker.app import list_of
from memshare_broker.connection import connect
from memshare_broker.delivery.schema import MESSAGES, PARKED, QUEUES, Entry, journey_key, open_key
from memshare_broker.errors import MemshareError, TryAgain
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import Signer
from memshare_memory.door.client import MemoryClient
from memshare_memory.pool.known_pools import RESTORING

BYTES = bytes(range(256))


def read(client: redis.Redis) -> list[str]:
    with nobody_writes(client) as alive:
        return list(read_keys(client, alive))


def write(client: redis.Redis, lines: list[str], signer: Signer | None = None) -> None:
    write_keys(client, lines, signer, lambda: None)


def content(client: redis.Redis) -> dict[str, Any]:
    """All there is, as Redis gives it."""
    by_type = {
        "string": ("GET",), "hash": ("HGETALL",), "set": ("SMEMBERS",), "list": ("LRANGE", 0, -1),
        "zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    }  # fmt: skip
    found = {}
    for key in map(str, client.scan_iter("*")):
        command, *rest = by_type[str(client.type(key))]
        found[key] = client.execute_command(command, key, *rest, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
    return found


@pytest.fixture
def filled(redis_client: redis.Redis) -> redis.Redis:
    redis_client.set("memshare:caps", BYTES)
    redis_client.set(journey_key("none"), "", ex=1_000)
    redis_client.hset("memshare:kept", mapping={"é \n\x00": BYTES, "": "", **{str(n): "x" for n in range(3_000)}})
    redis_client.rpush("memshare:retriever:poem:words:updates", *range(2_500), BYTES)
    redis_client.sadd("memshare:retrievers", *range(2_500), BYTES)
    scores = {"low": float("-inf"), "high": float("inf"), "third": 1 / 3, "large": 1.7e308}
    redis_client.zadd("memshare:trash", {**scores, **{str(n): n * 1.1 for n in range(2_500)}})
    redis_client.set("celery-task-meta-none", '{"status": "SUCCESS"}', ex=500)
    return redis_client


def test_every_kind_of_key_comes_back_as_it_was_with_its_time(filled: redis.Redis) -> None:
    before = content(filled)

    lines = read(filled)
    filled.flushall()
    write(filled, lines)

    assert content(filled) == before
    assert len(before) == 7
    assert 990 < filled.ttl(journey_key("none")) <= 1_000
    assert 490 < filled.ttl("celery-task-meta-none") <= 500
    assert filled.ttl("memshare:caps") == -1


def test_what_lives_for_a_moment_and_what_is_not_ours_is_left_out(redis_client: redis.Redis) -> None:
    mine = [
        "memshare:worker:a@b", "memshare:gate:closed", "memshare:settle:poem", "memshare:pool:owner",
        "memshare:sweeping", "memshare:lives", "memshare:rate:x", "memshare:retriever:poem:words:lease",
    ]  # fmt: skip
    for key in [*mine, "poem", "unacked", "celery-task-meta-of-another", "somebody:else"]:
        redis_client.set(key, "x")

    assert read(redis_client) == []
    assert not is_used(redis_client)


def test_the_last_backup_is_the_same_after_an_earlier_one_was_restored(redis_client: redis.Redis) -> None:
    earlier, last = (LastBackup(at=at, by="ada", file=f"{at}.zip", size=1, memories=1) for at in (1.0, 2.0))
    note_backup(redis_client, earlier)
    lines = read(redis_client)
    note_backup(redis_client, last)

    remove_keys(redis_client)
    write(redis_client, lines)

    assert read_last_backup(redis_client) == last


def test_open_messages_are_overdue_and_signed_anew_and_those_that_wait_keep_their_time(
    redis_client: redis.Redis,
) -> None:
    old, new = Signer((b"a" * 32,)), Signer((b"b" * 32,))
    entry = Entry(id="1", task="scorer.score", queue="scorer", body={"é": "\u2028"}, journey="0", stage="score")
    signed = entry.model_copy(update={"signature": old.sign(entry.task, entry.id, entry.journey, entry.body)})
    parked, free = (signed.model_copy(update={"id": name}) for name in ("2", "3"))
    free = free.model_copy(update={"signature": None})
    redis_client.hset(MESSAGES, mapping={one.id: one.model_dump_json() for one in (signed, parked, free)})
    redis_client.zadd(open_key("scorer"), {"1": 1.7e9, "2": 1.9e9, "3": 1.7e9})
    redis_client.zadd(PARKED, {"2": 1.9e9})
    redis_client.sadd(QUEUES, "scorer")

    lines = read(redis_client)
    redis_client.flushall()
    write(redis_client, lines, new)

    found = {one: Entry.model_validate_json(text) for one, text in redis_client.hgetall(MESSAGES).items()}
    assert new.proves(found["1"].signature, entry.task, "1", "0", entry.body)
    assert found["1"].body == entry.body
    assert found["3"].signature is None
    assert dict(redis_client.zrange(open_key("scorer"), 0, -1, withscores=True)) == {"1": 0, "2": 1.9e9, "3": 0}


def test_everything_of_a_deployment_is_removed_and_nothing_else(filled: redis.Redis) -> None:
    filled.sadd(QUEUES, "poem")
    for key in ("poem", list_of("poem", 9)):
        filled.rpush(key, "a message")
    filled.hset("unacked", "tag", "a message")
    filled.set("somebody:else", "x")
    filled.set(RESTORING, "a file")
    assert is_used(filled)

    remove_keys(filled)

    assert set(map(str, filled.keys("*"))) == {"somebody:else", RESTORING}


def test_a_token_that_was_revoked_after_the_backup_stays_revoked(redis_client: redis.Redis) -> None:
    tokens = Tokens(redis_client)
    ada, eve = (tokens.create(name, ("recall",), None) for name in ("ada", "eve"))
    lines = read(redis_client)
    tokens.revoke("eve")
    bob = tokens.create("bob", ("recall",), None)

    remove_keys(redis_client)
    left_out = write_keys(redis_client, lines, None, lambda: None)

    assert left_out == 2
    assert [bool(tokens.find(one)) for one in (ada, eve, bob)] == [True, False, True]


def test_tokens_of_a_backup_come_back_where_they_are_wanted(redis_client: redis.Redis) -> None:
    tokens = Tokens(redis_client)
    ada = tokens.create("ada", ("recall",), None)
    lines = read(redis_client)
    tokens.revoke("ada")
    bob = tokens.create("bob", ("recall",), None)
    assert not is_used(redis_client)

    remove_keys(redis_client, tokens=True)

    assert write_keys(redis_client, lines, None, lambda: None, tokens=True) == 0
    assert [bool(tokens.find(one)) for one in (ada, bob)] == [True, False]


def test_who_wants_to_write_waits_and_who_reads_does_not(filled: redis.Redis, settings: Settings) -> None:
    written: list[float] = []

    def work() -> None:
        client = connect(settings.redis)
        client.set("memshare:caps", "later")
        written.append(time.monotonic())
        client.close()

    with nobody_writes(filled):
        thread = threading.Thread(target=work)
        thread.start()
        assert filled.hlen("memshare:kept") == 3_002
        thread.join(0.3)
        assert filled.execute_command("GET", "memshare:caps", NEVER_DECODE=True) == BYTES  # type: ignore[no-untyped-call]
        ended = time.monotonic()
    thread.join(10)

    assert written[0] > ended
    assert filled.get("memshare:caps") == "later"


def test_what_was_read_while_writers_may_have_been_let_go_on_is_no_backup(
    filled: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memshare.operate.backup.make._PAUSE", 0.05)
    with pytest.raises(TryAgain, match="too slowly"), nobody_writes(filled):
        time.sleep(0.1)

    assert filled.set("memshare:caps", "later")


def test_a_backup_that_read_redis_too_slowly_says_so_and_tries_again(
    filled: redis.Redis, memory: MemoryClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "_PAUSE", 0.0)
    monkeypatch.setattr(make, "_BETWEEN", 0.0)
    said = []

    def progress(what: str, _: int) -> None:
        said.append(what)
        monkeypatch.setattr(make, "_PAUSE", 10.0)  # it is less busy by now

    with (tmp_path / "keys").open("w+b") as keys, (tmp_path / "copied").open("w+b") as copied:
        keys.write(b"of the first try")
        make.read_as_one(filled, keys, make.PoolCopy(memory, copied), progress)
        keys.seek(0)
        lines = keys.read().decode().splitlines()

    assert said == ["Redis was read too slowly; trying again, 4 times at most"]
    assert sum('"memshare:kept"' in one for one in lines) == 1


def test_a_redis_that_lets_nobody_pause_it_says_what_to_allow(redis_client: redis.Redis, settings: Settings) -> None:
    redis_client.execute_command("ACL", "SETUSER", "reader", "on", ">x", "~*", "+@read", "+ping", "+client|setinfo")  # type: ignore[no-untyped-call]
    limited = redis.Redis(
        unix_socket_path=settings.redis.removeprefix("unix://").partition("?")[0],
        username="reader",
        password="x",
    )

    with pytest.raises(MemshareError, match=r"\+client\|pause"), nobody_writes(limited):
        pytest.fail("nobody may pause it")

    limited.close()
    redis_client.execute_command("ACL", "DELUSER", "reader")  # type: ignore[no-untyped-call]
