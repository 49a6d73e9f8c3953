"""Agents of the OpenAI Agents SDK, on its own scripted model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel

from memshare import BadInput, Memory
from tests.support.agents_sdk import agents_sdk
from tests.unit.memshare.integrations.conftest import APART, Pairs

sdk: Any = agents_sdk()
sdk.set_tracing_disabled(True)

from agents.testing import ScriptedModel, assistant_message, function_call  # noqa: E402

from memshare.client.rest.task import Task  # noqa: E402
from memshare.integrations.openai_agents import SharedRuns, memory_tools  # noqa: E402

TASK = "new lamp by the sea"
SHOWN = ["red lamp by the sea", "A light."]


def run(shared: SharedRuns, agent: Any, given: Any, **more: Any) -> Any:
    """A run with the hooks."""
    config = replace(shared.config, **more.pop("config", {}))
    return asyncio.run(sdk.Runner.run(agent, given, hooks=shared, run_config=config, **more))


def texts(items: Sequence[Any]) -> list[str]:
    """What items say, or what kind they are."""
    said = []
    for item in items:
        content = item.get("content", item.get("type"))
        said.append(content if isinstance(content, str) else "".join(part.get("text", "") for part in content))
    return said


@sdk.function_tool
def look() -> str:
    """Look."""
    return "Nothing."


LOOK = function_call("look", {}, call_id="1")


def handing_over_to(model: ScriptedModel) -> Any:
    """An agent that hands over to one with this model."""
    over = [assistant_message("I hand over."), function_call("transfer_to_b", {}, call_id="1")]
    return sdk.Agent(name="A", model=ScriptedModel([over]), handoffs=[sdk.Agent(name="B", model=model)])


def test_a_run_is_shown_memories_and_offers_its_answer(client: Memory, shelf: dict[str, str], pairs: Pairs) -> None:
    model = ScriptedModel([[assistant_message("A light.")]])
    tasks: list[Task] = []
    shared = SharedRuns(client, "logic", kind="riddle", model="scripted", then=tasks.append)

    async def run() -> None:
        agent = sdk.Agent(name="Solver", instructions="Be brief.", model=model)
        result = await sdk.Runner.run(agent, TASK, hooks=shared, run_config=shared.config)
        assert result.final_output == "A light."

    asyncio.run(run())
    [call] = model.calls
    assert [item["content"] for item in call.input] == ["red lamp by the sea", "A light.", TASK]
    [pair] = pairs()
    assert (pair["prompt"], pair["answer"], pair["model"]) == (TASK, "A light.", "scripted")
    assert [one["id"] for one in pair["shown"]] == [shelf["logic"]]
    [task] = tasks
    assert client.journeys.get(task.journey or "").answer == "A light."
    told = task.reward(1.0)
    assert told is not None
    assert [str(one) for one in told.taken] == [shelf["logic"]]


def test_runs_at_once_and_one_after_the_other_are_kept_apart(client: Memory, pairs: Pairs) -> None:
    shared = SharedRuns(client, "logic")

    async def run(task: str, answer: str) -> None:
        agent = sdk.Agent(name="Solver", model=ScriptedModel([[assistant_message(answer)]]))
        await sdk.Runner.run(agent, task, hooks=shared, run_config=shared.config)

    async def work() -> None:
        await asyncio.gather(*(run(f"Task {number}", f"Answer {number}") for number in range(4)))
        await run("Task 9", "Once.")
        await run("Task 9", "Twice.")

    asyncio.run(work())
    assert sorted((one["prompt"], one["answer"]) for one in pairs()) == [
        *((f"Task {number}", f"Answer {number}") for number in range(4)),
        ("Task 9", "Once."),
        ("Task 9", "Twice."),
    ]


def test_a_model_shares_by_tools(client: Memory, shelf: dict[str, str], pairs: Pairs) -> None:
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
    assert [one["answer"] for one in pairs()] == ["A buoy."]
    assert client.journeys.get(offered["journey"]).state == "queued"


@pytest.mark.usefixtures("shelf")
def test_memories_stand_behind_the_history_at_each_call_of_a_run(client: Memory, pairs: Pairs) -> None:
    model = ScriptedModel([[assistant_message("Let me look."), LOOK], [assistant_message("A buoy.")]])
    history = [{"role": "user", "content": "What floats?"}, {"role": "assistant", "content": "A cork."}]

    run(
        SharedRuns(client, "logic"),
        sdk.Agent(name="A", model=model, tools=[look]),
        [*history, {"role": "user", "content": TASK}],
    )

    first, second = (texts(call.input) for call in model.calls)
    assert first == ["What floats?", "A cork.", *APART, *SHOWN, TASK]
    assert second[: len(first)] == first
    assert second[len(first) :] == ["Let me look.", "function_call", "function_call_output"]
    whole = f"User: What floats?\nAssistant: A cork.\nUser: {TASK}"
    assert [(one["prompt"], one["answer"]) for one in pairs()] == [(whole, "A buoy.")]


@pytest.mark.usefixtures("unrelated")
def test_a_long_conversation_is_sent_with_its_history_first_and_the_same(client: Memory, pairs: Pairs) -> None:
    model = ScriptedModel([[assistant_message(f"Word {number}.", item_id=str(number))] for number in range(10)])
    agent, shared = sdk.Agent(name="A", instructions="Be brief. " * 100, model=model), SharedRuns(client, "logic")
    session = sdk.SQLiteSession("1")

    async def talk() -> None:
        for number in range(10):
            task = f"{number} tell me of valve {number * 5} in a word"
            await sdk.Runner.run(agent, task, session=session, hooks=shared, run_config=shared.config)

    asyncio.run(talk())

    seen = [texts(call.input) for call in model.calls]
    assert [len(one) for one in seen] == [7, *(2 * number + 2 + 6 + 1 for number in range(1, 10))]
    for before, after in pairwise(seen):
        history = before[: -7 - before.count("Understood.") * 2]
        assert after[: len(history)] == history
    assert sorted(one["prompt"].count("User: ") for one in pairs()) == [0, *range(2, 11)]


@pytest.mark.usefixtures("shelf")
def test_the_agent_to_which_a_run_is_handed_sees_the_memories_and_its_answer_is_offered(
    client: Memory, pairs: Pairs
) -> None:
    model = ScriptedModel([[assistant_message("A buoy.")]])

    run(SharedRuns(client, "logic"), handing_over_to(model), TASK)

    assert texts(model.calls[0].input)[:4] == [*SHOWN, TASK, "I hand over."]
    assert [(one["prompt"], one["answer"]) for one in pairs()] == [(TASK, "A buoy.")]


def test_an_answer_to_a_history_in_one_message_is_no_answer_to_an_earlier_run(client: Memory, pairs: Pairs) -> None:
    silent = sdk.Agent(name="A", model=ScriptedModel([[LOOK], [assistant_message("")]]), tools=[look])
    nesting = handing_over_to(ScriptedModel([[assistant_message("A buoy.")]]))
    shared = SharedRuns(client, "logic")
    nested = replace(shared.config, nest_handoff_history=True)

    async def work() -> None:
        await sdk.Runner.run(silent, "What is far?", hooks=shared, run_config=shared.config)
        await sdk.Runner.run(nesting, TASK, hooks=shared, run_config=nested)

    asyncio.run(work())
    assert pairs() == []


def test_a_run_that_is_streamed_is_offered(client: Memory, pairs: Pairs) -> None:
    model = ScriptedModel([[LOOK], [assistant_message("A buoy.")]])
    shared = SharedRuns(client, "logic")

    async def work() -> None:
        agent = sdk.Agent(name="A", model=model, tools=[look])
        stream = sdk.Runner.run_streamed(agent, TASK, hooks=shared, run_config=shared.config)
        assert [event async for event in stream.stream_events()]

    asyncio.run(work())
    assert [(one["prompt"], one["answer"]) for one in pairs()] == [(TASK, "A buoy.")]


def test_an_agent_that_is_a_tool_answers_for_itself_alone(client: Memory, pairs: Pairs) -> None:
    inner = sdk.Agent(name="Inner", model=ScriptedModel([[assistant_message("Inside.")]]))
    tool = inner.as_tool("inner", "Asks inside.")
    call = function_call("inner", {"input": "Look inside."}, call_id="1")
    model = ScriptedModel([[call], [assistant_message("A buoy.")]])

    run(SharedRuns(client, "logic"), sdk.Agent(name="A", model=model, tools=[tool]), TASK)

    assert [(one["prompt"], one["answer"]) for one in pairs()] == [(TASK, "A buoy.")]


class Thing(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("agent", "steps", "answer"),
    [
        ({}, [[assistant_message("  ")]], None),
        (
            {"tools": [look], "tool_use_behavior": "stop_on_first_tool"},
            [[assistant_message("Let me look."), LOOK]],
            None,
        ),
        ({"output_type": Thing}, [[assistant_message('{"name": "buoy"}')]], '{"name": "buoy"}'),
        ({}, [[assistant_message("A buoy.")]], "A buoy."),
    ],
)
def test_what_is_offered_is_the_text_with_which_the_model_ended(
    client: Memory, pairs: Pairs, agent: dict[str, Any], steps: list[Any], answer: str | None
) -> None:
    tasks: list[Task] = []

    run(SharedRuns(client, "logic", then=tasks.append), sdk.Agent(name="A", model=ScriptedModel(steps), **agent), TASK)

    assert [one["answer"] for one in pairs()] == ([answer] if answer else [])
    assert [one.answer for one in tasks] == ([answer] if answer else [])


@pytest.mark.usefixtures("shelf")
def test_what_is_no_text_is_left_out_of_a_recall_and_keeps_a_run_to_itself(client: Memory, pairs: Pairs) -> None:
    picture = {"type": "input_image", "detail": "auto", "image_url": "https://example.org/a.png"}
    for parts, shown in (([{"type": "input_text", "text": TASK}, picture], SHOWN), ([picture], [])):
        model = ScriptedModel([[assistant_message("A buoy.")]])

        run(SharedRuns(client, "logic"), sdk.Agent(name="A", model=model), [{"role": "user", "content": parts}])

        assert texts(model.calls[0].input)[:-1] == shown
    assert pairs() == []


def test_while_the_door_is_away_a_run_goes_on(away: Memory, caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel([[LOOK], [assistant_message("A buoy.")]])
    tasks: list[Task] = []

    with caplog.at_level(logging.WARNING):
        result = run(SharedRuns(away, "logic", then=tasks.append), sdk.Agent(name="A", model=model, tools=[look]), TASK)

    assert result.final_output == "A buoy."
    warned = {one.getMessage().partition(":")[0] for one in caplog.records if one.name.startswith("memshare.i")}
    assert warned == {"Nothing was recalled"}
    assert tasks == []


def test_the_same_question_is_recalled_for_again_in_the_next_run(
    client: Memory, shelf: dict[str, str], pairs: Pairs
) -> None:
    shared = SharedRuns(client, "logic")
    model = ScriptedModel([[LOOK], [assistant_message("")], [assistant_message("A buoy.")]])
    agent = sdk.Agent(name="A", model=model, tools=[look])

    async def work() -> None:
        await sdk.Runner.run(agent, TASK, hooks=shared, run_config=shared.config)
        client.memories.forget(shelf["logic"])
        await sdk.Runner.run(agent, TASK, hooks=shared, run_config=shared.config)

    asyncio.run(work())
    assert [texts(call.input)[:-1][:2] for call in model.calls] == [SHOWN, SHOWN, []]
    assert [one["answer"] for one in pairs()] == ["A buoy."]


def test_what_the_door_refuses_for_good_is_raised(client: Memory) -> None:
    model = ScriptedModel([[assistant_message("A buoy.")]])

    with pytest.raises(BadInput, match="nobody"):
        run(SharedRuns(client, "nobody"), sdk.Agent(name="A", model=model), TASK)


def test_a_tool_that_is_given_a_follow_up_shares_its_conversation(client: Memory, pairs: Pairs) -> None:
    follow_up = {"task": "And its population?", "answer": "2.1 million.", "recall_id": None}
    model = ScriptedModel(
        [
            [function_call("offer", "{", call_id="1")],
            [function_call("offer", follow_up, call_id="2")],
            [assistant_message("2.1 million.")],
        ]
    )
    history = [{"role": "user", "content": "Capital of France?"}, {"role": "assistant", "content": "Paris."}]
    agent = sdk.Agent(name="A", model=model, tools=memory_tools(client, "logic"))

    asyncio.run(sdk.Runner.run(agent, [*history, {"role": "user", "content": "And its population?"}]))

    whole = "User: Capital of France?\nAssistant: Paris.\nUser: And its population?"
    assert [one["prompt"] for one in pairs()] == [whole]
