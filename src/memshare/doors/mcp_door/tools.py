"""The tools of the MCP door: the doors' own functions, described for a model."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, Any, TypeVar
from uuid import UUID

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from memshare.client.replies import Accepted, FeedbackTaken, Forgotten, JourneyReply, Recalled
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.feedback import give_feedback
from memshare.doors.forms import FeedbackForm, OfferForm, RecallForm, SearchForm, TaskForm
from memshare.doors.journeys import follow
from memshare.doors.mcp_door.replies import AgentAnswer, AllFound, answer_of, found
from memshare.doors.memories import forget as forget_memory
from memshare.doors.memories import search
from memshare.doors.offering import offer as offer_pair
from memshare.doors.recall import recall as recall_memories
from memshare.doors.submitting import submit
from memshare_broker.wire.checking import checked

T = TypeVar("T", bound=Callable[..., Any])

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
TELLS_ONCE = ADDS.model_copy(update={"idempotent_hint": True})
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

LONGEST_WAIT = 60.0  # seconds
ANSWERED = ("answered", "graded", "settled", "cancelled", "dead")

Prompt = Annotated[str, Field(description="the task, as the user gave it")]
Agent = Annotated[str | None, Field(description="an agent of memshare://agents; name it or a pool")]
Pool = Annotated[str | None, Field(description="a pool of memshare://pools; name it or an agent")]
Kind = Annotated[str | None, Field(description="one of the agent's kinds of tasks")]
Model = Annotated[str | None, Field(description="your own name")]


def add_tools(server: MCPServer[Any], backend: Backend, caller: Callable[[], Caller]) -> None:
    """Add all tools; `caller` says who asks now."""

    def tool(title: str, hints: ToolAnnotations) -> Callable[[T], T]:
        def add(function: T) -> T:
            server.add_tool(function, title=title, description=inspect.getdoc(function), annotations=hints)
            return function

        return add

    @tool("Recall", READS)
    def recall(
        prompt: Prompt,
        agent: Agent = None,
        pool: Pool = None,
        k: Annotated[int, Field(ge=1, le=20)] = 3,
    ) -> Recalled:
        """Find what worked before on tasks like this one. Call it before you answer a task. Use the memories as
        examples; keep `recall_id` for `offer` and `feedback`."""
        form = checked(RecallForm, "The recall", prompt=prompt, agent=agent, pool=pool, k=k)
        return recall_memories(backend, caller(), form)

    @tool("Offer an answer", ADDS)
    def offer(
        prompt: Prompt,
        answer: str,
        agent: Agent = None,
        pool: Pool = None,
        kind: Kind = None,
        model: Model = None,
        recall_id: Annotated[UUID | None, Field(description="of the recall whose memories you were shown")] = None,
        idempotency_key: Annotated[
            str | None, Field(description="any text of yours: the same pair is handed in once under it")
        ] = None,
    ) -> Accepted:
        """Share your answer once you have given it. It is graded, and others are shown it only where it is good
        enough. Offer a final answer, never a guess, and nothing private."""
        form = checked(
            OfferForm, "The offer", prompt=prompt, answer=answer, agent=agent, pool=pool, kind=kind, model=model,
            recall_id=recall_id, idempotency_key=idempotency_key,
        )  # fmt: skip
        return offer_pair(backend, caller(), form)

    @tool("Feedback", TELLS_ONCE)
    def feedback(
        reward: Annotated[float, Field(ge=0, le=1, description="0: useless or wrong; 1: as good as can be")],
        recall_id: Annotated[UUID | None, Field(description="of the recall; or name a journey")] = None,
        journey: Annotated[str | None, Field(description="the id that an offer or a task was answered with")] = None,
        memory_id: Annotated[UUID | None, Field(description="one memory; without it, all that were shown")] = None,
    ) -> FeedbackTaken:
        """Tell how it went once you know the outcome: a test passed, the user was content or corrected you. It decides
        what is shown from now on. Each memory is told once; the first word stands. Do not call it on a guess."""
        worth = {"reward": reward} if memory_id is None else {"memories": {memory_id: reward}}
        form = checked(FeedbackForm, "The feedback", recall_id=recall_id, journey=journey, **worth)
        return give_feedback(backend, caller(), form)

    @tool("Ask an agent", ADDS.model_copy(update={"open_world_hint": True}))
    async def ask_agent(
        agent: Annotated[str, Field(description="an agent of memshare://agents")],
        prompt: Prompt,
        kind: Kind = None,
        wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="seconds to wait for the answer")] = 30.0,
        idempotency_key: Annotated[
            str | None,
            Field(description="any text of yours: the same task under it is asked once; ask again to wait on"),
        ] = None,
    ) -> AgentAnswer:
        """Give a task to one of memshare's own agents and wait for its answer. Use it when a task fits an agent's kinds
        better than yourself. It may call a paid model."""
        form = checked(TaskForm, "The task", agent=agent, prompt=prompt, kind=kind, idempotency_key=idempotency_key)
        who = caller()
        accepted = await run_in_threadpool(submit, backend, who, form)
        return answer_of(await _until_answered(follow(backend, who, accepted.id, wait)))

    @tool("Search memories", READS)
    def search_memories(
        text: str,
        pool: Annotated[str | None, Field(description="a pool of memshare://pools")] = None,
        kind: Annotated[str | None, Field(description="memories of this kind alone")] = None,
        k: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> AllFound:
        """Look for memories about something, also hidden ones: to answer what is known, or to find one to forget.
        To be helped with a task, call `recall`, which leaves out what proved poor."""
        form = checked(SearchForm, "The search", text=text, pool=pool, kind=kind, k=k)
        return AllFound(memories=tuple(map(found, search(backend, caller(), form).memories)))

    @tool("Forget a memory", DESTROYS)
    def forget(memory_id: Annotated[UUID, Field(description="from `recall` or `search_memories`")]) -> Forgotten:
        """Take a memory out of its pool, for everybody. Only when the user asks for it: it is wrong, private or out of
        date. It stays in the trash for 30 days."""
        return forget_memory(backend, caller(), memory_id)


async def _until_answered(journeys: AsyncIterator[JourneyReply]) -> JourneyReply:
    async with aclosing(journeys) as every:  # type: ignore[type-var]
        async for journey in every:
            if journey.state in ANSWERED:
                break
    return journey
