"""What `memshare status` says of a deployment. The real command line and Redis."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import redis

from memshare.client.client import Client
from memshare.client.replies import StatusReply
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp, NotYet
from memshare_broker.presence import Presence, announce
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.usage import UsageLog
from tests.support import prepared_python
from tests.support.deployment import ended, wait_for
from tests.support.terminal import NOTHING, Terminal


@pytest.fixture
def terminal(settings: Settings, tmp_path: Path) -> Terminal:
    terminal = Terminal(tmp_path)
    terminal.environment["MEMSHARE_REDIS_URL"] = settings.redis
    return terminal


def entry(name: str) -> Entry:
    return Entry(id=name, task="agents.poem", queue="poem", body={}, journey=name, stage="answer", begins=True)


def test_a_redis_without_room_is_said(terminal: Terminal, redis_client: redis.Redis) -> None:
    redis_client.config_set("maxmemory", 1)
    try:
        said = terminal.run("status").stdout
    finally:
        redis_client.config_set("maxmemory", 0)

    assert "Redis takes no writes" in said
    assert "maxmemory" in said


def test_calls_of_before_a_worker_began_to_ask_a_model_count_no_more(
    terminal: Terminal, redis_client: redis.Redis, tmp_path: Path
) -> None:
    model = terminal.environment["MEMSHARE_MODEL"]
    log = UsageLog(redis_client)
    for _ in range(5):
        log.ended(model, "answers", "other", 1.0, Usage())
    log.flush()
    assert f"5 of the last 5 calls of {model} failed." in terminal.run("status").stdout

    (said := tmp_path / "said").touch()
    worker = prepared_python.start(["worker", "scorer"], terminal.environment, [NOTHING, said, said])
    try:
        wait_for(lambda: not log.lately(), 60, "them to be forgotten")
    finally:
        worker.terminate()
        ended(worker)


def test_the_model_that_says_which_memories_mislead_is_told(terminal: Terminal, redis_client: redis.Redis) -> None:
    about = {"node": "trainer-7@here", "pid": 7, "incarnation": "x", "queues": ("trainer",)}
    announce(redis_client, Presence.model_validate({**about, "trainer_model": "openai:labels"}))

    assert terminal.json("status")["workers"][0]["models"] == ["openai:labels"]


def test_status_says_who_is_there_what_waits_and_why_and_what_was_given_up(
    terminal: Terminal, settings: Settings, redis_client: redis.Redis
) -> None:
    assert "No worker is there." in terminal.run("status").stdout
    with closing(Client(settings)) as client:
        client.ledger.open(entry("t1"))
        client.ledger.park(entry("t1"), NotYet("The cap is used up.", 60, hold="agent poem"))
        client.ledger.open(entry("t2"))
        client.dead_letters.add(letter_for(entry("t2"), GiveUp("It refuses."), tries=1))
    announce(redis_client, Presence(node="poem-7@here", pid=7, incarnation="x", queues=("poem",), agents=()))

    said, told = terminal.run("status").stdout, StatusReply.model_validate(terminal.json("status"))

    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "poem-7@here poem –" in lines
    assert any(line.startswith("poem 1 0 ") and line.endswith(" 1") for line in lines), said
    assert any(line.startswith("poem waits 1 until ") and line.endswith(": The cap is used up.") for line in lines)
    assert "1 dead letter: `memshare dead list` shows them." in said
    assert (told.dead_letters, [one.name for one in told.workers]) == (1, ["poem-7@here"])
