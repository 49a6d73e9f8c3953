"""Candidates for a person to look at: memories nearly the same, short or never of use; names of one concept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.decisions import Decisions, similar_id
from memshare_concepts.names import may_merge
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Memory

MERGE, PROPOSE = 0.95, 0.85  # cosines from which two names are merged, and from which a person is asked

ROWS = 1024  # names, or memories, that are compared with all others at a time


class SimilarNames(NamedTuple):
    """Two names with nearly the same meaning; the first is the one to keep."""

    keep: str
    other: str
    similarity: float

    @property
    def certain(self) -> bool:
        """True if they are to be merged without asking a person."""
        return self.similarity >= MERGE


def similar_names(names: Sequence[str], vectors: NDArray[np.float32], counts: Sequence[int]) -> list[SimilarNames]:
    """Pairs of names by falling cosine. The name that more memories have is kept, of equals the first in the alphabet.

    `vectors`, of shape (names, dimensions), are the encoder's, of length 1; `counts` say how many memories have each.
    """
    allowed = np.array([number for number, name in enumerate(names) if may_merge(name)], np.intp)
    found = []
    for row, column, cosine in _alike(vectors[allowed], PROPOSE):
        pair = sorted((allowed[row], allowed[column]), key=lambda place: (-counts[place], names[place]))
        found.append(SimilarNames(names[pair[0]], names[pair[1]], cosine))
    return sorted(found, key=lambda pair: (-pair.similarity, pair.keep, pair.other))


def _alike(vectors: NDArray[np.float32], least: float) -> Iterator[tuple[int, int, float]]:
    """Pairs of rows with a cosine of `least` or more, the first before the second; and that cosine."""
    for start in range(0, len(vectors), ROWS):
        cosines = vectors[start : start + ROWS] @ vectors.T
        for row, column in zip(*np.nonzero(cosines >= least), strict=True):
            if start + row < column:
                yield int(start + row), int(column), float(min(cosines[row, column], 1))


def proposed_names(
    graph: ConceptGraph, encode: Callable[[Sequence[str]], NDArray[np.float32]], decisions: Decisions
) -> list[SimilarNames]:
    """The similar names of a pool, without those that a person keeps apart; `encode` gives the vectors of texts."""
    names = graph.concepts()
    pairs = similar_names(names, encode(names), [graph.count(name) for name in names])
    dismissed = decisions.dismissed()
    return [pair for pair in pairs if similar_id(pair.keep, pair.other) not in dismissed]


SAME = 0.95  # cosine of two memories' texts from which they are nearly the same
THIN = 0.1  # an answer is thin with at most so much of the words that answers of its pool and kind usually have

_DAY = 86_400.0  # seconds


class Duplicate(NamedTuple):
    """Two memories that are found by nearly the same text; the older one first.

    `differ` has the words in which their answers differ, where these do not say the same.
    """

    memories: tuple[UUID, UUID]
    cosine: float
    differ: str = ""


class Thin(NamedTuple):
    """A memory with a much shorter answer than others of its kind."""

    memory: UUID
    words: int
    usual: float


def nearest(memories: Sequence[Memory], vectors: NDArray[np.float32]) -> Duplicate | None:
    """The pair that is the most alike, however little that is; None where no two are alike at all."""
    found, most = None, 0.0
    for start in range(0, len(memories), ROWS):
        cosines = np.triu(vectors[start : start + ROWS] @ vectors.T, start + 1)
        row, column = divmod(int(cosines.argmax()), len(memories))
        if (cosine := float(cosines[row, column])) > most:
            two = sorted((memories[start + row], memories[column]), key=lambda memory: (memory.created, memory.id))
            found, most = Duplicate((two[0].id, two[1].id), min(cosine, 1.0)), cosine
    return found


def duplicates(memories: Sequence[Memory], vectors: NDArray[np.float32]) -> list[Duplicate]:
    """Pairs with a cosine of `SAME` or more, the most alike first; `vectors` are of length 1, in the same order.

    Pairs whose answers have little in common are left out: a prompt may have many good answers.
    """
    every = (_pair(memories[row], memories[column], cosine) for row, column, cosine in _alike(vectors, SAME))
    return sorted((pair for pair in every if pair is not None), key=lambda pair: (-pair.cosine, pair.memories))


def _pair(first: Memory, second: Memory, cosine: float) -> Duplicate | None:
    older, newer = sorted((first, second), key=lambda memory: (memory.created, memory.id))
    differ = difference(older.answer, newer.answer)
    if differ is None and older.prompt is newer.prompt is None:
        differ = ""  # the texts that are alike are the answers, in other words
    return None if differ is None else Duplicate((older.id, newer.id), min(cosine, 1.0), differ)


IN_COMMON = 0.6  # share of two answers' runs of three characters, from which they are about the same thing
SHORT = 20  # characters of an answer that is a name or a number: two of them need have nothing in common
_WEIGHTY = re.compile("no|not|non|nor|t|nie|ne|pas|sin|mai|não|nej|one|two|six|ten|elf|un|dix")  # "t" of "isn't"
_ENDINGS = frozenset(("", "s", "es", "d", "ed", "ing", "e", "n", "en"))


def difference(answer: str, other: str) -> str | None:
    """The words in which two answers differ, such as "12 / 14": none if they say the same, None if little is in common.

    Articles and such, and endings of words, are no difference; a number, a name, a "not" or any longer word is.
    """
    texts = [re.findall(r"\w+", text) for text in (answer, other)]
    words = [[text[0].casefold(), *text[1:]] if text else [] for text in texts]  # a sentence's first word is no name
    runs = [
        {said[at : at + 3] for at in range(max(len(said) - 2, 1))} for said in (" ".join(w).casefold() for w in words)
    ]
    if max(len(answer), len(other)) > SHORT and 2 * len(runs[0] & runs[1]) < IN_COMMON * (len(runs[0]) + len(runs[1])):
        return None
    left = [[word for word in own if _weighs(word, of)] for own, of in (words, words[::-1])]
    return " / ".join(" ".join(some) or "–" for some in left) if any(left) else ""


def _weighs(word: str, others: Sequence[str]) -> bool:
    """True for a word that says something, and that is not, in another form, among others."""
    said = word.casefold()
    if len(word) <= 3 and word == said and not word.isdigit() and not _WEIGHTY.fullmatch(said):
        return False
    forms = {said + end for end in _ENDINGS} | {said.removesuffix(end) for end in _ENDINGS}
    return forms.isdisjoint(map(str.casefold, others))


def thin(memories: Sequence[Memory]) -> list[Thin]:
    """Memories with few words in their answers, compared with those of the same kind; the shortest first."""
    words: dict[str | None, list[int]] = {}
    for memory in memories:
        words.setdefault(memory.kind, []).append(len(memory.answer.split()))
    usual = {kind: median(counts) for kind, counts in words.items()}
    found = [Thin(memory.id, len(memory.answer.split()), usual[memory.kind]) for memory in memories]
    return sorted((row for row in found if row.words <= THIN * row.usual), key=lambda row: (row.words, row.memory))


def never_of_use(judged: Mapping[UUID, JudgedMemory], now: float, days: int) -> list[UUID]:
    """Memories that had no verdict in at least so many days since they were made, the oldest first."""
    old = [row for row in judged.values() if row.credibility.credits == 0 and now - row.memory.created >= days * _DAY]
    return [row.memory.id for row in sorted(old, key=lambda row: (row.memory.created, row.memory.id))]
