"""The papers whose tables are experiments here, and the findings and figures that they print."""

from __future__ import annotations

from typing import NamedTuple

from memshare.evaluation.result import ALL, ExperimentResult
from memshare_broker.errors import BadInput


class Figures(NamedTuple):
    """The figures of a paper's table, in percent: a row for each model, a column for each head.

    `ours` is what the experiment counts in each column: condition, phase and mark. It is empty where it counts
    something else, which then stands in no column.
    """

    name: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    ours: tuple[tuple[str, str, str], ...] = ()


class Table(NamedTuple):
    """A table or figure of a paper: its subject, the experiment here, and the paper's finding and figures."""

    shows: str
    experiment: str
    said: str
    figures: Figures | None = None


class Paper(NamedTuple):
    """A paper, where it stands, and its tables."""

    name: str
    title: str
    place: str
    tables: tuple[Table, ...]
    note: str

    @property
    def experiments(self) -> list[str]:
        return list(dict.fromkeys(table.experiment for table in self.tables))


def beside(figures: Figures, result: ExperimentResult | None) -> tuple[list[str], list[list[str]]]:
    """The heads and rows of a paper's table, and below them a row for each model of ours, where it counts the same."""
    rows = [[f"{model} (paper)", *(f"{value:.1f}" for value in values)] for model, values in figures.rows]
    found = {
        (row.model, row.condition, row.phase, mark): value.mean
        for row in (result.rows if result else ())
        if row.kind == ALL
        for mark, value in row.marks.items()
    }
    for model in result.models if result and figures.ours else ():
        values = [found.get((model, *cell)) for cell in figures.ours]
        rows.append([f"{model} (here)", *("–" if value is None else f"{100 * value:.1f}" for value in values)])
    return ["%", *figures.heads], rows


_NUMBER = Table("0, 1, 2 and 3 memories in the prompt", "memories", "Three memories are best.")
_POOLS = Table(
    "a pool for each domain, and one for all, graded by one rubric", "pools", "A pool for each domain is better."
)
_CONTRADICTING = "Its figures differ between its versions, so none of them stands here."

_COMPLEX = Figures(
    "Table 2",
    ("basic", "DynaMind"),
    (
        ("GPT-3.5", (8.5, 89.0)),
        ("GPT-4", (16.0, 92.5)),
        ("Falcon-40B", (17.5, 85.0)),
        ("Llama-30B", (6.0, 56.5)),
    ),
    (("one call", "", "says the answer"), ("engine", "", "says the answer")),
)
_CREDIBILITY = Figures(
    "Table 3",
    ("3 epochs", "5 epochs"),
    (
        ("GPT-3.5", (48.5, 61.5)),
        ("GPT-4", (79.0, 84.5)),
        ("Falcon-40B", (72.5, 78.0)),
        ("Llama-30B", (23.0, 42.5)),
    ),
)
_MANIPULATION = Figures(
    "Table 4",
    ("create", "update", "delete"),
    (
        ("GPT-3.5", (92.0, 81.0, 71.5)),
        ("GPT-4", (95.5, 85.0, 71.5)),
        ("Falcon-40B", (90.5, 83.5, 74.0)),
        ("Llama-30B", (88.0, 78.5, 70.0)),
    ),
)


def _manipulation(create: str, update: str) -> Figures:
    """Table 4 beside an experiment that calls its conditions so; what was deleted is what was told last."""
    first, second = "says the first", "says the second"
    return _MANIPULATION._replace(ours=((create, "", first), (update, "", second), ("deleted", "", second)))


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
            Table("memories of other models", "heterologous", "Memories that other models wrote help, too."),
            Table(
                "own memories, those of others, and both",
                "balance",
                "Not measured: among its limitations it asks how own memories and those of others are to be balanced.",
            ),
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
            Table(
                "knowledge that is created, updated and deleted",
                "knowledge",
                "Right answers to 200 news that were created, and to 200 WebQuestions that were updated or deleted; of "
                "what was deleted a lower figure is the better one.",
                _manipulation("added", "changed"),
            ),
            Table(
                "the same, told as statements and asked in other words",
                "facts",
                "The same table, whose questions a model made of the statements.",
                _manipulation("created", "updated"),
            ),
            Table(
                "questions that take several steps",
                "complex",
                "Right answers to 200 of ComplexWebQuestions, by the model alone and by DynaMind.",
                _COMPLEX,
            ),
            Table(
                "true and false claims, told apart over epochs",
                "contradictions",
                "Pairs, of 200 claims of SciFact with a counterfactual each, whose true claim became the more credible "
                "one. The table counts answers, and its notes pairs, as python -m benchmarks.credibility does.",
                _CREDIBILITY,
            ),
        ),
        "Its figures are those of its authors' repository, github.com/Elfsong/DynaMind. Its questions and models are "
        "others than yours, so they show what was claimed, and are no target.",
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
