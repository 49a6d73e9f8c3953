"""What one token can make of feedback, by REST and by MCP: one word about each memory, whatever it says how often."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack

import httpx2
import pytest
import redis
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memshare.operations.backend import Backend
from memshare_broker.delivery.schema import MESSAGES
from memshare_broker.wire.grades import VerdictTask
from memshare_broker.wire.lessons import Evidence
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.trust import waiting_key
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import FLOOR
from memshare_memory.pool.pool import Pool
from tests.support.served import served
from tests.unit.memshare.doors.conftest import Tokened

TASK, OFTEN = "new lamp by the sea", 60

Attack = Callable[[float], None]


@pytest.fixture(params=["REST", "MCP"])
def attack(request: pytest.FixtureRequest, tokened: Tokened, backend: Backend) -> Attack:
    """Says often, and at the end for the last time, what all memories of a task were worth."""
    if request.param == "REST":
        mallory = tokened("mallory", "recall", "offer")

        def by_rest(reward: float) -> None:
            for _ in range(OFTEN):
                recalled = mallory.post("/v1/recall", json={"pool": "logic", "prompt": TASK}).json()["recall_id"]
                told = mallory.post("/v1/feedback", json={"recall_id": recalled, "reward": reward})
                assert len(told.json()["taken"]) == 2

        return by_rest

    async def ask(url: str, token: str, reward: float) -> None:
        async with AsyncExitStack() as stack:
            headers = {"Authorization": f"Bearer {token}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=30))
            client = await stack.enter_async_context(Client(streamable_http_client(f"{url}/mcp", http_client=http)))
            for _ in range(OFTEN):
                recalled = (await client.call_tool("recall", {"prompt": TASK, "pool": "logic"})).structured_content
                assert recalled is not None
                given = {"recall_id": recalled["recall_id"], "reward": reward}
                told = (await client.call_tool("feedback", given)).structured_content
                assert told is not None
                assert len(told["taken"]) == 2

    def by_mcp(reward: float) -> None:
        token = backend.tokens.create("mallory", ("recall", "offer"), ("logic",))
        with served(backend) as url:
            asyncio.run(ask(url, token, reward))

    return by_mcp


def test_feedback_of_one_token_is_one_word_about_each_memory_and_hides_none(
    attack: Attack, memory: MemoryClient, pool: Pool, redis_client: redis.Redis
) -> None:
    fact = NewMemory(pool="logic", answer="A new lamp by the sea is red.", submitter="ada", new_pool=True)
    pair = NewMemory(pool="logic", prompt="red lamp by the sea", answer="A light.", submitter="ada", new_pool=True)
    fact_id, pair_id = memory.add([fact, pair])
    settle = SettleStage(pool, redis_client, Lessons(redis_client, 1))

    attack(0.0)
    messages = [json.loads(text) for text in redis_client.hvals(MESSAGES)]
    verdicts = [VerdictTask.model_validate(one["body"]) for one in messages]
    followed = [one for verdict in verdicts for one in settle.credit(verdict).followings]

    assert len(verdicts) == 2 * OFTEN
    assert followed == []
    [said] = [Evidence.model_validate_json(one) for one in redis_client.hvals(waiting_key("logic", "tests/words"))]
    assert (said.by, said.memory.id, said.helped) == ("mallory", pair_id, 0)
    judged = {one.memory.id: one.credibility for one in memory.judge([fact_id, pair_id])}
    assert {one.credits for one in judged.values()} == {1}
    assert min(one.p for one in judged.values()) > FLOOR
