"""How far a run of the reasoning agent may go: `[limits]` in its roster file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """The budgets of one run; the first that is used up ends it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: int = Field(default=5, ge=1, le=16, description="operators that called each other, the first not counted")
    steps: int = Field(default=24, ge=1, le=100)
    tokens: int = Field(default=150_000, ge=1, description="read and written by all model calls of the run")
    # With the last call's own limit it stays below the visibility timeout, after which the task is sent again.
    seconds: float = Field(default=140, gt=0, le=140)
    context: int = Field(default=8_000, ge=1_000, description="tokens of short-term memory that a model is shown")
