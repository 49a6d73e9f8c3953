"""Feedback: what the memories that were shown were worth, told by who knows the outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import Field

from memshare.client.replies import FeedbackTaken
from memshare.client.rest.calls.sharing import Sharing
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.forms import FeedbackForm
from memshare.operations.journeys import own_journey
from memshare.operations.serving import TELLS_ONCE, serves, tool
from memshare_broker.delivery.hops import CREDIT
from memshare_broker.delivery.journey_records import pack
from memshare_broker.delivery.keys import journey_key
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import checked
from memshare_broker.wire.grades import Opinion, VerdictTask
from memshare_broker.wire.messages import Shown, derived_id


class _Subject(NamedTuple):
    """What feedback is about. A pair that names a recall is about that recall, so that its worth is told once."""

    id: str
    journey: str | None
    pool: str
    prompt: str
    shown: Mapping[UUID, Shown]


@serves(Sharing.feedback)
def give_feedback(backend: Backend, caller: Caller, form: FeedbackForm) -> FeedbackTaken:
    """Tell what memories were worth, 0 to 1. Each is told once of a recall or a task; the first word stands.

    One reward for a journey is what its answer was worth, too: that is noted also where no memory was shown.
    """
    caller.require("offer")
    subject = _subject(backend, caller, form)
    rewards = form.memories or dict.fromkeys(subject.shown, form.reward or 0.0)
    if strange := [one for one in rewards if one not in subject.shown]:
        raise BadInput(f"The memory {str(strange[0])!r} was not shown: feedback is about those that were.")
    if not rewards and subject.journey is None:
        raise BadInput("No memory was shown, so there is nothing to tell the worth of.")
    taken = [one for one, reward in rewards.items() if _tell(backend, caller, subject, one, reward)]
    if subject.journey is not None:
        opinion = None if form.reward is None else Opinion(by=caller.name, reward=form.reward)
        _note(backend, subject.journey, {one: rewards[one] for one in taken}, opinion)
    audit(caller, "feedback", journey=subject.journey, subject=subject.id, pool=subject.pool, memories=len(taken))
    return FeedbackTaken(taken=tuple(taken), known=tuple(one for one in rewards if one not in taken))


@tool(Sharing.feedback, "feedback", "Feedback", "offer", TELLS_ONCE)
def feedback_by_model(
    backend: Backend,
    caller: Caller,
    reward: Annotated[float, Field(ge=0, le=1, description="0: useless or wrong; 1: as good as can be")],
    recall_id: Annotated[UUID | None, Field(description="of the recall; or name a journey")] = None,
    journey: Annotated[str | None, Field(description="the id that an offer or a task was answered with")] = None,
    memory_id: Annotated[UUID | None, Field(description="one memory; without it, all that were shown")] = None,
) -> FeedbackTaken:
    """Tell how it went once you know the outcome: a test passed, the user was content or corrected you. It decides
    what is shown from now on. Each memory is told once; the first word stands. Do not call it on a guess."""
    worth = {"reward": reward} if memory_id is None else {"memories": {memory_id: reward}}
    form = checked(FeedbackForm, "The feedback", recall_id=recall_id, journey=journey, **worth)
    return give_feedback(backend, caller, form)


def _subject(backend: Backend, caller: Caller, form: FeedbackForm) -> _Subject:
    recall_id, journey = form.recall_id, None
    if form.journey is not None:
        reply = own_journey(backend, caller, form.journey)
        recall_id, journey = reply.recall_id, reply.id
        if recall_id is None:
            if reply.pool is None:
                raise BadInput(f"The pool of the task {reply.id!r} is not known any more.")
            shown = {one.id: one for one in reply.memories}
            return _Subject(reply.id, reply.id, reply.pool, reply.prompt, shown)
    assert recall_id is not None
    with backend.reaching():
        recalled = backend.recalls.get(caller, recall_id)
    return _Subject(str(recall_id), journey, recalled.pool, recalled.prompt, {one.id: one for one in recalled.shown})


def _tell(backend: Backend, caller: Caller, subject: _Subject, memory: UUID, reward: float) -> bool:
    """Send what a memory was worth to the memory service; False where that was told before."""
    name = str(derived_id("feedback", subject.id, str(memory)))
    shown = subject.shown[memory].model_copy(update={"share": None})
    verdict = VerdictTask(
        journey=name,
        pool=subject.pool,
        prompt=subject.prompt,
        submitter=caller.name,
        shown=(shown,),
        verdict=reward,
    )
    return backend.client.send(CREDIT.entry(verdict, name, decides=False))


def _note(backend: Backend, journey: str, rewards: Mapping[UUID, float], opinion: Opinion | None) -> None:
    """Let the journey show what was told; of opinions the first one stands."""
    with backend.reaching():
        if opinion is not None:
            backend.redis.hsetnx(journey_key(journey), "opinion", pack(opinion.model_dump_json()))
        for one, reward in rewards.items():
            backend.redis.hset(journey_key(journey), f"feedback {one}", pack(json.dumps(reward)))
