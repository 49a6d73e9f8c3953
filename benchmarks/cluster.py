"""Memory services beside each other on one Qdrant server, and the embedded one: `python -m benchmarks.cluster`.

Needs `qdrant` on the PATH. Each row is a deployment of its own: Redis, so many memory services (`replicas`), agents,
scorer, a chat server on loopback, and for all but the first the Qdrant server. Recalls are asked by callers in
processes of their own, each of one memory service, as a balancer of connections spreads them; journeys go through such
a balancer, in this program. Everything shares the processors that `--processors` says. `cpu_ms_per_recall` is processor
time of memory services, Qdrant and Redis together, and `cpu_per_recall_spread` how much more the dearest row with a
server takes than the cheapest. `recalls_2_beside_1` is the recalls a second of two services beside those of one. More
services answer more only where there are processors for them: below eight there is no aim for that.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.journey_deployment import Deployment, Worker, deployed, layout
from benchmarks.processes import cpu_seconds, stay_on
from benchmarks.report import Aim, milliseconds, percentile, print_figures, progress
from benchmarks.support.server import running
from benchmarks.synthetic import POOLS, Synthetic
from memshare.demo.play import read
from memshare_broker.settings import Settings
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import RecallRequest
from tests.faults.gate import gate
from tests.support.qdrant_server import QdrantProcess

TOKEN = "only-for-this-run"
EMBEDDED = 0  # replicas of the row of the embedded pool
PROCESSES, BATCH, SHOWN = 4, 256, 3
THREADS, WARM_UP = 32, 100  # of the agents; journeys
AIMS = (Aim("cpu_per_recall_spread", 0.10, "of the cheapest", at_most=True),)
PROCESSORS_NEEDED = 8
AIMS_OF_MANY = (Aim("recalls_2_beside_1", 1.5, "times"), Aim("recalls_4_beside_1", 2.2, "times"))


def main(
    replicas: Annotated[str, typer.Option(help="How many memory services, with commas between them.")] = "1,2,4",
    memories: Annotated[int, typer.Option(min=1, help="Memories in the pool.")] = 10_000,
    seconds: Annotated[float, typer.Option(min=1, help="Seconds of recalls.")] = 15.0,
    callers: Annotated[int, typer.Option(min=PROCESSES, help="Callers that ask for recalls at a time.")] = 32,
    journeys: Annotated[int, typer.Option(min=0, help="Journeys; 0 leaves them out.")] = 600,
    processors: Annotated[int, typer.Option(min=1, help="Processors that everything shares.")] = 2,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure, and print the figures."""
    numbers = stay_on(processors)
    rows: dict[int, dict[str, Any]] = {}
    figures: dict[str, Any] = {"memories": memories, "callers": callers, "processors": numbers}
    with running("benchmarks.chat_server") as chat:
        for count in progress([EMBEDDED, *map(int, replicas.split(","))], "Deployments"):
            with contextlib.ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memshare-bench-")))
                found = _one(stack, folder, chat, count, memories, seconds, callers, journeys)
            figures["embedded" if count == EMBEDDED else f"server, {count} replicas"] = found
            rows[count] = found
    figures |= _beside(rows)
    aims = (*AIMS, *(AIMS_OF_MANY if processors >= PROCESSORS_NEEDED else ()))
    print_figures("Memory services", figures, as_json=as_json, aims=aims)


def _beside(rows: Mapping[int, dict[str, Any]]) -> dict[str, float]:
    """The rows with a server beside each other."""
    with_server = {count: row for count, row in rows.items() if count != EMBEDDED}
    spent = [row["cpu_ms_per_recall"] for row in with_server.values()]
    found = {"cpu_per_recall_spread": round(max(spent) / min(spent) - 1, 3)}
    if one := with_server.pop(1, None):
        for count, row in with_server.items():
            found[f"recalls_{count}_beside_1"] = round(row["recalls_per_second"] / one["recalls_per_second"], 2)
    return found


def _one(
    stack: contextlib.ExitStack,
    folder: Path,
    chat: Any,
    replicas: int,
    memories: int,
    seconds: float,
    callers: int,
    journeys: int,
) -> dict[str, Any]:
    """One deployment, from an empty pool on."""
    agents = layout(THREADS, 1, 1)[1:]
    if replicas == EMBEDDED:
        server, asked, settings = None, [Settings(data=folder, redis_url=None)], {}
        services = [Worker("memory", ("memory",), 2)]
    else:
        (folder / "qdrant").mkdir()
        process = QdrantProcess(folder / "qdrant")
        server = stack.enter_context(process.running())
        addresses = [_free_address() for _ in range(replicas)]
        asked = [Settings(memory_url=f"http://{one}", memory_token=TOKEN) for one in addresses]
        balancer = stack.enter_context(gate("127.0.0.1", *(f"http://{one}" for one in addresses)))
        common = {"MEMSHARE_MEMORY_TOKEN": TOKEN, "MEMSHARE_QDRANT_URL": server.url}
        settings = {**common, "MEMSHARE_MEMORY_URL": balancer}
        services = [Worker("memory", ("memory",), 2, {"MEMSHARE_MEMORY_LISTEN": one}) for one in addresses]
    run = stack.enter_context(deployed(None, folder, [*services, *agents], chat, settings))
    if server:
        run.pids["qdrant"] = [server.pid]
    pids: dict[str, list[int]] = {name: run.pids[name] for name in ("memory", "redis", "qdrant") if name in run.pids}
    _fill(asked[0], memories)
    return {
        **_recalls(asked, seconds, callers, pids),
        **(_journeys(run, journeys) if journeys else {}),
    }


def _fill(settings: Settings, memories: int) -> None:
    world = Synthetic()
    with closing(MemoryClient(settings)) as client:
        client.wait_until_ready(120)
        for at in range(0, memories, BATCH):
            client.restore([memory for memory, _ in world.memories(min(BATCH, memories - at))])


def _recalls(asked: Sequence[Settings], seconds: float, callers: int, pids: dict[str, list[int]]) -> dict[str, Any]:
    """All callers ask without pause; each process of them asks one memory service."""
    # Spawned, for a fork would share connections and threads with this process.
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as processes:

        def ask(seconds: float) -> list[float]:
            each = callers // PROCESSES
            sent = [processes.submit(_call, asked[at % len(asked)], seconds, each) for at in range(PROCESSES)]
            return [taken for one in sent for taken in one.result()]

        ask(2)
        before = {name: cpu_seconds(some) for name, some in pids.items()}
        taken = ask(seconds)
        used = {name: (cpu_seconds(some) - before[name]) * 1000 / len(taken) for name, some in pids.items()}
    return {
        "recalls_per_second": round(len(taken) / seconds, 1),
        "recall_p50_ms": percentile(taken, 50),
        "recall_p99_ms": percentile(taken, 99),
        "cpu_ms_per_recall": round(sum(used.values()), 2),
        "memory_cpu_ms": round(used["memory"], 2),
        "qdrant_cpu_ms": round(used.get("qdrant", 0.0), 2),
        "redis_cpu_ms": round(used["redis"], 2),
    }


def _call(settings: Settings, seconds: float, threads: int) -> list[float]:
    """The callers of one process, who share a client as the threads of an agent do."""
    prompts = [task["prompt"] for task in read("tasks.jsonl") if task.get("prompt")]
    with closing(MemoryClient(settings)) as client, ThreadPoolExecutor(threads) as callers:
        asked = [callers.submit(_one_caller, client, prompts[at:] + prompts[:at], seconds) for at in range(threads)]
        return [taken for one in asked for taken in one.result()]


def _one_caller(client: MemoryClient, prompts: Sequence[str], seconds: float) -> list[float]:
    return list(_asked(client, prompts, time.monotonic() + seconds))


def _asked(client: MemoryClient, prompts: Sequence[str], until: float) -> Iterator[float]:
    number = 0
    while time.monotonic() < until:
        request = RecallRequest(pool=POOLS[number % len(POOLS)], text=prompts[number % len(prompts)], k=SHOWN)
        yield milliseconds(client.recall, request)
        number += 1


def _journeys(run: Deployment, count: int) -> dict[str, Any]:
    run.run("warm-up", WARM_UP, 0)
    ran = run.run("journeys", count, 0)
    own = {name: spent for name, spent in ran.cpu_ms.items() if name != "chat server"}
    each = {f"{name}_cpu_ms_per_journey": round(spent, 1) for name, spent in own.items()}
    return {"journeys_per_second": round(ran.rate, 1), "cpu_ms_per_journey": round(sum(own.values()), 1), **each}


def _free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


if __name__ == "__main__":
    typer.run(main)
