"""The shared memory in the OpenAI Agents SDK: hooks that share every run, and tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from agents.run import CallModelData, ModelInputData

from agents import RunConfig, RunHooks, Tool, function_tool
from memshare.client.rest.memory import Memory
from memshare.client.rest.task import Task
from memshare.integrations.tool_functions import sharing_functions


class SharedRuns(RunHooks[Any]):  # type: ignore[misc]
    """Hooks that recall before a run's first model call and offer what its last agent answers.

    `then` is called with each task that was offered: its journey, and its reward once you know the outcome.

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
        self._about: dict[str, Any] = {"agent": agent, "kind": kind, "model": model, "k": k}
        self._then = then
        # Each run is an asyncio task. Its hooks are tasks of their own, which see what it set and set nothing for it.
        self._task: ContextVar[Task | None] = ContextVar("task", default=None)

    @property
    def config(self) -> RunConfig:
        """The configuration of a run that shows the memories; add yours with `dataclasses.replace`."""
        return RunConfig(call_model_input_filter=self.show)

    async def show(self, call: CallModelData[Any]) -> ModelInputData:
        """Put the memories of a run's task before what its model is sent."""
        given = call.model_data
        prompt = _last_of_user(given.input)
        if prompt is None:
            return given
        task = self._task.get()
        if task is None or task.journey is not None or task.prompt != prompt:
            task = self._memory.task(prompt=prompt, **self._about)
            await asyncio.to_thread(task.__enter__)
            self._task.set(task)
        turns: Any = task.messages
        return ModelInputData(input=[*turns, *given.input], instructions=given.instructions)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:  # noqa: ARG002 - the SDK's signature
        """Offer what the run's last agent answered."""
        task = self._task.get()
        if task is not None and task.journey is None:
            task.answer = str(output)
            await asyncio.to_thread(task.__exit__, None, None, None)
            self._then(task)


def memory_tools(memory: Memory, agent: str, k: int = 3) -> list[Tool]:
    """The tools `recall`, `offer` and `feedback`, for an agent that decides by itself when to share."""
    return [function_tool(one) for one in sharing_functions(memory, agent, k)]


def _last_of_user(items: Iterable[Any]) -> str | None:
    """The text that the user said last."""
    said = [one for one in items if isinstance(one, Mapping) and one.get("role") == "user"]
    if not said:
        return None
    content = said[-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if "text" in part) or None
