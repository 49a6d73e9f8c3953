"""Charts of a result: its scores over phases or by condition, and below them what was counted beside the score."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from memshare.evaluation.result import ALL, Result, Row
from memshare.evaluation.statistics import Interval
from memshare.files.new_file import new_file

# From the palette of Okabe and Ito, which people see apart whatever colours they can see.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STROKES = ("-", "--", "-.", ":")  # when the colours are used up
PLAIN, TOGETHER = "#999999", "#000000"  # the baseline, and all kinds together
WIDTH, HEIGHT = 9.0, 3.9  # inches, of a panel
DOTS = 200  # per inch of the PNG
LEAST_SPAN = 20.0  # points on the axis of scores over phases, so that chance does not look like a slope
WRAP = 18  # letters
NOTHING = Interval.model_construct(mean=math.nan, low=math.nan, high=math.nan)  # leaves a gap


class Series(NamedTuple):
    """Some values by what is below them: a line over phases, or a bar of each group. It has a style of matplotlib's."""

    name: str
    values: Mapping[str, Interval | None]
    style: dict[str, Any]
    band: bool = True
    """Whether the 95 % interval of a line is drawn."""


def draw(result: Result, folder: Path) -> None:
    """Write `chart.svg` and `chart.png` into a folder, in place of those that were there."""
    panels = [_draw_scores, *([_draw_marks] if any(row.marks for row in result.rows) else [])]
    # The same result gives the same bytes, and a `$` in a model's name is no formula.
    with matplotlib.rc_context({"svg.hashsalt": "memshare", "text.parse_math": False, "font.size": 9}):
        figure = Figure(figsize=(WIDTH, HEIGHT * len(panels)), layout="constrained")
        FigureCanvasAgg(figure)
        for panel, axes in zip(panels, figure.subplots(len(panels), squeeze=False)[:, 0], strict=True):
            panel(axes, result)
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


def _draw_scores(axes: Axes, result: Result) -> None:
    """A line, or a group of bars, of each model; of a single model also of its kinds."""
    several, first = len(result.models) > 1, result.models[0]
    kinds = sorted({row.kind for row in result.rows} - {ALL})
    # What is told apart, by its name: the rows of a model, or those of a kind.
    parts = {model if several else ALL: _of(result.rows, model, ALL) for model in result.models}
    by_kind = {kind: _of(result.rows, first, kind) for kind in kinds if not several}
    if result.by_phase:
        series = []
        for number, (name, rows) in enumerate(parts.items()):
            colour = _stroke(number)["color"] if several else TOGETHER
            values = {row.phase: row.score for row in rows if row.condition != result.baseline}
            series.append(Series(name if several else "all kinds", values, {"color": colour, "linewidth": 2.8}))
            for base in rows:
                if base.condition == result.baseline and base.score:  # a dashed line across
                    label = _wrapped(f"{base.condition}, {name}" if several else base.condition)
                    axes.axhline(base.score.mean, color=colour, linestyle="--", linewidth=1.2, label=label)
        for number, (kind, rows) in enumerate(by_kind.items() if len(kinds) > 1 else ()):
            values = {row.phase: row.score for row in rows if row.condition != result.baseline}
            series.append(Series(kind, values, _stroke(number), band=False))
        _lines(axes, series)
        low, high = axes.get_ylim()
        more = max(0.0, LEAST_SPAN - (high - low)) / 2
        axes.set_ylim(low - more, high + more)
    else:
        groups = parts if several else by_kind if len(kinds) == 1 else parts | by_kind
        conditions = list(dict.fromkeys(row.condition for row in result.rows))
        others = [condition for condition in conditions if condition != result.baseline]
        series = [
            Series(
                condition,
                {name: row.score for name, rows in groups.items() for row in rows if row.condition == condition},
                _stroke(others.index(condition)) if condition in others else {"color": PLAIN},
            )
            for condition in conditions
        ]
        _bars(axes, list(groups), series)
        axes.set_ylim(0, 100)
    _describe(axes, result, "Score", "score of 100")


def _draw_marks(axes: Axes, result: Result) -> None:
    """A line, or a bar at each condition in which it was counted, of each mark and model."""
    series: list[Series] = []
    rows = [
        row for row in result.rows if row.kind == ALL and not (result.by_phase and row.condition == result.baseline)
    ]
    for mark in dict.fromkeys(name for row in result.rows for name in row.marks):
        for model in result.models:
            values = {row.phase or row.condition: row.marks.get(mark) for row in _of(rows, model, ALL)}
            name = f"{mark}, {model}" if len(result.models) > 1 else mark
            series.append(Series(name, values, _stroke(len(series)) | {"linewidth": 2.2}))
    if result.by_phase:
        _lines(axes, series)
    else:
        groups = list(dict.fromkeys(row.condition for row in rows if row.marks))
        _bars(axes, groups, series, told=True)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    _describe(axes, result, "Counted beside the score", "share")


def _describe(axes: Axes, result: Result, title: str, unit: str) -> None:
    if result.by_phase:
        axes.set_xlabel("phase")
    if unit != "share":
        title += " over phases" if result.by_phase else " by condition"
    axes.set(title=title, ylabel=f"{unit}, mean and 95 % interval")


def _lines(axes: Axes, series: Sequence[Series]) -> None:
    for one in series:
        places, found = list(one.values), [value or NOTHING for value in one.values.values()]
        axes.plot(places, [value.mean for value in found], marker="o", label=_wrapped(one.name), **one.style)
        if one.band:
            low, high = [value.low for value in found], [value.high for value in found]
            axes.fill_between(places, low, high, color=one.style["color"], alpha=0.15, linewidth=0)


def _bars(axes: Axes, groups: Sequence[str], series: Sequence[Series], *, told: bool = False) -> None:
    width = 0.8 / max(1, len(series))
    style: dict[str, Any] = {"capsize": 2, "error_kw": {"elinewidth": 1, "ecolor": "#333333"}}
    for number, one in enumerate(series):
        places = [group + (number - (len(series) - 1) / 2) * width for group in range(len(groups))]
        found = [one.values.get(group) or NOTHING for group in groups]
        errors = [[value.mean - value.low for value in found], [value.high - value.mean for value in found]]
        means, label, colour = [value.mean for value in found], _wrapped(one.name), one.style["color"]
        drawn = axes.bar(places, means, width * 0.92, color=colour, label=label, yerr=errors, **style)
        if told:  # a share of nothing has no bar, and would look like one that was not counted
            shares = ["" if value is NOTHING else f"{100 * value.mean:.0f} %" for value in found]
            axes.bar_label(drawn, shares, padding=2, fontsize="small")
    axes.set_xticks(range(len(groups)), [_wrapped(group) for group in groups])


def _of(rows: Sequence[Row], model: str, kind: str) -> list[Row]:
    return [row for row in rows if row.model == model and row.kind == kind]


def _stroke(number: int) -> dict[str, Any]:
    turn, colour = divmod(number, len(COLOURS))
    return {"color": COLOURS[colour], "linestyle": STROKES[turn % len(STROKES)], "linewidth": 1.1, "markersize": 3}


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WRAP)
