"""The three calls of an agent that shares: recall, offer, feedback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, NamedTuple
from uuid import UUID, uuid4

from pydantic import Field

from memshare.client.errors import NotFound
from memshare.client.replies import Accepted, FeedbackTaken, Recalled, RecalledMemory
from memshare.client.rest.calls.sharing import Sharing
from memshare.operations.backend import Backend, KeptRecall
from memshare.operations.caller import Caller, audit
from memshare.operations.forms import FeedbackForm, OfferForm, RecallForm
from memshare.operations.journeys import own_journey
from memshare.operations.serving import ADDS, READS, TELLS_ONCE, AgentName, KindName, PoolName, Prompt, serves, tool
from memshare.operations.submitting import require_same
from memshare_agents.prompt import example_turns
from memshare_broker.delivery.hops import CREDIT, OFFER
from memshare_broker.delivery.journey_records import note
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.presence import AgentCard
from memshare_broker.wire.forms import checked
from memshare_broker.wire.grades import OfferedPair, Opinion, VerdictTask
from memshare_broker.wire.messages import Shown, Turn, derived_id
from memshare_memory.door.messages import Found, JudgedMemory, RecallRequest
from memshare_memory.stores.store import Where


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
        memories=tuple(_told(one, judged.get(one.memory.id)) for one in found.found),
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


def _told(found: Found, judged: JudgedMemory | None) -> RecalledMemory:
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
    """The reasons for showing a memory, as a sentence."""
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


@serves(Sharing.pairs)
def offer(backend: Backend, caller: Caller, form: OfferForm) -> Accepted:
    """Hand in a pair to be graded, settled and learnt from; it is written down when this returns.

    With an idempotency key, the same pair is handed in once, and another one under the same key is refused.
    """
    caller.require("offer")
    prompt = backend.checked_text(form.text)
    answer = backend.checked_text(form.answer, "answer")
    card = _card(backend, caller, form)
    card.require_kind(form.kind)
    recalled = _recalled(backend, caller, form, card.pool)
    backend.check_caps(card.name, caller.name)
    with backend.reaching():
        backend.shares.take_offer(caller, len(prompt) + len(answer), partial(_stored, backend, caller, card.pool))
    pair = OfferedPair(
        agent=card.name,
        pool=card.pool,
        rubric=card.rubric or "",
        kind=form.kind,
        prompt=prompt,
        answer=answer,
        model=form.model,
        submitter=caller.name,
        shown=recalled.shown if recalled else (),
        recall_id=form.recall_id,
    )
    key = form.idempotency_key
    journey = str(uuid4() if key is None else derived_id("pair", caller.name, key))
    message = OFFER.next(pair, journey)
    backend.client.send(message)
    if key is not None:
        require_same(backend, message, key)
    audit(caller, "offer", journey=journey, pool=card.pool, recall_id=form.recall_id)
    return Accepted(id=journey, journey=f"/v1/journeys/{journey}")


def _stored(backend: Backend, caller: Caller, pool: str) -> int:
    """The memories of a caller in a pool; none is known of while the memory service is away."""
    with suppress(TryAgain):
        return sum(backend.client.memories.count(Where(pool=pool, submitter=caller.name), "pool")["pool"].values())
    return 0


@tool(Sharing.pairs, "offer", "Offer an answer", "offer", ADDS)
def offer_by_model(
    backend: Backend,
    caller: Caller,
    prompt: Prompt,
    answer: str,
    agent: AgentName = None,
    pool: PoolName = None,
    kind: KindName = None,
    model: Annotated[str | None, Field(description="your own name")] = None,
    recall_id: Annotated[UUID | None, Field(description="of the recall whose memories you were shown")] = None,
    idempotency_key: Annotated[
        str | None, Field(description="any text of yours: the same pair is handed in once under it")
    ] = None,
) -> Accepted:
    """Share your answer once you have given it. It is graded, and others are shown it only where it is good
    enough. Offer a final answer, never a guess, and nothing private."""
    form = checked(
        OfferForm, "The offer", prompt=prompt, answer=answer, agent=agent, pool=pool, kind=kind, model=model,
        recall_id=recall_id, idempotency_key=idempotency_key,
    )  # fmt: skip
    return offer(backend, caller, form)


def _card(backend: Backend, caller: Caller, form: OfferForm) -> AgentCard:
    """The agent that a pair stands under: it says by which rubric it is graded."""
    if (form.agent is None) == (form.pool is None):
        raise BadInput("Name an 'agent' or a 'pool': one of the two.")
    if form.agent is not None:
        cards = [backend.agent(caller, form.agent)]
    else:
        assert form.pool is not None
        caller.require_pool(form.pool)
        cards = [card for _, card in sorted(backend.cards().items()) if card.pool == form.pool]
    graded = [card for card in cards if card.rubric is not None]
    if not graded:
        raise NotFound(
            f"No agent of {form.agent or form.pool!r} says its rubric, so nothing of it can be graded. "
            "`memshare agents` lists the agents and their pools."
        )
    return graded[0]


def _recalled(backend: Backend, caller: Caller, form: OfferForm, pool: str) -> KeptRecall | None:
    if form.recall_id is None:
        return None
    with backend.reaching():
        recalled = backend.recalls.get(caller, form.recall_id)
    if recalled.pool != pool:
        raise BadInput(f"The recall was in the pool {recalled.pool!r}, and the answer is for {pool!r}.")
    return recalled


class _Subject(NamedTuple):
    """The subject of feedback. A pair that names a recall is about that recall, so that its worth is told once."""

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
    return backend.client.send(CREDIT.next(verdict, name)._replace(decides=False))


def _note(backend: Backend, journey: str, rewards: Mapping[UUID, float], opinion: Opinion | None) -> None:
    """Let the journey show what was told; of opinions the first one stands."""
    with backend.reaching():
        if opinion is not None:
            note(backend.redis, journey, "opinion", opinion.model_dump(mode="json"), once=True)
        for one, reward in rewards.items():
            note(backend.redis, journey, f"feedback {one}", reward)
