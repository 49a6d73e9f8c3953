"""`Memory` and `AsyncMemory` on a real `memshare serve`."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest
import redis

import memshare
from memshare import AsyncMemory, BadInput, Forbidden, Memory, NotFound, NoToken, Stale, TooLarge, TryAgain
from memshare.operations.backend import Backend
from memshare_broker.delivery.dead_letters import letter_for, unreadable
from memshare_broker.delivery.schema import MESSAGES
from tests.unit.memshare.doors.conftest import bury

TASK = "new lamp by the sea"
PATHS = {
    "recall",
    "pairs",
    "feedback",
    "tasks",
    "journeys",
    "memories",
    "pools",
    "agents",
    "rubrics",
    "stats",
    "dead_letters",
}


def open_bodies(client: redis.Redis) -> list[dict]:
    return [json.loads(text)["body"] for text in client.hvals(MESSAGES)]


def test_the_three_calls_are_typed(client: Memory, shelf: dict[str, str], redis_client: redis.Redis) -> None:
    recalled = client.recall(TASK, agent="logic", filters={"kind": "riddle"}, format="messages")
    accepted = client.pairs(TASK, "A buoy.", agent="logic", kind="riddle", recall_id=recalled.recall_id)
    told = client.feedback(1.0, recall_id=recalled.recall_id)
    again = client.feedback(memories={UUID(shelf["logic"]): 0.0}, journey=accepted.id)

    assert [one.id for one in recalled.memories] == [UUID(shelf["logic"])]
    assert recalled.messages is not None
    assert recalled.messages[-1].content == "A light."
    assert [str(one) for one in told.taken] == [shelf["logic"]] == [str(one) for one in again.known]
    assert client.journeys.get(accepted.id).answer == "A buoy."
    [pair] = [one for one in open_bodies(redis_client) if "answer" in one]
    assert [one["id"] for one in pair["shown"]] == [shelf["logic"]]


def test_a_task_can_be_submitted_and_cancelled(client: Memory) -> None:
    accepted = client.tasks("poem", "A lamp", kind="limerick")

    assert client.journeys.get(accepted.id, wait=0.1).state == "queued"
    assert client.journeys.cancel(accepted.id).outcome == "cancelled"


def test_memories_are_brought_in_found_changed_and_forgotten(client: Memory) -> None:
    added = client.memories.add("A pier has piles.", pool="logic", prompt="What is a pier?", new_pool=True)
    identity = added.memory.id

    assert client.memories.search("a pier", pool="logic").memories[0].memory.id == identity
    assert [one.id for one in client.memories.page(pool="logic", limit=1).memories] == [identity]
    changed = client.memories.edit(identity, added.version, answer="A pier stands on piles.")
    assert changed.memory.answer == "A pier stands on piles."
    with pytest.raises(Stale):
        client.memories.edit(identity, added.version, answer="Anew.")
    assert client.memories.get(identity).memory == changed.memory
    assert client.memories.forget(identity).ids == (identity,)
    with pytest.raises(NotFound):
        client.memories.get(identity)


def test_what_there_is_is_listed(client: Memory, shelf: dict[str, str]) -> None:
    assert {pool.name: pool.memories for pool in client.pools()}.items() >= dict.fromkeys(shelf, 1).items()
    assert "logic" in [agent.name for agent in client.agents()]
    assert "logic" in [rubric.name for rubric in client.rubrics()]
    assert client.stats().by_pool == dict.fromkeys(shelf, 1)


def test_what_was_given_up_is_listed_put_back_or_dropped(
    client: Memory, backend: Backend, redis_client: redis.Redis
) -> None:
    back, gone = bury(backend, "logic", "first"), bury(backend, "poem", "second")
    unread = unreadable("no json", "logic", "t7")
    backend.client.dead_letters.add(letter_for(unread, BadInput("No JSON."), tries=1, kind="malformed"))

    assert [(one.id, one.pool, one.retriable) for one in client.dead_letters.list()] == [
        (back, "logic", True), (gone, "poem", True), (unread.id, "logic", False),
    ]  # fmt: skip
    assert client.dead_letters.retry(back).retried
    assert client.dead_letters.drop(gone).id == gone
    with pytest.raises(BadInput, match="cannot be retried"):
        client.dead_letters.retry(unread.id)

    assert [one.id for one in client.dead_letters.list()] == [unread.id]
    assert list(redis_client.hkeys(MESSAGES)) == [back]
    for again in (client.dead_letters.retry, client.dead_letters.drop):
        with pytest.raises(NotFound):
            again(gone)


def test_every_refusal_is_an_error_of_memshare(client: Memory, backend: Backend, url: str) -> None:
    with pytest.raises(TooLarge, match="20,001 characters"):
        client.recall("x" * 20_001, pool="logic")
    with pytest.raises(BadInput, match="less than or equal to 20"):
        client.recall("x", pool="logic", k=21)
    with pytest.raises(BadInput, match="half a character"):
        client.recall("x\ud83d", pool="logic")
    with pytest.raises(BadInput, match="cannot be sent"):
        client.feedback(float("nan"), recall_id=uuid4())
    with pytest.raises(BadInput, match="http://127"):
        Memory("127.0.0.1:8780")
    token = backend.tokens.create("ada", ("recall",), ("logic",))
    with pytest.raises(NoToken, match="memshare token create"):
        client.stats()
    with Memory(url, token) as ada:
        assert ada.stats().by_pool == {}
        with pytest.raises(Forbidden, match="'offer'"):
            ada.pairs("x", "y", agent="logic")
        with pytest.raises(NotFound):
            ada.recall("x", pool="poem")


def test_a_queue_that_is_full_says_when_to_come_back(client: Memory, backend: Backend, url: str) -> None:
    backend.client.settings = backend.settings.model_copy(update={"queue_limit": 1})
    client.pairs("x", "y", agent="logic")

    with Memory(url, tries=1) as once, pytest.raises(TryAgain) as caught:
        once.pairs("x", "y", agent="logic")

    assert (caught.value.wait or 0) > 0


def test_threads_share_a_client(client: Memory, redis_client: redis.Redis) -> None:
    with ThreadPoolExecutor(8) as everybody:
        ids = list(everybody.map(lambda n: client.pairs(f"Task {n}", "y", agent="logic").id, range(24)))

    assert len(set(ids)) == 24 == len(open_bodies(redis_client))


def test_the_asynchronous_twin_does_the_same(url: str, shelf: dict[str, str]) -> None:
    async def work() -> None:
        async with AsyncMemory(url) as memory:
            first, second = await asyncio.gather(*(memory.recall(TASK, agent="logic") for _ in range(2)))
            assert first.memories == second.memories
            assert [str(one.id) for one in first.memories] == [shelf["logic"]]
            found = await memory.memories.search("red lamp", pool="poem")
            assert str(found.memories[0].memory.id) == shelf["poem"]
            with pytest.raises(NotFound):
                await memory.journeys.get("nobody's")

    asyncio.run(work())


@pytest.mark.parametrize("kind", [Memory, AsyncMemory])
def test_a_method_has_the_name_of_its_path_and_says_what_it_takes(kind: type) -> None:
    made = kind("http://127.0.0.1:1")

    assert all(hasattr(made, path) for path in PATHS)
    assert {"agent", "prompt", "k"} <= inspect.signature(made.recall).parameters.keys()
    assert "best first" in (made.recall.__doc__ or "")


def test_the_errors_and_both_clients_can_be_had_from_the_package() -> None:
    for name in memshare.__all__:
        assert getattr(memshare, name).__name__ == name


def test_a_client_is_made_without_what_workers_need() -> None:
    program = (
        "from tests.support.light_install import hide_extras; hide_extras()\n"
        "import sys; from memshare import AsyncMemory, Memory\n"
        "Memory('http://127.0.0.1:1'); AsyncMemory('http://127.0.0.1:1')\n"
        "print(sorted(sys.modules.keys() & {'celery', 'redis', 'kombu', 'pydantic', 'typer', 'numpy'}))"
    )

    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"
