"""How strongly a concept is linked to each one that it occurs with: often, and more often than others of that level.

After Tom Hartke, knowledge-graph-from-GPT (2023). With n_i memories of concept i, and n_ij of both i and j:

    c_ij = n_ij / n_i                                  how often j is there too
    a_ij = mean of level(j) - level(i)                 how much more general j is
    W_ij = concepts k with |a_ik - a_ij| <= 1.51       those of about the same level
    q_ij = lower bound of c_ij: the EPSILON quantile of Beta(1 + n_ij, 1 + n_i - n_ij)
    s_ij = share of Beta(1 + K, 1 + n_i |W_ij| - K) below q_ij, K = sum of n_ik over W_ij
    r_ij = c_ij s_ij

So s_ij is the probability that concepts of that level occur with i more seldom than j does. The description of the
original has an upper bound of what is expected; its code, which is followed here, a lower bound of what was seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from memshare_concepts.graph.concept_index import LEVEL_UNIT
from memshare_concepts.graph.cooccurrence import Cooccurrence

WINDOW = 1.51  # levels
EPSILON = 0.025


class Links(NamedTuple):
    """The links of one concept, all of the same length."""

    others: NDArray[np.int32]
    counts: NDArray[np.int32]
    strength: NDArray[np.float64]
    """c_ij"""
    abstraction: NDArray[np.float64]
    """a_ij, in levels: above 0 where the other is more general."""
    significance: NDArray[np.float64]
    """s_ij"""
    weight: NDArray[np.float64]
    """r_ij"""


def links(
    count: int, beside: Cooccurrence, order: NDArray[np.uint64], most: int | None = None, epsilon: float = EPSILON
) -> Links:
    """The links of a concept with `count` memories: all by the others' numbers, or the `most` with the largest weight.

    Where weights are equal at the limit, `order`, a value of every concept, decides.
    """
    if not len(beside.others):
        return Links(beside.others, beside.counts, *(np.empty(0) for _ in range(4)))
    codes = (beside.counts.astype(np.int64) << 32) + beside.levels
    kinds = _kinds(codes)
    weighed = _weighed(count, kinds, most, epsilon)
    if most is not None and len(codes) > most:
        heavy = np.argsort(-weighed.weight, kind="stable")
        last = int(np.searchsorted(np.cumsum(kinds.members[weighed.kinds][heavy]), most))
        weighed = weighed.only(weighed.weight >= weighed.weight[heavy[min(last, len(heavy) - 1)]])
    by_code = weighed.only(np.argsort(weighed.kinds))
    wanted = kinds.codes[by_code.kinds]
    places = np.flatnonzero(beside.counts >= kinds.counts[by_code.kinds[0]])
    at = np.minimum(np.searchsorted(wanted, codes[places]), len(wanted) - 1)
    inside = wanted[at] == codes[places]
    places, at = places[inside], at[inside]
    if most is not None:
        first = np.lexsort((order[beside.others[places]], -by_code.weight[at]))[:most]
        places, at = places[first], at[first]
    return Links(
        beside.others[places],
        beside.counts[places],
        beside.counts[places] / count,
        kinds.abstraction[by_code.kinds[at]],
        by_code.significance[at],
        by_code.weight[at],
    )


class _Kinds(NamedTuple):
    """The different pairs of count and levels. Many links are of one kind, and it is weighed once."""

    codes: NDArray[np.int64]
    """Count and levels in one number; they rise, and so do the counts."""
    members: NDArray[np.int64]
    """How many links are of each kind."""
    counts: NDArray[np.int64]
    abstraction: NDArray[np.float64]
    rising: NDArray[np.float64]
    """`abstraction`, sorted."""
    up_to: NDArray[np.int64]
    """How many links the first kinds of `rising` have."""
    sum_up_to: NDArray[np.int64]
    """The sum of their counts."""

    def window(self, places: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """|W_ij| and K of some kinds."""
        low = np.searchsorted(self.rising, self.abstraction[places] - WINDOW, side="left")
        high = np.searchsorted(self.rising, self.abstraction[places] + WINDOW, side="right")
        return self.up_to[high] - self.up_to[low], self.sum_up_to[high] - self.sum_up_to[low]


class _Weighed(NamedTuple):
    """Kinds, by their places, with their weights."""

    kinds: NDArray[np.intp]
    significance: NDArray[np.float64]
    weight: NDArray[np.float64]

    def only(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> _Weighed:
        return _Weighed(self.kinds[which], self.significance[which], self.weight[which])


def _kinds(codes: NDArray[np.int64]) -> _Kinds:
    ordered = np.sort(codes)
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    different = ordered[first]
    members = np.diff(first, append=len(ordered))
    counts = (different + (1 << 31)) >> 32
    abstraction = (different - (counts << 32)) / (LEVEL_UNIT * counts)
    by_level = np.argsort(abstraction)
    up_to = np.concatenate([[0], np.cumsum(members[by_level])])
    sum_up_to = np.concatenate([[0], np.cumsum((members * counts)[by_level])])
    return _Kinds(different, members, counts, abstraction, abstraction[by_level], up_to, sum_up_to)


def _weighed(count: int, kinds: _Kinds, most: int | None, epsilon: float) -> _Weighed:
    """The weights of all kinds, or of so many that all others are below the `most` heaviest links.

    As s_ij is at most 1, r_ij is at most c_ij: kinds are weighed by falling counts until the rest cannot matter.
    """
    falling = np.arange(len(kinds.codes))[::-1]
    step = len(falling) if most is None else max(256, most)
    done = _Weighed(np.empty(0, np.intp), np.empty(0), np.empty(0))
    for start in range(0, len(falling), step):
        bound = kinds.counts[falling[start]] / count
        if most is not None and kinds.members[done.kinds[done.weight > bound]].sum() >= most:
            break
        places = falling[start : start + step]
        together = kinds.counts[places]
        within, sum_within = kinds.window(places)
        different, which = np.unique(together, return_inverse=True)
        lower_bound = betaincinv(1 + different, 1 + count - different, epsilon)[which]
        significance = betainc(1 + sum_within, 1 + count * within - sum_within, lower_bound)
        weights = together / count * significance
        done = _Weighed(
            np.concatenate([done.kinds, places]),
            np.concatenate([done.significance, significance]),
            np.concatenate([done.weight, weights]),
        )
    return done
