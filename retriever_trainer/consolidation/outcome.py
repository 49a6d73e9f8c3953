"""What a consolidation is asked, and what it tells while it runs and at its end; light to import."""

from __future__ import annotations

from typing import Literal

from memshare.broker.errors import MemshareError
from memshare.broker.wire.messages import Message


class Job(Message):
    """`consolidate`: train on the lessons of a pool, or of all; `back`: use the encoder before this one again."""

    what: Literal["consolidate", "back"] = "consolidate"
    pool: str | None = None


class Figure(Message):
    """What was measured of the encoder in use, with its adapters, and of the one that is to replace it."""

    before: float
    after: float


class Consolidated(Message):
    """What a consolidation did; `held_out_accuracy` and `probe_ndcg` are None where nothing was trained."""

    encoder_before: str
    encoder: str
    pools: tuple[str, ...]
    lessons: int
    memories: int
    held_out_accuracy: Figure | None = None
    probe_ndcg: Figure | None = None


class Worse(MemshareError):
    """The trained encoder failed its check, so nothing was changed."""


class Report(Message):
    """One line that the process of a consolidation writes: how far it is, a note to read, or how it ended."""

    doing: str | None = None
    done: int = 0
    total: int | None = None
    note: str | None = None
    result: Consolidated | None = None
    error: str | None = None
    kind: Literal["bad input", "worse", "other"] = "other"
