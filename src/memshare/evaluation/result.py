"""What an experiment found: a table with intervals, and everything that it takes to make it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pydantic import Field

from memshare.broker.wire.messages import Message
from memshare.evaluation.data import FileReport
from memshare.evaluation.lab import Measured
from memshare.evaluation.statistics import Interval, interval, paired_p

ALL = "all"


class Row(Message):
    """One cell of an experiment: a condition at a phase, for one model and one kind of task or all of them."""

    condition: str
    phase: str
    model: str
    kind: str = Field(description="'all' for all kinds together")
    items: int
    failed: int
    score: Interval | None
    gain: float | None = Field(description="mean difference of the scores to the baseline's, pair by pair")
    p: float | None = Field(description="of that difference; two-sided, paired permutation test, not corrected")
    accepted: float = Field(description="share of the items; those that failed are not")
    f1: Interval | None = Field(description="BERTScore against the standard answers")
    length: Interval | None
    shown: float | None = Field(description="memories in the prompt, on average")
    marks: dict[str, Interval] = Field(description="what this experiment counts beside the score")


class Result(Message):
    """One experiment's result. What is here comes out the same when it is run again with the same settings."""

    experiment: str
    title: str
    question: str
    method: str
    note: str = Field(description="what a reader has to know before the figures")
    notes: tuple[str, ...] = ()
    baseline: str | None
    by_phase: bool
    models: tuple[str, ...]
    scorer: str
    data: tuple[FileReport, ...]
    same_question: int = Field(description="items dropped because they were given the same question")
    parts: dict[str, int] = Field(description="items in seeds, queries and test")
    seed: int
    settings: dict[str, str]
    versions: dict[str, str]
    rows: tuple[Row, ...]


def rows_of(measured: Sequence[Measured], baseline: str | None) -> tuple[Row, ...]:
    """A row for all kinds and one for each, of each condition, phase and model, in the order of measuring."""
    groups: defaultdict[tuple[str, str, str, str], list[Measured]] = defaultdict(list)
    for one in measured:
        for kind in (ALL, one.kind or one.agent):
            groups[one.model, one.condition, one.phase, kind].append(one)
    base = {
        (model, one.item): one.score
        for (model, condition, _, kind), group in groups.items()
        if condition == baseline and kind == ALL
        for one in group
    }
    return tuple(_row(*name, group, base, compare=name[1] != baseline) for name, group in groups.items())


def _row(
    model: str,
    condition: str,
    phase: str,
    kind: str,
    group: Sequence[Measured],
    base: dict[tuple[str, str], float | None],
    *,
    compare: bool,
) -> Row:
    graded = [one for one in group if one.score is not None]
    scores = [one.score for one in graded if one.score is not None]
    pairs = [
        (one.score, before)
        for one in group
        if compare and one.score is not None and (before := base.get((model, one.item))) is not None
    ]
    ours, theirs = [score for score, _ in pairs], [before for _, before in pairs]
    likenesses = [one.f1 for one in group if one.f1 is not None]
    marks: defaultdict[str, list[float]] = defaultdict(list)
    for one in graded:
        for name, value in one.marks.items():
            marks[name].append(value)
    return Row(
        condition=condition,
        phase=phase,
        model=model,
        kind=kind,
        items=len(group),
        failed=len(group) - len(scores),
        score=interval(scores) if scores else None,
        gain=sum(ours) / len(ours) - sum(theirs) / len(theirs) if pairs else None,
        p=paired_p(ours, theirs) if len(pairs) > 1 else None,
        accepted=sum(one.accepted for one in group) / len(group),
        f1=interval(likenesses) if likenesses else None,
        length=interval([one.length for one in graded]) if graded else None,
        shown=sum(len(one.shown) for one in graded) / len(graded) if graded else None,
        marks={name: interval(values) for name, values in marks.items()},
    )
