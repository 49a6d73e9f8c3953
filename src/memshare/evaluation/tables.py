"""The table of a result, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tabulate import tabulate

from memshare.evaluation.result import ALL, Result, Row
from memshare.evaluation.statistics import Interval

SMALLEST_P = 0.001


def cells(result: Result, kinds: Iterable[str] | None = None) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows of the table as text; only these kinds if they are given."""
    wanted = None if kinds is None else set(kinds)
    rows = [row for row in result.rows if wanted is None or row.kind in wanted]
    marks = list(dict.fromkeys(name for row in rows for name in row.marks))
    several = len(result.models) > 1
    heads = [*(["model"] if several else []), "condition", *(["phase"] if result.by_phase else []), "kind", "items"]
    heads += ["score [95 %]", "gain", "p", "accepted", "BERTScore F1", "length", "shown", *marks]
    return heads, [_cells(row, marks, several=several, by_phase=result.by_phase) for row in rows]


def markdown(result: Result) -> str:
    """The whole page: what was asked and how, the table, and what it takes to make it again."""
    heads, rows = cells(result)
    parts = [f"# {result.title}", result.question, result.method, *([f"**{result.note}**"] if result.note else [])]
    parts.append(tabulate(rows, heads, tablefmt="github", disable_numparse=True))
    parts += [f"- {note}" for note in result.notes]
    parts.append(LEGEND)
    settings = {**result.settings, **result.versions}
    parts.append("; ".join(f"{name} {value}" for name, value in settings.items()) + f"; seed {result.seed}.")
    return "\n\n".join(parts) + "\n"


LEGEND = (
    "Score: by rubric, of 100, mean with 95 % interval (Student's t). Gain: mean difference to the first condition, "
    "item by item; p: of that difference, by a two-sided paired permutation test, not corrected for many comparisons. "
    "BERTScore F1: against the standard answers, which are one good answer among many. Length: in words, or in "
    "characters of Chinese."
)


def summary(result: Result) -> tuple[list[str], list[list[str]]]:
    """The rows for all kinds together, with what fits a terminal."""
    heads, rows = cells(result, [ALL])
    kept = [place for place, head in enumerate(heads) if head not in ("kind", "length", "shown")]
    return [heads[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _cells(row: Row, marks: Sequence[str], *, several: bool, by_phase: bool) -> list[str]:
    return [
        *([row.model] if several else []),
        row.condition,
        *([row.phase] if by_phase else []),
        row.kind,
        f"{row.items}" + (f" ({row.failed} failed)" if row.failed else ""),
        _interval(row.score, 1),
        "" if row.gain is None else f"{row.gain:+.1f}",
        "" if row.p is None else f"< {SMALLEST_P}" if row.p < SMALLEST_P else f"{row.p:.3f}",
        f"{row.accepted:.0%}",
        _interval(row.f1, 3),
        "" if row.length is None else f"{row.length.mean:.0f}",
        "" if row.shown is None else f"{row.shown:.1f}",
        *(f"{row.marks[name].mean:.2f}" if name in row.marks else "" for name in marks),
    ]


def _interval(value: Interval | None, digits: int) -> str:
    if value is None:
        return ""
    mean = f"{value.mean:.{digits}f}"
    return mean if value.low == value.high else f"{mean} [{value.low:.{digits}f}, {value.high:.{digits}f}]"
