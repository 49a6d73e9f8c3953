"""The same task again within a day has the same id, so that its first journey answers it, where that is wanted."""

from __future__ import annotations

from memshare_broker.wire.messages import AgentTask, derived_id
from memshare_llm.limits.usage import day_of


def reusable_id(agent: str, task: AgentTask, now: float) -> str:
    """The id of a task, whose submitter is part of it, in this UTC day; `now` is Unix time in seconds."""
    return str(derived_id("reusable task", agent, task.model_dump_json(), day_of(now)))
