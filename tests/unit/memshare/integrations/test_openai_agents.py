"""Agents of the OpenAI Agents SDK, on its own scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import redis

from memshare import Memory
from memshare_broker.delivery.keys import MESSAGES
from tests.support.agents_sdk import agents_sdk

sdk: Any = agents_sdk()
sdk.set_tracing_disabled(True)

from agents.testing import ScriptedModel, assistant_message, function_call  # noqa: E402

from memshare.client.rest.task import Task  # noqa: E402
from memshare.integrations.openai_agents import SharedRuns, memory_tools  # noqa: E402

TASK = "new lamp by the sea"


def pairs(client: redis.Redis) -> list[dict[str, Any]]:
    found = map(json.loads, client.hvals(MESSAGES))
    return [one["body"] for one in found if one["task"] == "scorer.offer"]


def test_a_run_is_shown_memories_and_offers_its_answer(
    client: Memory, shelf: dict[str, str], redis_client: redis.Redis
) -> None:
    model = ScriptedModel([[assistant_message("A buoy.")]])
    tasks: list[Task] = []
    shared = SharedRuns(client, "logic", kind="riddle", model="scripted", then=tasks.append)

    async def run() -> None:
        agent = sdk.Agent(name="Solver", instructions="Be brief.", model=model)
        result = await sdk.Runner.run(agent, TASK, hooks=shared, run_config=shared.config)
        assert result.final_output == "A buoy."

    asyncio.run(run())
    [call] = model.calls
    assert [item["content"] for item in call.input] == ["red lamp by the sea", "A light.", TASK]
    [pair] = pairs(redis_client)
    assert (pair["prompt"], pair["answer"], pair["model"]) == (TASK, "A buoy.", "scripted")
    assert [one["id"] for one in pair["shown"]] == [shelf["logic"]]
    [task] = tasks
    assert client.journeys.get(task.journey or "").answer == "A buoy."
    told = task.reward(1.0)
    assert told is not None
    assert [str(one) for one in told.taken] == [shelf["logic"]]


def test_runs_at_once_and_one_after_the_other_are_kept_apart(client: Memory, redis_client: redis.Redis) -> None:
    shared = SharedRuns(client, "logic")

    async def run(task: str, answer: str) -> None:
        agent = sdk.Agent(name="Solver", model=ScriptedModel([[assistant_message(answer)]]))
        await sdk.Runner.run(agent, task, hooks=shared, run_config=shared.config)

    async def work() -> None:
        await asyncio.gather(*(run(f"Task {number}", f"Answer {number}") for number in range(4)))
        await run("Task 9", "Once.")
        await run("Task 9", "Twice.")

    asyncio.run(work())
    assert sorted((one["prompt"], one["answer"]) for one in pairs(redis_client)) == [
        *((f"Task {number}", f"Answer {number}") for number in range(4)),
        ("Task 9", "Once."),
        ("Task 9", "Twice."),
    ]


def test_a_model_shares_by_tools(client: Memory, shelf: dict[str, str], redis_client: redis.Redis) -> None:
    model = ScriptedModel(
        [
            [function_call("recall", {"task": TASK}, call_id="1")],
            [function_call("offer", {"task": TASK, "answer": " ", "recall_id": None}, call_id="2")],
            [function_call("offer", {"task": TASK, "answer": "A buoy.", "recall_id": None}, call_id="3")],
            [assistant_message("A buoy.")],
        ]
    )

    async def run() -> Any:
        agent = sdk.Agent(name="Solver", model=model, tools=memory_tools(client, "logic"))
        return await sdk.Runner.run(agent, TASK)

    result = asyncio.run(run())

    recalled, refused, offered = (item.output for item in result.new_items if item.type == "tool_call_output_item")
    assert [one["id"] for one in recalled["memories"]] == [shelf["logic"]]
    assert "it is empty" in refused["error"]
    assert [one["answer"] for one in pairs(redis_client)] == ["A buoy."]
    assert client.journeys.get(offered["journey"]).state == "queued"


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([{"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_image"}]}], "a"),
        ([{"role": "assistant", "content": "a"}], None),
    ],
)
def test_what_the_user_said_is_found_in_items_of_any_kind(items: list[Any], said: str | None) -> None:
    from memshare.integrations.openai_agents import _last_of_user

    assert _last_of_user(items) == said
