"""Answering: a question put to a pool, in a process of its own that has the chat model."""

from __future__ import annotations

from pydantic import Field

from memshare.client.rest.calls.concepts import AnsweredReply, CitedMemory, ConceptCalls
from memshare.doors.apart import answered
from memshare.doors.audit import audit
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.calls.concepts import require_concepts
from memshare.doors.calls.retrievers import PoolPath
from memshare.doors.serving import serves
from memshare_broker.settings import OFFLINE, Settings
from memshare_broker.wire.forms import Written
from memshare_broker.wire.messages import MAX_MEMORIES, Message


class QuestionForm(Message):
    """A question to a pool."""

    question: Written
    memories: int = Field(default=8, ge=1, le=MAX_MEMORIES, description="to answer from, at most")
    only_memories: bool = Field(default=False, description="whether the model may add nothing")


@serves(ConceptCalls.answer)
def answer(backend: BackendNow, caller: CallerNow, pool: PoolPath, form: QuestionForm) -> AnsweredReply:
    """An answer with what it rests on; raises `NotYet` where the caller's cap is reached."""
    require_concepts(backend, caller, pool)
    caller.require("submit")
    backend.checked_text(form.question, "question")
    asked = (backend.settings, pool, form, caller.name)
    is_offline = backend.settings.model_for("agents") == OFFLINE
    reply = _answered(*asked) if is_offline else answered(_answered, *asked)
    audit(caller, "answer", pool=pool, memories=len(reply.cites))
    return reply


def _answered(settings: Settings, pool: str, form: QuestionForm, payer: str) -> AnsweredReply:
    from memshare.client.answering import answer_from

    said, found = answer_from(
        settings, form.question, pool, form.memories, only_memories=form.only_memories, payer=payer
    )
    similarity = {one.memory.id: one.similarity for one in found}
    return AnsweredReply(
        answer=said.answer,
        cites=tuple(
            CitedMemory(id=one.id, why=why, similarity=similarity[one.id], prompt=one.prompt, answer=one.answer)
            for one, why in said.cites
        ),
        own_knowledge=said.own_knowledge,
        questions=said.questions,
        model=said.model,
    )
