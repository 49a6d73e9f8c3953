"""Whether the workers that are there have models: asked before anything is sent that would be in vain."""

from __future__ import annotations

from collections.abc import Iterable

import redis

from memshare.client.client import Client
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE
from memshare_llm.no_model import needs_model
from memshare_scorer.grading import cannot_grade, is_checked
from memshare_scorer.rubric import find_rubric
from memshare_trainer.percentages import paused_labels


def model_doubts(client: redis.Redis) -> tuple[str, ...]:
    """A sentence for each rubric by which a model cannot grade, and each model that is asked for no labels now."""
    return (*(why for _, why in cannot_grade(client)), *paused_labels(client))


def require_scorer_model(client: Client, what: str) -> None:
    """Raise `BadInput` where no worker that grades, or names concepts, has a model; `what` begins the sentence."""
    if {worker.scorer_model for worker in client.workers()} - {None} == {OFFLINE}:
        raise BadInput(needs_model(what))


def require_agent_model(client: Client, agents: Iterable[str], what: str) -> None:
    """Raise `BadInput` where a worker of one of these agents has no model."""
    cards = [card for worker in client.workers() for card in worker.agents]
    if any(card.name in agents and card.model == OFFLINE for card in cards):
        raise BadInput(needs_model(what))


def is_graded_by_programs(client: Client, rubric: str | None, kind: str | None) -> bool:
    """Whether a rubric that is known here takes no model to grade pairs of this kind."""
    try:
        return rubric is not None and is_checked(find_rubric(rubric, client.settings.agents_dir), kind)
    except BadInput:  # the agent is of another machine, and its rubric, too
        return False
