"""How the retriever learns, beside no training and the literal way of INMS: `python -m benchmarks.retriever`.

600 memories stream into a pool whose right examples share a form and not a topic. P@3, the share of right ones among
the three memories shown, is measured on topics that are in no memory; a second pool, in which the topic makes an
example right, gets no lessons. Encoder, store, Redis and all that learns are the real ones. Labels come from an oracle
that knows the form, with a share of wrong ones, and not from a model. Over 1,000 memories it is counted what answering,
grading and learning take (`benchmarks.retriever_budget`).
- untrained: the encoder as it comes.
- online: what `settle` and the trainer do with every memory, published when it ranks the held-out lessons no worse.
- consolidated: the encoder trained on the lesson log at the end.
- literal: see `benchmarks.literal`; `literal_before` is it before any training, as it serves other texts than ours.
The cost of an update is measured in pools of 1,000 and 100,000 memories: see `benchmarks.retriever_cost`. The literal
way's at 100,000 is measured on 10,000 of them, and scaled up.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Annotated, Any

import redis
import torch
import typer

from benchmarks import retriever_cost as cost
from benchmarks.report import print_figures
from benchmarks.retriever_budget import AGENT, Bill
from benchmarks.retriever_consolidated import consolidate
from benchmarks.retriever_data import MEMORIES, Oracle, exams, more_memories
from benchmarks.retriever_quality import MARKED_AT, stream_literal, stream_ours
from benchmarks.retriever_tables import for_people, notes
from memshare.agents.roster import load_roster
from memshare.broker.settings import Settings
from memshare.console import errors
from memshare.local.own_redis import connected
from memshare.memory_service.encoders.sentence_encoder import SentenceTransformerEncoder
from memshare.retriever_trainer.labels import Labeller
from memshare.scorer.rubric import all_rubrics

SEED = 0
WRONG = 0.05  # share of the labels
GAIN_AT = 320  # memories

Figures = dict[str, Any]


def main(
    lesson_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of memories that become lessons, once the pool has 200.")
    ] = Settings.model_fields["lesson_share"].default,
    out: Annotated[Path, typer.Option(help="Where the curves are drawn.")] = Path("retriever.png"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure quality and cost, print the figures, and draw them."""
    if importlib.util.find_spec("matplotlib") is None:
        errors.print("matplotlib is not installed: pip install 'memshare[bench]'", markup=False)
        raise typer.Exit(1)
    from benchmarks.retriever_chart import draw

    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as name:
        folder = Path(name)
        with connected(Settings(data=folder, redis_url=None)) as client:
            figures = _measure(folder, client, lesson_share)
    draw(figures, out)
    shown = figures if as_json else for_people(figures)
    print_figures(f"The retriever, {MEMORIES:,} memories", shown, as_json=as_json, notes=notes(figures, out))


def _measure(folder: Path, client: redis.Redis, share: float) -> Figures:
    threads = torch.get_num_threads()
    bill = Bill(load_roster(None)[AGENT].instructions, all_rubrics(None)[AGENT])
    encoder, oracle, pools = SentenceTransformerEncoder(None), Oracle(WRONG, SEED, bill), exams(SEED)
    billed = (bill, more_memories(SEED))
    marks = stream_ours(folder / "ours", client, encoder, pools, Labeller(oracle), share, billed)
    tuned = consolidate(folder / "tuned", client, encoder, pools, threads=threads, seed=SEED)
    learning, whole = cost.ours(folder / "sizes", client, encoder)
    torch.set_num_threads(threads)
    marks |= stream_literal(folder / "literal", pools, oracle, SEED)
    literal = cost.literal(pools[0].memories, oracle)

    curve = {name: marks[name].curve for name in ("untrained", "online", "literal")}
    at = MARKED_AT.index(GAIN_AT)
    ratios = {"online": learning, "online_with_search": whole, "literal": literal}
    return {
        "p_at_3": {
            "untrained": curve["untrained"][-1],
            "online": curve["online"][-1],
            "consolidated": tuned.p_at_3,
            "literal": curve["literal"][-1],
        },
        "untouched": {
            "untrained": marks["untrained"].untouched,
            "online": marks["online"].untouched,
            "consolidated": tuned.untouched,
            "literal": marks["literal"].untouched,
        },
        "literal_before": {
            "p_at_3": marks["literal_before"].curve[-1],
            "untouched": marks["literal_before"].untouched,
        },
        "cost_ratio_100k_over_1k": {
            name: round(costs[cost.LARGE] / costs[cost.SMALL], 3) for name, costs in ratios.items()
        },
        "curve": {"memories": list(MARKED_AT), **curve},
        "gain_at_320": round(curve["online"][at] - curve["untrained"][at], 4),
        "cost_ms": {
            name: {str(size): round(taken, 2) for size, taken in costs.items()} for name, costs in ratios.items()
        },
        "literal_encoded_at_100k": cost.SAMPLE,
        "consolidated_check": {
            "passed": tuned.check.passed,
            "held_out_accuracy": tuned.check.held_out.model_dump(),
            "probe_ndcg": tuned.check.probe.model_dump(),
        },
        **bill.figures(),
        "labels_by": "oracle",
        "labels_wrong": WRONG,
        "lesson_share": share,
    }


if __name__ == "__main__":
    typer.run(main)
