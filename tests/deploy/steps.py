"""What is done to the containers, in order, and what must be seen of each step."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import redis

from memshare.client.client import Client
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_memory.stores.store import Where
from tests.deploy.compose import Compose
from tests.deploy.images import FULL, LIGHT, MEMORY
from tests.faults.count import Count, count
from tests.faults.load import FIRST, Load
from tests.faults.run import Result
from tests.faults.verdict import failings

PROFILES = ("embedded", "qdrant")
ENDS_WITHIN = 600  # seconds
STOPS_WITHIN = 10  # seconds; Docker kills what has not ended by then, unless it is told otherwise
CUT = 15  # seconds without a network
LARGEST = {LIGHT: 480, MEMORY: 700}
"""Megabytes that an image may have; of the full one torch takes most, and which torch is somebody's choice."""


@dataclass(frozen=True)
class Seen:
    """A step, how long it took, and what was seen; `wrong` says what must not be."""

    name: str
    seconds: float
    saw: str
    wrong: str


class Site:
    """The containers, and who submits tasks to them through their published ports."""

    def __init__(self, compose: Compose, tasks: int) -> None:
        self.compose = compose
        self.tasks = tasks

    @cached_property
    def client(self) -> Client:
        known = self.compose.settings
        return Client(
            Settings(
                redis_url=f"redis://:{known['REDIS_PASSWORD']}@127.0.0.1:6379/0",
                memory_url="http://127.0.0.1:8077",
                memory_token=known["MEMORY_TOKEN"],
            )
        )

    @cached_property
    def load(self) -> Load:
        return Load(self.client)

    @cached_property
    def redis(self) -> redis.Redis:
        return connect(self.client.settings.redis)

    def memories(self) -> int:
        return len(list(self.client.memories.every(Where())))

    @contextmanager
    def under_load(self) -> Iterator[None]:
        """Tasks are in flight when the block begins, and come while it runs; at its end all of them have ended."""
        self.load.burst(self.tasks // 2)
        with self.load.trickle(self.tasks - self.tasks // 2):
            yield
        ended = time.monotonic()
        self.end()
        self.drained = time.monotonic() - ended

    drained = 0.0
    """Seconds from the end of the last such block until nothing was open any more."""

    def end(self) -> Count:
        """Wait until nothing is open, and count; raises with each thing that must not be."""
        started = time.monotonic()
        recovered = self.client.wait(self.load.one(FIRST), ENDS_WITHIN).ended
        while any(self.client.ledger.open_messages().values()):
            if time.monotonic() - started > ENDS_WITHIN:
                break
            time.sleep(0.5)
        found = count(
            self.client, self.redis, self.load.accepted, list(self.client.memories.every(Where())), concepts=True
        )
        wrong = failings(Result("", count=found, in_flight=1, recovered=1.0 if recovered else None))
        if wrong:
            raise RuntimeError("; ".join(wrong))
        return found


def start(site: Site) -> str:
    seconds = site.compose.up()
    sizes = {
        tag: int(docker("image", "inspect", tag, "--format", "{{.Size}}")) // 1_000_000 for tag in (*LARGEST, FULL)
    }
    told = ", ".join(f"{tag} {size:,} MB" for tag, size in sizes.items())
    if large := [tag for tag, most in LARGEST.items() if sizes[tag] > most]:
        raise RuntimeError(f"Larger than they may be ({', '.join(large)}): {told}.")
    return f"{len(site.compose.containers())} containers healthy after {seconds:.0f} s; {told}"


def work(site: Site) -> str:
    site.load.burst(site.tasks)
    found = site.end()
    if not (found.stored and found.lessons):
        raise RuntimeError(f"Expected memories and lessons of {found.answered} answers: {found}.")
    return f"{found.answered} answered, {found.stored} memories, {found.lessons} lessons"


def from_within(site: Site) -> str:
    """The commands of the guide in a container, and the health that `serve` tells."""
    shown = json.loads(site.compose("exec", "-T", "poem", "memshare", "agents", "--json"))
    for name, *may in (("root", "admin", "--pools", "*"), ("ada", "recall,offer", "--pools", "poem")):
        make = ["memshare", "token", "create", name, "--may", *may, "--json"]
        token = json.loads(site.compose("exec", "-T", "serve", *make))
    asked = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8780/health', timeout=9).status)"
    status = site.compose("exec", "-T", "serve", "python", "-c", asked).decode().strip()
    if status != "200":
        raise RuntimeError(f"Expected 200 of /health: {status}.")
    if not all(one["workers"] for one in shown):
        raise RuntimeError(f"Expected a worker of each agent: {shown}.")
    return f"{len(shown)} agents with workers, a token of {token['name']}, /health 200"


def kill(*services: str) -> Callable[[Site], str]:
    def killed(site: Site) -> str:
        with site.under_load():
            names = [site.compose.memory if one == "memory" else one for one in services]
            site.compose.kill(*names)
            killed_at = time.monotonic()
            time.sleep(1)
            site.compose.wait()
            healthy = time.monotonic() - killed_at
        return (
            f"healthy {healthy:.0f} s later, all drained {site.drained:.0f} s after that; nothing lost, nothing twice"
        )

    return killed


def kill_qdrant(site: Site) -> str:
    return kill("qdrant")(site) if site.compose.profile == "qdrant" else "no Qdrant in this profile"


def cut(site: Site) -> str:
    with site.under_load():
        for service in (site.compose.memory, "scorer"):
            with site.compose.cut_off(service):
                time.sleep(CUT)
        site.compose.wait()
    return f"memory service and scorer {CUT} s each; nothing lost, nothing twice"


def scale(site: Site) -> str:
    with site.under_load():
        site.compose.up("--no-recreate", "--scale", "poem=4")
        most = len(site.compose.containers("poem"))
        site.compose.up("--no-recreate", "--scale", "poem=1")
        least = len(site.compose.containers("poem"))
    if (most, least) != (4, 1):
        raise RuntimeError(f"Expected 4 and 1 workers of poem: {most}, {least}.")
    return "poem 1 → 4 → 1; nothing lost, nothing twice"


def down_and_up(site: Site) -> str:
    before = site.end().stored
    site.compose("down")
    seconds = site.compose.up()
    if site.end().stored < before:
        raise RuntimeError(f"Expected {before} memories as before.")
    return f"healthy after {seconds:.0f} s; {before} memories as before"


def backup(site: Site) -> str:
    """The guide's commands; between them all volumes are removed."""
    before, accepted = site.memories(), len(site.load.accepted)
    pack = "memshare backup /tmp/backup.zip >&2 && cat /tmp/backup.zip && rm /tmp/backup.zip"
    packed = site.compose("exec", "-T", site.compose.memory, "sh", "-c", pack)
    site.compose("down", "--volumes")
    site.compose("up", "--detach", "--no-build", "redis", *(["qdrant"] if site.compose.profile == "qdrant" else []))
    unpack = "cat > /tmp/backup.zip && memshare restore --replace --yes /tmp/backup.zip"
    words = ["run", "--rm", "-T", "--no-deps", "--entrypoint", "sh", site.compose.memory, "-c", unpack]
    site.compose(*words, stdin=packed)
    site.compose.up()
    after = site.memories()
    if before != after:
        raise RuntimeError(f"Expected {before} memories, and there are {after}.")
    site.end()
    return f"{len(packed) / 1e6:.1f} MB; {after} memories and {accepted} journeys as before"


def rotate(site: Site) -> str:
    """Two secrets hold while containers are made anew, the new one signs."""
    old, new = site.compose.settings["MEMSHARE_SECRET"], "a-new-secret-of-the-deployment-0123456789"
    for secret in (f"{old},{new}", f"{new},{old}", new):
        site.compose.set(MEMSHARE_SECRET=secret)
        with site.under_load():
            site.compose.up()
    return "old, both, new; no message refused, nothing lost"


def stop(site: Site) -> str:
    started = time.monotonic()
    site.compose("stop", "redis")
    seconds = time.monotonic() - started
    [state] = [one["State"] for one in site.compose.containers("redis")]
    if state["ExitCode"] or seconds > STOPS_WITHIN:
        raise RuntimeError(f"Redis ended with {state['ExitCode']} after {seconds:.1f} s.")
    return f"Redis ended by itself in {seconds:.1f} s"


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


STEPS: tuple[tuple[str, Callable[[Site], str]], ...] = (
    ("up", start),
    ("tasks", work),
    ("commands in containers", from_within),
    ("kill -9 of two workers", kill("poem", "memory")),
    ("kill -9 of Redis", kill("redis")),
    ("kill -9 of Qdrant", kill_qdrant),
    ("a cut network", cut),
    ("more and fewer workers", scale),
    ("down, up", down_and_up),
    ("backup, restore", backup),
    ("another secret", rotate),
    ("stop of Redis", stop),
)
