"""What a consolidation is asked, and what it tells while it runs and at its end; light to import."""

from __future__ import annotations

from typing import Literal

from memshare_broker.errors import MemshareError
from memshare_broker.wire.messages import Message
from memshare_trainer.lessons.figure import Figure


class Job(Message):
    """`consolidate`: train on the lessons of a pool, or of all; `try`: only say what that would bring; `back`: use the
    encoder before this one again.

    In the `background` it has a low priority, and ends when its standard input does.
    """

    what: Literal["consolidate", "try", "back"] = "consolidate"
    pool: str | None = None
    background: bool = False


class Consolidated(Message):
    """What a consolidation did, and what its check measured; that is None where nothing was trained.

    Of the held-out lessons: how often what is ranked first helps, and nDCG. Of the untouched probe: nDCG.
    """

    encoder_before: str
    encoder: str
    pools: tuple[str, ...]
    lessons: int
    memories: int
    first_helps: Figure | None = None
    held_out_ndcg: Figure | None = None
    probe_ndcg: Figure | None = None


class Trial(Message):
    """What a consolidation would bring: the check of an encoder that was trained for it, and removed again.

    `lessons` were trained on, `held_out` ones only ranked. `at` is a Unix time, and `seconds` what the trial took.
    """

    at: float
    seconds: float
    encoder: str
    pools: tuple[str, ...]
    lessons: int
    held_out: int
    memories: int
    accepted: bool
    first_helps: Figure
    held_out_ndcg: Figure
    probe_ndcg: Figure


class Worse(MemshareError):
    """The trained encoder failed its check, so nothing was changed."""


class Report(Message):
    """One line that the process of a consolidation writes: how far it is, a note to read, or how it ended."""

    doing: str | None = None
    done: int = 0
    total: int | None = None
    note: str | None = None
    result: Consolidated | None = None
    trial: Trial | None = None
    error: str | None = None
    kind: Literal["bad input", "worse", "other"] = "other"
