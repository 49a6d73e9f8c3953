"""Which of the memories that it was shown an answer follows: by the words that they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from uuid import UUID

from memshare_broker.wire.messages import AnsweredTask, Shown
from memshare_memory.memory import Memory
from memshare_memory.stores.bm25 import tokens

LEAST_FOLLOWED = 0.3  # share of a memory's answer; with less in common nobody can say that it was followed
RUN = 3  # words in a row


def followed(answer: str, shown: Sequence[str]) -> int | None:
    """The place of the shown answer that was followed, of equal ones the first; None where none was."""
    shares = shares_in_common(answer, shown)
    best = max(shares, default=0.0)
    return shares.index(best) if best >= LEAST_FOLLOWED else None


def that_helped(task: AnsweredTask, shown: Sequence[Memory]) -> list[Memory]:
    """The pairs that have a share in an answer; where nobody judged that, the one that it followed."""
    pairs = [memory for memory in shown if not memory.is_statement]
    shares = {one.id: one.share for one in task.shown if one.share is not None}
    if shares:
        return [memory for memory in pairs if shares.get(memory.id)]
    place = followed(task.answer, [memory.answer for memory in pairs])
    return [] if place is None else [pairs[place]]


def follows(answer: str, memory: Memory) -> bool:
    """True if an answer follows a memory, as that is or was; a statement may be followed in any words."""
    return memory.is_statement or followed(answer, _texts(memory)) is not None


def _texts(memory: Memory) -> list[str]:
    return [memory.answer, *(one.answer for one in memory.history)]


def that_count(answer: str, shown: Mapping[UUID, Shown], there: Mapping[UUID, Memory]) -> list[UUID]:
    """The memories shown that a word on an answer is about: with a share in it, or that it follows, or gone.

    Where nobody judged shares, one does not count if every word that it has in common with the answer is also in
    another that has more of them, and that the answer follows or that has all its words: "an adult pays 12 euros" has
    nothing of "14 euros" but what "an adult pays 14 euros" has, too.
    """
    known = {name: there[name] for name, one in shown.items() if one.share is None and name in there}
    rivals = {name: one for name, one in known.items() if follows(answer, one)}
    lost = {name for name, one in rivals.items() if any(says_rather(answer, other, one) for other in rivals.values())}
    return [name for name, one in shown.items() if (name in rivals.keys() - lost if name in known else one.share != 0)]


def says_rather(answer: str, memory: Memory, than: Memory) -> bool:
    """True if an answer has in common with a memory all words that it has `than` with another one, and more."""
    own, texts = frozenset(tokens(answer)), _texts(memory)
    common, less = (max((own.intersection(tokens(t)) for t in of), key=len) for of in (texts, _texts(than)))
    return less < common and (common == own or followed(answer, texts) is not None)


def shares_in_common(answer: str, shown: Sequence[str]) -> list[float]:
    """Of each shown answer, the share of its runs of words that stand in the answer, too."""
    runs = _runs(answer)
    return [len(of & runs) / len(of) if (of := _runs(text)) else 0.0 for text in shown]


@lru_cache(maxsize=64)  # an answer and what it was shown are compared for its credit, its parents, and how near it was
def _runs(text: str) -> frozenset[tuple[str, ...]]:
    """All runs of `RUN` words; a shorter text is one run."""
    words = tokens(text)
    return frozenset(tuple(words[at : at + RUN]) for at in range(max(len(words) - RUN + 1, min(len(words), 1))))
