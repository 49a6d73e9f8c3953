"""What a scenario breaks: Redis, store, chat server and workers of one run, each a process of its own."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import redis
from pydantic import SecretStr

from memshare.client.client import Client
from memshare_broker import redis_server
from memshare_broker.app import CONCEPTS_QUEUE
from memshare_broker.connection import DOWN, connect
from memshare_broker.delivery.schema import SWEEPING
from memshare_broker.errors import Reason, Unreachable
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer
from tests.faults.clock import Clock
from tests.faults.disk import Disk, disk
from tests.faults.fleet import Fleet
from tests.faults.gate import gate
from tests.faults.hosts import Host, Network, network
from tests.faults.line import Line, line
from tests.faults.model import Model
from tests.faults.redis_process import RedisProcess
from tests.faults.store_process import KEY, StoreProcess, store_process
from tests.faults.up import Up
from tests.support.chat_server import serving

KINDS = ("poem", "logic", "scorer", "memory", "trainer")
DOOR_PORT, DOOR_TOKEN = 8077, "only-for-this-run"
URL = "MEMSHARE_MEMORY_URL"
READY_WITHIN = 180  # seconds
LEASE = 30  # seconds
ENVIRONMENT = {
    "MEMSHARE_MODEL": "openai:scripted",
    "MEMSHARE_MODEL_TIMEOUT": "10",
    "MEMSHARE_CONCURRENCY": "16",
    "MEMSHARE_CONCEPTS": "false",
    "OPENAI_API_KEY": "test",
}
SHORT = {
    "MEMSHARE_CONCEPTS_WAIT": "2",
    "MEMSHARE_CONSOLIDATE": "false",
    "MEMSHARE_LEASE": "15",
    "MEMSHARE_MODEL_TIMEOUT": "4",
}


@dataclass(frozen=True)
class Setup:
    """How a scenario wants its cluster."""

    latency: float = 0.2
    """Seconds before each reply of the model."""
    line: float | None = None
    """Workers reach Redis over a line with this delay in seconds, each way."""
    store_line: bool = False
    """The memory service reaches the store over a line that can be slow."""
    lease: float | None = LEASE
    """Seconds after which a lost message is sent again; None for those that users have."""
    together: bool = False
    """One worker has all queues but that of the memory service."""
    spare: bool = False
    """There is one more worker, which serves every queue."""
    sweeper: bool = True
    embedded: bool = False
    """The memory service has the pool in its folder, as with `memshare up`, and not on a server."""
    disk: Literal["redis", "pool", "store"] | None = None
    """The folder that lies on a disk of its own."""
    clock: bool = False
    """Redis and the workers go by a clock that can be turned."""
    short: bool = False
    """It is up for a minute or two, and waits less; no encoder is trained."""
    concepts: bool = False
    """There is a worker that names the concepts of memories."""
    up: bool = False
    """`memshare up` runs everything, and its own Redis."""
    replicas: int = 1
    """How many memory services there are, behind one address."""
    hosts: bool = False
    """Redis and each worker have a host of their own, with an address of its own; so has the memory service."""


@dataclass
class Cluster:
    """What a scenario can break, and the client that goes by no line."""

    settings: Settings
    client: Client
    direct: redis.Redis
    redis_process: RedisProcess | None
    store: StoreProcess | None
    model: Model
    fleet: Fleet
    line: Line | None = None
    store_line: Line | None = None
    disk: Disk | None = None
    clock: Clock | None = None
    network: Network | None = None

    @property
    def redis(self) -> RedisProcess:
        assert self.redis_process is not None, "it is that of `memshare up`"
        return self.redis_process

    def wait_until_ready(self, within: float = READY_WITHIN) -> bool:
        """Wait for every worker to be there; False when that takes too long."""
        return self.wait_for(self._are_there, within)

    def _are_there(self) -> bool:
        with suppress(Unreachable):  # Redis may be another that is not there yet
            there = {worker.pid for worker in self.client.workers()}
            return not self.fleet.is_ending and self.fleet.pids <= there
        return False

    def wait_for(self, seen: Callable[[], bool], within: float) -> bool:
        """Wait for something to be seen; False when that takes longer than so many seconds."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            if seen():
                return True
            time.sleep(0.05)
        return False

    def require_ready(self) -> None:
        """The same at the start, where it has to be."""
        assert self.wait_until_ready(), f"the workers were not ready within {READY_WITHIN} s: see {self.settings.data}"

    def failed_for(self, reason: Reason) -> int:
        """How many tries have failed for a reason."""
        return self.client.ledger.failed().get(reason, 0)

    def now(self) -> float:
        """The time as Redis has it, which notes when hops end; waits for Redis to be there."""
        told: list[float] = []

        def ask() -> bool:
            with suppress(*DOWN):
                seconds, microseconds = self.direct.time()
                told.append(seconds + microseconds / 1e6)
            return bool(told)

        assert self.wait_for(ask, READY_WITHIN), "Redis does not say what time it is"
        return told[0]

    def open_messages(self) -> int | None:
        """How many messages are open; None while Redis does not say."""
        try:
            return sum(self.client.ledger.open_messages().values())
        except (*DOWN, redis.ResponseError):
            return None


@contextmanager
def cluster(folder: Path, setup: Setup, qdrant_url: str | None) -> Iterator[Cluster]:
    """Everything up and ready for as long as the block runs. `folder` keeps the data and the logs."""
    with ExitStack() as up:
        clock = Clock(folder) if setup.clock else None
        preloaded = clock.environment if clock else {}
        place = folder / setup.disk if setup.disk else None
        small = up.enter_context(disk(place, 512)) if place else None
        store = None if setup.embedded else up.enter_context(store_process(qdrant_url, folder / "store.log"))
        net = up.enter_context(network(["redis", *KINDS])) if setup.hosts else None
        if net:
            net.forget_soon("redis")
        process = None if setup.up else RedisProcess(folder, preloaded, net.hosts["redis"] if net else None)
        if process:
            up.callback(process.stop)
        slow = None if setup.line is None else up.enter_context(line(redis_server.socket_path(folder), setup.line))
        slow_store = up.enter_context(line(store.url)) if store and setup.store_line else None
        store_url = f"http://127.0.0.1:{slow_store.port}" if slow_store else store.url if store else None
        model = Model(setup.latency)
        chat = up.enter_context(serving(model))

        settings = Settings(
            data=folder,
            model="openai:scripted",
            qdrant_url=store.url if store else None,
            qdrant_api_key=SecretStr(KEY) if store else None,
            redis_url=process.url if process else None,
        )
        open_signer(settings, make=True)
        client = Client(settings)
        up.callback(client.close)
        direct = connect(settings.redis, tries=1)
        up.callback(direct.close)
        if not setup.sweeper:
            direct.set(SWEEPING, "held")

        def reached(url: str) -> str:
            return up.enter_context(gate(net.gateway, url)) if net else url

        environment = ENVIRONMENT | preloaded | {"MEMSHARE_DATA": str(folder), "OPENAI_BASE_URL": reached(chat.url)}
        environment |= {"MEMSHARE_QDRANT_URL": reached(store_url), "MEMSHARE_QDRANT_API_KEY": KEY} if store_url else {}
        environment |= {"MEMSHARE_LEASE": str(setup.lease)} if setup.lease else {}
        environment |= {"MEMSHARE_CONCEPTS": "true"} if setup.concepts else {}
        environment |= SHORT if setup.short else {}
        redis_url = f"redis://127.0.0.1:{slow.port}/0" if slow else settings.redis_url
        environment |= {"MEMSHARE_REDIS_URL": redis_url} if redis_url else {}
        environment |= _door_on(net.hosts["memory"]) if net else {}
        doors = _doors(setup.replicas) if setup.replicas > 1 else {}
        if doors:
            address = up.enter_context(gate("127.0.0.1", *(one[URL] for one in doors.values())))
            environment |= {URL: address, "MEMSHARE_MEMORY_TOKEN": DOOR_TOKEN}
        fleet = Up(environment, folder) if setup.up else Fleet(environment, folder, net.hosts if net else None, doors)
        up.callback(fleet.stop)
        made = Cluster(settings, client, direct, process, store, model, fleet, slow, slow_store, small, clock, net)
        if setup.together:
            fleet.add("memory")
            fleet.add("others", *(kind for kind in KINDS if kind != "memory"))
        else:
            for name in ("up",) if setup.up else (*KINDS, CONCEPTS_QUEUE) if setup.concepts else KINDS:
                fleet.add(name)
        for name in doors.keys() - {"memory"}:
            fleet.add(name, "memory")
        made.require_ready()
        if setup.spare:  # after the others, so that its door is the one that is asked
            fleet.add("spare", *KINDS)
            made.require_ready()
        yield made


def _doors(replicas: int) -> dict[str, dict[str, str]]:
    """The settings of each memory service beside another: where it serves, and the token."""
    names = ["memory", *(f"memory-{number}" for number in range(2, replicas + 1))]
    found: dict[str, dict[str, str]] = {}
    for name in names:
        with socket.create_server(("127.0.0.1", 0)) as free:
            at = f"127.0.0.1:{free.getsockname()[1]}"
        found[name] = {"MEMSHARE_MEMORY_LISTEN": at, URL: f"http://{at}", "MEMSHARE_MEMORY_TOKEN": DOOR_TOKEN}
    return found


def _door_on(host: Host) -> dict[str, str]:
    """The settings by which the memory service serves on a host, and is found there."""
    at = f"{host.address}:{DOOR_PORT}"
    return {
        "MEMSHARE_MEMORY_LISTEN": at,
        "MEMSHARE_MEMORY_URL": f"http://{at}",
        "MEMSHARE_MEMORY_TOKEN": DOOR_TOKEN,
    }
