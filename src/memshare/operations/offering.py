"""Offering: an answer of one's own becomes a journey that begins at the scorer."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Annotated
from uuid import UUID, uuid4

from pydantic import Field

from memshare.client.errors import NotFound
from memshare.client.replies import Accepted
from memshare.client.rest.calls.sharing import Sharing
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.forms import OfferForm
from memshare.operations.recall_log import KeptRecall
from memshare.operations.serving import ADDS, AgentName, KindName, PoolName, Prompt, serves, tool
from memshare.operations.submitting import require_same
from memshare_broker.delivery.hops import OFFER
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.presence import AgentCard
from memshare_broker.wire.forms import checked
from memshare_broker.wire.grades import OfferedPair
from memshare_broker.wire.messages import derived_id
from memshare_memory.stores.store import Where


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
    entry = OFFER.entry(pair, journey)
    backend.client.send(entry)
    if key is not None:
        require_same(backend, entry, key)
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
