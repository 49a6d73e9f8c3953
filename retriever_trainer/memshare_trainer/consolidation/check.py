"""The check that an encoder has to pass before it takes the place of another one, with held-out lessons and a probe.

The probe has questions of no agent's domain, on which consolidation must not make the encoder worse. They were written
for the project and are never trained on: the lessons come from the pools, and `general.txt` has other texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import numpy as np

from memshare_broker.wire.messages import Message
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.recall.retriever import Adapter
from memshare_trainer.consolidation.pool_record import PoolRecord
from memshare_trainer.lesson import Array, Figure, RankingComparison, compare, paired, scores
from memshare_trainer.proof import LearntRetriever
from memshare_trainer.step import relearn

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


MOST_LOST = 0.01  # nDCG on the probe, by more than the error of the difference


def stays(found: Figure) -> bool:
    """True if an encoder ranks the probe as well as before, but for `MOST_LOST` and the error."""
    return found.before - found.after <= MOST_LOST + found.error


class Check(NamedTuple):
    """How the held-out lessons are ranked, nDCG on the untouched probe, and what was learnt anew for each pool."""

    held_out: RankingComparison
    probe: Figure
    learnt: Mapping[str, LearntRetriever]

    @property
    def figures(self) -> dict[str, Figure]:
        """Its figures, as `Trial` and `Consolidated` have them."""
        held_out = self.held_out
        return {"first_helps": held_out.first, "held_out_ndcg": held_out.ndcg, "probe_ndcg": self.probe}

    @property
    def passed(self) -> bool:
        return not self.held_out.worse and stays(self.probe)

    @property
    def refusal(self) -> str:
        """Why the encoder is refused, for a person."""
        held_out = self.held_out
        return (
            f"The trained encoder was refused, and nothing was changed. On {held_out.lessons} held-out lessons what is"
            f" ranked first helps {_told(held_out.first)}, nDCG {_told(held_out.ndcg)}: neither may fall by more than"
            f" its error. nDCG on the probe {_told(self.probe)} (may lose {MOST_LOST} and its error)."
            " The retriever goes on learning; try again with more lessons."
        )


def check(
    first: Encoder,
    after: Encoder,
    records: Mapping[str, PoolRecord],
    texts: Mapping[UUID, str],
    in_use: Mapping[str, Adapter],
) -> Check:
    """Compare two encoders on held-out lessons: the one in use as it is, the other with adapters learnt from zero.

    `texts` are of the memories in the records, whose vectors are those of the encoder in use. On the probe the new one
    is compared with the `first`, which nobody has trained, so that what is lost there does not add up.
    """
    ids = list({memory for record in records.values() for memory in record.memories if memory in texts})
    vectors = dict(zip(ids, after.encode([texts[memory] for memory in ids]), strict=True))
    anew = {pool: record.with_vectors(after, vectors) for pool, record in records.items()}
    learnt = {
        pool: relearn(record.learnt, record.evidence, after.dimension) for pool, record in anew.items() if record.learnt
    }
    gains: list[Array] = []
    old: list[Array] = []
    new: list[Array] = []
    for pool, record in anew.items():
        before = {lesson.number: lesson for lesson in records[pool].held_out}
        adapter = learnt[pool].adapter() if pool in learnt else Adapter()
        for lesson in record.held_out:
            known = before[lesson.number]
            same = known.without(set(known.labels) - set(lesson.labels)).example()
            gains.append(same.gains)
            old += scores(in_use.get(pool, Adapter()), [same])
            new += scores(adapter, [lesson.example()])
    return Check(compare(gains, old, new), ndcg(first, after), learnt)


def _told(figure: Figure) -> str:
    return f"{figure.before:.3f} → {figure.after:.3f} ± {figure.error:.3f}"
