"""Feedback: what the memories that were shown were worth, told by who knows the outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from memshare.broker.app import MEMORY_QUEUE
from memshare.broker.delivery.keys import journey_key
from memshare.broker.delivery.packed_json import pack
from memshare.broker.delivery.stage import NextMessage
from memshare.broker.errors import BadInput
from memshare.broker.wire.grades import VerdictTask
from memshare.broker.wire.messages import Shown, derived_id
from memshare.serve.audit import audit
from memshare.serve.backend import Backend
from memshare.serve.caller import Caller
from memshare.serve.forms import FeedbackForm
from memshare.serve.journeys import own_journey
from memshare.serve.replies import FeedbackTaken


class _Subject(NamedTuple):
    """What feedback is about. A pair that names a recall is about that recall, so that its worth is told once."""

    id: str
    journey: str | None
    pool: str
    prompt: str
    shown: Mapping[UUID, Shown]


def give_feedback(backend: Backend, caller: Caller, form: FeedbackForm) -> FeedbackTaken:
    """Tell what memories were worth, 0 to 1. Each is told once of a recall or a task; the first word stands."""
    caller.require("offer")
    subject = _subject(backend, caller, form)
    rewards = form.memories or dict.fromkeys(subject.shown, form.reward or 0.0)
    if strange := [one for one in rewards if one not in subject.shown]:
        raise BadInput(f"The memory {str(strange[0])!r} was not shown: feedback is about those that were.")
    if not rewards:
        raise BadInput("No memory was shown, so there is nothing to tell the worth of.")
    taken = [one for one, reward in rewards.items() if _tell(backend, caller, subject, one, reward)]
    if subject.journey is not None and taken:
        _note(backend, subject.journey, {one: rewards[one] for one in taken})
    audit(caller, "feedback", journey=subject.journey, subject=subject.id, pool=subject.pool, memories=len(taken))
    return FeedbackTaken(taken=tuple(taken), known=tuple(one for one in rewards if one not in taken))


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
    message = NextMessage("memory_service.credit", MEMORY_QUEUE, "credit", verdict)
    return backend.client.send(message.entry(name, decides=False))


def _note(backend: Backend, journey: str, rewards: Mapping[UUID, float]) -> None:
    """Let the journey show what was told."""
    with backend.reaching():
        for one, reward in rewards.items():
            backend.redis.hset(journey_key(journey), f"feedback {one}", pack(json.dumps(reward)))
