"""Which of the shown memories an answer followed: the one with whose answer it has most runs of words in common."""

from __future__ import annotations

from collections.abc import Sequence

from memshare_memory.stores.bm25 import tokens

LEAST_FOLLOWED = 0.3  # share of a memory's answer; with less in common nobody can say that it was followed
RUN = 3  # words in a row


def followed(answer: str, shown: Sequence[str]) -> int | None:
    """The place of the shown answer that was followed, of equal ones the first; None where none was."""
    shares = shares_in_common(answer, shown)
    best = max(shares, default=0.0)
    return shares.index(best) if best >= LEAST_FOLLOWED else None


def shares_in_common(answer: str, shown: Sequence[str]) -> list[float]:
    """Of each shown answer, the share of its runs of words that stand in the answer, too."""
    runs = _runs(answer)
    return [len(of & runs) / len(of) if (of := _runs(text)) else 0.0 for text in shown]


def _runs(text: str) -> set[tuple[str, ...]]:
    """All runs of `RUN` words; a shorter text is one run."""
    words = tokens(text)
    return {tuple(words[at : at + RUN]) for at in range(max(len(words) - RUN + 1, min(len(words), 1)))}
