"""Settings of encoders, learning, concepts and grading."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from memshare_broker.settings.forms import Place, TorchDevice


class LearningSettings(BaseModel):
    """A part of the settings: *Memories and learning*."""

    encoder: str | None = Field(
        default=None,
        description="A sentence-transformers model or folder, or openai:NAME. Unset: the bundled all-MiniLM-L6-v2.",
    )
    device: TorchDevice | None = Field(
        default=None,
        description="Torch device of the encoder and of consolidation: cpu, cuda, cuda:N or mps. "
        "Unset: a GPU if there is one.",
    )
    encoders: Place | None = Field(
        default=None,
        description="Folder of the encoders that consolidation writes; on several machines a shared one. "
        "Unset: `encoders` in MEMSHARE_DATA.",
    )
    exports: Place | None = Field(
        default=None,
        description="Folder of encoders as they are served, each exported once; it may be shared, or come with an "
        "image. Unset: `exports` in MEMSHARE_DATA.",
    )
    learn: bool = Field(
        default=True, description="Whether retrievers [learn](retriever.md): false saves the calls of their lessons."
    )
    consolidate: bool = Field(
        default=True,
        description="Whether the trainer [consolidates](retriever.md) by itself, with up to 20,000 memories in "
        "all pools.",
    )
    concepts: bool = Field(default=True, description="Whether memories get [concepts](concepts.md); ten share a call.")
    concepts_wait: float = Field(
        default=60,
        ge=0,
        le=3_600,
        description="Seconds that a memory waits at most for others, to share a call for concepts, labels or "
        "comparisons.",
    )
    labels: Literal["json", "logprobs"] = Field(
        default="json",
        description="How labels are asked for: json, a call for lessons; logprobs, one a candidate.",
    )
    lessons_together: int = Field(
        default=10, ge=1, le=10, description="Lessons that share a call for labels at most; 1 gives each its own."
    )
    lesson_share: float = Field(
        default=0.25,
        ge=0,
        le=1,
        description="Share of new memories that become lessons once a pool's retriever has had 200 lessons; it falls "
        "as lessons grow in number.",
    )
    lessons_kept: int = Field(default=2_000, ge=100, description="Lessons kept of each pool, spread evenly over time.")
    submitter_share: float = Field(
        default=0.67,
        gt=0,
        le=1,
        description="Largest share of the memories shown that may come from one submitter, if there are others.",
    )
    scorer_votes: int = Field(default=1, ge=1, le=9, description="Gradings per pair; the score is their mean.")
