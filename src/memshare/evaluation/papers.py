"""The papers that memshare follows, with their tables: the experiment that measures each, and what the paper found."""

from __future__ import annotations

from typing import NamedTuple

from memshare_broker.errors import BadInput


class Table(NamedTuple):
    """One table or figure of a paper: what it shows, the experiment here, and what the paper says of it."""

    shows: str
    experiment: str
    said: str


class Paper(NamedTuple):
    """A paper, where it stands, and its tables."""

    name: str
    title: str
    place: str
    tables: tuple[Table, ...]
    note: str = ""

    @property
    def experiments(self) -> list[str]:
        return list(dict.fromkeys(table.experiment for table in self.tables))


_NUMBER = Table("0, 1, 2 and 3 memories in the prompt", "memories", "Three memories are best.")
_OTHERS = Table("memories of other models", "heterologous", "")
_POOLS = Table(
    "a pool for each domain, and one for all, graded by one rubric", "pools", "A pool for each domain is better."
)
_CONTRADICTING = "Its figures differ between its versions, so none of them stands here."

PAPERS = {
    "ms": Paper(
        "ms",
        "Memory Sharing for Large Language Model based Agents",
        "arXiv 2404.09982, first versions",
        (_NUMBER, Table("a pool as it grows, from 20 %", "growth-ms", "Answers get better as it grows."), _POOLS),
        _CONTRADICTING,
    ),
    "inms": Paper(
        "inms",
        "INMS: Memory Sharing for Large Language Model based Agents",
        "arXiv 2404.09982, last version",
        (
            _NUMBER,
            _OTHERS,
            Table("own memories, those of others, and both", "balance", ""),
            Table("a pool as it grows, in five phases", "growth", "Answers get better as it grows."),
            Table("three quarters of the pool bad at the beginning", "bias", "It recovers as it grows."),
            _POOLS,
        ),
        _CONTRADICTING,
    ),
    "dynamind": Paper(
        "dynamind",
        "From Static to Dynamic: A Continual Learning Framework for Large Language Models",
        "arXiv 2310.14248",
        (
            Table("knowledge that is created, updated and deleted", "knowledge", ""),
            Table("the same, told as statements and asked in other words", "facts", ""),
            Table("questions that take several steps", "complex", ""),
            Table("true and false claims, told apart over epochs", "contradictions", ""),
        ),
        "Its figures are not known here.",
    ),
}


CONCEPTS = "concepts"


def paper_named(name: str) -> Paper:
    """The paper of a name; raises `BadInput` for an unknown one."""
    if name == CONCEPTS:
        raise BadInput(
            "What is said of concepts is measured on the bundled flashcards, without a model: run "
            "`python -m benchmarks.concepts` and `python -m benchmarks.concepts_growth` in the source tree."
        )
    if name not in PAPERS:
        raise BadInput(f"No paper is called {name!r}. There are: {', '.join(PAPERS)}.")
    return PAPERS[name]
