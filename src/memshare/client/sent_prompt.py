"""The prompt of a task as its agent sent it: made anew of the agent's file, of the memories shown, and of the task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.client.rest.calls.journeys import JourneyReply, PromptReply
from memshare_agents.answering import build_prompt
from memshare_agents.roster import Agent, load_roster
from memshare_broker.delivery.hops import ANSWER
from memshare_broker.errors import BadInput
from memshare_broker.presence import agent_files
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import AgentTask
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where


def sent_prompt(client: Client, journey: Journey) -> PromptReply:
    """Make the prompt of a journey anew; raises `BadInput` where no model was sent one prompt."""
    entry = client.ledger.journey(journey.task_id).get("task")
    if entry is None or entry["stage"] != ANSWER.name or journey.answer is None:
        raise BadInput("No agent of memshare has answered this, so there is no prompt.")
    agent = load_roster(client.settings.agents_dir).get(journey.agent)
    if journey.steps or (agent is not None and agent.engine):
        raise BadInput("This was answered in steps, with a prompt for each: the steps say what each read.")
    if journey.quoted is not None or journey.usage is None:
        raise BadInput("No model was asked for this, so there is no prompt.")

    at = sent_at(journey)
    ids = [one.id for one in journey.memories]
    found = client.memories.page(Where(ids=ids), len(ids)).memories if ids else ()
    known = {one.id: one for one in found}
    changed = [*_changed(known, ids, at)]
    instructions, doubt = _instructions(agent, client.settings, journey, at)
    shown = [as_it_was(known[one], at) for one in ids if one in known]
    turns = build_prompt(instructions, shown, AgentTask.model_validate(entry["body"]).turns)
    return PromptReply(turns=tuple(turns), changed=(*doubt, *changed))


def sent_at(journey: Journey | JourneyReply) -> float:
    """When the prompt of a journey was sent, as Unix time in seconds."""
    return journey.hops.get(ANSWER.name, journey.submitted) - (journey.seconds or 0.0)


def as_it_was(memory: Memory, at: float) -> Memory:
    """A memory with what it said at a time."""
    for revision in memory.history:
        if revision.until > at:
            return memory.model_copy(update={"prompt": revision.prompt, "answer": revision.answer})
    return memory


def _changed(known: Mapping[UUID, Memory], ids: list[UUID], at: float) -> Iterator[str]:
    for one in ids:
        if one not in known:
            yield f"The memory {one} was forgotten since, so it is missing here."
        elif any(revision.until > at for revision in known[one].history):
            yield f"The memory {one} says something else by now; here it is as it was."


def _instructions(agent: Agent | None, settings: Settings, journey: Journey, at: float) -> tuple[str, tuple[str, ...]]:
    """The agent's instructions for such a task, and reasons why they may have been different then."""
    if agent is None or journey.kind not in {None, *agent.kinds}:
        asked = f"The agent {journey.agent!r}{f' with the kind {journey.kind!r}' if journey.kind else ''}"
        return "", (f"{asked} has no file on this machine, so the instructions are missing here.",)
    is_newer = agent_files(settings.agents_dir)[journey.agent].stat().st_mtime > at
    doubt = f"The file of the agent {journey.agent!r} was written since: the instructions may have been others."
    return agent.kind(journey.kind).instructions, (doubt,) if is_newer else ()
