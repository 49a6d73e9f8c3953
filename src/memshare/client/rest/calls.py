"""The calls of `memshare serve`, each once: `Memory` and `AsyncMemory` make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID, uuid4

from memshare.client.rest.call import Call

if TYPE_CHECKING:
    from memshare.client.replies import (
        Accepted,
        AgentReply,
        FeedbackTaken,
        PoolReply,
        Recalled,
        RubricReply,
        StatsReply,
    )
    from memshare_memory.memory import Mode

Turns = Sequence[Mapping[str, str]]
"""A conversation that ends with the task: {"role": "user" or "assistant", "content": "…"}."""


def recall(
    prompt: str | None = None,
    *,
    agent: str | None = None,
    pool: str | None = None,
    messages: Turns | None = None,
    k: int = 3,
    mode: Mode = "dense",
    filters: Mapping[str, Any] | None = None,
    format: Literal["memories", "messages"] = "memories",  # noqa: A002 - the field's name
) -> Call[Recalled]:
    """The memories to show with a task, best first; name an agent or a pool.

    `filters` are agent, kind, submitter, since, until, words and not_shown. The format "messages" adds turns, ready to
    put before the task.
    """
    body = without_none(prompt=prompt, agent=agent, pool=pool, messages=messages)
    return Call("POST", "/v1/recall", "Recalled", body | without_none(k=k, mode=mode, filters=filters, format=format))


def pairs(
    prompt: str | None = None,
    answer: str = "",
    *,
    agent: str | None = None,
    pool: str | None = None,
    messages: Turns | None = None,
    kind: str | None = None,
    model: str | None = None,
    recall_id: UUID | str | None = None,
    idempotency_key: str | None = None,
) -> Call[Accepted]:
    """Offer an answer of yours: it is graded, and becomes a memory where it is good enough.

    `recall_id` says whose memories helped. With an idempotency key the same pair is handed in once, however often you
    call; each call makes its own unless you give one.
    """
    body = without_none(prompt=prompt, answer=answer, agent=agent, pool=pool, messages=messages, kind=kind, model=model)
    key = idempotency_key or uuid4().hex
    return Call("POST", "/v1/pairs", "Accepted", body | without_none(recall_id=_text(recall_id), idempotency_key=key))


def feedback(
    reward: float | None = None,
    *,
    recall_id: UUID | str | None = None,
    journey: str | None = None,
    memories: Mapping[UUID | str, float] | None = None,
) -> Call[FeedbackTaken]:
    """Tell what the memories of a recall or of a journey were worth, 0 to 1: one reward, or one for each.

    Each is told once; the first word stands.
    """
    each = None if memories is None else {str(one): worth for one, worth in memories.items()}
    body = without_none(reward=reward, recall_id=_text(recall_id), journey=journey, memories=each)
    return Call("POST", "/v1/feedback", "FeedbackTaken", body)


def tasks(
    agent: str,
    prompt: str | None = None,
    *,
    messages: Turns | None = None,
    kind: str | None = None,
    memories: int | None = None,
    remember: bool = True,
    priority: int = 3,
    idempotency_key: str | None = None,
) -> Call[Accepted]:
    """Give a task to an agent of memshare; `journeys.get(id, wait=30)` has its answer. Keys are as in `pairs`."""
    body = without_none(agent=agent, prompt=prompt, messages=messages, kind=kind, memories=memories, remember=remember)
    key = idempotency_key or uuid4().hex
    return Call("POST", "/v1/tasks", "Accepted", body | {"priority": priority, "idempotency_key": key})


def pools() -> Call[list[PoolReply]]:
    """Your pools."""
    return Call("GET", "/v1/pools", "PoolReply", many=True)


def agents() -> Call[list[AgentReply]]:
    """The agents of your pools."""
    return Call("GET", "/v1/agents", "AgentReply", many=True)


def rubrics() -> Call[list[RubricReply]]:
    """How the answers of your pools are graded."""
    return Call("GET", "/v1/rubrics", "RubricReply", many=True)


def stats() -> Call[StatsReply]:
    """How many memories your pools have, and how many messages are open."""
    return Call("GET", "/v1/stats", "StatsReply")


def without_none(**fields: Any) -> dict[str, Any]:
    """The fields that were given."""
    return {name: value for name, value in fields.items() if value is not None}


def _text(one: UUID | str | None) -> str | None:
    return None if one is None else str(one)
