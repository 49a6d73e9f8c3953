"""Submitting: a task for an agent of memshare."""

from __future__ import annotations

from contextlib import aclosing
from typing import Annotated
from uuid import uuid4

from pydantic import Field

from memshare.client.errors import Conflict, Forbidden
from memshare.client.replies import Accepted
from memshare.client.rest.calls.all_calls import Sharing
from memshare.operations import forms
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.journeys import LONGEST_WAIT, follow
from memshare.operations.serving import ADDS, KindName, Prompt, ask, serves, tool
from memshare.terminal.ids import whose_answer
from memshare_broker.delivery.hops import NextMessage
from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import USUAL_PRIORITY, Message, Name, Priority, derived_id

ANSWERED = ("answered", "unanswered", "graded", "settled", "cancelled", "dead")


class AgentAnswer(Message):
    """An agent's answer, and whose it is without a model; without an answer, `state` and `why` say how far it is."""

    journey: str
    state: str
    answer: str | None
    why: str | None = Field(
        description="why it waits, was cancelled or given up; without a model whose answer it is, or why there is none"
    )


@serves(
    Sharing.tasks, "TaskForm", right="submit", agent="poem", kind="limerick", prompt="A limerick about a lighthouse"
)
def submit(
    backend: Backend,
    caller: Caller,
    agent: Name,
    prompt: forms.Prompt = None,
    messages: forms.Turns = None,
    kind: Label | None = None,
    memories: forms.MemoriesShown = None,
    remember: bool = True,
    priority: Annotated[Priority, Field(description="0 goes first")] = USUAL_PRIORITY,
    idempotency_key: forms.Key | None = None,
) -> Accepted:
    """Hand a task to an agent; it is written down when this returns. Idempotency keys are as in `offer`."""
    require_priority(caller, priority)
    backend.checked_task(prompt, messages)
    card = backend.running(caller, agent)
    backend.check_caps(card.name, caller.name)
    turns = messages and [one.model_dump() for one in messages]
    given = {"prompt": prompt, "messages": turns, "kind": kind, "memories": memories, "remember": remember}
    body = {name: value for name, value in given.items() if value is not None}
    task_id = journey_id("task", caller, idempotency_key)
    message = backend.hand_in(caller, card.name, body, priority, task_id)
    require_same(backend, message, idempotency_key)
    audit(caller, "submit", journey=task_id, agent=card.name, pool=card.pool)
    return Accepted(id=task_id, journey=f"/v1/journeys/{task_id}")


@tool(Sharing.tasks, "ask_agent", "Ask an agent", "submit", {**ADDS, "open_world_hint": True})
async def ask_agent(
    backend: Backend,
    caller: Caller,
    agent: Annotated[str, Field(description="an agent of memshare://agents")],
    prompt: Prompt,
    kind: KindName = None,
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="seconds to wait for the answer")] = 30.0,
    idempotency_key: Annotated[
        str | None,
        Field(description="any text of yours: the same task under it is asked once; ask again to wait on"),
    ] = None,
) -> AgentAnswer:
    """Give a task to one of memshare's own agents and wait for its answer. Use it when a task fits an agent's kinds
    better than yourself. It may call a paid model."""
    from anyio import to_thread  # of an extra, as commands are there without

    asked = {"agent": agent, "prompt": prompt, "kind": kind, "idempotency_key": idempotency_key}
    accepted = await to_thread.run_sync(lambda: ask("The task", submit, backend, caller, **asked))
    async with aclosing(follow(backend, caller, accepted.id, wait)) as journeys:
        async for journey in journeys:
            if journey.state in ANSWERED:
                break
    quoted = whose_answer(journey.quoted, journey.notes) if journey.quoted else None
    why = journey.error or journey.cancelled or journey.waits or quoted
    if journey.state == "unanswered":
        return AgentAnswer(journey=journey.id, state=journey.state, answer=None, why=journey.answer)
    return AgentAnswer(journey=journey.id, state=journey.state, answer=journey.answer, why=why)


def journey_id(what: str, caller: Caller, key: str | None) -> str:
    """The id of a new journey; with an idempotency key, of the one that the caller began under it."""
    return str(uuid4() if key is None else derived_id(what, caller.name, key))


def require_same(backend: Backend, message: NextMessage, key: str | None) -> None:
    """Raise `Conflict` where the journey of an idempotency key was begun by a message that says something else."""
    if key is None:
        return
    with backend.reaching():
        task = backend.client.ledger.journey(message.journey).get("task")
    if task is not None and task.get("body") != message.as_json:
        raise Conflict(f"The idempotency key {key!r} was used for another request. Give this one a key of its own.")


def require_priority(caller: Caller, priority: int) -> None:
    """Raise `Forbidden` for who puts a task before those of others without the right to it."""
    if priority < USUAL_PRIORITY and not caller.may("admin"):
        raise Forbidden(
            f"The token {caller.name!r} may not give a task the priority {priority}: what comes before the usual "
            f"{USUAL_PRIORITY} takes the right 'admin'."
        )
