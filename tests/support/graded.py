"""Graded pairs, as the scorer sends them to the memory service."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memshare_broker.wire.grades import CriterionScore, GradedTask, Score
from memshare_broker.wire.messages import AgentPair, AnsweredTask, Shown, Usage
from memshare_memory.recall.recall import Recall

THRESHOLD = 81.0


def graded(
    recall: Recall,
    prompt: str,
    answer: str,
    *,
    score: float = 90,
    journey: str = "journey-1",
    pool: str = "poem",
    shown: Sequence[UUID] = (),
    submitter: str = "ada",
) -> GradedTask:
    """A pair with its score; it is accepted from `THRESHOLD` on."""
    task = AgentPair(
        journey=journey,
        agent="poem",
        kind="limerick",
        pool=pool,
        rubric="poem",
        prompt=prompt,
        answer=answer,
        model="scripted",
        submitter=submitter,
        shown=tuple(Shown(id=one, similarity=0.5) for one in shown),
        embedding=recall.embed(prompt),
    )
    return GradedTask(
        task=task,
        score=Score(
            total=score,
            threshold=THRESHOLD,
            accepted=score >= THRESHOLD,
            criteria={"form": CriterionScore(low=score, high=score, points=100)},
            rubric="poem",
            rubric_version="v1",
            model="scripted",
            usage=Usage(),
        ),
    )


def as_pair(kind: type[AnsweredTask], pair: GradedTask, **fields: object) -> GradedTask:
    """The same with a pair of another kind, and with these fields in place of its own."""
    known = {name: value for name, value in pair.task if name in kind.model_fields and name != "what"}
    return pair.model_copy(update={"task": kind.model_validate(known | fields)})
