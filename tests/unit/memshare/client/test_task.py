"""A task as a block: recalled before, offered after, rewarded."""

from __future__ import annotations

import asyncio
import json

import pytest
import redis

from memshare import AsyncMemory, BadInput, Memory
from memshare_broker.delivery.schema import MESSAGES

TASK = "new lamp by the sea"


def messages(client: redis.Redis, task: str) -> list[dict]:
    found = map(json.loads, client.hvals(MESSAGES))
    return [one["body"] for one in found if one["task"] == task]


def test_a_task_recalls_offers_and_rewards(client: Memory, shelf: dict[str, str], redis_client: redis.Redis) -> None:
    with client.task("logic", TASK, kind="riddle", model="mine") as task:
        assert [str(one.id) for one in task.memories] == [shelf["logic"]]
        assert task.messages[-1] == {"role": "assistant", "content": "A light."}
        task.answer = "A light."
        assert task.journey is None

    [pair] = messages(redis_client, "scorer.offer")
    assert (pair["answer"], pair["kind"], pair["model"]) == ("A light.", "riddle", "mine")
    assert [one["id"] for one in pair["shown"]] == [shelf["logic"]]
    assert task.journey is not None
    assert client.journeys.get(task.journey).state == "queued"
    told = task.reward(0.25)
    assert told is not None
    assert [str(one) for one in told.taken] == [shelf["logic"]]
    [verdict] = messages(redis_client, "memory_service.credit")
    assert verdict["verdict"] == 0.25


def test_a_conversation_is_a_task_too(client: Memory, redis_client: redis.Redis) -> None:
    turns = [
        {"role": "user", "content": "Think of a lamp."},
        {"role": "assistant", "content": "I did."},
        {"role": "user", "content": "Which one?"},
    ]
    with client.task("logic", messages=turns) as task:
        task.answer = "A lighthouse."

    [pair] = messages(redis_client, "scorer.offer")
    assert pair["prompt"].startswith("User: Think of a lamp.")


def test_a_block_that_fails_or_has_no_answer_offers_nothing(client: Memory, redis_client: redis.Redis) -> None:
    task = client.task("logic", TASK)
    with pytest.raises(ZeroDivisionError), task:
        task.answer = str(1 / 0)
    with client.task("logic", TASK) as quiet:
        pass

    assert messages(redis_client, "scorer.offer") == []
    assert quiet.journey is None
    assert quiet.reward(1.0) is None


def test_a_task_outside_its_block_says_what_to_do(client: Memory) -> None:
    with pytest.raises(BadInput, match=r"with memory\.task"):
        print(client.task("logic", TASK).memories)


def test_the_asynchronous_task_does_the_same(url: str, shelf: dict[str, str], redis_client: redis.Redis) -> None:
    async def work() -> None:
        async with AsyncMemory(url) as memory:
            async with memory.task("logic", TASK) as task:
                task.answer = task.memories[0].answer
            assert (await memory.journeys.get(task.journey or "")).answer == "A light."
            told = await task.reward(1.0)
            assert told is not None
            assert [str(one) for one in told.taken] == [shelf["logic"]]

    asyncio.run(work())
    assert len(messages(redis_client, "scorer.offer")) == 1
