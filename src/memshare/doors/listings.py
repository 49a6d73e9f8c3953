"""What there is: pools, agents, rubrics and how much is open."""

from __future__ import annotations

from collections import Counter

from memshare.client.errors import NotFound
from memshare.client.replies import (
    AgentReply,
    CriterionReply,
    PoolReply,
    RubricReply,
    StatsReply,
)
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare_memory.recall.lift import lifts
from memshare_scorer.rubric import Rubric, all_rubrics


def pools(backend: Backend, caller: Caller) -> list[PoolReply]:
    """The caller's pools, by name."""
    counts = backend.client.memories.stats().by_pool
    cards = backend.cards().values()
    names = sorted(name for name in counts.keys() | {card.pool for card in cards} if caller.sees(name))
    return [
        PoolReply(
            name=name,
            memories=counts.get(name, 0),
            agents=tuple(sorted(card.name for card in cards if card.pool == name)),
        )
        for name in names
    ]


def agents(backend: Backend, caller: Caller) -> list[AgentReply]:
    """The agents whose pools the caller sees, by name."""
    serving = Counter(queue for worker in backend.client.workers() for queue in worker.queues)
    return [
        AgentReply(**card.model_dump(exclude={"invented"}), workers=serving[name])
        for name, card in sorted(backend.cards().items())
        if caller.sees(card.pool)
    ]


def rubrics(backend: Backend, caller: Caller) -> list[RubricReply]:
    """The rubrics by which the answers of these agents are graded, by name; for who sees all pools, every rubric."""
    seen = {card.rubric for card in backend.cards().values() if caller.sees(card.pool)}
    found = all_rubrics(backend.settings.agents_dir)
    return [_rubric(one) for name, one in sorted(found.items()) if caller.pools is None or name in seen]


def rubric(backend: Backend, caller: Caller, name: str) -> RubricReply:
    """One of them; raises `NotFound`."""
    for one in rubrics(backend, caller):
        if one.name == name:
            return one
    raise NotFound(f"No rubric is called {name!r}.")


def stats(backend: Backend, caller: Caller) -> StatsReply:
    """How many memories the caller's pools have; who sees all pools is told what is open in every queue, too."""
    counts = backend.client.memories.stats().by_pool
    by_pool = {name: count for name, count in sorted(counts.items()) if caller.sees(name)}
    with backend.reaching():
        lift = lifts(backend.redis, by_pool)
        waiting = backend.client.ledger.open_messages()
    own = {card.name for card in backend.cards().values() if caller.sees(card.pool)}
    seen = {queue: count for queue, count in waiting.items() if caller.pools is None or queue in own}
    return StatsReply(memories=sum(by_pool.values()), by_pool=by_pool, lift=lift, open=seen)


def _rubric(rubric: Rubric) -> RubricReply:
    criteria = tuple(
        CriterionReply(name=one.name, points=one.points, kinds=tuple(one.kinds) if one.kinds else None)
        for one in rubric.criteria
    )
    return RubricReply(
        name=rubric.name, domain=rubric.domain, version=rubric.version, approved=rubric.approved,
        threshold=rubric.threshold, criteria=criteria,
    )  # fmt: skip
