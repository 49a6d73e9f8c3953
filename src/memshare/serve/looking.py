"""What there is: pools, agents, rubrics, dead letters and how much is open."""

from __future__ import annotations

from collections import Counter
from typing import Any

from memshare.broker.delivery.dead_letters import DeadLetter
from memshare.scorer.rubric import Rubric, all_rubrics
from memshare.serve.backend import Backend
from memshare.serve.caller import Caller
from memshare.serve.errors import NotFound
from memshare.serve.replies import (
    AgentReply,
    CriterionReply,
    DeadLetterReply,
    PoolReply,
    RubricReply,
    StatsReply,
)


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
        AgentReply(**card.model_dump(), workers=serving[name])
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


def dead_letters(backend: Backend, caller: Caller) -> list[DeadLetterReply]:
    """What was given up in the caller's pools, oldest first."""
    caller.require("admin")
    with backend.reaching():
        letters = backend.client.dead_letters.all()
    found = [(letter, _pool_of(backend, letter)) for letter in letters]
    return [
        DeadLetterReply(
            id=letter.entry.id, journey=letter.entry.journey, task=letter.entry.task, pool=pool, reason=letter.reason,
            error=letter.error, tries=letter.tries, died=letter.died,
        )
        for letter, pool in found
        if caller.sees(pool)
    ]  # fmt: skip


def stats(backend: Backend, caller: Caller) -> StatsReply:
    """How many memories the caller's pools have; who sees all pools is told what is open in every queue, too."""
    counts = backend.client.memories.stats().by_pool
    by_pool = {name: count for name, count in sorted(counts.items()) if caller.sees(name)}
    with backend.reaching():
        waiting = backend.client.ledger.open_messages()
    own = {card.name for card in backend.cards().values() if caller.sees(card.pool)}
    seen = {queue: count for queue, count in waiting.items() if caller.pools is None or queue in own}
    return StatsReply(memories=sum(by_pool.values()), by_pool=by_pool, open=seen)


def _rubric(rubric: Rubric) -> RubricReply:
    criteria = tuple(
        CriterionReply(name=one.name, points=one.points, kinds=tuple(one.kinds) if one.kinds else None)
        for one in rubric.criteria
    )
    return RubricReply(
        name=rubric.name, domain=rubric.domain, version=rubric.version, approved=rubric.approved,
        threshold=rubric.threshold, criteria=criteria,
    )  # fmt: skip


def _pool_of(backend: Backend, letter: DeadLetter) -> str | None:
    """The pool that a message was about: it says so itself, or its agent does."""
    body: Any = letter.entry.body
    for _ in range(2):
        if isinstance(body, dict):
            if isinstance(pool := body.get("pool"), str):
                return pool
            body = body.get("task")
    return backend.pool_of(letter.entry.queue)
