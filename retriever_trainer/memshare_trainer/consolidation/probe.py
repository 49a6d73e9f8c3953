"""The probe: questions of no agent's domain, on which consolidation must not make the encoder worse.

Written for the project, and never trained on: the lessons come from the pools, and `general.txt` has other texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from memshare_broker.wire.messages import Message
from memshare_memory.encoders.encoder import Encoder
from memshare_trainer.lessons.figure import Figure
from memshare_trainer.lessons.ranking_quality import Array, paired

FILE = Path(__file__).with_name("probe.jsonl")
CUTOFF = 10


class ProbePair(Message):
    """A question of general knowledge, and the statement that answers it."""

    question: str
    statement: str


@cache
def pairs() -> tuple[ProbePair, ...]:
    """The pairs that ship with the package."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(ProbePair.model_validate_json(line) for line in lines)


def ndcg(before: Encoder, after: Encoder) -> Figure:
    """Mean nDCG@10 on the probe, from 0 to 1, of two encoders, with the standard error of their difference."""
    return paired(ndcg_each(before, pairs()), ndcg_each(after, pairs()))


def ndcg_each(encoder: Encoder, probed: Sequence[ProbePair]) -> Array:
    """nDCG@10 of each question, of shape (questions,): it looks for its one relevant statement among those of all.

    The ideal gain is 1 then, so a question has 1 / log2(rank + 1), and nothing beyond rank 10.
    """
    questions = encoder.encode([pair.question for pair in probed])
    statements = encoder.encode([pair.statement for pair in probed])
    cosines = questions @ statements.T
    own = cosines.diagonal()[:, None]
    # A tie counts against the encoder: one that gives every text the same vector must not look perfect.
    ranks = (cosines >= own).sum(axis=1)
    return np.where(ranks <= CUTOFF, 1 / np.log2(ranks + 1), 0.0).astype(np.float32)
