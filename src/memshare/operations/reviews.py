"""Reviews: what a person learns from a pool, a card at a time, by FSRS."""

from __future__ import annotations

import getpass
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from memshare.client.errors import NotFound
from memshare.client.rest.calls.reviews import CardReply, Remembered, ReviewCalls, ReviewedReply, ReviewsReply
from memshare.extras import names_extra
from memshare.operations.backend import Backend
from memshare.operations.caller import LOCAL_NAME, Caller
from memshare.operations.serving import serves
from memshare_broker.wire.forms import Label
from memshare_memory.stores.store import Order, Where

if TYPE_CHECKING:
    from memshare_concepts.reviews import ReviewLearner

MOST_NEW = 10  # memories of a day
LOOKED_AT = 200  # of the best memories, for those that are new
YEAR = 366 * 86_400.0  # seconds


@serves(ReviewCalls.next, right="recall")
def reviews(backend: Backend, caller: Caller, pool: Label) -> ReviewsReply:
    """The next card, those that are due before new ones, and of these the best graded first."""
    caller.require_pool(pool)
    now = time.time()
    with backend.reaching(), names_extra("To review"):
        learner, suggested = _learner(backend, caller, pool)
        states = learner.standings(now)
        plan = learner.plan(now, suggested, most_new=MOST_NEW, together=False)
        done = [review.at for card in learner.shelf.cards().values() for review in card.reviews]
    following = [*plan.due, *plan.new]
    card = None
    if following:
        state = states.get(following[0])
        probability = state.probability if state else None
        card = CardReply(memory=learner.memories[following[0]], is_new=state is None, probability=probability)
    days = Counter(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") for at in done if at > now - YEAR)
    return ReviewsReply(
        person=_person(caller),
        pool=pool,
        due=len(plan.due),
        new=len(plan.new),
        card=card,
        comes_back=min((state.due for state in states.values()), default=None),
        days=dict(sorted(days.items())),
    )


@serves(ReviewCalls.grade, "ReviewForm", right="recall")
def grade(backend: Backend, caller: Caller, pool: Label, memory_id: UUID, grade: Remembered) -> ReviewedReply:
    """Note how well the caller remembered a memory; raises `NotFound` for one that is not of the pool."""
    caller.require_pool(pool)
    now = time.time()
    with backend.reaching(), names_extra("To review"):
        learner, _ = _learner(backend, caller, pool, memory_id)
        if memory_id not in learner.memories:
            raise NotFound(f"The pool {pool!r} has no memory with a question that has the id {memory_id}.")
        learner.review([memory_id], grade, now)
        return ReviewedReply(memory_id=memory_id, due=learner.standings(now)[memory_id].due)


def _learner(backend: Backend, caller: Caller, pool: str, *named: UUID) -> tuple[ReviewLearner, list[UUID]]:
    """A person with the memories that they reviewed, and the best ones, which may be new to them."""
    from memshare_concepts.concept_graph import ConceptGraph
    from memshare_concepts.reviews import CardStore, ReviewLearner

    shelf, memories = CardStore(backend.redis, _person(caller)), backend.client.memories
    best = memories.first(Where(pool=pool, status="active"), Order("score"), LOOKED_AT)
    known = [one for one in (*shelf.cards(pool), *named) if one not in {memory.id for memory in best}]
    there = [one.memory for one in memories.judge(known) if one.memory.pool == pool and one.memory.status == "active"]
    found = {memory.id: memory for memory in (*best, *there)}
    learner = ReviewLearner(shelf, pool, found, ConceptGraph(), {})
    return learner, [memory.id for memory in best if memory.id in learner.memories]


def _person(caller: Caller) -> str:
    """Whoever has the token; without one whoever sits at this machine, as `memshare review` names them."""
    if caller.name != LOCAL_NAME:
        return caller.name
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # KeyError before Python 3.13: nobody has this user's number
        return LOCAL_NAME
