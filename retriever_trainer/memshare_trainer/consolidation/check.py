"""The check that an encoder has to pass before it takes the place of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from memshare_memory.encoders.encoder import Encoder
from memshare_memory.recall.adapter import Adapter
from memshare_trainer.consolidation import probe
from memshare_trainer.consolidation.pool_record import PoolRecord
from memshare_trainer.learning.learnt import LearntRetriever
from memshare_trainer.learning.relearn import relearn
from memshare_trainer.lessons.example import scores
from memshare_trainer.lessons.figure import Figure
from memshare_trainer.lessons.ranking_quality import Array, RankingComparison, compare

MOST_LOST = 0.01  # nDCG on the probe, by more than the error of the difference


def stays(found: Figure) -> bool:
    """Whether an encoder ranks the probe as well as before, but for `MOST_LOST` and the error."""
    return found.before - found.after <= MOST_LOST + found.error


class Check(NamedTuple):
    """How the held-out lessons are ranked, nDCG on the untouched probe, and what was learnt anew for each pool."""

    held_out: RankingComparison
    probe: Figure
    learnt: Mapping[str, LearntRetriever]

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
    ids = list({one for record in records.values() for one in record.memories if one in texts})
    vectors = dict(zip(ids, after.encode([texts[one] for one in ids]), strict=True))
    anew = {pool: record.with_vectors(after, vectors) for pool, record in records.items()}
    learnt = {
        pool: relearn(record.learnt, record.evidence, after.dimension) for pool, record in anew.items() if record.learnt
    }
    gains: list[Array] = []
    old: list[Array] = []
    new: list[Array] = []
    for pool, record in anew.items():
        kept = {one.number: one for one in records[pool].held_out}
        adapter = learnt[pool].adapter() if pool in learnt else Adapter()
        for lesson in record.held_out:
            same = kept[lesson.number].without(set(kept[lesson.number].labels) - set(lesson.labels)).example()
            gains.append(same.gains)
            old += scores(in_use.get(pool, Adapter()), [same])
            new += scores(adapter, [lesson.example()])
    return Check(compare(gains, old, new), probe.ndcg(first, after), learnt)


def _told(figure: Figure) -> str:
    return f"{figure.before:.3f} → {figure.after:.3f} ± {figure.error:.3f}"
