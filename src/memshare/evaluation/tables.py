"""The table of a result, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import tabulate

from memshare.evaluation.result import ALL, ExperimentResult, Interval, ResultRow

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
    if result.judge:
        return (
            f"Graded by {result.scorer}, which also decided what was remembered, and by a second judge, "
            f"{result.judge}, which decided nothing."
        )
    return (
        f"Only one judge: {result.scorer} graded the answers and decided what was remembered, so a gain may be one in "
        "its taste. Name a second one with --judge."
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
        *_compared(row.score, row.gain, row.p, 1),
        *(_compared(row.judge, row.judge_gain, row.judge_p, 1) if result.judge else []),
        f"{row.accepted:.0%}",
        *_compared(row.f1, row.f1_gain, row.f1_p, 3),
        "" if row.length is None else f"{row.length.mean:.0f}",
        "" if row.shown is None else f"{row.shown:.1f}",
        *([_versions(row.versions)] if result.learning else []),
        *(f"{row.marks[name].mean:.2f}" if name in row.marks else "" for name in marks),
    ]


def _compared(mean: Interval | None, gain: float | None, p: float | None, digits: int) -> list[str]:
    return [_interval(mean, digits), "" if gain is None else f"{gain:+.{digits}f}", "" if p is None else p_text(p)]


def p_text(p: float) -> str:
    return f"< {SMALLEST_P}" if p < SMALLEST_P else f"{p:.3f}"


def _versions(versions: tuple[int, int] | None) -> str:
    if versions is None:
        return ""
    return f"v{versions[0]}" if versions[0] == versions[1] else f"v{versions[0]}–v{versions[1]}"


def _interval(value: Interval | None, digits: int) -> str:
    if value is None:
        return ""
    mean = f"{value.mean:.{digits}f}"
    return mean if value.low == value.high else f"{mean} [{value.low:.{digits}f}, {value.high:.{digits}f}]"
