"""Runs journeys with the code of one tree: a program that `benchmarks.journey_deployment` starts with its path first.

Its argument is JSON: the data folder and the workers. It starts Redis and them, and prints their pids by name. For each
line {"what", "count"} of its standard input it submits so many tasks, prints {"submitted": count}, waits for another
line, lets the agents begin, and prints the rate and the share of the new memories that was compared with others. It
knows of a tree only what stayed the same: `Client`, `memshare worker`, and how the embedded Redis starts. The line
{"what": "recalls", "count"} asks the door alone, and has the median of milliseconds as its reply.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from itertools import islice, product
from pathlib import Path
from statistics import median
from typing import Any

from memshare import Client

WHO = (
    *("a lighthouse keeper", "a baker", "a heron", "a tram driver", "a locksmith", "a cellist", "a postman"),
    *("a glacier guide", "a beekeeper", "a chess player", "a clockmaker", "a diver", "an astronomer", "a gardener"),
    *(
        "a fox",
        "a tailor",
        "a judge",
        "a ferryman",
        "a librarian",
        "a volcano",
        "a dentist",
        "a shepherd",
        "a magician",
    ),
    *("a snail", "a plumber", "a countess"),
)
DOES = (
    *("loses a key", "learns to swim", "writes to the king", "sleeps through the winter", "sells the last umbrella"),
    *("forgets a birthday", "wins a wager", "counts the stars", "mends a violin", "hides from the rain"),
    *("marries in secret", "runs out of flour", "hears a ghost", "buys a balloon", "misses the train", "finds a map"),
    *("paints the fence", "quarrels with a neighbour", "tames a crow", "bakes a cake of salt", "loses at cards"),
    *("invents a language", "breaks a mirror", "grows a beard", "adopts a goat", "falls in love"),
)
WHERE = (
    *("in Lisbon", "on the moon", "under the bridge", "at the dentist's", "on a raft", "in a lift", "at midnight"),
    *("behind the theatre", "at the North Pole", "in the desert", "on market day", "in a submarine", "in the attic"),
    *("on a treadmill", "during the election", "in an orchard", "at the border", "in a museum", "on the roof"),
    *("by the canal", "in a bakery", "on a glacier", "in the fog", "at a wedding", "in a castle", "during the harvest"),
)
PACKAGES = {
    "broker": ("memshare_broker", "memshare.broker"),
    "memory": ("memshare_memory", "memshare.memory_service"),
}
RECALLS = "recalls"
MIDDLE = (0.1, 0.9)
STALLED_AFTER = 60  # seconds
START_WITHIN = 180  # seconds
POLL = 0.05  # seconds


def main() -> None:
    place = json.loads(sys.argv[1])
    data = Path(place["data"])
    redis_server = _part("broker", "redis_server")
    redis = redis_server.start(data)
    workers: dict[str, list[subprocess.Popen[bytes]]] = {}
    client = Client()
    try:
        _wait(lambda: redis_server.socket_path(data).exists(), "Redis", redis)
        for number, worker in enumerate(place["workers"]):
            log = data / f"{worker['queues'][0]}-{number}.log"
            workers.setdefault(worker["name"], []).append(_start(worker, log))
        started = [process for processes in workers.values() for process in processes]
        pids = {process.pid for process in started}
        _wait(lambda: {one.pid for one in client.workers()} >= pids, "every worker", *started)
        by_name = {"redis": [redis.pid]} | {name: [one.pid for one in some] for name, some in workers.items()}
        _say({"ready": True, "pids": by_name})
        prompts = tasks()
        for line in sys.stdin:
            wanted = json.loads(line)
            if wanted["what"] == RECALLS:
                _say({"recall_ms": _recall_ms(client, list(islice(prompts, wanted["count"])))})
                continue
            compared = client.ledger.done().get("compare", 0)
            rate = _run(client, wanted["what"], list(islice(prompts, wanted["count"])))
            compared = client.ledger.done().get("compare", 0) - compared
            _say({"rate": rate, "compared": compared / wanted["count"]})
            _count_as_learnt(client)
    finally:
        for processes in (*workers.values(), [redis]):
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(60)
        client.close()


def _start(worker: Mapping[str, Any], log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "memshare", "worker", *worker["queues"], "--concurrency", str(worker["threads"])]
    with log.open("wb") as file:
        environment = os.environ | worker.get("settings", {})
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)


def _part(part: str, module: str) -> Any:
    """A module of a part; in trees before the parts had packages of their own they were rooms of `memshare`."""
    own, before = PACKAGES[part]
    return import_module(f"{before if find_spec(before) else own}.{module}")


def _recall_ms(client: Client, prompts: Sequence[str]) -> float:
    """What the door takes for one recall after the other, in ms: the median."""
    request = _part("memory", "door.messages").RecallRequest
    took = []
    for prompt in prompts:
        began = time.perf_counter()
        client.memories.recall(request(pool="poem", text=prompt, k=3))
        took.append(time.perf_counter() - began)
    return median(took) * 1000


def _count_as_learnt(client: Client) -> None:
    """Say that the pool had a lesson of each memory: nobody learns here, and in a pool in use few become lessons."""
    request = _part("memory", "door.messages").RecallRequest(pool="poem", text=WHO[0], k=1)
    embedding = client.memories.recall(request).embedding
    if embedding is None:
        raise SystemExit("A recall brought no vector of its text.")
    settled = client.ledger.done().get("settle", 0)
    state = _part("memory", "recall.retriever").retriever_key("poem", embedding.encoder, "state")
    with closing(_part("broker", "connection").connect(client.settings.redis)) as redis:
        redis.hset(state, "counted", settled)


def _run(client: Client, what: str, prompts: Sequence[str]) -> float:
    """Submit while nobody listens, then let the agents begin, and watch until all journeys are settled."""
    agents = [worker.node for worker in client.workers() if "poem" in worker.queues]
    client.app.control.cancel_consumer("poem", destination=agents, reply=True)
    for prompt in prompts:
        client.submit("poem", prompt, kind="limerick")
    before = client.ledger.done().get("settle", 0)
    _say({"submitted": len(prompts)})
    sys.stdin.readline()
    client.app.control.add_consumer("poem", destination=agents)
    return rate_of(lambda: client.ledger.done().get("settle", 0) - before, len(prompts), what)


def tasks() -> Iterator[str]:
    """17,576 different tasks. As in a pool in use, about a quarter of them has one before it that asks the same."""
    every = list(product(WHO, DOES, WHERE))
    for number in range(len(every)):
        who, does, where = every[number * 7919 % len(every)]
        yield f"A limerick about {who} who {does} {where}"


def rate_of(done: Callable[[], int], count: int, what: str) -> float:
    """How many a second were done in the middle 80 % of a run."""
    seen: list[tuple[float, int]] = []
    deadline = time.monotonic() + STALLED_AFTER
    while (ended := done()) < count:
        if not seen or ended > seen[-1][1]:
            deadline = time.monotonic() + STALLED_AFTER
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: stalled at {ended} of {count}.")
        seen.append((time.monotonic(), ended))
        time.sleep(POLL)
    seen.append((time.monotonic(), count))
    first, last = (next(point for point in seen if point[1] >= share * count) for share in MIDDLE)
    return (last[1] - first[1]) / (last[0] - first[0])


def _wait(ready: Callable[[], bool], what: str, *needed: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_WITHIN
    while not ready():
        if time.monotonic() > deadline or any(process.poll() is not None for process in needed):
            raise SystemExit(f"{what} did not start; the logs lie in the data folder.")
        time.sleep(POLL)


def _say(what: Mapping[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
