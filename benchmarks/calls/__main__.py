"""What does a stored memory take? `python -m benchmarks.calls`: calls of the model and tokens, by what they are for.

200 tasks that are much alike, and 200 unlike ones, each stream into an empty pool of `memshare up` with default
settings. Every answer is good, and is graded by the bundled rubric of plans. Tokens are the characters of turns, schema
and reply, by four. Nothing contradicts anything.

Where mem0 is installed (`memshare[bench]`), it is given the same tasks with their answers in the same run, and its
model finds one fact in each. The answers themselves, which it leaves to others, are not among its calls.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.calls.tasks import MOST, similar, unlike
from benchmarks.mem0_store import FindsTheAnswer, Mem0
from benchmarks.report import Aim, print_figures
from benchmarks.support.counts import Tally, calls_and_tokens
from benchmarks.support.deployment import Deployment
from benchmarks.support.orders import teller
from benchmarks.support.replies import Pair
from benchmarks.support.up import deployed
from memshare_memory.encoders.open_encoder import open_encoder

STREAMS = {"similar": similar, "unlike": unlike}
BATCH = 10  # tasks under way at once
CALLS, TOKENS = 2.5, 2_700
AIMS = tuple(
    Aim(f"{what}_{stream}", bound, "a stored memory", at_most=True)
    for stream in STREAMS
    for what, bound in (("calls", CALLS), ("tokens", TOKENS))
)


def main(
    tasks: Annotated[int, typer.Option(min=1, max=MOST, help="Tasks of each stream.")] = MOST,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure both streams, and print the figures."""
    figures: dict[str, Any] = {"tasks": tasks}
    pools = {stream: stream for stream in STREAMS}
    with (
        tempfile.TemporaryDirectory(prefix="memshare-exports-") as exports,
        deployed("calls", exports=Path(exports), pools=pools) as deployment,
    ):
        for stream, made in STREAMS.items():
            figures |= measure(deployment, stream, [prompt for prompt, _ in made()][:tasks])
        if find_spec("mem0"):
            for stream, made in STREAMS.items():
                figures |= of_mem0(stream, made()[:tasks], Path(exports))
    print_figures("What a stored memory takes", figures, as_json=as_json, aims=AIMS)


def of_mem0(stream: str, pairs: Sequence[Pair], exports: Path) -> dict[str, Any]:
    """What mem0 asks its model for each memory that it has in the end."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="memshare-mem0-") as name, closing(Mem0(Path(name), {})) as mem0:
        mem0.embed_with(open_encoder(None, device="cpu", timeout=60, exports=exports))
        model = FindsTheAnswer(tally)
        for prompt, answer in pairs:
            mem0.remember(stream, prompt, answer, model)
        spent, stored = tally.counts["answer"], mem0.count(stream)
    return {
        f"mem0_stored_{stream}": stored,
        f"mem0_calls_{stream}": round(spent["calls"] / stored, 3),
        f"mem0_tokens_{stream}": round(spent["tokens"] / stored),
    }


def measure(at: Deployment, stream: str, prompts: Sequence[str]) -> dict[str, Any]:
    """Calls and tokens of one stream, for each memory that its pool has in the end."""
    say, before = teller(stream), at.counts()
    for start in range(0, len(prompts), BATCH):
        at.ask(prompts[start : start + BATCH], [stream], ["ada"], remember=True)
    stored = at.client.memories.stats().by_pool[stream]
    spent = calls_and_tokens(before, at.counts(), stored)
    say(f"{stored} memories stored")
    return {
        f"stored_{stream}": stored,
        f"calls_{stream}": round(spent["calls"]["all"], 3),
        f"tokens_{stream}": round(spent["tokens"]["all"]),
        f"calls_by_kind_{stream}": spent["calls"],
        f"tokens_by_kind_{stream}": spent["tokens"],
    }


if __name__ == "__main__":
    typer.run(main)
