"""Draws the figures of `benchmarks.retriever`: quality on the left, cost per update on the right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes

# From the palette of Okabe and Ito, which people see apart whatever colours they can see.
COLOURS = {"online": "#0072B2", "untrained": "#666666", "literal": "#D55E00", "consolidated": "#009E73"}
NAMES = {
    "online": "learning online",
    "untrained": "no training",
    "literal": "the literal way",
    "consolidated": "consolidated",
}
UNITS = {1: "1 ms", 10: "10 ms", 100: "0.1 s", 1_000: "1 s", 10_000: "10 s", 60_000: "1 min", 600_000: "10 min"}
APART = 0.04  # at least, from one name to the next


def draw(figures: Mapping[str, Any], file: Path) -> None:
    """Write one page as PNG; the figures are those of the benchmark's JSON."""
    figure, (quality, cost) = pyplot.subplots(1, 2, figsize=(12, 5), layout="constrained")
    _quality(quality, figures)
    _cost(cost, figures["cost_ms"])
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


def _quality(axes: Axes, figures: Mapping[str, Any]) -> None:
    memories = figures["curve"]["memories"]
    last, ends = memories[-1], figures["p_at_3"]
    for name in ("online", "untrained", "literal"):
        axes.plot(memories, figures["curve"][name], "o-", markersize=4, color=COLOURS[name])
    axes.plot([last], [ends["consolidated"]], "D", color=COLOURS["consolidated"])
    height = 0.0
    for name in sorted(ends, key=lambda one: float(ends[one])):
        height = max(ends[name], height + APART)
        _label(axes, last, height, name)
    axes.set(
        title="Quality: what is shown for tasks on unseen topics",
        xlabel="memories in the pool",
        ylabel="right ones among the three memories shown (P@3)",
        xlim=(0, last * 1.3),
        ylim=(0, 1.05),
    )
    axes.set_xticks(memories, [str(number) for number in memories], rotation=45)
    axes.grid(alpha=0.3)


def _cost(axes: Axes, costs: Mapping[str, Mapping[str, float]]) -> None:
    for name, figure in (("online", "online_with_search"), ("literal", "literal")):
        sizes, taken = [int(size) for size in costs[figure]], list(costs[figure].values())
        axes.plot(sizes, taken, "o-", markersize=4, color=COLOURS[name])
        _label(axes, sizes[-1], taken[-1], name)
    axes.plot(sizes[-1], taken[-1], "o", markersize=4, color=COLOURS["literal"], markerfacecolor="white")
    axes.annotate(
        f"scaled up from {sizes[-2]:,}",
        (sizes[-1], taken[-1]),
        xytext=(8, -14),
        textcoords="offset points",
        va="center",
        fontsize="small",
        color=COLOURS["literal"],
    )
    axes.text(0.03, 0.03, "no training: no update", transform=axes.transAxes, color=COLOURS["untrained"])
    axes.set(
        title="Cost: one update of the retriever",
        xlabel="memories in the pool",
        ylabel="time (log scale)",
        xscale="log",
        yscale="log",
        xlim=(700, 1_500_000),
        ylim=(1, 20_000_000),
    )
    axes.set_xticks([1_000, 10_000, 100_000], ["1,000", "10,000", "100,000"])
    axes.set_yticks(list(UNITS), list(UNITS.values()))
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def _label(axes: Axes, x: float, y: float, name: str) -> None:
    """The name at the end of its line, in place of a legend."""
    axes.annotate(NAMES[name], (x, y), xytext=(8, 0), textcoords="offset points", va="center", color=COLOURS[name])
