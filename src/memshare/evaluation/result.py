"""Result of an experiment: a table with intervals, and everything that is needed to make it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import ConfigDict, Field
from tabulate import tabulate

from memshare.evaluation.data import FileReport
from memshare.evaluation.lab import Measured
from memshare_broker.wire.grades import PROGRAM
from memshare_broker.wire.messages import Message

SMALLEST_P = 0.001


def cells(result: ExperimentResult, kinds: Iterable[str] | None = None) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows of the table as text; only these kinds if they are given."""
    wanted = None if kinds is None else set(kinds)
    rows = [row for row in result.rows if wanted is None or row.kind in wanted]
    marks = list(dict.fromkeys(name for row in rows for name in row.marks))
    several = len(result.models) > 1
    heads = [*(["model"] if several else []), "condition", *(["phase"] if result.by_phase else []), "kind", "items"]
    heads += ["score [95 %]", "gain", "p"]
    heads += ["judge's score [95 %]", "judge's gain", "judge's p"] if result.judge else []
    heads += ["accepted", "BERTScore F1", "F1 gain", "F1 p", "length", "shown"]
    heads += [*(["retriever"] if result.learning else []), *marks]
    return heads, [_cells(row, marks, result, several=several) for row in rows]


def markdown(result: ExperimentResult) -> str:
    """The whole page: what was asked and how, the table, and what it takes to make it again."""
    heads, rows = cells(result)
    parts = [f"# {result.title}", result.question, result.method]
    parts.append(tabulate(rows, heads, tablefmt="github", disable_numparse=True))
    parts += [f"- {note}" for note in (*result.notes, judged_by(result))]
    parts.append(LEGEND)
    settings = {**result.settings, **result.versions}
    parts.append("; ".join(f"{name} {value}" for name, value in settings.items()) + f"; seed {result.seed}.")
    return "\n\n".join(parts) + "\n"


LEGEND = (
    "Score: by rubric, of 100, mean with 95 % interval (Student's t). Gain: mean difference to the first condition, "
    "item by item; p: of that difference, by a two-sided paired permutation test, not corrected for many comparisons. "
    "An unverified or missing answer counts 0. BERTScore F1: against the standard "
    "answers, which are one good answer among many. Length: in words, or in characters of Chinese. Retriever: the "
    "versions that found the memories; version 0 is the encoder alone."
)


def judged_by(result: ExperimentResult) -> str:
    """Who graded, and whether that may be trusted to tell better answers from answers to the scorer's taste."""
    models = [one for one in result.graded_by or (result.scorer,) if one != PROGRAM]
    by_program = PROGRAM in result.graded_by
    who = " and ".join([*(["programs"] if by_program else []), *models])
    if not models:
        judge = f" {result.judge} was asked nothing." if result.judge else ""
        return f"Graded by programs, which also decided what was remembered: a gain is in nobody's taste.{judge}"
    if result.judge:
        return (
            f"Graded by {who}, which also decided what was remembered, and by a second judge, "
            f"{result.judge}, which decided nothing."
        )
    first = f"Graded by {who}" if by_program else f"Only one judge: {who} graded the answers"
    where = "where no program grades " if by_program else ""
    return (
        f"{first}, and decided what was remembered, so {where}a gain may be one in the model's taste. "
        "Name a second judge with --judge."
    )


def summary(result: ExperimentResult) -> tuple[list[str], list[list[str]]]:
    """The rows for all kinds together, with what fits a terminal."""
    heads, rows = cells(result, [ALL])
    shown = [place for place, head in enumerate(heads) if head not in ("kind", "length", "shown", "F1 p", "judge's p")]
    return [heads[place] for place in shown], [[row[place] for place in shown] for row in rows]


def _cells(row: ResultRow, marks: Sequence[str], result: ExperimentResult, *, several: bool) -> list[str]:
    lost = [f"{many} {what}" for many, what in ((row.failed, "failed"), (row.unverified, "not verified")) if many]
    return [
        *([row.model] if several else []),
        row.condition,
        *([row.phase] if result.by_phase else []),
        row.kind,
        f"{row.items}" + (f" ({', '.join(lost)})" if lost else ""),
        *_comparison(row.score, row.gain, row.p, 1),
        *(_comparison(row.judge, row.judge_gain, row.judge_p, 1) if result.judge else []),
        f"{row.accepted:.0%}",
        *_comparison(row.f1, row.f1_gain, row.f1_p, 3),
        "" if row.length is None else f"{row.length.mean:.0f}",
        "" if row.shown is None else f"{row.shown:.1f}",
        *([_versions(row.versions)] if result.learning else []),
        *(f"{row.marks[name].mean:.2f}" if name in row.marks else "" for name in marks),
    ]


def _comparison(mean: Interval | None, gain: float | None, p: float | None, digits: int) -> list[str]:
    return [interval_text(mean, digits), "" if gain is None else f"{gain:+.{digits}f}", "" if p is None else p_text(p)]


def p_text(p: float) -> str:
    return f"< {SMALLEST_P}" if p < SMALLEST_P else f"{p:.3f}"


def _versions(versions: tuple[int, int] | None) -> str:
    if versions is None:
        return ""
    return f"v{versions[0]}" if versions[0] == versions[1] else f"v{versions[0]}–v{versions[1]}"


def interval_text(value: Interval | None, digits: int) -> str:
    """A mean with its interval, in so many digits; empty for none."""
    if value is None:
        return ""
    mean = f"{value.mean:.{digits}f}"
    return mean if value.low == value.high else f"{mean} [{value.low:.{digits}f}, {value.high:.{digits}f}]"


CONFIDENCE = 0.95
RESAMPLES = 9_999
BATCH = 200  # resamples in memory at a time


class Interval(Message):
    """A mean and its 95 % confidence interval (Student's t); the interval of a single value is the value."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float]) -> Interval:
    """The mean of at least one value."""
    from scipy import stats  # it takes a second to import

    some = np.asarray(values, dtype=float)
    mean = float(some.mean())
    error = float(stats.sem(some)) if some.size > 1 else 0.0
    if error == 0:
        return Interval(mean=mean, low=mean, high=mean)
    low, high = stats.t.interval(CONFIDENCE, some.size - 1, loc=mean, scale=error)
    return Interval(mean=mean, low=float(low), high=float(high))


def paired_p(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The two-sided p of a permutation test of the mean difference of pairs; 1 where nothing differs.

    It assumes no distribution: under the null hypothesis each pair may be swapped. Of at most 13 pairs all swaps are
    looked at, of more 9,999 that are drawn by a fixed seed.
    """
    from scipy import stats

    differences = np.subtract(ours, theirs)
    if not differences.any():
        return 1.0
    found = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        batch=BATCH,
        rng=np.random.default_rng(7),
    )
    return float(found.pvalue)


ALL = "all"


class ResultRow(Message):
    """A cell of an experiment: a condition at a phase, for one model and one kind of task or all of them."""

    condition: str
    phase: str
    model: str
    kind: str = Field(description="'all' for all kinds together")
    items: int
    failed: int = Field(description="given up; they count 0, as what is not verified does")
    unverified: int = Field(default=0, description="rejected by the agent that answered")
    score: Interval | None
    gain: float | None = Field(description="mean difference of the scores to the baseline's, pair by pair")
    p: float | None = Field(description="of that difference; two-sided, paired permutation test, not corrected")
    accepted: float = Field(description="share of the items; those that failed are not")
    f1: Interval | None = Field(description="BERTScore against the standard answers")
    f1_gain: float | None = None
    f1_p: float | None = None
    judge: Interval | None = Field(default=None, description="the second judge's score")
    judge_gain: float | None = None
    judge_p: float | None = None
    versions: tuple[int, int] | None = Field(
        default=None, description="the lowest and the highest version of the retrievers that found the memories"
    )
    length: Interval | None
    shown: float | None = Field(description="memories in the prompt, on average")
    marks: dict[str, Interval] = Field(description="what this experiment counts beside the score")


class ExperimentResult(Message):
    """An experiment's result. It comes out the same when the experiment is run again with the same settings."""

    model_config = ConfigDict(extra="ignore")  # of another release, which had more to tell

    experiment: str
    title: str
    question: str
    method: str
    notes: tuple[str, ...] = ()
    baseline: str | None
    by_phase: bool
    models: tuple[str, ...]
    scorer: str
    graded_by: tuple[str, ...] = Field(default=(), description="models, and 'program' where checks alone graded")
    judge: str | None = None
    learning: bool = False
    data: tuple[FileReport, ...]
    same_question: int = Field(description="items dropped because they were given the same question")
    parts: dict[str, int] = Field(description="items in seeds, queries and test")
    seed: int
    settings: dict[str, str]
    versions: dict[str, str]
    rows: tuple[ResultRow, ...]


def rows_of(measured: Sequence[Measured], baseline: str | None, *, with_judge: bool = False) -> tuple[ResultRow, ...]:
    """A row for all kinds and one for each, of each condition, phase and model, in the order of measuring."""
    groups: defaultdict[tuple[str, str, str, str], list[Measured]] = defaultdict(list)
    for one in measured:
        for kind in (ALL, one.kind or one.agent):
            groups[one.model, one.condition, one.phase, kind].append(one)
    base = {(one.model, one.item): one for one in measured if one.condition == baseline}
    return tuple(_row(*name, group, base if name[1] != baseline else {}, with_judge) for name, group in groups.items())


def _row(
    model: str,
    condition: str,
    phase: str,
    kind: str,
    group: Sequence[Measured],
    base: Mapping[tuple[str, str], Measured],
    with_judge: bool,
) -> ResultRow:
    graded = [one for one in group if one.score is not None]
    versions = [one.retriever_version for one in graded if one.shown]
    marks: defaultdict[str, list[float]] = defaultdict(list)
    for one in group:
        for name, value in one.marks.items():
            marks[name].append(value)
    return ResultRow(
        condition=condition,
        phase=phase,
        model=model,
        kind=kind,
        items=len(group),
        failed=sum(one.error is not None for one in group),
        unverified=sum(not one.verified for one in group),
        accepted=sum(one.accepted for one in group) / len(group),
        versions=(min(versions), max(versions)) if versions else None,
        length=interval([one.length for one in graded]) if graded else None,
        shown=sum(len(one.shown) for one in graded) / len(graded) if graded else None,
        marks={name: interval(values) for name, values in marks.items()},
        **_compared("score", "", group, base, lambda one: one.points),
        **_compared("f1", "f1_", group, base, lambda one: one.f1),
        # The second judge's score is 0 where there was nothing to judge.
        **(_compared("judge", "judge_", group, base, lambda one: one.judged or 0.0) if with_judge else {}),
    )


def _compared(
    name: str,
    prefix: str,
    group: Sequence[Measured],
    base: Mapping[tuple[str, str], Measured],
    value: Callable[[Measured], float | None],
) -> dict[str, Any]:
    """The fields of a mean, and of its difference to the baseline with its p: of items that have the value in both."""
    values = [found for one in group if (found := value(one)) is not None]
    pairs = [
        (mine, theirs)
        for one in group
        if (before := base.get((one.model, one.item))) is not None
        and (mine := value(one)) is not None
        and (theirs := value(before)) is not None
    ]
    ours, others = [mine for mine, _ in pairs], [theirs for _, theirs in pairs]
    return {
        name: interval(values) if values else None,
        f"{prefix}gain": sum(ours) / len(ours) - sum(others) / len(others) if pairs else None,
        f"{prefix}p": paired_p(ours, others) if len(pairs) > 1 else None,
    }
