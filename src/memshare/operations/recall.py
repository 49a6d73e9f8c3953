"""Recall: the memories to show with a task, each with what speaks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import uuid4

from pydantic import Field

from memshare.client.replies import Recalled, RecalledMemory
from memshare.client.rest.calls.sharing import Sharing
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.forms import RecallForm
from memshare.operations.recall_log import KeptRecall
from memshare.operations.serving import READS, AgentName, PoolName, Prompt, serves, tool
from memshare_agents.prompt import example_turns
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import checked
from memshare_broker.wire.messages import Turn
from memshare_memory.door.messages import Found, JudgedMemory, RecallRequest


@serves(Sharing.recall)
def recall(backend: Backend, caller: Caller, form: RecallForm) -> Recalled:
    """The memories that may be shown with a task, best first; they are kept under a `recall_id`."""
    caller.require("recall")
    text = backend.checked_text(form.text)
    pool = _pool(backend, caller, form)
    request = RecallRequest(
        pool=pool,
        text=text,
        k=form.k,
        mode=form.mode,
        among=form.filters.where(ids_not=form.filters.not_shown),
        # A token's own pools may have no memory yet; the name of any other may be a slip of the pen.
        new_pool=form.agent is not None or caller.pools is not None,
        submitter=caller.name,
        asked_by=caller.name,
    )
    found = backend.client.memories.recall(request)
    judged = {one.memory.id: one for one in backend.client.memories.judge([one.memory.id for one in found.found])}
    kept = KeptRecall(
        id=uuid4(),
        submitter=caller.name,
        pool=pool,
        prompt=text,
        shown=tuple(one.shown for one in found.found),
    )
    with backend.reaching():
        backend.recalls.keep(kept)
    return Recalled(
        recall_id=kept.id,
        pool=pool,
        memories=tuple(_recalled(one, judged.get(one.memory.id)) for one in found.found),
        messages=_as_turns(form, found.found) if form.format == "messages" else None,
        retriever_version=found.retriever_version,
    )


@tool(Sharing.recall, "recall", "Recall", "recall", READS)
def recall_by_model(
    backend: Backend,
    caller: Caller,
    prompt: Prompt,
    agent: AgentName = None,
    pool: PoolName = None,
    k: Annotated[int, Field(ge=1, le=20)] = 3,
) -> Recalled:
    """Find what worked before on tasks like this one. Call it before you answer a task. Use the memories as
    examples; keep `recall_id` for `offer` and `feedback`."""
    return recall(backend, caller, checked(RecallForm, "The recall", prompt=prompt, agent=agent, pool=pool, k=k))


def _as_turns(form: RecallForm, found: Sequence[Found]) -> tuple[Turn, ...]:
    """Memories, best first, as turns to put directly before the task: best last."""
    return tuple(example_turns([one.memory for one in found], apart=len(form.messages or ()) > 1))


def _pool(backend: Backend, caller: Caller, form: RecallForm) -> str:
    if (form.agent is None) == (form.pool is None):
        raise BadInput("Name an 'agent' or a 'pool': one of the two.")
    if form.agent is not None:
        return backend.agent(caller, form.agent).pool
    assert form.pool is not None
    caller.require_pool(form.pool)
    return form.pool


def _recalled(found: Found, judged: JudgedMemory | None) -> RecalledMemory:
    memory = found.memory
    credibility = judged.credibility.p if judged else 1.0
    credits_ = judged.credibility.credits if judged else 0
    return RecalledMemory(
        **memory.model_dump(include={"id", "prompt", "answer", "agent", "kind", "submitter", "score", "status"}),
        created=memory.created,
        similarity=found.similarity,
        credibility=credibility,
        credits=credits_,
        why=_why(found, credibility, credits_),
    )


def _why(found: Found, credibility: float, credits_: int) -> str:
    """What speaks for a memory, in a sentence."""
    memory = found.memory
    about = "its statement" if memory.prompt is None else "its task"
    parts = [f"{about} is like this one ({found.similarity:.2f})"]
    if memory.score is not None:
        parts.append(f"its answer was graded {memory.score:.0f} of 100")
    trusted = f" (credibility {credibility:.2f})" if memory.is_statement else ""
    parts.append(f"it was shown to {credits_} graded tasks{trusted}" if credits_ else "no graded task was shown it yet")
    if not found.proven:
        parts.append("it is unproven")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."
