"""Charts of a result: its mean scores as lines over phases, or as bars by condition."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from memshare.evaluation.result import ALL, ExperimentResult, Interval
from memshare.files.new_file import new_file

# From the palette of Okabe and Ito, which people see apart whatever colours they can see.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
PLAIN = "#999999"  # the baseline
WIDTH, HEIGHT = 9.0, 3.9  # inches
DOTS = 200  # per inch of the PNG
WRAP = 18  # letters
NO_SCORE = Interval.model_construct(mean=math.nan, low=math.nan, high=math.nan)  # leaves a gap


def draw(result: ExperimentResult, folder: Path) -> None:
    """Write `chart.svg` and `chart.png` into a folder, in place of those that were there.

    A chart has a line or bar of each condition, of several models for each of them; bars of one model also by kind.
    """
    several = len(result.models) > 1
    grouped = not result.by_phase and not several
    rows = [row for row in result.rows if grouped or row.kind == ALL]
    series: dict[tuple[str, str], dict[str, Interval]] = {}
    for row in rows:
        group = row.phase if result.by_phase else row.kind if grouped else row.model
        name = f"{row.condition}, {row.model}" if several and result.by_phase else row.condition
        series.setdefault((row.condition, name), {})[group] = row.score or NO_SCORE
    groups = list(dict.fromkeys(group for values in series.values() for group in values if group))
    # The same result gives the same bytes, and a `$` in a model's name is no formula.
    with matplotlib.rc_context({"svg.hashsalt": "memshare", "text.parse_math": False, "font.size": 9}):
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots()
        for number, ((condition, name), values) in enumerate(series.items()):
            colour = PLAIN if condition == result.baseline else COLOURS[number % len(COLOURS)]
            label, found = textwrap.fill(name, WRAP), [values.get(group, NO_SCORE) for group in groups]
            errors = [[one.mean - one.low for one in found], [one.high - one.mean for one in found]]
            if result.by_phase and condition == result.baseline:  # it has no phase
                axes.axhline(values[""].mean, color=COLOURS[number % len(COLOURS)], linestyle="--", label=label)
            elif result.by_phase:
                means = [one.mean for one in found]
                axes.errorbar(groups, means, yerr=errors, color=colour, label=label, marker="o", capsize=2)
            else:
                width = 0.8 / len(series)
                places = [place + (number - (len(series) - 1) / 2) * width for place in range(len(groups))]
                means = [one.mean for one in found]
                axes.bar(places, means, width * 0.92, color=colour, label=label, yerr=errors, capsize=2)
        axes.set_xticks(range(len(groups)), [textwrap.fill(group, WRAP) for group in groups])
        axes.set(title=result.title, ylabel="score of 100, mean and 95 % interval", ylim=(0, 100))
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
