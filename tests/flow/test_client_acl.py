"""A client with a Redis user of its own, by the example in deploy/: what it can do, and what Redis keeps it from."""

from __future__ import annotations

import gc
import hashlib
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest
import redis
from celery import Celery
from kombu import Exchange, Queue
from redis.exceptions import NoPermissionError

from memshare_broker.connection import connect
from memshare_broker.redis_server import server_binary
from memshare_broker.settings import Settings
from tests.flow.test_metrics import grade
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, wait_for

EXAMPLE = ROOT / "deploy" / "redis" / "clients.conf"
PASSWORD, OURS = "of-the-shop", "of-the-workers"
QUEUES = ("poem", "scorer", "memory")


def _is_older_than_the_example() -> bool:
    said = subprocess.run([server_binary(), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Redis server v=(\d+)\.(\d+)", said)
    return found is not None and tuple(map(int, found.groups())) < (7, 2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Redis that includes the example."""
    folder = tmp_path_factory.mktemp("redis")
    users = EXAMPLE.read_text().replace("PASSWORD_HASH", hashlib.sha256(PASSWORD.encode()).hexdigest())
    (folder / "clients.conf").write_text(users)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    if _is_older_than_the_example():
        pytest.skip("deploy/redis/clients.conf takes Redis 7.2 or newer, or Valkey")
    said = f"port {port}\nrequirepass {OURS}\ndir {folder}\nsave ''\ninclude {folder}/clients.conf\n"
    with subprocess.Popen([server_binary(), "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(said.encode())
        process.stdin.close()
        with closing(connect(f"redis://:{OURS}@127.0.0.1:{port}/0", tries=8)) as client:
            wait_for(client.ping, 20, "Redis")
        yield f"127.0.0.1:{port}/0"
        process.terminate()


@pytest.fixture(scope="module")
def deployment(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    def answer(body: dict[str, Any]) -> Answer:
        return Answer(text=grade(body, 90) if "response_format" in body else "An answer")

    folder = tmp_path_factory.mktemp("data")
    url = f"redis://:{OURS}@{server}"
    settings = Settings(data=folder, redis_url=url, model="openai:scripted")
    with serving(answer) as chat, deployed(settings, chat, folder, [QUEUES], MEMSHARE_REDIS_URL=url) as running:
        yield running


@pytest.fixture
def shop(server: str) -> Iterator[redis.Redis]:
    """Redis, as the client may use it."""
    with closing(redis.Redis.from_url(f"redis://shop:{PASSWORD}@{server}")) as client:
        yield client


def test_a_client_submits_a_task_and_reads_its_answer(deployment: Deployment, server: str) -> None:
    url = f"redis://shop:{PASSWORD}@{server}"
    app = Celery("shop", broker=url, backend=url, set_as_current=False)
    # Straight to the list of the agent: to declare a queue is to write to what all clients share.
    poem = Queue("poem", Exchange(""), routing_key="poem", no_declare=True)

    submitted = app.send_task("agents.poem", [{"prompt": "A limerick"}], queue=poem, task_id=f"shop-{uuid4()}")

    assert submitted.get(timeout=30)["answer"] == "An answer"
    assert deployment.settled(submitted.id).state == "settled", "graded and stored like any other"
    del submitted
    gc.collect()  # results hold a subscription until they are collected
    app.close()


def test_redis_refuses_it_everything_else(deployment: Deployment, shop: redis.Redis) -> None:
    victim = deployment.client.submit("poem", "A secret", submitter="ada")
    deployment.settled(victim.id)
    results = f"celery-task-meta-{victim.id}"
    assert deployment.client.result(victim.id).get(timeout=5)

    attempts: list[tuple[Any, ...]] = [
        ("GET", results),
        ("SUBSCRIBE", results),
        ("SUBSCRIBE", "celery-task-meta-*"),
        ("PSUBSCRIBE", "*"),
        ("SET", "celery-task-meta-shop-1", "forged"),
        ("PUBLISH", "celery-task-meta-shop-1", "forged"),
        ("PUBLISH", "/0.celery.pidbox", "{}"),
        ("LPUSH", "scorer", "{}"),
        ("LPUSH", "memory", "{}"),
        ("LPUSH", "trainer", "{}"),
        ("LPUSH", "plan", "{}"),
        ("LRANGE", "poem", 0, -1),
        ("RPOP", "poem"),
        ("BRPOP", "poem", 1),
        ("DEL", "poem"),
        ("SADD", "_kombu.binding.poem", "x"),
        ("HGETALL", "memshare:messages"),
        ("HGETALL", f"memshare:journey:{victim.id}"),
        ("HGETALL", "memshare:dead"),
        ("EVAL", "return redis.call('GET', ARGV[1])", 0, results),
        ("KEYS", "*"),
        ("SCAN", 0),
        ("MONITOR",),
        ("CONFIG", "GET", "*"),
        ("ACL", "LIST"),
        ("CLIENT", "LIST"),
        ("FLUSHALL",),
        ("SHUTDOWN",),
    ]
    for attempt in attempts:
        with pytest.raises(NoPermissionError):
            shop.execute_command(*attempt)

    assert shop.get("celery-task-meta-shop-1") is None, "its own answers it may read"
    assert shop.ping()


def test_what_it_pushes_into_its_agents_queue_is_signed_by_nobody(deployment: Deployment, server: str) -> None:
    url = f"redis://shop:{PASSWORD}@{server}"
    app = Celery("shop", broker=url, backend=url, set_as_current=False)
    poem = Queue("poem", Exchange(""), routing_key="poem", no_declare=True)

    app.send_task("memory_service.settle", [{"forged": True}], queue=poem, task_id="shop-x", ignore_result=True)

    letters = wait_for(deployment.client.dead_letters.all, 20, "a dead letter")
    assert [letter.reason for letter in letters] == ["signature"]
    app.close()
