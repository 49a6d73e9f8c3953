"""A batch of recalls: those that come together share each look at the store and at Redis.

Each round searches, orders by what was learnt, ranks by credibility, and chooses what may be shown together: not too
many of one submitter, and never two memories with the same prompt, unless a person found both right. One round is
mostly enough; recalls that lack memories have another.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, islice
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_broker.wire.same_text import letters
from memshare_memory.belief.credibility_ranking import CredibilityRanking, FoundFor
from memshare_memory.belief.writers import PEOPLE
from memshare_memory.contradictions import is_uncompared
from memshare_memory.memory import Memory, folded, said
from memshare_memory.recall.query import RecallRequest
from memshare_memory.recall.retriever import AT_HAND, Adapter
from memshare_memory.stores.bm25 import query as words_of
from memshare_memory.stores.points import RRF_K
from memshare_memory.stores.store import Hit, Query, Store

CANDIDATES_RANKED = 50  # memories of a search: a good one that is less like the task, or a proven one, is among them
LOOKED_AT = 4  # of them for each memory that is shown: some have the same prompt
UNPROVEN = 1  # of the memories shown, at most so many where there are proven ones
LOOK_ALIKE = 0.98  # cosine of two prompts with the same letters, from which the unproven one counts as the same

Array = NDArray[np.float32]
Cosine = Callable[[Hit, Hit], float]
# Texts may be long, and the same hits are looked at several times.
_folded, _letters = lru_cache(maxsize=256)(folded), lru_cache(maxsize=256)(letters)


class VectorsAtHand:
    """Vectors of memories that were found lately."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_text: dict[str, Array] = {}
        self._by_id: dict[UUID, Array] = {}

    def of(self, hits: Iterable[Hit]) -> dict[UUID, Array]:
        """Vectors of text and masked text by id, of shape (2, dimension); memories that have gone are left out.

        They follow from the text alone, by which they are kept at hand.
        """
        keys = {hit.memory.id: hit.memory.key for hit in hits}
        known = {memory_id: rows for memory_id, key in keys.items() if (rows := self._by_text.get(key)) is not None}
        if len(known) < len(keys):
            fetched = self._store.both_of([memory_id for memory_id in keys if memory_id not in known])
            if len(self._by_text) > AT_HAND:
                self._by_text.clear()
            self._by_text.update({keys[memory_id]: rows for memory_id, rows in fetched.items()})
            known |= fetched
        return known

    def of_praised(self, ids: Collection[UUID]) -> dict[UUID, Array]:
        """Vectors of texts, of shape (dimension,), for ids alone: who is proven by what changes rarely."""
        if missing := [memory_id for memory_id in ids if memory_id not in self._by_id]:
            if len(self._by_id) > AT_HAND:
                self._by_id.clear()
            self._by_id.update(self._store.dense_of(missing))
        return {memory_id: self._by_id[memory_id] for memory_id in ids if memory_id in self._by_id}

    def cosine(self, hit: Hit, other: Hit) -> float:
        """Cosine of two prompts; 1 where a memory has gone meanwhile."""
        rows = list(self.of([hit, other]).values())
        return float(rows[0][0] @ rows[-1][0]) if rows else 1.0


class BatchedRecall:
    """A recall of a batch: what is asked for, what was found so far, and the search that comes next.

    `vectors`, of the text and of the masked text where that is another, have the shape (1 or 2, dimension); a k of 0
    takes none. `worths` are those of writers to the reader. At most `submitter_share` of the memories come from one
    submitter where there are others.
    """

    def __init__(
        self,
        asked: RecallRequest,
        vectors: Array,
        adapter: Adapter,
        worths: Mapping[str, float],
        submitter_share: float = 1,
    ) -> None:
        self.asked, self.adapter = asked, adapter
        self.hits: list[Hit] = []
        """Hits of the last search, and in the end those to show; best first."""
        self.nearest: Hit | None = None
        """The most similar that may be shown, wherever it ranks and however many are wanted."""
        self._worths = worths
        self._each = self._share = max(1, int(asked.k * submitter_share))
        self._seen: list[Hit] = []
        self._shown: list[Hit] = []
        self._used_up: list[str] = []
        self._is_first, self._has_all = True, False
        if asked.k:
            self._vector = vectors[0]
            self._masked = vectors[1] if len(vectors) > 1 else None
            where = replace(asked.among, pool=asked.pool, status="active", submitter_not=())
            words = words_of(asked.text) if asked.mode == "hybrid" else None
            limit, (first, *more) = max(CANDIDATES_RANKED, LOOKED_AT * asked.k), adapter.searches(self._vector)
            self.searches = [Query(where, limit, first, words), *(Query(where, limit, vector) for vector in more)]

    def found(self, *each: list[Hit]) -> None:
        """Take in what each of the `searches` found."""
        self.hits = list({hit.memory.id: hit for hits in each for hit in hits}.values())
        self._has_all = len(each[0]) < self.searches[0].limit

    @property
    def retriever_version(self) -> int:
        """Version of the retriever that found the memories."""
        return self.adapter.version

    @property
    def is_learnt(self) -> bool:
        """True if another order than the engine's was learnt."""
        return self.adapter.version > 0 or self._masked is not None or bool(self._worths)

    def order(self, rows: Mapping[UUID, Array]) -> None:
        """Put the hits in the order that was learnt; in hybrid mode the engine's has equal weight.

        `rows` are vectors by id, of shape (2, dimension); a hit without any has gone meanwhile.
        """
        if self.is_learnt:
            there = [hit for hit in self.hits if hit.memory.id in rows]
            learnt = self._by_learner(there, rows) if there else []
            self.hits = fused(self.hits, learnt) if self.asked.mode == "hybrid" else learnt

    def _by_learner(self, hits: Sequence[Hit], rows: Mapping[UUID, Array]) -> list[Hit]:
        """The hits, best first by s(q, m) and what the writer is worth to the reader, which becomes their score.

        s of the text and s of the masked text count the same.
        """
        both = np.concatenate([rows[hit.memory.id] for hit in hits]).reshape(len(hits), 2, -1)
        texts, masked = both[:, 0], both[:, 1]
        submitters = [hit.memory.submitter for hit in hits]
        lengths = self.adapter.lengths([hit.memory.key for hit in hits], both)
        scores = self.adapter.scores(self._vector, texts, submitters, lengths[:, 0])
        if self._masked is not None or (masked != texts).any():
            question = self._vector if self._masked is None else self._masked
            hidden = self.adapter.scores(question, masked, submitters, lengths[:, 1])
            # A statement has no mask.
            is_statement = np.array([hit.memory.is_statement for hit in hits])
            scores = np.asarray((scores + np.where(is_statement, scores, hidden)) / 2, np.float32)
        if self._worths:
            worths = [self._worths.get(hit.memory.model or PEOPLE, 0.0) for hit in hits]
            scores = scores + np.array(worths, np.float32)
        order = np.argsort(-scores, kind="stable").tolist()
        score, similarity = scores.tolist(), np.einsum("nd,d->n", texts, self._vector).clip(-1, 1).tolist()
        return [Hit(hits[place].memory, score[place], similarity[place]) for place in order]

    def praised(self, hit: Hit) -> Sequence[UUID]:
        """The memories near which others' words speak for who submitted this one."""
        known = self.adapter.proven_submitters
        return known.get(hit.memory.submitter, ()) if known and hit.memory.task_id is not None else ()

    def look_closely(self, rows: Mapping[UUID, Array], praised: Mapping[UUID, Array]) -> None:
        """Mark what is unproven; of a first search leave out all but the first hits, the nearest, and some proven."""

        def is_proven(hit: Hit) -> bool:
            own = rows.get(hit.memory.id)
            return self.adapter.proven(hit.memory, None if own is None else own[0], praised)

        found = self.hits
        first = LOOKED_AT * self.asked.k if self._is_first else len(found)
        rest = [hit for hit in found[first:] if not self._is_twin(hit.memory)]
        near = max(range(len(rest)), key=lambda at: rest[at].similarity, default=0)
        looked_at = found[:first] + rest[near : near + 1]
        self.hits = [hit if is_proven(hit) else hit._replace(proven=False) for hit in looked_at]
        self.hits += islice(filter(is_proven, rest[:near] + rest[near + 1 :]), self.asked.k)
        self._has_all = self._has_all and len(self.hits) == len(found)

    def choose(self, cosine: Cosine) -> bool:
        """Choose from all that was found so far; False where another search, which is ready then, may find more."""
        k = self.asked.k
        self._seen += [hit for hit in self.hits if not self._is_twin(hit.memory)]
        while True:
            # No unproven memory is a reason to look for others.
            together = choose([*self._shown, *self._seen], k, self._each, k, cosine)
            if len(together) < k and not self._has_all:
                self._search_on(used_up(together, self._each))
                return False
            self._shown = choose([*self._shown, *self._seen], k, self._each, UNPROVEN, cosine)
            if not self._used_up:  # all there is has been seen, or enough
                self.hits = choose([*self._shown, *self._seen], k, k, UNPROVEN, cosine)
                near_first = sorted(self._seen, key=lambda hit: -hit.similarity)
                self.nearest = next(iter(choose(near_first, 1, 1, UNPROVEN, cosine)), None)
                return True
            # Where there are no others, one submitter may fill the places that are left.
            self._each, self._used_up, self._has_all = k, [], False

    def join(self, others: Sequence[BatchedRecall], cosine: Cosine) -> None:
        """Choose again from what this and recalls of other pools have chosen, each in its own order."""
        ranked: list[tuple[float, Hit]] = []
        for recall in (self, *others):
            # Credibility may have put a hit behind one of a lower score.
            ranked += zip(accumulate((hit.score for hit in recall.hits), min), recall.hits, strict=True)
        hits = [hit for _, hit in sorted(ranked, key=lambda pair: -pair[0])]
        k = self.asked.k
        chosen = choose(hits, k, self._share, UNPROVEN, cosine)
        self.hits = chosen if len(chosen) == k else choose(hits, k, k, UNPROVEN, cosine)
        near = [recall.nearest for recall in (self, *others) if recall.nearest]
        self.nearest = max(near, key=lambda hit: hit.similarity, default=None)

    def _search_on(self, used: list[str]) -> None:
        # The same search again would find the same.
        times = 2 if used == self._used_up else 1
        self._used_up, self._is_first = used, False
        self.searches = [
            replace(search, where=replace(search.where, submitter_not=used), limit=times * search.limit)
            for search in self.searches
        ]

    def _is_twin(self, memory: Memory) -> bool:
        """True if a memory came from this very task, submitted before: it would be an example for itself."""
        own = memory.task_id is not None and memory.submitter == self.asked.submitter
        return own and memory.prompt is not None and _folded(memory.prompt) == _folded(self.asked.text)


class RecallBatch:
    """Recalls that are answered together, in rounds, with one look at the store and one at Redis for each round."""

    def __init__(
        self,
        recalls: Sequence[BatchedRecall],
        store: Store,
        at_hand: VectorsAtHand,
        ranking: CredibilityRanking | None = None,
    ) -> None:
        self._recalls = recalls
        self._store, self._at_hand, self._ranking = store, at_hand, ranking

    def answer(self) -> None:
        """Let each recall have the hits to show; those that lack some after a round have another one."""
        left = [recall for recall in self._recalls if recall.asked.k]
        while left:
            self._search(left)
            self._order(left)
            self._rank(left)
            left = [recall for recall in left if not recall.choose(self._at_hand.cosine)]

    def _search(self, recalls: Sequence[BatchedRecall]) -> None:
        hits = iter(self._store.search([query for recall in recalls for query in recall.searches]))
        for recall in recalls:
            recall.found(*islice(hits, len(recall.searches)))

    def _order(self, recalls: Sequence[BatchedRecall]) -> None:
        praised = [(hit, ids) for recall in recalls for hit in recall.hits if (ids := recall.praised(hit))]
        learnt = [hit for recall in recalls if recall.is_learnt for hit in recall.hits]
        rows = self._at_hand.of([*learnt, *(hit for hit, _ in praised)])
        near = self._at_hand.of_praised({memory_id for _, ids in praised for memory_id in ids})
        for recall in recalls:
            recall.order(rows)
            recall.look_closely(rows, near)

    def _rank(self, recalls: Sequence[BatchedRecall]) -> None:
        if self._ranking is not None:
            tasks = [
                FoundFor(recall.asked.pool, recall.asked.text, recall.hits, recall.asked.kind) for recall in recalls
            ]
            for recall, hits in zip(recalls, self._ranking.ranked(self._store, tasks), strict=True):
                recall.hits = hits


def fused(found: Sequence[Hit], learnt: Sequence[Hit]) -> list[Hit]:
    """Hits in two orders as one, by reciprocal rank: that of the search, and that of the learner."""
    first = {hit.memory.id: 1 / (RRF_K + rank) for rank, hit in enumerate(found)}
    both = [hit._replace(score=first[hit.memory.id] + 1 / (RRF_K + rank)) for rank, hit in enumerate(learnt)]
    return sorted(both, key=lambda hit: -hit.score)


def choose(
    ranked: Sequence[Hit], k: int, each: int, unproven: int = UNPROVEN, cosine: Cosine = lambda *_: 1.0
) -> list[Hit]:
    """The first `k` hits that may stand together: one for each prompt, and `each` of a submitter.

    Those of one prompt stand together where a person said that both are right, or copies of both; no two copies do.
    Where any hit is proven, so many of them are `unproven` at most, and none has the prompt of a proven one, or one
    that looks like it: the same letters, and a `cosine` of .98. None stands beside a proven one that answers the same
    question, before the two were compared.
    """
    proven_hits = [hit for hit in ranked if hit.proven]
    proven, chosen_of = defaultdict[str, list[Hit]](list), defaultdict[str, list[Hit]](list)
    for hit in proven_hits:
        proven[_folded(hit.memory.key)].append(hit)
    are_right = _both_right(ranked)
    left = unproven if proven else k

    def looks_proven(hit: Hit) -> bool:
        own = _letters(hit.memory.key)
        alike = [rival for rival in proven_hits if own and own == _letters(rival.memory.key)]
        return any(cosine(hit, rival) >= LOOK_ALIKE for rival in alike if not are_right(hit, rival))

    def may_contradict(hit: Hit) -> bool:
        return hit.judged is not None and any(is_uncompared(hit, top, cosine(hit, top)) for top in proven_hits[:k])

    def stands_beside(hit: Hit, others: Sequence[Hit]) -> bool:
        return all(are_right(hit, other) for other in others)

    chosen: list[Hit] = []
    submitters: Counter[str] = Counter()
    for hit in ranked:
        prompt, submitter = _folded(hit.memory.key), hit.memory.submitter
        if submitters[submitter] >= each or not stands_beside(hit, chosen_of[prompt]):
            continue
        if not hit.proven:
            if left == 0 or not stands_beside(hit, proven[prompt]) or looks_proven(hit) or may_contradict(hit):
                continue
            left -= 1
        chosen.append(hit)
        chosen_of[prompt].append(hit)
        submitters[submitter] += 1
        if len(chosen) == k:
            break
    return chosen


def _both_right(hits: Sequence[Hit]) -> Callable[[Hit, Hit], bool]:
    """Tells of two hits if a person said that both are right, or that copies of both are, and they are no copies."""

    def says(hit: Hit) -> tuple[str, str]:
        return _folded(hit.memory.key), said(hit.memory.answer)

    there = {hit.memory.id: hit for hit in hits} if any(hit.both_right for hit in hits) else {}
    pairs = [(hit, there[name]) for hit in there.values() for name in hit.both_right if name in there]
    right = {frozenset((says(hit), says(other))) for hit, other in pairs}
    return lambda hit, other: bool(right) and says(hit) != says(other) and frozenset((says(hit), says(other))) in right


def used_up(chosen: Iterable[Hit], each: int) -> list[str]:
    """Submitters of whom no more may be shown beside these."""
    counts = Counter(hit.memory.submitter for hit in chosen)
    return sorted(submitter for submitter, count in counts.items() if count >= each)
