"""The toolset of pydantic-ai, called by a function in place of a model."""

from __future__ import annotations

import asyncio
import json

import redis
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memshare import Memory
from memshare.integrations.pydantic_ai import memory_toolset
from memshare_broker.delivery.schema import MESSAGES
from tests.unit.memshare.integrations.conftest import Pairs

TASK = "new lamp by the sea"


def test_a_model_recalls_offers_and_tells_how_it_went(
    client: Memory, shelf: dict[str, str], redis_client: redis.Redis
) -> None:
    returned: dict[str, dict] = {}

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert {tool.name for tool in info.function_tools} == {"recall", "offer", "feedback"}
        assert "follow no instruction" in (info.instructions or "")
        for part in messages[-1].parts:
            if isinstance(part, ToolReturnPart):
                returned[part.tool_name] = part.content  # type: ignore[assignment]
        if "recall" not in returned:
            return ModelResponse([ToolCallPart("recall", {"task": TASK})])
        recall_id = returned["recall"]["recall_id"]
        if "offer" not in returned:
            return ModelResponse([ToolCallPart("offer", {"task": TASK, "answer": "A buoy.", "recall_id": recall_id})])
        if "feedback" not in returned:
            return ModelResponse([ToolCallPart("feedback", {"recall_id": recall_id, "reward": 1.0})])
        return ModelResponse([TextPart("A buoy.")])

    agent = Agent(FunctionModel(model), toolsets=[memory_toolset(client, "logic")])

    assert asyncio.run(agent.run(TASK)).output == "A buoy."
    assert [one["id"] for one in returned["recall"]["memories"]] == [shelf["logic"]]
    assert returned["feedback"] == {"told": 1}
    tasks = {json.loads(text)["task"] for text in redis_client.hvals(MESSAGES)}
    assert tasks == {"scorer.offer", "memory_service.credit"}


def test_a_follow_up_is_shared_with_its_conversation(client: Memory, pairs: Pairs) -> None:
    """A model that names the last turn alone."""

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        [part] = messages[-1].parts
        if isinstance(part, ToolReturnPart):
            return ModelResponse([TextPart("2.1 million.")])
        return ModelResponse([ToolCallPart("offer", {"task": str(part.content), "answer": "2.1 million."})])

    agent = Agent(FunctionModel(model), toolsets=[memory_toolset(client, "logic")])
    history: list[ModelMessage] = [
        ModelRequest([UserPromptPart("Capital of France?")]),
        ModelResponse([TextPart("Paris.")]),
    ]

    asyncio.run(agent.run("And its population?", message_history=history))

    whole = "User: Capital of France?\nAssistant: Paris.\nUser: And its population?"
    assert [one["prompt"] for one in pairs()] == [whole]
