"""The three calls of an agent that shares: recall, offer, feedback."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Literal, NamedTuple
from uuid import UUID, uuid4

from pydantic import Field

from memshare.client.errors import NotFound
from memshare.client.replies import Accepted, FeedbackTaken, Recalled, RecalledMemory
from memshare.client.rest.calls.all_calls import Sharing
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.operations import forms, opinions
from memshare.operations.backend import Backend, KeptRecall
from memshare.operations.caller import Caller, audit
from memshare.operations.forms import Filters
from memshare.operations.journeys import own_journey
from memshare.operations.serving import (
    ADDS,
    READS,
    TELLS_ONCE,
    AgentName,
    KindName,
    PoolName,
    Prompt,
    ask,
    serves,
    tool,
)
from memshare.operations.submitting import journey_id, require_same
from memshare.terminal.ids import counted
from memshare_agents.answering import example_turns
from memshare_broker.delivery.hops import CREDIT, OFFER
from memshare_broker.delivery.journey_records import OPINION, note, noted
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.presence import AgentCard
from memshare_broker.wire.forms import Label, Share, Written
from memshare_broker.wire.grades import OfferedPair, Opinion, VerdictTask
from memshare_broker.wire.messages import MAX_MEMORIES, Shown, derived_id
from memshare_broker.wire.spaces import fits
from memshare_memory.admit.followed import that_count
from memshare_memory.door.messages import Found, RecallRequest
from memshare_memory.memory import UNTRIED, Credibility, Mode
from memshare_memory.recall.near_enough import too_far
from memshare_memory.stores.store import Where

ALL = Filters()


@serves(Sharing.recall, "RecallForm", right="recall", agent="logic", prompt="What has keys and opens no door?", k=3)
def recall(
    backend: Backend,
    caller: Caller,
    prompt: forms.Prompt = None,
    messages: forms.Turns = None,
    agent: Label | None = None,
    pool: Label | None = None,
    k: Annotated[int, Field(ge=0, le=MAX_MEMORIES)] = 3,
    mode: Mode = "dense",
    filters: Filters = ALL,
    format: Annotated[  # noqa: A002 - the field's name
        Literal["memories", "messages"],
        Field(description='"messages" adds turns, ready to put directly before the task'),
    ] = "memories",
) -> Recalled:
    """The memories that may be shown with a task, best first; they are kept under a `recall_id`."""
    text = backend.checked_task(prompt, messages)
    card, pool = _agent_or_pool(backend, caller, agent, pool)
    beside = backend.beside(caller, card)
    request = RecallRequest(
        pool=pool,
        beside=beside,
        text=text,
        k=k,
        mode=mode,
        among=filters.where(ids_not=filters.not_shown),
        # A token's own pools may have no memory yet; the name of any other may be a slip of the pen.
        new_pool=agent is not None or caller.pools is not None,
        submitter=caller.name,
        asked_by=caller.name,
    )
    found = backend.client.memories.recall(request)
    kept = KeptRecall(
        id=uuid4(),
        submitter=caller.name,
        pool=pool,
        pools=(pool, *beside) if beside else (),
        prompt=text,
        shown=tuple(one.shown for one in found.found),
    )
    with backend.reaching():
        backend.recalls.keep(kept)
    least = backend.client.nearness(pool).least
    turns = None
    if format == "messages":
        turns = tuple(example_turns([one.memory for one in found.found], apart=len(messages or ()) > 1))
    return Recalled(
        recall_id=kept.id,
        pool=pool,
        far=too_far(found.nearest.similarity if found.nearest else None, least),
        memories=tuple(_told(one, least) for one in found.found),
        messages=turns,
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
    return ask("The recall", recall, backend, caller, prompt=prompt, agent=agent, pool=pool, k=k)


def _agent_or_pool(
    backend: Backend, caller: Caller, agent: str | None, pool: str | None
) -> tuple[AgentCard | None, str]:
    """The agent that is named and its pool, or the pool; raises `BadInput` unless it is one of the two."""
    if (agent is None) == (pool is None):
        raise BadInput("Name an 'agent' or a 'pool': one of the two.")
    if agent is not None:
        card = backend.agent(caller, agent)
        return card, card.spaces(caller.name).pools[0]
    assert pool is not None
    caller.require_pool(pool)
    return None, pool


def _told(found: Found, least: float) -> RecalledMemory:
    memory, known = found.memory, found.credibility or Credibility(p=UNTRIED, credits=0)
    return RecalledMemory(
        **memory.model_dump(include={*RecalledMemory.model_fields}),
        similarity=found.similarity,
        credibility=known.p,
        credits=known.credits,
        why=_why(found, known, least),
    )


def _why(found: Found, known: Credibility, least: float) -> str:
    """The reasons for showing a memory, as a sentence."""
    memory = found.memory
    about = "its statement" if memory.prompt is None else "its task"
    parts = [f"{about} is {'' if found.similarity >= least else 'not much '}like this one ({found.similarity:.2f})"]
    if memory.score is not None:
        parts.append(f"its answer was graded {memory.score:.0f} of 100")
    of = f", and its credibility is {known.p:.2f}" if memory.is_statement else ""
    parts.append(f"it has {counted(known.credits, 'verdict')}{of}" if known.credits else "it has no verdict yet")
    if not found.proven:
        parts.append("it is unproven")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


@serves(
    Sharing.pairs, "OfferForm", right="offer",
    agent="logic", kind="riddle", prompt="What has keys and opens no door?", answer="A piano.", model="my-model",
)  # fmt: skip
def offer(
    backend: Backend,
    caller: Caller,
    answer: Written,
    prompt: forms.Prompt = None,
    messages: forms.Turns = None,
    agent: Label | None = None,
    pool: Label | None = None,
    kind: Label | None = None,
    model: Label | None = None,
    recall_id: Annotated[UUID | None, Field(description="the recall whose memories helped: they are credited")] = None,
    idempotency_key: forms.Key | None = None,
) -> Accepted:
    """Hand in a pair to be graded, settled and learnt from; it is written down when this returns.

    With an idempotency key, the same pair is handed in once, and another one under the same key is refused.
    """
    task = backend.checked_task(prompt, messages)
    answer = backend.checked_text(answer, "answer")
    named, pool = _agent_or_pool(backend, caller, agent, pool)
    card = _grading_agent(backend, named, pool)
    card.require_kind(kind)
    recalled = _recalled(backend, caller, recall_id, pool)
    backend.check_caps(card.name, caller.name)
    with backend.reaching():
        backend.shares.take_offer(caller, len(task) + len(answer), partial(_stored, backend, caller, pool))
    pair = OfferedPair(
        agent=card.name,
        pool=pool,
        rubric=card.rubric or "",
        kind=kind,
        prompt=task,
        answer=answer,
        model=model,
        submitter=caller.name,
        shown=recalled.shown if recalled else (),
        recall_id=recall_id,
    )
    journey = journey_id("pair", caller, idempotency_key)
    message = OFFER.next(pair, journey)
    backend.client.send(message)
    require_same(backend, message, idempotency_key)
    audit(caller, "offer", journey=journey, pool=pool, recall_id=recall_id)
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
    return ask(
        "The offer", offer, backend, caller, prompt=prompt, answer=answer, agent=agent, pool=pool, kind=kind,
        model=model, recall_id=recall_id, idempotency_key=idempotency_key,
    )  # fmt: skip


def _grading_agent(backend: Backend, named: AgentCard | None, pool: str) -> AgentCard:
    """The agent that a pair stands under: it says by which rubric it is graded."""
    cards = [named] if named else [card for _, card in sorted(backend.cards().items()) if fits(card.pool, pool)]
    graded = [card for card in cards if card.rubric is not None]
    if not graded:
        raise NotFound(
            f"No agent of {named.name if named else pool!r} says its rubric, so nothing of it can be graded. "
            "`memshare agents` lists the agents and their pools."
        )
    return graded[0]


def _recalled(backend: Backend, caller: Caller, recall_id: UUID | None, pool: str) -> KeptRecall | None:
    if recall_id is None:
        return None
    with backend.reaching():
        recalled = backend.recalls.get(caller, recall_id)
    if recalled.pool != pool:
        raise BadInput(f"The recall was in the pool {recalled.pool!r}, and the answer is for {pool!r}.")
    return recalled


class _Subject(NamedTuple):
    """The subject of feedback. A pair that names a recall is about that recall, so that its worth is told once.

    `followed` are the memories among those shown that one reward for all is about.
    """

    id: str
    journey: JourneyReply | None
    pools: Sequence[str]
    prompt: str
    shown: Mapping[UUID, Shown]
    followed: Collection[UUID]


@serves(Sharing.feedback, "FeedbackForm", recall_id="5b2f3c1e-6c0c-4f2e-9a36-5f0f3f3f6f10", reward=1.0)
def give_feedback(
    backend: Backend,
    caller: Caller,
    journey: Annotated[str | None, Field(min_length=1, max_length=200)] = None,
    recall_id: UUID | None = None,
    reward: Share | None = None,
    memories: Annotated[dict[UUID, Share] | None, Field(min_length=1, max_length=MAX_MEMORIES)] = None,
    take_back: Annotated[bool, Field(description="whether what was said of a journey's answer is taken back")] = False,
) -> FeedbackTaken:
    """Tell what memories were worth, 0 to 1. Each is told once of a recall or a task; the first word stands until it
    is taken back.

    One reward for a journey is what its answer was worth, too: it is told of the memories that the answer follows, and
    noted also where it follows none. What became of a wrong answer is hidden, and it is not admitted again, where the
    caller curates or gave the task. It takes the right 'offer' or, of a journey, 'curate'.
    """
    caller.require("offer", "curate") if journey else caller.require("offer")
    if (journey is None) == (recall_id is None):
        raise BadInput("Give a 'journey' or a 'recall_id': one of the two.")
    if take_back:
        if journey is None or reward is not None or memories is not None:
            raise BadInput("What was said of a journey's answer is taken back: give 'journey' alone with 'take_back'.")
        return opinions.take_back(backend, caller, own_journey(backend, caller, journey))
    if (reward is None) == (memories is None):
        raise BadInput("Give a 'reward', or a reward for each of 'memories': one of the two.")
    subject = _subject(backend, caller, journey, recall_id)
    if reward is not None and subject.journey is not None and subject.journey.state == "unanswered":
        raise BadInput("This journey has no answer that is right or wrong: nothing near enough to its task was found.")
    if subject.journey is not None and (times := opinions.times_taken_back(backend, subject.journey.id)):
        subject = subject._replace(id=f"{subject.id} {times}")
    rewards = memories or dict.fromkeys(subject.followed, reward or 0.0)
    if strange := [one for one in rewards if one not in subject.shown]:
        raise BadInput(f"The memory {str(strange[0])!r} was not shown: feedback is about those that were.")
    if not rewards and subject.journey is None:
        raise BadInput("No memory was shown, so there is nothing to tell the worth of.")
    taken = [one for one, worth in rewards.items() if _tell(backend, caller, subject, one, worth)]
    hidden, stands, whole = None, None, subject.journey
    still_shown: tuple[UUID, ...] = ()
    if whole is not None:
        opinion = None if reward is None else Opinion(by=caller.name, reward=reward)
        if opinion is not None and opinion.is_wrong:
            is_own = caller.may("curate") or whole.submitter == caller.name
            opinion = opinion.model_copy(update={"hides": is_own and whole.trial is None})
        said = _note(backend, whole.id, {one: rewards[one] for one in taken}, opinion)
        if said and opinion:
            said = opinions.that_stands(backend, caller, whole, said, opinion)
        if said and opinion and (said.by, said.reward) != (opinion.by, opinion.reward):
            stands = f"{said.by} said before that it is {said.found} ({said.reward:g}): 'take_back' takes that back."
        if said and stands is None:
            hidden, still_shown = opinions.hide(backend, caller, whole, subject.pools[0], said, is_new=said == opinion)
    about = {"journey": whole and whole.id, "subject": subject.id, "pool": subject.pools[0]}
    audit(caller, "feedback", **about, memories=len(taken), hidden=hidden and str(hidden))
    known = tuple(one for one in rewards if one not in taken)
    return FeedbackTaken(taken=tuple(taken), known=known, hidden=hidden, stands=stands, still_shown=still_shown)


@tool(Sharing.feedback, "feedback", "Feedback", "offer", TELLS_ONCE, "curate")
def feedback_by_model(
    backend: Backend,
    caller: Caller,
    reward: Annotated[float | None, Field(ge=0, le=1, description="0: useless or wrong; 1: as good as can be")] = None,
    recall_id: Annotated[UUID | None, Field(description="of a recall: what its memories were worth")] = None,
    journey: Annotated[str | None, Field(description="of an offer or a task: what its answer was worth, too")] = None,
    memory_id: Annotated[UUID | None, Field(description="one memory; without it, all that were shown")] = None,
    take_back: Annotated[bool, Field(description="with a journey alone: what was said of its answer")] = False,
) -> FeedbackTaken:
    """Tell how it went once you know the outcome: a test passed, the user was content or corrected you. To say that an
    answer is wrong, give its `journey` and reward 0: what became of your answer is hidden and not admitted again, and
    what it follows counts for less; `still_shown` are memories that say the same. A `recall_id` speaks of the memories
    alone, and hides nothing. The first word stands until `take_back`. Do not call it on a guess."""
    worth = {"reward": reward} if memory_id is None else {"memories": {str(memory_id): reward}}
    about = {"recall_id": recall_id, "journey": journey, "take_back": take_back}
    return ask("The feedback", give_feedback, backend, caller, **about, **worth)


def _subject(backend: Backend, caller: Caller, name: str | None, recall_id: UUID | None) -> _Subject:
    journey = None
    if name is not None:
        reply = own_journey(backend, caller, name)
        recall_id, journey = reply.recall_id, reply
        if recall_id is None or (reply.submitter != caller.name and caller.may("curate")):
            shown = {one.id: one for one in reply.memories}
            pools, about = opinions.pools_looked_in(backend, reply), str(recall_id or reply.id)
            return _Subject(about, reply, pools, reply.prompt, shown, _followed(backend, reply, shown))
    assert recall_id is not None
    with backend.reaching():
        recalled = backend.recalls.get(caller, recall_id)
    shown = {one.id: one for one in recalled.shown}
    followed = _followed(backend, journey, shown) if journey else [*shown]
    return _Subject(str(recall_id), journey, recalled.pools or (recalled.pool,), recalled.prompt, shown, followed)


def _followed(backend: Backend, journey: JourneyReply, shown: Mapping[UUID, Shown]) -> list[UUID]:
    """The memories among those shown that a word on the answer is about, as far as that is known."""
    judged = backend.client.memories.judge([*shown]) if shown else []
    there = {one.memory.id: one.memory for one in judged}
    return that_count(journey.answer or "", journey.prompt, shown, there, opinions.contradicting(journey, judged))


def _tell(backend: Backend, caller: Caller, subject: _Subject, memory: UUID, reward: float) -> bool:
    """Send what a memory was worth to the memory service; False where that was told before."""
    name = str(derived_id("feedback", subject.id, str(memory)))
    shown = subject.shown[memory].model_copy(update={"share": None})
    verdict = VerdictTask(
        journey=name, pool=subject.pools[0], pools=tuple(subject.pools), prompt=subject.prompt,
        submitter=caller.name, shown=(shown,), verdict=reward,
    )  # fmt: skip
    return backend.client.send(CREDIT.next(verdict, name)._replace(decides=False))


def _note(backend: Backend, journey: str, rewards: Mapping[UUID, float], opinion: Opinion | None) -> Opinion | None:
    """Let the journey show what was told; of opinions the first one stands, and is returned."""
    with backend.reaching():
        if opinion is not None:
            note(backend.redis, journey, OPINION, opinion.model_dump(mode="json"), once=True)
        for one, reward in rewards.items():
            note(backend.redis, journey, f"feedback {one}", reward)
        return Opinion.model_validate(noted(backend.redis, journey, OPINION)) if opinion else None
