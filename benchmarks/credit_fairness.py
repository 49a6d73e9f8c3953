"""Good memories that a careless credit would hide: those of hard tasks, and those with small shares in good answers."""

from __future__ import annotations

import random
from uuid import UUID

from benchmarks.own_pool import OwnPool
from memshare_broker.wire.grades import GradedTask, Score
from memshare_broker.wire.messages import AgentPair, Shown, Usage
from memshare_memory.curate.requests import NewMemory

MEMORIES, TASKS = 10, 100
HARD = {"with": 20.0, "without": 10.0}  # mean scores of tasks with a good memory and without
EASY = {"with": 90.0, "without": 70.0}
SPREAD = 8.0  # standard deviation of the scores
SMALL, LARGE = 0.075, 0.6  # shares in an answer


def hard_tasks(pool: OwnPool, name: str, seed: int, *, kinds: bool) -> float:
    """The share of good memories of hard tasks that are still shown after all have had their tasks.

    As many memories of easy tasks are in the same pool. Without `kinds` nothing tells hard tasks from easy ones.
    """
    chance = random.Random(seed)
    hard, easy = (_remember(pool, f"{name}-{level}", name) for level in ("hard", "easy"))
    for number in range(TASKS):
        for kind, scores, memories in (("hard", HARD, hard), ("easy", EASY, easy)):
            for place, memory in enumerate(memories):
                for how, shown in (("with", (Shown(id=memory, similarity=0.8),)), ("without", ())):
                    score = min(max(chance.gauss(scores[how], SPREAD), 0.0), 100.0)
                    settle_graded(pool, name, f"{kind} {place} {number} {how}", shown, score, kind if kinds else None)
    return _still_shown(pool, name, hard)


def verified_small_share(pool: OwnPool, name: str) -> float:
    """The share of memories still shown, and as credible as untried ones, of those that had small shares for long."""
    large, *small = _remember(pool, name, name)
    for number in range(TASKS):
        for memory in small:
            shown = (Shown(id=large, similarity=0.8, share=LARGE), Shown(id=memory, similarity=0.6, share=SMALL))
            settle_graded(pool, name, f"{memory} {number}", shown, 85.0, None)
    memories = [pool.curate.get(one) for one in small]
    fair = [how.p >= 1 for how in pool.standing.credibilities(name, memories)]
    return min(_still_shown(pool, name, small), sum(fair) / len(fair))


def _remember(pool: OwnPool, about: str, name: str) -> list[UUID]:
    new = [
        NewMemory(pool=name, prompt=f"Task {place} of {about}", answer=f"{place} {about}") for place in range(MEMORIES)
    ]
    return pool.curate.add(new)


def settle_graded(
    pool: OwnPool,
    name: str,
    journey: str,
    shown: tuple[Shown, ...],
    score: float,
    kind: str | None,
    prompt: str | None = None,
) -> None:
    """A graded task as the scorer sends it, of which only the credit counts here."""
    task = AgentPair(
        journey=journey, agent="benchmark", kind=kind, pool=name, rubric="integrated",
        prompt=prompt or f"A task like {journey}",
        answer="An answer.", model="simulated", submitter="benchmark", shown=shown,
    )  # fmt: skip
    graded = Score(
        total=score, threshold=100, accepted=False, criteria={}, rubric="integrated", rubric_version="1",
        model="simulated", usage=Usage(),
    )  # fmt: skip
    pool.settle.run(journey, GradedTask(task=task, score=graded))


def _still_shown(pool: OwnPool, name: str, memories: list[UUID]) -> float:
    """The share of memories that recall shows for their own task."""
    shown = 0
    for one in memories:
        prompt = pool.curate.get(one).key
        vector = pool.recall.embed(prompt).unpack()
        shown += one in [hit.memory.id for hit in pool.recall.nearest(name, prompt, vector, 3).hits]
    return round(shown / len(memories), 4)
