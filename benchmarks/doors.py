"""Recall over REST, beside mem0's library behind the same FastAPI: `python -m benchmarks.doors`.

Both sides have the same made-up memories in four pools, the same encoder, and a FastAPI on one uvicorn process; 32
callers in four processes ask each for three memories of a pool, for the prompts of the demo. Neither side keeps vectors
of texts that it was asked before.
- ours: `memshare serve`, which asks a memory service, judges what is shown by credibility, says why, and keeps the
  recall under its id in Redis, so that an outcome finds it;
- mem0's: `Memory.search` as its own server calls it; nothing is kept. Its telemetry is off.
With pauses, each caller waits half a second between two recalls, as an agent does while its model answers; without, it
asks again at once. The sides take turns, three times, and the medians are reported.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from benchmarks.door import BATCH, memory_service
from benchmarks.http_callers import calls
from benchmarks.report import Aim, percentile, print_figures, progress
from benchmarks.synthetic import POOLS, Synthetic
from memshare.demo.play import read
from memshare.terminal.console import errors
from memshare_broker.settings import Settings

AIMS = (Aim("recall_ratio", 10, "times"),)
CALLERS, PAUSE, SECONDS, ROUNDS = 32, 0.5, 8.0, 3
SHOWN = 3


def main(
    memories: Annotated[int, typer.Option(min=100, help="Memories on each side.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure both sides in turns, and print the figures."""
    if importlib.util.find_spec("mem0") is None:
        errors.print("mem0 is not installed: pip install 'memshare[bench]'", markup=False)
        raise typer.Exit(1)
    prompts = [task["prompt"] for task in read("tasks.jsonl") if task.get("prompt")]
    asked = [(POOLS[at % len(POOLS)], prompt) for at, prompt in enumerate(prompts * len(POOLS))]
    ours_asked = [{"pool": pool, "prompt": prompt, "k": SHOWN} for pool, prompt in asked]
    theirs_asked = [{"user_id": pool, "query": prompt, "top_k": SHOWN} for pool, prompt in asked]
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as name:
        data = Path(name)
        with _ours(data / "ours", memories) as ours, _theirs(data, memories) as theirs:
            sides = {"": (f"{ours}/v1/recall", ours_asked), "mem0_": (f"{theirs}/search", theirs_asked)}
            figures = _measure(sides)
    figures["recall_ratio"] = round(figures["recalls_per_second"] / figures["mem0_recalls_per_second"], 2)
    print_figures(f"Recall over HTTP, {memories:,} memories", figures, as_json=as_json, aims=AIMS)


def _measure(sides: Mapping[str, tuple[str, Sequence[Any]]]) -> dict[str, Any]:
    taken: dict[str, list[list[float]]] = {}
    for _ in progress(range(ROUNDS), "Asking"):
        for side, (url, bodies) in sides.items():
            for kind, pause in (("paused", PAUSE), ("pressed", 0.0)):
                one = calls(url, bodies, callers=CALLERS, pause=pause, seconds=SECONDS)
                taken.setdefault(side + kind, []).append(one)
    figures: dict[str, Any] = {"callers": CALLERS, "pause_seconds": PAUSE}
    for side in sides:
        paused, pressed = taken[f"{side}paused"], taken[f"{side}pressed"]
        figures |= {
            f"{side}recall_p50_ms": median(percentile(one, 50) for one in paused),
            f"{side}recall_p99_ms": median(percentile(one, 99) for one in paused),
            f"{side}recall_without_pause_p50_ms": median(percentile(one, 50) for one in pressed),
            f"{side}recall_without_pause_p99_ms": median(percentile(one, 99) for one in pressed),
            f"{side}recalls_per_second": round(median(len(one) / SECONDS for one in pressed), 1),
        }
    return figures


@contextmanager
def _ours(data: Path, memories: int) -> Iterator[str]:
    """`memshare serve` before a memory service with so many memories."""
    data.mkdir()
    world = Synthetic()
    with memory_service(Settings(data=data, redis_url=None, concurrency=CALLERS)) as client:
        for start in progress(range(0, memories, BATCH), f"Importing {memories:,} memories"):
            client.restore([memory for memory, _ in world.memories(min(BATCH, memories - start))])
        command = [sys.executable, "-m", "memshare", "serve", "--port", "0", "--json"]
        with _process(command, data, os.environ | {"MEMSHARE_DATA": str(data)}) as line:
            yield json.loads(line)["url"]


@contextmanager
def _theirs(data: Path, memories: int) -> Iterator[str]:
    """mem0 behind FastAPI, with as many."""
    folder = data / "mem0"
    folder.mkdir()
    command = [sys.executable, "-m", "benchmarks.mem0_door", str(folder), "--memories", str(memories)]
    with _process([*command, "--exports", str(data / "ours" / "exports")], data, dict(os.environ)) as line:
        yield line.strip()


@contextmanager
def _process(command: list[str], data: Path, environment: dict[str, str]) -> Iterator[str]:
    """A server that runs while the block does; gives the line that it prints when it is ready."""
    log = data / "server.log"
    with log.open("ab") as file:
        server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=file, text=True)
    assert server.stdout is not None
    try:
        line = server.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(command)} did not start: {log.read_text()[-2_000:]}")
        yield line
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


if __name__ == "__main__":
    typer.run(main)
