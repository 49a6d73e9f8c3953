"""The journeys that began last, and a task given to its agent once more."""

from __future__ import annotations

from itertools import islice
from typing import Annotated
from uuid import uuid4

from pydantic import Field

from memshare.client.journey import Journey
from memshare.client.replies import Accepted
from memshare.client.rest.calls.journeys import BriefJourney, Journeys, JourneysReply, State
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.journeys import JourneyId, is_seen, own_journey
from memshare.operations.serving import serves
from memshare_broker.delivery.hops import ANSWER
from memshare_broker.delivery.keys import RECENT
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import MAX_MEMORIES, Message

MOST = 200  # journeys of a list
READ = 30  # journeys that are read in one step
SHOWN = 300  # characters of a prompt


class AgainForm(Message):
    """How a task is to be done this time."""

    memories: int | None = Field(default=None, ge=0, le=MAX_MEMORIES, description="how many are shown")
    remember: bool = True


@serves(Journeys.list)
def journeys(
    backend: Backend,
    caller: Caller,
    agent: Label | None = None,
    submitter: Label | None = None,
    state: State | None = None,
    accepted: bool | None = None,
    limit: Annotated[int, Field(ge=1, le=MOST)] = 50,
) -> JourneysReply:
    """The latest journeys that the caller may see, and that are as wanted."""
    with backend.reaching():
        recent = [str(one) for one in backend.redis.zrange(RECENT, 0, -1, desc=True)]
    read = (one for start in range(0, len(recent), READ) for one in backend.client.journeys(recent[start:][:READ]))
    found = (
        _brief(one)
        for one in read
        if one.trial is None
        and agent in (None, one.agent)
        and submitter in (None, one.submitter)
        and state in (None, one.state)
        and accepted in (None, one.score.accepted if one.score else None)
        and is_seen(backend, caller, one)
    )
    return JourneysReply(journeys=tuple(islice(found, limit)))


@serves(Journeys.again)
def again(backend: Backend, caller: Caller, journey_id: JourneyId, form: AgainForm) -> Accepted:
    """Submit the task of a journey again; raises `BadInput` for a journey that no agent of memshare answers."""
    caller.require("submit")
    own_journey(backend, caller, journey_id)
    with backend.reaching():
        task = backend.client.ledger.journey(journey_id).get("task")
    if task is None or task["stage"] != ANSWER.name:
        raise BadInput(f"The journey {journey_id!r} is no task for an agent of memshare, so it cannot be asked again.")
    card = backend.running(caller, task["queue"])
    backend.check_caps(card.name, caller.name)
    given = {name: value for name, value in task["body"].items() if value is not None and name != "memories"}
    changed = {"submitter": caller.name, "remember": form.remember}
    number = {} if form.memories is None else {"memories": form.memories}
    entry = backend.client.entry_of(card.name, {**given, **changed, **number}, task["priority"], str(uuid4()))
    backend.client.send(entry)
    audit(caller, "submit", journey=entry.id, agent=card.name, pool=card.pool)
    return Accepted(id=entry.id, journey=f"/v1/journeys/{entry.id}")


def _brief(journey: Journey) -> BriefJourney:
    return BriefJourney(
        id=journey.task_id,
        state=journey.state,
        agent=journey.agent,
        kind=journey.kind,
        submitter=journey.submitter,
        submitted=journey.submitted,
        prompt=journey.prompt[:SHOWN],
        model=journey.model,
        memories=len(journey.memories),
        withheld=journey.withheld is not None,
        score=journey.score.total if journey.score else None,
        accepted=journey.score.accepted if journey.score else None,
        waits=journey.waits.why if journey.waits else None,
    )
