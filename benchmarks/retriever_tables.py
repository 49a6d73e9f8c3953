"""The figures of `benchmarks.retriever` as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import retriever_cost as cost
from benchmarks.report import aim, readable
from benchmarks.retriever_data import MEMORIES

AIM_GAIN, AIM_RATIO = 0.3, 1.1
AIM_CALLS, AIM_TOKENS = 2.3, 2_500  # for each memory


def for_people(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The same as rows of tables."""
    curve, costs = figures["curve"], figures["cost_ms"]
    memories = [f"{number:,}" for number in curve["memories"]]
    return {
        **{
            f"P@3, {name}": dict(zip(memories, curve[name], strict=True)) for name in ("untrained", "online", "literal")
        },
        f"P@3 at {MEMORIES}": figures["p_at_3"],
        "P@3 of the untouched pool": figures["untouched"],
        **{
            f"ms an update, {name}": {f"{size:,}": costs[name].get(str(size), "") for size in cost.SIZES}
            for name in ("online", "online_with_search", "literal")
        },
        "cost, 100,000 to 1,000": figures["cost_ratio_100k_over_1k"],
        "literal before any training": figures["literal_before"],
        "share of wrong labels": figures["labels_wrong"],
        "calls a memory": {**figures["calls_by"], "all": figures["calls_per_memory"]},
        "prompt tokens a memory": {**figures["tokens_by"], "all": figures["tokens_per_memory"]},
        "largest share of lessons in a grown pool": figures["lesson_share"],
    }


def notes(figures: Mapping[str, Any], chart: Path) -> list[str]:
    """The aims, and what a reader of the figures has to know."""
    untouched, ratio = figures["untouched"], figures["cost_ratio_100k_over_1k"]["online"]
    change = abs(untouched["online"] - untouched["untrained"])
    checked = figures["consolidated_check"]
    verdict = "passes its check" if checked["passed"] else "fails its check, and would not be put into use"
    measured = [
        f"{readable(checked[name]['before'])} → {readable(checked[name]['after'])}"
        for name in ("held_out_accuracy", "probe_ndcg")
    ]
    return [
        aim("gain of learning online at 320 memories", figures["gain_at_320"], AIM_GAIN, "P@3"),
        aim("change of the untouched pool by learning online", change, 0.0, "P@3", at_most=True),
        aim("cost of an update at 100,000 memories to that at 1,000", ratio, AIM_RATIO, "times", at_most=True),
        aim("model calls for each memory", figures["calls_per_memory"], AIM_CALLS, "calls", at_most=True),
        aim("prompt tokens for each memory", figures["tokens_per_memory"], AIM_TOKENS, "tokens", at_most=True),
        f"The consolidated encoder {verdict}: held-out accuracy {measured[0]}, nDCG on the probe {measured[1]}.",
        "Labels come from an oracle and not from a model, whose time and price are in no figure.",
        f"The literal way's cost at 100,000 memories was measured on {cost.SAMPLE:,} of them.",
        f"Drawn: {chart}",
    ]
