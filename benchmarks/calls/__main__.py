"""What does a stored memory take? `python -m benchmarks.calls`: calls of the model and tokens, by what they are for.

200 tasks that are much alike, and 200 unlike ones, each stream into an empty pool of `memshare up` with default
settings. Every answer is good, and is graded by the bundled rubric of plans. Tokens are the characters of turns, schema
and reply, by four. Nothing contradicts anything.

Where mem0 and Graphiti are installed (`memshare[bench]`), they are given the same tasks with their answers in the same
run, and ask the same chat server, which finds one fact about two things in each task. The answers themselves, which
they leave to others, are not among their calls.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import graphiti_store
from benchmarks.calls.tasks import MOST, similar, unlike
from benchmarks.mem0_store import Mem0
from benchmarks.report import Aim, print_figures
from benchmarks.support.counts import calls_and_tokens
from benchmarks.support.deployment import Deployment
from benchmarks.support.orders import teller
from benchmarks.support.replies import Pair
from benchmarks.support.up import deployed
from memshare.terminal.console import errors
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.open_encoder import open_encoder

STREAMS = {"similar": similar, "unlike": unlike}
Remember = Callable[[Path, str, Sequence[Pair]], int]
"""Remembers tasks with their answers in a folder, by a model at an address; returns how many memories there are."""

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
        peers = {"mem0": of_mem0, "graphiti": of_graphiti}
        for name, module in {"mem0": "mem0", "graphiti": "graphiti_core"}.items():
            if not find_spec(module):
                errors.print(f"{name} is not installed, and is left out: pip install 'memshare[bench]'", markup=False)
                continue
            encoder = open_encoder(None, device="cpu", timeout=60, exports=Path(exports))
            for stream, made in STREAMS.items():
                figures |= beside(deployment, f"{name}_{{}}_{stream}", partial(peers[name], encoder), made()[:tasks])
                teller(f"{name}, {stream}")("done")
    print_figures("What a stored memory takes", figures, as_json=as_json, aims=AIMS)


def beside(at: Deployment, named: str, remember: Remember, pairs: Sequence[Pair]) -> dict[str, Any]:
    """What another library asks its model for each memory that it has in the end."""
    before = at.counts()
    with tempfile.TemporaryDirectory(prefix="memshare-peer-") as folder:
        stored = remember(Path(folder), at.url, pairs)
    spent = calls_and_tokens(before, at.counts(), stored)
    return {
        named.format("stored"): stored,
        named.format("calls"): round(spent["calls"]["all"], 3),
        named.format("tokens"): round(spent["tokens"]["all"]),
    }


def of_mem0(encoder: Encoder, folder: Path, url: str, pairs: Sequence[Pair]) -> int:
    """Have mem0 remember tasks with their answers; returns how many memories it has then."""
    with closing(Mem0(folder, {}, url)) as mem0:
        mem0.embed_with(encoder)
        for prompt, answer in pairs:
            mem0.remember("pool", prompt, answer)
        return mem0.count("pool")


def of_graphiti(encoder: Encoder, folder: Path, url: str, pairs: Sequence[Pair]) -> int:
    """Have Graphiti remember tasks with their answers; returns how many facts it has then."""
    return graphiti_store.remember(folder, url, encoder, pairs)


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
