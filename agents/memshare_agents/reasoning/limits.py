"""How far a run of the reasoning agent may go: `[limits]` in its roster file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from memshare_broker.wire.messages import MAX_PARTS


class Limits(BaseModel):
    """The budgets of one run, the first of which that is used up ends it, and how its short-term memory forgets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: int = Field(default=5, ge=1, le=16, description="operators that called each other, the first not counted")
    steps: int = Field(default=24, ge=1, le=100)
    calls: int = Field(default=60, ge=1, le=1_000, description="of models, by all steps together")
    tokens: int = Field(default=150_000, ge=1, description="read and written by all model calls of the run")
    # With the last call's own limit it stays below the visibility timeout, after which the task is sent again.
    seconds: float = Field(default=140, gt=0, le=140)
    sub_questions: int = Field(
        default=0, ge=0, le=MAX_PARTS, description="with verified answers that are graded, to become memories, too"
    )
    context: int = Field(default=8_000, ge=1_000, description="tokens of short-term memory that a model is shown")
    decay: float = Field(default=0.9, gt=0, le=1, description="part of an item's strength that is left after a step")
    threshold: float = Field(default=0.25, ge=0, lt=1, description="strength below which an item is dropped")
