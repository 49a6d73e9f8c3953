"""The shared memory in the OpenAI Agents SDK: hooks that share every run, and tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from agents.run import CallModelData, ModelInputData
from agents.tool_context import ToolContext

from agents import FunctionTool, ModelResponse, RunConfig, RunHooks, Tool, function_tool
from memshare.client.rest.task import Memory, Task
from memshare.integrations.last_turn import (
    LastTurn,
    last_answer,
    last_turn,
    read_responses,
    sharing_functions,
    whole_task,
)


@dataclass
class _Run:
    turn: LastTurn
    task: Task | None  # None where the door was away
    ended: bool = False


class SharedRuns(RunHooks[Any]):  # type: ignore[misc]
    """Hooks that recall before a run's first model call and offer the text with which its last agent ends.

    Memories stand directly before the last message of the user. A run is not offered if it ends with a tool's output,
    if the user sent more than text, or if it was handed over with a nested history. `then` is called with each task
    that was offered: its journey, and its reward once you know the outcome. While the door is away runs go on without
    memories. Not for runs whose history is at the server of the model (`conversation_id`, `previous_response_id`):
    nobody here can read it.

    >>> shared = SharedRuns(Memory(token="msh_…"), "logic", then=tasks.append)
    >>> await Runner.run(agent, "What has keys?", hooks=shared, run_config=shared.config)
    >>> tasks[-1].reward(1.0)
    """

    def __init__(
        self,
        memory: Memory,
        agent: str,
        *,
        kind: str | None = None,
        model: str | None = None,
        k: int = 3,
        then: Callable[[Task], object] = lambda _: None,
    ) -> None:
        self._memory = memory
        self._about: dict[str, Any] = {"agent": agent, "kind": kind, "model": model}
        self._k = k
        self._then = then
        # Each run is an asyncio task, and so is its first call of a model. Hooks are tasks of their own, too, which see
        # what these set and set nothing for them.
        self._run: ContextVar[_Run | None] = ContextVar("run", default=None)

    @property
    def config(self) -> RunConfig:
        """The configuration of a run that shows the memories; add yours with `dataclasses.replace`."""
        return RunConfig(call_model_input_filter=self.show)

    async def show(self, call: CallModelData[Any]) -> ModelInputData:
        """Put memories into what the model of a run is sent."""
        given, run = call.model_data, self._run.get()
        turn = last_turn(given.input, "responses")
        if turn is None:  # a history in one message, of an agent that handed over
            self._run.set(None)
            return given
        if run is None or run.ended or run.turn.turns != turn.turns:
            run = _Run(turn, await asyncio.to_thread(turn.recall, self._begun))
            self._run.set(run)
        memories = run.task.messages if run.task else ()
        return ModelInputData(input=turn.with_memories(given.input, memories), instructions=given.instructions)

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:  # noqa: ARG002
        """Note what the model answered, if it calls no tools."""
        if (run := self._run.get()) and run.task:
            run.task.answer = last_answer(read_responses(response.output))

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:  # noqa: ARG002 - the SDK's signature
        """Offer what the run's last agent answered."""
        if (run := self._run.get()) and (task := run.task) and not run.ended:
            about = {**self._about, "recall_id": task.recalled.recall_id}
            task.offered = await asyncio.to_thread(run.turn.offer, self._memory, task.answer, **about)
            if task.offered:
                self._then(task)
        if run:
            run.ended = True

    def _begun(self, asked: dict[str, Any]) -> Task:
        return self._memory.task(**asked, **self._about, k=self._k).__enter__()


def memory_tools(memory: Memory, agent: str, k: int = 3) -> list[Tool]:
    """The tools `recall`, `offer` and `feedback`, for an agent that decides by itself when to share."""
    return [_with_history(function_tool(one)) for one in sharing_functions(memory, agent, k)]


def _with_history(tool: FunctionTool) -> FunctionTool:
    """A tool that is given the conversation where the model names its last turn alone."""
    invoke = tool.on_invoke_tool

    async def with_history(context: ToolContext[Any], arguments: str) -> Any:
        with suppress(ValueError, TypeError, KeyError, AttributeError):  # the tool says what is wrong
            given = json.loads(arguments)
            arguments = json.dumps(given | {"task": whole_task(given["task"], context.turn_input, "responses")})
        return await invoke(context, arguments)

    tool.on_invoke_tool = with_history
    return tool
