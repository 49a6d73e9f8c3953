"""Models that are often unsure when they grade by a rubric: they cannot grade by it."""

from __future__ import annotations

import redis

from memshare_llm.doubts import Doubt, Doubts

MANY = 1 / 3  # share of unsure grades
FEWEST = 9  # grades, before which nothing is said


def note_grade(client: redis.Redis, model: str, rubric: str, *, unsure: bool) -> None:
    """Count a grade."""
    Doubts(client, "grades").note(model, rubric, doubtful=unsure)


def cannot_grade(client: redis.Redis) -> list[tuple[str, str]]:
    """The rubrics by which a model cannot grade, each with a sentence that says so and what to do."""
    return [(one.what, _why(one)) for one in Doubts(client, "grades").found(FEWEST, MANY)]


def _why(one: Doubt) -> str:
    return (
        f"{one.model} was unsure of {one.doubtful} of its last {one.times} grades by the rubric {one.what!r}: it "
        "cannot grade by it. Let programs check what they can (docs/agents.md, 'A program that grades'), or give the "
        "scorer another model with MEMSHARE_MODEL_SCORER."
    )
