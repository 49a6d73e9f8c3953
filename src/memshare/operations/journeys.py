"""Journeys: what became of a task or of a pair, read, followed to its end, listed, or begun again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from pydantic import Field

from memshare.client.client import Client
from memshare.client.errors import NotFound
from memshare.client.journey import Journey, read_journeys
from memshare.client.replies import Accepted
from memshare.client.rest.calls.journeys import (
    BriefJourney,
    Cancelled,
    JourneyFields,
    JourneyReply,
    Journeys,
    JourneysReply,
    ListedFields,
    PromptReply,
    State,
)
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.forms import MemoriesShown
from memshare.operations.serving import serves
from memshare.terminal.ids import find_task
from memshare_agents.answering import build_prompt
from memshare_agents.roster import Agent, find_agent
from memshare_broker.delivery.hops import ANSWER
from memshare_broker.delivery.journey_records import LISTED, recent
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.presence import agent_files
from memshare_broker.settings import OFFLINE, Settings
from memshare_broker.wire.forms import Label, Moment
from memshare_broker.wire.messages import USUAL_PRIORITY, AgentTask
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

MOST = 200  # journeys of a list
READ = 30  # journeys that are read in one step
SHOWN = 300  # characters of a prompt, or of an answer, in a list


@serves(Journeys.list)
def journeys(
    backend: Backend,
    caller: Caller,
    agent: Label | None = None,
    submitter: Label | None = None,
    state: State | None = None,
    accepted: bool | None = None,
    opinion: Annotated[Literal["right", "wrong"] | None, Field(description="what somebody said of the answer")] = None,
    after: Annotated[Moment | None, Field(description="submitted after then, as Unix time in seconds")] = None,
    limit: Annotated[int, Field(ge=1, le=MOST)] = 50,
) -> JourneysReply:
    """The latest journeys that the caller may see, and that are as wanted."""

    def is_wanted(one: Journey) -> bool:
        return (
            submitter in (None, one.submitter)
            and state in (None, one.state)
            and accepted in (None, one.score.accepted if one.score else None)
            and opinion in (None, one.opinion and one.opinion.found)
            and one.submitted > (after or 0)
        )

    found, of_latest = latest(backend, caller, is_wanted, agent, after or 0, limit)
    with backend.reaching():
        sought = backend.client.sought(found)
    return JourneysReply(journeys=tuple(_brief(backend, one) for one in sought), of_latest=of_latest)


def latest(
    backend: Backend,
    caller: Caller,
    is_wanted: Callable[[Journey], object],
    agent: str | None,
    after: float,
    most: int = LISTED,
) -> tuple[list[Journey], int | None]:
    """The latest journeys of that sort that the caller may see, the last one first; none that tries a rubric.

    Beside them, of how many latest ones of all agents or of this one they are, if it is for that number alone that the
    list has no older ones.
    """
    with backend.reaching():
        ids = recent(backend.redis, agent=agent)
    found: list[Journey] = []
    for start in range(0, len(ids), READ):
        with backend.reaching():
            some = read_journeys(backend.client.ledger, ids[start:][:READ])
        for one in some:
            if 0 < one.submitted <= after:
                return found, None
            is_its = agent in (None, one.agent) and one.trial is None
            if is_its and is_wanted(one) and is_seen(backend, caller, one):
                found.append(one)
            if len(found) == most:
                return found, None
    return found, len(ids) if len(ids) == LISTED else None


@serves(Journeys.again, "AgainForm", right="submit")
def again(
    backend: Backend, caller: Caller, journey_id: JourneyId, memories: MemoriesShown = None, remember: bool = True
) -> Accepted:
    """Submit the task of a journey again; raises `BadInput` for a journey that no agent of memshare answers."""
    journey_id = own_journey(backend, caller, journey_id).id
    with backend.reaching():
        task = backend.client.ledger.journey(journey_id).get("task")
    if task is None or task["stage"] != ANSWER.name:
        raise BadInput(f"The journey {journey_id!r} is no task for an agent of memshare, so it cannot be asked again.")
    card = backend.running(caller, task["queue"])
    backend.check_caps(card.name, caller.name)
    given = {name: value for name, value in task["body"].items() if value is not None and name != "memories"}
    number = {} if memories is None else {"memories": memories}
    wanted = task["priority"] if caller.may("admin") else max(task["priority"], USUAL_PRIORITY)
    message = backend.hand_in(caller, card.name, {**given, "remember": remember, **number}, wanted, str(uuid4()))
    audit(caller, "submit", journey=message.id, agent=card.name, pool=card.pool)
    return Accepted(id=message.id, journey=f"/v1/journeys/{message.id}")


def _brief(backend: Backend, journey: Journey) -> BriefJourney:
    told = _told(backend, journey, ListedFields)
    cut = {name: told[name] and told[name][:SHOWN] for name in ("prompt", "answer")}
    return BriefJourney(**told | cut)


def _told(backend: Backend, journey: Journey, fields: type[ListedFields]) -> dict[str, Any]:
    """These fields of a journey that was read, and what a list has beside them."""
    return {name: getattr(journey, name) for name in fields.model_fields} | {
        "id": journey.task_id,
        "pool": journey.pool or backend.pool_of(journey.agent, journey.submitter),
        "ended": journey.ended,
        "waits": journey.waits.why if journey.waits else None,
        "cancelled": journey.cancelled.why if journey.cancelled else None,
        "error": journey.dead.error if journey.dead else None,
    }


LONGEST_WAIT = 60.0  # seconds that a request may wait
LONGEST_STREAM = 300.0  # seconds; who follows asks again then, with a token that is good still
FIRST_LOOK, LAST_LOOK = 0.05, 0.5  # seconds between two looks, which grow

JourneyId = Annotated[str, Field(min_length=1, max_length=200, description="what a task or a pair was answered with")]
Wait = Annotated[
    float, Field(ge=0, le=LONGEST_WAIT, description="seconds to wait for its end; it is answered as it is then")
]


def own_journey(backend: Backend, caller: Caller, journey_id: str) -> JourneyReply:
    """A journey that the caller may see, as it is now; raises `NotFound` as `seen_journey`."""
    return journey_reply(backend, seen_journey(backend, caller, journey_id))


def seen_journey(backend: Backend, caller: Caller, journey_id: str) -> Journey:
    """A journey that the caller may see: its own, and who watches or curates sees all of its pools.

    Its first digits do where they mean one alone, and so does its path. Raises `NotFound` for any other id.
    """
    journey_id = journey_id.removeprefix("/v1/journeys/")
    try:
        try:
            journey = backend.client.journey(journey_id, search=True)
        except BadInput:  # looked up last, as that reads every key there is
            journey = backend.client.journey(find_task(backend.client, journey_id), search=True)
    except BadInput as error:
        raise _unknown(journey_id) from error
    if not is_seen(backend, caller, journey):
        raise _unknown(journey_id)
    return journey


def is_seen(backend: Backend, caller: Caller, journey: Journey) -> bool:
    """True if a journey is the caller's own, or of pools that the caller watches or curates: all that it looked in."""
    pool = journey.pool or backend.pool_of(journey.agent, journey.submitter)
    others = () if journey.submitter == caller.name else backend.pools_of(journey.agent, journey.submitter)
    return sees_task(caller, pool, journey.submitter) and all(map(caller.sees, others))


def sees_task(caller: Caller, pool: str | None, submitter: str) -> bool:
    """True if a task in that pool is the caller's own, or the caller watches or curates the pool."""
    return caller.sees(pool) and (submitter == caller.name or caller.may("watch") or caller.may("curate"))


def is_first(backend: Backend, journey: JourneyReply) -> bool:
    """True if an agent was shown nothing, and its pool has no memory that is older than the answer."""
    if journey.retriever_version is None or journey.memories or journey.withheld or journey.pool is None:
        return False
    older = Where(pool=journey.pool, created_before=sent_at(journey))
    try:
        return not backend.client.memories.page(older, 1).memories
    except TryAgain:
        return False  # while the memory service is away nothing is said of the pool


async def follow(backend: Backend, caller: Caller, journey_id: str, seconds: float) -> AsyncGenerator[JourneyReply]:
    """Yield a journey as it is now, and again at each change, until it has ended or `seconds` are over."""
    from anyio import to_thread  # of an extra, as commands are there without

    deadline, pause = time.monotonic() + seconds, FIRST_LOOK
    last = None
    while True:
        journey = await to_thread.run_sync(own_journey, backend, caller, journey_id)
        journey_id = journey.id
        if journey != last:
            last, pause = journey, FIRST_LOOK
            yield journey
        left = deadline - time.monotonic()
        if journey.ended or left <= 0:
            return
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, LAST_LOOK)


@serves(Journeys.get)
async def get(backend: Backend, caller: Caller, journey_id: JourneyId, wait: Wait = 0) -> JourneyReply:
    """The journey once it has ended, or as it is after so many seconds."""
    return [one async for one in follow(backend, caller, journey_id, wait)][-1]


@serves(Journeys.events)
async def events(backend: Backend, caller: Caller, journey_id: JourneyId) -> AsyncIterator[JourneyReply]:
    """The journey at each of its changes; raises for who may not see it before the first one."""
    async for journey in follow(backend, caller, journey_id, LONGEST_STREAM):
        yield journey


@serves(Journeys.prompt, right="recall")
def prompt(backend: Backend, caller: Caller, journey_id: JourneyId) -> PromptReply:
    """The turns of the prompt; raises `BadInput` where no model was sent one prompt."""
    return sent_prompt(backend.client, seen_journey(backend, caller, journey_id))


@serves(Journeys.cancel, right="submit")
def cancel(backend: Backend, caller: Caller, journey_id: JourneyId) -> Cancelled:
    """Cancel an unfinished journey; says what became of that."""
    journey_id = own_journey(backend, caller, journey_id).id
    outcome = backend.client.cancel(journey_id)
    audit(caller, "cancel", journey=journey_id, outcome=outcome)
    return Cancelled(id=journey_id, outcome=outcome)


def _unknown(journey_id: str) -> NotFound:
    return NotFound(f"No journey of yours has the id {journey_id!r}. They are kept for some days only.")


def journey_reply(backend: Backend, journey: Journey) -> JourneyReply:
    """A journey that was read, as its reader is told."""
    letter = journey.dead.entry.id if journey.dead else None
    with backend.reaching():
        is_kept = letter is not None and letter in backend.client.dead_letters
    return JourneyReply(**_told(backend, journey, JourneyFields), dead_letter=letter if is_kept else None)


def sent_prompt(client: Client, journey: Journey) -> PromptReply:
    """Make the prompt of a journey anew; raises `BadInput` where no model was sent one prompt."""
    entry = client.ledger.journey(journey.task_id).get("task")
    if entry is None or entry["stage"] != ANSWER.name or journey.answer is None:
        raise BadInput("No agent of memshare has answered this, so there is no prompt.")
    agent = find_agent(journey.agent, client.settings.agents_dir)
    if journey.steps or (agent is not None and agent.engine):
        raise BadInput("This was answered in steps, with a prompt for each: the steps say what each read.")
    if journey.model == OFFLINE or journey.usage is None:
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
    prompt, answer = memory.text_at(at)
    return memory.model_copy(update={"prompt": prompt, "answer": answer})


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
