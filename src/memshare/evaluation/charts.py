"""Charts of a result: its scores over phases or by condition, and below them what was counted beside the score."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from memshare.evaluation.result import ALL, Result, Row
from memshare.evaluation.statistics import Interval
from memshare.files import new_file

# From the palette of Okabe and Ito, which people see apart whatever colours they can see.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STROKES = ("-", "--", "-.", ":")  # when the colours are used up
PLAIN, TOGETHER = "#999999", "#000000"  # the baseline, and all kinds together
WIDTH, HEIGHT = 9.0, 3.9  # inches, of a panel
DOTS = 200  # per inch of the PNG
LEAST_SPAN = 20.0  # points on the axis of scores over phases, so that chance does not look like a slope
WRAP = 18  # letters

Panel = Callable[[Axes], None]
Pick = Callable[[Row], Interval | None]


class Series(NamedTuple):
    """A line over the phases."""

    name: str
    rows: Sequence[Row]
    style: Mapping[str, Any]
    band: bool
    """Whether the 95 % interval is drawn as a band."""


def draw(result: Result, folder: Path) -> None:
    """Write `chart.svg` and `chart.png` into a folder, in place of those that were there."""
    # The same result gives the same bytes, and a `$` in a model's name is no formula.
    with matplotlib.rc_context({"svg.hashsalt": "memshare", "text.parse_math": False, "font.size": 9}):
        panels = _panels(result)
        figure = Figure(figsize=(WIDTH, HEIGHT * len(panels)), layout="constrained")
        FigureCanvasAgg(figure)
        for panel, axes in zip(panels, figure.subplots(len(panels), squeeze=False)[:, 0], strict=True):
            panel(axes)
            axes.grid(axis="y", alpha=0.3)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False)
        for file, more in (
            ("chart.svg", {"metadata": {"Date": None, "Creator": None}}),
            ("chart.png", {"metadata": {"Software": None}, "dpi": DOTS}),
        ):
            with new_file(folder / file) as out:
                figure.savefig(out.buffer, format=Path(file).suffix[1:], **more)


def _panels(result: Result) -> list[Panel]:
    """What there is to draw: scores always, marks where something was counted."""
    marks = list(dict.fromkeys(name for row in result.rows for name in row.marks))
    if result.by_phase:
        return [lambda axes: _scores_over_phases(axes, result)] + (
            [lambda axes: _marks_over_phases(axes, result, marks)] if marks else []
        )
    return [lambda axes: _scores_by_condition(axes, result)] + (
        [lambda axes: _marks_by_condition(axes, result, marks)] if marks else []
    )


def _scores_over_phases(axes: Axes, result: Result) -> None:
    """One line a model; of a single model also thin lines of its kinds. The baseline is a dashed line across."""
    rows = [row for row in result.rows if row.condition != result.baseline]
    several = len(result.models) > 1
    series = []
    for number, model in enumerate(result.models):
        colour = COLOURS[number % len(COLOURS)] if several else TOGETHER
        whole = _of(rows, model, ALL)
        series.append(Series(model if several else "all kinds", whole, {"color": colour, "linewidth": 2.8}, band=True))
        for base in _of(result.rows, model, ALL):
            if base.condition == result.baseline and base.score:
                name = f"{base.condition}, {model}" if several else base.condition
                axes.axhline(base.score.mean, color=colour, linestyle="--", linewidth=1.2, label=_wrapped(name))
    kinds = _kinds(rows)
    if not several and len(kinds) > 1:
        for number, kind in enumerate(kinds):
            series.append(Series(kind, _of(rows, result.models[0], kind), _stroke(number), band=False))
    _lines(axes, series, lambda row: row.score)
    axes.set(title="Score over phases", xlabel="phase", ylabel="score of 100, mean and 95 % interval")
    low, high = axes.get_ylim()
    more = max(0.0, LEAST_SPAN - (high - low)) / 2
    axes.set_ylim(low - more, high + more)


def _marks_over_phases(axes: Axes, result: Result, marks: Sequence[str]) -> None:
    """One line of each mark for each model, all kinds together."""
    names = [(mark, model) for mark in marks for model in result.models]
    for number, (mark, model) in enumerate(names):
        rows = [row for row in _of(result.rows, model, ALL) if row.condition != result.baseline]
        style = _stroke(number) | {"linewidth": 2.2}
        one = Series(_mark_name(result, mark, model), rows, style, band=True)
        _lines(axes, [one], lambda row, mark=mark: row.marks.get(mark))  # type: ignore[misc]
    axes.set(title="Counted beside the score", xlabel="phase", ylabel="share, mean and 95 % interval")
    _as_shares(axes)


def _scores_by_condition(axes: Axes, result: Result) -> None:
    """Groups of bars: a group for all kinds and one for each, or for each of several models; a bar a condition."""
    conditions = list(dict.fromkeys(row.condition for row in result.rows))
    if len(result.models) > 1:
        groups = {model: _of(result.rows, model, ALL) for model in result.models}
    else:
        kinds = _kinds(result.rows)
        groups = {kind: _of(result.rows, result.models[0], kind) for kind in ([ALL] if len(kinds) > 1 else []) + kinds}
    others = iter(range(len(conditions)))
    bars = {
        condition: (
            [next((row.score for row in rows if row.condition == condition), None) for rows in groups.values()],
            PLAIN if condition == result.baseline else COLOURS[next(others) % len(COLOURS)],
        )
        for condition in conditions
    }
    _bars(axes, list(groups), bars)
    axes.set(title="Score by condition", ylabel="score of 100, mean and 95 % interval", ylim=(0, 100))


def _marks_by_condition(axes: Axes, result: Result, marks: Sequence[str]) -> None:
    """A group for each condition in which something was counted; a bar for each mark and model."""
    rows = [row for row in result.rows if row.kind == ALL and row.marks]
    conditions = list(dict.fromkeys(row.condition for row in rows))
    bars = {}
    for number, (mark, model) in enumerate((mark, model) for mark in marks for model in result.models):
        found = {row.condition: row.marks.get(mark) for row in _of(rows, model, ALL)}
        colour = COLOURS[number % len(COLOURS)]
        bars[_mark_name(result, mark, model)] = ([found.get(condition) for condition in conditions], colour)
    for drawn, (values, _) in zip(_bars(axes, conditions, bars), bars.values(), strict=True):
        # A share of nothing has no bar, and would look like one that was not counted.
        axes.bar_label(
            drawn, [f"{100 * value.mean:.0f} %" if value else "" for value in values], padding=2, fontsize="small"
        )
    axes.set(title="Counted beside the score", ylabel="share, mean and 95 % interval")
    _as_shares(axes)


def _lines(axes: Axes, series: Iterable[Series], pick: Pick) -> None:
    for one in series:
        found = [(row.phase, pick(row)) for row in one.rows]
        phases = [phase for phase, _ in found]
        axes.plot(phases, [_mean(value) for _, value in found], marker="o", label=_wrapped(one.name), **one.style)
        if one.band:
            low = [value.low if value else math.nan for _, value in found]
            high = [value.high if value else math.nan for _, value in found]
            axes.fill_between(phases, low, high, color=one.style["color"], alpha=0.15, linewidth=0)


def _bars(
    axes: Axes, groups: Sequence[str], bars: Mapping[str, tuple[Sequence[Interval | None], str]]
) -> list[BarContainer]:
    """Draw groups of bars. `bars` has a value for each group, and a colour, by name."""
    width, drawn = 0.8 / max(1, len(bars)), []
    style: dict[str, Any] = {"capsize": 2, "error_kw": {"elinewidth": 1, "ecolor": "#333333"}}
    for number, (name, (values, colour)) in enumerate(bars.items()):
        places = [group + (number - (len(bars) - 1) / 2) * width for group in range(len(groups))]
        errors = [
            [value.mean - value.low if value else math.nan for value in values],
            [value.high - value.mean if value else math.nan for value in values],
        ]
        means, label = [_mean(value) for value in values], _wrapped(name)
        drawn.append(axes.bar(places, means, width * 0.92, color=colour, label=label, yerr=errors, **style))
    axes.set_xticks(range(len(groups)), [_wrapped(group) for group in groups])
    return drawn


def _of(rows: Sequence[Row], model: str, kind: str) -> list[Row]:
    return [row for row in rows if row.model == model and row.kind == kind]


def _kinds(rows: Sequence[Row]) -> list[str]:
    return sorted({row.kind for row in rows} - {ALL})


def _mark_name(result: Result, mark: str, model: str) -> str:
    return f"{mark}, {model}" if len(result.models) > 1 else mark


def _stroke(number: int) -> dict[str, Any]:
    turn, colour = divmod(number, len(COLOURS))
    return {"color": COLOURS[colour], "linestyle": STROKES[turn % len(STROKES)], "linewidth": 1.1, "markersize": 3}


def _as_shares(axes: Axes) -> None:
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))


def _mean(value: Interval | None) -> float:
    return value.mean if value else math.nan


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WRAP)
