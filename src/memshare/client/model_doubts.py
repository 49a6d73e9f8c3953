"""What a deployment has found its models unfit for, in sentences that say what to do."""

from __future__ import annotations

import redis

from memshare_scorer.unsure_grades import cannot_grade
from memshare_trainer.label_check import paused_labels


def model_doubts(client: redis.Redis) -> tuple[str, ...]:
    """A sentence for each rubric by which a model cannot grade, and each model that is asked for no labels now."""
    return (*(why for _, why in cannot_grade(client)), *paused_labels(client))
