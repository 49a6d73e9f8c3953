"""The searches that one recall takes, step by step, so that the recalls of many tasks can make theirs together.

Of what is found, never two with the same prompt are shown, and not too many of one origin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memshare_broker.wire.same_text import letters
from memshare_memory.memory import Memory, Mode, folded
from memshare_memory.recall.conflicts import is_uncompared
from memshare_memory.stores.store import Hit, Where

CANDIDATES_RANKED = 50  # memories of a search: a good one that is less like the task, or a proven one, is among them
LOOKED_AT = 4  # of them for each memory that is shown: some have the same prompt
UNPROVEN = 1  # of the memories shown, at most so many where there are proven ones
LOOK_ALIKE = 0.98  # cosine of two prompts with the same letters, from which the unproven one counts as the same

Cosine = Callable[[Hit, Hit], float]
# Texts may be long, and the same hits are looked at several times.
_folded, _letters = lru_cache(maxsize=256)(folded), lru_cache(maxsize=256)(letters)


@dataclass(frozen=True)
class RecallQuery:
    """Request for the k best memories of a pool for a text with this vector, of shape (dimension,).

    `among` narrows, whatever pool and status it names; what is hidden or stale is never shown. With `submitter`, that
    submitter's own earlier answer to the same task is left out. `masked` is the vector of the masked text, where there
    is anything to mask, and `reader` the model that is to answer.
    """

    pool: str
    text: str
    vector: NDArray[np.float32]
    k: int
    mode: Mode = "dense"
    among: Where = field(default_factory=Where)
    submitter: str | None = None
    masked: NDArray[np.float32] | None = None
    reader: str | None = None

    @property
    def where(self) -> Where:
        """The memories that may be shown."""
        return replace(self.among, pool=self.pool, status="active")

    def is_twin(self, memory: Memory) -> bool:
        """True if a memory came from this very task, submitted before: it would be an example for itself."""
        own = memory.task_id is not None and memory.submitter == self.submitter
        return own and memory.prompt is not None and folded(memory.prompt) == folded(self.text)


class Search(NamedTuple):
    """A search: which memories, how many at most, and whether it is the first of its recall."""

    where: Where
    limit: int
    is_first: bool = True


class Ranked(NamedTuple):
    """Hits of a search that may be shown, best first; `is_all` if the store has no more of them."""

    hits: list[Hit]
    is_all: bool


def search_steps(
    wanted: RecallQuery, submitter_share: float, cosine: Cosine
) -> Generator[Search, Ranked | None, list[Hit]]:
    """Gives a search, is sent what it found, and so on; returns the memories to show, best first.

    Mostly one search is enough. At most `submitter_share` of the memories come from one submitter where there are
    others; `cosine` is that of two hits.
    """
    k = wanted.k
    if k == 0:
        return []
    limit = max(CANDIDATES_RANKED, LOOKED_AT * k)
    seen: list[Hit] = []
    shown: list[Hit] = []
    # Where there are no others, one submitter may fill the places that are left.
    for each in (max(1, int(k * submitter_share)), k):
        left_out: list[str] = []
        # No unproven memory is a reason to look for others.
        while len(together := choose([*shown, *seen], k, each, k, cosine)) < k:
            before, left_out = left_out, used_up(together, each)
            if seen and left_out == before:
                limit *= 2  # the same search again would find the same
            found = yield Search(replace(wanted.where, submitter_not=left_out), limit, is_first=not seen)
            if found is None:
                raise TypeError("A search is answered by what it found.")
            seen += found.hits
            if found.is_all:
                break
        shown = choose([*shown, *seen], k, each, UNPROVEN, cosine)
        if not left_out:
            break  # all there is has been seen, or enough
    return choose([*shown, *seen], k, k, UNPROVEN, cosine)


def choose(
    ranked: Sequence[Hit], k: int, each: int, unproven: int = UNPROVEN, cosine: Cosine = lambda *_: 1.0
) -> list[Hit]:
    """The first `k` hits that may stand together: one for each prompt, and `each` of a submitter.

    Where any hit is proven, so many of them are `unproven` at most, and none has the prompt of a proven one, or one
    that looks like it: the same letters, and a `cosine` of .98. None stands beside a proven one that answers the same
    question, before the two were compared.
    """
    proven_hits = [hit for hit in ranked if hit.proven]
    proven = {_folded(hit.memory.key) for hit in proven_hits}
    left = unproven if proven else k

    def looks_proven(hit: Hit) -> bool:
        said = _letters(hit.memory.key)
        alike = [one for one in proven_hits if said and said == _letters(one.memory.key)]
        return any(cosine(hit, one) >= LOOK_ALIKE for one in alike)

    def may_contradict(hit: Hit) -> bool:
        return hit.judged is not None and any(is_uncompared(hit, one, cosine(hit, one)) for one in proven_hits[:k])

    chosen: list[Hit] = []
    prompts: set[str] = set()
    submitters: Counter[str] = Counter()
    for hit in ranked:
        prompt, submitter = _folded(hit.memory.key), hit.memory.submitter
        if prompt in prompts or submitters[submitter] >= each:
            continue
        if not hit.proven:
            if left == 0 or prompt in proven or looks_proven(hit) or may_contradict(hit):
                continue
            left -= 1
        chosen.append(hit)
        prompts.add(prompt)
        submitters[submitter] += 1
        if len(chosen) == k:
            break
    return chosen


def worth_a_look(found: Sequence[Hit], k: int) -> list[Hit]:
    """Of what a search found, best first, what a recall of k looks at closely: the first, and some that are proven."""
    first, later = found[: LOOKED_AT * k], found[LOOKED_AT * k :]
    return [*first, *[hit for hit in later if hit.proven][:k]]


def used_up(chosen: Iterable[Hit], each: int) -> list[str]:
    """Submitters of whom no more may be shown beside these."""
    counts = Counter(hit.memory.submitter for hit in chosen)
    return sorted(submitter for submitter, count in counts.items() if count >= each)
